"""Singulars and plurals of English nouns."""

from __future__ import annotations

from planweave.goals.lexicon import english


def singulars(word: str) -> list[str]:
    """Possible singulars of a word."""
    irregular = english()["irregular"].get(word)
    forms = [irregular] if irregular else []
    if word.endswith("ies"):
        forms.append(word[:-3] + "y")
    if word.endswith("es"):
        forms.append(word[:-2])
    if word.endswith("s") and not word.endswith("ss"):
        forms.append(word[:-1])
    return forms


def plurals(noun: str) -> list[str]:
    """Possible plurals of a noun."""
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return [noun[:-1] + "ies"]
    return [noun + "es"] if noun.endswith(("s", "x", "ch", "sh")) else [noun + "s"]

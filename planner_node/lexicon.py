"""Words of the goal grammar: those of a domain (phrases, aliases, names) and of English around it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from planweave.domain import ActionSchema, Domain, Predicate
from planweave.formula import Atom, conjuncts
from planweave.transition import fixed_predicates

ENGLISH = Path(__file__).resolve().parent / "english.yaml"


@dataclass(frozen=True)
class Lexicon:
    """What the words of a sentence stand for.

    relations: word -> predicate between a thing and a place; "" where the destination decides. away: word -> the
    predicate that shall not hold any more. between: word -> predicate of a thing and two others. unary: verb ->
    predicate of one thing that it makes true. nullary: phrase -> predicate without arguments. sayings: what stands for
    other words at the beginning of a clause, as patterns and what they are replaced by.
    """

    english: Mapping[str, Any]
    move: tuple[str, ...]
    relations: Mapping[str, str]
    away: Mapping[str, str]
    between: Mapping[str, str]
    unary: Mapping[str, str]
    nullary: Mapping[str, str]
    sayings: tuple[tuple[re.Pattern[str], str], ...] = ()


@lru_cache(maxsize=1)
def english() -> Mapping[str, Any]:
    """The contents of english.yaml."""
    return MappingProxyType(yaml.safe_load(ENGLISH.read_text(encoding="utf-8")))


def lexicon(domain: Domain) -> Lexicon:
    """The words for a domain's goals, derived from its goal predicates and the actions that make them true."""
    words, notes = english(), domain.extra.get("goals") or {}
    move, relations = set(words["move"]), dict.fromkeys(words["any_relation"], "")
    between: dict[str, str] = {}
    unary: dict[str, str] = {}
    nullary: dict[str, str] = {}
    for predicate in domain.predicates.values():
        if not predicate.goal or predicate.name in notes.get("unspoken", ()):
            continue
        makers = [s for s in domain.actions.values() if _makes(s, predicate)]
        if len(predicate.parameters) == 2:
            word = _relation_word(predicate)
            for synonym in (word, *words["relations"].get(word, ())):
                relations.setdefault(synonym, predicate.name)
            move |= {_first(a) for s in makers for a in (s.phrase, *s.aliases)} - {_first(predicate.name)}
        elif len(predicate.parameters) == 3:
            between.update((w, predicate.name) for w in (predicate.name, *words["between"].get(predicate.name, ())))
        elif len(predicate.parameters) == 1:
            for schema in makers:
                phrases = (schema.phrase.split("{")[0].removesuffix("the ").strip(), schema.name, *schema.aliases)
                unary.update((_spoken(p), predicate.name) for p in phrases)
        else:
            for schema in makers:
                for phrase in (schema.phrase, schema.name, *schema.aliases):
                    nullary.update((p, predicate.name) for p in _variants(_spoken(phrase), words["travel"]))
    for verb, name in (notes.get("verbs") or {}).items():
        unary.setdefault(verb, name)
    move -= set(unary) | {""}
    away = {word: relations[of] for word, of in words["negated"].items() if of in relations}
    verbs = sorted({*move, *unary, *nullary, *words["remove"], *words["empty"]}, key=lambda v: -len(v))
    sayings = tuple(_saying(said, meant, verbs) for said, meant in (notes.get("sayings") or {}).items())
    of = MappingProxyType
    return Lexicon(words, tuple(sorted(move)), of(relations), of(away), of(between), of(unary), of(nullary), sayings)


def _saying(said: str, meant: str, verbs: Sequence[str]) -> tuple[re.Pattern[str], str]:
    """A saying with the place ``{things}``, which reaches to the next clause that begins with a verb, or to the end."""
    before, _, after = said.partition("{things}")
    next_clause = rf"(?=\s*$|(?:\s*,|\s+and|\s+then)+\s+(?:{'|'.join(map(re.escape, verbs))})\b)"
    pattern = rf"(?:(?<=^)|(?<=, )|(?<=and )|(?<=then )){re.escape(before)}(.+?){re.escape(after)}{next_clause}"
    return re.compile(pattern), meant.replace("{things}", r"\1")


@lru_cache(maxsize=64)
def needed_properties(domain: Domain, predicate: Predicate) -> tuple[tuple[str, ...], ...]:
    """For each action that makes a predicate of one thing true: what it asks of the thing that no action can change."""
    fixed = fixed_predicates(domain)
    found = []
    for schema in domain.actions.values():
        if len(schema.parameters) == 1 and _makes(schema, predicate):
            term = (schema.parameters[0].name,)
            found.append(tuple(part.predicate for part in conjuncts(schema.precondition)
                               if isinstance(part, Atom) and part.terms == term and part.predicate in fixed))
    return tuple(found)


def _makes(schema: ActionSchema, predicate: Predicate) -> bool:
    """Whether the action's parameters are the predicate's and it makes it true without condition."""
    terms = tuple(p.name for p in schema.parameters)
    return any(atom.predicate == predicate.name and atom.terms == terms
               for effect in schema.effects if not effect.variables for atom in effect.add)


def _relation_word(predicate: Predicate) -> str:
    """"on" out of "the {i} is on the {t}"; the predicate's name where its phrase has another form."""
    between = predicate.phrase.partition("} is ")[2].partition(" the {")[0].strip()
    return between or _spoken(predicate.name)


def _variants(phrase: str, travel: list[str]) -> list[str]:
    """"return to base" also as "go back to base", "move to base", and without an article."""
    first, _, rest = phrase.partition(" ")
    if first not in travel:
        return [phrase]
    rests = {rest, rest.replace("to the ", "to "), rest.replace("to ", "to the ").replace("the the", "the"),
             rest.replace("to the ", "to your "), rest.replace(" position", ""), rest.replace("to the ", "to its ")}
    return [f"{verb} {middle}{r}".strip() for verb in travel for r in rests for middle in ("", "back ")]


def _first(phrase: str) -> str:
    return _spoken(phrase).split(" ")[0]


def _spoken(name: str) -> str:
    return name.replace("_", " ").strip()

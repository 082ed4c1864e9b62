"""The interpreted goal of a sentence in plain words, and suggestions for sentences that were not understood."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World
from planweave.goals.goal_checks import misfit
from planweave.goals.noun_phrases import NounPhrases
from planweave.goals.sentence_vocabulary import Vocabulary
from planweave.goals.sentence_words import Words

_MOST = 6  # literals said one by one


def understood(domain: Domain, goal: Sequence[Literal], notes: Iterable[str] = ()) -> str:
    """The goal as phrases, grouped by place, with the choices and corrections made."""
    said = []
    for _, group in groupby(goal, key=lambda g: (g.predicate, g.args[1:], g.positive)):
        literals = list(group)
        phrase = domain.phrase(literals[0])
        first = spoken(literals[0].args[0]) if literals[0].args else ""
        if len(literals) > 1 and f"the {first} " in phrase:
            names = [f"the {spoken(g.args[0])}" for g in literals]
            phrase = phrase.replace(f"the {first} ", ", ".join(names[:-1]) + f" and {names[-1]} ", 1)
            for one, many in (("is", "are"), ("does", "do"), ("has", "have")):
                phrase = phrase.replace(f"{names[-1]} {one} ", f"{names[-1]} {many} ", 1)
        elif len(literals) > 1:
            phrase = "; ".join(domain.phrase(g) for g in literals)
        said.append(phrase)
    seen_from = (domain.extra.get("goals") or {}).get("seen_from")
    named = {g.predicate for g in goal}
    remarks = list(notes)
    if named & {"left_of", "right_of"}:
        remarks.append(f"left and right are the {seen_from}'s")
    if named & {"front_of", "behind"}:
        remarks.append(f"in front is nearer to the {seen_from}")
    return "in the end " + "; ".join(said) + (f" ({'; '.join(dict.fromkeys(remarks))})" if remarks else "")


def nearest(domain: Domain, world: World, words: Words) -> list[str]:
    """Suggested sentences inside the grammar, made of the objects that the words name; at least one where any object is
    known.
    """
    vocabulary = Vocabulary(domain, world)
    names = vocabulary.names()
    words = vocabulary.mended(words)[0]
    things = _mentioned(names, words)
    notes = domain.extra.get("goals") or {}
    needs = notes.get("carried", ())
    pairs = [
        p for p in domain.predicates.values() if p.goal and len(p.parameters) == 2 and p.name in ("in", "on", "inside")
    ]

    def movable(name: str) -> bool:
        return any(domain.is_a(world.by_name[name].type, p.parameters[0].types) for p in pairs) and all(
            Literal(n, (name,)) in world.facts for n in needs
        )

    moved = [n for n in things if movable(n)] or [o.name for o in world.objects if movable(o.name)][:1]
    found = []
    if moved:
        found.append(f"pick up the {_said(world, moved[0])}")
    for name in [n for n in things if n not in moved]:
        for predicate in pairs:
            word = {"inside": "in"}.get(predicate.name, predicate.name)
            if (
                moved
                and domain.is_a(world.by_name[name].type, predicate.parameters[1].types)
                and _suits(domain, world, predicate.name, moved[0], name)
            ):
                found.insert(0, f"put the {_said(world, moved[0])} {word} the {_said(world, name)}")
                break
    if not things and domain.example:
        found.insert(0, domain.example)
    return list(dict.fromkeys(found))[:3]


def _suits(domain: Domain, world: World, predicate: str, thing: str, place: str) -> bool:
    return not misfit(domain, world, Literal(predicate, (thing, place)))


def _said(world: World, name: str) -> str:
    return (
        spoken(name)
        if sum(o.class_name == world.by_name[name].class_name for o in world.objects) > 1
        else (spoken(world.by_name[name].class_name or name) if name.rsplit("_", 1)[-1].isdigit() else spoken(name))
    )


def _mentioned(names: NounPhrases, words: Words) -> list[str]:
    """Objects whose noun occurs in the words, best described first."""
    said = {names.singular(w) for w in words}
    found = {
        n: len(said & names.features[n]) for n in names.world.by_name if said & (names.heads[n] - {n}) or n in said
    }
    return sorted(found, key=lambda n: -found[n])[:6]

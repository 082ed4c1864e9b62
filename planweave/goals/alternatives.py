"""Questions about a sentence that is not clear: what its words may mean, in words that tell one from the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import Alternative, UserQuestion
from planweave.core.workflow.reading import Reading
from planweave.goals.paraphrase import understood

MOST_CHOICES = 12
"""Choices of a question; what leaves more open is refused."""
APART = 0.03
"""Metres by which objects must stand apart from left to right to be told by it."""

NUMBER = re.compile(r"_\d+$")
"""What tells a thing's name from those of its twins."""


def object_question(
    domain: Domain, world: World, phrase: str, at: int, candidates: Sequence[Sequence[str]], text: str = ""
) -> UserQuestion | None:
    """The question which candidate, of one or several objects, a phrase means; None where there are too many."""
    distinct = list(dict.fromkeys(map(tuple, candidates)))
    if not distinct or len(distinct) > MOST_CHOICES:
        return None
    single = [names[0] for names in distinct if len(names) == 1]
    where = _whereabouts(domain, world, single)
    sides = any("left" in words or "right" in words for words in where.values())
    seen_from = f" (left and right are the {domain.seen_from(world)}'s)" if sides else ""
    choices = tuple(
        Alternative(" and ".join(map(spoken, names)) + where.get(names[0] if len(names) == 1 else "", ""), names)
        for names in distinct
    )
    return UserQuestion((text or f'which is meant by "{phrase}"?') + seen_from, choices, phrase, at)


def which_reading(
    domain: Domain, world: World, readings: Iterable[Reading], source: str = "grammar", unread: str = ""
) -> UserQuestion:
    """The question which of several readings is meant, or whether the only one is. source: who read them;
    unread: why the grammar did not read the sentence.
    """
    read = list(readings)[:MOST_CHOICES]
    choices = tuple(
        Alternative(
            understood(domain, world, r.goal, (), r.before, r.keep)
            if r.before or r.keep
            else " and ".join(map(domain.phrase, r.goal)),
            goal=r.goal,
            before=r.before,
            keep=r.keep,
        )
        for r in read
    )
    text = "the sentence can be meant in several ways; which is it?" if len(read) > 1 else "is this what is meant?"
    return UserQuestion(f"{unread}; {text}" if unread else text, choices, source=source)


def in_context(question: UserQuestion, words: Sequence[str]) -> str:
    """The question's text; where its phrase occurs several times in the words, with the place that is asked about."""
    said = question.phrase.split()
    places = [at for at in range(len(words)) if list(words[at : at + len(said)]) == said]
    if len(places) < 2 or question.at not in places:
        return question.text
    before, after = words[: question.at], words[question.at + len(said) :]
    return f"{question.text} It is the one in brackets: {' '.join([*before, f'[{question.phrase}]', *after])}"


def _whereabouts(domain: Domain, world: World, names: Sequence[str]) -> dict[str, str]:
    """Label endings that tell apart objects whose names differ by a number only; none where nothing tells."""
    kinds: dict[str, list[str]] = {}
    for name in names:
        kinds.setdefault(NUMBER.sub("", name), []).append(name)
    found: dict[str, str] = {}
    for alike in kinds.values():
        if len(alike) > 1:
            found.update(_by_place(domain, world, alike) or _by_side(domain, world, alike))
    return found


def _by_place(domain: Domain, world: World, names: Sequence[str]) -> dict[str, str]:
    """Label endings by what each is in or on, where that differs."""
    said: dict[str, str] = {}
    for name in names:
        start = f"the {spoken(name)} is "
        for fact in sorted(world.facts):
            predicate = domain.predicates.get(fact.predicate)
            if predicate and predicate.goal and fact.args[:1] == (name,) and len(fact.args) == 2:
                words = domain.phrase(fact)
                if words.startswith(start):
                    said.setdefault(name, f", {words.removeprefix(start)}")
    return said if len(said) == len(names) == len(set(said.values())) else {}


def _by_side(domain: Domain, world: World, names: Sequence[str]) -> dict[str, str]:
    """Label endings by the order from left to right."""
    places = {name: world.by_name[name].position for name in names}
    if not domain.seen_from(world) or not all(places.values()):
        return {}
    across = {name: place[1] for name, place in places.items() if place is not None}
    order = sorted(names, key=lambda name: -across[name])
    if any(across[one] - across[two] < APART for one, two in pairwise(order)):
        return {}
    between = {name: f", number {rank} from the left" for rank, name in enumerate(order, 1)}
    return {**between, order[0]: ", on the left", order[-1]: ", on the right"}

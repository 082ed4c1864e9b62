"""The interpreted goal of a sentence in plain words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.world import Literal, World


def understood(
    domain: Domain,
    world: World,
    goal: Sequence[Literal],
    notes: Iterable[str] = (),
    before: Sequence[Sequence[Literal]] = (),
    keep: Sequence[Literal] = (),
) -> str:
    """The goal as phrases, grouped by place, with the states to be reached before, what is kept meanwhile, and the
    choices and corrections.
    """
    first = "".join(
        f"{word} {_phrases(domain, step)}; " for word, step in zip(("first", *["then"] * len(before)), before)
    )
    seen_from = domain.seen_from(world)
    named = {g.predicate for g in (*goal, *(g for step in before for g in step))}
    remarks = list(notes)
    if named & {"left_of", "right_of", "moved_left", "moved_right"}:
        remarks.append(f"left and right are the {seen_from}'s")
    if named & {"front_of", "behind", "moved_to_front", "moved_to_back"}:
        remarks.append(f"in front is nearer to the {seen_from}")
    told = f" ({'; '.join(dict.fromkeys(remarks))})" if remarks else ""
    kept = f"; meanwhile {domain.phrases(keep)}" if keep else ""
    return f"{first}in the end {_phrases(domain, goal)}{kept}{told}"


def _phrases(domain: Domain, goal: Sequence[Literal]) -> str:
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
    return "; ".join(said)

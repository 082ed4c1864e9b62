"""Checks of what a clause refers to: places as earlier clauses leave them, and words that could mean several nouns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence

from planweave.core.domain import spoken
from planweave.core.errors import GoalError
from planweave.core.world import Literal
from planweave.goals.sentence_tree import Clause, Place, Quantity


class OutdatedError(GoalError):
    """A description that holds now, but no more (or only then) once the earlier clauses are done."""


def check_current(
    earlier: Iterable[Literal], placing: Collection[str], name: str, others: Sequence[str], at: bool, beside: bool
) -> None:
    """Raise OutdatedError where earlier clauses change whether an object is at a place.

    earlier: their goal; placing: predicates that say where an object is; others: the place; at: whether the object is
    there now; beside: whether the place is one beside or between others, which moves with them.
    """
    about = [g for g in earlier if g.predicate in placing]
    moved = {g.args[0] for g in about}
    put_there = [g for g in about if g.positive and g.args == (name, *others)]
    changed = put_there if not at else name in moved and not put_there
    if changed or (beside and at and moved & {*others}):
        place = " and the ".join(map(spoken, others))
        raise OutdatedError(f"what is at the {place} changes before that; name the things that are meant")


def check_pronoun(clause: Clause, place: Place) -> None:
    """Raise GoalError for "put the mug on the plate nearest to it": to the mug, or to what was named before?"""
    if any(t.pronoun for t in clause.things):
        return
    for thing in place.things:
        near = [thing.nearest_to] if thing.nearest_to else []
        of = [t for p in thing.places if p.word != "of" for t in p.things]
        for inner in (*near, *of):
            if inner.pronoun:
                raise GoalError(f"what {inner.text!r} means in {thing.text!r} is not clear; name it")


def check_other(
    clause: Clause, place: Place, noun: str, singular: Callable[[str], str], can_hold: Callable[[str], bool]
) -> None:
    """Raise GoalError for "put a cube on another" after a tray was named.

    noun: what places were called so far; can_hold: whether what has a noun can be the place.
    """
    of = place.things[0]
    if not of.other or of.rest or of.words or not noun:
        return
    new = [t.words[-1] for t in clause.things if t.quantity is Quantity.A and not t.other and t.words]
    for head in map(singular, new):
        if head != noun and can_hold(head):
            raise GoalError(f"{of.text!r} could mean another {head} or another {noun}; say which")

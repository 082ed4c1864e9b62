"""Checks of what a clause refers to: places as earlier clauses leave them, and words that could mean several nouns."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import spoken
from planweave.core.symbolic.world import Literal
from planweave.goals.sentence_tree import Clause, Kind, NounPhrase, Place, Quantity

_STAYING = ("keep", "leave")
_RELATIVE = {"that", "which", "contents", "lying", "standing", "sitting"}


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
    """Raise GoalError for "put the mug on the plate nearest to it": to the mug, or to what was named before? And for
    "put the plate in front of it and the bowl on it": is the plate there, or is it to be there?
    """
    for thing in clause.things:
        inside = [t for p in thing.places if p.word != "of" for t in p.things if t.pronoun]
        if inside and not is_relative(thing):
            raise GoalError(f"what {inside[0].text!r} means in {thing.text!r} is not clear; name it")
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


def is_relative(phrase: NounPhrase) -> bool:
    """Whether "that is" or the like says that the place describes the thing, and is not where it is to be."""
    first, *others = phrase.text.split() or [""]
    return first in ("what", "whatever", "contents") or bool(_RELATIVE & {*others})


def check_left_out(things: Sequence[NounPhrase], exceptions: Sequence[NounPhrase]) -> None:
    """Raise GoalError for "all mugs and plates except one", and for "all fruit except the apple and the bread"."""
    for index, thing in enumerate(things):
        left = (*thing.exceptions, *exceptions)
        if len(things) > 1 and any(e.quantity is Quantity.A for e in left):
            raise GoalError(f"{left[0].text!r} may be one of all, or one of each kind; name what is left out")
        if thing.exceptions and index + 1 < len(things):
            raise GoalError(
                f"{things[index + 1].text!r} may be left out as well, or not; name it before what is left out"
            )


def check_shared(
    things: Sequence[NounPhrase],
    colours: Collection[str],
    named: Callable[[NounPhrase], Sequence[str] | None],
    unseen: Callable[[str], bool],
) -> None:
    """Raise GoalError where words at one of several things may describe the others as well: "the plates and the forks
    on the table", "bottles and fruit that are green", "green bottles and fruit".

    named: objects that a phrase refers to; None where it refers to none. unseen: whether an object was never seen, and
    could be anywhere.
    """
    if len(things) < 2 or any(t.pronoun for t in things):
        return
    first, last = things[0], things[-1]
    at_end = [t for t in things[:-1] if not t.places]
    ways: list[tuple[NounPhrase, NounPhrase]] = []
    if last.places:
        ways += [(t, replace(t, places=last.places)) for t in at_end]
    coloured = [w for w in last.words if w in colours]
    if coloured and last.text.split()[-1] == coloured[0] and is_relative(last):
        ways += [(t, replace(t, words=(coloured[0], *t.words))) for t in at_end if not {*t.words} & {*colours}]
    if first.words[:1] and first.words[0] in colours and not is_relative(first):
        bare = [t for t in things[1:] if t.quantity is Quantity.BARE and t.generic != "everything"]
        ways += [(t, replace(t, words=(first.words[0], *t.words))) for t in bare if not {*t.words} & {*colours}]
    for said, narrower in ways:
        fewer, all_ = named(narrower) or (), named(said) or ()
        hidden = len(all_) > 1 and said.plural and any(map(unseen, all_))
        if (fewer and all_ and {*fewer} != {*all_}) or (not fewer and hidden):
            some = ", ".join(map(spoken, fewer)) or "those there"
            raise GoalError(f"{said.text!r} may mean {some} only, or all; name them apart, as in two sentences")


def check_side(place: Place) -> None:
    """Raise GoalError for "the things on the right" after a tray was named: in the right tray, or at the right side?"""
    of = place.things[0]
    sides = {*of.words} and {*of.words} <= {"left", "right"}
    if sides and not of.generic and place.word in ("on", "at", "to"):
        raise GoalError(f"{place.word} {of.text!r} may be a side of the table, or of what was named before; say which")


def check_described(
    things: Sequence[NounPhrase],
    places: Sequence[Place],
    beside: Callable[[Place], bool],
    named: Callable[[NounPhrase], Sequence[str] | None],
) -> None:
    """Raise GoalError for "put the plate in front of the stove next to the bowl", where the plate needs no description:
    the first place may be one where it is to be. Of several things, "the cubes behind the bowl", one is not described.
    """
    for thing in things:
        certain = thing.quantity in (Quantity.THE, Quantity.BARE) and not (thing.generic or thing.exceptions)
        at = [p for p in thing.places if p.word not in ("of", "@")]
        if not certain or not at or is_relative(thing) or not any(map(beside, (*at, *places))):
            continue
        if len(named(thing if thing.plural else replace(thing, places=())) or ()) == 1:
            raise GoalError(
                f"whether {thing.text!r} says where it is, or where it is to be as well, is not clear; say it with "
                '"that is", or with "and"'
            )


def check_already(
    clause: Clause,
    phrase: NounPhrase,
    chosen: Sequence[str],
    holds: Callable[[str], bool],
    every: Callable[[NounPhrase], Sequence[str] | None],
) -> None:
    """Raise GoalError for "there should be a cube in the tray" and "leave the fruit in the bowl" where some are so
    already, and others were chosen.
    """
    if phrase.pronoun or clause.negated:
        return
    if phrase.quantity is Quantity.A:
        so = [n for n in every(phrase) or () if n not in chosen and holds(n)]
        unclear = bool(so)
    else:
        so = [n for n in chosen if holds(n)]
        stays = clause.verb in _STAYING and clause.places
        unclear = bool(stays) and len(so) < len(chosen) and (bool(so) or phrase.other)
    if unclear:
        of = f"{', '.join(map(spoken, so))} {'is' if len(so) == 1 else 'are'} so already" if so else "none is so yet"
        raise GoalError(f"{phrase.text!r}: {of}; name the things that are meant")


def check_nearest(place: NounPhrase, english: Mapping[str, Any]) -> None:
    """Raise GoalError for "put it on the nearest cube": nearest to the robot, or to where the thing is?"""
    reach = place.superlative and english["superlatives"][place.superlative][0] == "reach"
    if reach and place.nearest_to is None and not any(w in place.text for w in english["to_you"]):
        raise GoalError(f'{place.text!r}: {place.superlative} to what? say "… to the robot", or name the place')


def check_none(clause: Clause) -> None:
    """Raise GoalError for "one light should not be on": none of them, or not all?"""
    for thing in clause.things:
        first = thing.text.split(" ")[0]
        unclear = first == "one" or (first in ("a", "an") and clause.kind is Kind.WISH)
        if thing.quantity is Quantity.A and unclear:
            raise GoalError(f"whether none of {thing.text!r} is meant, or not all, is not clear; name them")

"""The one place where facts are read off geometry. Tolerances are the constants below, in metres.

Relations between things beside each other are seen from above, in the frame fr3_link0: x forward, y to the robot's
left. So left_of means a larger y; for a person who faces the robot it is the right-hand side.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import combinations

from executor_node.things import Thing
from executor_node.workspace import Location
from planweave.world import Literal

GAP = 0.015
"""An item rests on what is at most this far below (or above) its lower side."""
SINK = 0.03
"""An item on a plate may lie this far below the plate's rim."""
RIM = 0.01
"""An item is in a container when its lower side is below the rim by at least this much."""
SPILL = 0.005
"""An item counts for a support or place when its centre is inside the outline widened by this much."""
AT_BASE = 0.03
"""Largest joint difference from the home position, rad."""
NEAR = 0.06
"""Two things are near each other when there is at most this much room between their outlines."""
OVERLAP = 0.005
"""How far outlines may overlap for a thing to count as beside, or between, others: how well outlines are known."""
OFF_LINE = 0.04
"""A thing is between two others when its centre is at most this far beside the line through theirs."""


def facts(
    things: Sequence[Thing],
    places: Sequence[Location],
    held: str,
    at_base: bool,
    reachable: Callable[[Thing | Location], bool],
    handed_over: Collection[str] = (),
) -> frozenset[Literal]:
    """All positive facts. held: name of the item in the gripper, empty for none; handed_over: items that a person has.

    The item in the gripper is on, in and at nothing.
    """
    found: set[Literal] = {Literal("holding", (held,)) if held else Literal("hand_empty")}
    found.update(Literal("handed_over", (name,)) for name in handed_over)
    if at_base:
        found.add(Literal("at_base"))
    lying = [t for t in things if t.name != held]
    items = [t for t in lying if t.type == "item"]
    covered: set[str] = set()
    resting: set[frozenset[str]] = set()  # what is on or in another is not beside it
    for item in items:
        below = support_of(item, lying)
        box = container_of(item, lying)
        if below is not None:
            covered.add(below.name)
            resting.add(frozenset((item.name, below.name)))
            found.add(Literal("on", (item.name, below.name)))
        if box is not None:
            resting.add(frozenset((item.name, box.name)))
            found.add(Literal("in", (item.name, box.name)))
        if below is None and box is None:
            for place in places:
                if on_table(item) and place.covers(item.position[0], item.position[1], SPILL):
                    found.add(Literal("at", (item.name, place.name)))
                    if place.narrow:
                        covered.add(place.name)
    beside = set(_beside(lying, resting))
    crowded = {f.args[0] for f in beside if f.predicate == "near"}
    found |= beside
    found.update(Literal("apart", (i.name,)) for i in items if i.name not in crowded and on_table(i))
    for thing in things:
        if thing.type == "item":
            found.add(Literal("narrow", (thing.name,)))
        if thing.type != "item" or thing.name not in covered:
            found.add(Literal("clear", (thing.name,)))
        if reachable(thing):
            found.add(Literal("reachable", (thing.name,)))
    for place in places:
        if place.narrow:
            found.add(Literal("narrow", (place.name,)))
        if not place.narrow or (place.name not in covered and not _blocked(place, lying)):
            found.add(Literal("clear", (place.name,)))
        if reachable(place):
            found.add(Literal("reachable", (place.name,)))
        found.update(Literal("within", (place.name, other.name)) for other in places if place.within(other))
    return frozenset(found)


def _beside(things: Sequence[Thing], resting: Collection[frozenset[str]]) -> Iterator[Literal]:
    """Facts left_of, right_of, near and between, of items among all things."""
    pairs = [(a, b) for a, b in combinations(things, 2) if frozenset((a.name, b.name)) not in resting]
    for one, two in pairs:
        for item, other in ((one, two), (two, one)):
            if item.type != "item":
                continue
            if left_of(item, other):
                yield Literal("left_of", (item.name, other.name))
            elif left_of(other, item):
                yield Literal("right_of", (item.name, other.name))
            if item.gap(other) <= NEAR:
                yield Literal("near", (item.name, other.name))
    for item in (t for t in things if t.type == "item"):
        for one, two in pairs:
            if item is not one and item is not two and between(item, one, two):
                if frozenset((item.name, one.name)) in resting or frozenset((item.name, two.name)) in resting:
                    continue
                yield Literal("between", (item.name, one.name, two.name))
                yield Literal("between", (item.name, two.name, one.name))


def left_of(thing: Thing, other: Thing) -> bool:
    """Whether a thing stands beside another on its left: within 45 degrees of it, without overlap."""
    dx, dy = thing.position[0] - other.position[0], thing.position[1] - other.position[1]
    return dy > 0 and abs(dx) <= dy >= thing.support(0.0, 1.0) + other.support(0.0, 1.0) - OVERLAP


def between(thing: Thing, one: Thing, two: Thing) -> bool:
    """Whether a thing stands on the line from one to another, in the room between their outlines."""
    (ax, ay, _), (bx, by, _), (x, y, _) = one.position, two.position, thing.position
    length = math.hypot(bx - ax, by - ay)
    if length < 1e-6:
        return False
    u, v = (bx - ax) / length, (by - ay) / length
    along, aside = (x - ax) * u + (y - ay) * v, (x - ax) * v - (y - ay) * u
    if abs(aside) > OFF_LINE or not 0.0 < along < length:
        return False
    own = thing.support(u, v) - OVERLAP
    return one.support(u, v) + own <= along <= length - two.support(u, v) - own


def support_of(item: Thing, things: Iterable[Thing]) -> Thing | None:
    """The item or surface that an item rests on: the highest one below its centre; None for table and
    containers.
    """
    best = None
    for other in things:
        if other is item or other.type not in ("item", "surface") or not other.covers(*item.position[:2], SPILL):
            continue
        if other.type == "surface":
            rests = other.bottom - GAP <= item.bottom <= other.top + GAP and item.top > other.top - SINK
        else:
            rests = abs(item.bottom - other.top) <= GAP and item.position[2] > other.position[2]
        if rests and (best is None or other.top > best.top):
            best = other
    return best


def container_of(item: Thing, things: Iterable[Thing]) -> Thing | None:
    """The container that an item lies in: its centre is inside the outline and its lower side below the rim."""
    for other in things:
        if (
            other.type == "container"
            and other.covers(*item.position[:2])
            and item.bottom >= other.bottom - GAP
            and item.bottom <= other.top - min(RIM, other.size[2] / 4)
        ):
            return other
    return None


def on_table(item: Thing) -> bool:
    """Whether an item stands on the table itself."""
    return abs(item.bottom) <= GAP


def _blocked(place: Location, things: Iterable[Thing]) -> bool:
    """Whether something that is no item (a tray, a plate) stands over the middle of a place."""
    return any(t.type != "item" and t.covers(*place.centre) for t in things)

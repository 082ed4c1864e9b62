"""The one place where facts are read off geometry. Tolerances are the constants below, in metres."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

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


def facts(
    things: Sequence[Thing],
    places: Sequence[Location],
    held: str,
    at_base: bool,
    reachable: Callable[[Thing | Location], bool],
) -> frozenset[Literal]:
    """All positive facts. held: name of the item in the gripper, empty for none.

    The item in the gripper is on, in and at nothing.
    """
    found: set[Literal] = {Literal("holding", (held,)) if held else Literal("hand_empty")}
    if at_base:
        found.add(Literal("at_base"))
    lying = [t for t in things if t.name != held]
    items = [t for t in lying if t.type == "item"]
    covered: set[str] = set()
    for item in items:
        below = support_of(item, lying)
        box = container_of(item, lying)
        if below is not None:
            covered.add(below.name)
            found.add(Literal("on", (item.name, below.name)))
        if box is not None:
            found.add(Literal("in", (item.name, box.name)))
        if below is None and box is None:
            for place in places:
                if on_table(item) and place.covers(item.position[0], item.position[1], SPILL):
                    found.add(Literal("at", (item.name, place.name)))
                    if place.narrow:
                        covered.add(place.name)
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

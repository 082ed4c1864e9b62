"""Facts derived from geometry that a world lists; their number is linear in that of the objects.

Tolerances are the constants below, in metres. Relations between neighbouring objects are in planweave.geometry.spatial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from planweave.bodies.arm.poses import other_middle, pose_of
from planweave.bodies.arm.scene_object import Thing, room
from planweave.bodies.arm.settings import AS_SEEN, PutRules
from planweave.bodies.arm.shape_places import level_top
from planweave.bodies.arm.solids import Opening
from planweave.bodies.arm.workspace import Location
from planweave.core.symbolic.world import Literal
from planweave.geometry.spatial import ON_TABLE, on_table

GAP = ON_TABLE
"""An item rests on what is at most this far below (or above) its lower side."""
SINK = 0.03
"""An item on a plate may lie this far below the plate's rim."""
RIM = 0.01
"""An item is in a container when its lower side is below the rim by at least this much."""
SPILL = 0.005
"""An item counts for a support or place when its centre is inside the outline widened by this much."""
HOLLOW = 0.025
"""Into what is at least as deep and wide, things can be put."""
ASKEW = 0.01
"""A lid that leaves less than this of an opening free covers it."""
AT_BASE = 0.03
"""Largest joint difference from the home position, rad."""
_BEARING = ("item", "surface", "fixture")
Reading = Callable[[Sequence[Thing], Sequence[Location]], Iterable[tuple[str, ...]]]
FURTHER: dict[str, Reading] = {}
"""Further predicates, of domains of one's own and of ours: how each is read off what lies on the table (without what is
held) and the places, as the arguments of all facts that hold. See docs/extending.md.
"""


def facts(
    things: Sequence[Thing],
    places: Sequence[Location],
    held: str,
    at_base: bool,
    reachable: Callable[[Thing | Location], bool],
    handed_over: Collection[str] = (),
    rooms: Sequence[Thing] = (),
    hidden: Mapping[str, str] = MappingProxyType({}),
    ground: float = 0.0,
    put: Collection[str] = (),
    rules: PutRules = AS_SEEN,
) -> frozenset[Literal]:
    """All positive facts but those of planweave.geometry.spatial.

    held: name of the item in the gripper, empty for none; handed_over: items that a person has; rooms: insides of open
    drawers and of compartments; hidden: in which part items lie that are not seen, in a drawer or behind a door;
    ground: height of what all stands on, m; put: items that the robot has put where they are. The item in the gripper
    is on, in and at nothing.
    """
    found: set[Literal] = {Literal("holding", (held,)) if held else Literal("hand_empty")}
    found.update(Literal("handed_over", (name,)) for name in handed_over)
    if at_base:
        found.add(Literal("at_base"))
    lying = [t for t in things if t.name != held]
    covered: set[str] = set()
    for item, under in _overlapping(lying):
        below, box = support_of(item, under), "" if item.visible else hidden.get(item.name, "")
        if not box:
            sure = rules.unsure if item.name in put else 0.0
            inside = container_of(item, rooms, sure) or container_of(item, under, sure)
            box = inside.name if inside is not None else ""
            if inside is not None and inside.type == "item" and support_of(inside, under) is below:
                below = None  # it rests on the floor of that vessel, which may be thin
        if box:
            found.add(Literal("in", (item.name, box)))
        if below is not None and _is_on(item, below, box, item.name in put, rules):
            covered.add(below.name)
            found.add(Literal("on", (item.name, below.name)))
            if box != below.name and _covers(item, below):
                found.add(Literal("covered", (below.name,)))
        if below is None and not box and on_table(item, ground):
            for place in places:
                if place.covers(item.position[0], item.position[1], SPILL):
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
    for predicate, read in FURTHER.items():
        found.update(Literal(predicate, arguments) for arguments in read(lying, places))
    return frozenset(found)


def _is_on(item: Thing, below: Thing, box: str, was_put: bool, rules: PutRules) -> bool:
    """Whether an item is on what bears it: surely so where the robot has put it there, and it is not just in it. Which
    middle of a vessel with a handle counts, nobody knows; nor whether that of its foot does, where it lies aslant.
    """
    low = 0.0 if item.orientation is None else -item.size[2] / 2
    middles = (item.position, *((pose_of(item) @ (*m, 1.0)).tolist() for m in (other_middle(item), (0.0, 0.0, low))))
    apart = max(math.dist(m[:2], below.position[:2]) for m in middles) if below.type == "item" else 0.0
    if item.below is not None and box:
        return box == below.name and below.type == "item" and apart <= rules.stacked
    return not was_put or apart <= rules.centred


def _overlapping(things: Sequence[Thing]) -> list[tuple[Thing, list[Thing]]]:
    """Each item with the objects that its centre may be above: inside the circle around their outline, and the one that
    it is known to rest on.
    """
    if not things:
        return []
    centres = np.array([t.position[:2] for t in things])
    reach = np.array([np.hypot(*t.size[:2]) / 2 for t in things]) + SPILL
    away = np.hypot(*(centres[:, None] - centres[None]).transpose(2, 0, 1))
    close = away <= reach[None]
    named = {t.name: k for k, t in enumerate(things)}
    for i, item in enumerate(things):
        if item.below in named:
            close[i, named[item.below]] = True
    return [
        (item, [things[int(j)] for j in np.flatnonzero(row) if j != i])
        for i, (item, row) in enumerate(zip(things, close))
        if item.type == "item"
    ]


def support_of(item: Thing, things: Iterable[Thing]) -> Thing | None:
    """The item or surface that an item rests on: what it is known to, else the highest one below its centre, of one in
    another that one: a lid lies on the rim and not on what is in the pot; None for table and containers.
    """
    if item.below is not None:
        return next((other for other in things if other.name == item.below), None)
    best: Thing | None = None
    bearing: list[Thing] = []
    for other in things:
        if other is item or other.type not in _BEARING or not other.covers(*item.position[:2], SPILL):
            continue
        if other.type == "surface":
            rests = other.bottom - GAP <= item.bottom <= other.top + GAP and item.top > other.top - SINK
        else:
            level = other.top
            if other.type == "fixture" and other.bottom < item.bottom < level - GAP:  # a knob is higher than the stove
                top = level_top(other)
                level = (
                    top.centre[2] if top is not None and room("", "part", "", top).covers(*item.position[:2]) else level
                )
            rests = abs(item.bottom - level) <= GAP and item.position[2] > other.position[2]
        if rests:
            bearing.append(other)
            best = other if best is None or other.top > best.top else best
    return best and (container_of(best, bearing) or best)


def lies(item: Thing, things: Iterable[Thing]) -> bool:
    """Whether an item rests on the table, on another thing or in one, and is in nobody's hand."""
    others = [thing for thing in things if thing is not item]
    return on_table(item) or support_of(item, others) is not None or container_of(item, others) is not None


def hider_of(item: Thing, things: Iterable[Thing]) -> Thing | None:
    """The object on top of an item, preferably one that is observed itself; None where there is none."""
    standing = [t for t in things if t.type == "item" and t is not item and support_of(t, [item]) is item]
    return max(standing, key=lambda t: t.visible, default=None)


def container_of(item: Thing, things: Iterable[Thing], margin: float = 0.0) -> Thing | None:
    """The container, hollow thing or room of an item: its centre is inside the outline, by a margin (m), its lower side
    below the rim, and it does not lie across it.
    """
    things = list(things)
    bearers = _bearers(item, things)
    return next((other for other in things if other is not item and _contains(other, item, margin, bearers)), None)


def _bearers(item: Thing, things: Iterable[Thing]) -> list[str]:
    """What an item is known to rest on, and what this does, from the top down."""
    below, found = {thing.name: thing.below for thing in things}, list[str]()
    name = item.below
    while name and name not in found:
        found.append(name)
        name = below.get(name)
    return found


def _contains(other: Thing, item: Thing, margin: float, bearers: Collection[str]) -> bool:
    x, y, z = item.position
    if other.type == "container" or is_room(other):
        rim = other.top - min(RIM, other.size[2] / 4)
        across = is_room(other) and item.bottom > other.position[2] and z > other.top
        return other.covers(x, y, -margin) and other.bottom - GAP <= item.bottom <= rim and not across
    hollow = hollow_of(other)
    if hollow is None or (item.below is not None and other.name not in bearers):
        return False
    if z <= other.bottom or min(item.size[:2]) > max(hollow.size):  # what bears it, as a plate does
        return False
    rim = other.position[2] + hollow.rim
    if not other.bottom - GAP <= item.bottom <= rim - RIM or (item.bottom > other.position[2] and z > rim):
        return False
    if item.below is not None:
        return not margin or other.covers(x, y, -margin)
    return hollow.covers(x - other.position[0], y - other.position[1], -margin)


def is_room(thing: Thing) -> bool:
    """Whether it is only the room in a drawer."""
    return not thing.solid.parts


def hollow_of(thing: Thing) -> Opening | None:
    """The opening, in its own frame, of a thing into which others can be put; None where none is seen."""
    if thing.type != "item" or not thing.solid.openings:
        return None
    opening = thing.solid.openings[0]
    return opening if opening.depth > HOLLOW and min(opening.size) > HOLLOW else None


def _covers(item: Thing, vessel: Thing) -> bool:
    """Whether an item on the rim of a vessel is over all of its opening."""
    opening = hollow_of(vessel)
    if opening is None:
        return False
    apart = math.dist(item.position[:2], np.add(vessel.position[:2], opening.centre))
    return apart + max(opening.size) / 2 <= min(item.size[:2]) / 2 + ASKEW


def properties(things: Iterable[Thing], parted: Collection[str] = ()) -> set[Literal]:
    """Affordances of things of known parts, as their shapes show them: put on them, put into them. parted: those
    that have compartments, in which things are put instead.
    """
    found: set[Literal] = set()
    for thing in things:
        if thing.name not in parted:
            found.add(Literal("bears_things", (thing.name,)))
        if hollow_of(thing) is not None:
            found.add(Literal("holds_things", (thing.name,)))
    return found


def _blocked(place: Location, things: Iterable[Thing]) -> bool:
    """Whether an object other than an item (a tray, a plate) covers the centre of a place."""
    return any(t.type != "item" and t.covers(*place.centre) for t in things)

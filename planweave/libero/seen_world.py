"""The world of the domain `kitchen` of things that cameras have seen: relations, states and drawers from their points.

Metres, in the frame of `planweave.libero.truth`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import solid_of_cloud
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.libero.truth import at_centre, categories, completed, table_centre
from planweave.perception.geometry import hull_of, inward
from planweave.perception.seen_things import SUNK, SeenThing

if TYPE_CHECKING:
    from planweave.libero.compartments import Compartment
    from planweave.libero.seen_furniture import SeenFurniture

TURNED = np.diag([-1.0, -1.0, 1.0])
"""From LIBERO's frame, and that of the robot's base, to the person's."""
_UNSURE = 0.015  # m by which the middles of two things may be wrong against each other, as they are seen
_CENTRED = 0.03 - _UNSURE  # m between those of an item that was put on another and of that one; LIBERO wants 0.03


@dataclass(frozen=True, eq=False)
class Seen:
    """What the cameras show: the symbolic world, the things with their points, and the furniture among them."""

    world: World
    things: tuple[SeenThing, ...]
    ground: float
    base: np.ndarray = field(repr=False)
    furniture: SeenFurniture = field(repr=False)

    def solids(self, domain: Domain) -> tuple[Thing, ...]:
        """The things with their shapes in the robot's base frame, for grasping, and the rooms of open drawers."""
        found = [solid_thing(domain, thing, self.base) for thing in self.things if not thing.lost]
        return (*found, *self.furniture.rooms())


def solid_thing(domain: Domain, thing: SeenThing, base: np.ndarray) -> Thing:
    """A thing with its shape in the frame of the robot's base, which is at a place of LIBERO's frame."""
    kind = thing.named.class_name
    solid = solid_of_cloud(thing.points @ TURNED.T - base, thing.bottom - float(base[2]))
    is_round = domain.is_round_class(kind)
    found = thing_of_solid(thing.name, domain.type_of_class(kind), kind, solid, round_class=is_round)
    return replace(found, visible=thing.visible)


# ---- the world ----------------------------------------------------------------------------------------------------


def _can(kind: str) -> set[str]:
    """Properties that things of a class have."""
    last = kind.rsplit("_", 1)[-1]
    rows = [row for table in ("items", "fixtures") for row in categories()[table].values()]
    return {
        can
        for row in rows
        if row["class"] in (kind, last) or row["class"].endswith(f"_{last}")
        for can in row.get("can", ())
    }


def seen_world(
    domain: Domain,
    things: Sequence[SeenThing],
    stamp: float,
    lifted: str = "",
    furniture: SeenFurniture | None = None,
    compartments: Sequence[Compartment] = (),
    base: np.ndarray | None = None,
) -> World:
    """The world of things; lifted: the one in the robot's hand, which stands nowhere. base: place of the robot's, m,
    where there are compartments.
    """
    objects, facts = [], set()
    for thing in things:
        kind = thing.named.class_name
        objects.append(_object(domain, thing, stamp))
        facts |= {Literal(can, (thing.name,)) for can in _can(kind)}
        facts |= {Literal("bears_things", (thing.name,))} if kind != "caddy" else set()
        facts |= {*_states(thing)}
        if furniture is not None and thing.name in furniture.furniture:
            objects += furniture.drawers(thing.name, stamp)
            facts |= furniture.furniture[thing.name].facts()
    if base is not None:
        objects += [each.in_world(base, stamp) for each in compartments]
        facts = facts.union(*(each.facts() for each in compartments))
    middle = table_centre(stamp)
    placed, by_name = set(), {thing.name: thing for thing in things}
    for thing in things:
        if domain.type_of_class(thing.named.class_name) == "item" and thing.below and thing.name != lifted:
            placed.add(thing.name)
            room = furniture.contents.hider(thing.name) if furniture is not None else ""
            around = _around(thing, compartments, base)
            if room or around:
                facts.add(Literal("in", (thing.name, room or around)))
            else:
                facts.update(_relations(domain, thing, by_name[thing.below]))
    placed |= {lifted, *(thing.name for thing in things if thing.lost)}
    free = [o for o in objects if o.type == "item" and o.name not in placed]
    world = completed(domain, [*objects, middle], {*facts, *at_centre(free, middle)}, stamp)
    lost = {thing.name for thing in things if thing.lost}
    return replace(world, facts=frozenset(f for f in world.facts if not lost.intersection(f.args)))


def _around(thing: SeenThing, compartments: Sequence[Compartment], base: np.ndarray | None) -> str:
    """The compartment in which a thing surely stands, and does not lie across; empty where it stands in none."""
    if base is None:
        return ""
    x, y, _ = TURNED @ thing.middle - base
    low = thing.low - float(base[2])
    margin = _UNSURE if thing.was_put else 0.0
    inside = (c for c in compartments if c.of == thing.below and c.covers(x, y, margin))
    return next((c.name for c in inside if low < c.region.centre[2]), "")


def _object(domain: Domain, thing: SeenThing, stamp: float) -> WorldObject:
    low, high = thing.bounds
    x, y, z = ((low + high) / 2).tolist()
    dx, dy, dz = (high - low).tolist()
    kind = thing.named.class_name
    attributes = {"color": thing.named.colour} if thing.named.colour else {}
    of = thing.name, domain.type_of_class(kind), kind, attributes
    if thing.lost:
        return WorldObject(*of, None, None, None, Known.UNKNOWN, thing.stamp)
    known, seen = (Known.SEEN, stamp) if thing.visible else (Known.REMEMBERED, thing.stamp)
    return WorldObject(*of, (x, y, z), None, (dx, dy, dz), known, seen)


def _states(thing: SeenThing) -> Iterator[Literal]:
    """States that the model has seen; without an answer they stay unknown."""
    can, state = _can(thing.named.class_name), thing.named.state
    if "can_open" in can and state in ("open", "closed"):
        yield Literal("opened" if state == "open" else "closed", (thing.name,))
    if "can_turn" in can and state in ("on", "off"):
        yield Literal(f"turned_{state}", (thing.name,))


def _relations(domain: Domain, thing: SeenThing, below: SeenThing) -> Iterator[Literal]:
    """How a thing rests on or in another; nothing where the robot has put it there, and it may not be as LIBERO means.
    What is in a bowl, in its middle, is on it, too, as one of a stack is.
    """
    margin = _UNSURE if thing.was_put else 0.0
    apart = math.dist(thing.middle[:2], below.middle[:2])
    is_item = domain.type_of_class(below.named.class_name) == "item"
    rim, half = float(below.points[:, 2].max()), float(below.middle[2])
    sunk = thing.low < rim - SUNK and (thing.middle[2] < rim or thing.low < half)  # what lies across it is not in it
    if "holds_things" in _can(below.named.class_name) and sunk:
        if not thing.was_put or inward(thing.middle[None, :2], hull_of(below.points))[0] > margin:
            yield Literal("in", (thing.name, below.name))
        if is_item and apart <= _CENTRED:
            yield Literal("on", (thing.name, below.name))
    elif not (thing.was_put and is_item and apart > _CENTRED):
        yield Literal("on", (thing.name, below.name))

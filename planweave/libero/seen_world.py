"""The world of the domain `kitchen` of things that cameras have seen: relations, states and drawers from their points.

Metres, in the frame of `planweave.libero.truth`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import solid_of_cloud
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Literal, World, WorldObject
from planweave.libero.compartments import Compartment, compartments_of
from planweave.libero.seen_furniture import SeenFurniture
from planweave.libero.truth import at_centre, completed, kinds, table_centre
from planweave.perception.geometry import Pose, hull_of, inward
from planweave.perception.known_things import KnownThings
from planweave.perception.seen_things import SUNK, SeenThing, resting

TURNED = np.diag([-1.0, -1.0, 1.0])
"""From LIBERO's frame, and that of the robot's base, to the person's."""
_UNSURE = 0.015  # m by which the middles of two things may be wrong against each other, as they are seen
_CENTRED = 0.03 - _UNSURE  # m between those of an item that was put on another and of that one; LIBERO wants 0.03


class Seen:
    """What the cameras have shown: things followed from look to look, and the furniture among them.

    ground: height of what carries all; base: place of the robot's base in LIBERO's frame, (3,). to_base: from the frame
    here to that of the robot's base.
    """

    def __init__(self, domain: Domain, things: Sequence[SeenThing], ground: float, base: np.ndarray) -> None:
        self.to_base = Pose(TURNED, -base)
        self.furniture = SeenFurniture(domain, self.to_base, ground)
        self.memory = KnownThings(things, ground, self._is_item, self.furniture.shows, domain)
        self.compartments: list[Compartment] = []
        self._domain = domain
        self._shapes: dict[str, tuple[np.ndarray, float, Thing]] = {}

    def settle(self, held: str = "") -> None:
        """Find what stands on what, and what lies in drawers; held: the thing in the robot's hand, on nothing."""
        self.memory.put(*resting(self.memory.things, self.memory.ground, held))
        self.furniture.find_contents(self.memory.things, held)

    def world_at(self, stamp: float, held: str = "") -> World:
        """The world as it has settled, at a time; held: as then."""
        domain, things = self._domain, self.memory.things
        objects, facts = [], set[Literal]()
        for thing in things:
            kind = thing.named.class_name
            objects.append(_object(domain, thing, stamp))
            facts |= {Literal(can, (thing.name,)) for can in _can(kind)}
            facts |= {Literal("bears_things", (thing.name,))} if kind != "caddy" else set()
            facts |= {*_states(thing)}
            if thing.name in self.furniture.furniture:
                objects += self.furniture.drawers(thing.name, stamp)
                facts |= self.furniture.furniture[thing.name].facts()
        objects += [each.in_world(self.to_base.inverse(), stamp) for each in self.compartments]
        facts = facts.union(*(each.facts() for each in self.compartments))
        placed, by_name = {held}, {thing.name: thing for thing in things}
        for thing in things:
            if thing.lost:
                placed.add(thing.name)
            elif self._is_item(thing) and thing.below and thing.name != held:
                placed.add(thing.name)
                around = self.furniture.contents.hider(thing.name) or self._compartment_of(thing)
                if around:
                    facts.add(Literal("in", (thing.name, around)))
                else:
                    facts.update(_relations(domain, thing, by_name[thing.below]))
        middle = table_centre(stamp)
        free = [o for o in objects if o.type == "item" and o.name not in placed]
        world = completed(domain, [*objects, middle], {*facts, *at_centre(free, middle)}, stamp, held)
        lost = {thing.name for thing in things if thing.lost}
        return replace(world, facts=frozenset(f for f in world.facts if not lost.intersection(f.args)))

    def solids(self, domain: Domain) -> tuple[Thing, ...]:
        """The things with their shapes in the robot's base frame, for grasping, and the rooms in them."""
        found = [solid for thing in self.memory.things if not thing.lost for solid in self._solids(domain, thing)]
        return (*found, *(part.room for part in self.compartments))

    def find_compartments(self) -> None:
        """Find those of caddies by their shapes."""
        caddies = [self._solid(self._domain, t) for t in self.memory.things if t.named.class_name.endswith("caddy")]
        self.compartments = [part for caddy in caddies for part in compartments_of(caddy)]

    def _solids(self, domain: Domain, thing: SeenThing) -> list[Thing]:
        """A thing's shape, and the insides of its open drawers."""
        furniture = self.furniture.furniture.get(thing.name)
        if furniture is None:
            return [self._solid(domain, thing)]
        whole, *rooms = furniture.things(domain)
        return [replace(whole, visible=thing.visible), *rooms]

    def _solid(self, domain: Domain, thing: SeenThing) -> Thing:
        """The shape of what is no furniture, made once for each place."""
        points, bottom, shape = self._shapes.get(thing.name, (None, 0.0, None))
        if shape is None or points is not thing.points or bottom != thing.bottom:
            kind = thing.named.class_name
            solid = solid_of_cloud(self.to_base.apply(thing.points), thing.bottom + float(self.to_base.translation[2]))
            is_round = domain.is_round_class(kind)
            shape = thing_of_solid(thing.name, domain.type_of_class(kind), kind, solid, round_class=is_round)
            self._shapes[thing.name] = thing.points, thing.bottom, shape
        return replace(shape, visible=thing.visible)

    def _is_item(self, thing: SeenThing) -> bool:
        return self._domain.type_of_class(thing.named.class_name) == "item"

    def _compartment_of(self, thing: SeenThing) -> str:
        """The compartment in which a thing surely stands, and does not lie across; empty where it stands in none."""
        x, y, _ = self.to_base.apply(thing.middle)
        low = thing.low + float(self.to_base.translation[2])
        margin = _UNSURE if thing.was_put else 0.0
        rooms = (part.room for part in self.compartments if part.of == thing.below)
        return next((room.name for room in rooms if room.covers(x, y, -margin) and low < room.position[2]), "")


def _can(kind: str) -> set[str]:
    """Properties that things of a class have."""
    last = kind.rsplit("_", 1)[-1]
    return {
        can
        for row in kinds().values()
        if row["class"] in (kind, last) or row["class"].endswith(f"_{last}")
        for can in row.get("can", ())
    }


def _object(domain: Domain, thing: SeenThing, stamp: float) -> WorldObject:
    box, kind = thing.detection, thing.named.class_name
    attributes = {"color": thing.named.colour} if thing.named.colour else {}
    of = thing.name, domain.type_of_class(kind), kind, attributes
    if thing.lost:
        return WorldObject(*of, None, None, None, Known.UNKNOWN, thing.stamp)
    known, seen = (Known.SEEN, stamp) if thing.visible else (Known.REMEMBERED, thing.stamp)
    return WorldObject(*of, box.position, None, box.size, known, seen)


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

"""Compartments of a caddy by its shape, with the names that people give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing, room
from planweave.bodies.arm.shape_places import pockets_of
from planweave.core.symbolic.world import Known, Literal, WorldObject
from planweave.perception.geometry import Pose

_ASIDE = 0.25  # share of the caddy's width from its middle on which a compartment is at its left or right


@dataclass(frozen=True)
class Compartment:
    """room: as an object around the arm, in the robot's base frame; of: the caddy; side: left, right, front or back, as
    a person who faces the robot calls it.
    """

    room: Thing
    of: str
    side: str

    def in_world(self, from_base: Pose, stamp: float) -> WorldObject:
        """As an object of the world, to whose frame `from_base` brings."""
        x, y, z = from_base.apply(np.array(self.room.position)).tolist()
        of = self.room.name, "part", "compartment", {"side": self.side}
        return WorldObject(*of, (x, y, z), None, self.room.size, Known.SEEN, stamp)

    def facts(self) -> set[Literal]:
        """What is always so of it."""
        return {Literal("part_of", (self.room.name, self.of)), Literal("holds_things", (self.room.name,))}


def compartments_of(thing: Thing) -> Iterator[Compartment]:
    """The compartments of a thing that has several of them; a side that two of them have is told of none."""
    found: dict[str, list[Region]] = {}
    for region in pockets_of(thing):
        x, y = region.centre[0] - thing.position[0], region.centre[1] - thing.position[1]
        aside = abs(y) > _ASIDE * thing.size[1]
        side = ("left" if y < 0 else "right") if aside else ("front" if x > 0 else "back")
        found.setdefault(side, []).append(region)
    for side, regions in found.items():
        if len(regions) == 1 and len(found) > 1:
            name = f"{thing.name}_{side}_compartment"
            yield Compartment(room(name, "part", "compartment", regions[0]), thing.name, side)

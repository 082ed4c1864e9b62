"""Compartments of a thing that stands (a caddy) by its shape, with the names that people give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing, room
from planweave.bodies.arm.shape_places import pockets_of
from planweave.core.symbolic.world import Known, Literal, WorldObject
from planweave.geometry.arrays import Array

_ASIDE = 0.25  # share of the thing's width from its middle on which a compartment is at its left or right


@dataclass(frozen=True)
class Compartment:
    """room: as an object around the arm; of: the thing; side: left, right, front or back, as who gives the orders calls
    it.
    """

    room: Thing
    of: str
    side: str

    def part(self) -> WorldObject:
        """As an object of the world."""
        of = self.room.name, "part", "compartment", {"side": self.side}
        return WorldObject(*of, self.room.position, None, self.room.size, Known.SEEN)

    def facts(self) -> set[Literal]:
        """What is always so of it."""
        return {Literal("part_of", (self.room.name, self.of)), Literal("holds_things", (self.room.name,))}


def compartments_of(thing: Thing, turn: Array) -> Iterator[Compartment]:
    """The compartments of what stands and has several of them; a side that two of them have is told of none.

    turn: rotation (3, 3) to the frame of who gives the orders: x away from them, y to their left.
    """
    found: dict[str, list[Region]] = {}
    wide = float((np.abs(turn) @ np.array(thing.size))[1])
    for region in pockets_of(thing) if thing.type == "fixture" else ():
        x, y, _ = (turn @ np.subtract(region.centre, thing.position)).tolist()
        aside = abs(y) > _ASIDE * wide
        side = ("left" if y > 0 else "right") if aside else ("front" if x < 0 else "back")
        found.setdefault(side, []).append(region)
    for side, regions in found.items():
        if len(regions) == 1 and len(found) > 1:
            name = f"{thing.name}_{side}_compartment"
            yield Compartment(room(name, "part", "compartment", regions[0]), thing.name, side)

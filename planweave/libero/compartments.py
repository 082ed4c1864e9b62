"""Compartments of a caddy by its shape, with the names that people give them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing, room
from planweave.bodies.arm.shape_places import pockets_of
from planweave.core.symbolic.world import Known, Literal, WorldObject
from planweave.libero.seen_world import TURNED

_ASIDE = 0.25  # share of the caddy's width from its middle on which a compartment is at its left or right


@dataclass(frozen=True)
class Compartment:
    """side: left, right, front or back, as a person who faces the robot calls it; region: in the robot's base frame."""

    name: str
    of: str
    side: str
    region: Region

    def room(self) -> Thing:
        """As an object around the arm."""
        return room(self.name, "part", "compartment", self.region)

    def in_world(self, base: np.ndarray, stamp: float) -> WorldObject:
        """As an object of the world, whose frame is the person's. base: place of the robot's base, m."""
        x, y, z = (TURNED @ (np.array(self.region.centre) + base)).tolist()
        of = self.name, "part", "compartment", {"side": self.side}
        return WorldObject(*of, (x, y, z), None, self.region.size, Known.SEEN, stamp)

    def facts(self) -> set[Literal]:
        """What is always so of it."""
        return {Literal("part_of", (self.name, self.of)), Literal("holds_things", (self.name,))}

    def covers(self, x: float, y: float, margin: float) -> bool:
        """Whether a place in the base frame is in it, and so far from its walls, m."""
        return all(abs(v - c) < s / 2 - margin for v, c, s in zip((x, y), self.region.centre, self.region.size))


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
            yield Compartment(f"{thing.name}_{side}_compartment", thing.name, side, regions[0])

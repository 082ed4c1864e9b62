"""Compartments of a thing that stands (a caddy) by its shape, with the names that people give them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
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
    """The compartments of a thing that has several of them; a side that two of them have is told of none.

    turn: rotation (3, 3) to the frame of who gives the orders: x away from them, y to their left.
    """
    found: dict[str, list[Region]] = {}
    wide = float((np.abs(turn) @ np.array(thing.size))[1])
    for region in pockets_of(thing):
        x, y, _ = (turn @ np.subtract(region.centre, thing.position)).tolist()
        aside = abs(y) > _ASIDE * wide
        side = ("left" if y > 0 else "right") if aside else ("front" if x < 0 else "back")
        found.setdefault(side, []).append(region)
    for side, regions in found.items():
        if len(regions) == 1 and len(found) > 1:
            name = f"{thing.name}_{side}_compartment"
            yield Compartment(room(name, "part", "compartment", regions[0]), thing.name, side)


class Compartments:
    """Those of all things that stand, found once for each shape. turn: as in `compartments_of`, by default none."""

    def __init__(self, turn: Array | None = None) -> None:
        self._turn = np.eye(3) if turn is None else turn
        self._of: dict[str, tuple[Thing, tuple[Compartment, ...]]] = {}

    def copy(self) -> Compartments:
        """Compartments of their own, the same until now."""
        other = Compartments(self._turn)
        other._of = dict(self._of)
        return other

    @property
    def found(self) -> list[Compartment]:
        """As they were found last."""
        return [part for _, parts in self._of.values() for part in parts]

    def find(self, things: Iterable[Thing]) -> None:
        """Look at all things there are."""
        before, self._of = self._of, {}
        for thing in things:
            if thing.type == "fixture":
                known = before.get(thing.name)
                same = known is not None and known[0].parts is thing.parts
                self._of[thing.name] = known if known and same else (thing, (*compartments_of(thing, self._turn),))

"""Space that drawers and doors sweep over when they are opened or shut, and what is in their way.

Metres, rad; in the robot's base frame (z up).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.bodies.arm.articulation import OPENED, Articulation
from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import Part, Solid, convex_outline
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array

_STEPS = 14  # places of a part on its way that are looked at
_ROOM = 0.015  # m around what moves on in which nothing is put down
_DEEP, _WIDE = 0.02, 5e-5  # m in height, as what is flatter slides along, and m² from above that overlap, at least


def blocks(furniture: Sequence[Furniture], things: Iterable[Thing], within: Iterable[Literal]) -> Iterator[Literal]:
    """Facts of which things, and which other open parts, are in the way of drawers and doors that are moved on.

    things: without furniture; within: facts of what lies in drawers, and moves along with them.
    """
    moving = {owner: part for each in furniture for owner, part in each.swinging()}
    if not moving:
        return
    around = [(thing.name, _Shape.of(parts_of(thing))) for thing in things]
    around += [(owner, _Shape.of(part.parts)) for owner, part in moving.items() if not part.is_flush]
    along = {fact.args for fact in within if fact.predicate == "in"}
    for owner, part in moving.items():
        way = [_Shape.of([shape]) for shape in _swept(part)]
        for name, shape in around:
            if name != owner and (name, owner) not in along and any(shape.overlaps(one) for one in way):
                yield Literal("blocks", (name, owner))


def swept(furniture: Iterable[Furniture]) -> list[Thing]:
    """The space that drawers and doors need to be moved on, as things where nothing is put down; a little more, since
    where they go is measured anew once they are open.
    """
    every = [list(map(_wider, _swept(part))) for each in furniture for _, part in each.swinging()]
    return [thing_of_solid("", "", "", Solid(tuple(parts))) for parts in every if parts]


def _swept(part: Articulation) -> Iterator[Part]:
    """Its front or leaf, and its handle, at places on its way: to its open end, to its closed one, or to both where it
    is ajar.
    """
    wide = OPENED[part.kind] * part.open_end
    is_wide = abs(part.value) >= 0.9 * abs(wide)
    ends = ([] if is_wide else [wide]) + ([] if part.is_flush else [part.closed_end])
    for end in ends:
        for value in np.linspace(part.value, end, _STEPS):
            yield from (shape.moved(part.moved(float(value))) for shape in (part.panel, part.handle))


def _wider(part: Part) -> Part:
    return Part.box(part.pose, part.half + _ROOM)


@dataclass(frozen=True, eq=False)
class _Shape:
    """The convex outline (n, 2) of parts seen from above, and between which heights they are."""

    outline: Array
    low: float
    high: float

    @classmethod
    def of(cls, parts: Sequence[Part]) -> _Shape:
        corners = np.vstack([part.corners for part in parts])
        return cls(convex_outline(corners[:, :2]), float(corners[:, 2].min()), float(corners[:, 2].max()))

    def overlaps(self, other: _Shape) -> bool:
        if min(self.high, other.high) - max(self.low, other.low) < _DEEP:
            return False
        area, _ = cv2.intersectConvexConvex(self.outline.astype(np.float32), other.outline.astype(np.float32))
        return float(area) > _WIDE

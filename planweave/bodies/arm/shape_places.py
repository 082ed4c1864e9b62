"""Places of a thing by its shape, seen from above: pockets, which its walls enclose, also where one is not seen to its
ends, as compartments with the names that people give them; and its level top, as a burner or a shelf's upper side, or
its slope, as a rack's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

import cv2
import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing, room
from planweave.bodies.arm.solids import Solid
from planweave.core.symbolic.world import Known, Literal, WorldObject
from planweave.geometry.arrays import Array

_ASIDE = 0.25  # share of a thing's width from its middle on which a compartment is at its left or right
_BELOW = 0.01  # m that a pocket is deeper than the lowest wall
_LEAST = 0.03  # m of a pocket's shorter side
_LEVEL = 0.002  # m between heights of one level top
_TOP = 0.07  # m of a level top's shorter side
_LARGE = 0.3  # share of the largest level part's area from which a higher one counts
_EVEN, _TRIALS = 0.006, 200  # m from a slope within which what is seen is of it; planes that are tried
_STEEP, _SHARE = 0.6, 0.3  # cosine up to which a slope is one; least share of what is seen from above
_GAP = 4  # cells: half of the width of a gap in a wall that is not seen whole, at most


def pockets_of(thing: Thing) -> Iterator[Region]:
    """The pockets of a thing, along its axes, in the frame of its position; m."""
    for region in _pockets(thing.solid):
        x, y, z = (float(a + b) for a, b in zip(region.centre, thing.position))
        yield replace(region, centre=(x, y, z))


@lru_cache(maxsize=64)
def _pockets(solid: Solid) -> tuple[Region, ...]:
    """The pockets of a solid, in its own frame."""
    if not solid.openings:
        return ()
    heights, found = solid.heights, list[Region]()
    rim = min(opening.rim for opening in solid.openings)
    low = (np.isfinite(heights.top) & (heights.top < rim - _BELOW)).astype(np.uint8)
    inner = cv2.erode(low, np.ones((2 * _GAP + 1,) * 2, np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=1)
    count, _, boxes, _ = cv2.connectedComponentsWithStats(inner, connectivity=4)
    for row in boxes[1:count]:  # columns of `top` are along y
        j, i, down, across = (int(v) + d for v, d in zip(row, (-_GAP, -_GAP, 2 * _GAP, 2 * _GAP)))
        dx, dy = across * heights.step, down * heights.step
        edge = i <= 0 or j <= 0 or i + across >= low.shape[0] or j + down >= low.shape[1]
        if edge or min(dx, dy) < _LEAST:
            continue
        x, y = (o + (k + (n - 1) / 2) * heights.step for o, k, n in zip(heights.origin, (i, j), (across, down)))
        floor = float(np.median(heights.top[i : i + across, j : j + down]))
        found.append(Region((x, y, (floor + rim) / 2), (dx, dy, rim - floor)))
    return tuple(found)


def level_top(thing: Thing) -> Region | None:
    """The highest of the large level parts of a thing's upper side; None where it has none."""
    solid = thing.solid
    if not solid.parts:
        return None
    heights = solid.heights
    seen = np.isfinite(heights.top)
    layers = np.where(seen, np.rint(np.where(seen, heights.top, 0.0) / (2 * _LEVEL)), np.inf)
    found: list[tuple[int, float, Region]] = []
    for layer in np.unique(layers[seen]):
        level = (np.abs(heights.top - 2 * _LEVEL * layer) <= 1.5 * _LEVEL).astype(np.uint8)
        level = cv2.morphologyEx(level, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
        _, numbers, boxes, centres = cv2.connectedComponentsWithStats(level, connectivity=4)
        for number, ((_, _, down, across, area), (v, u)) in enumerate(zip(boxes, centres)):
            size = float(across) * heights.step, float(down) * heights.step
            if number and min(size) >= _TOP and area > 0.5 * across * down:
                x, y = (o + float(k) * heights.step for o, k in zip(heights.origin, (u, v)))
                top = float(np.median(heights.top[numbers == number]))
                at = thing.position[0] + x, thing.position[1] + y, thing.position[2] + top
                found.append((int(area), top, Region(at, (*size, _LEVEL))))
    most = max((area for area, _, _ in found), default=0)
    large = [(top, region) for area, top, region in found if area >= _LARGE * most]
    return max(large, key=lambda pair: pair[0])[1] if large else None


def sloped_top(thing: Thing) -> Region | None:
    """The largest plane of a thing's upper side, also where it consists of bars; None where that is none, or level."""
    region = _slope(thing.solid)
    if region is None:
        return None
    x, y, z = (float(a + b) for a, b in zip(region.centre, thing.position))
    return replace(region, centre=(x, y, z))


@lru_cache(maxsize=16)
def _slope(solid: Solid) -> Region | None:
    """The slope of a solid, in its own frame."""
    if not solid.parts:
        return None
    heights, draw = solid.heights, np.random.default_rng(0)
    cells = np.argwhere(np.isfinite(heights.top))
    points = np.column_stack([heights.origin + cells * heights.step, heights.top[tuple(cells.T)]])
    most = np.zeros(len(points), bool)
    for _ in range(_TRIALS):
        a, b, c = points[draw.integers(len(points), size=3)]
        normal = np.cross(b - a, c - a)
        length = float(np.linalg.norm(normal))
        if abs(normal[2]) > _STEEP * length:
            on_it = np.abs((points - a) @ normal) < _EVEN * length
            most = on_it if on_it.sum() > most.sum() else most
    plane = points[most]
    if len(plane) < _SHARE * len(points) or np.ptp(plane[:, 2]) < 4 * _EVEN:
        return None
    low, high = np.percentile(plane, (2, 98), axis=0)
    x, y, z = ((low + high) / 2).tolist()
    dx, dy, _ = (high - low).tolist()
    return Region((x, y, z), (dx, dy, _LEVEL)) if min(dx, dy) >= _TOP else None


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
        """Facts that always hold of it."""
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

"""The body of a piece of furniture, found in its points: where its top is, which way it faces, and how large it is.

Points are in metres in a frame with z up.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.geometry.joints import OrientedBox
from planweave.perception.geometry import hull_of, rotated

CELL = 0.005  # of the grids, m
FLAT = 0.004  # points of one plane are within this of it, m
BEFORE = 0.012  # m: what is farther before a side of furniture stands out of it
_WALL = 5  # cells: what is thinner than this is no top of furniture, but the front of something that is open
_EDGES = 6  # of a top's outline along which it may lie
_NARROW = 0.015  # m: half of the shorter side of a top, at least


@dataclass(frozen=True, eq=False)
class Carcass:
    """Furniture without what is open: middle of its footprint (2,), unit vector out of its front (2,), half of its
    depth and width, heights of its lower side and its top. shut: how far out of its front what is closed is, m; None:
    as the least drawn one is, where it is near.
    """

    middle: np.ndarray
    front: np.ndarray
    depth: float
    width: float
    low: float
    top: float
    shut: float | None = None

    @property
    def side(self) -> np.ndarray:
        """Unit vector (2,) along the front, to the left of who looks out of it."""
        return left_of(self.front)

    def of(self, points: np.ndarray) -> np.ndarray:
        """Points (n, 3) as: out of the front's plane, along the front, height."""
        level = points[:, :2] - self.middle
        return np.column_stack((level @ self.front - self.depth, level @ self.side, points[:, 2]))

    @property
    def around(self) -> OrientedBox:
        """The box that it fills."""
        low, high = np.array((-2 * self.depth, -self.width, self.low)), np.array((0.0, self.width, self.top))
        return self.box(low, high)

    def box(
        self, low: np.ndarray, high: np.ndarray, turned: float = 0.0, about: np.ndarray | None = None
    ) -> OrientedBox:
        """A box between two corners in the front's coordinates; then turned about a vertical line through `about`."""
        middle, half = (low + high) / 2, (high - low) / 2
        c, s = math.cos(turned), math.sin(turned)
        front, side = c * self.front + s * self.side, c * self.side - s * self.front
        if about is not None:
            middle = np.array((*(about + rotated(middle[:2] - about, turned)), middle[2]))
        return OrientedBox(self.place(middle), np.column_stack(((*front, 0), (*side, 0), (0, 0, 1))), half)

    def place(self, at: np.ndarray) -> np.ndarray:
        """A point of the front's coordinates in the frame of the points."""
        level = self.middle + (self.depth + at[0]) * self.front + at[1] * self.side
        return np.array((*level, at[2]))


def find_body(points: np.ndarray, floor: float) -> Carcass | None:
    """Body of one piece of furniture, without what moves, by its largest level top; None where it has none.

    points: (n, 3), of the furniture alone; floor: height of what it stands on, m.
    """
    if not len(points):
        return None
    top = _top(points)
    level = _largest(points[np.abs(points[:, 2] - top) < FLAT, :2])
    if len(level) < 50:
        return None
    sides = max(_sides(level), key=lambda axes: _fits(level, axes))
    for _ in range(2):
        sides = _aligned(level, sides)
    middle, lengths = _without_corners(level, sides)
    if lengths.min() < _NARROW:
        return None
    ahead = (points[:, :2] - middle) @ sides.T - lengths
    low = points[:, 2] < top - FLAT
    outside = [float((ahead[low, k] > BEFORE).sum()) for k in range(4)]
    k = int(np.argmax(outside))
    return Carcass(middle, sides[k], float(lengths[k]), float(lengths[k - 1]), floor, top)


def _sides(level: np.ndarray) -> Iterator[np.ndarray]:
    """Unit vectors (4, 2), outward, of the sides of rectangles along an edge of the outline of points (n, 2)."""
    outline = cv2.approxPolyDP(hull_of(level).astype(np.float32), CELL, True)[:, 0].astype(float)
    ways = np.roll(outline, -1, axis=0) - outline
    for way in sorted(ways, key=np.linalg.norm, reverse=True)[:_EDGES]:
        u = way / np.linalg.norm(way)
        yield np.array((u, left_of(u), -u, -left_of(u)))


def _fits(level: np.ndarray, axes: np.ndarray) -> float:
    """Over how much of its sides points (n, 2) end along a rectangle with these axes, m: where a picture cuts a top off
    they end in a slanting line.
    """
    return sum(CELL * float(_along_side(row).sum()) for row in _ends(level, axes))


def _aligned(level: np.ndarray, axes: np.ndarray) -> np.ndarray:
    """The axes turned by what the ends of points (n, 2) still slant against them; long straight sides count most."""
    slants, weights = [0.0], [1e-9]
    for row, sense in zip(_ends(level, axes), (-1.0, -1.0, 1.0, 1.0)):
        on = np.flatnonzero(_along_side(row))
        if len(on) > 2:
            slants.append(sense * float(np.polyfit(on * CELL, row[on], 1)[0]))
            weights.append(len(on) ** 2)
    return rotated(axes, float(np.average(slants, weights=weights)))


def _along_side(ends: np.ndarray) -> np.ndarray:
    """Which of the ends lie in the line of most."""
    return np.asarray(np.abs(ends - np.median(ends[np.isfinite(ends)])) < FLAT)


def _ends(level: np.ndarray, axes: np.ndarray) -> Iterator[np.ndarray]:
    """Where points (n, 2) end along each of two axes, first the low ends and then the high ones, in columns across the
    other; infinite in those without points.
    """
    own = level @ axes[:2].T
    for k in (0, 1):
        columns = np.floor(own[:, 1 - k] / CELL).astype(int)
        columns -= columns.min()
        low, high = np.full(columns.max() + 1, np.inf), np.full(columns.max() + 1, -np.inf)
        np.minimum.at(low, columns, own[:, k])
        np.maximum.at(high, columns, own[:, k])
        yield low
        yield high


def _without_corners(level: np.ndarray, axes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Middle and half lengths of a rectangle whose sides are where most of the points (n, 2) end: what stands out at
    one corner, as an open door's edge does, is not of it. axes: (4, 2), outward, of its sides.
    """
    low_u, high_u, low_v, high_v = (float(np.median(row[np.isfinite(row)])) for row in _ends(level, axes))
    halves = [(high_u - low_u) / 2, (high_v - low_v) / 2]
    return np.array([(low_u + high_u) / 2, (low_v + high_v) / 2]) @ axes[:2], np.array([*halves, *halves])


def _top(points: np.ndarray) -> float:
    """Height of the highest of the large level surfaces."""
    heights = points[:, 2]
    bins = np.floor(heights / FLAT).astype(int)
    first = bins.min()
    covered = cells_covered(bins - first, points[:, :2], CELL)
    both = covered + np.append(covered[1:], 0)  # a surface may lie in two
    large = np.flatnonzero(both >= 0.5 * both.max())
    return float(np.median(heights[np.isin(bins - first, (large[-1], large[-1] + 1))]))


def cells_covered(layers: np.ndarray, xy: np.ndarray, cell: float) -> np.ndarray:
    """Number of cells of a plan, edges `cell` m, that points (n, 2) cover in each of the layers (n,) from 0 on."""
    at = np.floor((xy - xy.min(axis=0)) / cell).astype(np.int64)
    width, depth = at.max(axis=0) + 1
    filled = np.unique((layers.astype(np.int64) * width + at[:, 0]) * depth + at[:, 1])
    return np.bincount(filled // (width * depth))


def _largest(xy: np.ndarray) -> np.ndarray:
    """The largest connected group of points (n, 2) on a grid, without what is thin."""
    if not len(xy):
        return xy
    cells = np.floor((xy - xy.min(axis=0)) / CELL).astype(int) + _WALL
    image = np.zeros(cells.max(axis=0) + 1 + _WALL, np.uint8)  # its edge, too, counts as full where it is eroded
    image[cells[:, 0], cells[:, 1]] = 1
    image = cv2.morphologyEx(image, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    image = cv2.morphologyEx(image, cv2.MORPH_OPEN, np.ones((_WALL, _WALL), np.uint8))
    if not image.any():
        return xy[:0]
    _, labels, stats, _ = cv2.connectedComponentsWithStats(image, connectivity=4)
    largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    return np.asarray(xy[labels[cells[:, 0], cells[:, 1]] == largest])


def left_of(direction: np.ndarray) -> np.ndarray:
    return np.array((-direction[1], direction[0]))

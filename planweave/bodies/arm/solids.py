"""Things as convex parts, whatever they stand on: what grasping and placing ask of their shape.

Parts come from a simulator's collision geoms or from a depth cloud; both give the same height maps, on which everything
else is computed. Metres, rad; poses are 4x4 matrices in the robot's base frame (z up).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import product
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from planweave.geometry.arrays import Array, Mask
from planweave.geometry.columns import NOTHING, border_of, components, grown, reachable
from planweave.geometry.joints import frame, turn

STEP = 0.003
"""Edge of a cell of a height map, m."""
_SIDES = 16  # of the prism that stands for a cylinder
_LEVEL = 0.004  # steps in which a rim is looked for from the top down, m
_DEEP = 0.008  # less deep is no hollow, m
_RIM = 0.94  # share of a rim that must be seen
_AT_ONCE = 1_000_000  # planes times points: 8 MB each array of them
_PARALLEL = 1e-9  # m along a plane's normal below which a line runs along it
_WIDE = 0.02  # nothing fits into what is less wide, m
_WALL = 0.008  # assumed wall thickness of trays, boxes and bowls, m
_RING = 10  # wall pieces of a round container


@dataclass(frozen=True, eq=False)
class Part:
    """A convex part. kind: box, cylinder (about its z) or hull; pose: of its centre in the frame of its solid.

    half: extents from the centre along its own axes, (3,) m; of a hull those of its bounding box. points: of a hull,
    (n, 3) in its own frame; every hull is bounded by as many planes as `_directions`, all of which touch it.
    """

    kind: str
    pose: Array
    half: Array
    points: Array | None = None

    @classmethod
    def box(cls, pose: Array, half: Sequence[float] | Array) -> Part:
        return cls("box", np.asarray(pose, float), np.asarray(half, float))

    @classmethod
    def spanning(cls, low: Array, high: Array) -> Part:
        """A box along the axes of its frame, by two corners (3,)."""
        return cls("box", frame(np.eye(3), (low + high) / 2), (high - low) / 2)

    @classmethod
    def cylinder(cls, pose: Array, radius: float, half_height: float) -> Part:
        """A cylinder about its z."""
        return cls("cylinder", np.asarray(pose, float), np.array([radius, radius, half_height]))

    @classmethod
    def hull(cls, points: Array) -> Part:
        """The convex hull of points (n, 3)."""
        points = np.asarray(points, float)
        around = cls.spanning(points.min(axis=0), points.max(axis=0))
        return cls("hull", around.pose, around.half, points - around.pose[:3, 3])

    def moved(self, transform: Array) -> Part:
        """The same part in another frame, or elsewhere."""
        return Part(self.kind, transform @ self.pose, self.half, self.points)

    @cached_property
    def corners(self) -> Array:
        """Points whose convex hull it is, (n, 3)."""
        if self.points is not None:
            own = self.points
        elif self.kind == "cylinder":
            rim = self.half[0] * _circle(_SIDES) / math.cos(math.pi / _SIDES)
            own = np.vstack([np.column_stack([rim, np.full(_SIDES, z)]) for z in (-self.half[2], self.half[2])])
        else:
            own = np.array(list(product((-1, 1), repeat=3))) * self.half
        return np.asarray(own @ self.pose[:3, :3].T + self.pose[:3, 3])

    @cached_property
    def planes(self) -> tuple[Array, Array]:
        """Normals (m, 3) and offsets (m,) of half-spaces n.x <= d whose intersection it is."""
        if self.kind == "box":
            own = np.vstack([np.eye(3), -np.eye(3)])
        elif self.kind == "cylinder":
            own = np.vstack([np.column_stack([_circle(_SIDES, 0.5), np.zeros(_SIDES)]), [[0, 0, 1.0], [0, 0, -1.0]]])
        else:
            own = _directions()
        normals = own @ self.pose[:3, :3].T
        return normals, (self.corners @ normals.T).max(axis=0)

    def crossing(self, x: Array, y: Array) -> tuple[Array, Array]:
        """Lowest and highest z of it on vertical lines through points; inf, -inf where they miss it."""
        normals, offsets = self.planes
        low, high = np.full(x.shape, -math.inf), np.full(x.shape, math.inf)
        hit = np.ones(x.shape, bool)
        for (nx, ny, nz), offset in zip(normals, offsets):
            rest = offset - nx * x - ny * y
            if abs(nz) < 1e-9:
                hit &= rest >= -1e-9
            elif nz > 0:
                high = np.minimum(high, rest / nz)
            else:
                low = np.maximum(low, rest / nz)
        hit &= low <= high
        return np.where(hit, low, math.inf), np.where(hit, high, NOTHING)


def hidden(parts: Iterable[Part], eye: Sequence[float] | Array, points: Array) -> Mask:
    """Which points (n, 3) any of the parts hides from an eye (3,)."""
    planes = [part.planes for part in parts]
    if not planes or not len(points):
        return np.zeros(len(points), bool)
    normals, offsets = (np.concatenate(each) for each in zip(*planes))
    starts = np.cumsum([0, *(len(each) for _, each in planes[:-1])])
    room, each = offsets - normals @ np.asarray(eye), max(1, _AT_ONCE // len(offsets))
    shade = []
    for some in (points[k : k + each] for k in range(0, len(points), each)):
        way = (some - eye) @ normals.T
        with np.errstate(divide="ignore", invalid="ignore"):
            share = room / way
        first = np.maximum.reduceat(np.where(way < -_PARALLEL, share, 0.0), starts, axis=1)
        last = np.minimum.reduceat(np.where(way > _PARALLEL, share, 1.0), starts, axis=1)
        beside = np.logical_or.reduceat((np.abs(way) <= _PARALLEL) & (room < 0.0), starts, axis=1)
        shade.append(((np.maximum(first, 0.0) < np.minimum(last, 1.0)) & ~beside).any(axis=1))
    return np.concatenate(shade)


@dataclass(frozen=True, eq=False)
class HeightMap:
    """Surface seen along the z axis of a frame: the highest z in each cell, NOTHING where there is nothing.

    origin: (x, y) of the middle of cell (0, 0) in that frame; top: (along x, along y); step: edge of a cell.
    """

    origin: tuple[float, float]
    top: Array
    step: float = STEP

    def at(self, x: NDArray[Any], y: NDArray[Any]) -> Array:
        """Heights at points of the frame."""
        i = np.rint((np.asarray(x) - self.origin[0]) / self.step).astype(int)
        j = np.rint((np.asarray(y) - self.origin[1]) / self.step).astype(int)
        inside = (i >= 0) & (j >= 0) & (i < self.top.shape[0]) & (j < self.top.shape[1])
        found = self.top[np.clip(i, 0, self.top.shape[0] - 1), np.clip(j, 0, self.top.shape[1] - 1)]
        return np.asarray(np.where(inside, found, NOTHING))

    def points(self, cells: Mask) -> Array:
        """Middles (n, 2) of cells."""
        return np.asarray(np.argwhere(cells) * self.step + np.asarray(self.origin))


@dataclass(frozen=True)
class Opening:
    """A hollow, seen along z: what is enclosed by a rim.

    centre: of the free area (x, y); size: inner extents of a rectangle turned by yaw, or twice the diameter of a
    circle (is_round); rim, floor: heights.
    """

    centre: tuple[float, float]
    size: tuple[float, float]
    yaw: float
    is_round: bool
    rim: float
    floor: float

    @property
    def depth(self) -> float:
        return self.rim - self.floor

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point lies inside, dilated by `slack`."""
        u, v = x - self.centre[0], y - self.centre[1]
        if self.is_round:
            return math.hypot(u, v) < self.size[0] / 2 + slack
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return abs(c * u + s * v) < self.size[0] / 2 + slack and abs(c * v - s * u) < self.size[1] / 2 + slack


@dataclass(frozen=True, eq=False)
class Solid:
    """A thing as convex parts, which may overlap."""

    parts: tuple[Part, ...]

    def moved(self, transform: Array) -> Solid:
        return Solid(tuple(part.moved(transform) for part in self.parts))

    @cached_property
    def bounds(self) -> tuple[Array, Array]:
        """Low and high corner of the box around it, along the axes of its frame."""
        corners = np.vstack([part.corners for part in self.parts])
        return corners.min(axis=0), corners.max(axis=0)

    @cached_property
    def heights(self) -> HeightMap:
        """The height map from above."""
        return height_map(self.parts)

    @cached_property
    def openings(self) -> tuple[Opening, ...]:
        """Its openings, seen from above: largest first. A mug, bowl or basket has one, a caddy several."""
        return tuple(_openings(self.heights)) if len(self.parts) > 1 else ()

    @cached_property
    def centre(self) -> tuple[float, float]:
        """Its middle as people say, seen from above: that of a hollow thing's opening (a handle does not count),
        else that of its area.
        """
        low, high = self.bounds
        if self.openings and _share(self.openings[0], (high - low)[:2]) > _MAIN:
            return self.openings[0].centre
        x, y = self.heights.points(np.isfinite(self.heights.top)).mean(axis=0)
        return float(x), float(y)

    def outline(self) -> Array:
        """Corners (n, 2) of the convex outline, seen from above."""
        return convex_outline(np.vstack([part.corners[:, :2] for part in self.parts]))

    @property
    def around(self) -> Part:
        """One part that encloses it."""
        return self.parts[0] if len(self.parts) == 1 else Part.spanning(*self.bounds)

    def support(self, x: float, y: float, below: float = math.inf) -> float:
        """Height of the highest upper side at (x, y) that is not above `below`; NOTHING where there is none."""
        return support_height([self], np.array([[x, y]]), below)


@lru_cache(maxsize=1024)
def block(size: tuple[float, float, float], is_round: bool, is_hollow: bool) -> Solid:
    """An upright box or cylinder of these extents, m, about its centre; hollow: walls and a floor instead."""
    half_x, half_y, half_z = (s / 2 for s in size)
    if not is_hollow:
        half = (half_x, half_y, max(half_z, 1e-3))
        return Solid(
            (Part.cylinder(np.eye(4), max(half_x, half_y), half[2]) if is_round else Part.box(np.eye(4), half),)
        )
    floor = min(_WALL / 2, half_z)
    below = frame(np.eye(3), (0.0, 0.0, floor - half_z))
    if is_round:
        parts = [Part.cylinder(below, max(half_x, half_y), floor)]
        radius = max(half_x, half_y) - _WALL / 2
        length = math.tan(math.pi / _RING) * (radius + _WALL / 2)
        wall = Part.box(frame(np.eye(3), (radius, 0.0, 0.0)), (_WALL / 2, length, half_z))
        turns = (turn(np.array((0.0, 0.0, 1.0)), 2 * math.pi * index / _RING) for index in range(_RING))
        return Solid((*parts, *(wall.moved(frame(turned, np.zeros(3))) for turned in turns)))
    parts = [Part.box(below, (half_x, half_y, floor))]
    for u, v, along_x, along_y in (
        (half_x - _WALL / 2, 0.0, _WALL / 2, half_y),
        (_WALL / 2 - half_x, 0.0, _WALL / 2, half_y),
        (0.0, half_y - _WALL / 2, half_x, _WALL / 2),
        (0.0, _WALL / 2 - half_y, half_x, _WALL / 2),
    ):
        parts.append(Part.box(frame(np.eye(3), (u, v, 0.0)), (along_x, along_y, half_z)))
    return Solid(tuple(parts))


_MAIN = 0.3  # an opening of this share of a thing's bounding rectangle makes it a vessel


def height_map(parts: Iterable[Part], step: float = STEP, border: float = 0.0) -> HeightMap:
    """The height map of parts from above; border: empty cells around them, m."""
    parts = list(parts)
    corners = np.vstack([part.corners for part in parts])[:, :2]
    low, high = corners.min(axis=0) - border, corners.max(axis=0) + border
    shape = np.ceil((high - low) / step).astype(int) + 1
    top = np.full(shape, NOTHING)
    for part in parts:
        first = np.maximum(np.floor((part.corners[:, :2].min(axis=0) - low) / step).astype(int), 0)
        last = np.minimum(np.ceil((part.corners[:, :2].max(axis=0) - low) / step).astype(int) + 1, shape)
        x, y = np.meshgrid(*(low[k] + step * np.arange(first[k], last[k]) for k in (0, 1)), indexing="ij")
        window = top[first[0] : last[0], first[1] : last[1]]
        np.maximum(window, part.crossing(x, y)[1], out=window)
    return HeightMap((float(low[0]), float(low[1])), top, step)


def support_height(solids: Iterable[Solid], points: Array, below: float = math.inf) -> float:
    """Height of the highest upper side under points (n, 2) that is not above `below`: what a flat bottom there would
    come to rest on; NOTHING where there is none.
    """
    highest = NOTHING
    low, high = points.min(axis=0), points.max(axis=0)
    for solid in solids:
        for part in solid.parts:
            near = part.corners[:, :2]
            if (near.min(axis=0) > high).any() or (near.max(axis=0) < low).any():
                continue
            tops = part.crossing(points[:, 0], points[:, 1])[1]
            highest = max([highest, *tops[tops <= below].tolist()])
    return highest


def solid_of_geoms(geoms: Iterable[tuple[str, Sequence[float], Array, Array | None]]) -> Solid:
    """A solid of a simulator's geoms: kind in MuJoCo's words, size, pose (4x4), and vertices (n, 3) of a mesh.

    Capsules and ellipsoids become what encloses them.
    """
    return Solid(tuple(_part_of_geom(*geom) for geom in geoms))


def _part_of_geom(kind: str, size: Sequence[float], pose: Array, vertices: Array | None) -> Part:
    if kind == "mesh" and vertices is not None:
        return Part.hull(np.asarray(vertices)).moved(pose)
    if kind == "cylinder":
        return Part.cylinder(pose, size[0], size[1])
    if kind == "capsule":
        return Part.cylinder(pose, size[0], size[0] + size[1])
    if kind == "sphere":
        return Part.box(pose, [size[0]] * 3)
    if kind in ("box", "ellipsoid"):
        return Part.box(pose, size[:3])
    raise ValueError(f"a geom of kind {kind!r} is no part of a thing")


def convex_outline(points: Array) -> Array:
    """Corners (n, 2) of the convex hull of points of a plane, counter-clockwise from the one of least x."""
    points = np.unique(np.round(points, 5), axis=0)
    corners = cv2.convexHull(points.astype(np.float32), returnPoints=False)[:, 0]
    found: Array = points[np.roll(corners, -int(corners.argmin()))]
    return found


def rectangle_around(points: Array) -> tuple[float, tuple[float, float], tuple[float, float]]:
    """The smallest rectangle around points of a plane: its yaw in [0, pi/2), size, centre."""
    middle = points.mean(axis=0)  # numbers of single precision
    (x, y), (long, short), degrees = cv2.minAreaRect((points - middle).astype(np.float32))
    turns, degrees = divmod(degrees, 90.0)
    size = (long, short) if turns % 2 == 0 else (short, long)
    return math.radians(degrees), size, (x + float(middle[0]), y + float(middle[1]))


# ---- hollows ------------------------------------------------------------------------------------------------------


def _openings(seen: HeightMap) -> list[Opening]:
    """Enclosed areas below the highest rim that encloses them. A small gap in it, as at a corner that is not seen, is
    taken for rim: its ends are joined by the outline of it all.
    """
    top = np.pad(seen.top, 1, constant_values=NOTHING)
    taken = np.zeros(top.shape, bool)
    found = []
    highest, lowest = float(top.max()), float(top[np.isfinite(top)].min())
    covered = 0
    for level in np.arange(highest - _LEVEL / 2, lowest, -_LEVEL):
        rim = (top >= level).astype(np.uint8)
        higher, covered = covered, cv2.countNonZero(rim)
        if higher == covered:
            continue  # it is the rim of the level above
        cv2.polylines(rim, [cv2.convexHull(cv2.findNonZero(rim))], isClosed=True, color=1)
        low = rim == 0
        enclosed = low & ~reachable(low, border_of(top.shape))
        for cells in components(enclosed & ~taken):
            if not (grown(cells) & taken).any():  # else the lower remainder of one that was found at a higher rim
                opening = _opening(seen, top, cells, float(level))
                if opening is not None:
                    taken |= cells
                    found.append(opening)
    return sorted(found, key=lambda o: -o.size[0] * o.size[1])


def _opening(seen: HeightMap, top: Array, cells: Mask, level: float) -> Opening | None:
    if cells.sum() * seen.step**2 < _WIDE**2:
        return None
    ring, solid = grown(cells) & ~cells, top >= level
    if (ring & solid).sum() < _RIM * ring.sum():
        return None
    points = np.argwhere(cells) * seen.step + np.asarray(seen.origin) - seen.step
    heights = top[cells & np.isfinite(top)]
    floor = float(np.median(heights)) if len(heights) else level
    if level - floor < _DEEP:
        return None
    yaw, size, centre = rectangle_around(points)
    area = cells.sum() * seen.step**2
    is_round = max(size) < 1.2 * min(size) and area < 0.88 * size[0] * size[1]
    if min(size) < _WIDE:
        return None
    return Opening(centre, size, yaw, is_round, level + _LEVEL / 2, floor)


def _share(opening: Opening, extent: Array) -> float:
    """Of the rectangle around a thing that an opening takes up."""
    return opening.size[0] * opening.size[1] / max(float(extent[0] * extent[1]), 1e-9)


@lru_cache(maxsize=8)
def _circle(count: int, offset: float = 0.0) -> Array:
    """Unit vectors (count, 2) around the circle, turned by `offset` steps."""
    angles = 2 * math.pi * (np.arange(count) + offset) / count
    return np.column_stack([np.cos(angles), np.sin(angles)])


@lru_cache(maxsize=1)
def _directions() -> Array:
    """Unit vectors (98, 3) spread over the sphere, the axes and diagonals among them."""
    rows = [d for d in product((-2, -1, 0, 1, 2), repeat=3) if max(map(abs, d)) == 2]
    found = np.array(rows, float)
    return np.asarray(found / np.linalg.norm(found, axis=1, keepdims=True))

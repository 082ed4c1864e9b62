"""Regions: the pixels and points of the single objects in one image, from its segmentation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cv2
import numpy as np

from planweave.geometry.columns import no_strays
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Outline, hull_of, outline, outline_of, percentile, rotate_into, share_inside
from planweave.perception.segmentation import LEAST_AREA, LEAST_HEIGHT

STEEP = 0.6
"""Upward part of the normal below which a pixel is on a side."""
_LEAST_TOP = 1e-4  # m^2 of level surface, less of which is none
_EVEN, _MOST = 0.005, 0.7  # m below its top, and share of its points there, of a thing so narrow that all is an edge
_CUT, _BORDER = 4, 3  # pixels of a region at the robot or the image's edge that make it cut, and width of that edge
_LIMIT = 0.004  # m from the limits of the searched area
_LOWEST = 0.065  # m: sides of a thing no higher than this are small
_NARROWEST, _WIDEST = 0.028, 0.085  # m: of a top; the cap of a bottle is narrower, and its sides are the bottle's
_FLAT = 0.010  # m: highest over lowest points of a level top
_LEDGE = 1e-3  # m^2 of level surface of what carries another thing that may be seen beside it
_DROP = 0.012  # m by which what carries a top is lower
_BESIDE = 0.016  # m by which it may stand out: the corner of a cube under one that is turned and shifted
_PART_OF = 0.5  # share of the points of a side that are below or beside the thing that it is a side of
_FULL = 0.7  # share of its outline that a top fills; a rim fills less
STRAY = 0.05
"""Share of the points of a rim that may be in its middle."""
_UNDER = 0.8  # share of its points that are within the outline of the top
_SMALLEST, _LARGEST = 0.02, 0.075  # m, of a cube
_SQUAT, _TALL = 0.8, 1.5  # height over width below which, and height seen from which on, a thing is no row of cubes

_PIXELS = ("rows", "columns", "points", "colours", "steep")


@dataclass
class PixelRegion:
    """The pixels of one object: rows, columns, points (N, 3) in the base frame with z above the table, colours (N, 3).

    steep: (N,) bool, pixels on steep sides. cut: touches the robot's mask or the image's border, or shows no top, so
    that a part is not visible; beyond: it goes on beyond the image or the searched area, or only a side of it is seen,
    and no top that this may be a side of. sides: pixels below a high flat top, which do not belong to that top.
    """

    rows: np.ndarray
    columns: np.ndarray
    points: np.ndarray
    colours: np.ndarray
    steep: np.ndarray
    cut: bool = False
    beyond: bool = False
    sides: PixelRegion | None = None

    def part(self, chosen: np.ndarray) -> PixelRegion:
        """The region of some of the pixels, chosen (N,) bool."""
        pixels: dict[str, Any] = {name: getattr(self, name).compress(chosen, axis=0) for name in _PIXELS}
        return replace(self, **pixels)

    def joined(self, other: PixelRegion) -> PixelRegion:
        """The region of the pixels of both."""
        pixels: dict[str, Any] = {n: np.concatenate((getattr(self, n), getattr(other, n))) for n in _PIXELS}
        return PixelRegion(**pixels, cut=self.cut or other.cut, beyond=self.beyond or other.beyond)

    def raster(self, chosen: np.ndarray | slice = slice(None)) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Some of the pixels as a small binary image with a margin, and the rows and columns of all of them in it."""
        rows, columns = self.rows - self.rows.min() + 1, self.columns - self.columns.min() + 1
        image = np.zeros((int(rows.max()) + 2, int(columns.max()) + 2), np.uint8)
        image[rows[chosen], columns[chosen]] = 1
        return image, rows, columns

    def area(self, chosen: np.ndarray) -> float:
        """Area of some of the pixels on one level surface, m^2, from their extent in the image and in space."""
        if chosen.sum() < 3:
            return 0.0
        image = _spread(self.rows[chosen], self.columns[chosen])
        return float(chosen.sum() * np.sqrt(max(_spread(*self.points[chosen, :2].T), 0.0) / max(image, 1e-9)))

    @cached_property
    def _hull(self) -> np.ndarray:
        return np.asarray(cv2.convexHull(np.ascontiguousarray(self.points[:, :2], dtype=np.float32)))

    def outline(self, margin: float = 0.0) -> Outline:
        """The outline of all its points from above; margin: m, added on every side."""
        return outline_of(self._hull, margin)

    @cached_property
    def top(self) -> float:
        """Height of the highest points above the table, metres (98th percentile)."""
        return percentile(self.points[:, 2], 98)

    @cached_property
    def spread(self) -> np.ndarray:
        """Least, median and largest x and y, (3, 2) m."""
        return np.array([(along.min(), percentile(along, 50), along.max()) for along in self.points[:, :2].T]).T

    @cached_property
    def level_area(self) -> float:
        """Area that is not on steep sides, m^2."""
        return self.area(~self.steep)

    @cached_property
    def has_top(self) -> bool:
        """Whether a level surface is seen of it."""
        if self.level_area >= _LEAST_TOP:
            return True
        high = self.points[:, 2] > self.top - _EVEN
        return bool(high.mean() > _MOST) and self.area(high) >= 2 * _LEAST_TOP


def find_regions(
    masks: Sequence[np.ndarray],
    view: DepthView,
    height: np.ndarray,
    steep: np.ndarray,
    robot: np.ndarray,
    table: tuple[float, float, float, float],
) -> list[PixelRegion]:
    """The regions of the segments with these masks (h, w) bool of an image, highest first.

    height: (h, w) m above what is below; steep, robot: (h, w) bool, pixels on sides, and of the robot; table: x_min,
    x_max, y_min, y_max of the searched area, m. Its borders, the image's and the robot make regions cut. What is seen
    of that which carries a higher top, and no top of its own, is no region but `sides` of the one above.
    """
    arm = cv2.dilate(robot.astype(np.uint8), np.ones((5, 5), np.uint8))
    border = np.ones_like(arm)
    border[_BORDER:-_BORDER, _BORDER:-_BORDER] = 0
    low, high = np.hsplit(np.reshape(table, (2, 2)) + (_LIMIT, -_LIMIT), 2)
    places, rgb, valid = view.points.transpose(2, 0, 1)[:2].reshape(2, -1), view.rgb.reshape(-1, 3), view.valid.ravel()
    found = []
    for mask in masks:
        seen = np.flatnonzero(mask)
        seen = seen[valid[seen]]
        seen = seen[no_strays(places.take(seen, axis=1).T)]
        rows, columns = np.divmod(seen, mask.shape[1])
        at = places.take(seen, axis=1)
        pixels = (
            rows,
            columns,
            np.column_stack((*at, height.ravel()[seen])),
            rgb.take(seen, axis=0),
            steep.ravel()[seen],
        )
        hidden = arm.ravel()[seen].sum() >= _CUT
        outer = border.ravel()[seen].astype(bool) | ((at < low) | (at > high)).any(axis=0)
        beyond = outer.sum() >= _CUT
        whole = PixelRegion(*pixels, bool(hidden or beyond), bool(beyond and not hidden))
        for region in [whole] if whole.beyond else split(whole, view.pixel):
            if view.areas[region.rows, region.columns].sum() >= LEAST_AREA and region.top >= LEAST_HEIGHT:
                found.append(region)
    topped = [region for region in found if region.has_top]
    for region in found:
        if not region.has_top:
            region.beyond = region.beyond or (not region.cut and not any(_is_side(region, of) for of in topped))
            region.cut = True
    return _with_sides(sorted(found, key=lambda region: -region.top), view.pixel)


def _spread(x: np.ndarray, y: np.ndarray) -> float:
    """The determinant of the covariance of two coordinates, (n,) each."""
    x, y = x - x.sum(dtype=float) / len(x), y - y.sum(dtype=float) / len(y)
    return float((x @ x) * (y @ y) - (x @ y) ** 2) / (len(x) - 1) ** 2


def _is_side(region: PixelRegion, of: PixelRegion) -> bool:
    """Whether a region without a top may be a side of one with a top: it is below that, or beside it."""
    low = region.top < of.top + LEAST_HEIGHT
    return low and share_inside(region.points[:, :2], hull_of(of.points), _BESIDE) > _PART_OF


def _with_sides(regions: Sequence[PixelRegion], pixel: float) -> list[PixelRegion]:
    """Regions, highest first, of tall ones with a flat top that top alone. What is below it, of the region and of such
    as show no top of their own within its outline, is made its sides.
    """
    kept: list[PixelRegion] = []
    tops: list[tuple[PixelRegion, Outline]] = []
    for region in regions:
        top = _flat_top(region, pixel)
        upper = next((above for above, shape in tops if _carries(region, above, shape)), None)
        if upper is not None and upper.sides is not None:
            upper.sides = upper.sides.joined(region)
        elif top is not None:
            high = region.points[:, 2] > region.top - _DROP
            kept.append(region.part(high))
            kept[-1].sides = region.part(~high)
            tops.append((kept[-1], top))
        else:
            kept.append(region)
    return kept


def _flat_top(region: PixelRegion, pixel: float) -> Outline | None:
    """The outline of the level top of something tall; None where there is none that could be a cube's or a can's."""
    high = region.points[:, 2] > region.top - _DROP
    if region.top < _LOWEST or region.cut or high.sum() < 4:
        return None
    level = region.points[high & ~region.steep]
    if len(level) < 4 or outline(level[:, :2], pixel / 2).short < _NARROWEST:
        return None
    shape = outline(region.points[high, :2], pixel / 2)
    away = np.linalg.norm(region.points[high, :2] - shape.circle_centre, axis=1)
    full = shape.long < _WIDEST and region.area(high) > _FULL * shape.area
    full = full and (away < shape.circle_radius / 2).mean() > STRAY  # from far away a rim is broad
    return shape if full and np.ptp(np.percentile(level[:, 2], (5, 95))) < _FLAT else None


def _carries(region: PixelRegion, above: PixelRegion, top: Outline) -> bool:
    """Whether a region is what is seen of that which carries another one."""
    low = region.top < above.top - _DROP and region.level_area < _LEDGE
    return low and share_inside(region.points[:, :2], top.hull, _BESIDE) > _UNDER


def split(region: PixelRegion, pixel: float) -> list[PixelRegion]:
    """The equal cubes of one colour in a region, whose tops form a row or an angle and that are as high as wide, as no
    step, crease or colour tells them apart; else the region itself. pixel: side of a pixel on the table, metres.
    """
    if len(region.rows) < 12:
        return []
    top = percentile(region.points[:, 2], 90)
    flat = region.points[:, 2] > top - 0.009
    if flat.sum() < 40:
        return [region]
    xy = region.points[flat, :2]
    shape = outline(xy, pixel / 2)
    level = float(np.std(region.points[flat & ~region.steep, 2])) if (flat & ~region.steep).sum() > 10 else 1.0
    if level > 0.002:  # not flat: a bent or round thing
        return [region]
    if top < _SQUAT * shape.short or percentile(region.points[:, 2], 3) < top - _TALL * shape.short:
        return [region]
    covered = region.area(flat)
    if shape.fill > 0.87 and covered > 0.8 * shape.area and shape.aspect > 1.6:
        count = round(shape.aspect)
        if abs(shape.long / count / shape.short - 1) < 0.18 and _SMALLEST < shape.short < _LARGEST:
            along = rotate_into(region.points[:, :2], shape.centre, shape.yaw)[:, 0] / shape.long + 0.5
            index = np.clip((along * count).astype(int), 0, count - 1)
            return [region.part(index == i) for i in range(count) if (index == i).sum() >= 12]
        return [region]
    if covered > 0.86 * shape.area:
        return [region]
    image, rows, columns = region.raster(flat)
    depth = cv2.distanceTransform(cv2.morphologyEx(image, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)), cv2.DIST_L2, 5)
    count, seeds, stats, _ = cv2.connectedComponentsWithStats((depth > 0.72 * depth.max()).astype(np.uint8))
    if count < 3:
        return [region]
    centres = [np.argwhere(seeds == i).mean(axis=0) for i in range(1, count)]
    side = 2 * float(depth.max()) * np.sqrt(covered / flat.sum())
    if not _SMALLEST < side < _LARGEST:  # a rim
        return [region]
    if abs(covered / (count - 1) / side**2 - 1) > 0.4:  # the pieces are no squares: a bent thing, not several
        return [region]
    if min(np.linalg.norm(a - b) for k, a in enumerate(centres) for b in centres[:k]) < 1.2 * depth.max():
        return [region]
    away = np.stack([np.hypot(rows - r, columns - c) for r, c in centres])
    owner = np.argmin(away, axis=0)
    return [region.part(owner == i) for i in range(count - 1) if (owner == i).sum() >= 12]

"""Splitting of one coloured region into objects: objects of one colour that touch, are stacked, or are in a tray."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from planweave.perception.geometry import Outline, outline, rotate_into

if TYPE_CHECKING:
    from planweave.perception.proposals import Region

_STEP = 0.012  # m: a jump of height between neighbours that parts two surfaces
_SMALLEST_TOP = 3.5e-4  # m^2
_SQUAT = 0.8  # height over width below which a thing is no row of cubes


def split(region: Region, pixel: float) -> list[Region]:
    """The objects in a region of one colour, possibly the region itself."""
    if len(region.rows) < 12:
        return []
    shape = outline(region.points[:, :2], pixel / 2)
    if shape.short > 0.10:
        return _out_of_receptacle(region, shape, pixel)
    parts: list[Region] = []
    for level in _by_height(region, pixel):
        parts += _by_shape(level, pixel)
    return parts


def _image(region: Region, chosen: np.ndarray | None = None) -> tuple[np.ndarray, int, int]:
    """The region as a small binary image with one pixel of margin, and its first row and column."""
    r0, c0 = int(region.rows.min()) - 1, int(region.columns.min()) - 1
    image = np.zeros((int(region.rows.max()) - r0 + 2, int(region.columns.max()) - c0 + 2), dtype=np.uint8)
    rows, columns = region.rows, region.columns
    if chosen is not None:
        rows, columns = rows[chosen], columns[chosen]
    image[rows - r0, columns - c0] = 1
    return image, r0, c0


def _out_of_receptacle(region: Region, shape: Outline, pixel: float) -> list[Region]:
    """Split off the objects of a receptacle's own colour that rise from its inside."""
    z = region.points[:, 2]
    rim = outline(region.points[z > region.top - 0.010, :2], pixel / 2)
    if rim.short > 0.8 * shape.short:
        shape = rim
    local = rotate_into(region.points[:, :2], shape.centre, shape.yaw)
    if shape.fill > 0.87:
        inside = (np.abs(local[:, 0]) < shape.long / 2 - 0.016) & (np.abs(local[:, 1]) < shape.short / 2 - 0.016)
    else:
        inside = np.hypot(local[:, 0], local[:, 1]) < 0.55 * shape.radius
    if inside.sum() < 40:
        return [region]
    floor = float(np.percentile(z[inside], 20))
    high = inside & (z > floor + 0.014)
    image, r0, c0 = _image(region, high)
    count, numbers, stats, _ = cv2.connectedComponentsWithStats(image, connectivity=4)
    number = numbers[region.rows - r0, region.columns - c0]
    items: list[Region] = []
    rest = np.ones(len(z), dtype=bool)
    for i in range(1, count):
        chosen = number == i
        flat = chosen & ~region.steep
        if stats[i, cv2.CC_STAT_AREA] * pixel**2 < 6e-4 or flat.sum() * pixel**2 < 4e-4:
            continue
        items += split(region.part(chosen), pixel)
        rest &= ~chosen
    return [region.part(rest), *items]


def _by_height(region: Region, pixel: float) -> list[Region]:
    """Parts at different heights: every flat piece of its own height gets the steep pixels nearest to it."""
    image, r0, c0 = _image(region, ~region.steep)
    rows, columns = region.rows - r0, region.columns - c0
    count, numbers, stats, _ = cv2.connectedComponentsWithStats(image, connectivity=4)
    tops = [i for i in range(1, count) if stats[i, cv2.CC_STAT_AREA] * pixel**2 >= _SMALLEST_TOP]
    if len(tops) < 2:
        return [region]
    number = numbers[rows, columns]
    heights = {i: float(np.median(region.points[number == i, 2])) for i in tops}
    centres = {i: region.points[number == i, :2] for i in tops}
    ordered = sorted(tops, key=lambda i: -heights[i])
    if heights[ordered[0]] - heights[ordered[-1]] < _STEP and _one_outline(region, centres, pixel):
        return [region]
    distance = np.full((len(ordered), len(region.rows)), np.inf)
    for k, i in enumerate(ordered):
        seed = np.ones(image.shape, dtype=np.uint8)
        seed[rows[number == i], columns[number == i]] = 0
        away = cv2.distanceTransform(seed, cv2.DIST_L2, 3)[rows, columns]
        # A side hangs below its own top, never above it.
        distance[k] = np.where(region.points[:, 2] > heights[i] + 0.008, np.inf, away)
    owner = np.argmin(distance, axis=0)
    return [region.part(owner == k) for k in range(len(ordered)) if (owner == k).sum() >= 12]


def _one_outline(region: Region, pieces: dict[int, np.ndarray], pixel: float) -> bool:
    """Whether pieces of one height fill one common outline (a surface with a groove) instead of being separate."""
    hull = outline(np.concatenate(list(pieces.values())), pixel / 2)
    return sum(outline(p, pixel / 2).area for p in pieces.values()) > 0.9 * hull.area


def _by_shape(region: Region, pixel: float) -> list[Region]:
    """Cubes of one colour side by side: their tops form a row or an angle, and they are as high as wide."""
    top = float(np.percentile(region.points[:, 2], 90))
    flat = region.points[:, 2] > top - 0.009
    if flat.sum() < 40:
        return [region]
    xy = region.points[flat, :2]
    shape = outline(xy, pixel / 2)
    level = float(np.std(region.points[flat & ~region.steep, 2])) if (flat & ~region.steep).sum() > 10 else 1.0
    if level > 0.002:  # not flat: a bent or round thing
        return [region]
    if top < _SQUAT * shape.short:
        return [region]
    covered = region.area(flat)
    if shape.fill > 0.87 and covered > 0.8 * shape.area and shape.aspect > 1.6:
        count = round(shape.aspect)
        if abs(shape.long / count / shape.short - 1) < 0.18 and 0.02 < shape.short < 0.075:
            along = rotate_into(region.points[:, :2], shape.centre, shape.yaw)[:, 0] / shape.long + 0.5
            index = np.clip((along * count).astype(int), 0, count - 1)
            return [region.part(index == i) for i in range(count) if (index == i).sum() >= 12]
        return [region]
    if covered > 0.86 * shape.area:
        return [region]
    image, r0, c0 = _image(region, flat)
    depth = cv2.distanceTransform(cv2.morphologyEx(image, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)), cv2.DIST_L2, 5)
    count, seeds, stats, _ = cv2.connectedComponentsWithStats((depth > 0.72 * depth.max()).astype(np.uint8))
    if count < 3:
        return [region]
    rows, columns = region.rows - r0, region.columns - c0
    centres = [np.argwhere(seeds == i).mean(axis=0) for i in range(1, count)]
    side = 2 * float(depth.max()) * np.sqrt(covered / flat.sum())
    if abs(covered / (count - 1) / side**2 - 1) > 0.4:  # the pieces are no squares: a bent thing, not several
        return [region]
    if min(np.linalg.norm(a - b) for k, a in enumerate(centres) for b in centres[:k]) < 1.2 * depth.max():
        return [region]
    away = np.stack([np.hypot(rows - r, columns - c) for r, c in centres])
    owner = np.argmin(away, axis=0)
    return [region.part(owner == i) for i in range(count - 1) if (owner == i).sum() >= 12]

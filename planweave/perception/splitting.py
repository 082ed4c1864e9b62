"""Splitting of a region into equal cubes of one colour that touch: no step, crease or colour tells them apart."""

from __future__ import annotations

from typing import TYPE_CHECKING

import cv2
import numpy as np

from planweave.perception.geometry import outline, percentile, rotate_into

if TYPE_CHECKING:
    from planweave.perception.regions import PixelRegion

_SMALLEST, _LARGEST = 0.02, 0.075  # m, of a cube
_SQUAT = 0.8  # height over width below which a thing is no row of cubes


def _image(region: PixelRegion, chosen: np.ndarray | None = None) -> tuple[np.ndarray, int, int]:
    """The region as a small binary image with one pixel of margin, and its first row and column."""
    r0, c0 = int(region.rows.min()) - 1, int(region.columns.min()) - 1
    image = np.zeros((int(region.rows.max()) - r0 + 2, int(region.columns.max()) - c0 + 2), dtype=np.uint8)
    rows, columns = region.rows, region.columns
    if chosen is not None:
        rows, columns = rows[chosen], columns[chosen]
    image[rows - r0, columns - c0] = 1
    return image, r0, c0


def split(region: PixelRegion, pixel: float) -> list[PixelRegion]:
    """The cubes in a region, whose tops form a row or an angle and that are as high as wide; else the region itself.

    pixel: side of a pixel on the table, metres.
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
    if top < _SQUAT * shape.short:
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
    image, r0, c0 = _image(region, flat)
    depth = cv2.distanceTransform(cv2.morphologyEx(image, cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8)), cv2.DIST_L2, 5)
    count, seeds, stats, _ = cv2.connectedComponentsWithStats((depth > 0.72 * depth.max()).astype(np.uint8))
    if count < 3:
        return [region]
    rows, columns = region.rows - r0, region.columns - c0
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

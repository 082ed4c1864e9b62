"""Shapes of what depth cameras see, as columns from its points down to what it stands on; and grids of cells."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product

import cv2
import numpy as np
from numpy.typing import NDArray

from planweave.geometry.arrays import Array, Mask

NOTHING = -math.inf
"""Height of a cell without anything."""
COLUMN = 0.006
"""Edge of a column, m."""
_EDGE = 0.001  # m by which a thing goes on beyond the outermost points seen of it
_GROUP, _STRAY = 0.008, 0.01  # m: edge of cells whose points are together; share of a thing's points that is no thing
_APART = 0.012  # m: edge of cells in space whose points are together
_BY_SIDE = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))
_LAYER = 0.008  # columns whose tops differ by less become one box, m


def columns(points: Array, support: float) -> Array:
    """Low and high corners, (n, 2, 3), of boxes that stand for what a camera saw of a thing.

    points: (n, 3) with z up, m; support: height of what it stands on. Hollows stay hollow as far as they were seen;
    where a floor was not, it is taken to be as deep as what was seen around.
    """
    points = np.asarray(points, float)
    plan = np.ascontiguousarray(points[:, :2].T)
    low, high = plan.min(axis=1), plan.max(axis=1)
    cells = np.rint((points[:, :2] - low) / COLUMN).astype(int)
    top = np.full(cells.max(axis=0) + 1, NOTHING)
    np.maximum.at(top, (cells[:, 0], cells[:, 1]), points[:, 2])
    found = np.array(list(_rectangles(_floored(_filled(top)))))
    corners = np.empty((len(found), 2, 3))
    corners[:, 0, :2] = np.maximum(low + (found[:, 0:2] - 0.5) * COLUMN, low - _EDGE)
    corners[:, 1, :2] = np.minimum(low + (found[:, 2:4] - 0.5) * COLUMN, high + _EDGE)
    corners[:, 1, 2] = found[:, 4]
    corners[:, 0, 2] = np.minimum(support, found[:, 4] - 0.002)
    return corners


def no_strays(points: Array) -> Mask:
    """Which points (n, 3) of one thing are not in a small group apart from the others, seen from above, as pixels at a
    jump of depth are that show a mixture of near and far.
    """
    of = groups_from_above(points)
    return np.asarray((np.bincount(of) > _STRAY * len(points))[of])


def groups_from_above(points: Array) -> NDArray[np.int32]:
    """Group of each of the points (n, 3) that are together, seen from above: (n,), from 1 on."""
    if not len(points):
        return np.zeros(0, np.int32)
    x, y = (((along - along.min()) / _GROUP).astype(int) for along in np.ascontiguousarray(points[:, :2].T))
    plan = np.zeros((x.max() + 1, y.max() + 1), np.uint8)
    cells = x * plan.shape[1] + y
    plan.ravel()[cells] = 1
    _, numbers = cv2.connectedComponents(plan, connectivity=8)
    return np.asarray(numbers.ravel()[cells])


def groups_in_space(points: Array) -> NDArray[np.int64]:
    """Group of each of the points (n, 3) that are together: (n,), from 0 on."""
    at = (np.asarray(points, float) - np.min(points, axis=0)) / _APART + 1
    size = at.max(axis=0).astype(int) + 2
    strides = np.array((size[1] * size[2], size[2], 1))
    cells, of = np.unique(at.astype(int) @ strides, return_inverse=True)
    groups, pairs = np.arange(len(cells)), []
    for step in (ahead for ahead in product((-1, 0, 1), repeat=3) if ahead > (0, 0, 0)):
        beside = np.searchsorted(cells, cells + strides @ step)
        there = np.flatnonzero(cells[np.minimum(beside, len(cells) - 1)] == cells + strides @ step)
        pairs.append((there, beside[there]))
    one, two = (np.concatenate(side) for side in zip(*pairs))
    while (groups[one] != groups[two]).any():
        least = np.minimum(groups[one], groups[two])
        for side in (groups[one], groups[two]):
            np.minimum.at(groups, side, least)
        groups = groups[groups]
    return np.unique(groups, return_inverse=True)[1][of]


def reachable(free: Mask, start: Mask) -> Mask:
    """The free cells that are connected to one of `start` through free ones, by their sides."""
    _, numbers = cv2.connectedComponents(free.astype(np.uint8), connectivity=4)
    return free & np.isin(numbers, np.unique(numbers[free & start]))


def components(cells: Mask) -> Iterator[Mask]:
    """Connected groups of cells, by their sides."""
    count, numbers = cv2.connectedComponents(cells.astype(np.uint8), connectivity=4)
    for number in range(1, count):
        yield numbers == number


def grown(cells: Mask) -> Mask:
    return cv2.dilate(cells.astype(np.uint8), _BY_SIDE) > 0


def border_of(shape: tuple[int, ...]) -> Mask:
    found = np.ones(shape, bool)
    found[1:-1, 1:-1] = False
    return found


def _filled(top: Array) -> Array:
    """Heights with single empty cells, which the camera's raster leaves, filled from their neighbours."""
    padded = np.pad(top, 1, constant_values=NOTHING)
    around = np.stack(
        [
            padded[1 + i : padded.shape[0] - 1 + i, 1 + j : padded.shape[1] - 1 + j]
            for i, j in ((-1, 0), (1, 0), (0, -1), (0, 1))
        ]
    )
    known = np.isfinite(around)
    mean = np.where(known, around, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(np.isfinite(top) | (known.sum(axis=0) < 3), top, mean)


def _floored(top: Array) -> Array:
    """Heights with enclosed empty cells at the lowest height beside them."""
    empty = np.pad(~np.isfinite(top), 1, constant_values=True)
    enclosed = empty & ~reachable(empty, border_of(empty.shape))
    found = np.pad(top, 1, constant_values=NOTHING)
    for cells in components(enclosed):
        beside = found[grown(cells) & ~cells]
        found[cells] = float(beside[np.isfinite(beside)].min())
    return np.asarray(found[1:-1, 1:-1])


def _rectangles(top: Array) -> Iterator[tuple[int, int, int, int, float]]:
    """Rectangles of cells of about the same height that cover all cells with one, greedily: first row and column, those
    after the last ones, and the height.
    """
    layers = np.where(np.isfinite(top), np.floor(np.where(np.isfinite(top), top, 0.0) / _LAYER), NOTHING).tolist()
    for i, row in enumerate(layers):
        for j, height in enumerate(row):
            if row[j] == NOTHING:  # or covered since
                continue
            last, depth = j + 1, i + 1
            while last < len(row) and row[last] == height:
                last += 1
            alike = row[j:last]
            while depth < len(layers) and layers[depth][j:last] == alike:
                depth += 1
            for covered in layers[i:depth]:
                covered[j:last] = [NOTHING] * len(alike)
            yield i, j, depth, last, float(top[i:depth, j:last].max())

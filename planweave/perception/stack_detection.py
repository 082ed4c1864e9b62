"""Detection of tall objects and stacks: pixels seen below a flat top, within its outline, are sides of its supports.

A camera that looks down sees the sides of every object away from the image centre; those of a stack have several
colours, and are wide. Only objects below the top can be within its outline, so that they are identified by position.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.geometry import outline

_LOWEST = 0.065  # m: sides of a thing no higher than this are small
_NARROWEST, _WIDEST = 0.028, 0.085  # m: of a top; the cap of a bottle is narrower, and its sides are the bottle's
_FLAT = 0.010  # m: highest over lowest points of a level top
_DROP = 0.012  # m: what is this much lower is not the top any more
_BESIDE = 0.016  # m: how far what is beneath may stand out: the corner of a cube under one that is turned and shifted
_RING = 4  # pixels
_LEDGE = 1e-3  # m^2: a level piece that is larger is the top of another thing


@dataclass(frozen=True)
class Column:
    """A flat top and the sides below it: rows and columns (N,) of the top's pixels, and of the sides'.

    stray: pixels around the top that mix its depth with that of the ground far behind it.
    """

    top: tuple[np.ndarray, np.ndarray]
    sides: tuple[np.ndarray, np.ndarray]
    stray: tuple[np.ndarray, np.ndarray]


def find_columns(x: np.ndarray, y: np.ndarray, z: np.ndarray, steep: np.ndarray, pixel: float) -> list[Column]:
    """The stacks in an image; x, y, z: (h, w) metres, z = 0 for the table; steep: (h, w) bool."""
    if z.max(initial=0.0) < _LOWEST:
        return []
    flat = (z > 0) & ~steep
    count, pieces, stats, _ = cv2.connectedComponentsWithStats(flat.astype(np.uint8), connectivity=4)
    tops = []
    for i in range(1, count):
        left, above, width, height, area = stats[i]
        if area * pixel**2 < _NARROWEST**2 / 2 or max(width, height) * pixel > 2.5 * _WIDEST:
            continue
        rows, columns = np.nonzero(pieces[above : above + height, left : left + width] == i)
        rows, columns = rows + above, columns + left
        low, high = np.percentile(z[rows, columns], (5, 95))
        if high < _LOWEST or high - low > _FLAT:
            continue
        shape = outline(np.column_stack((x[rows, columns], y[rows, columns])), pixel / 2)
        if shape.short > _NARROWEST and shape.long < _WIDEST and shape.area * 0.7 < area * pixel**2 * 1.2:
            tops.append((float(high), (rows, columns), shape.hull))
    if not tops:
        return []
    small = stats[:, cv2.CC_STAT_AREA] * pixel**2 < _LEDGE
    small[0] = True  # the steep ones
    for _, (rows, columns), _ in tops:
        small[pieces[rows[0], columns[0]]] = False
    rows, columns = np.nonzero((z > 0) & small[pieces])
    xy = np.column_stack((x[rows, columns], y[rows, columns]))
    beneath = z[rows, columns] < np.array([[high] for high, _, _ in tops]) - _DROP
    away = np.where(beneath, np.stack([_outside(xy, hull) for _, _, hull in tops]), np.inf)
    nearest = away.argmin(axis=0)
    side = away.min(axis=0) < _BESIDE
    found = []
    for k, (_, top, _) in enumerate(tops):
        here = np.zeros(z.shape, dtype=np.uint8)
        here[top] = 1
        ring = cv2.dilate(here, np.ones((2 * _RING + 1, 2 * _RING + 1), np.uint8))
        mine = side & (nearest == k)
        stray = beneath[k] & ~side & (ring[rows, columns] > 0) & steep[rows, columns]
        found.append(Column(top, (rows[mine], columns[mine]), (rows[stray], columns[stray])))
    return found


def _outside(xy: np.ndarray, hull: np.ndarray) -> np.ndarray:
    """Distance of points (N, 2) from a convex polygon (M, 2), metres; negative inside."""
    edges = np.roll(hull, -1, axis=0) - hull
    edges, corners = edges[np.linalg.norm(edges, axis=1) > 1e-9], hull[np.linalg.norm(edges, axis=1) > 1e-9]
    normals = np.column_stack((edges[:, 1], -edges[:, 0])) / np.linalg.norm(edges, axis=1)[:, None]
    offsets = (normals * corners).sum(axis=1)
    if np.mean(normals @ hull.mean(axis=0) - offsets) > 0:
        normals, offsets = -normals, -offsets
    return (xy @ normals.T - offsets).max(axis=1)

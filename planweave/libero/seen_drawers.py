"""Drawers of a cabinet that a camera has seen: their levels, how far they are out, and their inside.

Points in metres, in the frame of the world (x, y level, z up).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

OPEN = 0.13  # m that a drawer's front is out of the cabinet's front from which on things can be put in
SHUT = 0.03  # m up to which a drawer counts as closed; between the two it is ajar
LEVELS = {1: ("",), 2: ("top", "bottom"), 3: ("top", "middle", "bottom")}
_HANDLE, _LONGEST_HANDLE = 0.03, 0.06  # m that a handle stands out, where no closed drawer shows it, and at most
_CELL, _WALL = 0.005, 5  # m; cells: what is thinner is the wall of a drawer
_TOP = 0.006  # m below the highest point up to which points are of the cabinet's top


@dataclass(frozen=True)
class Drawer:
    """One drawer. out: how far its front is out, m; centre and size of its inside as far as it is out."""

    level: str
    out: float
    centre: tuple[float, float, float]
    size: tuple[float, float, float]

    @property
    def is_open(self) -> bool:
        """Whether things can be put in."""
        return self.out > OPEN

    @property
    def is_closed(self) -> bool:
        """Whether it is shut, as far as depth tells."""
        return self.out < SHUT


def find_drawers(points: np.ndarray, count: int, handles: Sequence[np.ndarray], floor: float) -> list[Drawer]:
    """The drawers of a cabinet, from the top down; none where their front is not seen.

    points: (n, 3) of the cabinet; count: of its drawers; handles: points of each part that stands out of its front;
    floor: height of what the cabinet stands on.
    """
    top = float(np.percentile(points[:, 2], 99.5))
    body = cv2.minAreaRect(_largest(points[points[:, 2] > top - _TOP, :2]).astype(np.float32))
    corners = cv2.boxPoints(body).astype(float)
    middle = corners.mean(axis=0)
    outside = points[_beyond(points[:, :2], corners) > 0.015, :2]
    outside = np.concatenate([outside, *(h[:, :2] for h in handles)])
    if count not in LEVELS or len(outside) < 30:
        return []
    front = _front(corners, middle, outside.mean(axis=0))
    depth = float(((corners - middle) @ front).max())
    width = float(np.abs((corners - middle) @ np.array((-front[1], front[0]))).max())
    step = (top - floor) / count
    bands = [(top - (k + 0.8) * step, top - (k + 0.2) * step) for k in range(count)]
    reach = [_reach(points, band, middle, front, depth, width) for band in bands]
    handle = min((r for r in reach if 0.0 < r < _LONGEST_HANDLE), default=_HANDLE)
    found = []
    for level, ahead, (low, high) in zip(LEVELS[count], reach, bands):
        out = max(0.0, ahead - handle)
        along = depth + out / 2 if out > OPEN / 2 else 0.0
        length = out if out > OPEN / 2 else 2 * depth
        x, y = (middle + along * front).tolist()
        found.append(Drawer(level, out, (x, y, (low + high) / 2), _extents(front, length, width, step)))
    return found


def _reach(
    points: np.ndarray, band: tuple[float, float], middle: np.ndarray, front: np.ndarray, depth: float, width: float
) -> float:
    """How far points between two heights stand out of a cabinet's front; 0 where hardly any do."""
    chosen = points[(points[:, 2] > band[0]) & (points[:, 2] < band[1]), :2] - middle
    beside = np.abs(chosen @ np.array((-front[1], front[0])))
    ahead = chosen[beside < width] @ front - depth
    ahead = ahead[ahead > 0.005]
    return float(np.percentile(ahead, 98)) if len(ahead) > 20 else 0.0


def _largest(xy: np.ndarray) -> np.ndarray:
    """The largest connected group of points (n, 2): the cabinet's top, without the rims of drawers as high."""
    cells = np.floor((xy - xy.min(axis=0)) / _CELL).astype(int) + 1
    image = np.zeros(cells.max(axis=0) + 2, np.uint8)
    image[cells[:, 0], cells[:, 1]] = 1
    image = cv2.morphologyEx(image, cv2.MORPH_OPEN, np.ones((_WALL, _WALL), np.uint8))
    if not image.any():
        return xy
    _, labels, stats, _ = cv2.connectedComponentsWithStats(image, connectivity=4)
    largest = 1 + int(np.argmax(stats[1:, cv2.CC_STAT_AREA]))
    return np.asarray(xy[labels[cells[:, 0], cells[:, 1]] == largest])


def _front(corners: np.ndarray, middle: np.ndarray, ahead: np.ndarray) -> np.ndarray:
    """Unit vector (2,) across the edge of a rectangle that a point is before."""
    sides = (corners + np.roll(corners, -1, axis=0)) / 2 - middle
    reach = sides / np.maximum((sides**2).sum(axis=1, keepdims=True), 1e-9)
    side = sides[int(np.argmax(reach @ (ahead - middle)))]
    return np.asarray(side / np.linalg.norm(side))


def _beyond(xy: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """How far points (n, 2) are outside of a rectangle, m."""
    middle = corners.mean(axis=0)
    found = np.full(len(xy), -np.inf)
    for a, b in zip(corners, np.roll(corners, -1, axis=0)):
        outward = (a + b) / 2 - middle
        length = float(np.linalg.norm(outward))
        found = np.maximum(found, (xy - middle) @ (outward / max(length, 1e-9)) - length)
    return found


def _extents(front: np.ndarray, length: float, half_width: float, height: float) -> tuple[float, float, float]:
    """Extents along the axes of a box whose length lies along a direction."""
    x, y = np.abs(front)
    return float(x * length + y * 2 * half_width), float(y * length + x * 2 * half_width), height

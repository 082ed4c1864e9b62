"""Smoothing of depth images (h, w) float32, metres, 0 where unknown."""

from __future__ import annotations

from typing import TypeAlias

import cv2
import numpy as np

_LEFT_OUT = 0.1  # share of the fullest quarter's pixels below which a quarter of the pixels is left out by the driver
_SLOPE, _NOISE = 0.02, 0.006  # share of the depth, and 1/m times its square, by which two pixels of one surface differ

_Part: TypeAlias = tuple[slice, slice]
_ALL, _BEFORE, _MIDDLE, _AFTER = slice(None), slice(None, -2), slice(1, -1), slice(2, None)
_IN_COLUMNS = (_BEFORE, _ALL), (_MIDDLE, _ALL), (_AFTER, _ALL)
_IN_ROWS = (_ALL, _BEFORE), (_ALL, _MIDDLE), (_ALL, _AFTER)


def smoothed(depth: np.ndarray) -> np.ndarray:
    """Depth without isolated pixels and small holes: a 3 x 3 median.

    Some drivers and decoders leave every second row or column empty. In their images the median alone would be 0
    everywhere; so pixels between two known ones are filled first.
    """
    depth = np.ascontiguousarray(depth, dtype=np.float32)
    if _is_interlaced(depth):
        depth = depth.copy()
        for parts in (_IN_COLUMNS, _IN_ROWS):
            _bridge(depth, *parts)
    return cv2.medianBlur(depth, 3)


def _is_interlaced(depth: np.ndarray) -> bool:
    """Whether pixels of even or odd rows and columns are empty, and others are not."""
    known = depth > 0
    shares = [float(part.mean()) if (part := known[a::2, b::2]).size else 1.0 for a in (0, 1) for b in (0, 1)]
    return min(shares) < _LEFT_OUT * max(shares)


def _bridge(depth: np.ndarray, before: _Part, middle: _Part, after: _Part) -> None:
    """Fill pixels of an image that are empty between two: with the mean of one surface, else with the nearer one.

    At a step a mean would be a point in the air; the nearer depth keeps the walls of boxes, which are two pixels wide.
    """
    one, other, between = depth[before], depth[after], depth[middle]
    mean = (one + other) * np.float32(0.5)
    alike = np.abs(one - other) < mean * (np.float32(_SLOPE) + np.float32(_NOISE) * mean)
    found = np.where(alike, mean, np.minimum(one, other))
    np.copyto(between, found, where=(between <= 0) & (one > 0) & (other > 0))

"""Directions of points of the plane, seen from the origin."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

SURROUNDED = 2.5
"""rad between neighbouring directions below which what lies there is all around: nothing tips out of it."""


def surrounds(points: NDArray[np.float64], gap: float = SURROUNDED) -> bool:
    """Whether points (n, 2) lie all around the origin, with less than a gap (rad) between neighbouring directions."""
    if len(points) < 3:
        return False
    angles = np.sort(np.arctan2(points[:, 1], points[:, 0]))
    return float(np.diff(angles, append=angles[0] + 2 * math.pi).max()) < gap

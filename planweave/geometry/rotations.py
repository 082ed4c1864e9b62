"""Rotations as matrices."""

from __future__ import annotations

import math

import numpy as np

from planweave.geometry.arrays import Array


def rotation_from_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Rotation matrix (3, 3) of a quaternion, which need not be normalised; raises ValueError for zero."""
    norm = math.sqrt(x * x + y * y + z * z + w * w)
    if not math.isfinite(norm) or norm < 1e-6:
        raise ValueError("the quaternion is zero")
    x, y, z, w = x / norm, y / norm, z / norm, w / norm
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )

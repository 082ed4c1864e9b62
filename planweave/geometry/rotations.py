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


def quaternion_from_rotation(rotation: Array) -> tuple[float, float, float, float]:
    """Unit quaternion (x, y, z, w) of a rotation matrix (3, 3), with w >= 0."""
    (a, b, c), (d, e, f), (g, h, i) = rotation.tolist()
    if a + e + i > 0:  # by the largest of the four, as it is divided by
        found = h - f, c - g, d - b, 1 + a + e + i
    elif a > e and a > i:
        found = 1 + a - e - i, b + d, c + g, h - f
    elif e > i:
        found = b + d, 1 - a + e - i, f + h, c - g
    else:
        found = c + g, f + h, 1 - a - e + i, d - b
    norm = math.copysign(math.hypot(*found), found[3])
    x, y, z, w = (part / norm for part in found)
    return x, y, z, w

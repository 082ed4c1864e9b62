"""The table plane by RANSAC (Fischler and Bolles 1981), validated against the known pose of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planweave.perception.cloud import Cloud


@dataclass(frozen=True)
class Plane:
    """The plane z = a x + b y + c in the base frame, metres. support: inlier ratio of the tested points."""

    a: float
    b: float
    c: float
    support: float

    @property
    def tilt(self) -> float:
        """Angle to the horizontal, rad."""
        return math.atan(math.hypot(self.a, self.b))

    def height_at(self, x: float, y: float) -> float:
        """The plane's z at a point."""
        return self.a * x + self.b * y + self.c


def fit_table(
    cloud: Cloud,
    region: tuple[float, float, float, float],
    *,
    search: float = 0.10,
    tolerance: float = 0.006,
    seed: int = 0,
) -> Plane | None:
    """The plane with most inliers near the expected table top z = 0, or None where too few points are available.

    region: x_min, x_max, y_min, y_max of the table, metres. search: largest distance of the table from z = 0, metres.
    """
    step = 4
    x, y, z = (a[::step, ::step] for a in (cloud.x, cloud.y, cloud.z))
    near = cloud.valid[::step, ::step] & (np.abs(z) < search)
    near &= (x > region[0]) & (x < region[1]) & (y > region[2]) & (y < region[3])
    points = np.column_stack((x[near], y[near], z[near])).astype(np.float64)
    if len(points) < 200:
        return None
    rng = np.random.default_rng(seed)
    chosen = points[rng.integers(len(points), size=min(len(points), 1500))]
    triples = chosen[rng.integers(len(chosen), size=(60, 3))]
    normals = np.cross(triples[:, 1] - triples[:, 0], triples[:, 2] - triples[:, 0])
    lengths = np.linalg.norm(normals, axis=1)
    upright = (lengths > 1e-4) & (np.abs(normals[:, 2]) > 0.9 * lengths)
    if not upright.any():
        return None
    normals, origins = normals[upright], triples[upright, 0]
    slopes = -normals[:, :2] / normals[:, 2:]
    offsets = origins[:, 2] - (slopes * origins[:, :2]).sum(axis=1)
    error = np.abs(chosen[:, 2] - slopes @ chosen[:, :2].T - offsets[:, None])
    best = int(np.argmax((error < tolerance).sum(axis=1)))
    a, b, c = slopes[best, 0], slopes[best, 1], offsets[best]
    for narrow in (tolerance, tolerance / 2):  # the second time without trays' floors, a few millimetres up
        inlier = np.abs(points[:, 2] - points[:, 0] * a - points[:, 1] * b - c) < narrow
        if inlier.sum() < 50:
            return None
        system = np.column_stack((points[inlier, :2], np.ones(int(inlier.sum()))))
        (a, b, c), *_ = np.linalg.lstsq(system, points[inlier, 2], rcond=None)
    return Plane(float(a), float(b), float(c), float(inlier.mean()))

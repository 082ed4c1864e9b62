"""The table, or whatever level surface carries the things that cameras see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Plane

_BIN = 0.004  # m of the histogram of heights
_FEWEST = 60  # pixels of ground
_SEARCH = (0.05, 0.02, 0.01, 0.006)  # m from the plane within which it is fitted, one after the other


def find_ground(views: Sequence[DepthView], low: Sequence[float], high: Sequence[float]) -> Plane:
    """The largest level surface in the views between two corners, metres; raises FrameError where none is seen."""
    small = [view.coarse for view in views]
    level = [view.level & view.inside(low, high) for view in small]
    at = [np.flatnonzero(chosen) for chosen in level]
    points = [view.points.transpose(2, 0, 1).reshape(3, -1)[:, k] for view, k in zip(small, at)]
    x, y, z = np.concatenate(points, axis=1).astype(float)
    areas = np.concatenate([view.areas.ravel()[k] for view, k in zip(small, at)])
    if len(z) < _FEWEST:
        raise FrameError("no level surface is seen; check the pose and the depth of the cameras")
    lowest = z.min()
    sums = np.bincount(((z - lowest) / _BIN).astype(int), areas)
    plane = np.array((0.0, 0.0, lowest + (np.convolve(sums, np.ones(5), "same").argmax() + 0.5) * _BIN))
    system = np.stack((x, y, np.ones(len(z))))
    for near in _SEARCH:
        on = np.flatnonzero(np.abs(z - plane @ system) < near)
        if len(on) < _FEWEST:
            raise FrameError("no level surface is seen; check the pose and the depth of the cameras")
        chosen = system[:, on]  # thousands of points, for three unknowns
        plane = np.linalg.solve(chosen @ chosen.T, chosen @ z[on])
    a, b, c = plane
    return Plane(float(a), float(b), float(c))

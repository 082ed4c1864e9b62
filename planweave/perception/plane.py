"""The table, or whatever level surface carries the things that cameras see."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Plane

_BIN = 0.004  # m of the histogram of heights
_FEWEST = 60  # pixels of ground
_SEARCH = (0.05, 0.02, 0.01, 0.006)  # m from the plane within which it is fitted, one after the other


def find_ground(views: Sequence[DepthView], low: Sequence[float], high: Sequence[float]) -> Plane:
    """The largest level surface in the views between two corners, metres; raises ValueError where none is seen."""
    small = [view.coarse for view in views]
    level = [view.level & view.inside(low, high) for view in small]
    points = np.concatenate([view.points[chosen] for view, chosen in zip(small, level)]).astype(float)
    areas = np.concatenate([view.areas[chosen] for view, chosen in zip(small, level)])
    if len(points) < _FEWEST:
        raise ValueError("no level surface is seen; check the pose and the depth of the cameras")
    lowest = points[:, 2].min()
    sums = np.bincount(((points[:, 2] - lowest) / _BIN).astype(int), areas)
    plane = 0.0, 0.0, lowest + (np.convolve(sums, np.ones(5), "same").argmax() + 0.5) * _BIN
    system = np.column_stack((points[:, :2], np.ones(len(points))))
    for near in _SEARCH:
        on = np.abs(points[:, 2] - system @ plane) < near
        if on.sum() < _FEWEST:
            raise ValueError("no level surface is seen; check the pose and the depth of the cameras")
        rows = system[on]  # thousands, for three unknowns
        plane = np.linalg.solve(rows.T @ rows, rows.T @ points[on, 2])
    a, b, c = plane
    return Plane(float(a), float(b), float(c))

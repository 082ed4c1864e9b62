"""Progress of a motion along its path, and the distance of measured or desired joint positions from that path."""

from __future__ import annotations

import numpy as np

from planweave.bodies.arm.timing import Trajectory
from planweave.geometry.arrays import Array

_STEP = 0.002  # rad along the path that count as progress
_AHEAD = 0.5  # rad along the path in which the next position is looked for: a path may come near itself again


class PathWatch:
    """Follows one motion. A controller that is scaled down follows the path later than it was timed; one that is held,
    or moved by somebody else, leaves it.

    begun: stamp of the measured state at which the motion was sent, s.
    """

    def __init__(self, trajectory: Trajectory, begun: float):
        self._trajectory, self.begun = trajectory, begun
        points = trajectory.positions
        self._from, self._steps = points[:-1], np.diff(points, axis=0)
        self._squares = np.maximum((self._steps**2).sum(axis=1), 1e-18)
        lengths = np.linalg.norm(self._steps, axis=1)
        self._along = np.r_[0.0, np.cumsum(lengths)]
        self._reached, self._marked = 0.0, 0.0  # rad along the path: the farthest, and the last that was progress
        self._progress_at = begun
        self._delay = np.inf  # least delay of the measured positions behind the timed ones, s

    def off(self, positions: Array, stamp: float | None = None) -> tuple[float, int]:
        """Distance from the path (rad, of the joint that is farthest from it) and index of that joint.

        stamp: of measured positions, whose progress counts, s; None: the positions are not measured.
        """
        shares = np.clip(((positions - self._from) * self._steps).sum(axis=1) / self._squares, 0.0, 1.0)
        away = np.abs(positions - (self._from + shares[:, None] * self._steps))
        distances = away.max(axis=1)
        if stamp is not None:
            self._progress(distances, shares, stamp)
        nearest = int(distances.argmin())
        return float(distances[nearest]), int(away[nearest].argmax())

    def _progress(self, distances: Array, shares: Array, stamp: float) -> None:
        along = self._along[:-1] + shares * np.diff(self._along)
        near = np.flatnonzero(along <= self._reached + _AHEAD)
        if len(near):
            at = near[distances[near].argmin()]
            self._reached = max(self._reached, float(along[at]))
        if self._reached >= self._marked + _STEP:
            self._marked, self._progress_at = self._reached, stamp
            timed = float(np.interp(self._reached, self._along, self._trajectory.times))
            self._delay = min(self._delay, max(0.0, stamp - self.begun - timed))

    def idle(self, stamp: float) -> float:
        """Seconds without progress, at the stamp of a measured state."""
        return stamp - self._progress_at

    def behind(self, positions: Array, stamp: float) -> float:
        """Largest distance (rad) from where the arm should be by now; a controller that begins late is not behind."""
        at = stamp - self.begun - (self._delay if np.isfinite(self._delay) else 0.0)
        timed = [np.interp(at, self._trajectory.times, column) for column in self._trajectory.positions.T]
        return float(np.abs(positions - np.array(timed)).max())

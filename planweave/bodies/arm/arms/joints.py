"""One measured state from joint states on several topics: arm and fingers have separate broadcasters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.bodies.arm.arms.base import ArmState
from planweave.robots import RobotDescription, load_robot
from planweave.robots.newest_joints import NewestJoints


class JointStates:
    """Makes arm states of the newest joint states. Not thread-safe."""

    def __init__(self, robot: RobotDescription | None = None) -> None:
        """robot: whose joints; by default the default one."""
        self._newest = NewestJoints(robot or load_robot())
        self.problem = ""
        """Why the last message with joints of the arm made no state; empty where it did."""

    def add(
        self, stamp: float, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> ArmState | None:
        """Add one message (s, rad or m, and per second); velocities may be empty.

        Returns the state where the message has joints of the arm, and all of them are known; else None. Where the
        fingers' states are old or missing, the state says so.
        """
        if len(positions) != len(names) or len(velocities) not in (0, len(names)):
            return None
        if not self._newest.add(stamp, dict(zip(names, positions)), dict(zip(names, velocities))):
            return None
        self.problem = self._newest.problem(fingers=False)
        if self.problem:
            return None
        newest, joints, speeds = self._newest.arm
        width, speed = self._newest.opening
        return ArmState(newest, np.array(joints), np.array(speeds), width, speed, not self._newest.problem())

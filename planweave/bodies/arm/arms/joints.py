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
        self._robot = robot or load_robot()
        self._newest = NewestJoints(self._robot)
        self.problem = ""
        """Why the last message with joints of the arm made no state; empty where it did."""

    def add(
        self,
        stamp: float,
        names: Sequence[str],
        positions: Sequence[float],
        velocities: Sequence[float],
        efforts: Sequence[float] = (),
    ) -> ArmState | None:
        """Add one message (s, rad or m, and per second; Nm); velocities and efforts may be empty. Efforts count where a
        message has those of the whole arm.

        Returns the state where the message has joints of the arm, and all of them are known; else None. Where the
        fingers' states are old or missing, the state says so.
        """
        if len(positions) != len(names) or not {len(velocities), len(efforts)} <= {0, len(names)}:
            return None
        if not self._newest.add(stamp, dict(zip(names, positions)), dict(zip(names, velocities))):
            return None
        self.problem = self._newest.problem(fingers=False)
        if self.problem:
            return None
        newest, joints, speeds = self._newest.arm
        width, speed = self._newest.opening
        torques = dict(zip(names, efforts))
        felt = np.array([torques.get(name, np.nan) for name in self._robot.joint_names])
        measured = np.isfinite(felt).all() and felt.any()  # hardware without sensors may report zeros
        fingers = not self._newest.problem()
        return ArmState(newest, np.array(joints), np.array(speeds), width, speed, fingers, felt if measured else None)

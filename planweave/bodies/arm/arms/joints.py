"""One measured state from joint states on several topics: arm and fingers have separate broadcasters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.bodies.arm.arms.base import ArmState
from planweave.robots import RobotDescription, load_robot

_STALE = 2.0  # s by which the fingers' stamp may be behind the arm's


class JointStates:
    """Keeps the newest position and velocity of each joint. Not thread-safe."""

    def __init__(self, robot: RobotDescription | None = None) -> None:
        """robot: whose joints; by default the default one."""
        self._robot = robot or load_robot()
        self._wanted = frozenset((*self._robot.joint_names, *self._robot.gripper.joints))
        self._joints: dict[str, tuple[float, float, float]] = {}

    def add(
        self, stamp: float, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> ArmState | None:
        """Add one message (s, rad or m, and per second); velocities may be empty.

        Returns the state where the message contains the arm's joints; else None, also where a number is missing or not
        finite. Where the fingers' states are old or missing, the state says so.
        """
        if len(positions) != len(names) or len(velocities) not in (0, len(names)):
            return None
        for index, name in enumerate(names):
            if name not in self._wanted:
                continue
            speed = velocities[index] if len(velocities) else 0.0
            self._joints[name] = (stamp, float(positions[index]), float(speed))
        if self._robot.joint_names[0] not in names:
            return None
        nothing = (-np.inf, np.nan, np.nan)
        arm = np.array([self._joints.get(name, nothing) for name in self._robot.joint_names])
        if not np.isfinite(arm).all() or (arm[:, 0] != stamp).any():
            return None
        fingers = np.array([self._joints.get(name, nothing) for name in self._robot.gripper.joints])
        gripper = self._robot.gripper
        speed = gripper.width(fingers[:, 2].tolist()) - gripper.width([0.0] * len(fingers))
        recent = bool(np.isfinite(fingers).all()) and stamp - float(fingers[:, 0].min()) <= _STALE
        return ArmState(stamp, arm[:, 1], arm[:, 2], gripper.width(fingers[:, 1].tolist()), speed, recent)

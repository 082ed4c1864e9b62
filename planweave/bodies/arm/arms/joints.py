"""One measured state from joint states on several topics: arm and fingers have separate broadcasters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.bodies.arm.arms.base import ArmState
from planweave.robots import franka

_JOINTS = frozenset((*franka.ARM_JOINTS, *franka.FINGER_JOINTS))
_STALE = 2.0  # s by which the fingers' stamp may be behind the arm's


class JointStates:
    """Keeps the newest position and velocity of each joint. Not thread-safe."""

    def __init__(self) -> None:
        self._joints: dict[str, tuple[float, float, float]] = {}

    def add(
        self, stamp: float, names: Sequence[str], positions: Sequence[float], velocities: Sequence[float]
    ) -> ArmState | None:
        """Add one message (s, rad or m, and per second); velocities may be empty.

        Returns the state where the message contains the arm's joints and finger states are recent; else None, also
        where a number is missing or not finite.
        """
        if len(positions) != len(names) or len(velocities) not in (0, len(names)):
            return None
        for index, name in enumerate(names):
            if name not in _JOINTS:
                continue
            speed = velocities[index] if len(velocities) else 0.0
            self._joints[name] = (stamp, float(positions[index]), float(speed))
        if franka.ARM_JOINTS[0] not in names:
            return None
        try:
            arm = np.array([self._joints[name] for name in franka.ARM_JOINTS])
            fingers = np.array([self._joints[name] for name in franka.FINGER_JOINTS])
        except KeyError:
            return None
        if not (np.isfinite(arm).all() and np.isfinite(fingers).all()) or (arm[:, 0] != stamp).any():
            return None
        if stamp - float(fingers[:, 0].min()) > _STALE:
            return None
        return ArmState(stamp, arm[:, 1], arm[:, 2], float(fingers[:, 1].sum()), float(fingers[:, 2].sum()))

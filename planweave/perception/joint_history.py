"""Joint states at the time of an image."""

from __future__ import annotations

import math
import threading
from bisect import bisect_left
from collections import deque
from collections.abc import Mapping

from planweave.perception.robot_filter import RobotState
from planweave.robots import RobotDescription, load_robot
from planweave.robots.newest_joints import NewestJoints

BETWEEN = 0.03
"""Seconds between states that tell where the hand went from one image to the next."""
_SAME_TIME = 0.005  # s
_MOVING = 0.05  # rad: a robot that moved this far between two states is not known well enough in between


class JointHistory:
    """The last seconds of joint states, which may come in parts (see NewestJoints). Thread-safe."""

    def __init__(self, kept: int = 400, max_age: float = 0.1, robot: RobotDescription | None = None):
        """robot: by default the default one. max_age: seconds for which the newest state is extrapolated; a
        robot at rest may start to move.
        """
        self._states: deque[RobotState] = deque(maxlen=kept)
        self._max_age = max_age
        self._robot = robot or load_robot()
        self._newest = NewestJoints(self._robot)
        self._arrived = threading.Condition()

    @property
    def newest(self) -> float:
        """Stamp of the newest state, seconds; minus infinity where there is none."""
        with self._arrived:
            return self._states[-1].stamp if self._states else -math.inf

    def __len__(self) -> int:
        return len(self._states)

    def add(self, stamp: float, positions: Mapping[str, float]) -> None:
        """Add positions (rad, metres) by joint name, of all joints or of some; the state is that of the newest ones."""
        with self._arrived:
            if (
                self._states
                and stamp < self._states[-1].stamp
                and not positions.keys().isdisjoint(self._robot.joint_names)
            ):
                self._states.clear()  # time began anew
                self._newest.clear()
            if not self._newest.add(stamp, positions) or self._newest.problem():
                return
            joints = tuple(self._newest.arm[1])
            self._states.append(RobotState(joints, self._newest.opening[0], stamp, self._robot))
            self._arrived.notify_all()

    @property
    def problem(self) -> str:
        """Why no state can be made of what came last; empty where one can, or nothing has come."""
        with self._arrived:
            return "" if self._newest.empty else self._newest.problem()

    def between(self, after: float, before: float) -> list[RobotState]:
        """States with stamps between two times, oldest first, at least BETWEEN apart."""
        found: list[RobotState] = []
        with self._arrived:
            for state in self._states:
                if after < state.stamp < before and (not found or state.stamp - found[-1].stamp > BETWEEN):
                    found.append(state)
        return found

    def at(self, stamp: float, patience: float = 0.0) -> RobotState | None:
        """The state at a time, interpolated; None where it is unknown.

        patience: seconds of wall time to wait for a state that is not older than `stamp`.
        """
        with self._arrived:
            self._arrived.wait_for(lambda: bool(self._states) and self._states[-1].stamp >= stamp, patience)
            states = list(self._states)
        if not states:
            return None
        index = bisect_left([s.stamp for s in states], stamp)
        if index == len(states):
            return states[-1] if stamp - states[-1].stamp <= self._max_age else None
        after = states[index]
        if index == 0:
            return after if after.stamp - stamp <= self._max_age else None
        before = states[index - 1]
        for state in (before, after):
            if abs(state.stamp - stamp) <= _SAME_TIME:
                return state
        turned = max(abs(a - b) for a, b in zip(before.joints, after.joints))
        if turned > _MOVING and after.stamp - before.stamp > self._max_age:
            return None
        share = (stamp - before.stamp) / max(after.stamp - before.stamp, 1e-9)
        joints = tuple(a + share * (b - a) for a, b in zip(before.joints, after.joints))
        return RobotState(joints, before.width + share * (after.width - before.width), stamp, self._robot)

"""The newest measured position and velocity of each joint of a robot."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from planweave.robots.description import RobotDescription

_TOGETHER = 0.03  # s within which the parts of the arm's state must be measured: a slow broadcaster's period
_STALE = 2.0  # s by which the fingers may be older
_NAMED = 20  # foreign joints that are named at most


class NewestJoints:
    """Newest joint states of arm and fingers, from messages of all joints or of some. Not thread-safe.

    Where fingers have one joint each, one of them may stand for both (a mimic joint). A velocity that is not reported,
    or is 0 (mock hardware of ros2_control reports that in motion, too), is that between the two newest positions.
    """

    def __init__(self, robot: RobotDescription) -> None:
        self._robot = robot
        self._joints: dict[str, tuple[float, float, float]] = {}  # stamp, position and velocity
        self._others: set[str] = set()  # joints that are none of the robot's

    def clear(self) -> None:
        """Forget all states, as when time began anew."""
        self._joints.clear()

    def add(self, stamp: float, positions: Mapping[str, float], velocities: Mapping[str, float] | None = None) -> bool:
        """Add positions (rad, m) and velocities (per second) by joint; whether there are joints of the arm."""
        for name, position in positions.items():
            if name in self._robot.joint_names or name in self._robot.gripper.joints:
                reported = (velocities or {}).get(name, math.nan)
                known = math.isfinite(reported) and reported != 0.0
                speed = reported if known else self._speed(name, stamp, position)
                self._joints[name] = stamp, position, speed
            elif len(self._others) < _NAMED:
                self._others.add(name)
        return not positions.keys().isdisjoint(self._robot.joint_names)

    @property
    def arm(self) -> tuple[float, list[float], list[float]]:
        """Newest stamp, positions and velocities of the arm's joints, where `problem` reports none."""
        stamps, positions, velocities = zip(*(self._joints[name] for name in self._robot.joint_names))
        return max(stamps), list(positions), list(velocities)

    @property
    def opening(self) -> tuple[float, float]:
        """Opening of the fingers (m) and its velocity (m/s); NaN without a position."""
        gripper = self._robot.gripper
        felt = [self._joints[name] for name in self._felt()] or [(0.0, math.nan, math.nan)]
        speed = gripper.width([v for _, _, v in felt]) - gripper.width([0.0] * len(felt))
        return gripper.width([p for _, p, _ in felt]), speed

    def problem(self, fingers: bool = True) -> str:
        """Why no state can be made of what came last, with or without one of the fingers; empty where one can."""
        arm, pads = self._robot.joint_names, self._robot.gripper.joints
        missing = [name for name in arm if name not in self._joints]
        reported = [name for name in pads if name in self._joints] if fingers else []
        if fingers and not reported:
            missing.append(" or ".join(pads))
        if missing:
            others = f" (only of {', '.join(sorted(self._others))})" if self._others else ""
            return f"no position of {', '.join(missing)}{others}"
        felt = self._felt()
        for name in (*arm, *(() if felt else reported[:1])):
            if not math.isfinite(self._joints[name][1]):
                return f"the position of {name} is {self._joints[name][1]}"
        now = max(self._joints[name][0] for name in arm)
        parts: list[tuple[Sequence[str], float]] = [(arm, _TOGETHER), *([(felt, _STALE)] if fingers else [])]
        for names, longest in parts:
            name, (stamp, _, _) = min(((n, self._joints[n]) for n in names), key=lambda pair: pair[1][0])
            if now - stamp > longest:
                return f"the newest position of {name} is {now - stamp:.2f} s older than that of other joints"
        return ""

    @property
    def empty(self) -> bool:
        return not (self._joints or self._others)

    def _felt(self) -> list[str]:
        fingers = self._robot.gripper.joints
        return [n for n in fingers if n in self._joints and math.isfinite(self._joints[n][1])]

    def _speed(self, name: str, stamp: float, position: float) -> float:
        before, was, speed = self._joints.get(name, (stamp, position, 0.0))
        moved = (position - was) / (stamp - before) if stamp > before else speed
        return moved if math.isfinite(moved) else 0.0

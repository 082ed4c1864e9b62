"""Limits of workspace, joints, speed and force: every trajectory and grip is checked before it is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planweave.bodies.arm.arms.base import Arm, ArmState, Watch
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.settings import point
from planweave.bodies.arm.timing import JointLimits, Trajectory
from planweave.core.base.errors import ConfigError
from planweave.core.base.failure import Code

_SLACK = 1e-3
_PACE_SLACK = 0.02  # share by which a timed path may exceed speed and acceleration between its points


@dataclass(frozen=True)
class Safety:
    """Limits of the installation.

    limits: of joint speed and acceleration; workspace_low and workspace_high: bounds of the tool centre point (m, base
    frame); largest_force in N, never above the gripper's own.
    """

    kinematics: Kinematics
    limits: JointLimits
    workspace_low: tuple[float, float, float] = (-0.30, -0.85, 0.005)
    workspace_high: tuple[float, float, float] = (0.85, 0.85, 1.10)
    largest_force: float = math.inf

    def check(self, trajectory: Trajectory) -> None:
        """Raise SkillFailureError (SAFETY_STOP) where a trajectory violates a limit; the message says which
        and where.
        """
        q, v = trajectory.positions, trajectory.velocities
        if not (np.isfinite(q).all() and np.isfinite(v).all()) or (np.diff(trajectory.times) <= 0).any():
            raise SkillFailureError(Code.SAFETY_STOP, "the planned motion is not a valid trajectory; nothing was moved")
        self._within("position", q, self.kinematics.upper, "rad", _SLACK)
        self._within("position", -q, -self.kinematics.lower, "rad", _SLACK)
        self._within("speed", np.abs(v), self.limits.velocity, "rad/s", _PACE_SLACK)
        self._within(
            "acceleration", np.abs(trajectory.accelerations()), self.limits.acceleration, "rad/s^2", _PACE_SLACK
        )
        for index in range(0, len(q), 4):
            self._inside(q[index])
        self._inside(trajectory.end)

    def check_step(self, before: np.ndarray, after: np.ndarray, seconds: float) -> None:
        """Raise SkillFailureError (SAFETY_STOP) where a step between joint positions (n,) rad ends beyond a limit, or
        where the robot's joints, at all their speed, do not get there in so many seconds.
        """
        self._within("position", after, self.kinematics.upper, "rad", _SLACK)
        self._within("position", -after, -self.kinematics.lower, "rad", _SLACK)
        speed = np.abs(after - before) / seconds
        self._within("speed", speed, np.array(self.kinematics.robot.velocity), "rad/s", _PACE_SLACK)
        self._inside(after)

    def _within(self, what: str, value: np.ndarray, limit: np.ndarray, unit: str, slack: float) -> None:
        """Raise where a row of values (of each joint) is above the limits by more than a share of them."""
        beyond = (np.atleast_2d(value) - limit).max(axis=0)
        over = beyond - slack * np.abs(limit)
        joint = int(over.argmax())
        if over[joint] > _SLACK:
            raise SkillFailureError(
                Code.SAFETY_STOP,
                f"the planned motion goes {beyond[joint]:.3f} {unit} beyond the {what} limit of "
                f"{self.kinematics.robot.joint_names[joint]}; nothing was moved",
            )

    def allows_point(self, x: float, y: float, z: float) -> bool:
        """Whether the tool centre point may be at a position."""
        return all(lo <= p <= hi for lo, p, hi in zip(self.workspace_low, (x, y, z), self.workspace_high))

    def force(self, wanted: float) -> float:
        """A gripping force, clipped to the limit, N."""
        return float(min(max(wanted, 1.0), self.largest_force, self.kinematics.robot.gripper.force))

    def _inside(self, joints: np.ndarray) -> None:
        """Raise where the tool centre point is outside of the workspace at joint positions (n,) rad."""
        x, y, z = self.kinematics.forward(joints)[:3, 3]
        low, high = np.array(self.workspace_low) - _SLACK, np.array(self.workspace_high) + _SLACK
        if not ((low <= (x, y, z)) & ((x, y, z) <= high)).all():
            raise SkillFailureError(
                Code.SAFETY_STOP,
                f"the planned motion leaves the workspace at ({x:.2f}, {y:.2f}, {z:.2f}) m "
                f"(allowed: {[*self.workspace_low]} to {[*self.workspace_high]}); nothing was moved",
            )


def safety_from(values: Mapping[str, Any], kinematics: Kinematics) -> Safety:
    """The limits from executor_node's parameters by name; raises ConfigError."""
    low, high = (point(values, name) for name in ("workspace_low", "workspace_high"))
    if not all(lo < hi for lo, hi in zip(low, high)):
        raise ConfigError(
            f"executor_node: workspace_low {list(low)} must be below workspace_high {list(high)} in x, y and z"
        )
    limits = JointLimits.of(kinematics.robot).scaled(
        max(values["speed"], values["approach_speed"]), values["acceleration"]
    )
    return Safety(kinematics, limits, low, high, values["largest_force"])


class GuardedArm:
    """An arm behind the limits: a violating command is not sent. See `planweave.bodies.arm.arms.base.Arm`."""

    def __init__(self, inner: Arm, safety: Safety):
        self._inner, self.safety = inner, safety

    def state(self) -> ArmState:
        return self._inner.state()

    def check(self) -> None:
        self._inner.check()

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Follow a trajectory within the limits; otherwise raises SAFETY_STOP without motion."""
        self.safety.check(trajectory)
        self._inner.follow(trajectory, watch)

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Move the fingers with at most the largest force."""
        widest = self.safety.kinematics.robot.gripper.opening
        return self._inner.grip(min(max(width, 0.0), widest), self.safety.force(force), wait)

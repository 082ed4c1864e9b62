"""Workspace, joint, speed and force limits: every trajectory and every grip passes here before it is sent."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from executor_node.failures import SkillFailureError
from executor_node.kinematics import Kinematics
from executor_node.timing import Limits, Trajectory
from planweave import franka
from planweave.failure import Code

_SLACK = 1e-3


@dataclass(frozen=True)
class Safety:
    """Limits of the set-up. workspace_low and workspace_high bound the tool centre point (m, base frame)."""

    kinematics: Kinematics
    limits: Limits
    workspace_low: tuple[float, float, float] = (-0.30, -0.85, 0.005)
    workspace_high: tuple[float, float, float] = (0.85, 0.85, 1.10)
    largest_force: float = franka.FINGER_MAX_FORCE

    def check(self, trajectory: Trajectory) -> None:
        """Raise SkillFailureError (SAFETY_STOP) where a trajectory would leave a limit; says which and where."""
        q, v = trajectory.positions, trajectory.velocities
        if not (np.isfinite(q).all() and np.isfinite(v).all()) or (np.diff(trajectory.times) <= 0).any():
            raise SkillFailureError(
                Code.SAFETY_STOP, "the planned motion is not a valid trajectory; nothing was moved"
            )
        for what, value, limit, unit in (
            ("position", q, self.kinematics.upper, "rad"),
            ("position", -q, -self.kinematics.lower, "rad"),
            ("speed", np.abs(v), self.limits.velocity, "rad/s"),
            ("acceleration", np.abs(trajectory.accelerations()), self.limits.acceleration, "rad/s^2"),
        ):
            over = (value - limit).max(axis=0)
            joint = int(over.argmax())
            if over[joint] > _SLACK * (1 + abs(limit[joint])):
                raise SkillFailureError(
                    Code.SAFETY_STOP,
                    f"the planned motion goes {over[joint]:.3f} {unit} beyond the {what} limit of "
                    f"{franka.ARM_JOINTS[joint]}; nothing was moved",
                )
        low, high = np.array(self.workspace_low), np.array(self.workspace_high)
        for index in range(0, len(q), 4):
            self._inside(self.kinematics.forward(q[index])[:3, 3], low, high)
        self._inside(self.kinematics.forward(trajectory.end)[:3, 3], low, high)

    def allows_point(self, x: float, y: float, z: float) -> bool:
        """Whether the tool centre point may be there."""
        return all(lo <= p <= hi for lo, p, hi in zip(self.workspace_low, (x, y, z), self.workspace_high))

    def force(self, wanted: float) -> float:
        """A gripping force within limits, N."""
        return float(min(max(wanted, 1.0), self.largest_force))

    @staticmethod
    def _inside(point: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
        if (point < low - _SLACK).any() or (point > high + _SLACK).any():
            raise SkillFailureError(
                Code.SAFETY_STOP,
                f"the planned motion leaves the workspace at ({point[0]:.2f}, {point[1]:.2f}, {point[2]:.2f}) m "
                f"(allowed: {low.tolist()} to {high.tolist()}); nothing was moved",
            )

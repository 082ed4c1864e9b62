"""Planweave's limits as an approver: joints, speed and workspace of every target."""

from __future__ import annotations

from typing import Any

import numpy as np
from inspect_robots.errors import SafetyAbort
from inspect_robots.types import Action

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.timing import JointLimits
from planweave.robots import RobotDescription

_LAST = "planweave:last"


class LimitsApprover:
    """Passes a target of joint positions as it is, or vetoes it. The first target of a trial has no step before it."""

    def __init__(self, robot: RobotDescription, hz: float) -> None:
        kinematics = Kinematics(PlanningScene(robot=robot).model, robot)
        self.safety, self._period = Safety(kinematics, JointLimits.of(robot)), 1.0 / hz

    def review(self, action: Action, store: dict[str, Any]) -> Action:
        """The same action; raises SafetyAbort where it is beyond a limit."""
        joints = np.asarray(action.data, dtype=float)[: self.safety.kinematics.robot.count]
        try:
            if not np.isfinite(joints).all():
                raise SafetyAbort("Planweave: the target is no finite number")
            self.safety.check_step(store.get(_LAST, joints), joints, self._period)
        except SkillFailureError as error:
            raise SafetyAbort(f"Planweave: {error.message}") from None
        store[_LAST] = joints
        return action

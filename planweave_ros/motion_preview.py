"""The service /plan_motions of an arm: motions of a plan, planned while nothing moves."""

from __future__ import annotations

import time
from collections.abc import Callable

from planweave_interfaces.srv import PlanMotions
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.preview import MotionPreview
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.base.failure import Code
from planweave.core.workflow.step_motion import MAX_STEPS, summary
from planweave_ros import conversions as convert
from planweave_ros.serve_body import BodyServer


class MotionPreviewServer:
    """Plans motions in a thread of the executor; an action that begins meanwhile ends that.

    state: the arm's measured state; skills: whose limits and settings hold now; why_idle: see serve_body.
    """

    def __init__(
        self,
        node: Node,
        preview: MotionPreview,
        world: WorldModel,
        state: Callable[[], ArmState],
        skills: Callable[[], Skills],
        served: BodyServer,
        why_idle: Callable[[], str],
    ) -> None:
        self._preview, self._world, self._state, self._skills = preview, world, state, skills
        self._served, self._why_idle = served, why_idle
        node.create_service(PlanMotions, "plan_motions", self._plan, callback_group=MutuallyExclusiveCallbackGroup())

    def _plan(self, request: PlanMotions.Request, response: PlanMotions.Response) -> PlanMotions.Response:
        begun = time.perf_counter()
        actions = [action for action in map(convert.action_from_msg, request.actions) if action is not None]
        if not 1 <= len(actions) <= MAX_STEPS or len(actions) != len(request.actions):
            raise SkillFailureError(
                Code.INVALID_ACTION,
                f"give 1 to {MAX_STEPS} actions, each with a name; there are {len(request.actions)}",
            )
        if why := self._why_idle():
            raise SkillFailureError(Code.NOT_STARTED, f"no motions are planned: {why}")
        if busy := self._served.busy_with:
            raise SkillFailureError(Code.NOT_STARTED, f"the arm is busy with {busy}; ask again when that is done")
        context = self._skills().context
        steps = self._preview.motions(
            actions, self._world, self._state(), context.arm.safety, context.settings, self._check
        )
        response.message, response.success = summary(steps), all(step.known for step in steps)
        response.steps = [convert.motion_to_msg(step) for step in steps]
        response.planning_seconds = time.perf_counter() - begun
        return response

    def _check(self) -> None:
        if self._served.busy:
            raise SkillFailureError(
                Code.CANCELED, "an action began, which ended the planning of the motions; ask again"
            )

"""Requests of a person or an agent about a task that waits or goes on: cancel, pause, resume, answer, approve, edit."""

from __future__ import annotations

import getpass
import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from planweave_interfaces.msg import PlanPreview as PlanPreviewMsg
from planweave_interfaces.srv import (
    AnswerQuestion,
    ApprovePlan,
    CancelTask,
    EditPlan,
    PauseTask,
    RememberedAnswers,
    ResumeTask,
)
from rclpy.qos import QoSProfile

from planweave.core.base.errors import GoalError, PlanweaveError, refused
from planweave.core.symbolic.world import Action
from planweave.core.workflow.question import Remembered
from planweave.core.workflow.step_motion import PlanPreview
from planweave_ros import conversions as convert
from planweave_ros.qos import TRANSIENT_LOCAL

TASK_SERVICES = {
    "cancel_task": CancelTask,
    "pause_task": PauseTask,
    "resume_task": ResumeTask,
    "approve_plan": ApprovePlan,
    "edit_plan": EditPlan,
    "answer_question": AnswerQuestion,
    "remembered_answers": RememberedAnswers,
}
_LOOKING = 90.0  # s that the look before a paused task goes on may take
_DISCOVERY = 1.5  # s after which it is known whether anybody publishes previews


class TaskCalls:
    """Part of `planweave_ros.client.Client`. All return the node's message, and raise where it refuses.

    The name of the user account is included, unverified, and whether an agent acts for this person.
    """

    _node: Any

    def _call(self, name: str, request: Any, who: str, timeout: float = 30.0) -> Any:
        raise NotImplementedError

    def _heard(
        self, kind: Any, topic: str, qos: QoSProfile, wanted: Callable[[Any], bool] = lambda message: True
    ) -> AbstractContextManager[tuple[list[Any], threading.Event]]:
        raise NotImplementedError

    def _told(
        self, name: str, request: Any, timeout: float = 30.0, error: type[PlanweaveError] = PlanweaveError
    ) -> str:
        response = self._call(name, request, "feedback_node", timeout)
        if not response.success:
            raise refused(error, response.message, response.code)
        return str(response.message)

    def cancel(self, task_id: str = "") -> str:
        """Cancel a task (the running one without an id)."""
        return self._told("cancel_task", CancelTask.Request(task_id=task_id))

    def pause(self, task_id: str = "", reason: str = "", agent: bool = False) -> str:
        """Pause a task (the running one without an id)."""
        return self._told("pause_task", PauseTask.Request(task_id=task_id, person=_person(agent), reason=reason))

    def resume(self, task_id: str = "", agent: bool = False) -> str:
        """Resume a paused task; raises where it stays paused, with the reason."""
        return self._told("resume_task", ResumeTask.Request(task_id=task_id, person=_person(agent)), _LOOKING)

    def answer(self, task_id: str, question_id: str, choice: int = 0, text: str = "", agent: bool = False) -> str:
        """Answer the question of a task by the number of a choice, from 1, or by words."""
        request = AnswerQuestion.Request(
            task_id=task_id, question_id=question_id, choice=choice, text=text, person=_person(agent)
        )
        return self._told("answer_question", request)

    def approve(self, task_id: str, plan_hash: str, approve: bool, comment: str = "", agent: bool = False) -> str:
        request = ApprovePlan.Request(
            task_id=task_id, plan_hash=plan_hash, approve=approve, comment=comment, approver=_person(agent)
        )
        return self._told("approve_plan", request)

    def edit_plan(self, task_id: str, plan_hash: str, plan: Sequence[Action]) -> str:
        """Replace the plan that waits; raises GoalError with the cause where the new one does not pass."""
        request = EditPlan.Request(
            task_id=task_id,
            plan_hash=plan_hash,
            actions=[convert.action_to_msg(a) for a in plan],
            editor=_person(False),
        )
        return self._told("edit_plan", request, error=GoalError)

    def remembered(self, forget: Sequence[int] = (), forget_all: bool = False) -> tuple[list[Remembered], list[int]]:
        """Remembered statements of people, oldest first, and the ids of those just forgotten."""
        request = RememberedAnswers.Request(forget=list(forget), forget_all=forget_all)
        response = self._call("remembered_answers", request, "feedback_node")
        if not response.success:
            raise refused(PlanweaveError, response.message, response.code)
        return [convert.remembered_from_msg(msg) for msg in response.answers], list(map(int, response.forgotten))

    def preview(self, task_id: str, plan_hash: str, patience: float = 5.0) -> PlanPreview | None:
        """The motions of a plan that waits (of a dry run's, without a hash); None where none come within seconds."""

        def wanted(msg: PlanPreviewMsg) -> bool:
            return bool((msg.task_id, msg.plan_hash) == (task_id, plan_hash))

        with self._heard(PlanPreviewMsg, "plan_preview", TRANSIENT_LOCAL, wanted) as (found, there):
            if not there.wait(min(_DISCOVERY, patience)) and self._node.count_publishers("plan_preview"):
                there.wait(max(patience - _DISCOVERY, 0.0))
        return convert.preview_from_msg(found[-1]) if found else None


def _person(agent: bool) -> str:
    """Name of the user account; some accounts have only a number."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):
        user = f"user {os.getuid()}"
    return f"an agent of {user}" if agent else user

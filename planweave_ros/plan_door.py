"""What a client does with a plan that waits for a person: read its motions, edit it, approve or refuse it."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from planweave_interfaces.msg import PlanPreview as PlanPreviewMsg
from planweave_interfaces.srv import ApprovePlan, EditPlan

from planweave.core.errors import GoalError, PlanweaveError
from planweave.core.step_motion import PlanPreview
from planweave.core.world import Action
from planweave_ros import conversions as convert
from planweave_ros.pause_calls import user
from planweave_ros.qos import LATCHED

_DISCOVERY = 1.5  # s after which it is known whether anybody publishes previews


class PlanDoor:
    """Part of `planweave_ros.client.Client`."""

    _node: Any

    def _call(self, name: str, request: Any, who: str, timeout: float = 10.0) -> Any:
        raise NotImplementedError

    def _drop(self, subscription: Any) -> None:
        raise NotImplementedError

    def approve(self, task_id: str, plan_hash: str, approve: bool, comment: str = "", agent: bool = False) -> str:
        """Approve or refuse the plan of a task; returns the node's message, raises where it rejects the answer.

        The name of the user account is included, unverified, and whether an agent answers for this person.
        """
        approver = f"an agent of {user()}" if agent else user()
        request = ApprovePlan.Request(
            task_id=task_id, plan_hash=plan_hash, approve=approve, comment=comment, approver=approver
        )
        response = self._call("approve_plan", request, "feedback_node")
        if not response.success:
            raise PlanweaveError(response.message)
        return str(response.message)

    def edit_plan(self, task_id: str, plan_hash: str, plan: Sequence[Action]) -> str:
        """Replace the plan that waits; returns the node's message, raises GoalError with the cause where the new one
        does not pass.
        """
        request = EditPlan.Request(
            task_id=task_id, plan_hash=plan_hash, actions=[convert.action_to_msg(a) for a in plan], editor=user()
        )
        response = self._call("edit_plan", request, "feedback_node")
        if not response.success:
            raise GoalError(response.message)
        return str(response.message)

    def preview(self, task_id: str, plan_hash: str, patience: float = 5.0) -> PlanPreview | None:
        """The motions of a plan that waits (of a dry run's, without a hash); None where none come within seconds."""
        found: list[PlanPreviewMsg] = []
        there = threading.Event()

        def take(msg: PlanPreviewMsg) -> None:
            if (msg.task_id, msg.plan_hash) == (task_id, plan_hash):
                found.append(msg)
                there.set()

        subscription = self._node.create_subscription(PlanPreviewMsg, "plan_preview", take, LATCHED)
        if not there.wait(min(_DISCOVERY, patience)) and self._node.count_publishers("plan_preview"):
            there.wait(max(patience - _DISCOVERY, 0.0))
        self._drop(subscription)
        return convert.preview_from_msg(found[-1]) if found else None

"""Previews of plans: the body is asked for their motions, and everybody is shown them on /plan_preview."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace

from planweave_interfaces.msg import PlanPreview as PlanPreviewMsg
from planweave_interfaces.srv import PlanMotions
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.workflow.step_motion import PlanPreview
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.tasks.task import Task
from planweave_ros import conversions as convert
from planweave_ros.calling import ask
from planweave_ros.qos import TRANSIENT_LOCAL

_THERE = 2.0  # s of wall time for a body's service to be discovered
_PATIENCE = 10.0  # s of wall time for its answer, and for each step
_EACH = 4.0


class Previews:
    """Computes the preview of a plan once it waits for approval or a dry run has found it; nothing waits for that.

    shown: called with every preview, from a thread of its own.
    """

    def __init__(self, node: Node, shown: Callable[[PlanPreview], None]) -> None:
        self._node, self._shown = node, shown
        self._client = node.create_client(PlanMotions, "plan_motions", callback_group=ReentrantCallbackGroup())
        self._publisher = node.create_publisher(PlanPreviewMsg, "plan_preview", TRANSIENT_LOCAL)
        self._lock = threading.Lock()
        self._last = ""  # what was asked for last

    def changed(self, task: Task, status: TaskStatus) -> None:
        waits = status.state is TaskState.AWAITING_APPROVAL
        if not waits and status.state is not TaskState.PLANNED:
            return
        key = f"{status.task_id} {status.plan_hash}"
        with self._lock:
            if key == self._last:
                return
            self._last = key
        threading.Thread(target=self._show, args=(task, status, key), name="preview", daemon=True).start()

    def _show(self, task: Task, status: TaskStatus, key: str) -> None:
        try:
            preview = self._made(status)
            with self._lock:
                if key == self._last and self._node.context.ok():
                    self._publisher.publish(convert.preview_to_msg(preview, self._node.get_clock().now().to_msg()))
            if status.plan_hash and not task.ending:
                task.journal.add("preview", hash=preview.hash, message=preview.message, steps=numbers(preview))
        except Exception as error:  # whoever waits for it is told
            self._node.get_logger().error(f"preview of {status.task_id}: {error!r}")
            preview = PlanPreview(status.task_id, status.plan_hash, (), f"the preview failed: {error}")
        self._shown(preview)

    def _made(self, status: TaskStatus) -> PlanPreview:
        task_id, plan_hash, plan = status.task_id, status.plan_hash, status.plan
        if not plan:
            return PlanPreview(task_id, plan_hash, (), "the goal holds already, so nothing moves")
        if not self._client.wait_for_service(timeout_sec=_THERE):
            return PlanPreview(task_id, plan_hash, (), "this body plans no motions beforehand")
        request = PlanMotions.Request(actions=[convert.action_to_msg(action) for action in plan])
        reply = ask(self._client, request, _PATIENCE + _EACH * len(plan))
        if reply is None:
            return PlanPreview(task_id, plan_hash, (), "the body did not plan the motions in time")
        steps = tuple(map(convert.motion_from_msg, reply.steps))
        if len(status.plan_words) == len(steps):
            steps = tuple(replace(step, words=words) for step, words in zip(steps, status.plan_words))
        return PlanPreview(task_id, plan_hash, steps, reply.message, reply.planning_seconds)


def numbers(preview: PlanPreview) -> list[dict[str, object]]:
    """Each step's length (m), duration (s) and clearance (m), without its path."""
    return [
        {
            "action": str(step.action),
            "known": step.known,
            "length": round(step.length, 4),
            "duration": round(step.duration, 3),
            "clearance": round(step.clearance, 4),
            "nearest": step.nearest,
            "message": step.message,
        }
        for step in preview.steps
    ]

"""The action /plan_task: a dry run whose result has the motions of its plan."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from planweave_interfaces.action import PlanTask
from planweave_interfaces.msg import TaskStatus as TaskStatusMsg
from rclpy.node import Node

from planweave.core.base.errors import PlanweaveError
from planweave.core.workflow.step_motion import PlanPreview
from planweave.core.workflow.task_status import TaskState
from planweave.tasks.task import Task
from planweave.tasks.task_manager import TaskManager
from planweave_ros import conversions as convert
from planweave_ros.deferred import DeferredActionServer, Goal


class PlanTaskServer:
    """Submits a dry run for every goal, and ends the goal once its plan has been previewed.

    status_msg: a task's status as a message. The node calls `changed`, `ended` and `shown`.
    """

    def __init__(
        self, node: Node, manager: Callable[[], TaskManager], status_msg: Callable[[Task], TaskStatusMsg]
    ) -> None:
        self._node, self._manager, self._status_msg = node, manager, status_msg
        self._goals: dict[str, Goal] = {}  # by the id of their task
        self._newest: PlanPreview | None = None
        self._lock = threading.Lock()
        DeferredActionServer(node, PlanTask, "plan_task", self._start)

    def _start(self, goal: Goal) -> None:
        request: Any = goal.request
        try:
            task = self._manager().submit(
                request.sentence,
                request.method,
                convert.literals_from_msg(request.goal),
                request.world_revision,
                dry_run=True,
            )
        except PlanweaveError as error:
            goal.finish(PlanTask.Result(message=str(error)), success=False)
            return
        task_id = task.status.task_id
        goal.on_cancel = lambda: self._cancel(task_id)
        if goal.cancel_asked.is_set():
            goal.on_cancel()
        with self._lock:
            self._goals[task_id], newest = goal, self._newest
        if task.ended.is_set():  # before anybody was told of its goal
            self.ended(task)
            if newest is not None and newest.task_id == task_id:
                self.shown(newest)

    def _cancel(self, task_id: str) -> None:
        try:
            self._manager().cancel(task_id)
        except PlanweaveError as error:  # it may end in this moment
            self._node.get_logger().debug(str(error))

    def changed(self, msg: TaskStatusMsg) -> None:
        """Publish feedback."""
        with self._lock:
            goal = self._goals.get(msg.task_id)
        if goal is not None:
            if msg.state != TaskStatusMsg.QUEUED:
                goal.begin()
            goal.publish(PlanTask.Feedback(status=msg))

    def ended(self, task: Task) -> None:
        """End the goal of a task without a plan; that of a plan waits for its preview."""
        if task.status.state is not TaskState.PLANNED:
            self._finish(task, None)

    def shown(self, preview: PlanPreview) -> None:
        """End the goal whose plan was previewed."""
        with self._lock:
            self._newest = preview
        task = self._manager().get(preview.task_id)
        if task is not None and task.status.state is TaskState.PLANNED:
            self._finish(task, preview)

    def _finish(self, task: Task, preview: PlanPreview | None) -> None:
        with self._lock:
            goal = self._goals.pop(task.status.task_id, None)
        if goal is None:
            return
        status = task.snapshot()
        found = status.state in (TaskState.PLANNED, TaskState.ANSWERED)
        result = PlanTask.Result(success=found, message=status.message)
        result.status, result.record = self._status_msg(task), task.journal.to_json()
        if preview is not None:
            result.preview = convert.preview_to_msg(preview, self._node.get_clock().now().to_msg())
        goal.finish(result, success=found)

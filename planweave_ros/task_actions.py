"""The actions /run_task and /plan_task: each goal is a task, that of /plan_task a dry run with its plan's motions."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from planweave_interfaces.action import PlanTask, RunTask
from planweave_interfaces.msg import TaskStatus as TaskStatusMsg
from rclpy.node import Node

from planweave.core.base.errors import PlanweaveError
from planweave.core.workflow.step_motion import PlanPreview
from planweave.core.workflow.task_status import TaskState
from planweave.tasks.task import Task
from planweave.tasks.task_manager import TaskManager
from planweave_ros import conversions as convert
from planweave_ros.deferred import DeferredActionServer, Goal

_REACHED = {RunTask: (TaskState.SUCCEEDED,), PlanTask: (TaskState.PLANNED, TaskState.ANSWERED)}
_AS_ASKED = (TaskState.SUCCEEDED, TaskState.ANSWERED, TaskState.PLANNED)


class TaskActions:
    """Submits a task for every goal, and ends the goal with it, that of /plan_task once its plan has been previewed.

    ready: raises PlanweaveError while no task is accepted; status_msg: a task's status as a message; tell: publishes
    it. The node calls `changed`, `ended` and `shown`.
    """

    def __init__(
        self,
        node: Node,
        manager: Callable[[], TaskManager],
        ready: Callable[[], None],
        status_msg: Callable[[Task], TaskStatusMsg],
        tell: Callable[[Task], None],
    ) -> None:
        self._node, self._manager, self._status_msg, self._tell = node, manager, status_msg, tell
        self._ready = ready
        self._goals: dict[str, tuple[Any, Goal]] = {}  # with their action, by the id of their task
        self._newest: PlanPreview | None = None
        self._lock = threading.Lock()
        for action, name in ((RunTask, "run_task"), (PlanTask, "plan_task")):
            DeferredActionServer(node, action, name, partial(self._start, action))

    def _start(self, action: Any, goal: Goal) -> None:
        asked = convert.task_goal_from_msg(goal.request.task)
        try:
            self._ready()
            task = self._manager().accept(replace(asked, dry_run=action is PlanTask or asked.dry_run))
        except PlanweaveError as error:
            status = TaskStatusMsg(
                sentence=asked.sentence,
                method=asked.method,
                state=TaskStatusMsg.FAILED,
                phase="refused",
                message=str(error),
                code=error.code,
            )
            goal.finish(action.Result(message=str(error), status=status), success=False)
            return
        task_id = task.status.task_id
        goal.on_cancel = lambda: self._cancel(task_id)
        if goal.cancel_asked.is_set():
            goal.on_cancel()
        with self._lock:
            self._goals[task_id], newest = (action, goal), self._newest
        self._tell(task)  # it may have begun before anyone was told of its goal
        if task.ended.is_set():
            self.ended(task)
            if newest is not None and newest.task_id == task_id:
                self.shown(newest)

    def _cancel(self, task_id: str) -> None:
        with contextlib.suppress(PlanweaveError):  # it may end in this moment
            self._manager().cancel(task_id)

    def _goal(self, task_id: str) -> tuple[Any, Any]:
        with self._lock:
            return self._goals.get(task_id, (None, None))

    def changed(self, task: Task, msg: TaskStatusMsg) -> None:
        action, goal = self._goal(msg.task_id)
        if goal is not None:
            if task.started is not None or task.ending is not None:
                goal.begin()
            goal.publish(action.Feedback(status=msg))

    def ended(self, task: Task) -> None:
        """End the goal of a task; that of /plan_task with a plan waits for its preview."""
        if self._goal(task.status.task_id)[0] is not PlanTask or task.status.state is not TaskState.PLANNED:
            self._finish(task)

    def shown(self, preview: PlanPreview) -> None:
        """End the goal of /plan_task whose plan was previewed."""
        with self._lock:
            self._newest = preview
        task = self._manager().get(preview.task_id)
        planned = task is not None and task.status.state is TaskState.PLANNED
        if task is not None and planned and self._goal(preview.task_id)[0] is PlanTask:
            self._finish(task, preview)

    def _finish(self, task: Task, preview: PlanPreview | None = None) -> None:
        with self._lock:
            found = self._goals.pop(task.status.task_id, None)
        if found is None:
            return
        (action, goal), status = found, task.snapshot()
        result = action.Result(success=status.state in _REACHED[action], message=status.message)
        result.status, result.record = self._status_msg(task), task.journal.to_json()
        if preview is not None:
            result.preview = convert.preview_to_msg(preview, self._node.get_clock().now().to_msg())
        goal.finish(result, status.state in _AS_ASKED, status.state is TaskState.CANCELED)

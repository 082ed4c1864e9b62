"""Services by which people change what a body stands in: PREFIX/reset and PREFIX/load_scene."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planweave_interfaces.msg import TaskStatus
from planweave_interfaces.srv import ListTasks, LoadScene
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from std_srvs.srv import Trigger

from planweave.core.base.errors import SceneError
from planweave.core.workflow.task_status import TaskState
from planweave_ros.calling import ask
from planweave_ros.liveliness import TASKS, Presence
from planweave_ros.serve_body import BodyServer

_SECONDS = 3.0  # of wall time for feedback_node to answer


class RunningTasks:
    """Queries feedback_node. Without one, no task runs."""

    def __init__(self, node: Node):
        self._tasks = Presence(node, TASKS)
        self._client = node.create_client(ListTasks, "list_tasks", callback_group=ReentrantCallbackGroup())

    def newest_sentence(self) -> str:
        """Sentence of the newest task; "" where there is none, or no answer."""
        if not self._client.service_is_ready():
            return ""
        reply = ask(self._client, ListTasks.Request(limit=1), _SECONDS)
        return str(reply.tasks[-1].sentence) if reply is not None and reply.tasks else ""

    def problem(self) -> str:
        """The reason not to change the world now; "" for none."""
        if self._tasks.lost or not self._client.service_is_ready():
            return ""
        reply = ask(self._client, ListTasks.Request(), _SECONDS)
        if reply is None:
            return f"feedback_node did not say in {_SECONDS:g} s whether a task runs; try again"
        going_on: list[TaskStatus] = [t for t in reply.tasks if not TaskState(t.state).ended]
        if not going_on:
            return ""
        task = going_on[0]
        others = f" and {len(going_on) - 1} more" if len(going_on) > 1 else ""
        said = f' ("{task.sentence[:80]}")' if task.sentence else ""
        return (
            f"{task.task_id}{said}{others} would find another world than it began in; wait for its end, or: "
            f"planweave cancel {task.task_id}"
        )


class SceneServices:
    """Serves them from now on; a scene changes only while no task and no action runs.

    name: what stays in messages. reset and load return what was done, "" for a plain answer, and raise PlanweaveError.
    served: the body's server, which may come later.
    """

    def __init__(
        self,
        node: Node,
        prefix: str,
        name: Callable[[], str],
        served: Callable[[], BodyServer],
        reset: Callable[[], str],
        load: Callable[[str], str],
    ) -> None:
        self._name, self._served = name, served
        self._tasks = RunningTasks(node)
        group = ReentrantCallbackGroup()
        node.create_service(
            Trigger,
            f"{prefix}/reset",
            lambda _, response: self._change("reset", reset, response),
            callback_group=group,
        )
        node.create_service(
            LoadScene,
            f"{prefix}/load_scene",
            lambda request, response: self._change(f"load {request.scene}", lambda: load(request.scene), response),
            callback_group=group,
        )

    def _change(self, what: str, change: Callable[[], str], response: Any) -> Any:
        if problem := self._tasks.problem():
            raise SceneError(f"{self._name()} stays: {problem}")
        try:
            with self._served().reserved(what) as busy:
                if busy:
                    raise SceneError(f"not now: busy with {busy}; cancel it first")
                response.message = change() or f"{what} done"
        finally:
            self._served().publish()
        response.success = True
        return response

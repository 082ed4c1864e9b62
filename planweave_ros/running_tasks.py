"""Check for running or queued tasks, for nodes whose services would change the world under them."""

from __future__ import annotations

from planweave_interfaces.msg import TaskStatus
from planweave_interfaces.srv import ListTasks
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.workflow.task_status import TaskState
from planweave_ros.calling import ask
from planweave_ros.liveliness import TASKS, Presence

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

"""A non-blocking action client: sends goals, reports results by callback, and cancels reliably."""

from __future__ import annotations

import threading
import uuid
from collections import deque
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node
from unique_identifier_msgs.msg import UUID

from planweave.core.workflow.action_end import ActionEnd, End
from planweave_ros.rclpy_compat import ThreadSafeActionClient

CANCEL = "/_action/cancel_goal"
"""After an action's name: the service that cancels its goals."""
_KEPT = 100  # ids of own goals
_ENDS = {GoalStatus.STATUS_SUCCEEDED: End.SUCCEEDED, GoalStatus.STATUS_CANCELED: End.CANCELED}


def cancel_service(node: Node, action: str) -> str:
    """The fully qualified service that cancels an action's goals, as an action client of the node calls it.

    Remapping rules name the action, or, as required before rcl 9.2.8 (Jazzy, 2025), each of its services.
    """
    return str(node.resolve_service_name(node.resolve_service_name(action) + CANCEL))


class CancelPort:
    """Cancels every goal of an action server, of any client, independent of the action's type.

    A request with neither goal id nor stamp means all goals (action_msgs/srv/CancelGoal).
    """

    def __init__(self, node: Node, name: str):
        self._name = node.resolve_service_name(name)
        self._client = node.create_client(
            CancelGoal,
            f"{self._name}{CANCEL}",
            callback_group=ReentrantCallbackGroup(),  # remapped there once more
        )

    def cancel(self) -> str:
        """Send the request; returns why it reached no server, else empty."""
        if not self._client.service_is_ready():
            return f"nobody offers {self._name}, so the stop was not delivered"
        self._client.call_async(CancelGoal.Request())
        return ""


class ActionPort:
    def __init__(self, node: Node, action_type: Any, name: str):
        self._name = node.resolve_service_name(name)
        self._client = ThreadSafeActionClient(node, action_type, name, callback_group=ReentrantCallbackGroup())
        self._canceler = CancelPort(node, name)
        self._lock = threading.Lock()
        self._sent = self._canceled = 0  # numbers of goals
        self._ids: deque[bytes] = deque(maxlen=_KEPT)
        self._running: dict[int, Any] = {}  # handles of goals that were accepted and have not ended

    @property
    def name(self) -> str:
        """The action's, fully qualified."""
        return self._name

    @property
    def there(self) -> bool:
        return bool(self._client.server_is_ready())

    def sent(self, goal_id: bytes) -> bool:
        """Return whether a goal with this id is one of the last of this client."""
        return goal_id in self._ids

    def send(self, goal: Any, done: Callable[[ActionEnd], None], feedback: Callable[[Any], None] | None = None) -> None:
        """Send a goal; `done` is called once, from a thread of the executor, or from this one without a server;
        `feedback` with each feedback message.
        """
        if not self.there:
            done(ActionEnd(End.ABSENT, self._name))
            return
        with self._lock:
            self._sent += 1
            number = self._sent
        goal_id = uuid.uuid4().bytes
        self._ids.append(goal_id)
        future = self._client.send_goal_async(
            goal,
            feedback_callback=(lambda message: feedback(message.feedback)) if feedback is not None else None,
            goal_uuid=UUID(uuid=list(goal_id)),
        )
        future.add_done_callback(lambda answered: self._answered(number, answered, done))

    def cancel(self) -> str:
        """Cancel all goals of any client, and those sent but not accepted yet as soon as they are."""
        with self._lock:
            self._canceled, running = self._sent, list(self._running.values())
        unreached = self._canceler.cancel()
        for handle in running:
            handle.cancel_goal_async()
        return unreached

    def _answered(self, number: int, future: Any, done: Callable[[ActionEnd], None]) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            done(ActionEnd(End.REJECTED, self._name))
            return
        with self._lock:
            too_late = number <= self._canceled
            self._running[number] = handle
        if too_late:
            handle.cancel_goal_async()
        handle.get_result_async().add_done_callback(lambda result: self._ended(number, result.result(), done))

    def _ended(self, number: int, answer: Any, done: Callable[[ActionEnd], None]) -> None:
        with self._lock:
            self._running.pop(number, None)
        end = _ENDS.get(answer.status, End.ABORTED) if answer is not None else End.ABORTED
        done(ActionEnd(end, self._name, answer.result if answer is not None else None))

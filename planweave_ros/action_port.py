"""A client of an action that never blocks: goals out, their end in by callable, and a cancel that always works."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rclpy.action import ActionClient
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.action_end import ActionEnd, End

_ENDS = {GoalStatus.STATUS_SUCCEEDED: End.SUCCEEDED, GoalStatus.STATUS_CANCELED: End.CANCELED}


class CancelPort:
    """Cancels every goal of an action server, whoever sent it; needs no type of the action.

    A request with neither goal id nor stamp means all goals (action_msgs/srv/CancelGoal).
    """

    def __init__(self, node: Node, name: str):
        self._client = node.create_client(
            CancelGoal, f"{name}/_action/cancel_goal", callback_group=ReentrantCallbackGroup()
        )

    def cancel(self) -> None:
        """Send the request; without a server there is nothing to cancel."""
        if self._client.service_is_ready():
            self._client.call_async(CancelGoal.Request())


class ActionPort:
    """See `executor_node.arms.base.GoalPort`. The node must be spun by others."""

    def __init__(self, node: Node, action_type: Any, name: str):
        self._name = name
        self._client = ActionClient(node, action_type, name, callback_group=ReentrantCallbackGroup())
        self._canceler = CancelPort(node, name)
        self._lock = threading.Lock()
        self._sent = self._canceled = 0  # numbers of goals

    def send(self, goal: Any, done: Callable[[ActionEnd], None]) -> None:
        """Send a goal; `done` is called once, from a thread of the executor, or from this one without a server."""
        if not self._client.server_is_ready():
            done(ActionEnd(End.ABSENT, self._name))
            return
        with self._lock:
            self._sent += 1
            number = self._sent
        self._client.send_goal_async(goal).add_done_callback(lambda future: self._answered(number, future, done))

    def cancel(self) -> None:
        """Cancel all that runs, and what has been sent but not yet accepted as soon as it is."""
        with self._lock:
            self._canceled = self._sent
        self._canceler.cancel()

    def _answered(self, number: int, future: Any, done: Callable[[ActionEnd], None]) -> None:
        handle = future.result()
        if handle is None or not handle.accepted:
            done(ActionEnd(End.REJECTED, self._name))
            return
        with self._lock:
            too_late = number <= self._canceled
        if too_late:
            handle.cancel_goal_async()
        handle.get_result_async().add_done_callback(lambda result: self._ended(result.result(), done))

    def _ended(self, answer: Any, done: Callable[[ActionEnd], None]) -> None:
        end = _ENDS.get(answer.status, End.ABORTED) if answer is not None else End.ABORTED
        done(ActionEnd(end, self._name, answer.result if answer is not None else None))

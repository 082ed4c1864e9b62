"""Long-running action goals, processed outside the executor.

rclpy's executors poll a coroutine callback that awaits, which takes a core and can be missed; a blocking one occupies
an executor thread. Here a goal is passed to the caller's own thread, which reports when execution begins (the goal is
ACCEPTED until then, EXECUTING from then on) and ends it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from action_msgs.msg import GoalStatus
from rclpy.action import CancelResponse, GoalResponse
from rclpy.action.server import ServerGoalHandle
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave_ros.qos import REQUESTS
from planweave_ros.rclpy_compat import LateActionServer, RCLError

RESULT_TIMEOUT = 60
"""Seconds for which the result of a goal that has ended is kept. Every status message lists all goals that are kept:
with rclpy's 900 s an action takes ever longer the more went before.
"""


class Goal:
    """One accepted goal. Call `begin`, then `finish`, each from any thread; `finish` once."""

    def __init__(self, handle: ServerGoalHandle, done: Callable[[Goal], None]):
        self._handle, self._done = handle, done
        self._lock, self._begun = threading.Lock(), False
        self.request = handle.request
        self.cancel_asked = threading.Event()
        self.on_cancel: Callable[[], None] = lambda: None
        self.result: Any = None
        self.success = self.canceled = False

    def publish(self, feedback: Any) -> None:
        if self._handle.is_active:
            self._handle.publish_feedback(feedback)

    def begin(self) -> None:
        """Execution begins: the status becomes EXECUTING, unless the goal is being cancelled. Idempotent."""
        with self._lock:
            if self._begun:
                return
            self._begun = True
            try:
                self._handle.execute()
            except RCLError:
                if self._handle.status == GoalStatus.STATUS_ACCEPTED:
                    raise  # else a cancellation came between rclpy's look at the state and its change

    def finish(self, result: Any, success: bool, canceled: bool = True) -> None:
        """End the goal: succeeded, canceled where that was requested and it did not succeed, else aborted. canceled:
        False where it ended otherwise, though that was requested.
        """
        self.begin()
        self.result, self.success, self.canceled = result, success, canceled and self.cancel_asked.is_set()
        self._done(self)


class DeferredActionServer:
    """An action server that calls start(goal) for every accepted goal; start returns at once. The worker calls
    goal.begin() when execution begins, and goal.finish() at its end.

    accept(request) may reject a goal. A cancellation calls goal.on_cancel once and is always accepted.
    """

    def __init__(
        self,
        node: Node,
        action_type: Any,
        name: str,
        start: Callable[[Goal], None],
        accept: Callable[[Any], bool] = lambda request: True,
    ):
        self._start = start
        self._goals: dict[bytes, Goal] = {}
        self._lock = threading.Lock()
        self._server = LateActionServer(
            node,
            action_type,
            name,
            self._conclude,
            goal_callback=lambda request: GoalResponse.ACCEPT if accept(request) else GoalResponse.REJECT,
            handle_accepted_callback=self._accepted,
            cancel_callback=self._cancel,
            callback_group=ReentrantCallbackGroup(),
            result_timeout=RESULT_TIMEOUT,
            goal_service_qos_profile=REQUESTS,
            result_service_qos_profile=REQUESTS,
            cancel_service_qos_profile=REQUESTS,
        )

    def destroy(self) -> None:
        self._server.destroy()

    def _goal(self, handle: ServerGoalHandle) -> Goal:
        """The goal of a handle: a cancellation may come before rclpy says that the goal is accepted, and comes once."""
        made = Goal(handle, lambda _: self._server.conclude(handle))  # the executor then calls _conclude
        with self._lock:
            return self._goals.setdefault(bytes(handle.goal_id.uuid), made)

    def _accepted(self, handle: ServerGoalHandle) -> None:
        self._start(self._goal(handle))

    def _cancel(self, handle: ServerGoalHandle) -> CancelResponse:
        goal = self._goal(handle)
        if not goal.cancel_asked.is_set():
            goal.cancel_asked.set()
            goal.on_cancel()
        return CancelResponse.ACCEPT

    def _conclude(self, handle: ServerGoalHandle) -> Any:
        with self._lock:
            goal = self._goals.pop(bytes(handle.goal_id.uuid))
        if goal.success:
            handle.succeed()
        elif goal.canceled and _becomes_cancelable(handle):
            handle.canceled()
        else:
            handle.abort()
        return goal.result


def _becomes_cancelable(handle: ServerGoalHandle, seconds: float = 1.0) -> bool:
    """Wait for the state after the cancel callback; the goal may be finished before it is set."""
    pause = threading.Event()
    for _ in range(int(seconds / 0.002)):
        if handle.is_cancel_requested:
            return True
        pause.wait(0.002)
    return False

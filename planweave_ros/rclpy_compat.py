"""All that leans on the inside of rclpy, and why; nothing else here does.

Held against rclpy 7.1 (Jazzy), 9.1 (Kilted) and the changelog up to 10.0.10 (Lyrical). Each piece says what ends it.
"""

from __future__ import annotations

import threading
import time
import warnings
from typing import Any

from rclpy.action import ActionClient, ActionServer
from rclpy.action.server import ServerGoalHandle
from rclpy.executors import Executor
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.node import Node
from rclpy.service import Service
from rclpy.task import Future

from planweave_ros.qos import REQUESTS

RCLError: type[Exception] = rclpy_implementation.RCLError
"""A call of rcl failed; also that a node is unknown (NodeNameNonExistentError). It has no public name; that of its
module is `_rclpy_pybind11` up to Lyrical, and is to change with https://github.com/ros2/rclpy/pull/1707.
"""
PATIENCE = 10.0  # s until an answer is given up; a client that has gone is known to the middleware and not waited for
PAUSE = 0.02  # s between two attempts, each of which waits 100 ms itself
_DROPPED = "failed to send response"  # how the warning of rclpy 7 to 9 begins
_filters = threading.Lock()  # catch_warnings is not thread safe


def destroy_actions(node: Node) -> None:
    """Destroy the action servers and clients of a node, which `Node.destroy_node` leaves in the graph until nothing
    refers to them any more.
    """
    for action in list(node.waitables):
        if isinstance(action, (ActionClient, ActionServer)):
            action.destroy()


def await_callbacks(executor: Executor, seconds: float) -> None:
    """Wait for the pending callbacks of a thread pool, once the executor no longer spins.

    The executor's `shutdown` does not, and destroys their futures: each then prints that an exception "was never
    retrieved".
    """
    end = time.monotonic() + seconds
    while not all(task.done() for task in getattr(executor, "_futures", ())) and time.monotonic() < end:
        time.sleep(0.001)


class LateActionServer(ActionServer):
    """rclpy's server, except that `ServerGoalHandle.execute` only sets EXECUTING, and `conclude` runs the callback: a
    goal may be carried out by any thread.
    """

    def notify_execute(self, goal_handle: ServerGoalHandle, execute_callback: Any) -> None:
        """Do nothing yet."""

    def conclude(self, goal_handle: ServerGoalHandle) -> None:
        """Let the executor run the callback, which ends the goal."""
        super().notify_execute(goal_handle, None)


class ThreadSafeActionClient(ActionClient):
    """rclpy's action client, except that no response is taken between the sending of a request and the registration of
    its future.

    rclpy drops a response that an executor's thread takes in between, and the future never completes
    (https://github.com/ros2/rclpy/issues/1123). rclpy 9.1 (Kilted) locks this, but registers the future of a goal a
    second time after it has let go of the lock, and never removes the first; to go once both are mended upstream.
    Responses to many requests at once are kept, too. A second server that accepts a goal, too, does not end the
    executor, as it would with rclpy.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self._sending = threading.RLock()
        self._lock = threading.Lock()  # rclpy 9.1 makes its own only after an executor may already use this client
        for service in ("goal", "result", "cancel"):
            kwargs.setdefault(f"{service}_service_qos_profile", REQUESTS)
        super().__init__(*args, **kwargs)

    def send_goal_async(self, *args: Any, **kwargs: Any) -> Future:
        with self._sending:
            before = set(self._futures)
            sent: Future = super().send_goal_async(*args, **kwargs)
            for unused in set(self._futures) - before - {sent}:
                self.remove_future(unused)
        return sent

    def _cancel_goal_async(self, *args: Any, **kwargs: Any) -> Future:
        with self._sending:
            return super()._cancel_goal_async(*args, **kwargs)

    def _get_result_async(self, *args: Any, **kwargs: Any) -> Future:
        with self._sending:
            return super()._get_result_async(*args, **kwargs)

    async def execute(self, taken_data: Any) -> None:
        """See rclpy; called by the executor."""
        try:
            await super().execute(taken_data)
        except RuntimeError as error:
            if "accepted with the same ID" not in str(error):
                raise
            self._logger.error(f"{self._action_name}: a second server accepted the goal, too; end one of them")

    def take_data(self) -> Any:
        """See rclpy; called by the executor."""
        with self._sending:
            return super().take_data()


def answer_surely(service: Service) -> None:
    """Resend each response of the service, in a thread, until its client is discovered or PATIENCE has passed.

    rmw_fastrtps waits 100 ms for the reader of a response to be matched and then drops the response; rclpy turns that
    into a Python warning and continues, so that the client waits forever
    (https://github.com/ros2/rclpy/issues/1136, open up to Lyrical).
    """
    send = service.send_response

    def sent(response: Any, header: Any) -> bool:
        with _filters, warnings.catch_warnings(record=True) as heard:
            warnings.filterwarnings("always", message=_DROPPED, category=RuntimeWarning)
            send(response, header)
        others = [each for each in heard if _DROPPED not in str(each.message)]
        for other in others:  # of another thread, in the meantime
            warnings.warn_explicit(other.message, other.category, other.filename, other.lineno)
        return len(others) == len(heard)

    def send_again(response: Any, header: Any) -> None:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            time.sleep(PAUSE)
            try:
                if sent(response, header):
                    return
            except Exception:  # the service was destroyed meanwhile: nobody answers any more
                return
        warnings.warn(f"an answer of {service.srv_name} reached nobody in {PATIENCE:g} s", RuntimeWarning, stacklevel=1)

    def send_response(response: Any, header: Any) -> None:
        if not sent(response, header):
            threading.Thread(target=send_again, args=(response, header), name="answer", daemon=True).start()

    service.send_response = send_response

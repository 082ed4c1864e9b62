"""An action client that may be created and used while other threads spin its node."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.action import ActionClient
from rclpy.task import Future

from planweave_ros.qos import REQUESTS


class ThreadSafeActionClient(ActionClient):
    """rclpy's action client, except that no response is taken between the sending of a request and the registration of
    its future.

    rclpy drops a response that an executor's thread takes in between, and the future never completes (ros2/rclpy#1123).
    rclpy 9.1 locks this, but registers the future of a goal a second time after it has let go of the lock, and never
    removes the first. Responses to many requests at once are kept, too. A second server that accepts a goal, too, does
    not end the executor, as it would with rclpy.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        self._sending = threading.RLock()
        self._lock = threading.Lock()  # rclpy 9.1 makes its own only after an executor may already use this client
        for service in ("goal", "result", "cancel"):
            kwargs.setdefault(f"{service}_service_qos_profile", REQUESTS)
        super().__init__(*args, **kwargs)

    def send_goal_async(self, *args: Any, **kwargs: Any) -> Future:
        """See rclpy."""
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

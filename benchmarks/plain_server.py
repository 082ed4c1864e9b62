"""An action server that does nothing: the yardstick for our own overhead. Run by bench_system as a process."""

from __future__ import annotations

from typing import Any

from planweave_interfaces.action import ExecuteAction
from rclpy.action import ActionServer
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave_ros.deferred import RESULT_TIMEOUT
from planweave_ros.spin import run_node


class PlainServer(Node):
    """Succeeds at once, with one feedback message."""

    def __init__(self) -> None:
        super().__init__("plain_server")
        ActionServer(
            self,
            ExecuteAction,
            "plain_action",
            self._execute,
            callback_group=ReentrantCallbackGroup(),
            result_timeout=RESULT_TIMEOUT,
        )

    def _execute(self, goal: Any) -> ExecuteAction.Result:
        goal.publish_feedback(ExecuteAction.Feedback())
        goal.succeed()
        return ExecuteAction.Result()


if __name__ == "__main__":
    raise SystemExit(run_node(PlainServer))

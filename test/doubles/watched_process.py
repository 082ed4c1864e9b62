"""A process as executor_node is on a real arm: sends one goal that never ends, and has a StopWatch.

`python -m doubles.watched_process ACTION [ROS arguments]`; prints "running" once the goal is accepted.
"""

import sys
import time

import rclpy
from planweave_interfaces.action import ExecuteAction

from planweave_ros.action_port import cancel_service
from planweave_ros.rclpy_compat import ThreadSafeActionClient
from planweave_ros.stop_watch import StopWatch


def main(action):
    """Send, watch, wait."""
    rclpy.init(args=sys.argv)
    node = rclpy.create_node("watched")
    watch = StopWatch([cancel_service(node, action)])
    client = ThreadSafeActionClient(node, ExecuteAction, action)
    assert client.wait_for_server(timeout_sec=60.0)
    time.sleep(1.0)  # nothing tells when the server has discovered this client, too
    sent = client.send_goal_async(ExecuteAction.Goal())
    rclpy.spin_until_future_complete(node, sent, timeout_sec=60.0)
    assert sent.result().accepted
    print("running", watch._process.pid, flush=True)
    while not watch.problem:
        time.sleep(0.05)
    print(watch.problem, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])

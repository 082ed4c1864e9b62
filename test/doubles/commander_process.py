"""A process that has a body do one action, as feedback_node does: python -m doubles.commander_process ACTION."""

import sys
import threading

import rclpy
from rclpy.executors import SingleThreadedExecutor

from planweave.core.base.cancellation import Cancellation
from planweave.core.symbolic.world import Action
from planweave_ros.body_client import RosBody

if __name__ == "__main__":
    rclpy.init()
    node = rclpy.create_node("commander")
    nobody = Cancellation()
    body = RosBody(node, lambda: nobody, timeout=60.0, world_timeout=120.0)
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    threading.Thread(target=executor.spin, daemon=True).start()
    body.await_ready()
    print(body.execute(Action.parse(sys.argv[1])).message, flush=True)

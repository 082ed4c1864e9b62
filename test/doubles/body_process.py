"""A body in a process of its own, to be killed; with the argument `hold` it never ends its first action."""

import contextlib
import sys

import rclpy
from rclpy.executors import ExternalShutdownException, MultiThreadedExecutor

from doubles.nodes import BodyNodeDouble
from doubles.scripted import SymbolicBody, tabletop

if __name__ == "__main__":
    rclpy.init()
    body = SymbolicBody(tabletop("a: item; tray: container; table: location", "at(a, table)"))
    if "hold" in sys.argv:
        body.hold.clear()
    executor = MultiThreadedExecutor(4)
    executor.add_node(BodyNodeDouble(body))
    with contextlib.suppress(ExternalShutdownException):
        executor.spin()

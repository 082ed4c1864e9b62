"""A node of a benchmark beside the system that it measures, and waiting for what the system brings about."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator

import rclpy
from rclpy.executors import SingleThreadedExecutor
from rclpy.node import Node

from planweave.core.base.errors import SystemDownError
from planweave_ros.spin import spun


@contextlib.contextmanager
def spun_node(name: str) -> Iterator[Node]:
    """A node of its own context, spun in a thread."""
    context = rclpy.Context()
    rclpy.init(args=[], context=context)
    node = rclpy.create_node(name, context=context)
    executor = SingleThreadedExecutor(context=context)
    executor.add_node(node)
    try:
        with spun(executor):
            yield node
    finally:
        node.destroy_node()
        context.try_shutdown()


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition; raises SystemDownError after some seconds of wall time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise SystemDownError(f"waited {seconds:g} s in vain for {what}")
        time.sleep(0.02)

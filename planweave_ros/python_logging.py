"""Python's logging in a node's log: messages of the library, which is free of ROS, also reach /rosout."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rclpy.node import Node

from planweave.launcher.parameter_files import NODES

OURS = ("planweave", "planweave_ros", *NODES)
"""Packages whose records count from INFO on; those of all others from WARNING on."""


class RosHandler(logging.Handler):
    """Writes records to a node's log as `logger name: message`, until the node's context has ended."""

    def __init__(self, node: Node):
        super().__init__()
        self._node = node
        self.addFilter(_counts)

    def emit(self, record: logging.LogRecord) -> None:
        """One record; rclpy wants one place in the source for each severity."""
        if not self._node.context.ok():
            return
        try:
            logger, text = self._node.get_logger(), f"{record.name}: {self.format(record)}"
            if record.levelno >= logging.ERROR:
                logger.error(text)
            elif record.levelno >= logging.WARNING:
                logger.warning(text)
            else:
                logger.info(text)
        except Exception:
            self.handleError(record)


def _counts(record: logging.LogRecord) -> bool:
    least = logging.INFO if record.name.partition(".")[0] in OURS else logging.WARNING
    return record.levelno >= least


@contextmanager
def logging_of(node: Node) -> Iterator[None]:
    """Within the block, Python's logging goes to this node's log."""
    root, handler = logging.getLogger(), RosHandler(node)
    ours = {name: logging.getLogger(name) for name in OURS}
    before = {name: logger.level for name, logger in ours.items()}
    root.addHandler(handler)
    for logger in ours.values():
        logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        root.removeHandler(handler)
        for name, logger in ours.items():
            logger.setLevel(before[name])

"""Diagnostics of a node on /diagnostics, once per second, for rqt_robot_monitor."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from planweave.core.base.health import Level, Report

PERIOD = 1.0
"""Seconds of wall time between two messages."""


Check: TypeAlias = Callable[[], Report]


def publish_diagnostics(node: Node, checks: Mapping[str, Check], hardware: str = "") -> None:
    """Publish the reports of checks, each under `node name: its name`, from now on.

    A check that fails is reported as an ERROR of its part. Where diagnostic_msgs is missing, the log says so.
    """
    try:
        from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
    except ImportError:
        node.get_logger().warning(
            "diagnostic_msgs is not installed, so there is no /diagnostics: make setup installs "
            "it; with ROS 2 from packages it is ros-$ROS_DISTRO-diagnostic-msgs"
        )
        return
    publisher = node.create_publisher(DiagnosticArray, "/diagnostics", 10)

    def status(name: str, check: Check) -> Any:
        try:
            report = check()
        except Exception as error:
            report = Report(Level.ERROR, f"cannot be checked: {type(error).__name__}: {error}")
        return DiagnosticStatus(
            level=bytes([report.level]),
            name=f"{node.get_fully_qualified_name()[1:]}: {name}",
            message=report.message,
            hardware_id=hardware or node.get_namespace().strip("/") or "planweave",
            values=[KeyValue(key=key, value=_shown(value)) for key, value in report.values.items()],
        )

    def publish() -> None:
        array = DiagnosticArray(status=[status(name, check) for name, check in checks.items()])
        array.header.stamp = node.get_clock().now().to_msg()
        publisher.publish(array)

    node.create_timer(PERIOD, publish, callback_group=MutuallyExclusiveCallbackGroup())


def _shown(value: object) -> str:
    if isinstance(value, float):
        return "never" if math.isinf(value) else f"{value:.3f}"
    return str(value)

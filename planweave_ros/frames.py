"""Frames of a robot, as published by its driver: /robot_description, /tf_static and /tf."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Quaternion, Transform, TransformStamped, Vector3
from rclpy.node import Node
from rclpy.qos import QoSProfile
from std_msgs.msg import Header, String

from planweave_ros.qos import TRANSIENT_LOCAL

Frame: TypeAlias = tuple[str, str, tuple[float, float, float], tuple[float, float, float, float]]
"""Parent, child, and the child's position (m) and quaternion (x, y, z, w) in the parent."""


class FramePublisher:
    """Publishes the description and the fixed frames once, transient local, and moving frames while someone listens.

    Where tf2_msgs is missing, the log says so once, and only the description is published.
    """

    def __init__(self, node: Node, description: str, fixed: Iterable[Frame]):
        self._description = node.create_publisher(String, "robot_description", TRANSIENT_LOCAL)
        self._description.publish(String(data=description))
        self._moving: Any = None
        self._message = _tf_message()
        if self._message is None:
            node.get_logger().warning(
                "tf2_msgs is not installed, so there is no /tf: make setup builds it, with ROS 2 "
                "from packages it is ros-$ROS_DISTRO-tf2-msgs"
            )
            return
        self._moving = node.create_publisher(self._message, "tf", QoSProfile(depth=100))
        self._fixed = node.create_publisher(self._message, "tf_static", TRANSIENT_LOCAL)
        self._fixed.publish(self._message(transforms=[_transform(f, Time()) for f in fixed]))

    @property
    def wanted(self) -> bool:
        """Return whether moving frames have a subscriber."""
        return self._moving is not None and self._moving.get_subscription_count() > 0

    def publish(self, frames: Iterable[Frame], stamp: Time, publish: Callable[[Any, Any], None]) -> None:
        """Moving frames at a time, by publish(publisher, message)."""
        publish(self._moving, self._message(transforms=[_transform(f, stamp) for f in frames]))


class FixedFrame:
    """One fixed frame on /tf_static, transient local; says nothing where tf2_msgs is missing."""

    def __init__(self, node: Node) -> None:
        self._message = _tf_message()
        self._publisher = node.create_publisher(self._message, "tf_static", TRANSIENT_LOCAL) if self._message else None

    def publish(self, frame: Frame) -> None:
        if self._publisher is not None:
            self._publisher.publish(self._message(transforms=[_transform(frame, Time())]))


def _tf_message() -> Any:
    """The type of messages on /tf; None where tf2_msgs is not installed."""
    try:
        from tf2_msgs.msg import TFMessage
    except ImportError:
        return None
    return TFMessage


def _transform(frame: Frame, stamp: Time) -> TransformStamped:
    parent, child, (x, y, z), (qx, qy, qz, qw) = frame
    return TransformStamped(
        header=Header(stamp=stamp, frame_id=parent),
        child_frame_id=child,
        transform=Transform(translation=Vector3(x=x, y=y, z=z), rotation=Quaternion(x=qx, y=qy, z=qz, w=qw)),
    )

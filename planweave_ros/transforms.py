"""Poses from tf2, where it is installed (there is no tf2 on PyPI)."""

from __future__ import annotations

from typing import TypeAlias

from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.time import Time

from planweave.core.base.errors import ConfigError, PlanweaveError

Position: TypeAlias = tuple[float, float, float]
Quaternion: TypeAlias = tuple[float, float, float, float]


class TransformError(PlanweaveError):
    """tf2 has no such transform; the message names the frames and tf2's reason."""

    code = "transform"


class Transforms:
    """Pose of one frame in another, from tf2."""

    def __init__(self, node: Node, parent: str, child: str):
        """Raise ConfigError where tf2 is not installed."""
        try:
            import tf2_ros
        except ImportError:
            raise ConfigError(
                f"{node.get_name()}: the pose of {child} was to come from tf2, which is not installed: apt-get install "
                "ros-$ROS_DISTRO-tf2-ros-py, or give a camera file (docs/perception.md)"
            ) from None
        self._parent, self._child = parent, child
        self._error = tf2_ros.TransformException
        self._buffer = tf2_ros.Buffer()
        self._listener = tf2_ros.TransformListener(self._buffer, node)

    def pose(self, nanoseconds: int, patience: float) -> tuple[Position, Quaternion]:
        """Position (metres) and quaternion (x, y, z, w) at a stamp, waited for up to `patience` seconds.

        Must not be called from a callback. Raises TransformError.
        """
        try:
            found = self._buffer.lookup_transform(
                self._parent, self._child, Time(nanoseconds=nanoseconds), Duration(seconds=patience)
            ).transform
        except self._error as error:
            raise TransformError(
                f"tf2 has no transform from {self._child} to {self._parent} at the image's time: {error}; is the "
                "calibration published (static_transform_publisher or easy_handeye2's publish.launch.py)?"
            ) from None
        t, q = found.translation, found.rotation
        return (t.x, t.y, t.z), (q.x, q.y, q.z, q.w)

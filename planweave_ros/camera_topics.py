"""Images of a camera from ROS topics, for a node or for a command that looks once."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState, TimeReference

from planweave.core.base.errors import ConfigError
from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.cameras.ros_topics import (
    COLOUR,
    DEPTH,
    INFO,
    Message,
    RosTopicsCamera,
    compressed_instead,
    is_compressed,
)
from planweave.perception.decoding import FrameError
from planweave.perception.joint_history import JointHistory
from planweave.perception.robot_filter import RobotState
from planweave.robots import RobotDescription
from planweave_ros import conversions as convert
from planweave_ros.spin import executor_of, own_node

_PATIENCE = 10.0  # s without a pair of images
_GLANCE = 0.1  # s


def topic_prefixes(names: Sequence[str]) -> list[str]:
    """Beginnings of the topics of cameras by their names or files: the first one's is `camera`, another's its name.

    Raises ConfigError where two are the same, or one cannot be a topic's name.
    """
    found = ["camera", *(Path(name).stem for name in names[1:])]
    wrong = [name for name in found if found.count(name) > 1 or not name.isidentifier()]
    if wrong:
        raise ConfigError(
            f"parameter cameras: {wrong[0]!r} cannot be the beginning of a camera's topics, unique and of letters, "
            "digits and _; rename the camera's file"
        )
    return found


def camera_topics(prefix: str) -> dict[str, str]:
    depth = f"{prefix}/aligned_depth_to_color/image_raw"
    return {COLOUR: f"{prefix}/color/image_raw", DEPTH: depth, INFO: f"{prefix}/color/camera_info"}


def subscribe(
    node: Node,
    camera: RosTopicsCamera,
    topics: dict[str, str],
    images: QoSProfile,
    arrived: Callable[[], None],
    prefix: str = "camera",
) -> None:
    """Feed a camera from a node's subscriptions. topics: names by COLOUR, DEPTH and INFO; arrived: called
    when a frame can be taken; prefix: of the notices of a simulated one.
    """

    def add(what: str, msg: Message) -> None:
        if camera.add(what, convert.time_from_msg(msg.header.stamp).nanoseconds, msg, time.monotonic()):
            arrived()

    def still(msg: TimeReference) -> None:
        stamp, since = (convert.time_from_msg(at).nanoseconds for at in (msg.header.stamp, msg.time_ref))
        if camera.add_still(stamp, since, time.monotonic()):
            arrived()

    for what in (COLOUR, DEPTH):
        kind = CompressedImage if is_compressed(topics[what]) else Image
        node.create_subscription(kind, topics[what], partial(add, what), images)
    node.create_subscription(CameraInfo, topics[INFO], partial(add, INFO), images)
    node.create_subscription(TimeReference, f"{prefix}/still", still, images)


class CameraObserver:
    """A node of its own for a command that looks at a camera, and at a robot, once. Use as a context manager."""

    def __init__(self, name: str) -> None:
        self._ends = contextlib.ExitStack()
        self._node = self._ends.enter_context(own_node(name))
        self._executor = executor_of(self._node)
        self._ends.callback(self._executor.shutdown)

    def __enter__(self) -> CameraObserver:
        return self

    def __exit__(self, *_: object) -> None:
        self._ends.close()

    def frames(self, topics: dict[str, str], ended: threading.Event) -> Iterator[Frame | FrameError]:
        """Frames of a camera on topics (names by COLOUR, DEPTH and INFO); raises CameraError where none comes."""
        names = {what: self._node.resolve_topic_name(topic) for what, topic in topics.items()}
        camera = RosTopicsCamera(names, _PATIENCE, time.monotonic())
        subscribe(self._node, camera, names, QoSProfile(depth=2), lambda: None)
        heard = time.monotonic()
        while not ended.is_set():
            self._executor.spin_once(timeout_sec=_GLANCE)
            try:
                frame = camera.take()
            except FrameError as error:
                yield error
                continue
            if frame is not None:
                heard = time.monotonic()
                yield frame
            elif time.monotonic() - heard > _PATIENCE:
                raise CameraError(
                    f"{camera.complaint(time.monotonic()) or 'no images'}"
                    f"{compressed_instead(names, self._node.count_publishers)}"
                )

    def robot(self, description: RobotDescription, seconds: float) -> RobotState | None:
        """The robot as its joint states say, or None where none came in this time."""
        joints = JointHistory(robot=description)

        def add(msg: JointState) -> None:
            joints.add(convert.time_from_msg(msg.header.stamp), dict(zip(msg.name, msg.position)))

        subscription = self._node.create_subscription(JointState, "joint_states", add, 10)
        deadline = time.monotonic() + seconds
        try:
            while not len(joints) and time.monotonic() < deadline:
                self._executor.spin_once(timeout_sec=_GLANCE)
            return joints.at(joints.newest, 0.0) if len(joints) else None
        finally:
            self._node.destroy_subscription(subscription)

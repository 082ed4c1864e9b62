"""Images and shapes as messages, for cameras and viewers."""

from __future__ import annotations

import threading
import time
from array import array
from typing import TYPE_CHECKING, Any

import numpy as np
from geometry_msgs.msg import Vector3
from numpy.typing import NDArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, CompressedImage, Image
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from planweave.geometry.upright_shape import quaternion_of
from planweave.perception.cameras.ros_topics import colour_of, is_compressed
from planweave.perception.decoding import FrameError, decode_colour
from planweave_ros.conversions import pose_to_msg

if TYPE_CHECKING:
    from planweave.perception.geometry import Intrinsics
    from planweave.perception.markers import MarkerShape

_MARKERS = {"box": Marker.CUBE, "cylinder": Marker.CYLINDER, "text": Marker.TEXT_VIEW_FACING}


def image_to_msg(pixels: np.ndarray, encoding: str, header: Header) -> Image:
    """An image (h, w) or (h, w, channels) of the machine's byte order, in an encoding of sensor_msgs."""
    pixels = np.ascontiguousarray(pixels)
    return Image(
        header=header,
        height=pixels.shape[0],
        width=pixels.shape[1],
        encoding=encoding,
        step=pixels.strides[0],
        data=array("B", pixels.tobytes()),
    )


def rgb_from_msg(message: Image) -> np.ndarray:
    """A colour image as RGB (height, width, 3) uint8; raises FrameError where its encoding or size is none."""
    return decode_colour(message.data, message.height, message.width, message.encoding, message.step)


def camera_info_to_msg(camera: Intrinsics, header: Header) -> CameraInfo:
    """A pinhole camera without distortion."""
    fx, fy, cx, cy = map(float, (camera.fx, camera.fy, camera.cx, camera.cy))
    return CameraInfo(
        header=header,
        width=camera.width,
        height=camera.height,
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def marker_to_msg(shape: MarkerShape, frame: str) -> Marker:
    """A shape as a marker; its stamp is 0, which viewers take as "with the newest transforms"."""
    return Marker(
        header=Header(frame_id=frame),
        ns="labels" if shape.kind == "text" else "objects",
        id=shape.id,
        type=_MARKERS[shape.kind],
        action=Marker.ADD,
        pose=pose_to_msg(shape.position, quaternion_of(shape.yaw)),
        scale=Vector3(**dict(zip("xyz", map(float, shape.size)))),
        color=ColorRGBA(**dict(zip("rgba", map(float, shape.colour)))),
        text=shape.text,
    )


_FIRST = 3.0  # s of wall time for the first picture of a topic
_IDLE = 2.0  # s of wall time after which nobody wants a topic's pictures any more: they cost time
_FRESH = 0.5  # s of wall time for which a picture counts as what is there now


class Pictures:
    """Subscribes to a topic while it is asked for. Called with a topic, gives RGB (height, width, 3)."""

    def __init__(self, node: Node) -> None:
        self._node, self._came = node, threading.Condition()
        self._newest: dict[str, tuple[float, Any]] = {}  # when it came, on the monotonic clock, and the message
        self._wanted: dict[str, tuple[float, Any]] = {}  # when it was asked for last, and the subscription

    def __call__(self, topic: str) -> NDArray[np.uint8] | None:
        """The newest picture; waits for one that is new, and gives None where none comes or it cannot be read."""
        with self._came:
            if topic not in self._wanted:
                self._newest[topic] = 0.0, None
                subscription = self._node.create_subscription(
                    CompressedImage if is_compressed(topic) else Image,
                    topic,
                    lambda message: self._keep(topic, message),
                    qos_profile_sensor_data,
                    callback_group=MutuallyExclusiveCallbackGroup(),
                )
                self._wanted[topic] = 0.0, subscription
            self._wanted[topic] = time.monotonic(), self._wanted[topic][1]
            self._came.wait_for(lambda: time.monotonic() - self._newest[topic][0] < _FRESH, _FIRST)
            at, message = self._newest[topic]
        if time.monotonic() - at >= _FRESH:
            return None
        try:
            return colour_of(message)
        except FrameError as error:
            self._node.get_logger().warning(f"{topic}: {error}", throttle_duration_sec=10.0)
            return None

    def _keep(self, topic: str, message: Any) -> None:
        with self._came:
            if topic not in self._wanted:
                return
            asked, subscription = self._wanted[topic]
            if time.monotonic() - asked > _IDLE + _FIRST:
                del self._wanted[topic]
                self._node.destroy_subscription(subscription)
                return
            self._newest[topic] = time.monotonic(), message
            self._came.notify_all()

"""The topics of one simulated camera, as a driver of a real one has them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from builtin_interfaces.msg import Time
from rclpy.node import Node
from sensor_msgs.msg import CameraInfo, Image, TimeReference
from std_msgs.msg import Header

from planweave.perception.geometry import Intrinsics
from planweave.robots.camera_file import CameraConfig
from planweave.simulation.camera import RgbdFrame
from planweave_ros.conversions import time_to_msg
from planweave_ros.pictures import camera_info_to_msg, image_to_msg
from planweave_ros.qos import IMAGES

_IMAGE_ANYWAY = 0.5, 5.0  # s of wall time after which the image of a scene at rest is published again, as a busy
# machine may have lost a part of it: at first, twice as long each time, and at most


class CameraTopics:
    """Publishers of colour, depth and camera info below a prefix, and of notices that an image is as it was."""

    def __init__(self, node: Node, prefix: str, camera: CameraConfig, publish: Callable[[Any, Any], None]) -> None:
        """publish: has a publisher send a message, from any thread."""
        self._publish, self._frame_id = publish, camera.frame_id
        # Reliable: who subscribes as reliable loses no image; best-effort subscribers are served as well.
        self._colour = node.create_publisher(Image, f"{prefix}/color/image_raw", IMAGES)
        self._depth = node.create_publisher(Image, f"{prefix}/aligned_depth_to_color/image_raw", IMAGES)
        self._infos = [
            node.create_publisher(CameraInfo, f"{prefix}/{stream}/camera_info", IMAGES)
            for stream in ("color", "aligned_depth_to_color")  # the same: depth is aligned to colour
        ]
        # Small, where an image of more than a megabyte would say no more and may get lost on a busy machine.
        self._still = node.create_publisher(TimeReference, f"{prefix}/still", IMAGES)
        intrinsics = Intrinsics.of_view(camera.fovy, camera.width, camera.height)
        self._info = camera_info_to_msg(intrinsics, Header(frame_id=camera.frame_id))
        self._sent: np.ndarray | None = None  # the last image that was published, with its stamp and its wall time
        self._sent_stamp, self._sent_at, self._again = Time(), 0.0, _IMAGE_ANYWAY[0]
        self._listeners = 0, 0

    @property
    def watched(self) -> bool:
        """Whether someone subscribes to images."""
        return any(self._count())

    def _count(self) -> tuple[int, int]:
        return self._colour.get_subscription_count(), self._depth.get_subscription_count()

    def publish(self, frame: RgbdFrame) -> bool:
        """Publish an image, or that it is as before; whether the image itself was published."""
        stamp, now, listeners = time_to_msg(frame.time), time.monotonic(), self._count()
        header = Header(stamp=stamp, frame_id=self._frame_id)
        if frame.rgb is self._sent:
            self._publish(self._still, TimeReference(header=header, time_ref=self._sent_stamp))
            if listeners == self._listeners and now - self._sent_at < self._again:
                return False
            self._again = min(2 * self._again, _IMAGE_ANYWAY[1])
        else:
            self._again = _IMAGE_ANYWAY[0]
        self._sent, self._sent_stamp, self._sent_at, self._listeners = frame.rgb, stamp, now, listeners
        self._info.header.stamp = stamp
        colour, depth = image_to_msg(frame.rgb, "rgb8", header), image_to_msg(frame.depth, "32FC1", header)
        for publisher in self._infos:
            self._publish(publisher, self._info)
        self._publish(self._depth, depth)
        self._publish(self._colour, colour)
        return True

"""Images and shapes as messages, for cameras and viewers."""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING

import numpy as np
from geometry_msgs.msg import Vector3
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from planweave.geometry.upright_shape import quaternion_of
from planweave.perception.decoding import decode_colour
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
        ns=shape.namespace,
        id=shape.id,
        type=_MARKERS[shape.kind],
        action=Marker.ADD,
        pose=pose_to_msg(shape.position, quaternion_of(shape.yaw)),
        scale=Vector3(**dict(zip("xyz", map(float, shape.size)))),
        color=ColorRGBA(**dict(zip("rgba", map(float, shape.colour)))),
        text=shape.text,
    )

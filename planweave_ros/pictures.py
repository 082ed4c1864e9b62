"""Images and shapes as messages, for cameras and viewers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Sequence

import numpy as np
from builtin_interfaces.msg import Time
from geometry_msgs.msg import Vector3
from sensor_msgs.msg import CameraInfo, Image
from std_msgs.msg import ColorRGBA, Header
from visualization_msgs.msg import Marker

from planweave.core.base.errors import PlanweaveError
from planweave.perception.decoding import FrameError, decode_colour
from planweave_ros.conversions import pose_to_msg

_MARKERS = {"box": Marker.CUBE, "cylinder": Marker.CYLINDER, "text": Marker.TEXT_VIEW_FACING}


def stamp_to_msg(nanoseconds: int) -> Time:
    """Whole nanoseconds as a ROS time, exactly."""
    return Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


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
    """A colour image as RGB (height, width, 3) uint8; raises PlanweaveError where its encoding or size is none."""
    try:
        return decode_colour(message.data, message.height, message.width, message.encoding, message.step)
    except FrameError as error:
        raise PlanweaveError(str(error)) from None


def camera_info_to_msg(
    focal: Sequence[float], centre: Sequence[float], size: Sequence[int], header: Header
) -> CameraInfo:
    """A pinhole camera without distortion: focal lengths, principal point and (width, height), all in pixels."""
    fx, fy, cx, cy = map(float, (*focal, *centre))
    return CameraInfo(
        header=header,
        width=int(size[0]),
        height=int(size[1]),
        distortion_model="plumb_bob",
        d=[0.0] * 5,
        k=[fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0],
        r=[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0],
        p=[fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0],
    )


def marker_to_msg(
    kind: str,
    id: int,
    position: tuple[float, float, float],
    yaw: float,
    size: tuple[float, float, float],
    colour: tuple[float, float, float, float],
    text: str,
    frame: str,
) -> Marker:
    """A "box", "cylinder" or "text" at a place: metres, rad about z, red, green, blue and alpha from 0 to 1.

    Its stamp is 0, which viewers take as "with the newest transforms".
    """
    return Marker(
        header=Header(frame_id=frame),
        ns="labels" if kind == "text" else "objects",
        id=id,
        type=_MARKERS[kind],
        action=Marker.ADD,
        pose=pose_to_msg(position, (0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2))),
        scale=Vector3(x=float(size[0]), y=float(size[1]), z=float(size[2])),
        color=ColorRGBA(**dict(zip("rgba", map(float, colour)))),
        text=text,
    )

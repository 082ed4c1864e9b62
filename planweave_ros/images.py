"""Pictures and calibrations as messages."""

from __future__ import annotations

import array
from typing import Any

import numpy as np
from sensor_msgs.msg import CameraInfo, Image


def image_message(pixels: np.ndarray, encoding: str, stamp: Any, frame_id: str) -> Image:
    """An image of the given encoding, which must fit the array (height, width[, channels])."""
    height, width = pixels.shape[:2]
    message = Image(height=height, width=width, encoding=encoding, is_bigendian=0, step=pixels.nbytes // height)
    message.header.stamp, message.header.frame_id = stamp, frame_id
    message.data = array.array("B", np.ascontiguousarray(pixels).tobytes())
    return message


def camera_info(width: int, height: int, intrinsics: tuple[float, float, float, float], frame_id: str) -> CameraInfo:
    """The calibration of a camera without distortion; intrinsics: fx, fy, cx, cy in pixels."""
    fx, fy, cx, cy = intrinsics
    message = CameraInfo(width=width, height=height, distortion_model="plumb_bob", d=[0.0] * 5)
    message.header.frame_id = frame_id
    message.k = [fx, 0.0, cx, 0.0, fy, cy, 0.0, 0.0, 1.0]
    message.r = [1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]
    message.p = [fx, 0.0, cx, 0.0, 0.0, fy, cy, 0.0, 0.0, 0.0, 1.0, 0.0]
    return message

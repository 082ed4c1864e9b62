"""Depth images to heights and points in the robot's base frame, vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.geometry import Intrinsics, Pose

DEPTH_ENCODINGS = ("32FC1", "16UC1", "mono16")
COLOUR_ENCODINGS = ("rgb8", "bgr8", "rgba8", "bgra8", "mono8")
_BYTES = {"32FC1": 4, "16UC1": 2, "mono16": 2, "rgb8": 3, "bgr8": 3, "rgba8": 4, "bgra8": 4, "mono8": 1}


class FrameError(ValueError):
    """A frame that cannot be used; the message says what is wrong with it and what to do."""


def _rows(data: bytes | memoryview | np.ndarray, height: int, width: int, step: int, encoding: str) -> np.ndarray:
    """The image's bytes (height, width * bytes per pixel), row padding removed; raises FrameError."""
    row = width * _BYTES[encoding]
    step = step or row
    if height < 1 or width < 1 or step < row or len(data) < step * (height - 1) + row:
        raise FrameError(
            f"the {encoding} image says {width} x {height}, {step} bytes a row, but holds {len(data)} bytes"
        )
    raw = np.frombuffer(data, dtype=np.uint8, count=step * (height - 1) + row)
    return np.lib.stride_tricks.as_strided(raw, (height, row), (step, 1), writeable=False)


def decode_depth(
    data: bytes | memoryview | np.ndarray,
    height: int,
    width: int,
    encoding: str,
    step: int = 0,
    bigendian: bool = False,
) -> np.ndarray:
    """Depth in metres, (height, width) float32, 0 where it is missing. 32FC1 is metres, 16UC1 millimetres."""
    if encoding not in DEPTH_ENCODINGS:
        raise FrameError(f"depth encoding {encoding!r} is not known; use one of {', '.join(DEPTH_ENCODINGS)}")
    rows = np.ascontiguousarray(_rows(data, height, width, step, encoding))
    order = ">" if bigendian else "<"
    if encoding == "32FC1":
        metres = rows.view(np.dtype(f"{order}f4")).astype(np.float32)
    else:
        metres = rows.view(np.dtype(f"{order}u2")).astype(np.float32) * np.float32(0.001)
    return clean_depth(metres)


def clean_depth(metres: np.ndarray) -> np.ndarray:
    """Depth with NaN, infinity, negative and far (> 20 m) values set to 0, float32."""
    with np.errstate(invalid="ignore"):
        good = (metres > 0) & (metres < 20.0)
    return np.where(good, metres, 0.0).astype(np.float32)


def decode_colour(
    data: bytes | memoryview | np.ndarray, height: int, width: int, encoding: str, step: int = 0
) -> np.ndarray:
    """Colour image as RGB (height, width, 3) uint8."""
    if encoding not in COLOUR_ENCODINGS:
        raise FrameError(f"colour encoding {encoding!r} is not known; use one of {', '.join(COLOUR_ENCODINGS)}")
    rows = np.ascontiguousarray(_rows(data, height, width, step, encoding))
    image = rows.reshape(height, width, _BYTES[encoding])
    if encoding == "mono8":
        return np.repeat(image, 3, axis=2)
    if encoding.startswith("bgr"):
        return np.ascontiguousarray(image[:, :, 2::-1])
    return np.ascontiguousarray(image[:, :, :3])


@dataclass
class Cloud:
    """An organised point cloud: coordinates in the base frame, each (height, width) float32, metres.

    Values count only where `valid`. pixel is the side of one pixel on the table, metres.
    """

    x: np.ndarray
    y: np.ndarray
    z: np.ndarray
    valid: np.ndarray
    pixel: float


class Projector:
    """Back-projection of depth for one camera pose; the rays are computed once."""

    def __init__(self, intrinsics: Intrinsics, camera_to_base: Pose):
        self.intrinsics, self.camera_to_base = intrinsics, camera_to_base
        u, v = np.meshgrid(np.arange(intrinsics.width), np.arange(intrinsics.height))
        ray = np.stack(
            ((u - intrinsics.cx) / intrinsics.fx, (v - intrinsics.cy) / intrinsics.fy, np.ones_like(u)), axis=-1
        )
        base = ray @ camera_to_base.rotation.T
        self._rays = [np.ascontiguousarray(base[..., i], dtype=np.float32) for i in range(3)]
        self._base_to_camera = camera_to_base.inverse()

    def cloud(self, depth: np.ndarray) -> Cloud:
        """Points of a depth image (height, width) in metres.

        A 5 x 5 median filter first removes noise, small holes and mixed pixels at edges.
        """
        smooth = cv2.medianBlur(depth, 5)
        valid = smooth > 0
        x, y, z = (ray * smooth + np.float32(t) for ray, t in zip(self._rays, self.camera_to_base.translation))
        distance = max(float(self.camera_to_base.translation[2]), 0.1)
        return Cloud(x, y, z, valid, distance / self.intrinsics.fx)

    def pixels(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Image columns and rows (float) of base-frame points (N, 3), NaN behind the camera."""
        p = self._base_to_camera.apply(np.asarray(points, dtype=np.float64))
        depth = np.where(p[:, 2] > 1e-3, p[:, 2], np.nan)
        return (
            p[:, 0] / depth * self.intrinsics.fx + self.intrinsics.cx,
            p[:, 1] / depth * self.intrinsics.fy + self.intrinsics.cy,
        )

"""Depth images to heights and points in the robot's base frame, vectorised."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.geometry import Intrinsics, Pose


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

    def within(self, table: tuple[float, float, float, float]) -> np.ndarray:
        """(h, w) bool: valid points between x_min, x_max, y_min, y_max."""
        x_min, x_max, y_min, y_max = table
        return self.valid & (self.x > x_min) & (self.x < x_max) & (self.y > y_min) & (self.y < y_max)


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

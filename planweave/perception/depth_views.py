"""RGB-D pictures of calibrated cameras in one frame: points, normals, level surfaces and the cuts between surfaces."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from planweave.perception.geometry import Intrinsics, Pose

STEP = 0.012  # m of depth between neighbouring pixels that parts two surfaces
_LEVEL = 0.96  # z of the normal of a level surface: within 16 degrees
_REACH = 2  # pixels over which a slope is measured
_ARM = 3  # pixels from the middle of a crease to either side of it
_CREASE = 0.42  # sine of the angle between the two sides of a concave crease
_OTHER_SHADE, _OTHER_HUE = 1.7, 0.05  # ratio of brightness, and difference of chromaticity, of two materials


@dataclass(frozen=True, eq=False)
class DepthView:
    """A picture of one camera.

    rgb: (h, w, 3) uint8; depth: (h, w) metres along the optical axis, 0 where unknown; camera_to_frame: pose of the
    camera (x right, y down, z along the view) in the frame of all results; hidden: (h, w) bool, pixels that show the
    robot, or None.
    """

    name: str
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics
    camera_to_frame: Pose
    hidden: np.ndarray | None = None

    @cached_property
    def valid(self) -> np.ndarray:
        """(h, w) bool: pixels with a point that is not the robot's."""
        known = self.smooth > 0
        return known if self.hidden is None else known & ~self.hidden

    @cached_property
    def smooth(self) -> np.ndarray:
        """Depth without isolated pixels and small holes, metres."""
        return cv2.medianBlur(np.ascontiguousarray(self.depth, dtype=np.float32), 3)

    @cached_property
    def points(self) -> np.ndarray:
        """(h, w, 3) float32, metres in the frame."""
        i = self.intrinsics
        u, v = np.meshgrid(np.arange(i.width), np.arange(i.height))
        rays = np.stack(((u - i.cx) / i.fx, (v - i.cy) / i.fy, np.ones(u.shape)), axis=-1)
        turned = rays @ self.camera_to_frame.rotation.T
        return (turned * self.smooth[..., None] + self.camera_to_frame.translation).astype(np.float32)

    @cached_property
    def normals(self) -> np.ndarray:
        """(h, w, 3) float32 unit normals towards the camera; of the nearer side at a step of depth."""
        down, right = (self._slope(axis) for axis in (0, 1))
        normals = np.cross(down, right)
        normals /= np.maximum(np.linalg.norm(normals, axis=-1, keepdims=True), 1e-12)
        return normals.astype(np.float32)

    def _slope(self, axis: int) -> np.ndarray:
        """Differences of points along rows (0) or columns (1), to the side where depth changes less."""
        p, depth = self.points, self.smooth
        after, before = np.roll(p, -_REACH, axis) - p, p - np.roll(p, _REACH, axis)
        far, near = (np.abs(np.roll(depth, k, axis) - depth) for k in (-_REACH, _REACH))
        edge: list[slice | int] = [slice(None), slice(None)]
        edge[axis] = slice(-_REACH, None)
        far[tuple(edge)] = np.inf
        edge[axis] = slice(0, _REACH)
        near[tuple(edge)] = np.inf
        both = np.maximum(far, near) < STEP
        return np.where(both[..., None], after + before, np.where((far < near)[..., None], after, before))

    @cached_property
    def steps(self) -> np.ndarray:
        """(h, w) bool: pixels on the far side of a jump of depth."""
        near = cv2.erode(np.where(self.smooth > 0, self.smooth, np.float32(np.inf)), np.ones((3, 3), np.uint8))
        tilt = np.abs((self.normals * self.rays).sum(axis=-1))
        slope = self.smooth / self.intrinsics.fx / np.maximum(tilt, 0.15)
        return self.smooth - near > np.maximum(STEP, 2.0 * slope)

    @cached_property
    def level(self) -> np.ndarray:
        """(h, w) bool: pixels of level surfaces."""
        return self.valid & (self.normals[..., 2] > _LEVEL)

    @cached_property
    def creases(self) -> np.ndarray:
        """(h, w) bool: concave creases between surfaces of different colour, where two things touch."""
        found = np.zeros(self.depth.shape, bool)
        colours = cv2.blur(self.rgb, (5, 5)).astype(np.float32)
        for dv, du in ((0, 1), (1, 0), (1, 1), (1, -1)):
            one, two = self._shifted(dv * _ARM, du * _ARM), self._shifted(-dv * _ARM, -du * _ARM)
            apart = one(self.points) - two(self.points)
            length = np.linalg.norm(apart, axis=-1)
            bend = ((one(self.normals) - two(self.normals)) * apart).sum(axis=-1) / np.maximum(length, 1e-9)
            turn = np.linalg.norm(np.cross(one(self.normals), two(self.normals)), axis=-1)
            far = np.abs(one(self.smooth) - two(self.smooth)) > 2 * _ARM * STEP
            wider = 2 * _ARM
            a = self._shifted(dv * wider, du * wider)(colours)
            b = self._shifted(-dv * wider, -du * wider)(colours)
            found |= (bend < 0) & (turn > _CREASE) & ~far & _differ(a, b)
        return found & self.valid

    @cached_property
    def areas(self) -> np.ndarray:
        """(h, w) m^2 of surface that each pixel shows."""
        tilt = np.abs((self.normals * self.rays).sum(axis=-1))
        return (self.smooth / self.intrinsics.fx) ** 2 / np.maximum(tilt, 0.1)

    @cached_property
    def rays(self) -> np.ndarray:
        rays = self.points - self.camera_to_frame.translation
        return rays / np.maximum(np.linalg.norm(rays, axis=-1, keepdims=True), 1e-9)

    def _shifted(self, dv: int, du: int):  # type: ignore[no-untyped-def]
        def shift(image: np.ndarray) -> np.ndarray:
            return np.roll(image, (-dv, -du), axis=(0, 1))

        return shift


def _differ(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Where two colour images show different materials."""
    bright, dark = np.maximum(a, b).max(axis=-1), np.minimum(a.max(axis=-1), b.max(axis=-1))
    hue = np.abs(a / (a.sum(axis=-1, keepdims=True) + 40) - b / (b.sum(axis=-1, keepdims=True) + 40)).max(axis=-1)
    return (bright > _OTHER_SHADE * dark + 12) | (hue > _OTHER_HUE)

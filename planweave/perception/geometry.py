"""Poses, camera models and shapes in the plane. Frames are in the names; metres and radians."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.geometry.joints import turn
from planweave.perception.decoding import FrameError


@dataclass(frozen=True)
class Pose:
    """A rigid transform: rotation (3, 3), then translation (3,), metres."""

    rotation: np.ndarray
    translation: np.ndarray

    @classmethod
    def about(cls, place: np.ndarray, axis: np.ndarray, angle: float) -> Pose:
        """The rotation by an angle about a unit axis (3,) through a place (3,), m."""
        rotation = turn(axis, angle)
        return cls(rotation, place - rotation @ place)

    def apply(self, points: np.ndarray) -> np.ndarray:
        """Transform points (..., 3)."""
        return points @ self.rotation.T + self.translation

    def inverse(self) -> Pose:
        """The inverse transform."""
        return Pose(self.rotation.T, -self.rotation.T @ self.translation)

    def shifted(self, by: np.ndarray) -> Pose:
        """Followed by a translation (3,)."""
        return Pose(self.rotation, self.translation + by)


@dataclass(frozen=True)
class Intrinsics:
    """Pinhole camera: focal lengths and principal point in pixels, image size."""

    fx: float
    fy: float
    cx: float
    cy: float
    width: int
    height: int

    @classmethod
    def of_view(cls, fovy: float, width: int, height: int) -> Intrinsics:
        """Of a simulated camera with square pixels and a vertical field of view in degrees."""
        focal = height / 2 / math.tan(math.radians(fovy) / 2)
        return cls(focal, focal, (width - 1) / 2, (height - 1) / 2, width, height)

    @classmethod
    def from_matrix(cls, k: Sequence[float], width: int, height: int) -> Intrinsics:
        """From the nine row-major numbers of a CameraInfo's K; raises FrameError where they are not a camera matrix."""
        if len(k) != 9 or not all(math.isfinite(v) for v in k) or k[0] <= 0 or k[4] <= 0 or width < 8 or height < 8:
            raise FrameError(
                f"camera info is not usable: K = {list(k)}, size {width} x {height}; fx and fy must be above 0"
            )
        return cls(k[0], k[4], k[2], k[5], width, height)


@dataclass(frozen=True)
class Plane:
    """The plane z = a x + b y + c, metres."""

    a: float
    b: float
    c: float

    @property
    def tilt(self) -> float:
        """Angle to the horizontal, rad."""
        return math.atan(math.hypot(self.a, self.b))

    def height_at(self, x: float, y: float) -> float:
        """The plane's z at a point."""
        return self.a * x + self.b * y + self.c


LEVEL = Plane(0.0, 0.0, 0.0)


@dataclass(frozen=True, eq=False)
class Projector:
    """Projection of points of a frame into a camera's image."""

    intrinsics: Intrinsics
    camera_to_frame: Pose

    def pixels(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Image columns and rows (float) of points (n, 3), NaN behind the camera."""
        columns, rows, _ = self.pixels_and_depth(points)
        return columns, rows

    def pixels_and_depth(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Image columns, rows and depths along the view (m) of points (n, 3), NaN behind the camera."""
        x, y, z = self.camera_to_frame.inverse().apply(np.asarray(points, dtype=np.float64)).T
        depth = np.where(z > 1e-3, z, np.nan)
        i = self.intrinsics
        return x / depth * i.fx + i.cx, y / depth * i.fy + i.cy, depth

    def shown(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Of those points (n, 3) that the image shows: columns and rows (int) of their pixels, depths along the view
        (m), and which ones these are.
        """
        columns, rows, depth = self.pixels_and_depth(points)
        with np.errstate(invalid="ignore"):
            u, v = np.rint(columns), np.rint(rows)
            inside = np.flatnonzero((u >= 0) & (v >= 0) & (u < self.intrinsics.width) & (v < self.intrinsics.height))
        return u[inside].astype(int), v[inside].astype(int), depth[inside], inside


def percentile(values: np.ndarray, share: float) -> float:
    """numpy's percentile of a few values (n,), in a fifth of its time. share: 0 to 100."""
    at = share / 100 * (len(values) - 1)
    low = int(at)
    if low + 1 >= len(values):
        return float(values.max())
    parted = np.partition(values, (low, low + 1))
    return float(parted[low] + (at - low) * (parted[low + 1] - parted[low]))


def wrap_yaw(yaw: float, period: float) -> float:
    """The same direction in (-period/2, period/2]; 0 where period is 0 (round objects have no direction)."""
    if period <= 0:
        return 0.0
    wrapped = math.remainder(yaw, period)
    return period / 2 if math.isclose(wrapped, -period / 2) else wrapped


@dataclass(frozen=True)
class Outline:
    """Outline of planar points: minimum-area rectangle, equivalent circle, and their fill ratios.

    centre (2,), sizes = (long, short) side, metres; yaw of the long side in (-pi/2, pi/2]. fill: hull area / rectangle
    area (1 for a rectangle, 0.785 for a disc). radius: of the disc of equal hull area.
    """

    centre: tuple[float, float]
    long: float
    short: float
    yaw: float
    hull: np.ndarray
    area: float
    circle_centre: tuple[float, float]
    circle_radius: float

    @property
    def fill(self) -> float:
        """Share of the rectangle that the hull covers."""
        return self.area / max(self.long * self.short, 1e-9)

    @property
    def aspect(self) -> float:
        """Long side over short side."""
        return self.long / max(self.short, 1e-6)

    @property
    def radius(self) -> float:
        """Radius of the disc with the hull's area."""
        return math.sqrt(self.area / math.pi)


def outline(xy: np.ndarray, margin: float = 0.0) -> Outline:
    """Outline of points (N, 2), N >= 3; margin: half the distance between points, metres, added on every side."""
    return outline_of(cv2.convexHull(np.ascontiguousarray(xy, dtype=np.float32)), margin)


def outline_of(hull: np.ndarray, margin: float = 0.0) -> Outline:
    """The outline of points by their hull, as cv2 gives it (n, 1, 2); margin: as of `outline`."""
    (cx, cy), (w, h), degrees = cv2.minAreaRect(hull)
    yaw = math.radians(degrees)
    w, h = w + 2 * margin, h + 2 * margin
    if h > w:
        w, h, yaw = h, w, yaw + math.pi / 2
    area = float(cv2.contourArea(hull)) + margin * float(cv2.arcLength(hull, True)) + math.pi * margin**2
    (ox, oy), radius = cv2.minEnclosingCircle(hull)
    return Outline(
        (cx, cy), w, h, wrap_yaw(yaw, math.pi), hull[:, 0, :].astype(np.float64), area, (ox, oy), radius + margin
    )


def hull_of(points: np.ndarray) -> np.ndarray:
    """Corners (m, 2) of the convex hull of points (n, 2 or 3) seen from above."""
    return np.asarray(cv2.convexHull(points[:, :2].astype(np.float32))[:, 0], float)


def inward(xy: np.ndarray, hull: np.ndarray) -> np.ndarray:
    """Depth of points (n, 2) inside a convex polygon (m, 2), metres; negative outside."""
    edges = np.roll(hull, -1, axis=0) - hull
    lengths = np.linalg.norm(edges, axis=1)
    normals = np.column_stack((-edges[:, 1], edges[:, 0])) / np.maximum(lengths, 1e-9)[:, None]
    if ((hull.mean(axis=0) - hull) * normals).sum() < 0:  # clockwise
        normals = -normals
    distances = xy @ normals.T - (hull * normals).sum(axis=1)
    return np.asarray(distances[:, lengths > 1e-9].min(axis=1, initial=np.inf))


def share_inside(xy: np.ndarray, hull: np.ndarray, margin: float = 0.0) -> float:
    """Share of points (n, 2) inside a convex polygon (m, 2) grown by a margin in metres."""
    return float((inward(xy, hull) >= -margin).mean()) if len(xy) and len(hull) > 2 else 0.0


def rotated(xy: np.ndarray, yaw: float) -> np.ndarray:
    """Points (N, 2) rotated by `yaw` about the origin."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.stack((c * xy[..., 0] - s * xy[..., 1], s * xy[..., 0] + c * xy[..., 1]), axis=-1)


def rotate_into(xy: np.ndarray, centre: Sequence[float] | np.ndarray, yaw: float) -> np.ndarray:
    """Points (N, 2) in the axes of a rectangle at `centre` rotated by `yaw`."""
    return rotated(np.asarray(xy, dtype=np.float64) - np.asarray(centre, dtype=np.float64), -yaw)


def fit_sphere(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre (3,) and radius of the sphere closest to points (N, 3) in the algebraic least-squares sense."""
    origin = points.mean(axis=0)
    p = np.asarray(points - origin, dtype=np.float64)
    a = np.column_stack((2 * p, np.ones(len(p))))
    solution, *_ = np.linalg.lstsq(a, (p**2).sum(axis=1), rcond=None)
    radius = math.sqrt(max(solution[3] + solution[:3] @ solution[:3], 0.0))
    return solution[:3] + origin, radius

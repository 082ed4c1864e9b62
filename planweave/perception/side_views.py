"""Depth images of further cameras: their points in the base frame, and whether they agree with the first camera's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from planweave.perception.cloud import Cloud, Projector
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.plane import Plane, fit_table
from planweave.perception.robot_filter import RobotState, robot_mask

_HIGH = 0.03  # m above the table from which on points tell whether two cameras agree
_EVERY = 7  # of these points is looked up
_BEHIND = 0.025  # m by which the first camera sees through a point that another one has seen
_DISAGREE = 0.08  # share of such points from which on one of the two poses is wrong


@dataclass(frozen=True, eq=False)
class SideView:
    """A depth image (h, w) float32 of a further camera, metres, 0 where unknown, and the camera's pose."""

    name: str
    depth: np.ndarray
    intrinsics: Intrinsics
    camera_to_base: Pose


def side_points(
    view: SideView,
    projector: Projector,
    robot: RobotState | None,
    table: tuple[float, float, float, float],
    check: Callable[[Plane], None],
    first: tuple[Cloud, Projector, np.ndarray],
) -> np.ndarray:
    """Points (n, 3) above the table that a further camera sees, without the robot's.

    table: x_min, x_max, y_min, y_max; check: raises FrameError for a table that is not where it should be; first:
    cloud, projector and the robot's pixels of the first camera. Raises FrameError where the two do not agree.
    """
    if view.depth.shape != (view.intrinsics.height, view.intrinsics.width):
        raise FrameError(f"the camera {view.name}: sizes of depth and camera info differ")
    cloud = projector.cloud(view.depth)
    free = cloud.valid & ~robot_mask(cloud, projector, robot) if robot else cloud.valid
    cloud = Cloud(cloud.x, cloud.y, cloud.z, free, cloud.pixel)
    plane = fit_table(cloud, table)
    if plane is None:
        raise FrameError(f"the camera {view.name} sees no table; it has moved, or its pose in the camera file is wrong")
    try:
        check(plane)
    except FrameError as error:
        raise FrameError(f"the camera {view.name}: {error}") from None
    points = points_above(cloud, plane, table)
    share = _seen_through(points[points[:, 2] > _HIGH][::_EVERY], *first)
    if share > _DISAGREE:
        raise FrameError(
            f"the camera {view.name} and the first one do not agree: the first sees through {share:.0%} of what the "
            "other sees; one of them has moved or its pose in the camera file is wrong; calibrate it again"
        )
    return points


def points_above(cloud: Cloud, plane: Plane, table: tuple[float, float, float, float]) -> np.ndarray:
    """Points (n, 3) of a cloud within the table's borders, z in metres above it."""
    height = cloud.z - (np.float32(plane.a) * cloud.x + np.float32(plane.b) * cloud.y + np.float32(plane.c))
    inside = cloud.within(table)
    return np.column_stack((cloud.x[inside], cloud.y[inside], height[inside]))


def _seen_through(points: np.ndarray, cloud: Cloud, projector: Projector, robot: np.ndarray) -> float:
    """Share of points (n, 3) behind which another camera sees something, of those where it sees at all."""
    columns, rows = projector.pixels(points)
    height, width = cloud.z.shape
    known = np.isfinite(columns) & (columns >= 1) & (columns < width - 2) & (rows >= 1) & (rows < height - 2)
    u, v = np.rint(columns[known]).astype(int), np.rint(rows[known]).astype(int)
    seen = cloud.valid[v, u] & ~robot[v, u]
    if seen.sum() < 50:
        return 0.0
    behind = np.column_stack([a[v[seen], u[seen]] for a in (cloud.x, cloud.y, cloud.z)])
    eye = projector.camera_to_base.translation
    further = np.linalg.norm(behind - eye, axis=1) - np.linalg.norm(points[known][seen] - eye, axis=1)
    return float((further > _BEHIND).mean())

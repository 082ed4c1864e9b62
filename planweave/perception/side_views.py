"""Depth images of further cameras: their points in the base frame, and whether they agree with the first camera's."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Plane
from planweave.perception.plane import find_ground
from planweave.perception.robot_filter import RobotState, robot_mask

_SEARCH = 0.1  # m above and below z = 0 within which the table is looked for
_FEWEST = 50  # points that tell whether two cameras agree
_HIGH = 0.03  # m above the table from which on points tell whether two cameras agree
_EVERY = 7  # of these points is looked up
_BEHIND = 0.025  # m by which the first camera sees through a point that another one has seen
_DISAGREE = 0.08  # share of such points from which on one of the two poses is wrong
_BARE = 0.01  # m from the table within which nothing stands on it
_DENIED = 0.5  # share of a hand camera's points that are over or in the bare table from which on its pose is wrong


def checked(
    view: DepthView,
    robot: RobotState | None,
    table: tuple[float, float, float, float],
    check: Callable[[Plane], None],
    first: DepthView,
) -> tuple[DepthView, Plane, np.ndarray] | None:
    """View of a further camera without the robot, the table in it, and its points (n, 3) above that; None where the arm
    carries it and it sees the table badly or not at all, as near a thing, where the first camera does not see the bare
    table.

    table: x_min, x_max, y_min, y_max; check: raises FrameError for a table that is not where it should be; first: what
    the first camera sees without the robot. Raises FrameError where the two do not agree.
    """
    view = view.hiding(robot_mask(view, robot)) if robot else view
    plane = find_table(view, table)
    try:
        if plane is None:
            raise no_table(view.depth)
        check(plane)
    except FrameError:
        if view.carried and not _denied(view, first, table):
            return None
        raise
    points = points_above(view, plane, table)
    # Level ones: past a steep wall another camera looks by a pixel.
    tops = points[view.level[inside_table(view, table)] & (points[:, 2] > _HIGH)]
    through = _seen_through(tops[::_EVERY], first)
    if len(through) >= _FEWEST and (share := through.mean()) > _DISAGREE:
        raise FrameError(
            f"it and the first camera do not agree: that one sees through {share:.0%} of what this one sees; one of "
            "them has moved or its pose in the camera file is wrong; calibrate it again"
        )
    return view, plane, points


def _seen_through(points: np.ndarray, by: DepthView) -> np.ndarray:
    """Whether a camera sees through points (n, 3) where it sees anything, (k,) bool. Past an edge it looks within a
    pixel, in which a camera near by sees many points.
    """
    u, v, depth, _ = by.projector.shown(points)
    return np.asarray((by.nearest[v, u] - depth)[by.valid[v, u]] > _BEHIND)


def _denied(view: DepthView, first: DepthView, table: tuple[float, float, float, float]) -> bool:
    """Whether the first camera sees the bare table where this one sees most of what it sees, and that is not it."""
    ground, (x_min, x_max, y_min, y_max), small = find_table(first, table), table, view.coarse
    if ground is None:
        return False
    near = small.inside((x_min, y_min, -2 * _SEARCH), (x_max, y_max, np.inf))
    u, v, _, inside = first.projector.shown(small.points[near])
    off, bare = np.abs(small.heights(ground)[near][inside]) > _BARE, np.abs(first.heights(ground)[v, u]) < _BARE
    known = first.valid[v, u]
    return bool(known.sum() >= _FEWEST and (off & bare)[known].mean() > _DENIED)


def no_table(depth: np.ndarray, where: str = "") -> FrameError:
    """The error of a depth image that shows no table."""
    median = float(np.median(depth[depth > 0])) if depth.any() else 0.0
    return FrameError(
        f"no table within {100 * _SEARCH:.0f} cm of z = 0{where} (median depth {median:.2f} m): "
        "the camera has moved or its pose in the camera file is wrong; calibrate it again"
    )


def find_table(view: DepthView, table: tuple[float, float, float, float]) -> Plane | None:
    """The table near z = 0 in a picture; None where it is out of view."""
    x_min, x_max, y_min, y_max = table
    try:
        return find_ground([view], (x_min, y_min, -_SEARCH), (x_max, y_max, _SEARCH))
    except FrameError:
        return None


def points_above(view: DepthView, plane: Plane, table: tuple[float, float, float, float]) -> np.ndarray:
    """Points (n, 3) of a picture within the table's borders, z in metres above it."""
    inside = inside_table(view, table)
    return np.column_stack((view.points[inside][:, :2], view.heights(plane)[inside]))


def inside_table(view: DepthView, table: tuple[float, float, float, float]) -> np.ndarray:
    """(h, w) bool: valid pixels within the table's borders."""
    x_min, x_max, y_min, y_max = table
    return view.inside((x_min, y_min, -np.inf), (x_max, y_max, np.inf))

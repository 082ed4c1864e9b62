"""The pose of a camera from the table that it sees: height, roll and pitch by its plane, the rest by marks on it.

Marks are an ArUco tag (Garrido-Jurado et al. 2014, found by OpenCV) or cubes, at places known in the robot's base
frame. The position in the plane and the turn about the vertical follow by least squares (Umeyama 1991, without scale).
"""

from __future__ import annotations

import cmath
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.geometry.joints import turn
from planweave.perception.cameras.frame import Frame
from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Outline, Pose, Projector, outline, rotated, wrap_yaw

TAG_FAMILIES = {
    name.removeprefix("DICT_").lower(): number for name, number in vars(cv2.aruco).items() if name.startswith("DICT_")
}
DIRECTIONS = {"+x": 0.0, "+y": math.pi / 2, "-x": math.pi, "-y": -math.pi / 2}
"""Direction of the base frame in which the top of the image points, and the angle from its x axis, rad."""
_TRIES = 300  # planes through three points
_INLIER = 0.008  # m
_LEAST = 0.15  # share of the points with depth that the table must have
_SIZE_ERROR = 0.1  # of a tag, as a share
_WORST = 0.02  # m: residual above which marks and places do not belong together
_CLEAR = 0.005  # m by which another assignment of cubes to places has to be worse
_MOST_CUBES = 8  # in view
_LOWEST, _HIGHEST = 0.012, 0.2  # m above the table, of what stands on it
_LEVEL = 0.008  # m: the top of a cube
_CUBIC = 1.3  # longest over shortest side of what counts as a cube
_LEAST_PIXELS = 150
_REACH = 1.0  # m from the base: where the grid is drawn


class CalibrationError(PlanweaveError):
    """A calibration that the images do not allow; the message says why and what to do."""

    code = "calibration"


@dataclass(frozen=True)
class Tag:
    """An ArUco tag that lies flat: its centre in the base frame, metres; yaw, rad, of the direction from its left to
    its right; side of its black square, metres. number: its id, None for the only one in view.
    """

    x: float
    y: float
    yaw: float
    side: float
    family: str = "4x4_50"
    number: int | None = None


@dataclass(frozen=True)
class Calibration:
    """camera_to_base; residual: root mean square of the distances between marks and their places, metres; marks: what
    was seen, in the base frame (N, 2).
    """

    camera_to_base: Pose
    residual: float
    marks: np.ndarray

    @property
    def tilt(self) -> float:
        """Angle between the view and straight down, rad."""
        return math.acos(max(-1.0, min(1.0, -float(self.camera_to_base.rotation[2, 2]))))


def level(frame: Frame, at: tuple[float, float] = (0.5, 0.5)) -> Pose:
    """The camera's pose above the table that it sees, without marks.

    z = 0 is the table; x points to the top of the image, y to its left; the origin is where the image's middle shows
    the table. at: a place of the image, as shares of its width and height, around which the table is looked for. Raises
    CalibrationError, and FrameError where there is too little depth.
    """
    points, near = _seen(frame, at)
    normal, distance, share = _largest_plane(points, near)
    if share < _LEAST or distance <= 0:
        raise CalibrationError(
            f"no table is seen: the largest plane at {at[0]:g}, {at[1]:g} of the image has {share:.0%} of the points, "
            f"{_LEAST:.0%} are needed (median depth {np.median(points[:, 2]):.2f} m); clear the table, and say with "
            "--at where in the image it is"
        )
    up = np.array([0.0, -1.0, 0.0])  # of the image
    if abs(normal @ up) > 0.98:  # it looks along the table
        raise CalibrationError("the camera looks along the table; it must look down on it")
    x = up - (up @ normal) * normal
    x /= np.linalg.norm(x)
    rotation = np.stack((x, np.cross(normal, x), normal))
    if normal[2] > -0.1:
        raise CalibrationError("the middle of the image does not show the table; turn the camera down")
    return Pose(rotation, -rotation @ (0.0, 0.0, distance / -normal[2]))


def by_tag(frame: Frame, tag: Tag, levelled: Pose) -> Calibration:
    """The camera's pose by a tag on the table. levelled: as of `level`. Raises CalibrationError."""
    if tag.family not in TAG_FAMILIES:
        raise UnknownNameError("tag family", tag.family, TAG_FAMILIES)
    dictionary = cv2.aruco.getPredefinedDictionary(TAG_FAMILIES[tag.family])
    settings = cv2.aruco.DetectorParameters()
    settings.cornerRefinementMethod = cv2.aruco.CORNER_REFINE_SUBPIX
    found, numbers, _ = cv2.aruco.ArucoDetector(dictionary, settings).detectMarkers(frame.rgb)
    seen = {} if numbers is None else dict(zip(np.ravel(numbers).tolist(), found))
    if tag.number is None and len(seen) == 1:
        corners = next(iter(seen.values()))
    elif tag.number in seen:
        corners = seen[tag.number]
    else:
        listed = f"these are seen: {', '.join(map(str, sorted(seen)))}" if seen else "none is seen"
        wanted = "one tag alone is looked for" if tag.number is None else f"tag {tag.number} is looked for"
        raise CalibrationError(f"{wanted}, {listed} (family {tag.family}); set --tag-id or --tag-family, or give light")
    on_table = _on_table(corners.reshape(4, 2), frame.intrinsics, levelled)
    side = float(np.mean(np.linalg.norm(on_table - np.roll(on_table, -1, axis=0), axis=1)))
    if abs(side / tag.side - 1) > _SIZE_ERROR:
        raise CalibrationError(
            f"the tag measures {side * 1000:.0f} mm, not {tag.side * 1000:.0f}: --tag-size is the side of its black "
            "square in metres; or depth or intrinsics are wrong, or the tag does not lie on the table"
        )
    half = tag.side / 2
    own = np.array([(-half, half), (half, half), (half, -half), (-half, -half)])  # as detectMarkers orders corners
    return _fitted(levelled, on_table, rotated(own, tag.yaw) + (tag.x, tag.y))


def by_cubes(
    frame: Frame,
    places: Sequence[tuple[float, float]],
    levelled: Pose,
    up: str = "+x",
    turn: float = 0.0,
) -> Calibration:
    """The camera's pose by cubes on the table. levelled: as of `level`.

    places: of the cubes' centres in the base frame, metres. up: about where the top of the image points, see
    DIRECTIONS. turn: rad of a single cube's sides from the base frame's axes. Raises CalibrationError.
    """
    cubes, others = _cubes(frame, levelled)
    if len(cubes) < len(places) or len(cubes) > _MOST_CUBES:
        raise CalibrationError(
            f"{len(cubes)} cubes are seen for {len(places)} places (at most {_MOST_CUBES}); else in view: "
            f"{', '.join(others) or 'nothing'}"
        )
    if len(places) == 1 and len(cubes) > 1:
        raise CalibrationError(f"{len(cubes)} cubes are seen; leave one on the table, or give the place of each")
    there = np.array(places, dtype=float)
    fits = []
    for chosen in itertools.permutations(cubes, len(places)):
        seen_at = np.array([cube.centre for cube in chosen])
        if len(chosen) == 1:
            yaw = turn - chosen[0].yaw
            yaw = DIRECTIONS[up] + wrap_yaw(yaw - DIRECTIONS[up], math.pi / 2)
            fits.append(_turned(levelled, seen_at, there, yaw))
            continue
        fit = _fitted(levelled, seen_at, there, math.inf)
        turned = fit.camera_to_base.rotation @ levelled.rotation.T
        yaw = math.atan2(turned[1, 0], turned[0, 0])
        if abs(wrap_yaw(yaw - DIRECTIONS[up], 2 * math.pi)) < math.pi / 4:
            fits.append(fit)
    fits.sort(key=lambda fit: fit.residual)
    if not fits:
        raise CalibrationError(f"no turn of the image's top to about {up} puts the cubes on their places; set --up")
    if len(fits) > 1 and fits[1].residual - fits[0].residual < _CLEAR:
        raise CalibrationError(
            "which cube is at which place is not clear: lay them at different distances from each other"
        )
    return _checked(fits[0])


def _cubes(frame: Frame, levelled: Pose) -> tuple[list[Outline], list[str]]:
    """Outlines of the tops of the cubes on the table, in the levelled frame; sizes of what else stands there."""
    view = DepthView("", frame.rgb, frame.depth, frame.intrinsics, levelled)
    x, y, z = view.points.transpose(2, 0, 1)
    above = view.valid & (z > _LOWEST) & (z < _HIGHEST)
    count, parts = cv2.connectedComponents(above.astype(np.uint8))
    cubes, others = [], []
    for number in range(1, count):
        part = parts == number
        if part.sum() < _LEAST_PIXELS:
            continue
        height = float(np.percentile(z[part], 90))
        top = part & (np.abs(z - height) < _LEVEL)
        shape = outline(np.column_stack((x[top], y[top])), view.pixel / 2)
        sides = (shape.long, shape.short, height)
        if max(sides) < _CUBIC * min(sides) and shape.fill > 0.88:
            cubes.append(shape)
        else:
            others.append(f"{' x '.join(f'{1000 * side:.0f}' for side in sides)} mm")
    return cubes, others


def _seen(frame: Frame, at: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """Points in the camera's frame (N, 3), and the indices of those near a place of the image."""
    camera, step = frame.intrinsics, max(1, frame.intrinsics.width // 160)
    view = DepthView("", frame.rgb, frame.depth, camera, Pose(np.eye(3), np.zeros(3)))
    v, u = np.mgrid[0 : camera.height : step, 0 : camera.width : step]
    near = np.hypot(u - at[0] * camera.width, v - at[1] * camera.height) < camera.width / 5
    good = view.valid[::step, ::step]
    if good.mean() < 0.2 or (good & near).sum() < 30:
        raise FrameError(
            f"{good.mean():.0%} of the image has depth: check the depth stream, its exposure and the emitter"
        )
    points = view.points[::step, ::step][good]
    return points.astype(np.float64), np.flatnonzero(near[good])


def _largest_plane(points: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Unit normal n towards the camera, distance d of n · p = -d, and share of inliers, of the plane with most of them.

    near: indices of points through which it goes.
    """
    rng = np.random.default_rng(0)
    a, b, c = (points[rng.choice(near, _TRIES)] for _ in range(3))
    normals = np.cross(b - a, c - a)
    lengths = np.linalg.norm(normals, axis=1)
    usable = lengths > 1e-5
    normals, a = normals[usable] / lengths[usable, None], a[usable]
    sample = points[rng.choice(len(points), min(len(points), 3000))]
    # Depth noise grows with the square of the distance (Khoshelham and Elberink 2012).
    allowed = _INLIER * np.maximum(1.0, sample[:, 2] ** 2)
    errors = np.abs(sample @ normals.T - (normals * a).sum(axis=1))
    best = int(np.argmax((errors < allowed[:, None]).sum(axis=0)))
    normal, offset = normals[best], float(normals[best] @ a[best])
    inlier = np.zeros(len(points), dtype=bool)
    for narrow in (1.0, 0.5):
        inlier = np.abs(points @ normal - offset) < narrow * _INLIER * np.maximum(1.0, points[:, 2] ** 2)
        centre = points[inlier].mean(axis=0)
        normal = np.linalg.svd(points[inlier] - centre, full_matrices=False)[2][2]
        offset = float(normal @ centre)
    if offset > 0:
        normal, offset = -normal, -offset
    return normal, -offset, float(inlier.mean())


def _on_table(pixels: np.ndarray, camera: Intrinsics, levelled: Pose) -> np.ndarray:
    """Points (N, 2) of the table that pixels (N, 2) show, in the levelled frame."""
    rays = np.column_stack(
        ((pixels[:, 0] - camera.cx) / camera.fx, (pixels[:, 1] - camera.cy) / camera.fy, np.ones(len(pixels)))
    )
    down = rays @ levelled.rotation.T
    return (levelled.translation + down * (levelled.translation[2] / -down[:, 2])[:, None])[:, :2]


def _fitted(levelled: Pose, seen: np.ndarray, there: np.ndarray, worst: float = _WORST) -> Calibration:
    """Least squares over the turn and the shift that take points (N, 2) of the levelled frame to their places."""
    a, b = ((p - p.mean(axis=0)) @ (1, 1j) for p in (seen, there))
    return _checked(_turned(levelled, seen, there, cmath.phase(np.vdot(a, b))), worst)


def _turned(levelled: Pose, seen: np.ndarray, there: np.ndarray, yaw: float) -> Calibration:
    """With a known turn: the shift."""
    about_z = turn(np.array([0.0, 0.0, 1.0]), yaw)
    marks = rotated(seen, yaw)
    shift = (there - marks).mean(axis=0)
    residual = float(np.sqrt(np.mean(np.sum((marks + shift - there) ** 2, axis=1))))
    pose = Pose(about_z @ levelled.rotation, about_z @ levelled.translation + (*shift, 0.0))
    return Calibration(pose, residual, marks + shift)


def _checked(fit: Calibration, worst: float = _WORST) -> Calibration:
    if fit.residual > worst:
        raise CalibrationError(
            f"marks and places differ by {fit.residual * 1000:.0f} mm, {worst * 1000:.0f} are allowed: measure the "
            "places again, in metres from the centre of the robot's base, x forward, y to its left"
        )
    return fit


def draw_grid(frame: Frame, camera_to_base: Pose, marks: np.ndarray, step: float = 0.1) -> np.ndarray:
    """A copy of the image with the base frame's grid on the table, metres, its x axis red, its y axis green, and the
    marks.
    """
    image = np.ascontiguousarray(frame.rgb.copy())
    projector = Projector(frame.intrinsics, camera_to_base)

    def pixels(points: np.ndarray) -> np.ndarray:
        return np.column_stack(projector.pixels(points))

    spread = (np.linspace(0, size - 1, 9) for size in (frame.intrinsics.width, frame.intrinsics.height))
    shown = np.stack(np.meshgrid(*spread), axis=-1).reshape(-1, 2)
    seen = np.clip(_on_table(shown, frame.intrinsics, camera_to_base), -_REACH, _REACH)
    low, high = (np.round(f(seen, axis=0) / step).astype(int) for f in (np.min, np.max))
    for axis in (0, 1):
        for number in range(low[axis], high[axis] + 1):
            ends = np.zeros((40, 3))
            ends[:, axis] = number * step
            ends[:, 1 - axis] = np.linspace(low[1 - axis], high[1 - axis], 40) * step
            line = pixels(ends)
            colour = ((220, 40, 40), (40, 180, 40))[1 - axis] if number == 0 else (255, 255, 255)
            for p, q in itertools.pairwise(line):
                if np.isfinite(p).all() and np.isfinite(q).all():
                    cv2.line(image, _whole(p), _whole(q), colour, 2 if number == 0 else 1, cv2.LINE_AA)
    for i, j in itertools.product(range(low[0], high[0] + 1), range(low[1], high[1] + 1)):
        if i % 2 or j % 2:
            continue
        (p,) = pixels(np.array([[i * step, j * step, 0.0]]))
        if np.isfinite(p).all():
            text = f"{i * step:.1f},{j * step:.1f}"
            for colour, thick in (((0, 0, 0), 3), ((255, 255, 255), 1)):
                cv2.putText(
                    image, text, _whole(p + (3, -3)), cv2.FONT_HERSHEY_SIMPLEX, 0.35, colour, thick, cv2.LINE_AA
                )
    for p in pixels(np.column_stack((marks, np.zeros(len(marks))))):
        if np.isfinite(p).all():
            cv2.circle(image, _whole(p), 6, (255, 0, 255), 2, cv2.LINE_AA)
    return image


def _whole(pixel: np.ndarray) -> tuple[int, int]:
    u, v = np.clip(np.round(pixel), -10_000, 10_000).astype(int)
    return int(u), int(v)

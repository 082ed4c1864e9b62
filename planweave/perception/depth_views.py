"""RGB-D pictures of calibrated cameras in one frame: points, slopes, and how sharply surfaces are cut from each other.

Inverse depth is linear in the pixels on every plane, at any slant, and the noise of stereo and structured light is the
same everywhere in it. So a second difference of inverse depth is 0 on planes, positive in concave creases and on the
far side of steps, and negative on convex edges, which part nothing (Stein et al., Object Partitioning using Local
Convexity, CVPR 2014: things are convex, and touch in concave creases).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np

from planweave.perception.colours import smooth
from planweave.perception.decoding import FrameError
from planweave.perception.depth_smoothing import smoothed
from planweave.perception.geometry import Intrinsics, Plane, Pose, Projector, percentile

DIAGONAL = 800.0  # pixels of the image that is worked with: 640 x 480
NOISE = 1.5e-3  # m of depth noise at 1 m (Kinect, RealSense); it grows with distance^2
LEAST_DEPTH = 0.2  # share of the pixels that have depth
STEP = 0.005  # m along the ray that parts two surfaces
_BLACK = 12  # grey level of the brightest pixel
_COARSE = 200.0  # pixels: diagonal of a small copy
_SMOOTH = 0.006  # 1/m: steps of inverse depth below this are smoothed
_STEP_ARM, _SLOPE_ARM = 2, 5  # pixels over which a step is measured, and the slope around it
_STEEP = 1.5  # share of the fall of a steep surface over the step's pixels that is no step
_FILTERED = 0.4  # share of the noise that smoothing leaves
_SURE = 10  # standard deviations of noise that a step is higher than
_ARM = 0.014  # m from the middle of a crease to either side of it
_CREASE = math.tan(math.radians(24.0))  # of the angle between the two sides of a concave crease
_REACH = 3  # pixels over which a slope is measured
_HALO = 8  # pixels around a part whose values hang on it
_LEVEL = 0.94  # upward part of the normal of a level surface: within 20 degrees
_SLICED = ("smooth", "valid", "inverse", "range", "points", "upward")  # what a part of a picture need not compute again
_DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))


@dataclass(frozen=True, eq=False)
class DepthView:
    """A picture of one camera.

    rgb: (h, w, 3) uint8; depth: (h, w) metres along the optical axis, 0 where unknown; camera_to_frame: pose of the
    camera (x right, y down, z along the view) in the frame of all results; hidden: (h, w) bool, pixels that show the
    robot, or None; carried: whether the arm carries the camera, so that the table may be out of its view.
    """

    name: str
    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics
    camera_to_frame: Pose
    hidden: np.ndarray | None = None
    carried: bool = False

    def check(self, least: float = LEAST_DEPTH) -> None:
        """Raise FrameError where the sizes of colour, depth and camera info differ, or colour is black, or less than
        this share of the pixels has depth.
        """
        i, (height, width), (rows, columns) = self.intrinsics, self.depth.shape, self.rgb.shape[:2]
        if not (height, width) == (rows, columns) == (i.height, i.width):
            raise FrameError(
                f"sizes differ: colour {columns} x {rows}, depth {width} x {height}, camera info "
                f"{i.width} x {i.height}; all three must agree (publish depth aligned to colour)"
            )
        if np.count_nonzero(self.depth) < least * self.depth.size:
            raise FrameError("there is no depth in the image: check the depth stream, its exposure and the emitter")
        if int(self.rgb[::4, ::4].max()) < _BLACK:
            raise FrameError("the colour image is black: check the lens cap, the light and the exposure")

    def scaled(self, diagonal: float = DIAGONAL) -> DepthView:
        """The same picture at a common size, pixels; by default about 640 x 480. Larger ones lose rows and columns."""
        i, (width, height) = self.intrinsics, self.scaled_size(diagonal)
        if (width, height) == (i.width, i.height):
            return self
        if width < i.width:
            n = _stride(i, diagonal)
            every = np.s_[::n, ::n]
            small = Intrinsics(i.fx / n, i.fy / n, i.cx / n, i.cy / n, width, height)
            hidden = None if self.hidden is None else self.hidden[every]
            return replace(self, rgb=self.rgb[every], depth=self.smooth[every], intrinsics=small, hidden=hidden)
        k, size, around = width / i.width, (width, height), np.ones((3, 3), np.uint8)
        large = Intrinsics(i.fx * k, i.fy * k, (i.cx + 0.5) * k - 0.5, (i.cy + 0.5) * k - 0.5, width, height)
        nearest, low, high = (
            cv2.resize(image, size, interpolation=cv2.INTER_NEAREST)
            for image in (self.smooth, cv2.erode(self.smooth, around), cv2.dilate(self.smooth, around))
        )
        linear = cv2.resize(self.smooth, size, interpolation=cv2.INTER_LINEAR)
        depth = np.where((low > 0) & (high - low < 4 * STEP), linear, nearest)  # linear within one surface
        hidden = self.hidden
        if hidden is not None:
            hidden = cv2.resize(hidden.astype(np.uint8), size, interpolation=cv2.INTER_NEAREST) > 0
        return replace(self, rgb=cv2.resize(self.rgb, size), depth=depth, intrinsics=large, hidden=hidden)

    def reduced(self) -> DepthView:
        """The picture at a common size where it is larger than that."""
        return self.scaled() if self.scaled_size()[0] < self.intrinsics.width else self

    def scaled_size(self, diagonal: float = DIAGONAL) -> tuple[int, int]:
        """Width and height of the picture at a common size; its own where it is near."""
        i = self.intrinsics
        n = _stride(i, diagonal)
        if n > 1:
            return -(-i.width // n), -(-i.height // n)
        k = diagonal / math.hypot(i.width, i.height)
        return (i.width, i.height) if k < 1.25 else (round(i.width * k), round(i.height * k))

    def window(self, rows: slice, columns: slice) -> DepthView:
        """A part of the picture."""
        i = self.intrinsics
        depth = self.depth[rows, columns]
        part = Intrinsics(i.fx, i.fy, i.cx - columns.start, i.cy - rows.start, depth.shape[1], depth.shape[0])
        hidden = None if self.hidden is None else self.hidden[rows, columns]
        window = replace(self, rgb=self.rgb[rows, columns], depth=depth, intrinsics=part, hidden=hidden)
        known = {name: value[rows, columns] for name in _SLICED if (value := self.__dict__.get(name)) is not None}
        window.__dict__.update(known)
        return window

    def only(self, rows: slice, columns: slice) -> DepthView:
        """The same picture, of which nothing is known but a part."""
        high, wide = (slice(max(span.start - _HALO, 0), span.stop + _HALO) for span in (rows, columns))
        part, found = self.window(high, wide), replace(self)
        for name in ("inverse", "range", "upward", "points"):
            planes = np.moveaxis(np.atleast_3d(getattr(part, name)), 2, 0)
            whole = np.zeros((len(planes), *self.depth.shape), np.float32)
            whole[:, high, wide] = planes
            found.__dict__[name] = np.moveaxis(whole, 0, 2) if len(planes) > 1 else whole[0]
        inside = np.zeros_like(self.valid)
        inside[rows, columns] = self.valid[rows, columns]
        found.__dict__.update(smooth=self.smooth, coarse=self.coarse, valid=inside)
        return found

    def hiding(self, mask: np.ndarray) -> DepthView:
        """The same picture without further pixels (h, w) bool."""
        hidden = replace(self, hidden=mask if self.hidden is None else self.hidden | mask)
        hidden.__dict__.update(
            (name, value) for name in ("smooth", "points") if (value := self.__dict__.get(name)) is not None
        )
        if "inverse" in self.__dict__:
            hidden.__dict__["inverse"] = np.where(mask, np.float32(0), self.inverse)
        return hidden

    @cached_property
    def coarse(self) -> DepthView:
        """A small copy that tells the ground, and where things stand out of it."""
        return self.scaled(_COARSE)

    @property
    def projector(self) -> Projector:
        """From points of the frame to pixels."""
        return Projector(self.intrinsics, self.camera_to_frame)

    @property
    def pixel(self) -> float:
        """Side of a pixel on the table z = 0 below the camera, metres."""
        return max(float(self.camera_to_frame.translation[2]), 0.1) / self.intrinsics.fx

    @cached_property
    def smooth(self) -> np.ndarray:
        """Depth without isolated pixels and small holes, metres."""
        return smoothed(self.depth)

    @cached_property
    def nearest(self) -> np.ndarray:
        """The least depth (h, w) of each pixel and those around it, m; infinite where none of them is known."""
        return cv2.erode(np.where(self.valid, self.smooth, np.float32(np.inf)), np.ones((3, 3), np.uint8))

    @cached_property
    def valid(self) -> np.ndarray:
        """(h, w) bool: pixels with a point that is not the robot's."""
        known = self.smooth > 0
        return known if self.hidden is None else known & ~self.hidden

    @cached_property
    def inverse(self) -> np.ndarray:
        """Inverse depth (h, w) float32, 1/m, smoothed within surfaces; 0 where unknown."""
        known = np.where(self.valid, 1 / np.maximum(self.smooth, 0.05), np.float32(0))
        return cv2.bilateralFilter(known, 5, _SMOOTH, 2.0)

    @cached_property
    def range(self) -> np.ndarray:
        """Smoothed depth (h, w) float32, metres; 0 where unknown."""
        return np.where(self.valid, 1.0 / np.maximum(self.inverse, 1e-3), np.float32(0))

    @cached_property
    def points(self) -> np.ndarray:
        """(h, w, 3) float32, metres in the frame; of `valid` pixels."""
        x, y = self.rays
        turn, move = self.camera_to_frame.rotation, self.camera_to_frame.translation
        z = self.range
        along_x, along_y, part = z * x, z * y, np.empty_like(z)
        found = np.empty((3, *z.shape), np.float32)  # x, y, z are planes of their own
        for plane, r, by in zip(found, turn.astype(np.float32), move.astype(np.float32)):
            np.multiply(z, r[2], out=plane)
            plane += np.multiply(along_y, r[1], out=part)
            plane += np.multiply(along_x, r[0], out=part)
            plane += by
        return found.transpose(1, 2, 0)

    def heights(self, plane: Plane) -> np.ndarray:
        """Heights above a plane, (h, w) float32, metres."""
        x, y, z = self.points.transpose(2, 0, 1)
        return np.asarray(z - np.float32(plane.a) * x - np.float32(plane.b) * y - np.float32(plane.c))

    def inside(self, low: Sequence[float], high: Sequence[float]) -> np.ndarray:
        """(h, w) bool: valid pixels with points between two corners, metres."""
        found = self.valid.copy()
        for p, least, most in zip(self.points.transpose(2, 0, 1), low, high):
            found &= (p > np.float32(least)) & (p < np.float32(most))
        return found

    @cached_property
    def rays(self) -> tuple[np.ndarray, np.ndarray]:
        """x / z of every column (w,), and y / z of every row (h, 1)."""
        i = self.intrinsics
        x, y = (np.arange(i.width) - i.cx) / i.fx, (np.arange(i.height) - i.cy) / i.fy
        return x.astype(np.float32), y.astype(np.float32)[:, None]

    @cached_property
    def upward(self) -> np.ndarray:
        """Upward part of the unit normals towards the camera (h, w) float32."""
        x, y = self.rays
        i, w, r = self.intrinsics, self.inverse, _REACH
        dx, dy = np.zeros_like(w), np.zeros_like(w)
        dx[:, r:-r] = (w[:, 2 * r :] - w[:, : -2 * r]) * np.float32(i.fx / (2 * r))
        dy[r:-r] = (w[2 * r :] - w[: -2 * r]) * np.float32(i.fy / (2 * r))
        ahead, part = x * dx, y * dy
        np.subtract(w, ahead, out=ahead)
        ahead -= part  # on the plane n p = d, inverse depth is n (x, y, 1) / d
        up = self.camera_to_frame.rotation[2].astype(np.float32)
        length = cv2.magnitude(cv2.magnitude(dx, dy), ahead)
        np.maximum(length, 1e-9, out=length)
        for along, share in zip((dx, dy, ahead), -up):
            along *= share
        dx += dy
        dx += ahead
        dx /= length
        dx *= self._known
        return dx

    @cached_property
    def level(self) -> np.ndarray:
        """(h, w) bool: pixels of level surfaces."""
        return self.upward > _LEVEL

    @cached_property
    def areas(self) -> np.ndarray:
        """(h, w) m^2 across the view that each pixel shows."""
        return (self.range * np.float32(1 / self.intrinsics.fx)) ** 2

    @cached_property
    def colours(self) -> np.ndarray:
        """(h, w, 3) uint8 without isolated pixels."""
        return smooth(self.rgb)

    @cached_property
    def step_strengths(self) -> list[np.ndarray]:
        """(h, w) float32 in each direction, above 1 on the far side of a jump of depth."""
        z = self.range
        found, square = [], z * z
        least = np.maximum(np.float32(STEP), np.float32(_SURE * _FILTERED * NOISE) * square)
        for dv, du in _DIRECTIONS:
            bend = self._bend(_STEP_ARM * dv, _STEP_ARM * du)
            slope = self._slope(_SLOPE_ARM * dv, _SLOPE_ARM * du)
            # where a surface falls steeply along the view, a pixel that is a little off is a step
            uneven = np.abs(slope) * square * np.float32(_STEEP * _STEP_ARM / (2 * _SLOPE_ARM))
            found.append(bend * square / (least + uneven))
        return found

    @cached_property
    def step_strength(self) -> np.ndarray:
        """(h, w) float32, above 1 on the far side of a jump of depth."""
        return _largest(self.step_strengths)

    @cached_property
    def steps(self) -> np.ndarray:
        """(h, w) bool: pixels on the far side of a jump of depth."""
        return self.step_strength > 1

    @cached_property
    def beside_steps(self) -> np.ndarray:
        """(h, w) bool: pixels at a jump of depth, which may show either side of it."""
        return cv2.dilate(self.steps.astype(np.uint8), np.ones((3, 3), np.uint8)) > 0

    @cached_property
    def crease_strengths(self) -> list[np.ndarray]:
        """(h, w) float32 in each direction, above 1 in concave creases."""
        z, found = self.range, []
        if not self.valid.any():
            return [np.zeros_like(z)] * len(_DIRECTIONS)
        arm = max(2.0, _ARM * self.intrinsics.fx / percentile(z[self.valid], 50))
        jump = self.steps.astype(np.uint8)
        for dv, du in _DIRECTIONS:
            r = max(1, round(arm / math.hypot(dv, du)))
            bend, slope = self._bend(r * dv, r * du), self._slope(r * dv, r * du)
            scale = np.float32(self.intrinsics.fx / (r * math.hypot(dv, du)))
            turn, slope = bend * z * scale, slope * z * (scale / 2)  # of the tangents of two sides, and their mean
            # tan(a - b) = (tan a - tan b) / (1 + tan a tan b)
            crease = (turn + np.float32(_CREASE / 4) * turn * np.abs(turn)) / (_CREASE * (1 + slope * slope))
            line = (
                np.eye(2 * r + 1, dtype=np.uint8)[:, :: du or 1]
                if dv and du
                else np.ones((2 * r * dv + 1, 2 * r * du + 1), np.uint8)
            )
            np.putmask(crease, cv2.dilate(jump, line) > 0, 0)
            found.append(crease)
        return found

    @cached_property
    def crease_strength(self) -> np.ndarray:
        """(h, w) float32, above 1 in concave creases."""
        return _largest(self.crease_strengths)

    @cached_property
    def cuts(self) -> np.ndarray:
        """(h, w) float32: how sharply things are parted here; above 1 at steps and creases."""
        return np.maximum(self.step_strength, self.crease_strength)

    @cached_property
    def edges(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Strengths (h, w) float32 of steps and of creases that part columns, and rows: the largest of three pixels."""
        aslant = np.maximum(*self.crease_strengths[2:]) / 2
        found = []
        for k, shape in ((0, (1, 3)), (1, (3, 1))):
            both = self.step_strengths[k], np.maximum(self.crease_strengths[k], aslant)
            step, crease = (cv2.dilate(strength, np.ones(shape, np.uint8)) for strength in both)
            found.append((step, crease))
        return found

    def _bend(self, dv: int, du: int) -> np.ndarray:
        """Second difference of inverse depth over so many rows and columns, 1/m; 0 where not known."""
        w, known, found = self.inverse, self._known, np.zeros_like(self.inverse)
        before, middle, after = _shifted(w.shape, dv, du)
        bend = w[after] + w[before]
        bend -= 2 * w[middle]
        bend *= known[after]
        np.multiply(bend, known[before], out=found[middle])
        return found

    @cached_property
    def _known(self) -> np.ndarray:
        """1 where a pixel is valid, else 0, (h, w) float32: products with what is no float are slow."""
        return self.valid.astype(np.float32)

    def _slope(self, dv: int, du: int) -> np.ndarray:
        """First difference of inverse depth over twice as many rows and columns, 1/m."""
        w, found = self.inverse, np.zeros_like(self.inverse)
        before, middle, after = _shifted(w.shape, dv, du)
        np.subtract(w[after], w[before], out=found[middle])
        return found


def _largest(strengths: Sequence[np.ndarray]) -> np.ndarray:
    """The largest of some pictures (h, w) in each pixel, at least 0."""
    found = np.maximum(strengths[0], np.float32(0))
    for strength in strengths[1:]:
        np.maximum(found, strength, out=found)
    return found


def _shifted(shape: tuple[int, ...], dv: int, du: int) -> list[tuple[slice, slice]]:
    """Parts of a picture of one size: so many rows and columns back, in the middle, and as many ahead; none of a small
    one.
    """
    (height, width), a, b = shape, abs(dv), abs(du)
    rows, columns = max(0, height - 2 * a), max(0, width - 2 * b)
    starts = ((a + k * dv, b + k * du) for k in (-1, 0, 1))
    return [(slice(row, row + rows), slice(column, column + columns)) for row, column in starts]


def _stride(i: Intrinsics, diagonal: float) -> int:
    """Every so many rows and columns make a picture of a common size."""
    return max(1, round(math.hypot(i.width, i.height) / diagonal))

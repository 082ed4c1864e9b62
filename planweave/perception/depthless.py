"""Things without depth: what is transparent, black or mirroring leaves a hole in the depth image of what it stands on.

Two kinds of hole tell nothing: at the image's border, and in the shadow of a nearer thing, where only one of a sensor's
two eyes (or its eye and its projector) looks. A shadow is as many pixels wide along a row as the baseline makes the
disparities of its two ends differ. Metres, in the frame of the view.
"""

from __future__ import annotations

import cv2
import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, unknown_thing
from planweave.perception.geometry import Plane, outline

_DIAGONAL = 400.0  # pixels of the image that is looked at: 320 x 240
_BASELINE = 0.1  # m between a sensor's eyes, at most: RealSense D455 0.095, Kinect 0.075, D435 0.05
_SLACK = 3  # pixels by which a shadow may be wider
_NARROWEST, _LEAST_AREA = 0.015, 4e-4  # m, and m^2 across the view, of a thing
_ON = 0.012  # m from the support within which what surrounds a thing is the support
_AROUND = 0.25  # share of the border that is the support: else it is a spot on a thing
_HIGHEST = 0.25  # m: what is no higher than it is seen; nobody knows the height of what has no depth


def find_depthless(view: DepthView, support: Plane, table: tuple[float, float, float, float]) -> list[Detection]:
    """Unknown things without depth on a support, as columns over all that they hide of it.

    table: x_min, x_max, y_min, y_max. Hidden pixels of the view are the robot's, of which a hole beside them may be.
    """
    small = view.scaled(_DIAGONAL)
    holes = cv2.morphologyEx(_unexplained(small).astype(np.uint8), cv2.MORPH_OPEN, np.ones((3, 3), np.uint8))
    if not holes.any():
        return []
    count, numbers, boxes, _ = cv2.connectedComponentsWithStats(holes, connectivity=4)
    on_support = small.valid & (np.abs(small.heights(support)) < _ON + (small.range * 0.05) ** 2)
    found = []
    for number in range(1, count):
        x, y, w, h, pixels = boxes[number]
        around = np.s_[max(y - 3, 0) : y + h + 3, max(x - 3, 0) : x + w + 3]
        mask = numbers[around] == number
        border = cv2.dilate(mask.view(np.uint8), np.ones((5, 5), np.uint8)).view(bool) & (small.smooth[around] > 0)
        if pixels < 4 or on_support[around][border].sum() < _AROUND * max(border.sum(), 1):
            continue
        if small.hidden is not None and small.hidden[around][border].any():
            continue
        rows, columns = np.nonzero(mask)
        xy, away = _hidden(small, support, rows + around[0].start, columns + around[1].start)
        if len(xy) < 4:
            continue
        shape = outline(xy)
        inside = table[0] < shape.centre[0] < table[1] and table[2] < shape.centre[1] < table[3]
        if inside and shape.short > _NARROWEST and (away**2).sum() / small.intrinsics.fx**2 > _LEAST_AREA:
            found.append(unknown_thing(shape, 0.0, _height(view, support, xy), small.rgb[around][mask]))
    return found


def _unexplained(view: DepthView) -> np.ndarray:
    """(h, w) bool: pixels without depth that neither the image's border nor a nearer thing's shadow explains."""
    found = np.zeros(view.smooth.shape, bool)
    gaps = np.flatnonzero(~(view.smooth > 0).all(axis=1))
    smooth = view.smooth[gaps]
    known, width = smooth > 0, smooth.shape[1]
    columns = np.arange(width, dtype=np.int32)
    left = np.maximum.accumulate(np.where(known, columns, -1), axis=1)
    right = np.minimum.accumulate(np.where(known, columns, width)[:, ::-1], axis=1)[:, ::-1]
    inner = ~known & (left >= 0) & (right < width)
    rows, at = np.nonzero(inner)
    one, other = left[rows, at], right[rows, at]
    inverse = [1.0 / smooth[rows, end] for end in (one, other)]
    shadow = view.intrinsics.fx * _BASELINE * np.abs(inverse[0] - inverse[1]) + _SLACK
    found[gaps[rows], at] = other - one - 1 > shadow
    return found


def _hidden(view: DepthView, support: Plane, rows: np.ndarray, columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Where the rays of pixels meet the support, (n, 2), and how far that is along the view (n,)."""
    x, y = view.rays
    rays = np.column_stack((x[columns], y[rows, 0], np.ones(len(rows)))) @ view.camera_to_frame.rotation.T
    eye, slope = view.camera_to_frame.translation, np.array((-support.a, -support.b, 1.0))
    down = rays @ slope
    away = (support.c - eye @ slope) / np.where(down < -1e-3, down, np.nan)
    there = away > 0
    return (eye + away[there, None] * rays[there])[:, :2], away[there]


def _height(view: DepthView, support: Plane, xy: np.ndarray) -> float:
    """The height, m, of the highest thing that hides no more of the support than points (n, 2) of it."""
    eye = view.camera_to_frame.translation
    away = np.linalg.norm(xy - eye[:2], axis=1)
    above = float(eye[2]) - support.height_at(float(eye[0]), float(eye[1]))
    return min(_HIGHEST, above * float((away.max() - away.min()) / away.max()))

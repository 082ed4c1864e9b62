"""The camera image with what was found in it: outlines in space, names and confidences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cv2
import numpy as np

from perception_node.cloud import Projector
from perception_node.detection import Detection
from perception_node.perceiver import NamedObject

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_SIDES = 24  # corners of a drawn circle
_MARGIN = 3  # pixels around a label's text

_Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels


def annotate(rgb: np.ndarray, objects: Sequence[NamedObject], projector: Projector) -> np.ndarray:
    """A copy of the image (h, w, 3) uint8 with every object's upper and lower outline and a label.

    What is not in view now is drawn thin, with "?" for its confidence. Labels keep clear of each other where they can.
    """
    image = np.ascontiguousarray(rgb.copy())
    height, width = image.shape[:2]
    scale = max(width / 640.0, 0.5)
    thick = max(1, round(2 * scale))
    labels: list[_Box] = []
    tops = []
    for seen in objects:
        paint = _contrast(seen.thing.rgb)
        upper = _pixels(corners(seen.thing, seen.thing.top), projector)
        lower = _pixels(corners(seen.thing, seen.thing.bottom), projector)
        if upper is None or lower is None:
            continue  # behind the camera
        line = thick if seen.visible else 1
        cv2.polylines(image, [lower], True, paint, 1, cv2.LINE_AA)
        if not seen.thing.round:
            for a, b in zip(lower, upper):
                cv2.line(image, tuple(map(int, a)), tuple(map(int, b)), paint, 1, cv2.LINE_AA)
        cv2.polylines(image, [upper], True, paint, line, cv2.LINE_AA)
        tops.append((seen, upper, paint))
    for seen, upper, paint in tops:  # after all outlines, so that none crosses a label
        x, y = upper.mean(axis=0)
        if not (0 <= x < width and 0 <= y < height):
            continue
        text = f"{seen.name} {seen.thing.confidence:.2f}" if seen.visible else f"{seen.name} ?"
        labels.append(_label(image, text, (int(x), int(upper[:, 1].min())), paint, scale, labels))
    return image


def corners(thing: Detection, z: float) -> np.ndarray:
    """The outline of a thing at a height, (N, 3) in the base frame, metres."""
    w, d = thing.size[0] / 2, thing.size[1] / 2
    if thing.round:
        turn = np.linspace(0.0, 2 * math.pi, _SIDES, endpoint=False)
        local = np.column_stack((w * np.cos(turn), w * np.sin(turn)))
    else:
        local = np.array([(w, d), (-w, d), (-w, -d), (w, -d)])
    c, s = math.cos(thing.yaw), math.sin(thing.yaw)
    xy = local @ np.array([[c, s], [-s, c]]) + thing.position[:2]
    return np.column_stack((xy, np.full(len(xy), z)))


def _pixels(points: np.ndarray, projector: Projector) -> np.ndarray | None:
    """Columns and rows (N, 2) int32 of places, None where one is behind the camera."""
    uv = np.column_stack(projector.pixels(points))
    return np.round(np.clip(uv, -1e4, 1e4)).astype(np.int32) if np.isfinite(uv).all() else None


def _contrast(rgb: tuple[float, float, float]) -> tuple[int, int, int]:
    """The object's colour, lightened so that its outline stands out from the object itself."""
    r, g, b = (int(0.4 * v + 0.6 * 255) for v in rgb)
    return r, g, b


def _label(
    image: np.ndarray, text: str, at: tuple[int, int], paint: tuple[int, int, int], scale: float, taken: list[_Box]
) -> _Box:
    """Write a text above a pixel, moved up or down from other labels; returns its box."""
    height, width = image.shape[:2]
    size = 0.4 * scale
    (w, h), base = cv2.getTextSize(text, _FONT, size, 1)
    w, h = w + 2 * _MARGIN, h + base + 2 * _MARGIN
    left = min(max(at[0] - w // 2, 0), max(width - w, 0))
    box = (left, 0, left + w, h)
    for step in (0, 1, -1, 2, -2, 3, -3, 4, -4):
        top = min(max(at[1] - h - _MARGIN - step * (h + 1), 0), max(height - h, 0))
        box = (left, top, left + w, top + h)
        if not any(_overlap(box, other) for other in taken):
            break
    cv2.rectangle(image, box[:2], box[2:], (30, 30, 30), cv2.FILLED)
    cv2.rectangle(image, box[:2], box[2:], paint, 1)
    cv2.putText(
        image, text, (box[0] + _MARGIN, box[3] - base - _MARGIN + 1), _FONT, size, (255, 255, 255), 1, cv2.LINE_AA
    )
    return box


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

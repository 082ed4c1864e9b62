"""The camera image annotated with the detected objects: outlines in space, names and confidences."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import cv2
import numpy as np

from planweave.perception.detection import Detection
from planweave.perception.geometry import Projector, rotated
from planweave.perception.perceiver import NamedObject

_FONT = cv2.FONT_HERSHEY_SIMPLEX
_SIDES = 24  # corners of a drawn circle
_MARGIN = 3  # pixels around a label's text
_DARK, _LIGHT = (30, 30, 30), (255, 255, 255)
_COLUMNS, _LINE = 90, 17  # characters of a line of notes, and its height in pixels of an image 640 wide

_Box = tuple[int, int, int, int]  # left, top, right, bottom in pixels


def annotate(
    rgb: np.ndarray, objects: Sequence[NamedObject], projector: Projector, notes: Sequence[str] = ()
) -> np.ndarray:
    """A copy of the image (h, w, 3) uint8 with every object's upper and lower outline and a label, and with notes.

    Objects that are not in view are drawn thin, with "?" as their confidence. Labels avoid each other and, where
    possible, objects.
    """
    image = np.ascontiguousarray(rgb.copy())
    height, width = image.shape[:2]
    scale = max(width / 640.0, 0.5)
    drawn = []
    for seen in objects:
        outlines = _outlines(seen.thing, projector)
        if outlines is None:
            continue  # behind the camera
        upper, lower = outlines
        paint = _lightened(seen.thing.rgb)
        thick = max(1, round(2 * scale)) if seen.visible else 1
        cv2.polylines(image, [lower], True, paint, 1, cv2.LINE_AA)
        if not seen.thing.is_round:
            for a, b in zip(lower, upper):
                cv2.line(image, tuple(map(int, a)), tuple(map(int, b)), paint, 1, cv2.LINE_AA)
        cv2.polylines(image, [upper], True, _DARK, thick + 2, cv2.LINE_AA)  # so that the outline stands out on anything
        cv2.polylines(image, [upper], True, paint, thick, cv2.LINE_AA)
        (left, top), (right, bottom) = upper.min(axis=0).tolist(), upper.max(axis=0).tolist()
        box = (left, top, right, bottom)
        if box[0] < width and box[1] < height and box[2] >= 0 and box[3] >= 0:
            drawn.append((seen, box, paint))
    things: list[_Box] = [box for _, box, _ in drawn]
    labels: list[_Box] = []
    for seen, box, paint in drawn:  # after all outlines, so that none crosses a label
        if not seen.name:
            continue
        text = f"{seen.name} {seen.thing.confidence:.2f}" if seen.visible else f"{seen.name} ?"
        labels.append(_label(image, text, box, paint, scale, labels, things))
    lines = [line for note in notes for line in textwrap.wrap(note, _COLUMNS)]
    for k, line in enumerate(reversed(lines)):
        level = height - round(_LINE * scale * k)
        labels.append(_label(image, line, (0, level, width, level), _LIGHT, scale, [], []))
    return image


def corners(thing: Detection, z: float) -> np.ndarray:
    """Outline of an object at a height, (N, 3) in the base frame, metres."""
    w, d = thing.size[0] / 2, thing.size[1] / 2
    if thing.is_round:
        turn = np.linspace(0.0, 2 * math.pi, _SIDES, endpoint=False)
        local = np.column_stack((w * np.cos(turn), w * np.sin(turn)))
    else:
        local = np.array([(w, d), (-w, d), (-w, -d), (w, -d)])
    xy = rotated(local, thing.yaw) + thing.position[:2]
    return np.column_stack((xy, np.full(len(xy), z)))


def box_in_image(thing: Detection, projector: Projector) -> _Box | None:
    """Left, top, right, bottom of an object's outline in the image, pixels; None where it is not in it."""
    outlines = _outlines(thing, projector)
    if outlines is None:
        return None
    points, camera = np.concatenate(outlines), projector.intrinsics
    left, top = np.maximum(points.min(axis=0), 0).tolist()
    right, bottom = np.minimum(points.max(axis=0), (camera.width - 1, camera.height - 1)).tolist()
    return (left, top, right, bottom) if left < right and top < bottom else None


def _outlines(thing: Detection, projector: Projector) -> np.ndarray | None:
    """Columns and rows (2, N, 2) int32 of the upper and the lower outline, None where a part is behind the camera."""
    points = np.concatenate([corners(thing, z) for z in (thing.top, thing.bottom)])
    uv = np.column_stack(projector.pixels(points)).reshape(2, -1, 2)
    return np.round(np.clip(uv, -1e4, 1e4)).astype(np.int32) if np.isfinite(uv).all() else None


def _lightened(rgb: tuple[float, float, float]) -> tuple[int, int, int]:
    """The object's colour, half way to white."""
    r, g, b = (int(0.5 * v + 0.5 * 255) for v in rgb)
    return r, g, b


def _label(
    image: np.ndarray,
    text: str,
    thing: _Box,
    paint: tuple[int, int, int],
    scale: float,
    labels: Sequence[_Box],
    things: Sequence[_Box],
) -> _Box:
    """Write a text beside an object's box where it overlaps least, other labels first; returns the text's box."""
    height, width = image.shape[:2]
    size = 0.38 * scale
    (w, h), base = cv2.getTextSize(text, _FONT, size, 1)
    w, h = w + 2 * _MARGIN, h + base + 2 * _MARGIN
    middle, level = (thing[0] + thing[2] - w) // 2, (thing[1] + thing[3] - h) // 2
    above, below = thing[1] - h - _MARGIN, thing[3] + _MARGIN
    places = [(middle, above), (middle, below), (thing[2] + _MARGIN, level), (thing[0] - w - _MARGIN, level)]
    places += [(middle + side * w // 2, y) for y in (above, below) for side in (-1, 1)]
    places += [(middle, above - (h + 1)), (middle, below + h + 1)]

    def box_at(place: tuple[int, int]) -> _Box:
        left = min(max(place[0], 0), max(width - w, 0))
        top = min(max(place[1], 0), max(height - h, 0))
        return left, top, left + w, top + h

    def covered(box: _Box) -> int:
        return sum(_overlap(box, other) for other in things) + 100 * sum(_overlap(box, other) for other in labels)

    box = min(map(box_at, places), key=covered)  # the first of equals
    cv2.rectangle(image, box[:2], box[2:], _DARK, cv2.FILLED)
    cv2.rectangle(image, box[:2], box[2:], paint, 1)
    start = (box[0] + _MARGIN, box[3] - base - _MARGIN + 1)
    cv2.putText(image, text, start, _FONT, size, (255, 255, 255), 1, cv2.LINE_AA)
    return box


def _overlap(a: _Box, b: _Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

"""Pictures with numbered marks on the things that are to be named."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import cv2
import numpy as np

_COLOURS = ((255, 60, 60), (60, 220, 60), (80, 140, 255), (255, 200, 0), (255, 80, 255), (0, 220, 220))
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_TEXT = 0.45  # scale of the numbers


def draw_marks(rgb: np.ndarray, masks: Mapping[int, np.ndarray]) -> np.ndarray:
    """A copy of a picture (h, w, 3) with the outline of each mask (h, w) and its number in the mask's middle."""
    image = np.ascontiguousarray(rgb.copy())
    for number, mask in masks.items():
        outlines, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        cv2.drawContours(image, outlines, -1, _COLOURS[number % len(_COLOURS)], 1)
    for number, mask in masks.items():  # over all outlines
        if mask.any():
            _write(image, str(number), _middle(mask), _COLOURS[number % len(_COLOURS)])
    return image


def _middle(mask: np.ndarray) -> tuple[int, int]:
    """The pixel (column, row) of a mask that is farthest from its edge."""
    depth = cv2.distanceTransform(np.pad(mask.astype(np.uint8), 1), cv2.DIST_L2, 3)[1:-1, 1:-1]
    row, column = np.unravel_index(int(depth.argmax()), mask.shape)
    return int(column), int(row)


def _write(image: np.ndarray, text: str, at: tuple[int, int], colour: tuple[int, int, int]) -> None:
    (width, height), _ = cv2.getTextSize(text, _FONT, _TEXT, 1)
    x = min(max(at[0] - width // 2, 1), image.shape[1] - width - 2)
    y = min(max(at[1] + height // 2, height + 2), image.shape[0] - 2)
    cv2.rectangle(image, (x - 2, y - height - 2), (x + width + 1, y + 2), (0, 0, 0), -1)
    cv2.putText(image, text, (x, y), _FONT, _TEXT, colour, 1, cv2.LINE_AA)


def data_url(rgb: np.ndarray) -> str:
    """A picture as the PNG text that endpoints take."""
    _, data = cv2.imencode(".png", np.ascontiguousarray(rgb[..., ::-1]))
    return "data:image/png;base64," + base64.b64encode(data.tobytes()).decode("ascii")

"""Pictures with numbered marks on the things that are to be named."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

_COLOURS = ((255, 60, 60), (60, 220, 60), (80, 140, 255), (255, 200, 0), (255, 80, 255), (0, 220, 220))
_FONT = cv2.FONT_HERSHEY_SIMPLEX
_TEXT = 0.45  # scale of the numbers
_TILE, _TILES = 192, 6  # pixels of a tile's edge; tiles in a row
_CUT_OFF = 0.2
_MARGIN = 1.3  # of a tile's edge, to the extent of what it shows


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


def close_ups(pictures: Sequence[np.ndarray], masks: Mapping[int, Sequence[np.ndarray | None]]) -> np.ndarray:
    """One picture with a tile for every number: what it marks, enlarged, from the picture that shows it best.

    pictures: (h, w, 3) each; masks: number -> its pixels (h, w) in each picture, None where it is not shown.
    """
    tiles = []
    for number, own in masks.items():
        shown = [(_shows(mask), k, mask) for k, mask in enumerate(own) if mask is not None and mask.any()]
        if not shown:
            continue
        _, best, mask = max(shown, key=lambda row: row[:2])
        tile = _enlarged(pictures[best], mask, _COLOURS[number % len(_COLOURS)])
        _write(tile, str(number), (_TILE // 2, 8), _COLOURS[number % len(_COLOURS)])
        tiles.append(tile)
    columns = min(_TILES, max(len(tiles), 1))
    rows = -(-max(len(tiles), 1) // columns)
    sheet = np.zeros((rows * _TILE, columns * _TILE, 3), np.uint8)
    for k, tile in enumerate(tiles):
        y, x = k // columns * _TILE, k % columns * _TILE
        sheet[y : y + _TILE, x : x + _TILE] = tile
    return sheet


def _shows(mask: np.ndarray) -> float:
    """Pixels of a mask; what the picture's edge cuts off counts for less."""
    cut = mask[[0, -1]].any() or mask[:, [0, -1]].any()
    return float(mask.sum()) * (_CUT_OFF if cut else 1.0)


def _enlarged(rgb: np.ndarray, mask: np.ndarray, colour: tuple[int, int, int]) -> np.ndarray:
    """A square tile around a mask, with its outline."""
    rows, columns = np.nonzero(mask)
    half = int(max(np.ptp(rows), np.ptp(columns)) * _MARGIN / 2) + 4
    y, x = (int(rows.min()) + int(rows.max())) // 2, (int(columns.min()) + int(columns.max())) // 2
    window = np.s_[y : y + 2 * half + 1, x : x + 2 * half + 1]
    padded = cv2.copyMakeBorder(np.ascontiguousarray(rgb), half, half, half, half, cv2.BORDER_CONSTANT)
    image = cv2.resize(padded[window], (_TILE, _TILE), interpolation=cv2.INTER_CUBIC)
    there = cv2.resize(np.pad(mask.astype(np.uint8), half)[window], (_TILE, _TILE), interpolation=cv2.INTER_NEAREST)
    outlines, _ = cv2.findContours(there, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    cv2.drawContours(image, outlines, -1, colour, 1)
    cv2.rectangle(image, (0, 0), (_TILE - 1, _TILE - 1), (255, 255, 255), 1)
    return np.asarray(image)


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

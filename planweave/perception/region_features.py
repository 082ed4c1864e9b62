"""Input features of the region head for one object: a small image of its pixels, and its measures in metres."""

from __future__ import annotations

import cv2
import numpy as np

from planweave.perception.colours import patch_colour
from planweave.perception.geometry import outline
from planweave.perception.regions import PixelRegion

SIDE = 32  # pixels
CHANNELS = 6  # red, green, blue, mask, height in metres, height over the top
MEASURES = 19
_MARGIN = 1.12


def picture(region: PixelRegion) -> np.ndarray:
    """(CHANNELS, SIDE, SIDE) float32, 0 outside the region; scaled to the region's longer side."""
    rows, columns = region.rows, region.columns
    r0, c0 = int(rows.min()), int(columns.min())
    height, width = int(rows.max()) - r0 + 1, int(columns.max()) - c0 + 1
    whole = np.zeros((height, width, CHANNELS), np.float32)
    z = np.clip(region.points[:, 2], 0.0, None)
    whole[rows - r0, columns - c0] = np.column_stack(
        (region.colours / 255.0, np.ones(len(rows)), z / 0.1, z / max(region.top, 1e-3))
    )
    side = int(np.ceil(_MARGIN * max(height, width)))
    square = np.zeros((side, side, CHANNELS), np.float32)
    top, left = (side - height) // 2, (side - width) // 2
    square[top : top + height, left : left + width] = whole
    how = cv2.INTER_AREA if side > SIDE else cv2.INTER_LINEAR
    return np.stack([cv2.resize(square[..., k], (SIDE, SIDE), interpolation=how) for k in range(CHANNELS)])


def measures(region: PixelRegion, pixel: float) -> np.ndarray:
    """(MEASURES,) float32: extents and heights in units of 5 cm, ratios, and the colour of its illuminated part."""
    points = region.points
    shape = outline(points[:, :2], pixel / 2)
    crown = points[points[:, 2] > region.top - 0.010]
    face = outline(crown[:, :2], pixel / 2) if len(crown) > 8 else shape
    top = max(region.top, 1e-3)
    inner = np.hypot(*(points[:, :2] - shape.circle_centre).T) < 0.45 * shape.radius
    middle = float(np.median(points[inner, 2])) if inner.sum() > 4 else top
    red, green, blue = patch_colour(region.colours)
    return np.array(
        [
            shape.long / 0.05,
            shape.short / 0.05,
            top / 0.05,
            np.log(max(shape.long, 1e-3) / max(shape.short, 1e-3)),
            np.log(top / max(shape.short, 1e-3)),
            shape.fill,
            face.fill,
            face.aspect,
            face.area / max(shape.area, 1e-6),
            float(region.steep.mean()),
            middle / top,
            *(np.percentile(points[:, 2], (10, 30, 50, 70, 90)) / top),
            red / 255,
            green / 255,
            blue / 255,
        ],
        dtype=np.float32,
    ).clip(-5, 12)

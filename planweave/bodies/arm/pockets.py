"""Pockets of a thing: what its walls enclose, seen from above, also where one is not seen to its ends."""

from __future__ import annotations

from collections.abc import Iterator

import cv2
import numpy as np

from planweave.bodies.arm.scene_object import Region, Thing

_BELOW = 0.01  # m that a pocket is deeper than the lowest wall
_LEAST = 0.03  # m of a pocket's shorter side
_GAP = 4  # cells: half of the width of a gap in a wall that is not seen whole, at most


def pockets_of(thing: Thing) -> Iterator[Region]:
    """The pockets of a thing of known parts, along its axes, in the frame of its position; m."""
    solid = thing.solid
    if solid is None or not solid.parts or not solid.openings:
        return
    heights = solid.heights
    rim = min(opening.rim for opening in solid.openings)
    low = (np.isfinite(heights.top) & (heights.top < rim - _BELOW)).astype(np.uint8)
    inner = cv2.erode(low, np.ones((2 * _GAP + 1,) * 2, np.uint8), borderType=cv2.BORDER_CONSTANT, borderValue=1)
    count, _, boxes, _ = cv2.connectedComponentsWithStats(inner, connectivity=4)
    for row in boxes[1:count]:  # columns of `top` are along y
        j, i, down, across = (int(v) + d for v, d in zip(row, (-_GAP, -_GAP, 2 * _GAP, 2 * _GAP)))
        dx, dy = across * heights.step, down * heights.step
        edge = i <= 0 or j <= 0 or i + across >= low.shape[0] or j + down >= low.shape[1]
        if edge or min(dx, dy) < _LEAST:
            continue
        x, y = (o + (k + (n - 1) / 2) * heights.step for o, k, n in zip(heights.origin, (i, j), (across, down)))
        floor = float(np.median(heights.top[i : i + across, j : j + down]))
        centre = thing.position[0] + x, thing.position[1] + y, thing.position[2] + (floor + rim) / 2
        yield Region(centre, (dx, dy, rim - floor))

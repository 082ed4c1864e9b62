"""Boards and sides of a shelf, found in its points. Metres, z up.

A shelf is open where the edges of its boards show and nothing is between them; a side of which nothing is seen counts
as closed, so that nobody reaches through it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from planweave.geometry.joints import OrientedBox
from planweave.perception.carcass import FLAT, Carcass

_LAYER = 0.024  # below the height at which a board shows within which its upper side is
_THICK = (0.006, 0.04)  # of a board
_EDGE = 3.0  # times as many points as a layer of the sides does a layer of a board's edge show
_RIM = 0.012  # from a side within which an edge is
_SIDE, _SEEN = (0.004, 0.035), 12  # of a side; points that show its inner face
_UNSEEN = 0.014  # of a side of which nobody sees the inner face
_FOOT = 0.06  # of room above what it stands on, at least
_COLUMN, _SHOWN = 0.02, 0.6  # of the columns along a side; share of them in which what is there shows


def shelf_shape(body: Carcass, points: np.ndarray, heights: Sequence[float]) -> tuple[OrientedBox, ...]:
    """Its boards from the top down, then its sides; none where no side is open, or points (n, 3) show but one board.
    What it stands on is its lowest one, where there is room above that.

    heights: about where the upper sides of its boards are, from the top down.
    """
    own = body.of(points) + (body.depth, 0.0, 0.0)
    own = own[(np.abs(own[:, :2]) < np.array((body.depth, body.width)) + FLAT).all(axis=1)]
    layers = (own[(own[:, 2] > height - _LAYER) & (own[:, 2] < height + FLAT), 2] for height in heights)
    tops = [float(np.median(_densest(layer))) for layer in layers]
    lows = [top - _thickness(body, own, top) for top in tops]
    if len(tops) < 2:
        return ()
    if tops[-1] - body.low > _FOOT:
        tops, lows = [*tops, body.low], [*lows, body.low - _THICK[0]]
    ends = [(axis, sign) for axis in (0, 1) for sign in (-1.0, 1.0)]
    shut = [end for end in ends if not _is_open(body, own, *end, tops, lows)]
    if len(shut) == len(ends):
        return ()
    inner = np.array([[-body.depth, -body.width], [body.depth, body.width]])
    between = own[(own[:, 2] < lows[0]) & (own[:, 2] > tops[-1])]
    sides = []
    for axis, sign in shut:
        low, high = np.array((-body.depth, -body.width)), np.array((body.depth, body.width))
        middle = between[np.abs(between[:, 1 - axis]) < high[1 - axis] - _SIDE[1]]
        depth = high[axis] - sign * middle[:, axis]
        face = _densest(depth[(depth > _SIDE[0]) & (depth < _SIDE[1])])
        thick = float(np.median(face)) + FLAT / 2 if len(face) >= _SEEN else _UNSEEN
        end = int(sign > 0)
        inner[end, axis] = sign * (high[axis] - thick)
        (low if sign > 0 else high)[axis] = inner[end, axis]
        sides.append(_box(body, low, high, body.low, body.top))
    return (*(_box(body, inner[0], inner[1], low, top) for low, top in zip(lows, tops)), *sides)


def _box(body: Carcass, one: np.ndarray, two: np.ndarray, low: float, high: float) -> OrientedBox:
    """A box between corners (2,) along the furniture's depth and width, from its middle, and two heights."""
    return body.box(np.array((one[0] - body.depth, one[1], low)), np.array((two[0] - body.depth, two[1], high)))


def _densest(values: np.ndarray) -> np.ndarray:
    """Those of some lengths that lie closest together."""
    bins = np.floor(values / FLAT).astype(int)
    levels, counts = np.unique(bins, return_counts=True)
    return np.asarray(values[np.abs(bins - levels[counts.argmax()]) <= 1] if len(values) else values)


def _thickness(body: Carcass, own: np.ndarray, top: float) -> float:
    """How far down the edge of a board shows."""
    rim = (np.abs(own[:, :2]) > np.array((body.depth, body.width)) - _RIM).any(axis=1)
    below = top + FLAT / 2 - own[rim, 2]
    counts = np.bincount(np.floor(below[(below > 0) & (below < _THICK[1])] / FLAT).astype(int), minlength=1)
    gaps = np.flatnonzero(counts < _EDGE * np.median(counts))
    layers = int(gaps[0]) if len(gaps) else len(counts)
    return float(np.clip(layers * FLAT, *_THICK))


def _is_open(
    body: Carcass, own: np.ndarray, axis: int, sign: float, tops: Sequence[float], lows: Sequence[float]
) -> bool:
    """Whether an end of the furniture shows the edges of its boards, and nothing between them."""
    half, wide = (body.depth, body.width) if axis == 0 else (body.width, body.depth)
    rim = own[(sign * own[:, axis] > half - _RIM) & (np.abs(own[:, 1 - axis]) < wide - _SIDE[1])]

    def shown(low: float, high: float) -> float:
        there = rim[(rim[:, 2] > low) & (rim[:, 2] < high), 1 - axis]
        return len(np.unique(np.floor(there / _COLUMN))) * _COLUMN / (2 * (wide - _SIDE[1]))

    edges = max(shown(low, top - FLAT / 2) for low, top in zip(lows[:-1], tops[:-1]))
    free = max(shown(top + _RIM, low - _RIM) for low, top in zip(lows, tops[1:]))
    return edges >= _SHOWN and free < 1 - _SHOWN

"""Pieces of one picture that are two things in another one, parted at their waist.

Rims that touch, or one that lies over another, are one surface in one picture, while another camera sees them apart.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.plain_patches import nearest_parts

_SAME = 0.008  # m between what two cameras show of one place
_SHARED, _LEAST = 0.1, 30  # share of a piece's pixels, and pixels, that show another one
_WAIST = 0.65  # width of the waist, of that of the narrower part


def part_at_waists(
    views: Sequence[DepthView], labels: Sequence[np.ndarray]
) -> tuple[list[np.ndarray], list[tuple[int, int]]]:
    """Labels (h, w) of pieces, numbered throughout from 1, with those parted that are two in another picture; and the
    pairs of numbers that were one.
    """
    parted, count = [label.copy() for label in labels], max(int(label.max(initial=0)) for label in labels)
    pairs = []
    for view, label, mine in zip(views, labels, parted):
        for other, others in zip(views, labels):
            if other is view:
                continue
            shown = _shown(view, label, other, others)
            for piece in np.unique(mine[shown > 0]).tolist():
                for half in _halves(mine == piece, shown):
                    count += 1
                    mine[half] = count
                    pairs.append((piece, count))
    return parted, pairs


def _shown(view: DepthView, label: np.ndarray, other: DepthView, others: np.ndarray) -> np.ndarray:
    """(h, w): the other picture's piece that shows the same place as a pixel, 0 for none."""
    v, u = np.nonzero(label)
    points = view.points[v, u]
    columns, rows, _, inside = other.projector.shown(points)
    same = np.linalg.norm(other.points[rows, columns] - points[inside], axis=1) < _SAME
    found = np.zeros_like(label)
    found[v[inside[same]], u[inside[same]]] = others[rows[same], columns[same]]
    return found


def _halves(inside: np.ndarray, shown: np.ndarray) -> list[np.ndarray]:
    """What is parted from a piece (h, w) bool, as masks; shown: the other picture's pieces of its pixels."""
    counts = np.bincount(shown[inside])
    counts[0] = 0
    several = np.flatnonzero(counts >= max(_SHARED * inside.sum(), _LEAST))
    if len(several) < 2:
        return []
    edges, _ = cv2.findContours(inside.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    filled = cv2.drawContours(np.zeros(inside.shape, np.uint8), edges, -1, 1, cv2.FILLED)
    away = cv2.distanceTransform(np.pad(filled, 1), cv2.DIST_L2, 5)[1:-1, 1:-1]  # pixels to the edge; holes are inside
    for one in several:
        middles = [_widest(away, inside & mask) for mask in (shown == one, np.isin(shown, several[several != one]))]
        for width in range(1, int(_WAIST * min(away[at] for at in middles)) + 1):
            _, cores = cv2.connectedComponents((away > width).astype(np.uint8))
            if cores[middles[0]] != cores[middles[1]]:
                halves = nearest_parts(inside, [cores == cores[at] for at in middles], 5)
                return [halves[0], *_halves(halves[0], shown), *_halves(halves[1], shown)]
    return []


def _widest(away: np.ndarray, among: np.ndarray) -> tuple[int, int]:
    """The pixel of these that is farthest from the edge."""
    row, column = np.unravel_index(np.argmax(np.where(among, away, -1)), away.shape)
    return int(row), int(column)

"""Two things that are one surface in a picture, parted at their waist.

Rims that touch, or one that lies over another, are one surface: to one camera, while another sees them apart, or to
all of them, where the outline from above is two wide bodies with a narrow neck that is free on both sides.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import hull_of, inward, percentile
from planweave.perception.piece_groups import PieceGroups
from planweave.perception.plain_patches import nearest_parts

_SAME = 0.008  # m between what two cameras show of one place
_SHARED, _LEAST = 0.1, 30  # share of a piece's pixels, and pixels, that show another one
_WAIST = 0.65  # width of the waist, of that of the narrower part
_NECK, _BODY = 0.5, 0.05  # width of a neck, of that of the narrower body, and m that a body is wide at least
_PART = 0.3  # share of the pixels of one body, below which the other is a part of it
_SOLID = 0.93  # share of its hull that an outline with a neck fills at most
_BESIDE = 4  # pixels beside a neck that are looked at
_BEHIND, _FREE = 0.01, 0.5  # m behind a neck, and share of pixels beside it, that show it free
_OVER, _FEW = (
    0.4,
    200,
)  # share of one body that is over another one that it is not beside, and points that are looked at
_STANDS = 0.04  # m above the ground up to which the lowest that is seen of each body is
_CELL = 0.004  # m of a cell seen from above
_AROUND = np.ones((3, 3), np.uint8)


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


def part_at_necks(
    views: Sequence[DepthView], labels: Sequence[np.ndarray], groups: PieceGroups
) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """The piece of every point of the groups, with those of a group parted that a picture shows as two bodies with a
    narrow neck that is free on both sides, and that are beside each other seen from above; and the pairs of pieces on
    both sides of necks. labels: (h, w) of the pieces of every view.
    """
    pieces, pairs, count = groups.piece.copy(), list[tuple[int, int]](), len(groups.parent) - 1
    owners, first = groups.owners(), 0
    for view, label in zip(views, labels):
        owner, points = owners[label], view.points
        last = first + int((label > 0).sum())
        for group in np.unique(owners[groups.piece[first:last]]).tolist():
            halves = _beside_neck(view, owner == group, label == 0)
            if halves is None or not _are_beside(*(points[half][:, :2] for half in halves)):
                continue
            rows = np.flatnonzero(owners[groups.piece] == group)
            beyond = _nearer_to_second(groups.points[rows], *(points[half] for half in halves))
            heights = [groups.height[rows[half]] for half in (beyond, ~beyond)]
            if any(not len(of) or percentile(of, 2) > _STANDS for of in heights):
                continue  # an arm of another robot has many necks
            far = rows[beyond]
            across, near = np.unique(pieces[far]), np.unique(pieces[np.setdiff1d(rows, far)])
            renumbered = np.where(np.isin(across, near), count + 1 + np.arange(len(across)), across)
            count += len(across)
            pieces[far] = renumbered[np.searchsorted(across, pieces[far])]
            pairs += [(int(a), int(b)) for a in near for b in renumbered]
        first = last
    return pieces, pairs


def _beside_neck(view: DepthView, inside: np.ndarray, ground: np.ndarray) -> list[np.ndarray] | None:
    """The two parts of a group's pixels (h, w) bool on both sides of its neck, as masks; None where it has none.

    ground: (h, w) bool, pixels of no thing.
    """
    x, y, w, h = cv2.boundingRect(inside.view(np.uint8))
    window = np.s_[max(y - _BESIDE, 0) : y + h + _BESIDE, max(x - _BESIDE, 0) : x + w + _BESIDE]
    mine, range_ = inside[window], view.range[window]
    least, distance = _BODY * view.intrinsics.fx, float(np.median(range_[mine]))
    edges, _ = cv2.findContours(mine.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    edge = max(edges, key=cv2.contourArea)
    if max(w, h) * distance < 2 * least or cv2.contourArea(edge) > _SOLID * cv2.contourArea(cv2.convexHull(edge)):
        return None
    filled = cv2.drawContours(np.zeros(mine.shape, np.uint8), [edge], -1, 1, cv2.FILLED)
    bodies = _bodies(filled, least / distance)
    if bodies is None:
        return None
    one, two = nearest_parts(filled > 0, bodies, 5)
    if min(one.sum(), two.sum()) < _PART * max(one.sum(), two.sum()):
        return None  # a handle
    line = cv2.dilate(one.astype(np.uint8), _AROUND) * two
    around = cv2.dilate(line, np.ones((2 * _BESIDE + 1,) * 2, np.uint8)) * (1 - filled)
    sides, numbers = cv2.connectedComponents(around)
    free = ground[window] & (range_ > float(np.median(range_[line > 0])) + _BEHIND)
    if sides < 3 or any(free[numbers == k].mean() < _FREE for k in range(1, sides)):
        return None
    halves = [np.zeros_like(inside) for _ in bodies]
    for half, body in zip(halves, (one, two)):
        half[window] = body & mine
    return halves


def _bodies(filled: np.ndarray, least: float) -> list[np.ndarray] | None:
    """Masks of the cores of the two widest bodies of an outline (h, w) with a narrow neck; least: their width."""
    away = cv2.distanceTransform(np.pad(filled, 1), cv2.DIST_L2, 5)[1:-1, 1:-1]
    if cv2.connectedComponents((away >= least / 2).astype(np.uint8))[0] < 3:
        return None  # of so wide places there are no two
    for width in range(1, int(_NECK * away.max()) + 1):
        count, cores = cv2.connectedComponents((away > width).astype(np.uint8))
        widths = [float(away[cores == core].max()) for core in range(1, count)]
        wide = [core for core, wid in enumerate(widths, 1) if wid >= max(width / _NECK, least / 2)]
        if len(wide) == 2:
            return [cores == core for core in wide]
    return None


def _are_beside(one: np.ndarray, two: np.ndarray) -> bool:
    """Whether of two bodies (n, 2), seen from above, no great part of the smaller one is within the other's outline."""
    return all(
        (inward(a[:: max(1, len(a) // _FEW)], hull_of(b)) > 0).mean() < _OVER for a, b in ((one, two), (two, one))
    )


def _nearer_to_second(points: np.ndarray, one: np.ndarray, two: np.ndarray) -> np.ndarray:
    """Which points (n, 3) are nearer to the second of two clouds, (n,) bool."""
    low = np.minimum(one.min(axis=0), two.min(axis=0)) - _CELL
    size = ((np.maximum(one.max(axis=0), two.max(axis=0)) - low) / _CELL).astype(int)[:2] + 2
    away = []
    for cloud in (one, two):
        grid = np.ones(size, np.uint8)
        grid[tuple(((cloud - low) / _CELL).astype(int)[:, :2].T)] = 0
        away.append(cv2.distanceTransform(grid, cv2.DIST_L2, 5))
    at = np.clip(((points - low) / _CELL).astype(int)[:, :2], 0, size - 1)
    return np.asarray(away[1][tuple(at.T)] < away[0][tuple(at.T)])

"""Pieces of surfaces in one picture: connected pixels that no step and no concave crease cuts, and their borders."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.depth_views import STEP, DepthView
from planweave.perception.plain_patches import cut_by_colours, part_by_colours

LEAST_AREA = 1e-4  # m^2 that a piece starts from; what is smaller belongs to its neighbours
_GAP = 3  # pixels: what a narrower gap in a cut connects may be two things
_LEAST_CORE = 1e-3  # m^2 of each of two things that a gap connects
_NECK = 12  # pixels that narrow parts of a thing reach out from its core
_CALM = 0.5  # strength of cuts below which pieces start
_PARTED = 0.45  # share of a border that is cut, from which on it parts two pieces
_MOSTLY = 0.75  # the same where colours alone have cut: the neck of a bottle is a crease, too
_SHORT = 0.15  # share of the border of two wholes, below which a part of it does not join what colours cut from them
_RAGGED = 0.01  # weight of pairs of pixels along a ragged border, not across it
_FOOT = 0.015  # m beside a thing up to which what is low is its foot
_LINE = 2  # pixels of the lines between pieces
_AROUND, _NEAR, _BESIDE = (np.ones((size, size), np.uint8) for size in (3, 5, 11))
_SHADOW = 16  # pixels without depth that a border crosses
_ASIDE = 2  # pixels from a border to the points that tell how its two sides lie to each other
_TOUCHING, _TOUCHING_PIXELS = 0.018, 10  # m, or sizes of a pixel, between these where the sides touch


@dataclass(frozen=True, eq=False)
class Borders:
    """Pairs of neighbouring pixels of two pieces: numbers of the pieces, 0 for the ground, (n, 2); points (n, 2, 3), m.

    cut: (n,) bool, at a step or in a crease; touches: (n,) bool; nearer: (n,) how much nearer to the camera the first
    one is, metres.
    """

    pieces: np.ndarray
    points: np.ndarray
    cut: np.ndarray
    touches: np.ndarray
    nearer: np.ndarray


def find_pieces(view: DepthView, free: np.ndarray, ground: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Numbers of the pieces from 1 (h, w) int32, 0 for none; free, ground: (h, w) bool, pixels of things and of the
    ground, between which the sharpest cut decides; low: (h, w) bool, pixels hardly higher than the ground's noise.
    """
    if not free.any():
        return np.zeros(free.shape, np.int32)
    calm = (free & ~ground & (view.cuts < _CALM)).astype(np.uint8)
    seeds = _seeds(calm, view.areas, view.hidden)
    seeds[~free | ground] = 1
    strength = np.clip(view.cuts * 80, 0, 255).astype(np.uint8)
    grown = cv2.watershed(cv2.merge([strength] * 3), seeds)  # Meyer's flooding: pieces meet where the cut is sharpest
    strip = (free & ~ground & (grown == 1)).astype(np.uint8)  # between two cuts: a foot, a rim
    if view.hidden is not None:
        strip[cv2.dilate(view.hidden.astype(np.uint8), _BESIDE) > 0] = 0  # where no cut is measured
    first = int(grown.max()) + 1
    strips = _large(cv2.morphologyEx(strip * ~low, cv2.MORPH_OPEN, _AROUND), view.areas, LEAST_AREA, first)
    grown = np.where(free, np.where(strips > 0, strips, grown), 1)
    labels = np.maximum(_closed(grown, view) - 1, 0)
    pieces = _joined(np.where(free, labels, 0), view, strips_from=first - 1)
    pieces = _joined(cut_by_colours(view, pieces), view, pieces)  # what touches another thing at its ends alone
    pieces = part_by_colours(view, pieces)
    away, nearest = _nearest(pieces > 0)
    feet = (cv2.morphologyEx(strip * low, cv2.MORPH_OPEN, _AROUND) > 0) & (pieces == 0)
    feet &= away * view.range < _FOOT * view.intrinsics.fx
    pieces[feet] = pieces.ravel()[nearest[feet]]
    return pieces


def _nearest(mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Distance of every pixel to the nearest one of a mask, pixels, and flat index of that one."""
    away, nearest = cv2.distanceTransformWithLabels(
        (~mask).astype(np.uint8), cv2.DIST_L2, 3, labelType=cv2.DIST_LABEL_PIXEL
    )
    known = np.zeros(int(nearest.max()) + 1, np.int64)
    known[nearest[mask]] = np.flatnonzero(mask)
    return away, known[nearest]


def _seeds(calm: np.ndarray, areas: np.ndarray, hidden: np.ndarray | None = None) -> np.ndarray:
    """Where pieces start, numbered from 2, (h, w) int32, 0 elsewhere: calm pixels that are connected by more than a
    gap in a cut, and elsewhere than beside the robot's pixels, `hidden`, where no step is measured; areas: of the
    pixels, m^2.
    """
    sure = calm if hidden is None else calm * (cv2.dilate(hidden.astype(np.uint8), _NEAR) == 0)
    cores = _large(cv2.erode(sure, np.ones((_GAP, _GAP), np.uint8)), areas, _LEAST_CORE, 2)
    wholes = _large(sure, areas, LEAST_AREA, max(int(cores.max()), 1) + 1)
    if sure is not calm:
        _spread(wholes, calm > sure, _NEAR.shape[0])
        wholes += _large(calm * (wholes == 0), areas, LEAST_AREA, max(int(wholes.max()), 1) + 1)
    of = np.zeros(int(cores.max()) + 1, np.int32)  # the whole of every core
    of[cores[cores > 0]] = wholes[cores > 0]
    numbers, counts = np.unique(of[of > 0], return_counts=True)
    parted = np.isin(wholes, numbers[counts > 1])
    seeds = np.where(parted, cores, wholes)
    _spread(seeds, parted, _NECK)  # narrow parts belong to the core that is nearest along the surface
    return seeds


def _spread(labels: np.ndarray, among: np.ndarray, steps: int) -> None:
    """Let numbers go on, in place, into pixels (h, w) bool beside them that have none."""
    x, y, w, h = cv2.boundingRect((among & (labels == 0)).view(np.uint8))
    window = np.s_[max(y - 1, 0) : y + h + 1, max(x - 1, 0) : x + w + 1]
    part, inside = labels[window], among[window]
    cross = cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3))  # pixels beside each other are of one whole
    for _ in range(steps if w else 0):
        part[:] = np.where(inside & (part == 0), cv2.dilate(part.astype(np.float32), cross), part)


def _large(mask: np.ndarray, areas: np.ndarray, least: float, first: int) -> np.ndarray:
    """Numbers of the connected parts of a mask that are large enough, from `first`."""
    count, found = cv2.connectedComponents(mask, connectivity=4)
    at = np.flatnonzero(mask)
    part = found.ravel()[at]
    kept = np.bincount(part, areas.ravel()[at], count) > least
    numbers = np.zeros(count, np.int32)
    numbers[kept] = np.arange(first, kept.sum() + first)
    found.ravel()[at] = numbers[part]
    return found


def _closed(labels: np.ndarray, view: DepthView) -> np.ndarray:
    """Labels with the lines between pieces given to the piece beside them that is nearest in depth."""
    (height, width), flat, z = labels.shape, labels.ravel(), view.range.ravel()
    for _ in range(_LINE):
        at = np.flatnonzero((labels < 1) & view.valid)
        (v, u), mine = np.divmod(at, width), z[at]
        best, chosen = np.full(len(at), np.inf, np.float32), np.zeros(len(at), labels.dtype)
        for dv, du in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            beside = np.clip(v + dv, 0, height - 1) * width + np.clip(u + du, 0, width - 1)
            theirs = flat[beside]
            away = np.where(theirs > 1, np.abs(z[beside] - mine), np.inf)
            better = away < best
            best[better], chosen[better] = away[better], theirs[better]
        flat[at] = chosen
    return labels


def _neighbours(labels: np.ndarray, least: int = 1) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flat indices of pairs of neighbouring pixels of two pieces, and from the first to the second of each pair.

    least: the lowest number that counts.
    """
    one, ahead = [], []
    for a, b, step in ((labels[:, :-1], labels[:, 1:], 1), (labels[:-1], labels[1:], labels.shape[1])):
        at = np.flatnonzero((a != b) & (np.minimum(a, b) >= least))
        one.append(at + at // a.shape[1] if step == 1 else at)
        ahead.append(np.full(len(at), step))
    first, to = np.concatenate(one), np.concatenate(ahead)
    return first, first + to, to


def _joined(
    labels: np.ndarray, view: DepthView, wholes: np.ndarray | None = None, strips_from: float = np.inf
) -> np.ndarray:
    """Labels with pieces joined whose common border is cut for less than 45 % of its length, the least cut first.

    wholes: labels (h, w) of what colours have cut them from; those of one must be parted for most of their border.
    strips_from: the lowest number of strips, which lie in a crease, so that only steps part them.
    """
    one, two, ahead = _neighbours(labels)
    flat, z = labels.ravel(), view.range.ravel()
    ends, straight = [], np.ones(len(one), bool)
    for index, step in ((one, -ahead), (two, ahead)):
        inner = [np.clip(index + k * step, 0, labels.size - 1) for k in range(_ASIDE + 1)]
        for k in range(1, _ASIDE + 1):
            inside = flat[inner[k]] == flat[index]
            straight &= inside
            inner[k] = np.where(inside, inner[k], inner[k - 1])
        ends.append(z[inner[-1]])
    jump, cut = np.abs(ends[0] - ends[1]) > STEP, np.zeros(len(one), bool)
    for (step, crease), mine in zip(view.edges, (ahead == 1, ahead != 1)):
        a, b, step, crease = one[mine], two[mine], step.ravel(), crease.ravel()
        creased = np.maximum(crease[a], crease[b]) > 1
        creased &= np.maximum(flat[a], flat[b]) < strips_from
        cut[mine] = ((np.maximum(step[a], step[b]) > 1) & jump[mine]) | creased
    weight = np.where(straight, 1.0, _RAGGED)
    count = int(labels.max()) + 1
    pairs = np.sort(np.stack((labels.ravel()[one], labels.ravel()[two])), axis=0).astype(np.int64)
    keys, inverse = np.unique(pairs[0] * count + pairs[1], return_inverse=True)
    sums = (
        np.stack([np.bincount(inverse, of) for of in (cut * weight, weight, np.ones(len(inverse)))], axis=1)
        if len(keys)
        else np.zeros((0, 3))
    )
    borders = {(int(k) // count, int(k) % count): row for k, row in zip(keys, sums)}
    parent, whole = np.arange(count), np.arange(count)
    lengths: dict[tuple[int, int], float] = {}  # pixels of the border of every two wholes
    if wholes is not None:
        mine = np.flatnonzero(labels)
        whole[labels.ravel()[mine]] = wholes.ravel()[mine]
        for (a, b), row in borders.items():
            of_two = min(whole[a], whole[b]), max(whole[a], whole[b])
            lengths[of_two] = lengths.get(of_two, 0.0) + row[2]

    def share(pair: tuple[int, int]) -> float:
        """Cut share of a border, of the share from which on it parts."""
        (cut_, length, pixels), of = borders[pair], (int(whole[pair[0]]), int(whole[pair[1]]))
        of_one = of[0] == of[1]
        if not of_one and pixels < _SHORT * lengths.get((min(of), max(of)), 0.0):
            return math.inf
        return float(cut_ / length / (_MOSTLY if of_one else _PARTED))

    while borders:
        a, b = min(borders, key=lambda k: (share(k), k))
        if share((a, b)) >= 1:
            break
        parent[parent == b] = a
        del borders[a, b]
        for pair in [pair for pair in borders if b in pair]:
            row, other = borders.pop(pair), pair[0] if pair[1] == b else pair[1]
            if a < strips_from <= b and other < strips_from:
                continue  # a strip is of one thing, and joins no second one with it
            key = (min(a, other), max(a, other))
            borders[key] = borders.get(key, np.zeros(3)) + row
    return np.asarray(parent.astype(np.int32)[labels])


def find_borders(view: DepthView, labels: np.ndarray) -> Borders:
    """The borders of the pieces of a picture with each other and with the ground, also across gaps without depth: on
    one side of every near thing the projector, or the other eye, sees nothing.
    """
    away, source = _nearest(view.valid)
    filled = np.where(away < _SHADOW, labels.ravel()[source], -1)
    one, two, ahead = _neighbours(filled, 0)
    sharpest = cv2.dilate(view.cuts, np.ones((3, 3), np.uint8)).ravel()
    cut = np.maximum(sharpest[source.ravel()[one]], sharpest[source.ravel()[two]]) > 1
    filled = filled.ravel()
    ends = []
    for index, step in ((one, -_ASIDE * ahead), (two, _ASIDE * ahead)):  # beside a step a pixel may show either side
        inner = np.clip(index + step, 0, labels.size - 1)
        ends.append(source.ravel()[np.where(filled[inner] == filled[index], inner, index)])
    planes, depth = view.points.transpose(2, 0, 1).reshape(3, -1), view.range.ravel()
    one_side, other_side = (planes.take(end, axis=1).T for end in ends)
    near = np.maximum(_TOUCHING, _TOUCHING_PIXELS * depth[ends[0]] / view.intrinsics.fx)
    return Borders(
        np.stack((filled[one], filled[two]), axis=1),
        np.stack((one_side, other_side), axis=1),
        cut,
        np.linalg.norm(one_side - other_side, axis=1) < near,
        depth[ends[1]] - depth[ends[0]],
    )

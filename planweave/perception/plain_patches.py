"""Flush things of different plain colours: what no step and no crease parts, and colours do where both are plain.

A print is not plain, and a leaf, a label or a pattern that its surface encloses is no thing. So colours part a piece
only where a few plain patches cover it, each of which reaches the edge of the piece.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import cv2
import numpy as np

from planweave.perception.colours import TOO_DARK, family_image, other_surface
from planweave.perception.depth_views import DepthView

LEAST_PATCH = 2.5e-4  # m^2 of a plain patch that is a thing
_COVERED = 0.8  # share of a piece that is of such patches
_PLAIN = 14.0  # standard deviation of brightness, 0 to 255, of a plain patch
_TOP = 0.3  # share of a patch that is level, from which on that tells whether it is plain
_CORE = 5  # pixels; the line between two surfaces is thinner
_SIDE, _LEVEL = 0.5, 0.94  # upward parts of the normals of a side, at most, and of a top, which gets more light
_CONVEX, _CONCAVE = 0.93, 0.85  # share of its hull that a convex outline fills at least, and that of two things at most
_PART, _LONG = 0.3, 3.0  # share of another surface's pixels below which one is its part, and times as long as wide
_FROM_ABOVE = 0.5  # share of a surface that is level
_OPEN = 0.3  # share of a patch's border that is the edge of the piece


def part_by_colours(view: DepthView, labels: np.ndarray) -> np.ndarray:
    """Numbers of pieces (h, w) int32 with those parted that are several flush plain things, or two things beside each
    other.
    """
    return _with_parts(view, _with_parts(view, labels, 0.0, _beside), _COVERED, _parted)


def cut_by_colours(view: DepthView, labels: np.ndarray) -> np.ndarray:
    """Numbers of pieces (h, w) int32, with each that has several surfaces by their colours cut into these."""
    return _with_parts(
        view, labels, 0.0, lambda _, __, piece, groups: nearest_parts(piece, list(filter(_core, groups)))
    )


def _with_parts(
    view: DepthView,
    labels: np.ndarray,
    least: float,
    parted: Callable[[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]], list[np.ndarray]],
) -> np.ndarray:
    """Numbers of pieces with those parted that have several surfaces; least: share of a piece that patches cover."""
    mine = np.flatnonzero(labels)
    families = np.zeros(labels.shape, np.uint8)
    families.ravel()[mine] = family_image(view.colours.reshape(-1, 3)[mine])
    inner = np.ones(labels.shape, np.uint8)  # patches do not go on across the borders of pieces
    inner[:, :-1][labels[:, :-1] != labels[:, 1:]] = 0
    inner[:-1][labels[:-1] != labels[1:]] = 0
    patches, count = np.zeros(labels.shape, np.int32), 0
    for family in np.nonzero(np.bincount(families.ravel(), minlength=2)[1:])[0] + 1:
        mask = (families == family).view(np.uint8)
        x, y, w, h = cv2.boundingRect(mask)
        around = np.s_[y : y + h, x : x + w]
        mask = mask[around] & inner[around]
        number, found = cv2.connectedComponents(mask, connectivity=4)
        patches[around] |= np.add(found, np.int32(count), out=found, where=mask.view(bool))
        count += number - 1
    patch, label, pixels = (image.ravel()[mine] for image in (patches, labels, view.areas))
    areas = np.bincount(patch, pixels, count + 1)
    areas[0] = 0
    large = areas >= LEAST_PATCH
    owner = np.zeros(count + 1, np.int64)
    owner[patch] = label
    sizes = np.bincount(label, pixels, int(labels.max()) + 1)
    covered = np.bincount(owner[large], areas[large], len(sizes))
    several = np.bincount(owner[large], minlength=len(sizes)) > 1
    several[0] = False
    next_label = len(sizes)
    labels = labels.copy()
    for number in np.nonzero(several & (covered > least * sizes))[0]:
        piece = labels == number
        x, y, w, h = cv2.boundingRect(piece.astype(np.uint8))
        window = slice(max(y - 1, 0), y + h + 1), slice(max(x - 1, 0), x + w + 1)
        groups = _surfaces(
            view.colours[window], view.upward[window], patches[window], np.nonzero(large & (owner == number))[0]
        )
        if len(groups) < 2:
            continue
        for mask in parted(view.colours[window], view.level[window], piece[window], groups)[1:]:
            labels[window][mask] = next_label
            next_label += 1
    return labels


def _surfaces(colours: np.ndarray, upward: np.ndarray, patches: np.ndarray, numbers: np.ndarray) -> list[np.ndarray]:
    """Masks of the surfaces that patches are of: one for all those of one colour, however it is lit."""
    of, colours, upward = patches.ravel(), colours.reshape(-1, 3), upward.ravel()
    pixels = np.flatnonzero(np.isin(of, numbers))
    pixels = pixels[np.argsort(of[pixels], kind="stable")]
    mine = np.split(pixels, np.searchsorted(of[pixels], numbers[1:]))  # of each patch
    looks = [np.median(colours[patch], axis=0) for patch in mine]
    facing = [float(np.median(upward[patch])) for patch in mine]
    whole = list(range(len(mine)))

    def alike(i: int, j: int) -> bool:
        low, high = sorted((facing[i], facing[j]))
        return not other_surface(looks[i], looks[j], lit_alike=low > _SIDE or high < _LEVEL)

    told = [k for k in whole if looks[k].max() >= TOO_DARK]
    dark = [k for k in whole if looks[k].max() < TOO_DARK]  # may be of any surface, and so joins no two
    nearest = {k: min(told, key=lambda j: float(np.abs(looks[j] - looks[k]).max()), default=k) for k in dark}
    alone = [k for k, j in nearest.items() if j == k or not alike(k, j)]
    for i, j in (*combinations(told, 2), *combinations(alone, 2), *nearest.items()):
        if i != j and alike(i, j):
            whole = [whole[j] if k == whole[i] else k for k in whole]
    surface = np.zeros(int(of.max()) + 1, int)  # of every patch, from 1
    surface[numbers] = np.add(whole, 1)
    image = surface[patches]
    return [image == number + 1 for number in sorted(set(whole))]


def _parted(colours: np.ndarray, level: np.ndarray, piece: np.ndarray, groups: list[np.ndarray]) -> list[np.ndarray]:
    """Masks of the things in a piece of several surfaces: one where they are of one thing."""
    edge = cv2.erode(piece.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0
    for mask in groups:
        border = mask & (cv2.erode(mask.astype(np.uint8), np.ones((3, 3), np.uint8)) == 0)
        if (border & cv2.dilate(edge.astype(np.uint8), np.ones((3, 3), np.uint8))).sum() < _OPEN * border.sum():
            return [piece]
        top = mask & level  # a lit top and a shaded side are plain, each by itself
        if colours[top if top.sum() > _TOP * mask.sum() else mask].max(axis=1).std() > _PLAIN:
            return [piece]
    return nearest_parts(piece, groups)


def _beside(_: np.ndarray, level: np.ndarray, piece: np.ndarray, groups: list[np.ndarray]) -> list[np.ndarray]:
    """Masks of two surfaces of a piece seen from above, neither of which is a part as a handle is, where the outline of
    one, but not of both together, is convex, as that of a plate that touches a board.
    """
    halves = nearest_parts(piece, list(filter(_core, groups)))
    if len(halves) != 2 or any(level[half].mean() < _FROM_ABOVE for half in halves):
        return [piece]
    whole, one, two = map(_outline, (piece, *halves))
    sizes = sorted(int(half.sum()) for half in halves)
    is_part = sizes[0] < _PART * sizes[1] or max(one[1], two[1]) > _LONG
    return [piece] if is_part or whole[0] > _CONCAVE or max(one[0], two[0]) < _CONVEX else halves


def _outline(mask: np.ndarray) -> tuple[float, float]:
    """The share of its hull that the largest outline of a mask fills, and how many times as long as wide it is."""
    edges, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_NONE)
    edge = max(edges, key=cv2.contourArea)
    short, long = sorted(cv2.minAreaRect(edge)[1])
    solid = cv2.contourArea(edge) / max(cv2.contourArea(cv2.convexHull(edge)), 1.0)
    return float(solid), float(long / max(short, 1.0))


def _core(mask: np.ndarray) -> bool:
    """Whether a surface is more than the blurred line between two others."""
    return bool(cv2.erode(mask.view(np.uint8), np.ones((_CORE, _CORE), np.uint8)).sum() > _CORE)


def nearest_parts(piece: np.ndarray, groups: list[np.ndarray], exact: int = 3) -> list[np.ndarray]:
    """A piece (h, w) bool cut into what is nearest to each of its surfaces. exact: size of the mask of distances."""
    if len(groups) < 2:
        return [piece]
    away = [cv2.distanceTransform((~mask).astype(np.uint8), cv2.DIST_L2, exact) for mask in groups]
    nearest = np.argmin(away, axis=0)
    return [piece & (nearest == k) for k in range(len(groups))]

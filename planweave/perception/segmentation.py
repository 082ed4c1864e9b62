"""Things in RGB-D pictures of one or several calibrated cameras, on any support: a table, a shelf, an open drawer.

The ground is the largest level surface. What rises from it is cut into pieces at steps of depth and at concave creases
(`surface_pieces`), and pieces that are of one thing are joined (`piece_groups`). Lengths are in metres, the noise of
depth grows with distance^2, and pictures are scaled to one size first, so that segments do not depend on the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import cv2
import numpy as np

from planweave.perception.depth_views import NOISE, DepthView
from planweave.perception.piece_groups import SURE, PieceGroups
from planweave.perception.plane import Plane
from planweave.perception.surface_pieces import find_borders, find_pieces

LEAST_HEIGHT = 0.009  # m that a thing stands out of the ground
LEAST_AREA = 2.5e-4  # m^2 across the view that is seen of a thing
LOW = 0.003  # m above the ground up to which a pixel is the ground's
_BIN = 0.004  # m of the histogram of heights
_COARSE, _MARGIN = 200.0, 3  # pixels: diagonal of the picture that tells the ground, and a margin around things
_FEWEST = 60  # pixels of ground in it
_SEARCH = (0.02, 0.01, 0.006)  # m from the ground within which it is fitted, one after the other


@dataclass(frozen=True, eq=False)
class Segment:
    """One thing. points: (n, 3) metres; colours: (n, 3) 0 to 255; masks: view's name -> (h, w) bool of its pixels.

    area: m^2 across the view that is seen of it; parts: what hovers beside it and touches it: handles, lids, slats.
    """

    points: np.ndarray
    colours: np.ndarray
    masks: dict[str, np.ndarray]
    area: float
    parts: tuple[Segment, ...] = ()


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The things seen, highest first, and the height of the ground that carries them all, metres."""

    ground: float
    segments: tuple[Segment, ...]


def find_segments(
    views: Sequence[DepthView], low: Sequence[float], high: Sequence[float], ground: Plane | None = None
) -> Segmentation:
    """The things between two corners of a box, metres, in the views' frame.

    ground: what carries them all; by default what `find_ground` finds, which raises ValueError where there is none.
    """
    box = np.asarray(low, float), np.asarray(high, float)
    coarse = [view.scaled(_COARSE) for view in views]
    inside = [_inside(view, *box) for view in coarse]
    middle = (box[0][:2] + box[1][:2]) / 2
    if ground is None:
        ground, middle = find_ground(coarse, inside)
    labels, borders, parts, count = [], [], [], 0
    for view, small, within in zip(views, coarse, inside):
        part, rows, columns = _window(view.scaled(), within & (_heights(small, ground) > LOW), small.depth.shape)
        heights = _heights(part, ground)
        pieces = find_pieces(part, _inside(part, *box) & (heights > -_SEARCH[0]), heights < _ground_limit(part))
        pieces[pieces > 0] += count
        count = max(count, int(pieces.max(initial=0)))
        borders.append(find_borders(part, pieces))
        labels.append(_Labels(pieces, rows, columns))
        parts.append(part)
    groups = PieceGroups(parts, [label.pieces for label in labels], borders, ground)
    groups.join()
    return Segmentation(float(ground.height_at(*middle)), tuple(_segments(views, labels, groups)))


@dataclass(frozen=True)
class _Labels:
    """Numbers of pieces in a window of a scaled picture."""

    pieces: np.ndarray
    rows: slice
    columns: slice

    def mask(self, chosen: np.ndarray, view: DepthView) -> np.ndarray:
        """(h, w) bool: pixels of chosen pieces in the picture itself."""
        width, height = scaled = view.scaled_size()
        mask = np.zeros((height, width), np.uint8)
        mask[self.rows, self.columns] = chosen[self.pieces]
        size = view.depth.shape[1], view.depth.shape[0]
        return np.asarray(cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST) > 0 if size != scaled else mask > 0)


def find_ground(views: Sequence[DepthView], inside: Sequence[np.ndarray]) -> tuple[Plane, np.ndarray]:
    """The largest level surface in the views and its middle, metres; raises ValueError where none is seen."""
    level = [view.level & within for view, within in zip(views, inside)]
    points = np.concatenate([view.points[chosen] for view, chosen in zip(views, level)]).astype(float)
    areas = np.concatenate([view.areas[chosen] for view, chosen in zip(views, level)])
    if len(points) < _FEWEST:
        raise ValueError("no level surface is seen; check the pose and the depth of the cameras")
    lowest = points[:, 2].min()
    sums = np.bincount(((points[:, 2] - lowest) / _BIN).astype(int), areas)
    height = lowest + (np.convolve(sums, np.ones(5), "same").argmax() + 0.5) * _BIN
    a = b = 0.0
    for near in _SEARCH:
        on = np.abs(points[:, 2] - a * points[:, 0] - b * points[:, 1] - height) < near
        system = np.column_stack((points[on, :2], np.ones(on.sum())))
        (a, b, height), *_ = np.linalg.lstsq(system, points[on, 2], rcond=None)
    return Plane(float(a), float(b), float(height), float(on.mean())), points[on, :2].mean(axis=0)


def _window(view: DepthView, high: np.ndarray, shape: tuple[int, ...]) -> tuple[DepthView, slice, slice]:
    """The part of a picture in which things stand out, by a coarser one of that shape, and its rows and columns."""
    x, y, w, h = cv2.boundingRect(cv2.morphologyEx(high.astype(np.uint8), cv2.MORPH_OPEN, np.ones((2, 2), np.uint8)))
    height, width = view.depth.shape
    spans = []
    for first, length, size, many in ((y, h, height, shape[0]), (x, w, width, shape[1])):
        start, end = (first - _MARGIN) * size // many, -((-(first + length + _MARGIN) * size) // many)
        spans.append(slice(max(start, 0), min(end, size)))
    rows, columns = spans
    return view.window(rows, columns), rows, columns


def _heights(view: DepthView, ground: Plane) -> np.ndarray:
    """Heights above the ground, (h, w), metres."""
    p = view.points
    return np.asarray(p[..., 2] - np.float32(ground.a) * p[..., 0] - np.float32(ground.b) * p[..., 1] - ground.c)


def _ground_limit(view: DepthView) -> np.ndarray:
    """Heights up to which pixels are the ground's, (h, w), metres."""
    return np.maximum(np.float32(LOW), np.float32(NOISE) * view.range**2)


def _inside(view: DepthView, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    p, found = view.points, view.valid.copy()
    for axis in range(3):
        found &= (p[..., axis] > low[axis]) & (p[..., axis] < high[axis])
    return found


def _segments(views: Sequence[DepthView], labels: Sequence[_Labels], groups: PieceGroups) -> list[Segment]:
    """The things of the groups, highest first."""
    owners, uneven = groups.owners(), groups.uneven_ground()
    found = []
    for thing in np.unique(owners[groups.piece]):
        if int(thing) in uneven:
            continue
        whole = _segment(views, labels, groups, owners == thing)
        tops = groups.height[(owners == thing)[groups.piece]]
        if whole.area < LEAST_AREA or np.percentile(tops, 98) < LEAST_HEIGHT:
            continue
        parts = [_segment(views, labels, groups, before == one) for before, one in groups.parts if owners[one] == thing]
        found.append(replace(whole, parts=tuple(part for part in parts if part.area >= LEAST_AREA)))
    return sorted(found, key=lambda s: -float(s.points[:, 2].max()))


def _segment(views: Sequence[DepthView], labels: Sequence[_Labels], groups: PieceGroups, pieces: np.ndarray) -> Segment:
    mine = pieces[groups.piece]
    masks = {view.name: label.mask(pieces, view) for view, label in zip(views, labels)}
    area = float(groups.areas[mine].sum())
    sure = mine & ~groups.beside_steps
    if sure.sum() > SURE * mine.sum():
        mine = sure
    return Segment(groups.points[mine], groups.colours[mine], masks, area)

"""Things in RGB-D pictures of one or several calibrated cameras, on any support: a table, a shelf, an open drawer.

The ground is the largest level surface. What rises from it is cut into pieces at steps of depth and at concave creases
(`surface_pieces`), and pieces that are of one thing are joined (`piece_groups`). Lengths are in metres, the noise of
depth grows with distance^2, and pictures are scaled to one size first, so that segments do not depend on the camera.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import cv2
import numpy as np

from planweave.geometry.columns import no_strays
from planweave.perception.depth_views import NOISE, DepthView
from planweave.perception.geometry import Plane, percentile
from planweave.perception.piece_groups import SURE, PieceGroups
from planweave.perception.plane import find_ground
from planweave.perception.surface_pieces import find_borders, find_pieces
from planweave.perception.waists import part_at_necks, part_at_waists

LEAST_HEIGHT = 0.009  # m that a thing stands out of the ground
LEAST_AREA = 2.5e-4  # m^2 across the view that is seen of a thing
LOW = 0.003  # m above the ground up to which a pixel is the ground's
_HIGHEST = 0.006  # m, the same on a ground that depth shows uneven
_SIGMA, _SURE = 1.48, 2.5  # median to standard deviation, and how many of these above the ground a thing begins
_NEAR, _ENOUGH = 0.015, 500  # m beside the ground in which its noise is measured, and pixels of the coarse copy
_FOOT = 4.0  # times the ground's limit, up to which a narrow strip is a thing's foot or the ground
_BELOW = 0.02  # m below the ground down to which pixels are looked at
_MARGIN = 3  # pixels of a small picture around things


@dataclass(frozen=True, eq=False)
class Segment:
    """One thing. points: (n, 3) metres; colours: (n, 3) 0 to 255; masks: view's name -> (h, w) bool of its pixels.

    area: m^2 across the view that is seen of it; attached: what of it hovers and was joined with it because they touch,
    a slat as well as the top of a bowl before a cabinet: a namer may say that it is a thing of its own. Handles, knobs
    and lids are found by `articulation` and `lids`.
    """

    points: np.ndarray
    colours: np.ndarray
    masks: dict[str, np.ndarray]
    area: float
    attached: tuple[Segment, ...] = ()


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The things seen, highest first, and the height of the ground that carries them all, metres."""

    ground: float
    segments: tuple[Segment, ...]


def find_segments(
    views: Sequence[DepthView], low: Sequence[float], high: Sequence[float], ground: Plane | None = None
) -> Segmentation:
    """The things between two corners of a box, metres, in the views' frame.

    ground: what carries them all; by default what `find_ground` finds, which raises FrameError where there is none.
    """
    ground = find_ground(views, low, high) if ground is None else ground
    labels, parts, count = [], [], 0
    for view in views:
        inside, heights = _coarse(view, low, high, ground)
        rows, columns = _extent(inside & (heights > LOW), view.scaled_size())
        part = view.scaled().window(rows, columns)
        limit = _ground_limit(part.range, _noise_of(view.coarse, inside, np.abs(heights)))
        heights = part.heights(ground)
        free = part.inside(low, high) & (heights > -_BELOW)
        pieces = find_pieces(part, free, heights < limit, heights < _FOOT * limit)
        pieces[pieces > 0] += count
        count = max(count, int(pieces.max(initial=0)))
        labels.append(_Labels(pieces, rows, columns))
        parts.append(part)
    parted, apart = part_at_waists(parts, [label.pieces for label in labels])
    labels = [replace(label, pieces=pieces) for label, pieces in zip(labels, parted)]
    groups = _joined(parts, labels, ground, apart)
    pieces, necks = part_at_necks(parts, [label.pieces for label in labels], groups)
    if necks:
        labels = _renumbered(labels, pieces)
        groups = _joined(parts, labels, ground, [*apart, *necks])
    x, y = ((a + b) / 2 for a, b in zip(low[:2], high[:2]))
    return Segmentation(float(ground.height_at(x, y)), tuple(_segments(views, labels, groups)))


@dataclass(frozen=True, eq=False)
class _Labels:
    """Numbers of pieces in a window of a scaled picture."""

    pieces: np.ndarray
    rows: slice
    columns: slice

    @cached_property
    def pixels(self) -> np.ndarray:
        """Indices of the window's pixels that are of pieces."""
        return np.flatnonzero(self.pieces)

    def mask(self, chosen: np.ndarray, view: DepthView) -> np.ndarray:
        """(h, w) bool: these of `pixels` in the picture itself."""
        width, height = scaled = view.scaled_size()
        mask, window = np.zeros((height, width), np.uint8), np.zeros(self.pieces.shape, np.uint8)
        window.ravel()[self.pixels[chosen]] = 1
        mask[self.rows, self.columns] = window
        size = view.depth.shape[1], view.depth.shape[0]
        return np.asarray(cv2.resize(mask, size, interpolation=cv2.INTER_NEAREST) if size != scaled else mask).view(
            bool
        )


def _joined(
    parts: Sequence[DepthView], labels: Sequence[_Labels], ground: Plane, apart: Sequence[tuple[int, int]]
) -> PieceGroups:
    """Groups of the pieces that are of one thing; apart: pairs that are not."""
    pieces = [label.pieces for label in labels]
    groups = PieceGroups(parts, pieces, [find_borders(*of) for of in zip(parts, pieces)], ground, apart)
    groups.join()
    return groups


def _renumbered(labels: Sequence[_Labels], pieces: np.ndarray) -> list[_Labels]:
    """Labels with other numbers for all of their pixels in order, (n,)."""
    found, first = [], 0
    for label in labels:
        mine = label.pieces.copy()
        mine.ravel()[label.pixels] = pieces[first : first + len(label.pixels)]
        found.append(replace(label, pieces=mine))
        first += len(label.pixels)
    return found


def around_things(view: DepthView, low: Sequence[float], high: Sequence[float], ground: Plane) -> DepthView:
    """The same picture, known only where `find_segments` looks at it: most of a picture is a table."""
    (height, width), (inside, heights) = view.depth.shape, _coarse(view, low, high, ground)
    return view.only(*_extent(inside & (heights > LOW), (width, height)))


def _coarse(
    view: DepthView, low: Sequence[float], high: Sequence[float], ground: Plane
) -> tuple[np.ndarray, np.ndarray]:
    """Which pixels of the coarser picture have points between two corners, and heights above the ground, metres."""
    return view.coarse.inside(low, high), view.coarse.heights(ground)


def _extent(high: np.ndarray, size: tuple[int, int]) -> tuple[slice, slice]:
    """Rows and columns of the picture at a size, width and height, in which a coarser one (h, w) bool shows things."""
    there = high.astype(np.uint8)
    x, y, w, h = cv2.boundingRect(cv2.morphologyEx(there, cv2.MORPH_OPEN, np.ones((2, 2), np.uint8)))
    spans = []
    for first, length, full, many in ((y, h, size[1], there.shape[0]), (x, w, size[0], there.shape[1])):
        start, end = (first - _MARGIN) * full // many, -((-(first + length + _MARGIN) * full) // many)
        spans.append(slice(max(start, 0), min(end, full)))
    return spans[0], spans[1]


def _noise_of(small: DepthView, inside: np.ndarray, away: np.ndarray) -> float:
    """Standard deviation of the ground's depth at 1 m, metres, as the picture shows it; it grows with distance^2. away:
    of its pixels from the ground, metres.
    """
    near = inside & (away < _NEAR)
    if near.sum() < _ENOUGH:
        return NOISE
    return _SIGMA * percentile(away[near] / small.range[near] ** 2, 50)


def _ground_limit(distance: np.ndarray, noise: float) -> np.ndarray:
    """Heights up to which pixels at these distances (h, w) are the ground's, metres."""
    return np.clip(np.float32(_SURE * noise) * distance**2, np.float32(LOW), np.float32(_HIGHEST))


def _segments(views: Sequence[DepthView], labels: Sequence[_Labels], groups: PieceGroups) -> list[Segment]:
    """The things of the groups, highest first."""
    owners, uneven = groups.owners(), groups.uneven_ground()
    found = []
    for thing, rows in groups.rows_of(owners).items():
        if thing in uneven or percentile(groups.height[rows], 98) < LEAST_HEIGHT:
            continue
        whole = _segment(views, labels, groups, rows)
        if whole.area < LEAST_AREA:
            continue
        attached = [
            _segment(views, labels, groups, np.flatnonzero((before == one)[groups.piece]))
            for before, one in groups.attached
            if owners[one] == thing
        ]
        found.append(replace(whole, attached=tuple(part for part in attached if part.area >= LEAST_AREA)))
    return sorted(found, key=lambda s: -float(s.points[:, 2].max()))


def _segment(views: Sequence[DepthView], labels: Sequence[_Labels], groups: PieceGroups, rows: np.ndarray) -> Segment:
    """What has these rows, in order, of the groups' points."""
    masks, first = {}, 0
    for view, label in zip(views, labels):
        last = first + len(label.pixels)
        masks[view.name] = label.mask(rows[slice(*np.searchsorted(rows, (first, last)))] - first, view)
        first = last
    area = float(groups.areas[rows].sum())
    sure = rows[~groups.beside_steps[rows]]
    if len(sure) > SURE * len(rows):
        rows = sure
    points = groups.points.take(rows, axis=0)
    kept = no_strays(points)
    return Segment(points.compress(kept, axis=0), groups.colours.take(rows[kept], axis=0), masks, area)

"""Things in RGB-D pictures of one or several calibrated cameras, on any support: a table, a shelf, an open drawer.

Every picture is cut into pieces of level and of other surfaces, at steps of depth and at concave creases between
colours. Pieces that show the same place are one. A level piece belongs to what falls away from its edge (a box and its
top) and to what encloses it (a bowl and its floor, a drawer and its bottom); what only rises from it stands on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import cv2
import numpy as np

from planweave.perception.colours import same_surface
from planweave.perception.depth_views import DepthView

VOXEL = 0.006  # m
LEAST_LEVEL = 8e-4  # m^2: a smaller level piece supports nothing
LEAST_SUPPORT = 60e-4  # m^2: others can stand on it
LEAST_HEIGHT = 0.006  # m that a thing stands out of its support
LEAST_VOXELS = 24  # of a thing
_LEVEL_STEP = 0.003  # m of height between neighbouring pixels that parts two level pieces
_SHARED = 0.25  # share of the smaller piece's voxels that another camera's piece shows, too, where both are one
_RIM = 0.012  # m above a level surface up to which its own edge may rise
_ENCLOSED = 0.5  # share of directions in which a wall stands at a level surface's edge
_FALLING = 0.1  # share of directions in which a side falls from a level surface's edge
_LIP, _BESIDE, _FACE = 0.04, 0.015, 0.7  # m below an edge, m beside it, and share of a face's points that are there
_DIRECTIONS = 36
_LEAST_PIXELS = 25  # of a piece; smaller ones belong to their neighbours
_CUT, _CONTINUED = 5, 0.008  # pixels of a cut on either side, and how far neighbouring points are apart at most, m
_FOOT = 0.012  # m above its lowest point that a thing touches its support with
_CAP = 20e-4  # m^2: what is smaller is a part of what it stands on: a cap, a knob
_GAP = 0.02  # m above its support up to which the lowest visible point of a thing may be
_NESTED = 0.6  # share of a side that lies within the heights and the outline of the other side
_FLUSH = 0.009  # m that a part of a level surface rises from it
_OVER = 0.05  # share of a thing's points above a level surface that it stands on
_TOUCHES = 4  # voxels of contact
_AROUND = (-1, 0, 1)

Rows = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Segment:
    """One thing. points: (n, 3) metres; colours: (n, 3) 0 to 255; masks: view's name -> (h, w) bool of its pixels.

    voxels: how many it was seen in; parts: what hovers beside it and touches it: handles, lids, slats.
    """

    points: np.ndarray
    colours: np.ndarray
    masks: dict[str, np.ndarray]
    voxels: int
    parts: tuple[Segment, ...] = ()


@dataclass(frozen=True, eq=False)
class Segmentation:
    """The things seen, highest first, and the height of the ground that carries them all, metres."""

    ground: float
    segments: tuple[Segment, ...]


def find_segments(views: Sequence[DepthView], low: Sequence[float], high: Sequence[float]) -> Segmentation:
    """The things between two corners of a box, metres, in the views' frame; raises ValueError without a ground."""
    pieces = _Pieces(views, np.asarray(low, float), np.asarray(high, float))
    pieces.merge_views()
    ground = pieces.ground()
    pieces.merge_levels(ground)
    return Segmentation(pieces.height[ground], tuple(pieces.segments(ground)))


class _Pieces:
    """Pieces of surfaces in all views, numbered throughout from 1; `level` says which are level."""

    def __init__(self, views: Sequence[DepthView], low: np.ndarray, high: np.ndarray) -> None:
        self.views, self.low = views, low
        self.level, self.view_of = [False], [-1]
        self.labels = [self._cut(k, v, _inside(v, low, high)) for k, v in enumerate(views)]
        self.parent = np.arange(len(self.level))
        seen = [label > 0 for label in self.labels]
        self.piece = np.concatenate([label[chosen] for label, chosen in zip(self.labels, seen)])
        self.points = np.concatenate([view.points[chosen] for view, chosen in zip(views, seen)])
        self.colours = np.concatenate([view.rgb[chosen] for view, chosen in zip(views, seen)])
        self.cells = np.ceil((high - low) / VOXEL).astype(np.int64) + 4
        voxel = np.floor((self.points - low) / VOXEL).astype(np.int64) + 2
        self.voxel = (voxel[:, 0] * self.cells[1] + voxel[:, 1]) * self.cells[2] + voxel[:, 2]
        self.height: dict[int, float] = {}

    def _cut(self, number: int, view: DepthView, inside: np.ndarray) -> np.ndarray:
        """Numbers of the pieces at every pixel of a view, 0 for none."""
        rough = cv2.morphologyEx(view.points[..., 2], cv2.MORPH_GRADIENT, np.ones((2, 2), np.uint8)) > _LEVEL_STEP
        flat = (inside & view.level & ~view.steps & ~rough).astype(np.uint8)
        count, labels = cv2.connectedComponents(flat, connectivity=4)
        large = np.bincount(labels.ravel(), view.areas.ravel(), count) >= LEAST_LEVEL
        large[0] = False
        numbers = np.zeros(count, np.int32)
        numbers[large] = len(self.level) + np.arange(large.sum())
        self._add(number, int(large.sum()), True)
        found = numbers[labels]
        rest = (inside & (found == 0) & ~view.steps & ~view.creases).astype(np.uint8)
        count, labels, stats, _ = cv2.connectedComponentsWithStats(rest, connectivity=4)
        kept = stats[:, cv2.CC_STAT_AREA] >= _LEAST_PIXELS
        kept[0] = False
        numbers = np.zeros(count, np.int32)
        numbers[kept] = len(self.level) + np.arange(kept.sum())
        found = np.where(labels > 0, numbers[labels], found)
        self._add(number, int(kept.sum()), False)
        return _filled(found, inside, view.points)

    def _add(self, view: int, count: int, level: bool) -> None:
        self.level += [level] * count
        self.view_of += [view] * count

    def root(self, piece: int) -> int:
        """The number of the thing that a piece belongs to."""
        while self.parent[piece] != piece:
            self.parent[piece] = self.parent[self.parent[piece]]
            piece = int(self.parent[piece])
        return piece

    def join(self, one: int, two: int) -> None:
        """Make two pieces, and what they are joined with, one."""
        self.parent[self.root(one)] = self.root(two)

    def owners(self) -> np.ndarray:
        """The thing of every piece."""
        return np.array([self.root(k) for k in range(len(self.parent))])

    def touching(self, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Rows (owner, another owner, voxel of the first) within a voxel of each other, each once."""
        owners, voxels = np.unique(np.stack((owner[self.piece], self.voxel)), axis=1)
        rows = []
        for i, j, k in product(_AROUND, repeat=3):
            shift = (i * self.cells[1] + j) * self.cells[2] + k
            here, there = _matches(voxels + shift, voxels)
            other = owners[here] != owners[there]
            rows.append(np.stack((owners[here], owners[there], voxels[here]))[:, other])
        a, b, voxel = np.unique(np.concatenate(rows, axis=1), axis=1)
        return a, b, voxel

    def merge_views(self) -> None:
        """Join the pieces of one kind that show the same place in several views."""
        piece, voxel = np.unique(np.stack((self.piece, self.voxel)), axis=1)
        sizes = np.bincount(piece, minlength=len(self.level))
        a, b = _sharing(piece, voxel)
        level, view = np.array(self.level), np.array(self.view_of)
        keep = (level[a] == level[b]) & (view[a] != view[b]) & (sizes[a] <= sizes[b])
        pairs, counts = np.unique(np.stack((a[keep], b[keep])), axis=1, return_counts=True)
        heights = {k: float(np.median(self.points[self.piece == k, 2])) for k in np.nonzero(level & (sizes > 0))[0]}
        for one, two, count in zip(*pairs, counts):
            apart = abs(heights[one] - heights[two]) > _LEVEL_STEP if level[one] else False
            if count >= max(_SHARED * sizes[one], 3) and not apart:
                self.join(one, two)
        owner = self.owners()
        self.level_of = owner.copy()
        self.level_owners = np.unique(owner[level & (sizes > 0)])
        mine = owner[self.piece]
        self.height = {int(k): float(np.median(self.points[mine == k, 2])) for k in self.level_owners}

    def ground(self) -> int:
        """The largest level surface."""
        if not len(self.level_owners):
            raise ValueError("no level surface is seen; check the pose and the depth of the cameras")
        owner = self.owners()[self.piece]
        columns = np.unique(np.stack((owner, self.voxel // self.cells[2])), axis=1)[0]
        counts = np.bincount(columns, minlength=len(self.level))
        return int(max(self.level_owners, key=lambda k: counts[k]))

    def merge_levels(self, ground: int) -> None:
        """Join level surfaces with what falls from their edges and with the walls around them."""
        owner = self.owners()
        a, b, voxels = self.touching(owner)
        mine = owner[self.piece]
        for level in self.level_owners:
            outline = cv2.convexHull(self.points[mine == level, :2].astype(np.float32))
            beside = [k for k in np.unique(a[b == level]) if k not in self.height]
            around = {k: self._around(voxels[(a == k) & (b == level)], outline) for k in beside}
            tops = {k: np.percentile(self.points[mine == k, 2], 98) - self.height[level] for k in beside}
            walls = [k for k in beside if level != ground and around[k] > _ENCLOSED and tops[k] > _RIM]
            sides = [k for k in beside if around[k] > _FALLING and tops[k] < _RIM]
            for other in walls or sides:  # what falls away beyond a wall is the wall's other side, or another thing
                self.join(other, level)
            if level != ground:
                self._join_faces(level, outline, mine)

    def _join_faces(self, level: int, outline: np.ndarray, mine: np.ndarray) -> None:
        """Join a level surface with the faces below its edge that it does not touch where they are seen."""
        low, high = outline[:, 0].min(axis=0) - _BESIDE, outline[:, 0].max(axis=0) + _BESIDE
        xy, z = self.points[:, :2], self.points[:, 2]
        near = ((xy > low) & (xy < high)).all(axis=1) & (z < self.height[level])
        for other in np.unique(mine[near]):
            points = self.points[mine == other]
            if other in self.height or not 0 < self.height[level] - np.percentile(points[:, 2], 98) < _LIP:
                continue
            sample = points[:: max(1, len(points) // 200), :2]
            away = np.array([abs(cv2.pointPolygonTest(outline, (float(x), float(y)), True)) for x, y in sample])
            if (away < _BESIDE).mean() > _FACE:
                self.join(other, level)

    def _around(self, voxels: np.ndarray, outline: np.ndarray) -> float:
        """Share of directions from the middle of an outline in which voxels lie at its edge."""
        moments = cv2.moments(outline)
        middle = np.array((moments["m10"], moments["m01"])) / max(moments["m00"], 1e-12)
        columns = np.unique(voxels // self.cells[2])
        xy = (np.stack((columns // self.cells[1], columns % self.cells[1]), axis=1) - 1.5) * VOXEL + self.low[:2]
        inward = np.array([cv2.pointPolygonTest(outline, (float(x), float(y)), True) for x, y in xy])
        edge = xy[inward < 2 * VOXEL] - middle
        bins = np.floor((np.arctan2(edge[:, 1], edge[:, 0]) / (2 * np.pi) + 0.5) * _DIRECTIONS).astype(int)
        return len(np.unique(bins)) / _DIRECTIONS

    def join_inner_sides(self, ground: int) -> None:
        """Join the two sides of a wall: what lies below a surface, within its outline and its heights."""
        owner = self.owners()
        mine, base = owner[self.piece], self.root(ground)
        a, b, _ = self.touching(owner)
        pairs, counts = np.unique(np.stack((a, b)), axis=1, return_counts=True)
        for one, two, count in zip(*pairs, counts):
            if count >= _TOUCHES and base not in (one, two) and self._is_below(mine == one, mine == two):
                self.join(one, two)

    def _is_below(self, inner: np.ndarray, outer: np.ndarray) -> bool:
        """Whether pieces lie within the outline and the heights of others, and below them where both are."""
        one, two = self.points[inner], self.points[outer]
        (low, high), (under, upper) = (np.percentile(p[:, 2], (2, 98)) for p in (one, two))
        if min(high, upper) - max(low, under) < _NESTED * (high - low):
            return False
        outline = cv2.convexHull(two[:, :2].astype(np.float32))
        sample = one[:: max(1, len(one) // 100), :2]
        if np.mean([cv2.pointPolygonTest(outline, (float(x), float(y)), True) > -VOXEL for x, y in sample]) < _NESTED:
            return False
        tops = [self._columns(chosen) for chosen in (inner, outer)]
        both, k, m = np.intersect1d(tops[0][0], tops[1][0], return_indices=True)
        if len(both) >= _TOUCHES:
            return float(np.median(tops[0][1][k] - tops[1][1][m])) < 0
        return same_surface(*(np.median(self.colours[chosen], axis=0).astype(float) for chosen in (inner, outer)))

    def _columns(self, chosen: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns of voxels, and the highest point in each."""
        columns, z = self.voxel[chosen] // self.cells[2], self.points[chosen, 2]
        order = np.lexsort((z, columns))
        last = np.nonzero(np.diff(columns[order], append=-1))[0]
        return columns[order][last], z[order][last]

    def join_flush(self, ground: int) -> None:
        """Join what hardly rises from a level surface, and lies within it, with the surface: a burner, a pattern."""
        owner = self.owners()
        mine, base = owner[self.piece], self.root(ground)
        tops = {k: float(np.percentile(self.points[mine == k, 2], 98)) for k in np.unique(mine)}
        for level in self.level_owners:
            on = [
                k
                for k in tops
                if owner[level] not in (k, base) and k != base and 0 < tops[k] - self.height[level] < _FLUSH
            ]
            there = self.points[self.level_of[self.piece] == level, :2]
            for other in on:
                if self._overlap(self.points[mine == other, :2], there) > 1 - _NESTED / 2:
                    self.join(other, level)

    def join_parts(self, ground: int) -> dict[int, int]:
        """Join what hovers with what it touches most; returns, for each such piece, what it was joined with."""
        owner = self.owners()
        mine, base = owner[self.piece], self.root(ground)
        rows = self.touching(owner)
        pairs, counts = np.unique(np.stack(rows[:2]), axis=1, return_counts=True)
        sizes = np.bincount(mine)
        joined = {}
        for one in sorted(np.unique(mine), key=lambda k: float(sizes[k])):
            touched = {int(k): int(n) for k, n in zip(pairs[1][pairs[0] == one], counts[pairs[0] == one]) if k != base}
            whole = max(touched, key=lambda k: touched[k], default=None)
            if one == base or whole is None or touched[whole] < _TOUCHES or sizes[whole] < sizes[one]:
                continue
            if not self._stands(int(one), touched, rows, mine, self.height[ground], owner):
                joined[int(one)] = whole
        for one, whole in joined.items():
            self.join(one, whole)
        return joined

    def _stands(
        self, one: int, touched: dict[int, int], rows: Rows, mine: np.ndarray, floor: float, owner: np.ndarray
    ) -> bool:
        """Whether a thing stands on the ground, on a level surface, or on the upper side of what it touches."""
        points = self.points[mine == one]
        low, high = np.percentile(points[:, 2], (2, 98))
        if low < floor + _GAP:
            return True
        outline = cv2.convexHull(points[:, :2].astype(np.float32))
        if cv2.contourArea(outline) < _CAP:
            return False
        for level in self.level_owners:
            if owner[level] != one and -_FOOT < low - self.height[level] < _GAP:
                there = self.points[self.level_of[self.piece] == level, :2]
                if self._overlap(points[:, :2], there) > _OVER:
                    return True
        a, b, voxels = rows
        z = (voxels % self.cells[2] - 1.5) * VOXEL + self.low[2]
        for two in touched:
            under, upper = np.percentile(self.points[mine == two, 2], (2, 98))
            foot, top = np.median(z[(a == one) & (b == two)]), np.median(z[(a == two) & (b == one)])
            if foot < low + max(_FOOT, 0.3 * (high - low)) and top > upper - max(_FOOT, 0.3 * (upper - under)):
                return True
        return False

    @staticmethod
    def _overlap(one: np.ndarray, two: np.ndarray) -> float:
        """Share of points of a plane that are within the outline of others."""
        outline = cv2.convexHull(two.astype(np.float32))
        sample = one[:: max(1, len(one) // 200)]
        return float(np.mean([cv2.pointPolygonTest(outline, (float(x), float(y)), False) > 0 for x, y in sample]))

    def segments(self, ground: int) -> list[Segment]:
        """The things that stand out of the ground, with their parts."""
        self.join_inner_sides(ground)
        self.join_flush(ground)
        before = self.owners()
        joined = self.join_parts(ground)
        owners = self.owners()
        base, floor = self.root(ground), self.height[ground]
        found = []
        for thing in np.unique(owners[self.piece]):
            whole = self._segment(owners == thing, ())
            if thing == base or np.percentile(whole.points[:, 2], 98) < floor + LEAST_HEIGHT:
                continue
            if whole.voxels < LEAST_VOXELS:
                continue
            parts = [self._segment(before == one, ()) for one in joined if owners[one] == thing]
            found.append(replace(whole, parts=tuple(p for p in parts if p.voxels >= LEAST_VOXELS)))
        return sorted(found, key=lambda s: -float(s.points[:, 2].max()))

    def _segment(self, pieces: np.ndarray, parts: tuple[Segment, ...]) -> Segment:
        mine = pieces[self.piece]
        masks = {view.name: pieces[label] for view, label in zip(self.views, self.labels)}
        return Segment(self.points[mine], self.colours[mine], masks, len(np.unique(self.voxel[mine])), parts)


def _matches(wanted: np.ndarray, given: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All pairs of indices (of wanted, of given) with equal values."""
    order = np.argsort(given, kind="stable")
    ordered = given[order]
    first, last = (np.searchsorted(ordered, wanted, side) for side in ("left", "right"))
    counts = last - first
    here = np.repeat(np.arange(len(wanted)), counts)
    within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    return here, order[np.repeat(first, counts) + within]


def _sharing(owners: np.ndarray, voxels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of owners for every voxel that both have."""
    here, there = _matches(voxels, voxels)
    other = owners[here] != owners[there]
    return owners[here][other], owners[there][other]


def _filled(labels: np.ndarray, inside: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Labels with the pixels of cuts given to the neighbour that they continue."""
    for _ in range(_CUT):
        for axis, way in ((0, 1), (0, -1), (1, 1), (1, -1)):
            beside = np.roll(labels, way, axis)
            near = np.linalg.norm(np.roll(points, way, axis) - points, axis=-1) < _CONTINUED
            labels = np.where((labels == 0) & inside & near, beside, labels)
    return labels


def _inside(view: DepthView, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    return view.valid & ((view.points > low) & (view.points < high)).all(axis=-1)

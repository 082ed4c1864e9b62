"""Things that were seen and named once, followed through later pictures without asking anybody again.

A thing stays where pictures show its points, or hide them. One that the hand has carried is looked for where it was let
go, by its shape and colours, then wherever the pictures show surfaces of its colours that belong to nothing else; what
is not found is lost. Metres; z is up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import numpy as np

from planweave.geometry.columns import groups_from_above
from planweave.perception.depth_views import DepthView
from planweave.perception.evidence import LEAST, evidence
from planweave.perception.geometry import Pose
from planweave.perception.seen_things import SeenThing

_SAMPLE = 800  # points of a thing that are looked at
_ASIDE = 0.04  # m from where a thing was let go within which it is looked for first
_FALL = 0.16  # m that a thing may fall when it is let go
_SLIP = 0.03  # m that a thing may lie higher or lower in the hand than it was taken
_COARSE, _FINE = 0.01, 0.003  # m between places that are tried
_NEARER = 4.0  # 1/m: share of a thing's points that must speak for a place farther away, as where its twin stands
_YAWS = (-0.4, -0.2, 0.2, 0.4)  # rad by which a thing may turn when it is let go
_UP = np.array([0.0, 0.0, 1.0])
_SUNK = 0.006  # m that a thing may seem to be within its support
_ABOVE = 0.008  # m from which on what a picture shows is not the ground
_CELL = 0.008  # m: edge of the cells in which points are compared
_AROUND = 0.2  # m around all known things in which one is looked for
_ROLLED = 0.15  # m from where a thing was let go within which it is looked for by its colours
_BINS, _COMMON = 4, 0.04  # of a colour channel; share of a thing's points that makes a colour one of its own
_LEAST_ALIKE = 60  # points of a group that may be a thing
_LARGER = 1.3  # times as long, wide and high as a thing another view may show it
_THROUGH, _THIN = 0.6, (0.01, 0.02)  # share of a thing's height behind it that is seen where it is gone, and m
_BESIDE, _AS_HIGH, _ALIKE = 0.02, 0.6, 0.2  # m around its place; share of a thing's height; of points of its colours
_UNLIKE = 0.8  # difference of the colours of two views of a thing, from 0 to 2


class SceneMemory:
    """The things of a scene. ground: height of what carries them all; moves: whether a thing can be moved at all;
    of_furniture: which points (n, 3) show furniture as it stands now.
    """

    def __init__(
        self,
        things: Sequence[SeenThing],
        ground: float,
        moves: Callable[[SeenThing], bool],
        of_furniture: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        self.things, self.ground, self._moves, self._of_furniture = tuple(things), ground, moves, of_furniture
        self._taken: SeenThing | None = None  # what the hand carries, as it was seen when it was taken

    def thing(self, name: str) -> SeenThing | None:
        """The thing of a name."""
        return next((t for t in self.things if t.name == name), None)

    def put(self, thing: SeenThing) -> None:
        """Replace the thing of the same name."""
        self.things = tuple(thing if t.name == thing.name else t for t in self.things)

    def update(self, views: Sequence[DepthView], stamp: float, carried: str = "") -> None:
        """Look where all things are, but for one in the hand."""
        for thing in self.things:
            if thing.name != carried and not thing.lost:
                self.put(self._checked(thing, views, stamp))
        for thing in self.things:
            if thing.lost and thing.name != carried:
                found = self._by_colour(thing, views, None)
                self.put(thing if found is None else replace(found, lost=False, visible=True, stamp=stamp))

    def carry(
        self,
        name: str,
        motion: Pose,
        views: Sequence[DepthView],
        stamp: float,
        taken: bool,
        swings: Sequence[Pose] = (),
    ) -> Pose | None:
        """Follow a thing in the hand; how it has moved in it, None where it is not in it.

        motion: of the hand since it took the thing; taken: just now, so that it must not be seen where it was; swings:
        how it may have turned between the fingers.
        """
        if taken and (thing := self.thing(name)) is not None:
            self._taken = replace(thing, unseen=max(0.0, thing.low - thing.bottom))
        if self._taken is None:
            return None
        now = self._taken.moved(motion)
        if taken and evidence(_vacated(self._taken.points, now.points), views, beyond=_behind(now)).is_there:
            return None
        found = self._fit(now, views, np.arange(-_SLIP, _SLIP + 1e-6, _COARSE), swings)
        if found is None and evidence(_sample(now.points), views, beyond=_behind(now)).is_gone:
            return None
        slipped = found or Pose(np.eye(3), np.zeros(3))
        self.put(replace(now.moved(slipped), visible=True, stamp=stamp))
        return slipped

    def let_go(self, motion: Pose, views: Sequence[DepthView], stamp: float) -> None:
        """Find the thing that the hand has let go, near where it should be, or below; motion: since it was taken."""
        if self._taken is None:
            return
        there, self._taken = self._taken.moved(motion), None
        found = (
            self._by_shape(there, views, there.low)
            or self._by_colour(there, views, there.middle)
            or self._by_place(there, views)
        )
        if found is None:
            self.put(replace(there, visible=False, lost=True))
        else:
            self.put(replace(found, visible=True, stamp=stamp, was_put=True, lost=False))

    def _checked(self, thing: SeenThing, views: Sequence[DepthView], stamp: float) -> SeenThing:
        """A thing that nothing should have moved."""
        found = evidence(_sample(thing.points), views, beyond=_behind(thing))
        if found.is_there:
            return replace(thing, visible=True, stamp=stamp)
        if found.through < LEAST or not self._moves(thing):  # hidden; or a drawer of it is at another place now
            return replace(thing, visible=found.seen >= max(LEAST, found.unsure))
        moved = self._by_shape(thing, views, thing.bottom) or self._by_colour(thing, views, thing.middle)
        if moved is not None:
            return replace(moved, visible=True, stamp=stamp)
        return replace(thing, visible=False, lost=found.is_gone)

    # ---- where a thing went ------------------------------------------------------------------------------------------

    def _by_shape(self, thing: SeenThing, views: Sequence[DepthView], foot: float) -> SeenThing | None:
        """A thing moved to where pictures show its points in their colours, near where it is thought to be. foot:
        height of its lower side there, m.
        """
        lowest = min(self._support(thing) - _SUNK - foot, 0.0)
        drops = np.arange(_COARSE, max(-_FALL, lowest) - 1e-6, -_COARSE)
        found = self._fit(thing, views, drops, [Pose.about(thing.middle, _UP, angle) for angle in _YAWS], lowest)
        return None if found is None else thing.moved(found)

    @staticmethod
    def _fit(
        thing: SeenThing,
        views: Sequence[DepthView],
        rises: np.ndarray,
        turns: Sequence[Pose] = (),
        lowest: float = -math.inf,
    ) -> Pose | None:
        """The motion that brings a thing to where pictures show it; None where they do not.

        rises: differences of height that are tried; turns: about what it may have turned, where it has not only moved;
        lowest: difference of height, m, below which it would be in its support.
        """
        chosen = np.linspace(0, len(thing.points) - 1, min(len(thing.points), _SAMPLE // 2)).astype(int)
        points, colours, middle = thing.points[chosen], thing.colours[chosen], thing.middle
        behind = _behind(thing)

        def score(pose: Pose) -> float:
            by = pose.apply(middle) - middle
            if by[2] < lowest - _FINE:
                return -math.inf
            found, away = evidence(pose.apply(points), views, colours, behind), float(np.linalg.norm(by))
            return found.seen - 1.5 * (found.through + found.other) - _NEARER * len(points) * away

        def refined(pose: Pose) -> Pose:
            for step in (_COARSE, _FINE, _FINE):
                near = (replace(pose, translation=pose.translation + o) for o in product((-step, 0.0, step), repeat=3))
                pose = max(near, key=score)
            return pose

        def is_there(pose: Pose) -> bool:
            return evidence(pose.apply(points), views, colours, behind).is_there

        aside = np.arange(-_ASIDE, _ASIDE + 1e-6, 2 * _COARSE)
        places = (Pose(np.eye(3), np.array(o)) for o in product(aside, aside, rises))
        best = refined(max(places, key=score))
        if is_there(best):
            return best
        turned = [t.shifted(np.array((0.0, 0.0, rise))) for t in turns for rise in rises]
        best = refined(max(turned, key=score)) if turned else best
        return best if turned and is_there(best) else None

    def _support(self, thing: SeenThing) -> float:
        """The lowest height that a thing can fall to: the ground, or the bottom of what is below it."""
        low, high = thing.points[:, :2].min(axis=0), thing.points[:, :2].max(axis=0)
        floor = self.ground
        for other in self.things:
            if other.name == thing.name or other.lost:
                continue
            within = ((other.points[:, :2] > low) & (other.points[:, :2] < high)).all(axis=1)
            if within.sum() > LEAST:
                floor = max(floor, float(np.percentile(other.points[within, 2], 5)))
        return floor

    def _by_colour(self, thing: SeenThing, views: Sequence[DepthView], near: np.ndarray | None) -> SeenThing | None:
        """A thing that has tipped over or rolled: surfaces of its colours that belong to nothing else."""
        points, colours = self._unexplained(thing.name, views)
        if near is not None and len(points):
            chosen = np.linalg.norm(points[:, :2] - near[:2], axis=1) < _ROLLED
            points, colours = points[chosen], colours[chosen]
        own = _histogram(thing.colours)
        alike = own[_bins(colours)] > _COMMON
        groups = list(_groups(points[alike], colours[alike]))
        likely = [g for g in groups if np.abs(_histogram(g[1]) - own).sum() < _UNLIKE and _as_large(g[0], thing.points)]
        if not likely:
            return None
        found = max(likely, key=lambda g: len(g[0]))
        return replace(thing, points=found[0], colours=found[1], parts=())

    def _by_place(self, thing: SeenThing, views: Sequence[DepthView]) -> SeenThing | None:
        """A thing just let go, of which pictures show another side than before: what stands where it should, as high,
        belongs to nothing else and has some of its colours.
        """
        points, colours = self._unexplained(thing.name, views)
        (low, high), own = thing.bounds, _histogram(thing.colours)
        there = ((points > low - _BESIDE) & (points < high + _BESIDE)).all(axis=1)
        tall = _AS_HIGH * np.ptp(thing.points[:, 2])
        for group, shades in sorted(_groups(points[there], colours[there]), key=lambda g: -len(g[0])):
            alike = float((own[_bins(shades)] > _COMMON).mean())
            if np.ptp(group[:, 2]) > tall and alike > _ALIKE and _as_large(group, thing.points):
                return replace(thing, points=group, colours=shades, parts=())
        return None

    def _unexplained(self, name: str, views: Sequence[DepthView]) -> tuple[np.ndarray, np.ndarray]:
        """Points, and their colours, above the ground that are not of other known things."""
        known = [t.points for t in self.things if t.name != name and not t.lost]
        low = np.min([t.points.min(axis=0) for t in self.things], axis=0) - _AROUND
        high = np.max([t.points.max(axis=0) for t in self.things], axis=0) + _AROUND
        taken = np.unique(np.concatenate([_cells(p, low) for p in known] or [np.zeros((0, 3), np.int64)]), axis=0)
        taken = np.unique(np.concatenate([taken + shift for shift in product((-1, 0, 1), repeat=3)]), axis=0)
        points, colours = [], []
        for view in views:
            inside = view.valid & ~view.steps & (view.points > low).all(axis=-1) & (view.points < high).all(axis=-1)
            inside &= view.points[..., 2] > self.ground + _ABOVE
            points.append(view.points[inside])
            colours.append(view.rgb[inside])
        every, shades = np.concatenate(points), np.concatenate(colours)
        free = ~np.isin(_keys(_cells(every, low)), _keys(taken))
        free[free] = ~self._of_furniture(every[free])
        return every[free], shades[free]


def _behind(thing: SeenThing) -> float:
    """How far behind a thing a picture must see to look through it, m: the table is not far behind a plate."""
    return float(np.clip(_THROUGH * np.ptp(thing.points[:, 2]), *_THIN))


def _sample(points: np.ndarray) -> np.ndarray:
    return points[:: max(1, len(points) // _SAMPLE)]


def _vacated(before: np.ndarray, now: np.ndarray) -> np.ndarray:
    """Those points of a thing at its old place in whose cells, and those around them, it is not any more."""
    low = before.min(axis=0)
    around = np.concatenate([_cells(now, low) + by for by in product((-1, 0, 1), repeat=3)])
    return before[~np.isin(_keys(_cells(before, low)), _keys(around))]


def _cells(points: np.ndarray, low: np.ndarray) -> np.ndarray:
    return np.asarray(np.floor((points - low) / _CELL).astype(np.int64))


def _keys(cells: np.ndarray) -> np.ndarray:
    """A number for every cell."""
    return np.asarray((cells[:, 0] * 100_003 + cells[:, 1]) * 100_003 + cells[:, 2])


def _bins(colours: np.ndarray) -> np.ndarray:
    bins = colours.astype(int) * _BINS // 256
    return np.asarray((bins[:, 0] * _BINS + bins[:, 1]) * _BINS + bins[:, 2])


def _histogram(colours: np.ndarray) -> np.ndarray:
    """Shares of colours."""
    return np.bincount(_bins(colours), minlength=_BINS**3) / max(len(colours), 1)


def _groups(points: np.ndarray, colours: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Connected groups of points, seen from above, that are large enough."""
    if len(points) < _LEAST_ALIKE:
        return
    of = groups_from_above(points)
    for group in range(1, int(of.max()) + 1):
        if (of == group).sum() >= _LEAST_ALIKE:
            yield points[of == group], colours[of == group]


def _as_large(points: np.ndarray, others: np.ndarray) -> bool:
    """Whether points may be of a thing as large as others', however it is turned; they may be of a side of it only."""
    return bool((_extents(points) < _LARGER * _extents(others) + _CELL).all())


def _extents(points: np.ndarray) -> np.ndarray:
    """Length, width and height of a cloud along its own axes, longest first, m."""
    centred = points - points.mean(axis=0)
    axes = np.linalg.svd(centred[:: max(1, len(centred) // _SAMPLE)], full_matrices=False)[2]
    return np.sort(np.ptp(centred @ axes.T, axis=0))[::-1]

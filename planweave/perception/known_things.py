"""Things that were seen and named once, found in later pictures without asking anybody again.

A thing stays where pictures show its points, or hide them. One that the hand has carried is looked for where it was let
go, by its shape and colours, then wherever the pictures show surfaces of its colours that belong to nothing else. The
tracker remembers them, as all objects: what is not found is hidden, or lost. Metres; z is up.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product

import cv2
import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.geometry.columns import groups_from_above, groups_in_space
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.perception.evidence import LEAST, Evidence
from planweave.perception.geometry import Pose
from planweave.perception.pipeline import SeenScene
from planweave.perception.seen_things import SeenThing, sample
from planweave.perception.tracking import Rules, Tracker

_SAME, _SHARED, _OF_ANOTHER = 0.005, 0.5, 2000  # m, share of points that are those of another thing, and points of that
_SAMPLE = 400  # points of a thing that are tried at places
_ASIDE = 0.04  # m from where a thing was let go within which it is looked for first
_FALL, _RISES = 0.16, 0.02  # m that a thing may fall when it is let go, and that it is higher where it does not
_GOES_ON = 0.04  # m that a thing is seen to rise above where it was found, where that is wrong
_SLIP = 0.03  # m that a thing may lie higher or lower in the hand than it was taken
_COARSE, _FINE = 0.01, 0.003  # m between places that are tried
_NEARER = 4.0  # 1/m: share of a thing's points that must speak for a place farther away, as where its twin stands
_AGAINST = 1.5  # points that speak for a place, for one that speaks against it
_IN_OTHER_LIGHT = 0.75  # and for one of another colour, where a thing has been put elsewhere
_YAWS = (-0.4, -0.2, 0.2, 0.4)  # rad by which a thing may turn when it is let go
_UP = np.array([0.0, 0.0, 1.0])
_EVEN, _COVERS = 0.01, 0.5  # m between the heights of a level top; share of a floor below a thing that is seen
_SUNK = 0.006  # m that a thing may seem to be within its support
_ABOVE = 0.008  # m from which on what a picture shows is not the ground
_CELL = 0.008  # m: edge of the cells in which points are compared
_STRIDES = np.array((100_003**2, 100_003, 1))  # between the numbers of neighbouring cells
_AROUND, _UP_TO = 0.2, 0.5  # m around all known things in which one is looked for, and above, where the hand may be
_ROLLED = 0.15  # m from where a thing was let go within which it is looked for by its colours
_BINS, _COMMON = 4, 0.04  # of a colour channel; share of a thing's points that makes a colour one of its own
_LEAST_ALIKE = 60  # points of a group that may be a thing
_LARGER, _SMALLEST = 1.3, 0.4  # times as long, wide and high as a thing another view may show it; times as long
_BESIDE, _MOSTLY = 0.02, 0.5  # m around a thing's place, and share of its points that are there
_AS_HIGH, _ALIKE = 0.6, 0.2  # share of a thing's height; of points of its colours
_FAR_MORE = 1.5  # times the share of a colour that another thing has, from which on it tells nothing of this one
_RARE, _LIKELIER = 0.01, 0.35  # share of a colour that any thing may have; logarithm of how much likelier it is another
_TOLD, _SEVERAL = 0.25, 2  # share of a thing's colours that tell it from what is beside, and how many these are
_UNLIKE, _UNLIKE_TOLD = 0.8, 0.9  # difference, 0 to 2, of the colours of two views of a thing; of those that tell it


class KnownThings:
    """The things of a scene, followed by a `Tracker`. ground: height of what carries them all; moves: whether a thing
    can be moved at all; of_furniture: which points (n, 3) show furniture as it stands now.
    """

    def __init__(
        self,
        things: Sequence[SeenThing],
        ground: float,
        moves: Callable[[SeenThing], bool],
        of_furniture: Callable[[np.ndarray], np.ndarray],
        domain: Domain | None = None,
    ) -> None:
        self.ground, self._moves, self._of_furniture = ground, moves, of_furniture
        self._views: Sequence[DepthView] = ()
        self._pushed = set[str]()
        self._tracker = Tracker(Rules(clear_views=1), domain)
        self._tracks = {thing.name: self._tracker.know(thing.detection, thing.name) for thing in things}
        for thing, track in zip(things, self._tracks.values()):
            track.carried = thing.was_put
            if thing.lost:
                self._tracker.lose(track)

    @property
    def things(self) -> tuple[SeenThing, ...]:
        """All things as they were seen last."""
        return tuple(
            replace(t.last.seen, visible=t.visible, lost=t.lost, was_put=t.carried)
            for t in self._tracks.values()
            if t.last.seen is not None
        )

    def put(self, *things: SeenThing) -> None:
        """Set where things are, and what is said of them."""
        for thing in things:
            self._tracks[thing.name].last = thing.detection

    def pushed(self, thing: SeenThing) -> None:
        """A thing was pushed to about where it is said to be: it is looked for there, even where what pictures show
        would also do for its old place, as the middle of a plate.
        """
        self._pushed.add(thing.name)
        self.put(thing)

    def update(self, views: Sequence[DepthView], stamp: float, let_go: Pose | None = None) -> None:
        """Look where all things are, but for one in the hand; let_go: of that one, its motion since it was taken, to
        where the hand has let it go.
        """
        self._views, found = views, list[Detection]()
        for thing in sorted(self.things, key=lambda t: (self._tracks[t.name].taken is None, t.lost)):
            track = self._tracks[thing.name]
            if track.taken is None:
                anew = thing.lost or thing.name in self._pushed
                seen = self._lost(thing) if anew else self._at_rest(thing)
            elif let_go is None:
                continue
            else:
                there, track.taken, track.carried = track.taken.moved(let_go), None, True
                found_there = self._fitted(there, there.low) or self._by_place(there)
                found_there = found_there or self._fitted(there, there.low, in_any_light=True)
                seen = self._hanging(there, found_there or self._by_colour(there, there.middle))
                if seen is None:
                    self.put(there)
                    self._tracker.lose(track)
            if seen is not None:
                self.put(replace(seen, stamp=stamp))
                self._tracker.find(track)
            if seen is not None or not self._moves(thing):
                found.append(replace(track.last, known=track.id, inferred=seen is None))
        self._pushed.clear()
        self._tracker.update(found, SeenScene(tuple(found), views[0], 0, None, sides=tuple(views[1:])))

    def carry(
        self,
        name: str,
        motion: Pose,
        views: Sequence[DepthView],
        stamp: float,
        new: bool,
        swings: Sequence[Pose] = (),
        grip: np.ndarray | None = None,
    ) -> Pose | None:
        """Follow a thing in the hand; how it has moved in it, None where it is not in it.

        motion: of the hand since it took the thing; new: just now, so that it must not be seen where it was; swings:
        how it may have turned between the fingers; grip: where these are, (3,) m.
        """
        self._views, track = views, self._tracks[name]
        if new:
            for other in self._tracks.values():
                other.taken, other.held = None, False
            thing = next(t for t in self.things if t.name == name)
            track.taken = replace(thing, unseen=max(0.0, thing.low - thing.bottom))
        if track.taken is None:
            return None
        before, now = track.taken.points, track.taken.moved(motion)
        vacated = before[_apart(before, now.points, before.min(axis=0))]
        if new and now.evidence(views, vacated).is_there:
            return None
        found = self._fit(now, np.arange(-_SLIP, _SLIP + 1e-6, _COARSE), swings)
        if found is None and grip is not None:
            found = self._swung(now, grip)
        if found is None and now.evidence(views).is_gone:
            return None
        slipped = found or Pose(np.eye(3), np.zeros(3))
        self.put(replace(now.moved(slipped), stamp=stamp))
        track.held = track.carried = track.matched = True
        return slipped

    def _swung(self, thing: SeenThing, grip: np.ndarray) -> Pose | None:
        """The motion that lays the length of a thing, or the normal of a flat one, along that of what is seen between
        the fingers in some of its colours, about as large; None where it would not have turned about these.
        """
        points, colours = self._unexplained(thing)
        near = np.linalg.norm(points[:, :2] - thing.middle[:2], axis=1) < _ROLLED
        near &= _histogram(thing.colours)[_bins(colours)] > _COMMON
        groups = (group for group, _ in _groups(points[near], colours[near]) if _as_large(group, thing.points))
        seen = next((g for g in groups if np.linalg.norm(g - grip, axis=1).min() < _COARSE + _SUNK), None)
        if seen is None:
            return None
        (own, lengths), (there, _) = _axes(thing.points), _axes(seen)
        k = 0 if lengths[0] * lengths[2] > lengths[1] ** 2 else 2
        across, along = np.cross(own[k], there[k]), own[k] @ there[k]
        sine, middle = float(np.linalg.norm(across)), thing.points.mean(axis=0)
        angle = math.copysign(math.atan2(sine, abs(along)), along)
        turned = Pose.about(middle, across / max(sine, 1e-9), angle)
        pose = turned.shifted(seen.mean(axis=0) - middle)
        is_held = np.linalg.norm(pose.apply(grip) - grip) < _SLIP
        return pose if is_held and thing.moved(pose).evidence(self._views).is_there else None  # light changes colours

    # ---- where pictures show a thing ---------------------------------------------------------------------------------

    def _at_rest(self, thing: SeenThing) -> SeenThing | None:
        """A thing that nothing should have moved."""
        found, gone = thing.evidence(self._views), self._moves(thing) and thing.is_gone(self._views)
        if found.is_there and not gone:
            return thing
        if not gone and (found.through < LEAST or not self._moves(thing)):  # hidden; or its drawer is elsewhere now
            return thing if found.seen >= max(LEAST, found.unsure) else None
        return self._near(thing, thing.bottom) or (self._by_colour(thing, None) if gone else None)

    def _lost(self, thing: SeenThing) -> SeenThing | None:
        """A thing that nobody knows the place of: where it was seen or let go last, or below, hidden until now, or
        anywhere.
        """
        return self._near(thing, thing.low) or self._by_colour(thing, None)

    def _near(self, thing: SeenThing, foot: float) -> SeenThing | None:
        """A thing `_fitted`, or what may be of it, near where it is thought to be."""
        return self._fitted(thing, foot) or self._by_colour(thing, thing.middle)

    def _fitted(self, thing: SeenThing, foot: float, in_any_light: bool = False) -> SeenThing | None:
        """A thing moved to where pictures show its points in their colours, near where it is thought to be, or below.
        foot: height of its lower side there, m; in_any_light: see `_fit`.
        """
        lowest = min(self._support(thing) - _SUNK - foot, 0.0)
        drops = np.arange(_COARSE, max(-_FALL, lowest) - 1e-6, -_COARSE)
        turns = [Pose.about(thing.middle, _UP, angle) for angle in _YAWS]
        found = self._fit(thing, drops, turns, lowest, self._explained(thing), _IN_OTHER_LIGHT, in_any_light)
        there = thing.moved(found) if found is not None else None
        return None if there is None or self._is_another(there) else there

    def _is_another(self, thing: SeenThing) -> bool:
        """Whether a thing would be exactly where another one is: its twin, which pictures show as well."""
        points = sample(thing.points, _SAMPLE)
        low, high = points.min(axis=0) - _SAME, points.max(axis=0) + _SAME
        for other in (sample(every, _OF_ANOTHER) for every in self._others(thing)):
            near = other[((other > low) & (other < high)).all(axis=1)]
            if len(near) and (np.linalg.norm(points[:, None] - near, axis=-1).min(axis=1) < _SAME).mean() > _SHARED:
                return True
        return False

    def _fit(
        self,
        thing: SeenThing,
        rises: np.ndarray,
        turns: Sequence[Pose] = (),
        lowest: float = -math.inf,
        explained: Sequence[np.ndarray] = (),
        other: float = _AGAINST,
        in_any_light: bool = False,
    ) -> Pose | None:
        """The motion that brings a thing to where pictures show it; None where they do not.

        rises: differences of height that are tried; turns: about what it may have turned, where it has not only moved;
        lowest: difference of height, m, below which it would be in its support; explained: pixels of each picture that
        show others; other: points that speak for a place, for one of another colour there; in_any_light: what shines is
        as any camera saw it, and nothing is told by what is seen within a pixel of an edge.
        """
        chosen = np.linspace(0, len(thing.points) - 1, min(len(thing.points), _SAMPLE)).astype(int)
        points, middle = thing.points[chosen], thing.middle
        colours = _in_any_light(thing, chosen) if in_any_light else thing.colours[chosen][:, None]

        def shown(pose: Pose) -> Evidence:
            return thing.evidence(self._views, pose.apply(points), colours, explained, not in_any_light)

        def score(pose: Pose) -> float:
            by = pose.apply(middle) - middle
            if by[2] < lowest - _FINE:
                return -math.inf
            found, away = shown(pose), float(np.linalg.norm(by))
            return found.seen - _AGAINST * found.through - other * found.other - _NEARER * len(points) * away

        def refined(pose: Pose) -> Pose:
            for step in (_COARSE, _FINE, _FINE):
                near = (replace(pose, translation=pose.translation + o) for o in product((-step, 0.0, step), repeat=3))
                pose = max(near, key=score)
            return pose

        aside = np.arange(-_ASIDE, _ASIDE + 1e-6, 2 * _COARSE)
        places = [Pose(np.eye(3), np.array(o)) for o in product(aside, aside, rises)]
        turned = [t.shifted(np.array((0.0, 0.0, rise))) for t in turns for rise in rises]
        for poses in filter(None, (places, turned)):
            best = refined(max(poses, key=score))
            if shown(best).is_there:
                return best
        return None

    def _support(self, thing: SeenThing) -> float:
        """The lowest height that a thing can fall to: the ground, or the bottom of what is below its middle; the floor
        between walls beside that may not be known.
        """
        size, found = np.ptp(thing.points[:, :2], axis=0), [self.ground]
        for points in self._others(thing):
            away = points[:, :2] - thing.middle[:2]
            below, around = (points[(np.abs(away) < share * size).all(axis=1)] for share in (0.25, 0.5))
            if _cover(below[:, :2], float(np.prod(size)) / 4):
                found.append(float(np.percentile(below[:, 2], 5)))
            elif (
                _cover(around[:, :2], float(np.prod(size)) / 2) and np.ptp(np.percentile(around[:, 2], (5, 95))) < _EVEN
            ):
                found.append(float(np.median(around[:, 2])))  # a level top, hidden below it until now
        return max(found)

    def _by_colour(self, thing: SeenThing, near: np.ndarray | None) -> SeenThing | None:
        """A thing that has tipped over or rolled: surfaces of its colours that belong to nothing else."""
        points, colours = self._unexplained(thing)
        own = _histogram(thing.colours)
        chosen = own[_bins(colours)] > _COMMON
        if near is not None:
            chosen &= np.linalg.norm(points[:, :2] - near[:2], axis=1) < _ROLLED
        for group, shades in _groups(points[chosen], colours[chosen]):
            theirs = self._shades_at(thing, group)
            told = np.where((own > _COMMON) & (theirs < _FAR_MORE * own), own, 0.0)
            mine = told[_bins(shades)] > 0.0
            several = told.sum() > _TOLD and (told > 0.0).sum() >= _SEVERAL  # all that is dark is alike
            parts = _groups(group[mine], shades[mine], groups_in_space) if several else ()
            every = ((group, shades, own, _UNLIKE), *((*part, told / told.sum(), _UNLIKE_TOLD) for part in parts))
            for there, tints, like, most in every:
                if _difference(tints, like) < most and _as_large(there, thing.points) and _is_of(tints, own, theirs):
                    return replace(thing, points=there, colours=tints)
        return None

    def _shades_at(self, thing: SeenThing, points: np.ndarray) -> np.ndarray:
        """The largest shares of colours in other things at which surfaces are, which may be sides of those that were
        not seen before, as the inside of a basket.
        """
        low, high = points.min(axis=0) - _BESIDE, points.max(axis=0) + _BESIDE
        others = (t for t in self.things if t.name != thing.name and not t.lost)
        beside = (t for t in others if (t.bounds[0] < high).all() and (t.bounds[1] > low).all())
        return np.max([np.zeros(_BINS**3), *(_histogram(t.colours) for t in beside)], axis=0)

    def _hanging(self, thing: SeenThing, found: SeenThing | None) -> SeenThing | None:
        """A thing just let go, as it was found; what rises above that there in its colours, where it hangs on fingers
        that have gone up, while its place, as in a basket, is hidden.
        """
        above = self._by_colour(thing, thing.middle) if found is not None else None
        if found is None or (above is not None and above.bounds[1][2] > found.bounds[1][2] + _RISES):
            return above
        return self._going_on(found) or found

    def _going_on(self, thing: SeenThing) -> SeenThing | None:
        """A thing that goes on above where it was found, in its colours and within its outline, however it touches what
        is beside: a face that is shown from its foot to its rim fits the same face higher up, too.
        """
        points, colours = self._unexplained(thing)
        (low, high), own = thing.bounds, _histogram(thing.colours)
        within = ((points > low) & (points < (*high[:2], 2 * high[2] - low[2]))).all(axis=1)
        above, mine = within & (points[:, 2] > high[2] + _GOES_ON), within & (own[_bins(colours)] > _COMMON)
        if (above & mine).sum() < max(_LEAST_ALIKE, _MOSTLY * above.sum()):  # one side has not all of its colours
            return None
        return replace(thing, points=points[mine], colours=colours[mine])

    def _by_place(self, thing: SeenThing) -> SeenThing | None:
        """A thing just let go, of which pictures show another side than before: what stands where it should, as high,
        belongs to nothing else and has some of its colours. All of it counts: a part of what has slid aside would seem
        to stand nearer to that place.
        """
        points, colours = self._unexplained(thing)
        (low, high), own = thing.bounds, _histogram(thing.colours)
        near = np.linalg.norm(points[:, :2] - thing.middle[:2], axis=1) < _ROLLED
        tall = _AS_HIGH * np.ptp(thing.points[:, 2])
        for group, shades in _groups(points[near], colours[near]):
            there = ((group > low - _BESIDE) & (group < high + _BESIDE)).all(axis=1)
            alike = float((own[_bins(shades)] > _COMMON).mean())
            is_it = there.mean() > _MOSTLY and alike > _ALIKE and _is_of(shades, own, self._shades_at(thing, group))
            if is_it and np.ptp(group[:, 2]) > tall and _as_large(group, thing.points):
                return replace(thing, points=group, colours=shades)
        return None

    def _others(self, thing: SeenThing) -> list[np.ndarray]:
        """The points of all other things that are not lost."""
        return [other.points for other in self.things if other.name != thing.name and not other.lost]

    def _explained(self, thing: SeenThing) -> list[np.ndarray]:
        """Pixels (h, w) of each picture that show other known things where they are."""
        points, found = np.concatenate([*self._others(thing), np.zeros((0, 3))]), []
        for view in self._views:
            u, v, depth, _ = view.projector.shown(points)
            there = np.abs(view.smooth[v, u] - depth) < _SAME
            mask = np.zeros(view.depth.shape, np.uint8)
            mask[v[there], u[there]] = 1
            found.append(cv2.dilate(mask, np.ones((3, 3), np.uint8)) > 0)
        return found

    def _unexplained(self, thing: SeenThing) -> tuple[np.ndarray, np.ndarray]:
        """Points, and their colours, above the ground that are not of other known things."""
        low = np.min([t.points.min(axis=0) for t in self.things], axis=0) - _AROUND
        high = np.max([t.points.max(axis=0) for t in self.things], axis=0) + (_AROUND, _AROUND, _UP_TO)
        low[2] = self.ground + _ABOVE
        inside = [v.valid & ~v.steps & ((v.points > low) & (v.points < high)).all(axis=-1) for v in self._views]
        points, colours = (
            np.concatenate([getattr(v, of)[mask] for v, mask in zip(self._views, inside)]) for of in ("points", "rgb")
        )
        free = _apart(points, np.concatenate([*self._others(thing), np.zeros((0, 3))]), low)
        free[free] = ~self._of_furniture(points[free])
        return points[free], colours[free]


def _in_any_light(thing: SeenThing, chosen: np.ndarray) -> np.ndarray:
    """Of points of a thing their colours, and of what was seen at the same place the one least like these, (n, 2, 3): a
    surface that shines is dark to one camera and light to another.
    """
    points, colours = (sample(of, _OF_ANOTHER) for of in (thing.points, thing.colours))
    own = thing.colours[chosen].astype(float)
    unlike = np.abs(own[:, None] - colours).mean(axis=2)
    unlike[np.linalg.norm(thing.points[chosen][:, None] - points, axis=2) > _SAME] = 0.0
    return np.stack((own, np.where(unlike.any(axis=1)[:, None], colours[unlike.argmax(axis=1)], own)), axis=1)


def _cover(xy: np.ndarray, area: float) -> bool:
    """Whether points (n, 2) are seen over most of an area, m2: of a wall beside a floor only a strip is."""
    cells = len(np.unique(np.floor(xy / _CELL).astype(int), axis=0)) if len(xy) > LEAST else 0
    return cells * _CELL**2 > _COVERS * area


def _apart(points: np.ndarray, others: np.ndarray, low: np.ndarray) -> np.ndarray:
    """Which points have none of the others in their cells, and those around them, (n,) bool."""
    taken = np.unique(_cells(others, low))
    around = [taken + _STRIDES @ by for by in product((-1, 0, 1), repeat=3)]
    return ~np.isin(_cells(points, low), np.unique(np.concatenate(around)))


def _cells(points: np.ndarray, low: np.ndarray) -> np.ndarray:
    """The number of each point's cell."""
    return np.asarray(np.floor((points - low) / _CELL).astype(np.int64) @ _STRIDES)


def _bins(colours: np.ndarray) -> np.ndarray:
    bins = colours.astype(int) * _BINS // 256
    return np.asarray((bins[:, 0] * _BINS + bins[:, 1]) * _BINS + bins[:, 2])


def _histogram(colours: np.ndarray) -> np.ndarray:
    """Shares of colours."""
    return np.bincount(_bins(colours), minlength=_BINS**3) / max(len(colours), 1)


def _difference(colours: np.ndarray, histogram: np.ndarray) -> float:
    """Difference of colours from shares of such, from 0 to 2."""
    return float(np.abs(_histogram(colours) - histogram).sum())


def _is_of(colours: np.ndarray, own: np.ndarray, theirs: np.ndarray) -> bool:
    """Whether colours are as likely those of a thing as of others beside it, by the shares that these have of each."""
    bins = _bins(colours)
    return bool(np.log((theirs[bins] + _RARE) / (own[bins] + _RARE)).mean() < _LIKELIER)


def _groups(
    points: np.ndarray, colours: np.ndarray, grouped: Callable[[np.ndarray], np.ndarray] = groups_from_above
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Connected groups of points, by default as seen from above, that are large enough, largest first."""
    if len(points) < _LEAST_ALIKE:
        return
    of = grouped(points)
    counts = np.bincount(of)
    for group in np.argsort(-counts):
        if counts[group] >= _LEAST_ALIKE:
            yield points[of == group], colours[of == group]


def _as_large(points: np.ndarray, others: np.ndarray) -> bool:
    """Whether points may be of a thing as large as others', however it is turned; they may be of a side of it only, but
    a sliver is of none.
    """
    seen, whole = _extents(points), _extents(others)
    return bool((seen < _LARGER * whole + _CELL).all() and seen[0] > _SMALLEST * whole[0])


def _extents(points: np.ndarray) -> np.ndarray:
    """Length, width and height of a cloud along its own axes, longest first, m."""
    return np.sort(np.ptp((points - points.mean(axis=0)) @ _axes(points)[0].T, axis=0))[::-1]


def _axes(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A cloud's own axes, one a row, and how far it spreads along them, most first."""
    centred = points - points.mean(axis=0)
    _, spread, axes = np.linalg.svd(centred[:: max(1, len(centred) // _SAMPLE)], full_matrices=False)
    return axes, spread

"""Placements: where a thing comes to rest when it is lowered on, in, at, beside or between others.

`others` are all objects but the one that is put down. It is lowered upright, turned about the vertical, or laid down on
a slope, and rests where the first of its parts touches what is below.
Metres, rad, base frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import product
from typing import ParamSpec

import numpy as np

from planweave.bodies.arm import solids
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.poses import laid, other_middle, upright
from planweave.bodies.arm.scene_object import Region, Thing
from planweave.bodies.arm.shape_places import level_top, sloped_top
from planweave.bodies.arm.solids import STEP, HeightMap, Opening, Part, Solid, height_map, rectangle_around
from planweave.bodies.arm.workspace import Location
from planweave.geometry.arrays import Array
from planweave.geometry.directions import surrounds

Vector = tuple[float, float, float]
P = ParamSpec("P")
UP: Vector = (0.0, 0.0, 1.0)
FINGERS = 0.035
"""Room that the opening fingers need beside an object on its closing side."""
GAP = 0.008
"""Room kept between objects otherwise."""
_LOW = 0.004  # above the ground, at most, of spots that are on it
_FOOT = 0.006  # between the points of an object's underside
_BEARS = 0.006  # what is at most this far below an object's foot bears it
_OFF = 0.024  # from the middle of a thing that something is put on, at most
_STEADY = 0.25  # share of an object's foot that must be borne
_FLAT = 0.9  # and of that which is to stand where nothing holds it upright
_TALL = 1.8  # times as high as wide: tips over on a slope
_LEVEL = 0.97  # cosine of slopes on which things stand
_AROUND = 0.05  # what belongs to the slope of a region is at most this far from it
_STEEPER = (0.0, 0.02, -0.02, 0.04, -0.04)  # rad by which a slope of slats may be steeper than it is seen
_LEANS = 0.15  # share of the lower side of what is laid on a slope that must touch it
_GRID, _COARSE = 0.012, 0.024  # between placements that are tried, and under a roof, where a hand fits at few
_CENTRED = 0.004  # between placements of a lid on a rim, and beside its middle
_TURNS = 4  # of an object over half a circle
_GAPS = (0.02, 0.03, 0.04, 0.05)  # between neighbours that are put side by side
_ANGLES = (0.0, 0.2, -0.2, 0.4, -0.4)
_SAME_LEVEL = 0.012
_TOUCHING = 0.006  # items nearer than this may touch, as their outlines are known
_CIRCLE = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))
_UNSEEN = 0.02  # what would fall so far below the floor of a room lies on that: it is not seen
_UNDER_ROOF = 0.02  # largest height at which something is let go where there is a roof
_SLOPE = math.radians(25.0)  # of the way into what is open at its side


@dataclass(frozen=True, slots=True)
class Spot:
    """Target of an object's lower side, and the allowed rotations of the object (None: any).

    ways: unit vectors from the spot along which the hand may come to it, by preference. rise: largest height above the
    spot at which the object may be let go. lying: unit vector that the object's upright axis is laid along.
    """

    x: float
    y: float
    z: float
    yaws: tuple[float, ...] | None = None
    ways: tuple[Vector, ...] = (UP,)
    rise: float = math.inf
    lying: Vector = UP


Sampler = Callable[P, Iterator[tuple[float, Spot]]]


@dataclass(frozen=True)
class Ground:
    """Ground below everything: its height, m, and the named places on it, within which things are put down if any."""

    height: float = 0.0
    places: Sequence[Location] = ()


def cheapest_first(sample: Sampler[P]) -> Callable[P, Iterator[Spot]]:
    """Have spots that are sampled with their costs given in the order of these."""

    @wraps(sample)
    def ordered(*args: P.args, **kwargs: P.kwargs) -> Iterator[Spot]:
        yield from (spot for _, spot in sorted(sample(*args, **kwargs), key=lambda pair: pair[0]))

    return ordered


def in_sight(
    item: Thing, spots: Iterable[Spot], parts: Sequence[Part], eye: Vector, ground: float, hidden: float
) -> list[Spot]:
    """Those of the spots at which parts in the base frame hide at most a share of the item's upper half from an eye;
    spots above the ground are left as they are.
    """
    found = list(spots)
    low = [k for k, spot in enumerate(found) if spot.z < ground + _LOW]
    if not low:
        return found
    own = [(item.radius * x, item.radius * y, item.size[2] * z) for (x, y), z in product(_CIRCLE, (0.5, 1.0))]
    points = np.array([(found[k].x, found[k].y, found[k].z) for k in low])[:, None] + np.array(own)
    shade = solids.hidden(parts, eye, points.reshape(-1, 3)).reshape(points.shape[:2])
    shaded = {k for k, row in zip(low, shade) if row.mean() > hidden}
    return [spot for k, spot in enumerate(found) if k not in shaded]


@dataclass(frozen=True)
class _Rest:
    """Resting place of an object: the height of its lowest point, how much of its foot is borne, and whether it is
    touched all around its middle, as a bowl is whose side meets the rim of a plate.
    """

    z: float
    borne: float
    surrounded: bool = False


class Resting:
    """Resting places of an object among others; below: parts that begin above are not there (a roof)."""

    def __init__(self, item: Thing, others: Iterable[Thing], ground: float, below: float = math.inf) -> None:
        """ground: height of what everything stands on."""
        self._solid = item.solid
        self._foot = _underside(self._solid)
        self._tops = _tops([o for o in others if o.name != item.name], below)
        self._ground = ground

    def at(self, x: float, y: float, yaw: float) -> _Rest:
        """With its centre at (x, y), turned by yaw from how it was seen."""
        c, s = math.cos(yaw), math.sin(yaw)
        u, v, low = self._foot.T
        heights = self._heights(x + c * u - s * v, y + s * u + c * v)
        z = float((heights - low).max())
        flat, touching = low < _BEARS, self._foot[heights - low > z - _BEARS, :2]
        touching = touching[np.linalg.norm(touching, axis=1) > _FOOT]
        return _Rest(z, float((heights[flat] > z - _BEARS).mean()), surrounds(touching))

    def lying(self, x: float, y: float, axis: Vector) -> _Rest:
        """With its centre over (x, y), its upright axis laid along a unit vector."""
        u, v, low = _underside(self._solid.moved(laid(axis))).T
        rests = self._heights(x + u, y + v) - low
        return _Rest(float(rests.max()), float((rests > rests.max() - _BEARS).mean()))

    def slope(self, region: Region) -> Array:
        """Normal (3,) of the plane through what is below a region."""
        u, v = np.array(grid((max(0.9 * s, 2 * _AROUND) for s in region.size[:2]), _GRID)).T
        x, y = region.centre[0] + u, region.centre[1] + v
        heights = self._heights(x, y)
        near = np.abs(heights - region.centre[2]) < _AROUND
        if near.sum() < 3:
            return np.array(UP)
        rows = np.column_stack([x[near], y[near], np.ones(int(near.sum()))])
        a, b, _ = np.linalg.lstsq(rows, heights[near], rcond=None)[0]
        normal = np.array([-a, -b, 1.0])
        return np.asarray(normal / np.linalg.norm(normal))

    def _heights(self, x: Array, y: Array) -> Array:
        found = np.full(len(x), self._ground)
        return found if self._tops is None else np.maximum(found, self._tops.at(x, y))

    @property
    def reach(self) -> Array:
        """Half extents (2,) of the object seen from above."""
        return np.asarray(np.abs(self._foot[:, :2]).max(axis=0))


@cheapest_first
def on(item: Thing, target: Thing, others: Sequence[Thing], ground: Ground) -> Iterator[tuple[float, Spot]]:
    """On a thing itself, not on what stands on it: its middle first, or the middle of its region, or of the level top
    of what is no item, or of its slope; where something stands in its middle, beside that, with room for the fingers
    first.
    """
    resting = Resting(item, others, ground.height)
    bare = Resting(item, [o for o in others if o.type != "item" or o.name == target.name], ground.height)
    region = min(target.regions, key=_height, default=None)
    tall = item.size[2] > _TALL * max(item.size[:2])
    if region is None and target.type != "item":
        region = level_top(target) or sloped_top(target)
    if region is None:
        turn, (x, y) = 0.0, target.position[:2]
        near, far = grid((2 * _OFF, 2 * _OFF), _GRID), grid(target.size[:2], _GRID)
        if item.domain_type == "lid" and _hollow(target) is not None:
            near, far = grid((2 * _CENTRED, 2 * _CENTRED), _CENTRED), []
    else:
        turn, (x, y) = region.yaw, region.centre[:2]
        near, far = grid((0.9 * s for s in region.size[:2]), _GRID), []
    c, s = math.cos(turn), math.sin(turn)
    hollow = region is None and _hollow(target) is not None  # which holds what leans on its walls
    twin = region is not None and _leaves_room(item, region, others)
    apart = (min(item.size[:2]) + FINGERS) / 2 if twin else 0.0  # across its length, so that both stand side by side
    lying = [o for o in others if o.bottom > target.bottom and target.covers(*o.position[:2])]
    found: list[tuple[float, Spot]] = []
    lopsided = target.type == "item" and not item.is_round
    (p, q, _), turns = (other_middle(item), (0.0, math.pi)) if lopsided else ((0.0,) * 3, (0.0,))
    yaws = [yaw + turn for yaw in _yaws(item, target.yaw) for turn in turns]
    for offsets in (near, far):
        for (u, v), yaw in product(offsets if not found else (), yaws):
            a, b = math.cos(yaw) / 2, math.sin(yaw) / 2  # halfway between its centre and its other middle
            there = x + c * u - s * v - a * p + b * q, y + s * u + c * v - b * p - a * q
            rest = resting.at(*there, yaw)
            leans = offsets is near and (rest.borne >= _STEADY or rest.surrounded or hollow)
            if (
                rest.z <= ground.height + 0.003
                or rest.z > bare.at(*there, yaw).z + _BEARS
                or not (leans or rest.borne > _FLAT)
            ):
                continue
            spot = _spot(item, there, rest.z, yaw)
            spot = replace(spot, yaws=(yaw,)) if lopsided else spot
            loose = 0.0 if rest.surrounded else 0.2 * (1 - rest.borne)
            across = yaw - turn + (0.0 if item.size[0] < item.size[1] else math.pi / 2)
            off = min(math.hypot(u - a * math.cos(across), v - a * math.sin(across)) for a in (apart, -apart))
            found.append((3.0 * off + loose + 5.0 * _tight(item, spot, yaw, lying), spot))
    slope = resting.slope(region) if region is not None else np.array(UP)
    if region is not None and slope[2] < _LEVEL:
        if tall:
            yield from _leaning(item, resting, region, slope, bool(target.regions))
            return
        yield from _laid_flat(item, resting, region, resting.slope(sloped_top(target) or region))
    lowest = min((spot.z for _, spot in found), default=0.0)
    yield from ((cost + 10.0 * max(0.0, spot.z - lowest - _BEARS), spot) for cost, spot in found)


def _leaves_room(item: Thing, region: Region, others: Iterable[Thing]) -> bool:
    """Whether there is another one like it, which has room in a region if this one does not stand in the middle."""
    twin = any(other.class_name == item.class_name and other.name != item.name for other in others)
    return twin and min(item.size[:2]) < 0.6 * min(region.size[:2])


def _leaning(item: Thing, resting: Resting, region: Region, slope: Array, lip: bool) -> Iterator[tuple[float, Spot]]:
    """Laid on a slope, where what is tall would tip over: along it or across, from the region of its lip on upwards; of
    a slope of which no lip is known along it, upper end up, from its lower edge.
    """
    across = np.cross(slope, UP) / np.linalg.norm(np.cross(slope, UP))
    along = np.cross(across, slope)
    along *= math.copysign(1.0, along[2])
    first, axes = 0.0, [along, -along, across, -across]
    upwards = np.arange(0.0, item.size[2] / 2 + 2 * _GRID, _GRID / 2)
    if not lip:
        way = np.abs(along[:2])
        first = (item.size[2] - float(way @ region.size[:2]) / float(way @ way)) / 2
        axes = [math.cos(more) * along + math.sin(more) * slope for more in _STEEPER]
        upwards = np.arange(-_GRID / 2, 2 * _GRID, _GRID / 2)
    beside = [k * _GRID for k in ((0, 1, -1, 3, -3) if lip else (0, 1, -1, 3, -3, 5, -5))]
    for axis, up, aside in product(axes, upwards, beside):
        x, y = (np.array(region.centre[:2]) + (first + up) * along[:2] + aside * across[:2]).tolist()
        lying: Vector = (float(axis[0]), float(axis[1]), float(axis[2]))
        rest = resting.lying(x, y, lying)
        if rest.borne >= _LEANS:
            yield math.hypot(up, aside) + 0.1 * (1 - rest.borne), Spot(x, y, rest.z, lying=lying)


def _laid_flat(item: Thing, resting: Resting, region: Region, slope: Array) -> Iterator[tuple[float, Spot]]:
    """Laid with its foot on a slope, where it would not come to rest upright: from the middle of the region upwards."""
    lying: Vector = (float(slope[0]), float(slope[1]), float(slope[2]))
    uphill = -slope[:2] / max(float(np.linalg.norm(slope[:2])), 1e-9)
    for up, k in product(np.arange(0.0, max(item.size[:2]) / 2 + 2 * _GRID, _GRID / 2), (0, 1, -1, 3, -3)):
        x, y = (np.array(region.centre[:2]) + up * uphill + k * _GRID * uphill[::-1] * (1.0, -1.0)).tolist()
        rest = resting.lying(x, y, lying)
        if rest.borne >= _LEANS:
            yield math.hypot(up, k * _GRID) - 1.0, Spot(x, y, rest.z, lying=lying)


@cheapest_first
def inside(
    item: Thing, target: Thing, others: Sequence[Thing], ground: Ground, region: Region | None = None
) -> Iterator[tuple[float, Spot]]:
    """In this or the highest region of a thing, or in its largest opening: low and in the middle first, with room for
    the fingers beside what lies there.
    """
    region = region or max(target.regions, key=_height, default=None) or _hollow(target)
    if region is None:
        return
    if target.class_name == "drawer" and item.size[2] > 2 * region.size[2]:
        yield from _laid_in(item, region, Resting(item, others, ground.height))
        return  # else most of it would stand out of what has to be shut
    roof = _is_roofed(region, others)
    resting = Resting(item, others, ground.height, region.centre[2] if roof else math.inf)
    ways = _ways_in(region) if roof else (UP,)
    low = region.centre[2] - region.size[2] / 2
    margin = 2 * resting.reach if roof else (0.02, 0.02)  # nothing of it may stand out of what has a door
    room = [max(0.0, float(s - m)) for s, m in zip(region.size[:2], margin)]
    c, s = math.cos(region.yaw), math.sin(region.yaw)
    lying = [] if roof else [o for o in others if o.name != target.name and target.covers(*o.position[:2])]
    yaws = _yaws(item, region.yaw - _sides(item), 2 * _TURNS if roof else _TURNS)
    for (u, v), yaw in product(grid(room, _COARSE if roof else _GRID), yaws):
        there = region.centre[0] + c * u - s * v, region.centre[1] + s * u + c * v
        rest = resting.at(*there, yaw)
        if rest.z < low - _UNSEEN:
            rest = replace(rest, z=low)
        sunk = min(0.3 * item.size[2], 0.5 * region.size[2])
        if rest.z + sunk > region.centre[2] + region.size[2] / 2 + 0.005:
            continue  # it would stand on the rim, or on what is inside
        spot = replace(_spot(item, there, rest.z, yaw, ways), rise=_UNDER_ROOF if roof else math.inf)
        cost = 5.0 * abs(rest.z - low) + math.hypot(u, v) + 0.05 * (1 - rest.borne)
        yield cost + 2.0 * _tight(item, spot, yaw, lying), spot


def _laid_in(item: Thing, region: Region, resting: Resting) -> Iterator[tuple[float, Spot]]:
    """Laid down in a region, along it or across, with all of it below its upper edge."""
    c, s = math.cos(region.yaw), math.sin(region.yaw)
    low = region.centre[2] - region.size[2] / 2
    axes: list[Vector] = [(c, s, 0.0), (-c, -s, 0.0), (-s, c, 0.0), (s, -c, 0.0)]
    for axis in axes:
        laid_down = item.solid.moved(upright(0.0, 0.0, 0.0, -region.yaw) @ laid(axis)).bounds
        extents = np.subtract(laid_down[1], laid_down[0])
        room = np.array(region.size) - extents
        if (room < (2 * GAP, 2 * GAP, 0.0)).any():
            continue
        for u, v in grid(room[:2].tolist(), _GRID):
            x, y = region.centre[0] + c * u - s * v, region.centre[1] + s * u + c * v
            rest = resting.lying(x, y, axis)
            if rest.z + extents[2] < low + region.size[2] + _BEARS:
                yield math.hypot(u, v) + 5.0 * abs(rest.z - low), Spot(x, y, rest.z, lying=axis)


@cheapest_first
def at(item: Thing, place: Location, others: Sequence[Thing], ground: Ground) -> Iterator[tuple[float, Spot]]:
    """On the ground within a place: the middle first. Where it has room for several things, with room for the fingers
    first, and not in a place that has room for one, nor on its border.
    """
    resting = Resting(item, others, ground.height)
    narrower = [p for p in ground.places if p.within(place) and p.narrow]
    for u, v in grid((0.8 * s for s in place.size), _GRID if place.narrow else _COARSE):
        there = place.centre[0] + u, place.centre[1] + v
        far = math.hypot(u, v) + any(p.covers(*there, item.radius) for p in narrower)
        for tight, spot in _on_ground(item, resting, there, others, Ground(ground.height), _yaws(item)):
            yield far + (0.0 if place.narrow else 5.0 * tight), spot


@cheapest_first
def beside(
    item: Thing, target: Thing, turn: float, others: Sequence[Thing], ground: Ground
) -> Iterator[tuple[float, Spot]]:
    """On the ground beside a thing, in the direction turned by `turn` (rad) from x: straight beside it, and with room
    for the fingers first; within the named places where that thing is, and which have room for both.
    """
    resting = Resting(item, others, ground.height)
    near = [other for other in others if other.name != target.name]
    ground = _around(ground, item, target)
    for gap, angle, yaw in product(_GAPS, _ANGLES, _yaws(item, target.yaw)):
        u, v = math.cos(turn + angle), math.sin(turn + angle)
        distance = target.support(u, v) + replace(item, yaw=yaw).support(u, v) + gap
        there = target.position[0] + distance * u, target.position[1] + distance * v
        for tight, spot in _on_ground(item, resting, there, near, ground, (yaw,)):
            yield 0.3 * abs(angle) + distance + 5.0 * tight, spot


@cheapest_first
def between(
    item: Thing, one: Thing, two: Thing, others: Sequence[Thing], ground: Ground
) -> Iterator[tuple[float, Spot]]:
    """On the ground between two things: the middle of the gap first."""
    resting, ground = Resting(item, others, ground.height), _around(ground, item, one, two)
    a, b = np.array(one.position[:2]), np.array(two.position[:2])
    length = float(np.linalg.norm(b - a))
    if not length:
        return
    along = (b - a) / length
    across = np.array([-along[1], along[0]])
    middle = (one.support(*along) + length - two.support(*along)) / 2
    for k, j in product(range(-6, 7), (0, 1, -1, 2, -2)):
        x, y = (a + (middle + 0.01 * k) * along + 0.01 * j * across).tolist()
        for tight, spot in _on_ground(item, resting, (x, y), others, ground, _yaws(item, math.atan2(*along[::-1]))):
            yield 0.01 * abs(k) + 0.02 * abs(j) + tight, spot


def _around(ground: Ground, item: Thing, *things: Thing) -> Ground:
    """The ground with those of its places in which things stand, and which have room for an item beside these."""
    least = min(item.size[:2]) + sum(min(t.size[:2]) for t in things)
    places = [p for p in ground.places if max(p.size) > least and all(p.covers(*t.position[:2]) for t in things)]
    return replace(ground, places=places)


def _on_ground(
    item: Thing,
    resting: Resting,
    there: tuple[float, float],
    others: Sequence[Thing],
    ground: Ground,
    yaws: Iterable[float],
) -> Iterator[tuple[float, Spot]]:
    """Spots at a point of the ground, each with the room that the fingers lack there, m."""
    if ground.places and not any(place.covers(*there, -item.radius) for place in ground.places):
        return
    for yaw in yaws:
        rest = resting.at(*there, yaw)
        if rest.z < ground.height + _SAME_LEVEL and rest.borne > _FLAT:
            spot = _spot(item, there, rest.z, yaw)
            tight = _tight(item, spot, yaw, others)
            if tight < FINGERS - _TOUCHING:
                yield tight, spot


def _tight(item: Thing, spot: Spot, yaw: float, others: Iterable[Thing]) -> float:
    """How much the nearest of others is nearer to an item at a spot than it should be, m."""
    there = replace(item, position=(spot.x, spot.y, spot.z + item.size[2] / 2), yaw=yaw)
    lack = 0.0
    for other in others:
        if other.bottom < there.top and other.name != item.name:
            wanted = FINGERS if other.type == "item" else GAP
            lack = max(lack, min(wanted, wanted - there.gap(other)))
    return lack


def _spot(item: Thing, there: tuple[float, float], z: float, yaw: float, ways: tuple[Vector, ...] = (UP,)) -> Spot:
    return Spot(*there, z, None if item.is_round else (yaw, yaw + math.pi), ways)


def _yaws(item: Thing, first: float = 0.0, turns: int = _TURNS) -> tuple[float, ...]:
    """Rotations of an item that are tried, from one on, and each half a turn further."""
    return (0.0,) if item.is_round else tuple(first + k * math.pi / turns for k in range(turns))


def _sides(item: Thing) -> float:
    """Direction of the straight sides of an item in its frame, as of a book that was seen standing askew; 0 where it
    has none.
    """
    corners = item.solid.outline()
    (x, y), (yaw, size, _) = corners.T, rectangle_around(corners)
    area = abs(float(x @ np.roll(y, 1) - y @ np.roll(x, 1))) / 2
    return yaw if area > _FLAT * math.prod(size) else 0.0


# ---- shapes -------------------------------------------------------------------------------------------------------


def _underside(solid: Solid) -> Array:
    """Points (n, 3) of the lower side of an object in its frame; the third is how far above its lowest point."""
    low, high = solid.bounds
    x, y = np.meshgrid(*(np.arange(low[k] + _FOOT / 2, high[k], _FOOT) for k in (0, 1)), indexing="ij")
    height = np.full(x.shape, math.inf)
    for part in solid.parts:
        height = np.minimum(height, part.crossing(x, y)[0])
    there = np.isfinite(height)
    return np.column_stack([x[there], y[there], height[there] - low[2]])


def _tops(others: Iterable[Thing], below: float) -> HeightMap | None:
    parts = [p for other in others for p in parts_of(other) if p.corners[:, 2].min() < below]
    return height_map(parts, STEP) if parts else None


def _hollow(target: Thing) -> Region | None:
    """The largest opening of a thing as a region."""
    openings = Solid(tuple(parts_of(target))).openings
    if not openings:
        return None
    opening: Opening = openings[0]
    return Region((*opening.centre, (opening.rim + opening.floor) / 2), (*opening.size, opening.depth), opening.yaw)


def _height(region: Region) -> float:
    return region.size[2]


def _is_roofed(region: Region, things: Iterable[Thing]) -> bool:
    """Whether something hangs over the middle of a region."""
    x, y = np.array([region.centre[0]]), np.array([region.centre[1]])
    parts: list[Part] = [p for thing in things for p in parts_of(thing)]
    return any(float(p.crossing(x, y)[0][0]) > region.centre[2] and np.isfinite(p.crossing(x, y)[0][0]) for p in parts)


def _ways_in(region: Region) -> tuple[Vector, ...]:
    """Horizontal ways, and ways that come a little from above: from the robot's side first."""
    towards = math.atan2(-region.centre[1], -region.centre[0])
    ways: list[Vector] = []
    for turn, slope in product((0.0, math.pi / 2, -math.pi / 2, math.pi / 4, -math.pi / 4), (0.0, _SLOPE)):
        c, s = math.cos(slope), math.sin(slope)
        ways.append((c * math.cos(towards + turn), c * math.sin(towards + turn), s))
    return tuple(ways)


def grid(room: Iterable[float], step: float) -> list[tuple[float, float]]:
    """Points of a grid over a rectangle around the origin, by its extents, nearest to the centre first."""
    counts = [int(size / 2 / step) for size in room]
    along, across = ([k * step for k in range(-count, count + 1)] for count in counts)
    return sorted(product(along, across), key=lambda p: math.hypot(*p))

"""Sampling of free placements: on an object, in a container, within a place on the table, beside or between objects.

Metres, base frame.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from itertools import islice, product
from typing import ParamSpec

import numpy as np

from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.solids import Part
from planweave.bodies.arm.workspace import Location

Vector = tuple[float, float, float]
P = ParamSpec("P")
UP: Vector = (0.0, 0.0, 1.0)
FINGERS = 0.035
"""Room that the opening fingers need beside an object on its closing side."""
GAP = 0.008
"""Room kept between objects otherwise."""
_CLOSE = 0.05  # room to a thing that something is put beside, at most, m
_WALL = 0.012
_CLOSE_SPOTS = 12
_OFF_WALL = 0.015  # more room at the walls, where there is some: they are seen a few millimetres off
_FLOOR = 0.008
_AROUND = ((0.0, 0.0), (1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))


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
    """What everything stands on: its height, m, and the named places on it, within which things are put down if any."""

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
    low = [k for k, spot in enumerate(found) if spot.z < ground + _FLOOR / 2]
    if not low:
        return found
    own = [(item.radius * x, item.radius * y, item.size[2] * z) for (x, y), z in product(_AROUND, (0.5, 1.0))]
    points = np.array([(found[k].x, found[k].y, found[k].z) for k in low])[:, None] + np.array(own)
    shade = np.zeros(points.shape[:2], bool)
    for part in parts:
        shade |= part.hides(eye, points.reshape(-1, 3)).reshape(shade.shape)
    shaded = {k for k, row in zip(low, shade) if row.mean() > hidden}
    return [spot for k, spot in enumerate(found) if k not in shaded]


def on(item: Thing, target: Thing, others: Sequence[Thing], ground: Ground) -> Iterator[Spot]:
    """On a plate where it is free, or on the centre of another thing."""
    if target.type == "surface":
        yield from on_surface(item, target, [o for o in others if o.name != target.name])
        return
    yaws = None if target.is_round else tuple(target.yaw + k * math.pi / 2 for k in range(4))
    yield Spot(*target.position[:2], target.top, yaws)


@cheapest_first
def on_surface(item: Thing, target: Thing, others: Sequence[Thing]) -> Iterator[tuple[float, Spot]]:
    """On a plate: free spots, with rotations that align long objects with the rim; small ones leave the centre free."""
    reach = min(target.size[:2]) / 2
    width = min(item.size[:2])
    wanted = min(reach / 2, reach - width / 2 - 0.02) if width < 0.6 * reach else 0.0
    lying = [o for o in others if target.covers(*o.position[:2], o.radius) and o.bottom > target.bottom - 0.005]
    for distance in sorted({0.0, wanted / 2, wanted, 1.25 * wanted}):
        for k in range(12 if distance else 1):
            angle = target.yaw + 2 * math.pi * k / 12
            x, y = target.position[0] + distance * math.cos(angle), target.position[1] + distance * math.sin(angle)
            along = angle + (math.pi / 2 if item.size[0] >= item.size[1] else 0.0)
            for yaw in (along, along + math.pi / 2) if not distance else (along,):
                circles = _circles(item, x, y, yaw)
                if any(math.dist((cx, cy), target.position[:2]) + r > reach - 0.005 for cx, cy, r in circles):
                    continue
                room = min((o.distance(cx, cy) - r for cx, cy, r in circles for o in lying), default=FINGERS)
                if room >= GAP / 2:
                    # Room for the fingers first, then the wanted place, then less travel towards the robot's side.
                    cost = 5 * max(0.0, FINGERS - room) + abs(distance - wanted) + 0.02 * math.hypot(x, y)
                    yield cost, Spot(x, y, target.top, (yaw, yaw + math.pi))


def inside(item: Thing, box: Thing, others: Sequence[Thing], ground: Ground) -> Iterator[Spot]:
    """In a container: free spots on its floor, in a pattern that leaves space for more; then closer to its contents,
    where only some finger rotations fit; then on top of them.
    """
    near = [o for o in others if o.name != box.name and box.covers(*o.position[:2])]
    lying = [o for o in near if o.bottom > box.bottom - 0.005 and o.bottom < box.top]
    floor = box.bottom + min(_FLOOR, box.size[2] / 3)
    yaws = None if box.is_round else tuple(box.yaw + k * math.pi / 2 for k in range(4))
    inner = [s - 2 * _WALL for s in box.size[:2]]
    if box.is_round:
        inner = [s * 0.62 for s in inner]  # the largest square well inside the circle
    room = (max(0.0, inner[0] - 2 * item.radius), max(0.0, inner[1] - 2 * item.radius))
    pitch = 2 * item.radius + FINGERS
    cells = sorted(product(_even(room[0], pitch), _even(room[1], pitch)), key=lambda p: math.hypot(*p))
    for u, v in [*cells, *grid(room, 0.01)]:
        x, y = box.world(u, v)
        if all(_apart(item, x, y, o) for o in lying):
            yield Spot(x, y, floor, yaws)
    if lying:
        close = (
            Spot(x, y, floor, yaws)
            for x, y in (box.world(u, v) for u, v in grid(room, 0.01))
            if all(replace(item, position=(x, y, floor), yaw=box.yaw).gap(o) >= GAP for o in lying)
            and not all(_apart(item, x, y, o) for o in lying)
        )
        yield from islice(close, _CLOSE_SPOTS)
        for u, v in grid(room, 0.02):
            x, y = box.world(u, v)
            under = [o.top for o in lying if math.hypot(o.position[0] - x, o.position[1] - y) < o.radius + item.radius]
            yield Spot(x, y, max([floor, *under]), yaws)


def at(item: Thing, place: Location, others: Sequence[Thing], ground: Ground) -> Iterator[Spot]:
    """On the table within a place: free spots, nearest to the centre first, preferably not in a smaller place or on its
    border.
    """
    border = min(0.02, min(place.size) / 4)
    room = (max(0.0, place.size[0] - 2 * border), max(0.0, place.size[1] - 2 * border))
    narrower = [p for p in ground.places if p.within(place) and p.narrow]
    spots = []
    for u, v in grid(room, 0.01 if place.narrow else 0.03):
        x, y = place.centre[0] + u, place.centre[1] + v
        if all(_apart(item, x, y, o) for o in others if o.bottom < item.size[2]):
            inside = any(p.covers(x, y, item.radius) for p in narrower)
            spots.append((math.hypot(u, v) + (1.0 if inside else 0.0), x, y))
    for _, x, y in sorted(spots):
        yield Spot(x, y, 0.0)


@cheapest_first
def beside(
    item: Thing, target: Thing, turn: float, others: Sequence[Thing], ground: Ground
) -> Iterator[tuple[float, Spot]]:
    """On the table beside an object, in the direction turned by `turn` (rad) from x, near it: straight beside and with
    clearance for the fingers first.
    """
    for yaw in (0.0,) if item.is_round else (target.yaw, target.yaw + math.pi / 2):
        for gap in (FINGERS, FINGERS + 0.01, _CLOSE / 2, _CLOSE):
            for angle in (0.0, 0.2, -0.2, 0.4, -0.4, 0.6, -0.6):
                u, v = math.cos(turn + angle), math.sin(turn + angle)
                distance = target.support(u, v) + replace(item, yaw=yaw).support(u, v) + gap
                x, y = target.position[0] + distance * u, target.position[1] + distance * v
                free = _room(item, x, y, yaw, [o for o in others if o is not target], ground.places)
                if free > GAP:
                    cost = abs(angle) + 10 * abs(gap - FINGERS) + 10 * max(0.0, FINGERS - free)
                    yield cost, Spot(x, y, 0.0, _both(item, yaw))


@cheapest_first
def between(
    item: Thing, one: Thing, two: Thing, others: Sequence[Thing], ground: Ground
) -> Iterator[tuple[float, Spot]]:
    """On the table between two objects: the middle of the gap first."""
    dx, dy = two.position[0] - one.position[0], two.position[1] - one.position[1]
    length = math.hypot(dx, dy)
    if not length:
        return
    u, v = dx / length, dy / length
    low, high = one.support(u, v), length - two.support(u, v)
    for yaw in (0.0,) if item.is_round else (math.atan2(v, u), math.atan2(v, u) + math.pi / 2):
        for k in range(-8, 9):
            for aside in (0.0, 0.01, -0.01, 0.02, -0.02, 0.03, -0.03):
                along = (low + high) / 2 + 0.01 * k
                x, y = one.position[0] + along * u - aside * v, one.position[1] + along * v + aside * u
                own = replace(item, yaw=yaw).support(u, v)
                free = _room(item, x, y, yaw, others, ground.places)
                if low + own <= along <= high - own and free > 0.0:
                    cost = abs(k) + 100 * abs(aside) + 100 * max(0.0, FINGERS - free)
                    yield cost, Spot(x, y, 0.0, _both(item, yaw))


def _room(item: Thing, x: float, y: float, yaw: float, others: Iterable[Thing], table: Sequence[Location]) -> float:
    """Clearance of an item on the table at (x, y); negative where it would touch, or is off the table."""
    there = replace(item, position=(x, y, item.size[2] / 2), yaw=yaw)
    if table and not any(p.covers(x, y, -item.radius) for p in table):
        return -1.0
    return min((there.gap(o) for o in others if o.bottom < there.top), default=FINGERS)


def _both(item: Thing, yaw: float) -> tuple[float, ...] | None:
    return None if item.is_round else (yaw, yaw + math.pi)


def _apart(item: Thing, x: float, y: float, other: Thing) -> bool:
    """Whether an item centred at (x, y) leaves space for itself and one finger beside another object."""
    return other.distance(x, y) >= item.radius + (FINGERS if other.type == "item" else GAP)


def _circles(item: Thing, x: float, y: float, yaw: float) -> list[tuple[float, float, float]]:
    """Circles (x, y, radius) along an object's longer side that approximate its outline."""
    length, width = max(item.size[:2]), min(item.size[:2])
    radius = width / 2
    if length < 1.2 * width:
        return [(x, y, length / 2)]
    along = yaw if item.size[0] >= item.size[1] else yaw + math.pi / 2
    count = math.ceil(length / width) + 1
    offsets = [(length - width) * (k / (count - 1) - 0.5) for k in range(count)]
    return [(x + o * math.cos(along), y + o * math.sin(along), radius) for o in offsets]


def _even(room: float, pitch: float) -> list[float]:
    """Centres of as many objects as fit side by side into `room` (the range of their centres), evenly spaced, and off
    the walls where the gaps allow it.
    """
    count = int(room / pitch) + 1
    if count == 1:
        return [0.0]
    step = max(pitch, (room - 2 * _OFF_WALL) / (count - 1))
    return [step * (k - (count - 1) / 2) for k in range(count)]


def grid(room: Iterable[float], step: float) -> list[tuple[float, float]]:
    """Points of a grid over a rectangle around the origin, by its extents, nearest to the centre first."""
    counts = [int(size / 2 / step) for size in room]
    along, across = ([k * step for k in range(-count, count + 1)] for count in counts)
    return sorted(product(along, across), key=lambda p: math.hypot(*p))

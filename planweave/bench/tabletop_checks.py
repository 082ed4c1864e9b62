"""Geometric conditions of tabletop tasks, with tolerances.

The same conditions evaluate the simulator's true poses and the world as observed; both are converted to `ObjectPose`.
Metres and radians in the robot's base frame: x away from the robot, y to its left, z up, z = 0 is the table top. Left
and right are the robot's. A condition yields one sentence per violation, and nothing where it holds.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, permutations
from typing import Any

from planweave.core.base.errors import ConfigError
from planweave.core.symbolic.domain import Domain

RESTS = 0.015  # an object stands on what is at most this far below or above its lower side, m

Interval = Sequence[float]


@dataclass(frozen=True)
class ObjectPose:
    """One object: kind as in scene files, position of its centre, size along its own axes, rotation about the
    vertical.
    """

    name: str
    kind: str
    position: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float = 0.0
    rise: tuple[float, float, float] = (0.0, 0.0, 1.0)  # vertical component of each of its own axes, as unit vectors
    held: bool = False

    @property
    def bottom(self) -> float:
        return self.position[2] - self.half_height

    @property
    def top(self) -> float:
        return self.position[2] + self.half_height

    @property
    def half_height(self) -> float:
        """Half its vertical extent in its current pose."""
        x, y, z = (size * abs(rise) for size, rise in zip(self.size, self.rise))
        return ((math.hypot(x, y) if Domain.load().is_round_class(self.kind) else x + y) + z) / 2

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point lies within its outline in top view, dilated by `slack`."""
        dx, dy = x - self.position[0], y - self.position[1]
        if Domain.load().is_round_class(self.kind):
            return math.hypot(dx, dy) <= max(self.size[:2]) / 2 + slack
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        u, v = c * dx + s * dy, c * dy - s * dx
        return abs(u) <= self.size[0] / 2 + slack and abs(v) <= self.size[1] / 2 + slack


@dataclass(frozen=True)
class Situation:
    """Current and initial poses of all objects by name, and the named places (x, y)."""

    now: Mapping[str, ObjectPose]
    start: Mapping[str, ObjectPose] = field(default_factory=dict)
    places: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    handed: frozenset[str] = frozenset()  # what a person is known to have taken


def unmet(conditions: Sequence[Mapping[str, Any]], situation: Situation) -> list[str]:
    """Violations of conditions that must all hold; each is {name: {argument: value}}."""
    found: list[str] = []
    for condition in conditions:
        ((name, arguments),) = condition.items()
        if name == "any":
            found += _any(arguments, situation)
        else:
            found += CONDITIONS[name](situation, **arguments)
    return found


def _any(branches: Sequence[Sequence[Mapping[str, Any]]], situation: Situation) -> list[str]:
    """Alternatives: nothing where one holds, else the violations of the nearest one."""
    lacking = [unmet(branch, situation) for branch in branches]
    best = min(lacking, key=len)
    return [f"{text} (or another way to do it)" for text in best]


def inside(situation: Situation, objects: Sequence[str], containers: Sequence[str]) -> Iterator[str]:
    """Each object is in one of the containers: centre within the outline, lower side below the rim."""
    boxes = list(_bodies(situation, containers))
    for thing in _bodies(situation, objects):
        if not any(
            box.covers(*thing.position[:2]) and box.bottom - RESTS <= thing.bottom <= box.top - 0.005 for box in boxes
        ):
            yield f"{thing.name} is not in {_or(containers)}: {_where(thing)}"
    yield from _absent(situation, objects)


def on_surface(situation: Situation, objects: Sequence[str], surface: str) -> Iterator[str]:
    """Each object rests on a plate: centre above its outline, lower side at its height."""
    for plate in _bodies(situation, [surface]):
        for thing in _bodies(situation, objects):
            level = plate.bottom - RESTS <= thing.bottom <= plate.top + RESTS
            if not (plate.covers(*thing.position[:2]) and level):
                yield f"{thing.name} is not on {surface}: {_where(thing)}"
    yield from _absent(situation, [*objects, surface])


def region(situation: Situation, objects: Sequence[str], x: Interval, y: Interval) -> Iterator[str]:
    """Each object is on the table with its centre within these bounds."""
    for thing in _bodies(situation, objects):
        if not _stands(thing) or not _between(thing.position[0], x) or not _between(thing.position[1], y):
            yield f"{thing.name} is not where x is {_span(x)} and y {_span(y)} m: {_where(thing)}"
    yield from _absent(situation, objects)


def count(situation: Situation, x: Interval, y: Interval, kinds: Mapping[str, int]) -> Iterator[str]:
    """Within these bounds there are exactly so many objects of each kind (other kinds do not count)."""
    standing = [b for b in situation.now.values() if _stands(b)]
    here = Counter(b.kind for b in standing if _between(b.position[0], x) and _between(b.position[1], y))
    for kind, number in kinds.items():
        if here[kind] != number:
            yield f"where x is {_span(x)} and y {_span(y)} m there are {here[kind]} of kind {kind}, not {number}"


def assigned(situation: Situation, objects: Sequence[str], places: Sequence[str], within: float) -> Iterator[str]:
    """Each object is at one of the named places, and no place has two."""
    taken: dict[str, str] = {}
    for thing in _bodies(situation, objects):
        near = min(places, key=lambda p: math.dist(situation.places[p], thing.position[:2]))
        if math.dist(situation.places[near], thing.position[:2]) > within or not _stands(thing):
            yield f"{thing.name} is at none of {', '.join(places)}: {_where(thing)}"
        elif near in taken:
            yield f"{thing.name} and {taken[near]} are both at {near}"
        else:
            taken[near] = thing.name
    yield from _absent(situation, objects)


def line(
    situation: Situation, order: Sequence[str], straight: float, spacing: Interval, x: Interval, y: Interval
) -> Iterator[str]:
    """The objects form a row from the robot's left to its right in this order.

    straight: largest distance from their common line, m; spacing: between neighbours' centres, m; x, y: bounds for the
    middle of the row.
    """
    row = list(_bodies(situation, order))
    yield from _absent(situation, order)
    if len(row) < 2:
        return
    for left, right in pairwise(row):
        gap = left.position[1] - right.position[1]
        if gap <= 0:
            yield f"{right.name} is not to the right of {left.name}"
        elif not _between(gap, spacing):
            yield f"{left.name} and {right.name} are {gap:.3f} m apart, not {_span(spacing)} m"
    middle = [sum(b.position[axis] for b in row) / len(row) for axis in (0, 1)]
    for thing in row:
        if abs(thing.position[0] - middle[0]) > straight or not _stands(thing):
            yield f"{thing.name} is not in line with the others: {_where(thing)}"
    if not (_between(middle[0], x) and _between(middle[1], y)):
        yield (
            f"the line's middle is at ({middle[0]:.2f}, {middle[1]:.2f}) m, not where x is {_span(x)} and "
            f"y {_span(y)} m"
        )


def shape(
    situation: Situation,
    objects: Sequence[str],
    patterns: Sequence[str],
    pitch: Interval,
    tolerance: float,
    turn: float = 0.2,
    views: Sequence[float] = (0.0,),
    x: Interval = (0.0, 1.0),
    y: Interval = (-1.0, 1.0),
) -> Iterator[str]:
    """The objects stand in one of the patterns, all cells taken and nothing left over.

    patterns: pictures with # for an object, as the robot sees the table (the top line is the farthest from it). pitch:
    distance of neighbouring cells, m; tolerance: of each centre, m; turn: how far the figure may be turned, rad; views:
    directions from which it may be read, rad (3.14: from the side opposite the robot); x, y: bounds for each centre.
    """
    bodies = list(_bodies(situation, objects))
    yield from _absent(situation, objects)
    for thing in bodies:
        if not _stands(thing):
            yield f"{thing.name} does not stand on the table: {_where(thing)}"
        elif not (_between(thing.position[0], x) and _between(thing.position[1], y)):
            yield f"{thing.name} is not where x is {_span(x)} and y {_span(y)} m: {_where(thing)}"
    points = [b.position[:2] for b in bodies]
    best = min((_misfit(points, _cells(p), pitch, turn, views) for p in patterns), default=math.inf)
    if best > tolerance:
        drawing = " / ".join(patterns[0].split())
        off = "no arrangement of them comes near" if math.isinf(best) else f"at best {best:.3f} m off"
        yield f"{', '.join(objects)} do not form the figure {drawing}: {off} (allowed: {tolerance:g} m)"


def triangle(
    situation: Situation, among: Sequence[str], side: Interval, least_angle: float, x: Interval, y: Interval
) -> Iterator[str]:
    """Three of the objects form a triangle within these bounds.

    side: lengths of its sides, m; least_angle: of its angles, rad.
    """
    there = [
        b for b in _bodies(situation, among) if _stands(b) and _between(b.position[0], x) and _between(b.position[1], y)
    ]
    for corners in combinations(there, 3):
        sides = [math.dist(a.position[:2], b.position[:2]) for a, b in combinations(corners, 2)]
        if all(_between(s, side) for s in sides) and _smallest_angle(sides) >= least_angle:
            return
    names = ", ".join(b.name for b in there) or "none"
    yield f"no three of {', '.join(among)} form a triangle where x is {_span(x)} and y {_span(y)} m; there: {names}"


def stack(situation: Situation, order: Sequence[str], offset: float) -> Iterator[str]:
    """A tower on the table, from bottom to top; offset: between the centres of neighbours in top view, m."""
    tower = list(_bodies(situation, order))
    yield from _absent(situation, order)
    if tower and not _stands(tower[0]):
        yield f"{tower[0].name} does not stand on the table: {_where(tower[0])}"
    for below, above in pairwise(tower):
        if abs(above.bottom - below.top) > RESTS or math.dist(above.position[:2], below.position[:2]) > offset:
            yield f"{above.name} is not on {below.name}: {_where(above)}"


def still(situation: Situation, objects: Sequence[str], within: float) -> Iterator[str]:
    """The objects are at their initial poses."""
    for thing in _bodies(situation, objects):
        before = situation.start.get(thing.name)
        if before is not None and math.dist(before.position, thing.position) > within:
            yield f"{thing.name} was moved by {math.dist(before.position, thing.position):.3f} m"
    yield from _absent(situation, objects)


def handed(situation: Situation, objects: Sequence[str]) -> Iterator[str]:
    """A person has taken the objects: they are neither on the table nor in the gripper."""
    for name in objects:
        thing = situation.now.get(name)
        if name not in situation.handed and thing is not None and (thing.held or thing.bottom > -0.1):
            yield f"nobody has taken {name}: {'the gripper holds it' if thing.held else _where(thing)}"


Condition = Callable[..., Iterator[str]]
_ALL = (inside, on_surface, region, count, assigned, line, shape, triangle, stack, still, handed)
CONDITIONS: dict[str, Condition] = {condition.__name__: condition for condition in _ALL}


def _bodies(situation: Situation, names: Sequence[str]) -> Iterator[ObjectPose]:
    return (situation.now[name] for name in names if name in situation.now)


def _absent(situation: Situation, names: Sequence[str]) -> Iterator[str]:
    return (f"{name} is not there" for name in names if name not in situation.now)


def _stands(thing: ObjectPose) -> bool:
    return not thing.held and abs(thing.bottom) <= RESTS


def _between(value: float, bounds: Interval) -> bool:
    return bounds[0] <= value <= bounds[1]


def _span(bounds: Interval) -> str:
    return f"{bounds[0]:g} to {bounds[1]:g}"


def _where(thing: ObjectPose) -> str:
    if thing.held:
        return "the gripper holds it"
    x, y, _ = thing.position
    return f"it is at ({x:.2f}, {y:.2f}) m, {100 * thing.bottom:.0f} cm above the table"


def _or(names: Sequence[str]) -> str:
    return " or ".join(names)


def _smallest_angle(sides: Sequence[float]) -> float:
    """The smallest angle of a triangle, by the law of cosines, rad."""
    angles = []
    for a, b, c in permutations(sides, 3):
        angles.append(math.acos(max(-1.0, min(1.0, (b * b + c * c - a * a) / (2 * b * c)))))
    return min(angles)


def _cells(picture: str) -> list[tuple[float, float]]:
    """Cells of a picture as (x, y) in units of the pitch; the top line is the farthest, the first column leftmost."""
    rows = picture.split()
    cells = [(float(-r), float(-c)) for r, row in enumerate(rows) for c, sign in enumerate(row) if sign == "#"]
    if len(cells) < 3 or any(sign not in "#." for row in rows for sign in row):
        raise ConfigError(f"{picture!r} is not a picture of a figure: lines of # and ., with three # or more")
    return cells


def _misfit(
    points: Sequence[tuple[float, float]],
    cells: Sequence[tuple[float, float]],
    pitch: Interval,
    turn: float,
    views: Sequence[float],
) -> float:
    """Largest distance of a point from its cell in the best arrangement, m; infinite where none has allowed pitch and
    turn. The two cells farthest apart are laid on each pair of points, which fixes place, turn and pitch."""
    if len(points) != len(cells):
        return math.inf
    first, last = max(combinations(cells, 2), key=lambda pair: math.dist(*pair))
    along, angle = math.dist(first, last), math.atan2(last[1] - first[1], last[0] - first[0])
    best = math.inf
    for p, q in permutations(points, 2):
        scale = math.dist(p, q) / along
        turned = math.atan2(q[1] - p[1], q[0] - p[0]) - angle
        if not _between(scale, pitch) or all(abs(math.remainder(turned - v, 2 * math.pi)) > turn for v in views):
            continue
        c, s = scale * math.cos(turned), scale * math.sin(turned)
        free = list(points)
        worst = 0.0
        for u, v in cells:
            du, dv = u - first[0], v - first[1]
            where = p[0] + c * du - s * dv, p[1] + s * du + c * dv
            nearest = min(free, key=lambda point: math.dist(point, where))
            free.remove(nearest)
            worst = max(worst, math.dist(nearest, where))
        best = min(best, worst)
    return best

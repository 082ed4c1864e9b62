"""Furniture in the points of all cameras: which pieces there are, what moves, and which heights things stand on there.

Metres, in the robot's base frame with z = 0 on the table. A piece is known by its parts: what has drawers is a cabinet,
what has a door a cupboard, what has a knob a stove, what has boards a shelf; another large thing is furniture.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import cv2
import numpy as np

from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.perception.articulation import joints_of, remembered, with_shut
from planweave.perception.boards import shelf_shape
from planweave.perception.burners import TurnedOn, knob_of, with_state
from planweave.perception.carcass import Carcass, cells_covered, find_body
from planweave.perception.geometry import outline
from planweave.perception.naming import numbered

_CELL, _POINTS = 0.01, 3  # m: edge of a cell of the plan; points in it that are no noise
_LOW, _HIGH = 0.012, 0.60  # m above the table between which points are looked at
_LEAST, _DRAWERS = 0.07, 0.055  # m: half of the shorter side of furniture, at least, and of what shows a drawer
_POT, _ROUND = 0.12, 0.87  # m: half of the width of a round pot, at most; share of its box that no round top fills
_TALL = 0.10  # m that furniture without parts that move is high, at least
_BOARD, _COVERED = 0.012, 0.25  # m: layer in which a board lies; share of the plan that it shows of itself
_APART = 0.06  # m between two boards
_MARGIN, _POSTS = 0.012, 0.045  # m around what is of furniture; before the bar of a handle, where its posts are
_ABOVE = 0.0035  # m above a top or floor from which on a point is of what stands there
_STEADY = 0.02  # m by which two looks at corners of furniture that stands still differ, at most
_NEAR = 0.10  # m that furniture has moved at most, to be the same
_CONFIRM = 2  # looks in a row that make furniture, or a joint of it, real
_GONE = 4  # looks through its place after which furniture is gone, or at another place after which it was moved
_LEVELS = {2: ("top", "bottom"), 3: ("top", "middle", "bottom")}  # of drawers, from the top down
_BESIDE = 0.1  # share of what is as high as furniture that may be beside it, as a thing's own side
_EMPTY = 0.5  # share of a footprint in which the table is seen


def find_bodies(points: np.ndarray, floor: float = 0.0) -> Iterator[tuple[Carcass, np.ndarray]]:
    """Large things with a level top in points (n, 3) of all that stands on a floor: bodies, and points of each."""
    for group in _groups(points):
        body = find_body(group, floor)
        size = 0.0 if body is None else min(body.depth, body.width)
        if body is not None and (size >= _LEAST or (size >= _DRAWERS and _has_drawer(body, group))):
            yield body, group


def _has_drawer(body: Carcass, points: np.ndarray) -> bool:
    return any(joint.kind == "slide" for joint in joints_of(body, points))


def fixture_of(body: Carcass, points: np.ndarray, name: str = "") -> SeenFixture | None:
    """Furniture of a body and points (n, 3); None where it is none, by default named by its class."""
    joints = joints_of(body, points)
    kind = _class_of(joints, body, points)
    shape = shelf_shape(body, points, _boards(body, points)) if kind == "shelf" else ()
    return SeenFixture(name or kind, kind, (body.around,), tuple(joints), shape=shape) if kind else None


def _groups(points: np.ndarray) -> Iterator[np.ndarray]:
    """Points that stand together, seen from above."""
    points = points[(points[:, 2] > _LOW) & (points[:, 2] < _HIGH)]
    if not len(points):
        return
    cells = np.floor((points[:, :2] - points[:, :2].min(axis=0)) / _CELL).astype(int)
    plan = np.zeros(cells.max(axis=0) + 1, int)
    np.add.at(plan, (cells[:, 0], cells[:, 1]), 1)
    count, labels = cv2.connectedComponents((plan >= _POINTS).astype(np.uint8), connectivity=4)
    of = labels[cells[:, 0], cells[:, 1]]
    for k in range(1, count):
        if (labels == k).sum() * _CELL**2 > (2 * _LEAST) ** 2 * 0.7:
            yield points[of == k]


def _class_of(joints: Sequence[SeenJoint], body: Carcass, points: np.ndarray) -> str:
    """The class of furniture by its parts; empty for what is none."""
    if max(body.depth, body.width) < _POT and _is_round(body, points):
        return ""
    kinds = {joint.name.rsplit("_", 1)[-1] for joint in joints}
    for part, kind in (("drawer", "cabinet"), ("door", "cupboard"), ("knob", "stove")):
        if part in kinds:
            return kind
    if body.top - body.low < _TALL:
        return ""
    return "shelf" if len(_boards(body, points)) > 1 else "furniture"


def _is_round(body: Carcass, points: np.ndarray) -> bool:
    """Whether the level top of a body is round."""
    top = points[(np.abs(points[:, 2] - body.top) < _BOARD) & (body.around.beyond(points)[:, :2] < _MARGIN).all(axis=1)]
    return len(top) > _POINTS and outline(top[:, :2]).fill < _ROUND


def _boards(body: Carcass, points: np.ndarray) -> list[float]:
    """Heights of level boards, from the top down."""
    inside = points[body.around.within(points, -body.around.half, body.around.half)]
    if not len(inside):
        return []
    layers = np.maximum(np.floor((inside[:, 2] - body.low) / _BOARD).astype(int), 0)
    share = cells_covered(layers, inside[:, :2], _CELL) * _CELL**2 / (4 * body.depth * body.width)
    found: list[float] = []
    for layer in np.flatnonzero(share > _COVERED)[::-1]:
        height = body.low + (int(layer) + 1) * _BOARD
        if not found or found[-1] - height > _APART:
            found.append(height)
    return found


@dataclass(eq=False)
class _Record:
    """Furniture as it is remembered: its newest look, how often in a row it was found so, or not, and joints that
    were seen once; turned: what its knob has turned on.
    """

    fixture: SeenFixture
    body: Carcass
    seen: int = 1
    missed: int = 0
    elsewhere: int = 0
    once: tuple[SeenJoint, ...] = ()
    turned: TurnedOn = field(default_factory=TurnedOn)


class FixtureMemory:
    """Furniture over many looks: names stay, what is hidden is remembered, noise moves nothing."""

    def __init__(self) -> None:
        self._records: list[_Record] = []

    def forget(self) -> None:
        """Know no furniture."""
        self._records = []

    @property
    def fixtures(self) -> tuple[SeenFixture, ...]:
        """Furniture that was seen often enough."""
        return tuple(r.fixture for r in self._records if r.seen >= _CONFIRM)

    @property
    def suspected(self) -> tuple[SeenFixture, ...]:
        """Furniture that is there or may be: nothing of it is a thing of its own."""
        return tuple(r.fixture for r in self._records)

    @property
    def deciding(self) -> bool:
        """Whether the next look may tell more."""
        return any(r.seen < _CONFIRM or r.missed or r.elsewhere or r.once for r in self._records)

    def update(self, points: np.ndarray) -> tuple[SeenFixture, ...]:
        """Look at points (n, 3) of the table and of all that stands on it, without the robot's."""
        left = list(find_bodies(points))
        for record in list(self._records):
            same = min(left, key=lambda found: _distance(record.body, found[0]), default=None)
            if same is None or _distance(record.body, same[0]) > _NEAR:
                below = next((g for g in _groups(points) if _is_covered(record.body, g)), None)
                self._missed(record, points) if below is None else self._seen(record, record.body, below)
                continue
            left = [found for found in left if found is not same]
            self._seen(record, *same)
        for body, group in left:
            fixture = fixture_of(body, group)
            if fixture is not None:
                self._records.append(_Record(replace(fixture, name=self._name(fixture)), with_shut(body, group)))
        return self.fixtures

    def use_states(self, shown: Callable[[SeenFixture], str]) -> tuple[SeenFixture, ...]:
        """The furniture with what its knobs have turned on. shown: "on" or "off" by the newest look, else ""."""
        for record in self._records:
            knob = knob_of(record.fixture)
            if knob is not None:
                if record.fixture.visible:
                    record.turned = record.turned.now(knob, shown(record.fixture))
                record.fixture = with_state(record.fixture, record.turned.state)
        return self.fixtures

    def unseen(self) -> tuple[SeenFixture, ...]:
        """The furniture as it is remembered where nobody looks at it, as while the robot moves."""
        return tuple(_hidden(fixture) for fixture in self.fixtures)

    def _missed(self, record: _Record, points: np.ndarray) -> None:
        if record.seen < _CONFIRM:
            self._records.remove(record)
            return
        record.fixture = _hidden(record.fixture)
        record.missed = record.missed + 1 if _is_empty(record.body, points) else 0
        if record.missed >= _GONE:
            self._records.remove(record)

    def _seen(self, record: _Record, body: Carcass, points: np.ndarray) -> None:
        steady = _is_steady(record.body, body)
        new = fixture_of(record.body if steady else body, points)
        if new is None or not steady:
            record.elsewhere += 1
            record.fixture = _hidden(record.fixture)
            if new is not None and record.elsewhere >= _GONE:  # it was moved
                record.body, record.elsewhere, record.missed = with_shut(body, points), 0, 0
                record.fixture = replace(new, name=record.fixture.name, class_name=record.fixture.class_name)
            return
        known = record.fixture.joints
        joints = remembered(known, new.joints)
        names, before = {joint.name for joint in known}, {joint.name for joint in record.once}
        joints = [j for j in joints if j.name in names or not any(_overlap(j, old) for old in known)]
        sure = tuple(j for j in joints if j.name in names or j.name in before or record.seen < _CONFIRM)
        record.once = tuple(j for j in joints if j not in sure)
        open_to_change = record.seen < _CONFIRM or record.fixture.class_name == "furniture"
        name, kind = record.fixture.name, record.fixture.class_name
        if open_to_change and new.class_name != kind:
            name, kind = self._name(new, record), new.class_name
        record.seen, record.missed, record.elsewhere = record.seen + 1, 0, 0
        shape = max((record.fixture.shape, new.shape), key=len)  # things may hide a board
        record.fixture = SeenFixture(name, kind, record.fixture.bodies, sure, shape=shape)

    def _name(self, fixture: SeenFixture, of: _Record | None = None) -> str:
        """Its class, with a number where another one has that name."""
        return numbered(fixture.class_name, {r.fixture.name for r in self._records if r is not of})


def _overlap(one: SeenJoint, other: SeenJoint) -> bool:
    """Whether two joints would be of the same part: a front of which half is hidden is no further drawer."""
    apart = abs(float(one.panel.centre[2] - other.panel.centre[2]))
    return one.kind == other.kind and apart < float(one.panel.half[2] + other.panel.half[2]) - _MARGIN


def _hidden(fixture: SeenFixture) -> SeenFixture:
    joints = tuple(replace(joint, visible=False) for joint in fixture.joints)
    return replace(fixture, joints=joints, visible=False)


def _distance(one: Carcass, two: Carcass) -> float:
    return float(np.linalg.norm(one.middle - two.middle))


def _is_steady(old: Carcass, new: Carcass) -> bool:
    """Whether two looks show the same body at the same place, whichever side is its front: two corners of it, since a
    picture may cut off the others.
    """
    apart = np.linalg.norm(_corners(old)[:, None] - _corners(new)[None], axis=2).min(axis=1)
    return bool(np.sort(apart)[1] < _STEADY and abs(old.top - new.top) < _STEADY)


def _corners(body: Carcass) -> np.ndarray:
    """Of its footprint, (4, 2)."""
    signs = np.array(((1, 1), (1, -1), (-1, -1), (-1, 1)))
    return np.asarray(body.middle + signs[:, :1] * body.depth * body.front + signs[:, 1:] * body.width * body.side)


def _is_covered(body: Carcass, points: np.ndarray) -> bool:
    """Whether points that stand together show enough of a body's top, and nothing as high beside it: the rest of its
    top is hidden by what stands there.
    """
    level = points[np.abs(points[:, 2] - body.top) < _ABOVE]
    beyond = body.around.beyond(level)[:, :2].max(axis=1, initial=-math.inf)
    if not len(level) or (beyond > _STEADY).mean() > _BESIDE:
        return False
    covered = cells_covered(np.zeros(len(level), int), level[:, :2], _CELL)[0]
    return bool(covered * _CELL**2 > _COVERED * 4 * body.depth * body.width)


def _is_empty(body: Carcass, points: np.ndarray) -> bool:
    """Whether the table is seen where furniture was."""
    low = points[(points[:, 2] < _LOW) & (body.around.beyond(points)[:, :2] < -0.02).all(axis=1)]
    if not len(low):
        return False
    covered = cells_covered(np.zeros(len(low), int), low[:, :2], _CELL)[0]
    return bool(covered * _CELL**2 > _EMPTY * 4 * body.depth * body.width)


def with_levels(fixture: SeenFixture, drawers: int) -> tuple[SeenJoint, ...]:
    """Its joints, with drawers named by level where somebody says that there are more of them than are seen."""
    seen = [joint for joint in fixture.joints if joint.kind == "slide"]
    levels = _LEVELS.get(drawers, ())
    if len(seen) >= len(levels):
        return fixture.joints
    body, found = fixture.bodies[0], []
    step = 2 * float(body.half[2]) / len(levels)
    for joint in fixture.joints:
        if joint.kind == "slide":
            below = fixture.top - float(joint.panel.centre[2])
            joint = replace(joint, name=f"{levels[min(int(below / step), len(levels) - 1)]}_drawer")
        found.append(joint)
    return tuple(found)


# ---- things on and in furniture ----------------------------------------------------------------------------------


def cut_out(fixtures: Sequence[SeenFixture], points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of points (n, 3): which show furniture, (n,) bool, and the height of what stands below the others, (n,) m."""
    of_any, heights = np.zeros(len(points), bool), np.zeros(len(points))
    for fixture in fixtures:
        at = _over(fixture, points)  # a small share, so that what follows takes less time
        near, mine, ground = points[at], of_any[at], heights[at]
        bodies = [(body, body.half[2]) for body in fixture.bodies]
        floors = [(joint.box[0], 0.0) for joint in fixture.joints if joint.box]
        for box, height in (*bodies, *floors):
            mine |= _within(box, near, _MARGIN, above=_ABOVE)
            over = near[:, 2] > box.centre[2] + height
            over[over] = (box.beyond(near[over])[:, :2] < 0.0).all(axis=1)
            ground[over] = box.centre[2] + box.half[2]
        for joint in fixture.joints:
            for part in (joint.panel, _shut_front(fixture.bodies[0], joint), *joint.box[1:]):
                mine |= _within(part, near, _MARGIN)
            if joint.handle is not None:
                mine |= _within(joint.handle, near, _MARGIN, before=_POSTS)
        for room in fixture.rooms:
            free = room.within(near, _ABOVE - room.half, room.half - _ABOVE)
            mine[free], ground[free] = False, room.centre[2] - room.half[2]
        of_any[at], heights[at] = mine, ground
    return of_any, heights


def _shut_front(body: OrientedBox, joint: SeenJoint) -> OrientedBox:
    """Where the fronts of a body's drawers are while shut: below an open one nobody may have seen any. Of a door, its
    leaf.
    """
    panel = joint.panel
    if joint.kind != "slide":
        return panel
    ahead, beside = panel.axes[:, 0], np.abs(panel.axes.T @ body.axes) @ body.half
    out = float((panel.centre - joint.value * joint.axis - body.centre) @ ahead)
    return OrientedBox(body.centre + out * ahead, panel.axes, np.array((panel.half[0], *beside[1:])))


def _over(fixture: SeenFixture, points: np.ndarray) -> np.ndarray:
    """Indices of the points (n, 3) that are in, above or below furniture, or near to it."""
    boxes = (*fixture.bodies, *(box for joint in fixture.joints for box in joint.boxes), *fixture.rooms)
    reach = [np.abs(box.axes) @ (box.half + _POSTS) for box in boxes]
    low = np.min([box.centre - by for box, by in zip(boxes, reach)], axis=0)
    high = np.max([box.centre + by for box, by in zip(boxes, reach)], axis=0)
    x, y = points[:, 0], points[:, 1]
    return np.flatnonzero((x > low[0]) & (x < high[0]) & (y > low[1]) & (y < high[1]))


def _within(
    box: OrientedBox, points: np.ndarray, margin: float, before: float = 0.0, above: float | None = None
) -> np.ndarray:
    """Which points are in a box or so near to it. before: margin along its first axis; above: upwards."""
    most = box.half + np.array((max(margin, before), margin, margin))
    high = most if above is None else np.minimum(most, (*most[:2], box.half[2] + above))
    return box.within(points, -most, high)

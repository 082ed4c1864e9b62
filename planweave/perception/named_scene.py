"""A scene whose things are named at the first look and followed by their points from then on, with its furniture.

For pictures of several cameras, on any support, whose namer is asked seldom: it gives the same `Perceived` as the
`Perceiver` of frames, for a scene to which nothing is brought: what comes later is in the way of what is known, but no
thing. Pictures that cannot be used raise FrameError. Metres, in the robot's base frame.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from planweave.core.base.errors import ModelError
from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import OrientedBox, SeenFixture, frame
from planweave.perception.depth_views import DepthView
from planweave.perception.fixtures import FixtureMemory, cut_out, with_levels
from planweave.perception.geometry import Pose
from planweave.perception.known_things import KnownThings
from planweave.perception.perceiver import NamedObject, Perceived
from planweave.perception.seen_shapes import Shape, boxes_of, shape_of
from planweave.perception.seen_things import SeenThing, marked_segment, named_things, resting, shown_segments
from planweave.perception.segmentation import find_segments
from planweave.perception.vision_names import Marked, Named

CHANGING = ("microwave", "stove")
"""Classes whose state only a look tells."""
_LOW = 0.05  # m below the ground down to which furniture is looked at
_OF = 0.02  # m around a part within which points are of it
_LARGE = 0.5  # times the volume of furniture from which on a thing may be it, whatever it is called
_MOVED = 0.003  # m: less is noise
_ROUND = 0.01  # m around a thing in which its pixels lie
_AXES = np.eye(3)
_TOUCHES, _NEAR = 0.03, 0.15  # m from a thing at which the hand may change its state, and may just have done so
_SWINGS = tuple(math.radians(a) for a in (-60, -45, -30, -15, 15, 30, 45, 60))  # of a thing held at its rim


class Namer(Protocol):
    """Namer of what pictures show: planweave.perception.vision_names.VisionNamer."""

    def names(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], words: str, changing: Collection[str]
    ) -> list[Named]:
        """An answer for every thing."""
        ...


@dataclass(frozen=True, eq=False)
class InHand:
    """A thing in the hand: its pose when it was taken, in the robot's base frame, and now in the tool's (4x4)."""

    name: str
    taken: np.ndarray
    in_tool: np.ndarray

    def motion(self, pose: np.ndarray) -> Pose:
        """Motion since it was taken, to a pose."""
        moved = pose @ np.linalg.inv(self.taken)
        return Pose(moved[:3, :3], moved[:3, 3])


class NamedScene:
    """words: help the namer; low, high: corners of the box in which things are looked for. Raises ModelError."""

    def __init__(
        self,
        views: Sequence[DepthView],
        namer: Namer,
        domain: Domain,
        low: Sequence[float],
        high: Sequence[float],
        words: str = "",
    ) -> None:
        self._namer, self._domain, self._words = namer, domain, words
        self._show(views)
        segmentation = find_segments(views, low, high)
        shown = list(shown_segments(segmentation.segments))
        answers = self._names([marked_segment(segment, views) for segment, _ in shown])
        things = resting(named_things(segmentation, shown, answers), lambda thing: segmentation.ground)
        self.ground = segmentation.ground
        self._low, self._high = np.array((*low[:2], self.ground - _LOW)), np.array(high)
        self._known = KnownThings(things, self.ground, self._is_item, self._of_furniture, domain)
        self._numbers = {thing.name: number for number, thing in enumerate(things, 1)}
        self._shapes: dict[str, tuple[np.ndarray, float, Shape]] = {}
        self._hand: InHand | None = None
        self._touched = set[str]()  # what may have changed its state since that was looked at
        self._memory = FixtureMemory()
        self._fixtures: dict[str, SeenFixture] = {}
        self._called = dict[str, str]()  # the thing that a piece of furniture is, by its name in the memory
        self._rest: dict[str, tuple[OrientedBox, ...]] = {}
        for _ in range(2):  # once is by chance
            self.look_at_furniture(views)

    @property
    def things(self) -> tuple[SeenThing, ...]:
        """All things as they were seen last."""
        return self._known.things

    def perceived(self, stamp: float, held: str = "") -> Perceived:
        """All that is known after the newest pictures; held: the thing in the robot's hand, on nothing."""
        self._known.put(*resting(self.things, self._ground_below, held))
        objects = tuple(self._object(thing) for thing in self.things if thing.name not in self._fixtures)
        fixtures = tuple(
            replace(self._fixtures[thing.name], visible=thing.visible, state=thing.named.state)
            for thing in self.things
            if thing.name in self._fixtures
        )
        return Perceived(stamp, objects, 0, None, self._views[0].projector, fixtures)

    # ---- looks ------------------------------------------------------------------------------------------------------

    def look_at_furniture(self, views: Sequence[DepthView]) -> tuple[SeenFixture, ...]:
        """Look at the drawers, doors and knobs of the named things, before all else; returns the furniture."""
        self._show(views)
        points = np.concatenate([view.points[view.valid] for view in views]).astype(float)
        points = points[((points > self._low) & (points < self._high)).all(axis=1)]
        up = np.array((0.0, 0.0, self.ground))
        self._memory.update(points - up)
        for fixture in self._memory.fixtures:
            fixture = fixture.shifted(up)
            called = self._called.get(fixture.name)  # its points are those of when its drawers were where they were
            thing = next((t for t in self.things if t.name == called), None) or self._thing_at(fixture)
            if thing is not None:
                self._called[fixture.name] = thing.name
                kind = thing.named.class_name if self._is_fixture(thing) else fixture.class_name
                fixture = replace(fixture, name=thing.name, class_name=kind)
                fixture = replace(fixture, joints=with_levels(fixture, thing.named.drawers))
                self._fixtures[thing.name] = replace(fixture, shape=fixture.shape or self._rest_of(thing, fixture))
        return tuple(self._fixtures.values())

    def carried(self, by: Mapping[str, Sequence[float]], pushed: bool = False) -> None:
        """Things have gone along with what they lie in, as in a drawer, or were pushed: by how much, (3,) m each."""
        for thing in self.things:
            if np.linalg.norm(by.get(thing.name, 0.0)) > _MOVED:
                moved = replace(thing.moved(Pose(_AXES, np.asarray(by[thing.name], float))), visible=False)
                self._known.pushed(moved) if pushed else self._known.put(moved)

    def look_at_states(self, views: Sequence[DepthView], tool: np.ndarray) -> None:
        """Ask for the states of things that the tool, at (3,), may have changed since the look before; while it is at
        one, and where nothing answers, its state is unknown.
        """
        found, left = dict[str, str](), list[SeenThing]()
        for thing in self.things:
            if thing.named.class_name.rsplit("_", 1)[-1] not in CHANGING:
                continue
            low, high = thing.bounds
            away = float(np.linalg.norm(np.maximum(0.0, np.maximum(low - tool, tool - high))))
            if away < _NEAR:
                self._touched.add(thing.name)
            if thing.name in self._touched:
                found[thing.name] = ""
                left += [thing] if away > _TOUCHES else []
        if left:
            with contextlib.suppress(ModelError):  # they are asked for at the next look
                answers = self._names([_marked(thing, views) for thing in left])
                found |= {thing.name: named.state for thing, named in zip(left, answers)}
                self._touched -= {thing.name for thing in left}
        things = (thing for thing in self.things if thing.name in found)
        self._known.put(*(replace(thing, named=replace(thing.named, state=found[thing.name])) for thing in things))

    def look(
        self,
        views: Sequence[DepthView],
        stamp: float,
        tool: np.ndarray,
        held: InHand | None = None,
        put: np.ndarray | None = None,
    ) -> np.ndarray | None:
        """Look where all things are; the pose of the held one in the frame of the tool, whose own pose is `tool`, as it
        lies there now. None where the hand holds nothing: it is seen at its old place, or its place in the hand is seen
        empty. held: what the hand should hold; put: the pose at which it has put what it held, where it has.
        """
        self._show(views)
        found, let_go = self._follow(held, tool, views, stamp) if held is not None else None, None
        if found is None and self._hand is not None:
            there = put if put is not None else tool @ self._hand.in_tool  # else it slipped out
            let_go, self._hand = self._hand.motion(there), None
        self._known.update(views, stamp, let_go)
        return found

    @property
    def in_hand(self) -> str:
        """Name of what the hand held at the newest look."""
        return self._hand.name if self._hand is not None else ""

    def _follow(self, held: InHand, tool: np.ndarray, views: Sequence[DepthView], stamp: float) -> np.ndarray | None:
        """The pose of what is held in the tool's frame; None where the hand does not hold it."""
        new = held.name != self.in_hand or self._hand is None or not np.array_equal(held.taken, self._hand.taken)
        swings = [Pose.about(tool[:3, 3], axis, angle) for axis in tool[:3, :2].T for angle in _SWINGS]
        motion = held.motion(tool @ held.in_tool)
        slipped = self._known.carry(held.name, motion, views, stamp, new, swings, tool[:3, 3])
        in_base = tool if slipped is None else frame(slipped.rotation, slipped.translation) @ tool
        found = np.linalg.inv(tool) @ (held.taken if slipped is None and new else in_base @ held.in_tool)
        self._hand = replace(held, in_tool=found)
        return None if slipped is None else found

    # ---- what becomes of it -----------------------------------------------------------------------------------------

    def _show(self, views: Sequence[DepthView]) -> None:
        for view in views:
            view.check(0.0)
        self._views = views

    def _names(self, marked: list[Marked]) -> list[Named]:
        return self._namer.names([view.rgb for view in self._views], marked, self._words, CHANGING)

    def _is_item(self, thing: SeenThing) -> bool:
        of = self._domain.type_of_class(thing.named.class_name)
        return thing.name not in self._fixtures and self._domain.is_a(of, ["item"])

    def _is_fixture(self, thing: SeenThing) -> bool:
        return self._domain.is_a(self._domain.type_of_class(thing.named.class_name), ["fixture"])

    def _object(self, thing: SeenThing) -> NamedObject:
        """A thing with its shape, made once for each place."""
        points, bottom, shape = self._shapes.get(thing.name, (None, 0.0, ((), None)))
        if points is not thing.points or bottom != thing.bottom:
            shape = shape_of(thing.points, thing.bottom)
            self._shapes[thing.name] = thing.points, thing.bottom, shape
        told = None if thing.lost else thing.below
        of = self._numbers[thing.name], thing.name, thing.detection, thing.visible
        return NamedObject(*of, False, *shape, below=told, state=thing.named.state, lost=thing.lost)

    def _of_furniture(self, points: np.ndarray) -> np.ndarray:
        """Which points (n, 3) show furniture, and not what stands on it or in it."""
        return self._cut_out(points)[0]

    def _ground_below(self, thing: SeenThing) -> float:
        """Height of what is below a thing: a floor of furniture, as an open drawer's, or the ground."""
        if thing.name in self._fixtures:
            return self.ground
        return self.ground + float(np.median(self._cut_out(thing.points)[1]))

    def _cut_out(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return cut_out(self._memory.fixtures, points.astype(float) - (0.0, 0.0, self.ground))

    def _thing_at(self, fixture: SeenFixture) -> SeenThing | None:
        """The named thing most of whose points are of a piece of furniture. Where joints show that it is some, it may
        be called otherwise, as a cabinet is a drawer, or a dresser.
        """
        boxes = (*fixture.bodies, *(box for joint in fixture.joints for box in joint.boxes))

        def share(thing: SeenThing) -> float:
            points = thing.points[:: max(1, len(thing.points) // 500)]
            return float(np.any([(box.beyond(points) < _OF).all(axis=1) for box in boxes], axis=0).mean())

        large = _LARGE * float(np.prod(2 * fixture.bodies[0].half)) if fixture.joints else math.inf
        of_it = [t for t in self.things if self._is_fixture(t) or np.prod(t.bounds[1] - t.bounds[0]) > large]
        best = max(of_it, key=share, default=None)
        return best if best is not None and share(best) > 0.5 else None

    def _rest_of(self, thing: SeenThing, fixture: SeenFixture) -> tuple[OrientedBox, ...]:
        """What does not move of a thing, as it was first seen."""
        if thing.name not in self._rest:
            moving = [(box.beyond(thing.points) < _OF).all(axis=1) for joint in fixture.joints for box in joint.boxes]
            still = thing.points[~np.any(moving, axis=0)] if moving else thing.points
            self._rest[thing.name] = boxes_of(still, thing.bottom) if len(still) else ()
        return self._rest[thing.name]


def _marked(thing: SeenThing, views: Sequence[DepthView]) -> Marked:
    """A known thing as a namer is shown it: its pixels are those of points within its bounds."""
    low, high = thing.bounds
    masks = [view.valid & ((view.points > low - _ROUND) & (view.points < high + _ROUND)).all(axis=2) for view in views]
    box = thing.detection
    return Marked([mask if mask.any() else None for mask in masks], box.position, box.size, thing.colours)

"""What LIBERO's robot knows of its surroundings: the simulator's true state, or what its cameras show.

Simulated time passes only in steps, so that a look after which the arm has not moved would show the same.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.held import Held
from planweave.bodies.arm.looked_world import Observation
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import Location
from planweave.core.base.errors import ModelError
from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import frame
from planweave.libero import things
from planweave.libero.arm import LiberoArm
from planweave.libero.camera_view import CHANGING, CameraView
from planweave.libero.client import LiberoSimulator, LiberoTask
from planweave.libero.geometry import Geometry, pose
from planweave.libero.seen_world import TURNED
from planweave.libero.truth import table_centre, truth
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Pose
from planweave.perception.seen_things import SeenThing

Array = NDArray[np.float64]
_TOUCHES, _NEAR = 0.03, 0.15  # m from a thing at which the hand may change its state, and may just have done so
_SWINGS = tuple(math.radians(a) for a in (-60, -45, -30, -15, 15, 30, 45, 60))  # of a thing held at its rim
_LOST = 0.05  # what is so far from where it should be in the hand is not held, m
_LOOKS, _PAUSE = 12, 5  # looks at most before the first one counts, and steps between two while something moves
_MOVES, _PIXELS = 0.01, 20  # m of depth, and pixels, that change where something still moves


class LiberoView(Protocol):
    """Looks. ground: height of what things stand on, m in the base frame; places: named ones, in that frame."""

    ground: float
    places: Sequence[Location]

    def observe(
        self, held: Held | None, tcp_to_base: Array, put: Mapping[str, Thing]
    ) -> tuple[Observation, Held | None]:
        """What is there now, and what the hand holds as it lies in it: None where it does not hold it any more.

        held: what the hand should hold; tcp_to_base: its pose (4x4); put: where things were let go, by name.
        """
        ...


class TruthView:
    """The simulator's own poses."""

    def __init__(self, simulator: LiberoSimulator, task: LiberoTask, domain: Domain, arm: LiberoArm) -> None:
        self._simulator, self._task, self._domain, self._arm = simulator, task, domain, arm
        self._state = task.state
        self._taken: tuple[Thing, Array] | None = None  # what is held, and its pose when it was taken
        self._geometry = Geometry(task)
        self.ground = things.ground(self._geometry)
        self.places = _places(self._geometry.to_base(frame(TURNED, np.zeros(3))))

    def observe(
        self, held: Held | None, tcp_to_base: Array, put: Mapping[str, Thing]
    ) -> tuple[Observation, Held | None]:
        """See LiberoView."""
        state, stamp = self._simulator.state(), self._arm.state().stamp
        self._geometry = Geometry(self._task, state)
        found = things.things(self._domain, self._geometry, state)
        if held is not None:
            held = self._in_hand(held, state, tcp_to_base)
        name = held.thing.name if held is not None else ""
        world = truth(self._domain, state, stamp, self._geometry.openness, name)
        self._state = state
        return Observation(world, found, stamp, self._geometry.articulation), held

    def _in_hand(self, held: Held, state: Mapping[str, Any], tcp_to_base: Array) -> Held | None:
        """What is held as it truly lies in the hand; None where it does not."""
        name = held.thing.name
        if self._taken is None or self._taken[0] is not held.thing:
            self._taken = held.thing, self._item_pose(self._state, name)
        moved = self._item_pose(state, name) @ np.linalg.inv(self._taken[1])
        thing_to_tcp = np.linalg.inv(tcp_to_base) @ moved @ pose_of(held.thing)
        if np.linalg.norm(thing_to_tcp[:3, 3] - held.thing_to_tcp[:3, 3]) > _LOST:
            return None
        return replace(held, thing_to_tcp=thing_to_tcp)

    def _item_pose(self, state: Mapping[str, Any], name: str) -> Array:
        row = state["things"][name]
        return self._geometry.to_base(pose([*row["pos"], *row["quat"]]))


class SeenView:
    """RGB-D pictures, the robot's own joints and the sentence.

    sentence: helps to name things; base: place of the robot's base, m, in the frame of the cameras' poses. The first
    look names the things, and raises ModelError; later ones follow them.
    """

    def __init__(
        self, cameras: CameraView, sentence: str, base: Sequence[float], domain: Domain, arm: LiberoArm
    ) -> None:
        self._cameras, self._domain, self._arm, self._sentence = cameras, domain, arm, sentence
        self._touched = set[str]()  # what may have changed its state since that was looked at
        self._base = np.asarray(base, float)[:3]
        self._carried: Thing | None = None
        self._scene = cameras.look(sentence, self._robot())
        if self._await_rest():
            self._scene = cameras.look(sentence, self._robot())
        self._memory = self._scene.memory
        self._to_base = frame(self._scene.to_base.rotation, self._scene.to_base.translation)
        self._from_base = np.linalg.inv(self._to_base)
        self.ground = self._memory.ground - float(self._base[2])
        self._steps, self._last = arm.steps, self._observation("")
        self.places = _places(self._to_base)

    def _await_rest(self) -> bool:
        """Let time pass until nothing moves in the pictures; whether anything did: some tasks begin with things that
        fall.
        """
        before = self._cameras.views(self._robot())
        for looks in range(_LOOKS):
            self._arm.wait(_PAUSE if looks else 1)
            now = self._cameras.views(self._robot())
            pairs = zip(before, now)
            if not any((a.valid & b.valid & (np.abs(a.smooth - b.smooth) > _MOVES)).sum() > _PIXELS for a, b in pairs):
                return looks > 0
            before = now
        return True

    def observe(
        self, held: Held | None, tcp_to_base: Array, put: Mapping[str, Thing]
    ) -> tuple[Observation, Held | None]:
        """See LiberoView."""
        carried = self._carried.name if self._carried is not None else ""
        if self._arm.steps == self._steps and carried == (held.thing.name if held is not None else ""):
            return self._last, held
        views, stamp = self._cameras.views(self._robot()), self._arm.state().stamp
        self._memory.put(*self._scene.furniture.look(views, self._memory.things))
        self._look_at_states(views, tcp_to_base)
        held = self._in_hand(held, tcp_to_base, views) if held is not None else None
        let_go = None
        if held is None and self._carried is not None:
            let_go = self._moved(pose_of(put.get(self._carried.name, self._carried)))
            self._carried = None
        self._memory.update(views, stamp, let_go)
        self._steps, self._last = self._arm.steps, self._observation(held.thing.name if held is not None else "")
        return self._last, held

    def _look_at_states(self, views: Sequence[DepthView], tcp_to_base: Array) -> None:
        """Ask for the states of things that the hand may have changed since the look before; while it is at one, and
        where nothing answers, its state is unknown.
        """
        tool = (self._from_base @ tcp_to_base)[:3, 3]
        found, left = dict[str, str](), list[SeenThing]()
        for thing in self._memory.things:
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
                found |= zip((thing.name for thing in left), self._cameras.states(views, left, self._sentence))
                self._touched -= {thing.name for thing in left}
        things = (thing for thing in self._memory.things if thing.name in found)
        self._memory.put(*(replace(thing, named=replace(thing.named, state=found[thing.name])) for thing in things))

    def _in_hand(self, held: Held, tcp_to_base: Array, views: Sequence[DepthView]) -> Held | None:
        """What is held, where it is not seen at its old place, and its place in the hand is not seen empty."""
        taken, self._carried = self._carried is not held.thing, held.thing
        motion, stamp = self._moved(tcp_to_base @ held.thing_to_tcp), self._arm.state().stamp
        tcp = self._from_base @ tcp_to_base
        swings = [Pose.about(tcp[:3, 3], axis, angle) for axis in tcp[:3, :2].T for angle in _SWINGS]
        slipped = self._memory.carry(held.thing.name, motion, views, stamp, taken, swings)
        if slipped is None:
            return None
        in_base = self._to_base @ frame(slipped.rotation, slipped.translation) @ self._from_base
        return replace(held, thing_to_tcp=np.linalg.inv(tcp_to_base) @ in_base @ tcp_to_base @ held.thing_to_tcp)

    def _observation(self, held: str) -> Observation:
        scene, stamp = self._scene, self._arm.state().stamp
        scene.settle(held)
        world, found = scene.world_at(stamp, held), scene.solids(self._domain)
        return Observation(world, found, stamp, scene.furniture.articulation)

    def _robot(self) -> Mapping[str, Sequence[float]]:
        state = self._arm.state()
        return {
            "joints": state.positions.tolist(),
            "gripper": (state.width / 2, -state.width / 2),
            "base": self._base.tolist(),
        }

    def _moved(self, pose: Array) -> Pose:
        """The motion of what is carried, since it was taken, to a pose in the base frame, in the person's frame."""
        assert self._carried is not None
        moved = self._from_base @ pose @ np.linalg.inv(pose_of(self._carried)) @ self._to_base
        return Pose(moved[:3, :3], moved[:3, 3])


def _places(to_base: Array) -> Sequence[Location]:
    """The named place, the middle of the table; to_base: from the person's frame, 4x4."""
    centre = table_centre(0.0)
    x, y, _ = (to_base[:3, :3] @ (centre.position or (0.0, 0.0, 0.0)) + to_base[:3, 3]).tolist()
    width, depth, _ = centre.size or (0.0, 0.0, 0.0)
    return (Location(centre.name, (x, y), (width, depth)),)

"""Views of LIBERO's robot on its surroundings: the simulator's true state, or what its cameras show.

Simulated time passes only in steps, so that a look after which the arm has not moved would show the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.held import Held
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import frame
from planweave.libero import things
from planweave.libero.arm import LiberoArm
from planweave.libero.client import LiberoSimulator, LiberoTask, Picture
from planweave.libero.geometry import Geometry, pose
from planweave.libero.truth import table_centre, truth
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.named_scene import InHand, NamedScene, Namer
from planweave.perception.robot_filter import RobotState, robot_mask

Array = NDArray[np.float64]
CAMERAS = ("agentview", "robot0_eye_in_hand")
WIDTH, HEIGHT = 640, 480
BOX = (0.2, -0.65, -0.12), (1.1, 0.65, 0.7)
"""Corners of where things are looked for, m, in the robot's base frame."""
TURNED = np.diag([-1.0, -1.0, 1.0])
"""From LIBERO's frame, and that of the robot's base, to the person's."""
_LOST = 0.05  # what is so far from where it should be in the hand is not held, m
_LOOKS, _PAUSE = 12, 5  # looks at most before the first one counts, and steps between two while something moves
_MOVES, _PIXELS = 0.01, 20  # m of depth, and pixels, that change where something still moves


class TruthView:
    """The simulator's own poses.

    ground: height of what things stand on, m in the base frame; places: named ones, in that frame; base_to_frame: pose
    (4x4) that brings it to the person's (planweave.libero.truth).
    """

    def __init__(self, simulator: LiberoSimulator, task: LiberoTask, domain: Domain, arm: LiberoArm) -> None:
        self._simulator, self._task, self._domain, self._arm = simulator, task, domain, arm
        self._state = task.state
        self._taken: tuple[Thing, Array] | None = None  # what is held, and its pose when it was taken
        self._geometry = Geometry(task)
        self.ground = things.ground(self._geometry)
        from_frame = self._geometry.to_base(frame(TURNED, np.zeros(3)))
        self.places, self.base_to_frame = places(from_frame), np.asarray(np.linalg.inv(from_frame), np.float64)

    def look(self, world: WorldModel, tcp_to_base: Array) -> None:
        """Tell the world what is there now, and what the hand, at this pose (4x4), holds as it lies in it."""
        held = world.held
        state, stamp = self._simulator.state(), self._arm.state().stamp
        self._geometry = Geometry(self._task, state)
        if held is not None:
            still = self._in_hand(held, state, tcp_to_base)
            world.grasped(still) if still is not None else world.released(None)
        name = world.held.thing.name if world.held is not None else ""
        told = truth(self._domain, state, stamp, self._geometry.openness, name)
        self._state = state
        found = things.things(self._domain, self._geometry, state)
        world.on_truth(told, self._geometry.articulation, found, stamp)

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
    """RGB-D pictures, the robot's own joints and the sentence: nothing else is read from the simulator's state.

    namer: gives names, sentence: helps it; base: place of the robot's base, m, in LIBERO's frame. The first look names
    the things, and raises ModelError; later ones follow them. Attributes as of TruthView.
    """

    def __init__(
        self,
        simulator: LiberoSimulator,
        namer: Namer,
        sentence: str,
        base: Sequence[float],
        domain: Domain,
        arm: LiberoArm,
        cameras: Sequence[str] = CAMERAS,
    ) -> None:
        self._simulator, self._cameras, self._arm = simulator, tuple(cameras), arm
        self._base = np.asarray(base, float)[:3]
        self._scene = NamedScene(self._at_rest(), namer, domain, *BOX, sentence)
        self.ground = self._scene.ground
        self.base_to_frame = frame(TURNED, TURNED @ self._base)
        self.places = places(np.linalg.inv(self.base_to_frame))
        self._steps, self._last = arm.steps, self._scene.perceived(arm.state().stamp)
        self._told: dict[str, tuple[float, float, float]] = {}

    def pictures(self) -> list[DepthView]:
        """Pictures of now, in the robot's base frame, without the robot's pixels."""
        state = self._arm.state()
        robot = RobotState(tuple(state.positions.tolist()), state.width, 0.0, self._arm.robot)
        shown = (self._simulator.capture(camera, WIDTH, HEIGHT) for camera in self._cameras)
        return [depth_view(picture, self._base, robot) for picture in shown]

    def _at_rest(self) -> list[DepthView]:
        """Pictures once nothing moves in them any more: some tasks begin with things that fall."""
        before = self.pictures()
        for looks in range(_LOOKS):
            self._arm.wait(_PAUSE if looks else 1)
            now = self.pictures()
            pairs = zip(before, now)
            if not any((a.valid & b.valid & (np.abs(a.smooth - b.smooth) > _MOVES)).sum() > _PIXELS for a, b in pairs):
                return now
            before = now
        return before

    def look(self, world: WorldModel, tcp_to_base: Array) -> None:
        """See TruthView."""
        held = world.held
        if self._arm.steps != self._steps or self._scene.in_hand != (held.thing.name if held is not None else ""):
            views, stamp, taken = self.pictures(), self._arm.state().stamp, None
            carried = world.carried_by(self._scene.look_at_furniture(views))
            self._scene.carried(carried)
            self._scene.carried(self._pushed(world, carried), pushed=True)
            self._scene.look_at_states(views, tcp_to_base[:3, 3])
            if held is not None:
                taken = InHand(held.thing.name, pose_of(held.thing), held.thing_to_tcp)
            mine = (t for t in world.things() if t.name == self._scene.in_hand and not t.visible)
            in_tcp = self._scene.look(views, stamp, tcp_to_base, taken, next(map(pose_of, mine), None))
            if held is not None:
                world.grasped(replace(held, thing_to_tcp=in_tcp)) if in_tcp is not None else world.released(None)
            self._steps, self._last = self._arm.steps, self._scene.perceived(stamp, self._scene.in_hand)
        world.on_seen((each.seen() for each in self._last.objects), self._last.fixtures, self._last.stamp)
        self._told = {t.name: t.position for t in world.things()}

    def _pushed(self, world: WorldModel, carried: Mapping[str, Sequence[float]]) -> dict[str, Sequence[float]]:
        """By how much the robot has pushed things since it was told where they are, (3,) m each."""
        mine = {self._scene.in_hand, *carried}
        now = {t.name: t.position for t in world.things() if not t.visible and t.name not in mine}
        return {n: np.subtract(p, self._told[n]).tolist() for n, p in now.items() if n in self._told}


def depth_view(picture: Picture, base: Array, robot: RobotState) -> DepthView:
    """A picture in the robot's base frame, without the robot's pixels; base: its place in LIBERO's frame, m."""
    height, width = picture.depth.shape
    turn = picture.rotation @ np.diag([1.0, -1.0, -1.0])  # optical: y down, z along the view
    of = Intrinsics.of_view(picture.fovy, width, height), Pose(turn, picture.position - base)
    view = DepthView(picture.camera, picture.rgb, picture.depth, *of)
    return view.hiding(robot_mask(view, robot))


def places(to_base: Array) -> Sequence[Location]:
    """The named place, the middle of the table; to_base: from the person's frame, 4x4."""
    centre = table_centre(0.0)
    x, y, _ = (to_base[:3, :3] @ (centre.position or (0.0, 0.0, 0.0)) + to_base[:3, 3]).tolist()
    width, depth, _ = centre.size or (0.0, 0.0, 0.0)
    return (Location(centre.name, (x, y), (width, depth)),)

"""What LIBERO's robot knows of its surroundings: the simulator's true state, or what its cameras show.

Simulated time passes only in steps, so that a look after which the arm has not moved would show the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.held import Held
from planweave.bodies.arm.looked_world import LookedWorld, Observation, observation_of
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.bodies.arm.workspace import Location
from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import frame
from planweave.libero import things
from planweave.libero.arm import LiberoArm
from planweave.libero.client import LiberoSimulator, LiberoTask, Picture
from planweave.libero.geometry import Geometry, pose
from planweave.libero.truth import table_centre, truth
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.named_scene import NamedScene, Namer
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

    def observe(self, world: LookedWorld, tcp_to_base: Array) -> tuple[Observation, Held | None]:
        """What is there now, and what the hand holds as it lies in it: None where it does not hold it any more.

        world: as it was known until now, with what the hand should hold; tcp_to_base: the hand's pose (4x4).
        """
        held = world.held
        state, stamp = self._simulator.state(), self._arm.state().stamp
        self._geometry = Geometry(self._task, state)
        found = things.things(self._domain, self._geometry, state)
        if held is not None:
            held = self._in_hand(held, state, tcp_to_base)
        name = held.thing.name if held is not None else ""
        told = truth(self._domain, state, stamp, self._geometry.openness, name)
        self._state = state
        return Observation(told, found, stamp, self._geometry.articulation), held

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
        self._builder = ThingBuilder(domain)
        self._carried: Thing | None = None
        self._in_tcp = np.eye(4)  # the pose of what is carried, in the tool's frame
        self._scene = NamedScene(self._at_rest(), namer, domain, *BOX, sentence)
        self.ground = self._scene.ground
        self.base_to_frame = frame(TURNED, TURNED @ self._base)
        self.places = places(np.linalg.inv(self.base_to_frame))
        self._steps, self._last = arm.steps, self._observation("")

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

    def observe(self, world: LookedWorld, tcp_to_base: Array) -> tuple[Observation, Held | None]:
        """See TruthView."""
        held = world.held
        carried = self._carried.name if self._carried is not None else ""
        if self._arm.steps == self._steps and carried == (held.thing.name if held is not None else ""):
            return self._last, held
        views, stamp = self.pictures(), self._arm.state().stamp
        self._scene.carried(world.carried_by(self._scene.look_at_furniture(views)))
        self._scene.look_at_states(views, tcp_to_base[:3, 3])
        held = self._in_hand(held, tcp_to_base, views) if held is not None else None
        let_go = None
        if held is None and self._carried is not None:
            put = next((t for t in world.things() if t.name == self._carried.name and not t.visible), None)
            let_go = self._moved(pose_of(put) if put is not None else tcp_to_base @ self._in_tcp)  # else it slipped out
            self._carried = None
        self._scene.look(views, stamp, let_go)
        self._steps, self._last = self._arm.steps, self._observation(held.thing.name if held is not None else "")
        return self._last, held

    def _in_hand(self, held: Held, tcp_to_base: Array, views: Sequence[DepthView]) -> Held | None:
        """What is held, where the scene shows nothing else."""
        taken, self._carried, self._in_tcp = self._carried is not held.thing, held.thing, held.thing_to_tcp
        motion, stamp = self._moved(tcp_to_base @ held.thing_to_tcp), self._arm.state().stamp
        slipped = self._scene.follow_held(held.thing.name, motion, tcp_to_base, views, stamp, taken)
        if slipped is None:
            if taken:  # it stands where it stood
                self._in_tcp = np.linalg.inv(tcp_to_base) @ pose_of(held.thing)
            return None
        in_base = frame(slipped.rotation, slipped.translation)
        return replace(held, thing_to_tcp=np.linalg.inv(tcp_to_base) @ in_base @ tcp_to_base @ held.thing_to_tcp)

    def _observation(self, held: str) -> Observation:
        """What the scene shows, as what perception_node publishes becomes a world."""
        seen = self._scene.perceived(self._arm.state().stamp, held)
        return observation_of(self._builder, (each.seen() for each in seen.objects), seen.fixtures, seen.stamp)

    def _moved(self, pose: Array) -> Pose:
        """The motion of what is carried, since it was taken, to a pose."""
        assert self._carried is not None
        moved = pose @ np.linalg.inv(pose_of(self._carried))
        return Pose(moved[:3, :3], moved[:3, 3])


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

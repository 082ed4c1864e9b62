"""LIBERO's scene as its cameras show it: RGB-D pictures and the sentence to a world of the domain `kitchen`.

Things come from depth, names from a model that takes pictures, relations and states from geometry. Nothing is read from
the simulator's state but the robot's own joints. The frame is that of `planweave.libero.truth`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.libero.arm import ROBOT
from planweave.libero.client import LiberoSimulator, Picture
from planweave.libero.seen_world import TURNED, Seen
from planweave.perception.depth_views import DepthView
from planweave.perception.geometry import Intrinsics, Pose
from planweave.perception.robot_filter import RobotState, robot_mask
from planweave.perception.seen_things import SeenThing, marked_segment, named_things, resting, shown_segments
from planweave.perception.segmentation import Segmentation, find_segments
from planweave.perception.vision_names import Marked, Named
from planweave.robots import load_robot

CAMERAS = ("agentview", "robot0_eye_in_hand")
WIDTH, HEIGHT = 640, 480
NEAREST, FARTHEST, ASIDE = 0.2, 1.1, 0.65  # m from the robot's base within which things are looked for
BELOW, ABOVE = 0.12, 0.7  # m below and above it
_ROUND = 0.01  # m around a thing in which its pixels lie
CHANGING = ("microwave", "stove")
"""Classes whose state only a look tells."""


class Namer(Protocol):
    """Who names what pictures show: planweave.perception.vision_names.VisionNamer."""

    def names(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], words: str, changing: Collection[str]
    ) -> list[Named]:
        """An answer for every thing."""
        ...


class CameraView:
    """Looks through a simulator's cameras. namer: gives names; cameras: of LIBERO, by name."""

    def __init__(
        self, simulator: LiberoSimulator, domain: Domain, namer: Namer, cameras: Sequence[str] = CAMERAS
    ) -> None:
        self._simulator, self._domain, self._namer, self._cameras = simulator, domain, namer, tuple(cameras)

    def look(self, sentence: str, robot: Mapping[str, Sequence[float]]) -> Seen:
        """The scene now; raises ModelError.

        robot: its `joints` (rad), `gripper` (m, two fingers) and `base` (m; turned as LIBERO's frame).
        """
        base = np.asarray(robot["base"], float)[:3]
        views = self.views(robot)
        segmentation = cut(views, base)
        shown = list(shown_segments(segmentation.segments))
        marked = [marked_segment(segment, views) for segment, _ in shown]
        answers = self._namer.names([view.rgb for view in views], marked, sentence, CHANGING)
        things = resting(named_things(segmentation, shown, answers), segmentation.ground)
        seen = Seen(self._domain, things, segmentation.ground, base)
        for _ in range(2):  # once is by chance
            seen.furniture.look(views, things)
        seen.find_compartments()
        seen.settle()
        return seen

    def states(self, views: Sequence[DepthView], things: Sequence[SeenThing], sentence: str) -> list[str]:
        """What the namer says now of the states of things, "" where it says nothing; raises ModelError."""
        marked = [_marked(thing, views) for thing in things]
        return [named.state for named in self._namer.names([v.rgb for v in views], marked, sentence, CHANGING)]

    def views(self, robot: Mapping[str, Sequence[float]]) -> list[DepthView]:
        """Pictures of now with their depth, without names."""
        return [depth_view(self._simulator.capture(camera, WIDTH, HEIGHT), robot) for camera in self._cameras]


def depth_view(picture: Picture, robot: Mapping[str, Sequence[float]]) -> DepthView:
    """A picture in the person's frame, without the robot's pixels."""
    height, width = picture.depth.shape
    intrinsics = Intrinsics.of_view(picture.fovy, width, height)
    turn = picture.rotation @ np.diag([1.0, -1.0, -1.0])  # optical: y down, z along the view
    in_base = Pose(turn, picture.position - np.asarray(robot["base"], float)[:3])
    state = RobotState(tuple(robot["joints"]), sum(map(abs, robot["gripper"])), 0.0, load_robot(ROBOT))
    view = DepthView(picture.camera, picture.rgb, picture.depth, intrinsics, in_base)
    hidden = robot_mask(view, state)
    return replace(view, camera_to_frame=Pose(TURNED @ turn, TURNED @ picture.position), hidden=hidden)


def _marked(thing: SeenThing, views: Sequence[DepthView]) -> Marked:
    """A known thing as a namer is shown it: its pixels are those of points within its bounds."""
    low, high = thing.bounds
    masks = [view.valid & ((view.points > low - _ROUND) & (view.points < high + _ROUND)).all(axis=2) for view in views]
    box = thing.detection
    return Marked([mask if mask.any() else None for mask in masks], box.position, box.size, thing.colours)


def cut(views: Sequence[DepthView], base: np.ndarray) -> Segmentation:
    """The things around the robot whose base is at a place of LIBERO's frame."""
    x, y, z = TURNED @ base
    return find_segments(views, (x - FARTHEST, y - ASIDE, z - BELOW), (x - NEAREST, y + ASIDE, z + ABOVE))


def classes(domain: Domain) -> list[str]:
    """The domain's words for things."""
    listed = {name for names in domain.categories.values() for name in names}
    return sorted({*domain.classes, *domain.round_classes, *listed} - {"drawer", "compartment"})

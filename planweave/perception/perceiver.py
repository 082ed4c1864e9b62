"""Perception with memory: frames to tracked objects. Used by node.py, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import OrientedBox, SeenFixture, turn
from planweave.geometry.seen_object import SeenObject
from planweave.geometry.upright_shape import quaternion_of
from planweave.perception.calibration import Extrinsics
from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.perception.detectors import Detector, LateNamer
from planweave.perception.detectors.attributes import detect_by_attributes
from planweave.perception.fixtures import FixtureMemory
from planweave.perception.geometry import Intrinsics, Plane, Projector
from planweave.perception.pipeline import Pipeline, PipelineLimits, SeenScene
from planweave.perception.robot_filter import RobotState, hand_pose
from planweave.perception.tracking import Rules, Tracker
from planweave.perception.vocabulary import Vocabulary


@dataclass(frozen=True)
class NamedObject:
    """One tracked object.

    thing: its newest pose, in the robot's base frame; visible: observed in this frame; inferred: it must be present as
    the support of an observed object. boxes: its parts, where they are no `parts` of the thing; orientation: unit
    quaternion (x, y, z, w) where it lies aslant; below, state, lost: as in planweave.geometry.seen_object.
    """

    id: int
    name: str
    thing: Detection
    visible: bool
    inferred: bool = False
    boxes: tuple[OrientedBox, ...] = ()
    orientation: tuple[float, float, float, float] | None = None
    below: str | None = None
    state: str = ""
    lost: bool = False

    def seen(self) -> SeenObject:
        """The object as a world model, or a message, has it."""
        thing = self.thing
        return SeenObject(
            self.name,
            thing.class_name,
            thing.colour,
            thing.shape,
            thing.position,
            self.orientation or quaternion_of(thing.yaw),
            thing.size,
            self.visible,
            self.inferred,
            self.boxes or _parts(thing),
            self.below,
            self.state,
            self.lost,
        )


def _parts(thing: Detection) -> tuple[OrientedBox, ...]:
    """The parts of a thing, in the base frame."""
    if not thing.parts:
        return ()
    low, high = np.reshape(thing.parts, (-1, 2, 3)).transpose(1, 0, 2)
    axes = turn(np.array([0.0, 0.0, 1.0]), thing.yaw)
    centres = (low + high) / 2 @ axes.T + (*thing.position[:2], thing.bottom)
    return tuple(OrientedBox(centre, axes, half) for centre, half in zip(centres, (high - low) / 2))


@dataclass(frozen=True)
class Perceived:
    """All tracked objects after one frame.

    stamp: of the image, seconds; plane: the observed table plane, None where it is not visible; projector: maps points
    to pixels; fixtures: furniture; problems: what cannot be seen, and why.
    """

    stamp: float
    objects: tuple[NamedObject, ...]
    occluded_pixels: int
    plane: Plane | None
    projector: Projector
    fixtures: tuple[SeenFixture, ...] = ()
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Input:
    """All inputs that determine the result of a frame."""

    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics
    robot: RobotState | None
    names: tuple[str, ...]
    extrinsics: Extrinsics
    sides: tuple[DepthView, ...] | None = ()

    def equals(self, other: _Input) -> bool:
        """Whether the inputs are equal; pixels are compared last."""
        if (self.intrinsics, self.names, self.extrinsics is other.extrinsics) != (other.intrinsics, other.names, True):
            return False
        if (self.robot is None) != (other.robot is None):
            return False
        if self.robot is not None and other.robot is not None:
            here, there = ((*r.joints, r.width) for r in (self.robot, other.robot))
            if max(abs(a - b) for a, b in zip(here, there)) > _SAME_JOINTS:
                return False
        if self.sides is None or other.sides is None:
            return False
        if [side.name for side in self.sides] != [side.name for side in other.sides]:
            return False
        if not all(a.depth is b.depth or np.array_equal(a.depth, b.depth) for a, b in zip(self.sides, other.sides)):
            return False
        same = self.depth is other.depth and self.rgb is other.rgb
        return same or (np.array_equal(self.depth, other.depth) and np.array_equal(self.rgb, other.rgb))


_SURELY = 3  # views in a row in which a thing moves by itself
_LATE = 1.0  # s that a stamp goes back where a frame was only late; a simulation that begins anew goes back further
_SETTLED = 6  # equal frames in a row after which one more tells nothing, unless tracking is about to decide something
_SAME_JOINTS = 1e-4  # rad: largest difference of joint positions between equal frames


class Perceiver:
    """Processes frames in the order of their stamps. A stamp far back (a new simulation) resets the tracker; a frame
    that is a little late is refused, as what was seen since would be forgotten for it.

    A frame equal to the previous one, pixel by pixel and joint by joint, which only a simulated camera produces, is no
    further evidence of another shape; its picture is not cut again, and after some more it is not processed at all.
    """

    def __init__(
        self,
        extrinsics: Extrinsics,
        settings: PipelineLimits | None = None,
        rules: Rules | None = None,
        detector: Detector = detect_by_attributes,
        vocabulary: Vocabulary | None = None,
        domain: Domain | None = None,
    ):
        self.pipeline = Pipeline(extrinsics, settings, detector, domain)
        self._late, self._answered = (detector if isinstance(detector, LateNamer) else None), 0
        self.vocabulary = vocabulary or Vocabulary()
        self.tracker = Tracker(rules, domain)
        self._furniture = FixtureMemory() if self.pipeline.classes.furnished else None
        self._open = detector is not detect_by_attributes  # whether names change what things are called
        self._looked_for = self.vocabulary.names
        self.stamp = -np.inf
        """Of the newest frame, seconds."""
        self._equal = 0  # frames in a row that equal the last one
        self._last: tuple[_Input, Perceived] | None = None
        self._scene: SeenScene | None = None  # of the last frame that was processed, until frames rest

    @property
    def naming(self) -> bool:
        """Whether names of what was seen last are still to come, or came after it was seen."""
        return self._late is not None and (self._late.waiting or self._late.answered != self._answered)

    @property
    def deciding(self) -> bool:
        """Whether the next frame may tell more of what is there."""
        return self.tracker.deciding or self.naming or (self._furniture is not None and self._furniture.deciding)

    def forget(self) -> None:
        """Reset all tracks."""
        self.tracker.reset()
        if self._furniture is not None:
            self._furniture.forget()
        self._last = None

    def process(
        self,
        stamp: float,
        rgb: np.ndarray,
        depth: np.ndarray,
        intrinsics: Intrinsics,
        robot: RobotState | None,
        way: Sequence[RobotState] = (),
        sides: Sequence[DepthView] | None = (),
    ) -> Perceived:
        """Process one frame; arguments as in Pipeline.run. way: robot states since the last frame, oldest first.

        Raises FrameError where the frame cannot be used.
        """
        if stamp < self.stamp - _LATE:
            self.forget()
        elif stamp < self.stamp:
            raise FrameError(f"its stamp is {self.stamp - stamp:.3f} s before that of the frame seen last")
        self.stamp = stamp
        names = self.vocabulary.names
        frame = _Input(
            rgb, depth, intrinsics, robot, names, self.pipeline.extrinsics, sides if sides is None else tuple(sides)
        )
        self._equal = self._equal + 1 if self._last is not None and frame.equals(self._last[0]) else 0
        if self._last is not None and self._equal >= _SETTLED and not self.deciding:
            self._scene = None
            return replace(self._last[1], stamp=stamp)
        answered = self._late.answered if self._late is not None else 0
        if answered != self._answered or (names != self._looked_for and self._open):
            self.tracker.judge_anew()
        self._looked_for, self._answered = names, answered
        for state in way:
            self.tracker.follow(hand_pose(state))
        remembered = self.tracker.remembered()
        if self._scene is not None and self._equal and not (self._open or self._furniture or sides):
            scene = self.pipeline.run_again(self._scene, remembered)
        else:
            scene = self.pipeline.run(rgb, depth, intrinsics, robot, remembered, names, sides, self._furniture)
        tracks = self.tracker.update(scene.detections, scene, hand_pose(robot) if robot else None, self._equal > 0)
        objects = tuple(NamedObject(t.id, t.name, t.current, t.visible, t.inferred) for t in tracks)
        moving = (_moving(t.name) for t in tracks if t.matched and t.moves >= _SURELY)
        projector = Projector(intrinsics, scene.view.camera_to_frame)  # the view may be of another size
        of = objects, scene.occluded_pixels, scene.plane, projector, scene.fixtures
        perceived = Perceived(stamp, *of, (*scene.problems, *moving))
        self._last, self._scene = (frame, perceived), scene
        return perceived


def _moving(name: str) -> str:
    return (
        f"{name} moves, and this robot does not hold it: another robot or a person may be in view; what moves into "
        "view is an unknown thing until it rests"
    )

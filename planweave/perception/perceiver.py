"""Perception with memory: frames to tracked objects. Used by node.py, without ROS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.core.base.memory import give_back_memory
from planweave.core.symbolic.domain import Domain
from planweave.perception.calibration import Extrinsics
from planweave.perception.cloud import Projector
from planweave.perception.detection import Detection
from planweave.perception.detectors import Detector
from planweave.perception.detectors.attributes import detect_by_attributes
from planweave.perception.geometry import Intrinsics
from planweave.perception.pipeline import Pipeline, PipelineLimits
from planweave.perception.plane import Plane
from planweave.perception.robot_filter import RobotState, hand_pose
from planweave.perception.tracking import Rules, Tracker
from planweave.perception.vocabulary import Vocabulary


@dataclass(frozen=True)
class NamedObject:
    """One tracked object.

    thing: its newest pose, in the robot's base frame; visible: observed in this frame; inferred: it must be present as
    the support of an observed object.
    """

    id: int
    name: str
    thing: Detection
    visible: bool
    inferred: bool = False


@dataclass(frozen=True)
class Perceived:
    """All tracked objects after one frame.

    stamp: of the image, seconds; plane: the observed table plane, None where it is not visible; projector: maps points
    to pixels.
    """

    stamp: float
    objects: tuple[NamedObject, ...]
    occluded_pixels: int
    plane: Plane | None
    projector: Projector


@dataclass(frozen=True, eq=False)
class _Input:
    """All inputs that determine the result of a frame."""

    rgb: np.ndarray
    depth: np.ndarray
    intrinsics: Intrinsics
    robot: RobotState | None
    names: tuple[str, ...]
    extrinsics: Extrinsics

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
        same = self.depth is other.depth and self.rgb is other.rgb
        return same or (np.array_equal(self.depth, other.depth) and np.array_equal(self.rgb, other.rgb))


_SETTLED = 6  # equal frames in a row after which one more tells nothing, unless tracking is about to decide something
_SAME_JOINTS = 1e-4  # rad: largest difference of joint positions between equal frames


class Perceiver:
    """Processes frames in the order of their stamps. A stamp that goes back (a new simulation) resets the tracker.

    A frame equal to the previous one, pixel by pixel and joint by joint, which only a simulated camera produces, is no
    further evidence of another shape, and is not processed again after some more.
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
        self.vocabulary = vocabulary or Vocabulary()
        self.tracker = Tracker(rules, domain)
        self._open = detector is not detect_by_attributes  # whether names change what things are called
        self._looked_for = self.vocabulary.names
        self.stamp = -np.inf
        """Of the newest frame, seconds."""
        self._equal = 0  # frames in a row that equal the last one
        self._rests = False  # whether frames are not looked at
        self._last: tuple[_Input, Perceived] | None = None

    def forget(self) -> None:
        """Reset all tracks."""
        self.tracker.reset()
        self._last = None

    def process(
        self,
        stamp: float,
        rgb: np.ndarray,
        depth: np.ndarray,
        intrinsics: Intrinsics,
        robot: RobotState | None,
        way: Sequence[RobotState] = (),
    ) -> Perceived:
        """Process one frame; arguments as in Pipeline.run. way: robot states since the last frame, oldest first.

        Raises FrameError where the frame cannot be used.
        """
        if stamp < self.stamp:
            self.forget()
        self.stamp = stamp
        names = self.vocabulary.names
        frame = _Input(rgb, depth, intrinsics, robot, names, self.pipeline.extrinsics)
        self._equal = self._equal + 1 if self._last is not None and frame.equals(self._last[0]) else 0
        if self._last is not None and self._equal >= _SETTLED and not self.tracker.deciding:
            if not self._rests:
                self._rests = True
                give_back_memory()
            return replace(self._last[1], stamp=stamp)
        self._rests = False
        if names != self._looked_for:
            if self._open:
                self.tracker.judge_anew()
            self._looked_for = names
        for state in way:
            self.tracker.follow(hand_pose(state))
        scene = self.pipeline.run(rgb, depth, intrinsics, robot, self.tracker.remembered(), names)
        tracks = self.tracker.update(scene.detections, scene, hand_pose(robot) if robot else None, self._equal > 0)
        objects = tuple(NamedObject(t.id, t.name, t.current, t.visible, t.inferred) for t in tracks)
        perceived = Perceived(stamp, objects, int(scene.robot.sum()), scene.plane, scene.projector)
        self._last = frame, perceived
        return perceived

"""Perception with memory: frames in, named objects out. What node.py drives, without ROS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from perception_node.calibration import Extrinsics
from perception_node.cloud import Projector
from perception_node.detection import Detection
from perception_node.detectors import Detector
from perception_node.detectors.attributes import detect_by_attributes
from perception_node.geometry import Intrinsics
from perception_node.pipeline import Pipeline, Settings
from perception_node.plane import Plane
from perception_node.robot_filter import RobotState, hand_pose
from perception_node.tracking import Rules, Tracker
from perception_node.vocabulary import Vocabulary


@dataclass(frozen=True)
class NamedObject:
    """One tracked object; thing holds its newest pose, in the robot's base frame."""

    id: int
    name: str
    thing: Detection
    visible: bool


@dataclass(frozen=True)
class Perceived:
    """All tracked objects after one frame.

    stamp: of the image, seconds; plane: the table as seen, None where it is not; projector: where places are in it.
    """

    stamp: float
    objects: tuple[NamedObject, ...]
    occluded_pixels: int
    plane: Plane | None
    projector: Projector


class Perceiver:
    """Give it frames in the order of their stamps. A stamp that goes back (a new simulation) makes it forget."""

    def __init__(
        self,
        extrinsics: Extrinsics,
        settings: Settings | None = None,
        rules: Rules | None = None,
        detector: Detector = detect_by_attributes,
        vocabulary: Vocabulary | None = None,
    ):
        self.pipeline = Pipeline(extrinsics, settings, detector)
        self.vocabulary = vocabulary or Vocabulary()
        self.tracker = Tracker(rules)
        self._open = detector is not detect_by_attributes  # whether names change what things are called
        self._looked_for = self.vocabulary.names
        self._stamp = -np.inf

    def process(
        self, stamp: float, rgb: np.ndarray, depth: np.ndarray, intrinsics: Intrinsics, robot: RobotState | None
    ) -> Perceived:
        """Take in one frame; arguments as in Pipeline.run. Raises FrameError where the frame cannot be used."""
        if stamp < self._stamp:
            self.tracker.reset()
        self._stamp = stamp
        names = self.vocabulary.names
        if names != self._looked_for:
            if self._open:
                self.tracker.judge_anew()
            self._looked_for = names
        scene = self.pipeline.run(rgb, depth, intrinsics, robot, self.tracker.remembered(), names)
        tracks = self.tracker.update(scene.detections, scene, hand_pose(robot) if robot else None)
        objects = tuple(NamedObject(t.id, t.name, t.current, t.visible) for t in tracks)
        return Perceived(stamp, objects, int(scene.robot.sum()), scene.plane, scene.projector)

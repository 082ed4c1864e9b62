"""Processing of one frame: point cloud, table plane, robot filter, proposals, detector, supports. Stateless."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.core.symbolic.domain import Domain
from planweave.perception.calibration import Extrinsics
from planweave.perception.cloud import Cloud, Projector
from planweave.perception.decoding import FrameError
from planweave.perception.detection import Detection, Measured, View
from planweave.perception.detectors import Detector
from planweave.perception.detectors.attributes import detect_by_attributes, measure
from planweave.perception.geometry import Intrinsics
from planweave.perception.object_classes import ObjectClasses
from planweave.perception.plane import Plane, fit_table
from planweave.perception.proposals import propose
from planweave.perception.robot_filter import RobotState, robot_mask
from planweave.perception.supports import rest_on_supports


@dataclass(frozen=True)
class PipelineLimits:
    """Limits of the pipeline; metres and radians.

    table: x_min, x_max, y_min, y_max of the searched area. min_height: what is lower belongs to the table.
    plane_offset, plane_tilt: largest deviation of the measured table from the calibration. min_depth: least share of
    pixels with depth.
    """

    table: tuple[float, float, float, float] = (0.12, 1.00, -0.72, 0.72)
    min_height: float = 0.004
    plane_offset: float = 0.02
    plane_tilt: float = math.radians(2.0)
    min_depth: float = 0.2


@dataclass(frozen=True)
class Scene:
    """The result of one frame.

    robot: (h, w) bool; height: (h, w) metres above the table; plane: None where it is out of view. measured: objects
    before naming and support assignment, with their pixels.
    """

    detections: tuple[Detection, ...]
    cloud: Cloud
    height: np.ndarray
    robot: np.ndarray
    plane: Plane | None
    projector: Projector
    measured: tuple[Measured, ...] = ()


class Pipeline:
    """Frames to scenes for one camera; caches the rays of the last camera geometry."""

    def __init__(
        self,
        extrinsics: Extrinsics,
        settings: PipelineLimits | None = None,
        detector: Detector = detect_by_attributes,
        domain: Domain | None = None,
    ):
        """domain: says what shapes are called, and which classes are receptacles; by default the tabletop's."""
        self._domain = domain or Domain.load()
        self._classes = ObjectClasses.of(self._domain)
        self.extrinsics, self.settings = extrinsics, settings or PipelineLimits()
        self._detect = detector
        self._projector: Projector | None = None

    def run(
        self,
        rgb: np.ndarray,
        depth: np.ndarray,
        intrinsics: Intrinsics,
        robot: RobotState | None,
        remembered: Iterable[Detection] = (),
        names: Sequence[str] = (),
    ) -> Scene:
        """The objects of one frame.

        rgb: (h, w, 3) uint8; depth: (h, w) float32 metres, 0 where unknown; robot: None where no robot is in view;
        remembered: known objects that may be hidden below others; names: noun phrases for an open-vocabulary detector.
        Raises FrameError where the frame cannot be used.
        """
        shape = (intrinsics.height, intrinsics.width)
        if rgb.shape[:2] != shape or depth.shape != shape:
            raise FrameError(
                f"sizes differ: colour {rgb.shape[1]} x {rgb.shape[0]}, "
                f"depth {depth.shape[1]} x {depth.shape[0]}, camera info "
                f"{shape[1]} x {shape[0]}; all three must agree (publish depth aligned to colour)"
            )
        if np.count_nonzero(depth) < self.settings.min_depth * depth.size:
            raise FrameError("there is no depth in the image: check the depth stream, its exposure and the emitter")
        if int(rgb[::4, ::4].max()) < 12:
            raise FrameError("the colour image is black: check the lens cap, the light and the exposure")
        pose, last = self.extrinsics.camera_to_base(robot), self._projector
        if last is None or last.intrinsics != intrinsics or not last.camera_to_base.is_near(pose):
            self._projector = Projector(intrinsics, pose)
        assert self._projector is not None
        cloud = self._projector.cloud(depth)
        table = self.settings.table
        mask = robot_mask(cloud, self._projector, robot) if robot else np.zeros(shape, dtype=bool)
        if robot:
            seen = Cloud(cloud.x, cloud.y, cloud.z, cloud.valid & ~mask, cloud.pixel)
        plane = fit_table(seen if robot else cloud, table)
        if plane is None and mask.mean() < 0.5:
            raise FrameError(
                f"no table within 10 cm of z = 0 in {self.extrinsics.frame_id}'s depth image: "
                "the camera has moved or its pose in the "
                "camera file is wrong; calibrate it again"
            )
        if plane is not None:
            self._check(plane)
            height = cloud.z - (np.float32(plane.a) * cloud.x + np.float32(plane.b) * cloud.y + np.float32(plane.c))
        else:
            height = cloud.z
        inside = (cloud.x > table[0]) & (cloud.x < table[1]) & (cloud.y > table[2]) & (cloud.y < table[3])
        regions = propose(rgb, cloud, height, mask, inside, self.settings.min_height)
        measured = measure(regions, cloud.pixel, self._classes)
        named = self._detect(View(rgb, measured, names, cloud.pixel))
        known = [replace(d, receptacle=self._domain.is_receptacle_class(d.class_name)) for d in named]
        found = rest_on_supports(known, self._classes, remembered)
        return Scene(tuple(found), cloud, height, mask, plane, self._projector, tuple(measured))

    def _check(self, plane: Plane) -> None:
        offset = table_offset(plane, self.settings.table)
        if abs(offset) > self.settings.plane_offset or plane.tilt > self.settings.plane_tilt:
            raise FrameError(
                f"the table is seen {offset * 1000:+.0f} mm and {math.degrees(plane.tilt):.1f} degrees off its place "
                f"(allowed: "
                f"{self.settings.plane_offset * 1000:.0f} mm, {math.degrees(self.settings.plane_tilt):.1f} degrees): "
                "the camera has moved or its pose in the camera file is wrong; calibrate it again"
            )


def table_offset(plane: Plane, table: tuple[float, float, float, float]) -> float:
    """Measured height in metres of the table at the centre of the region x_min, x_max, y_min, y_max; it should be 0."""
    return plane.height_at((table[0] + table[1]) / 2, (table[2] + table[3]) / 2)

"""Camera poses: camera files, and results of hand-eye calibrations by other tools."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import read_yaml
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Pose
from planweave.perception.robot_filter import RobotState
from planweave.robots import RobotDescription, load_robot
from planweave.robots.chain import frame_names, link_frames

_FARTHEST = 5.0  # m: no camera that sees a table is farther from its parent frame
_HANDEYE = ".calib"  # what easy_handeye2 writes


@dataclass(frozen=True)
class Extrinsics:
    """Pose of the camera's optical frame in a parent frame: the robot's base, or a link that carries the camera.

    frame_id: frame of the images (x right, y down, z along the view). camera_to_parent: metres. parent: empty for the
    robot's base.
    """

    frame_id: str
    camera_to_parent: Pose
    parent: str = ""

    @property
    def fixed(self) -> bool:
        """Whether the camera is stationary, not carried by the arm."""
        return not self.parent

    def camera_to_base(self, robot: RobotState | None = None) -> Pose:
        """The camera's pose in the robot's base frame; raises FrameError where the arm carries it and robot is None."""
        if self.fixed:
            return self.camera_to_parent
        if robot is None:
            raise FrameError(f"the camera is on {self.parent}, so its pose needs the joint states")
        parent = link_frames(robot.robot, robot.joints)[self.parent]
        rotation, inner = parent[:3, :3], self.camera_to_parent
        return Pose(rotation @ inner.rotation, rotation @ inner.translation + parent[:3, 3])


def find_camera(name: str) -> Path:
    """The camera file of a name under config/cameras, or the file of that path; raises UnknownNameError."""
    expanded = str(Path(name).expanduser())
    return find_config("cameras", expanded, _HANDEYE if name.endswith(_HANDEYE) else ".yaml")


def load_extrinsics(path: Path, robot: RobotDescription | None = None) -> Extrinsics:
    """Read a camera file, or a calibration saved by easy_handeye2; raises ConfigError that names file and entry.

    robot: whose frames the camera can be on; by default the default one.
    """
    data = read_yaml(path)
    if not isinstance(data, dict):
        raise ConfigError(f"{path}: must hold frame_id, position and quaternion (or matrix)")
    try:
        if "transform" in data and "parameters" in data:
            data = _from_handeye(data)
        return _from_entries(data, robot or load_robot())
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError) as error:
        raise ConfigError(f"{path}: {error}") from None


def _from_entries(data: dict[str, Any], robot: RobotDescription) -> Extrinsics:
    frame = data.get("frame_id")
    if not isinstance(frame, str) or not frame:
        raise ValueError("frame_id must be the name of the camera's optical frame")
    parent = data.get("parent", robot.base)
    if parent not in frame_names(robot):
        raise ValueError(f"parent: {UnknownNameError('frame of the robot', str(parent), frame_names(robot))}")
    if "matrix" in data:
        if "position" in data or "quaternion" in data:
            raise ValueError("give matrix, or position and quaternion, not both")
        pose = _from_matrix(data["matrix"])
    else:
        position, quaternion = _numbers(data, "position", 3), _numbers(data, "quaternion", 4)
        length = math.hypot(*quaternion)
        if abs(length - 1.0) > 1e-2:
            raise ValueError(f"quaternion {quaternion} (x, y, z, w) has length {length:.4g}; a rotation's has length 1")
        pose = Pose(rotation_from_quaternion(*quaternion), np.array(position))
    far = float(np.abs(pose.translation).max())
    if far > _FARTHEST:
        raise ValueError(
            f"the camera would be {far:g} m from {parent}; lengths are metres, and this looks like millimetres "
            f"({far:g} mm is {far / 1000:g} m)"
        )
    return Extrinsics(frame, pose, "" if parent == robot.base else parent)


def _from_matrix(rows: Any) -> Pose:
    """From a 4 x 4 homogeneous transform as nested lists."""
    try:
        matrix = np.array(rows, dtype=float)
    except (TypeError, ValueError):
        matrix = np.zeros(0)
    if matrix.shape != (4, 4) or not np.isfinite(matrix).all():
        raise ValueError(f"matrix must be 4 rows of 4 numbers, not {rows!r}")
    if not np.allclose(matrix[3], (0, 0, 0, 1), atol=1e-6):
        raise ValueError(f"matrix: the last row must be 0, 0, 0, 1, not {matrix[3].tolist()}")
    rotation = matrix[:3, :3]
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2) or np.linalg.det(rotation) < 0:
        raise ValueError("matrix: its upper left 3 x 3 part is not a rotation (orthonormal, right-handed)")
    left, _, right = np.linalg.svd(rotation)  # the nearest true rotation, as files round their digits
    return Pose(left @ right, matrix[:3, 3].copy())


def _from_handeye(data: dict[str, Any]) -> dict[str, Any]:
    """Entries of a camera file from a calibration of easy_handeye2: the pose of the tracking system in the robot's
    frame.
    """
    parameters, transform = data["parameters"], data["transform"]
    try:
        on_hand = parameters["calibration_type"] == "eye_in_hand"
        return {
            "frame_id": parameters["tracking_base_frame"],
            "parent": parameters["robot_effector_frame" if on_hand else "robot_base_frame"],
            "position": [transform["translation"][axis] for axis in "xyz"],
            "quaternion": [transform["rotation"][axis] for axis in "xyzw"],
        }
    except (KeyError, TypeError) as error:
        raise ValueError(f"this is not a complete calibration of easy_handeye2: {error} is missing") from None


def _numbers(data: dict[str, Any], key: str, count: int) -> list[float]:
    value: Any = data.get(key)
    right = isinstance(value, list) and len(value) == count
    if not right or not all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in value):
        raise ValueError(f"{key} must be a list of {count} numbers, not {value!r}")
    if not all(map(math.isfinite, value)):
        raise ValueError(f"{key} must be finite numbers, not {value!r}")
    return [float(v) for v in value]

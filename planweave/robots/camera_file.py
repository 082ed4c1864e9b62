"""Camera files: pose, and size of the images, of a camera that is fixed or carried by the arm.

The same file tells the simulation which camera to render and perception where a real one is: those under
config/cameras, what `planweave calibrate table` writes, and calibrations saved by easy_handeye2 (.calib).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import compose
from planweave.core.base.yaml_records import between, key, numbers, place_of, read_record, text
from planweave.geometry.rotations import quaternion_from_rotation
from planweave.robots import RobotDescription, load_robot
from planweave.robots.chain import frame_names

_Pose = tuple[tuple[float, float, float], tuple[float, float, float, float]]
_FARTHEST = 5.0  # m: no camera that sees a table is farther from its parent frame
_HANDEYE = ".calib"  # what easy_handeye2 writes
_LARGEST = 4096  # pixels
_TRANSFORM = (
    "4 rows of 4 numbers: a rotation (3 x 3, orthonormal, right-handed) with the position beside it, then 0, 0, 0, 1"
)


def _transform(value: Any) -> _Pose:
    """Reads a homogeneous transform as position and quaternion."""
    try:
        matrix = np.array([numbers(4)(row) for row in value] if isinstance(value, list) else ())
    except ValueError:
        raise ValueError(_TRANSFORM) from None
    if matrix.shape != (4, 4) or not np.allclose(matrix[3], (0, 0, 0, 1), atol=1e-6):
        raise ValueError(_TRANSFORM)
    rotation = matrix[:3, :3]
    if not np.allclose(rotation @ rotation.T, np.eye(3), atol=1e-2) or np.linalg.det(rotation) < 0:
        raise ValueError(_TRANSFORM)
    left, _, right = np.linalg.svd(rotation)  # the nearest true rotation, as files round their digits
    x, y, z = matrix[:3, 3].tolist()
    return (x, y, z), quaternion_from_rotation(left @ right)


@dataclass(frozen=True)
class CameraConfig:
    """A camera, as its file tells.

    position (m) and quaternion (x, y, z, w): pose of the optical frame (x right, y down, z along the view) in the
    robot's base frame, or in that of the link that carries the camera, its parent; in a file also as one matrix.
    width, height in pixels and fovy, the vertical field of view in degrees, are the simulated camera's: a real one
    tells its own. serial: number of a RealSense, where there are several.
    """

    frame_id: str = key(text)
    position: tuple[float, float, float] = key(numbers(3), ())
    quaternion: tuple[float, float, float, float] = key(numbers(4), ())
    matrix: tuple[tuple[float, float, float], tuple[float, float, float, float]] | None = key(_transform, None)
    parent: str = key(text, "")
    width: int = key(between(16, _LARGEST, whole=True), 640)
    height: int = key(between(16, _LARGEST, whole=True), 480)
    fovy: float = key(between(5.0, 150.0), 58.0)
    serial: str = key(text, "")

    def problem(self) -> str:
        if bool(self.matrix) == bool(self.position or self.quaternion) or bool(self.position) != bool(self.quaternion):
            return "give position and quaternion, or matrix alone"
        position, quaternion = self.matrix or (self.position, self.quaternion)
        length, far = math.hypot(*quaternion), max(map(abs, position))
        if abs(length - 1.0) > 1e-2:
            return f"quaternion {list(quaternion)} (x, y, z, w) has length {length:.4g}; a rotation's has length 1"
        if far > _FARTHEST:
            return (
                f"the camera would be {far:g} m from {self.parent or 'the robot'}; lengths are metres, and this looks "
                f"like millimetres ({far:g} mm is {far / 1000:g} m)"
            )
        return ""


def load_camera(name: str | Path = "overhead", robot: RobotDescription | None = None) -> CameraConfig:
    """The camera of a name under config/cameras, or of the file of that path, of a robot, by default the default one.

    Its parent is empty where that is the robot's base. Raises UnknownNameError, or ConfigError that names file, line
    and key.
    """
    expanded = os.path.expanduser(name)
    path = find_config("cameras", expanded, _HANDEYE if expanded.endswith(_HANDEYE) else ".yaml")
    node, robot = compose(path), robot or load_robot()
    entries = _entries(node)
    if "transform" in entries and "parameters" in entries:
        node = _from_handeye(path, node)
    read: CameraConfig = read_record(CameraConfig, path, node, "camera")
    frames = frame_names(robot)
    if read.parent and read.parent not in frames:
        unknown = UnknownNameError("frame of the robot", read.parent, frames)
        raise ConfigError(f"{place_of(path, _entries(node)['parent'])}: parent: {unknown}")
    position, quaternion = read.matrix or (read.position, read.quaternion)
    parent = "" if read.parent == robot.base else read.parent
    return replace(read, position=position, quaternion=quaternion, matrix=None, parent=parent)


def _entries(node: Any) -> dict[str, Any]:
    """The nodes of a mapping by their keys; empty for another node."""
    return {str(word.value): value for word, value in node.value} if isinstance(node, yaml.MappingNode) else {}


def _from_handeye(path: Path, node: Any) -> yaml.MappingNode:
    """The entries of a camera file from a calibration of easy_handeye2: the pose of the tracking system in the robot's
    frame.
    """

    def scalar(name: str) -> yaml.ScalarNode:
        return yaml.ScalarNode("tag:yaml.org,2002:str", name, node.start_mark)

    parameters, transform = (_entries(_entries(node)[part]) for part in ("parameters", "transform"))
    try:
        on_hand = parameters["calibration_type"].value == "eye_in_hand"
        found = {
            "frame_id": parameters["tracking_base_frame"],
            "parent": parameters["robot_effector_frame" if on_hand else "robot_base_frame"],
        }
        for name, part, axes in (("position", "translation", "xyz"), ("quaternion", "rotation", "xyzw")):
            values = _entries(transform[part])
            mark = transform[part].start_mark
            found[name] = yaml.SequenceNode("tag:yaml.org,2002:seq", [values[axis] for axis in axes], mark)
    except KeyError as error:
        raise ConfigError(
            f"{place_of(path, node)}: this is not a complete calibration of easy_handeye2: {error} is missing"
        ) from None
    return yaml.MappingNode("tag:yaml.org,2002:map", [(scalar(k), v) for k, v in found.items()], node.start_mark)

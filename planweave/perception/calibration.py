"""Camera poses, of cameras that are fixed or carried by the arm."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.geometry.joints import frame
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Pose
from planweave.perception.robot_filter import RobotState
from planweave.robots import RobotDescription
from planweave.robots.camera_file import load_camera
from planweave.robots.chain import link_frames


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


def load_extrinsics(name: str | Path = "overhead", robot: RobotDescription | None = None) -> Extrinsics:
    """The pose of a camera from its file; arguments and errors as of `load_camera`."""
    camera = load_camera(name, robot)
    pose = Pose(rotation_from_quaternion(*camera.quaternion), np.array(camera.position))
    return Extrinsics(camera.frame_id, pose, camera.parent)


def eye_of(name: str | Path, robot: RobotDescription) -> np.ndarray:
    """The pose (4, 4) in the tool's frame of a camera on the hand; raises ConfigError for one that is not there."""
    camera, frames = load_extrinsics(name, robot), link_frames(robot, robot.home)
    carried = (robot.joints[-1].link, robot.flange.link, robot.gripper.link, robot.gripper.tool.frame)
    if camera.parent not in carried:
        raise ConfigError(f"the hand does not carry camera {name}: parent must be one of {', '.join(carried)}")
    inner = camera.camera_to_parent
    pose = frames[camera.parent] @ frame(inner.rotation, inner.translation)
    return np.asarray(np.linalg.inv(frames[robot.gripper.tool.frame]) @ pose)

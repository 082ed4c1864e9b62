"""Frames of a robot's links for joint positions, from its description alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from planweave.robots.description import RobotDescription, Vector

Array = NDArray[np.float64]


def transform(xyz: Vector, rpy: Vector) -> Array:
    """The 4x4 pose at xyz (m), turned by roll, pitch and yaw (rad) about the fixed x, y and z, as in URDF."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a), math.cos(a)) for a in rpy)
    pose = np.eye(4)
    pose[:3, :3] = [
        [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
        [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
        [-sp, cp * sr, cp * cr],
    ]
    pose[:3, 3] = xyz
    return pose


def quaternion(rpy: Vector) -> tuple[float, float, float, float]:
    """w, x, y, z of roll, pitch and yaw (rad)."""
    (sr, cr), (sp, cp), (sy, cy) = ((math.sin(a / 2), math.cos(a / 2)) for a in rpy)
    return (
        cr * cp * cy + sr * sp * sy,
        sr * cp * cy - cr * sp * sy,
        cr * sp * cy + sr * cp * sy,
        cr * cp * sy - sr * sp * cy,
    )


@lru_cache(maxsize=8)
def _fixed(robot: RobotDescription) -> tuple[tuple[Array, ...], Array, Array, Array]:
    """Origins of the joints, of the flange, of the gripper and of the tool, each in the link before."""
    hand = robot.gripper
    return (
        tuple(transform(joint.xyz, joint.rpy) for joint in robot.joints),
        transform(robot.flange.xyz, robot.flange.rpy),
        transform(hand.xyz, hand.rpy),
        transform(hand.tool.xyz, hand.tool.rpy),
    )


def frame_names(robot: RobotDescription) -> tuple[str, ...]:
    """The frames that `link_frames` gives: what a camera can be mounted on."""
    links = (joint.link for joint in robot.joints)
    return (robot.base, *links, robot.flange.link, robot.gripper.link, robot.gripper.tool.frame)


def link_frames(robot: RobotDescription, joints: Sequence[float]) -> dict[str, Array]:
    """Frames (4, 4) of base, links, flange, gripper and tool in the base frame, by name; joints in rad."""
    origins, flange, hand, tool = _fixed(robot)
    pose = np.eye(4)
    frames = [pose]
    for origin, angle in zip(origins, joints):
        turn = np.eye(4)
        turn[0, 0] = turn[1, 1] = math.cos(angle)
        turn[1, 0] = math.sin(angle)
        turn[0, 1] = -turn[1, 0]
        pose = pose @ origin @ turn
        frames.append(pose)
    for fixed in (flange, hand, tool):
        pose = pose @ fixed
        frames.append(pose)
    return dict(zip(frame_names(robot), frames))

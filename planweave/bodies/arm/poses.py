"""Object poses as 4x4 matrices and as quaternions (x, y, z, w). Lengths in m."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array
from planweave.geometry.rotations import quaternion_from_rotation, rotation_from_quaternion
from planweave.geometry.upright_shape import is_upright

_OTHER_MIDDLE = 0.016  # m from its centre at which the middle of an object may be, at most
Quaternion = tuple[float, float, float, float]


def upright(x: float, y: float, z: float, yaw: float) -> Array:
    """Pose of an upright object, rotated by `yaw`."""
    c, s = math.cos(yaw), math.sin(yaw)
    return np.array([[c, -s, 0.0, x], [s, c, 0.0, y], [0.0, 0.0, 1.0, z], [0.0, 0.0, 0.0, 1.0]])


def laid(axis: tuple[float, float, float]) -> Array:
    """The shortest rotation, as a pose, that turns the vertical into a unit vector."""
    x, y, z = axis
    pose = np.eye(4)
    if z < -1 + 1e-9:
        pose[:3, :3] = np.diag([1.0, -1.0, -1.0])
    else:
        cross = np.array([[0.0, 0.0, x], [0.0, 0.0, y], [-x, -y, 0.0]])
        pose[:3, :3] += cross + cross @ cross / (1.0 + z)
    return pose


def pose_of(thing: Thing) -> Array:
    """Pose of an object's centre in the base frame."""
    pose = upright(*thing.position, thing.yaw)
    if thing.orientation is not None:
        pose[:3, :3] = rotation_from_quaternion(*thing.orientation)
    return pose


def other_middle(thing: Thing) -> tuple[float, float, float]:
    """Other possible middle of an object than its centre, in its own frame: a vessel with a handle has another
    one than without.
    """
    if not thing.solid.parts:
        return 0.0, 0.0, 0.0
    x, y, _ = np.mean(thing.solid.bounds, axis=0).tolist()
    share = min(1.0, _OTHER_MIDDLE / max(math.hypot(x, y), 1e-9))
    return share * x, share * y, 0.0


def placed(thing: Thing, pose: Array) -> Thing:
    """An object as it is at a pose."""
    x, y, z = pose[:3, 3].tolist()
    turned = quaternion_from_rotation(pose[:3, :3])
    orientation = None if is_upright(turned) else turned
    return replace(thing, position=(x, y, z), yaw=math.atan2(pose[1, 0], pose[0, 0]), orientation=orientation)


def angle_between(one: Quaternion, other: Quaternion) -> float:
    """Angle of the rotation from one orientation to another, rad."""
    return 2 * math.acos(min(1.0, abs(sum(a * b for a, b in zip(one, other)))))

"""Object poses as 4x4 matrices and as quaternions (x, y, z, w). Lengths in m."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.scene_object import Thing

Array = NDArray[np.float64]
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
        pose[:3, :3] = rotation(thing.orientation)
    return pose


def rotation(quaternion: Quaternion) -> Array:
    """Rotation matrix (3, 3) of a unit quaternion."""
    x, y, z, w = quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )


def quaternion(rotation: Array) -> Quaternion:
    """Unit quaternion of a rotation matrix (3, 3), with w >= 0."""
    import mujoco

    found = np.zeros(4)
    mujoco.mju_mat2Quat(found, np.ascontiguousarray(rotation).ravel())
    w, x, y, z = (float(v) for v in (found if found[0] >= 0 else -found))
    return x, y, z, w


def angle_between(one: Quaternion, other: Quaternion) -> float:
    """Angle of the rotation from one orientation to another, rad."""
    return 2 * math.acos(min(1.0, abs(sum(a * b for a, b in zip(one, other)))))

"""Robot mask: pixels that show the robot, by forward kinematics of the FR3 and capsules around its links.

Kinematics: modified Denavit-Hartenberg parameters of the Franka Control Interface documentation, "Robot and interface
specifications". Capsules are a few centimetres larger than the links, but tight around the fingers, where objects are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from planweave.perception.cloud import Cloud, Projector

_A = (0.0, 0.0, 0.0, 0.0825, -0.0825, 0.0, 0.088)
_D = (0.333, 0.0, 0.316, 0.0, 0.384, 0.0, 0.0)
_ALPHA = (0.0, -math.pi / 2, math.pi / 2, math.pi / 2, -math.pi / 2, math.pi / 2, math.pi / 2)
_FLANGE = 0.107
_TCP = 0.1034
# What a camera can be mounted on: index in link_frames, metres along its z axis.
FRAMES = {
    **{f"fr3_link{i}": (i, 0.0) for i in range(8)},
    "fr3_link8": (7, _FLANGE),
    "fr3_hand": (8, 0.0),
    "fr3_hand_tcp": (8, _TCP),
}

# frame (0 base, 1 to 7 links, 8 hand), start and end in that frame, radius; metres
CAPSULES: tuple[tuple[int, tuple[float, float, float], tuple[float, float, float], float], ...] = (
    (0, (-0.10, 0.0, 0.05), (0.0, 0.0, 0.05), 0.13),
    (1, (0.0, 0.0, -0.20), (0.0, 0.0, 0.0), 0.10),
    (2, (0.0, 0.0, -0.07), (0.0, 0.0, 0.07), 0.095),
    (2, (0.0, -0.20, 0.0), (0.0, 0.0, 0.0), 0.09),
    (3, (0.0, 0.0, -0.08), (0.0, 0.0, 0.0), 0.095),
    (3, (0.04, 0.0, 0.0), (0.0825, 0.0, 0.0), 0.085),
    (4, (0.0, 0.0, -0.07), (0.0, 0.0, 0.07), 0.095),
    (4, (-0.0825, 0.0, 0.0), (-0.0825, 0.11, 0.0), 0.085),
    (5, (0.0, 0.0, -0.27), (0.0, 0.0, -0.12), 0.085),
    (5, (0.0, 0.09, -0.20), (0.0, 0.09, -0.02), 0.06),
    (5, (0.0, 0.0, -0.12), (0.0, 0.04, 0.0), 0.08),
    (6, (0.0, 0.0, -0.06), (0.0, 0.0, 0.05), 0.085),
    (6, (0.0, 0.0, 0.0), (0.088, 0.0, 0.0), 0.075),
    (7, (0.0, 0.0, -0.04), (0.0, 0.0, 0.10), 0.075),
    (7, (0.05, 0.0, 0.08), (0.07, 0.0, 0.08), 0.055),
    (7, (0.03, 0.04, 0.08), (0.045, 0.055, 0.08), 0.06),
    (8, (0.0, -0.085, -0.005), (0.0, 0.085, -0.005), 0.045),
    (8, (0.0, -0.09, 0.03), (0.0, 0.09, 0.03), 0.047),
    (8, (0.0, -0.09, 0.055), (0.0, 0.09, 0.055), 0.025),
)
_FINGER = ((0.0, 0.016, 0.055), (0.0, 0.014, 0.098))  # in the hand frame for a closed finger, mirrored for the other
_FINGER_RADIUS = 0.021


@dataclass(frozen=True)
class RobotState:
    """Joint state used by perception: arm joints (7,) rad, gripper opening in metres, time in seconds."""

    joints: tuple[float, ...]
    width: float
    stamp: float


@dataclass(frozen=True)
class Hand:
    """The tool centre point in the base frame: position (3,), rotation (3, 3); gripper opening in metres."""

    position: np.ndarray
    rotation: np.ndarray
    width: float


def link_frames(joints: Sequence[float]) -> list[np.ndarray]:
    """Frames of base, links 1 to 7 and hand in the base frame, (4, 4) each."""
    frames = [np.eye(4)]
    for a, d, alpha, theta in zip(_A, _D, _ALPHA, joints):
        ca, sa, ct, st = math.cos(alpha), math.sin(alpha), math.cos(theta), math.sin(theta)
        step = np.array(
            [
                [ct, -st, 0.0, a],
                [st * ca, ct * ca, -sa, -d * sa],
                [st * sa, ct * sa, ca, d * ca],
                [0.0, 0.0, 0.0, 1.0],
            ]
        )
        frames.append(frames[-1] @ step)
    c = math.sqrt(0.5)
    hand = np.array([[c, c, 0, 0], [-c, c, 0, 0], [0, 0, 1, _FLANGE], [0, 0, 0, 1.0]])
    frames.append(frames[-1] @ hand)
    return frames


def frame_in_base(name: str, joints: Sequence[float]) -> np.ndarray:
    """Pose (4, 4) in the base frame of a frame of FRAMES."""
    index, along = FRAMES[name]
    frame = link_frames(joints)[index]
    frame[:3, 3] += frame[:3, 2] * along
    return frame


def hand_pose(state: RobotState) -> Hand:
    """The pose between the finger tips: z along the approach, y along the closing direction."""
    frame = link_frames(state.joints)[8]
    return Hand(frame[:3, :3] @ np.array([0.0, 0.0, _TCP]) + frame[:3, 3], frame[:3, :3], state.width)


def capsules(state: RobotState) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Start, end (3,) in the base frame and radius of every capsule."""
    frames = link_frames(state.joints)
    rows = list(CAPSULES)
    half = max(0.0, min(state.width, 0.08)) / 2
    for side in (1.0, -1.0):
        start, end = (((x, side * (y + half), z)) for x, y, z in _FINGER)
        rows.append((8, start, end, _FINGER_RADIUS))
    return [
        (frames[i][:3, :3] @ np.array(a) + frames[i][:3, 3], frames[i][:3, :3] @ np.array(b) + frames[i][:3, 3], r)
        for i, a, b, r in rows
    ]


def robot_mask(cloud: Cloud, projector: Projector, state: RobotState, grow: int = 3) -> np.ndarray:
    """True where a pixel shows the robot, (height, width) bool, dilated by some pixels against mixed edges.

    A point belongs to the robot when it is inside a capsule. Tested on every second row and column, and only where the
    capsule can be in the image.
    """
    height, width = cloud.z.shape
    small = np.zeros(((height + 1) // 2, (width + 1) // 2), dtype=np.uint8)
    x, y, z = cloud.x[::2, ::2], cloud.y[::2, ::2], cloud.z[::2, ::2]
    focal = projector.intrinsics.fx
    for start, end, radius in capsules(state):
        ends = np.array([start, end])
        depth = projector.camera_to_base.inverse().apply(ends)[:, 2]
        if depth.max() <= 0.02:
            continue
        if depth.min() <= radius + 0.05:
            rows, columns = slice(None), slice(None)
        else:
            u, v = projector.pixels(ends)
            reach = focal * radius / (depth - radius) + 3
            rows = _span(v, reach, height)
            columns = _span(u, reach, width)
        px, py, pz = (a[rows, columns] - np.float32(o) for a, o in zip((x, y, z), start))
        if px.size == 0:
            continue
        axis = (end - start).astype(np.float32)
        length = float(axis @ axis)
        along = np.clip((px * axis[0] + py * axis[1] + pz * axis[2]) / max(length, 1e-9), 0.0, 1.0)
        distance = (px - along * axis[0]) ** 2 + (py - along * axis[1]) ** 2 + (pz - along * axis[2]) ** 2
        small[rows, columns] |= (distance < radius * radius).astype(np.uint8)
    if not small.any():
        return np.zeros((height, width), dtype=bool)
    full = cv2.resize(small, (small.shape[1] * 2, small.shape[0] * 2), interpolation=cv2.INTER_NEAREST)[:height, :width]
    full = np.where(cloud.valid, full, np.uint8(0))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * grow + 1, 2 * grow + 1))
    return cv2.dilate(full, kernel).astype(bool)


def _span(centres: np.ndarray, reach: np.ndarray, size: int) -> slice:
    low = max(0, int(np.min(centres - reach)) // 2)
    high = min((size + 1) // 2, int(np.max(centres + reach)) // 2 + 1)
    return slice(low, max(low, high))

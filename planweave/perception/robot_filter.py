"""Robot mask: pixels that show the robot, by the forward kinematics and capsules of its description.

Capsules are a few centimetres larger than the links, but tight around the fingers, where objects are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import cv2
import numpy as np

from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.robots import RobotDescription, load_robot
from planweave.robots.chain import link_frames


@dataclass(frozen=True)
class RobotState:
    """Joint state used by perception: arm joints (n,) rad, gripper opening in metres, time in seconds.

    robot: whose they are, by default the default one.
    """

    joints: tuple[float, ...]
    width: float
    stamp: float
    robot: RobotDescription = field(default_factory=load_robot, repr=False)


@dataclass(frozen=True)
class Hand:
    """The tool centre point in the base frame: position (3,), rotation (3, 3); gripper opening in metres."""

    position: np.ndarray
    rotation: np.ndarray
    width: float

    def sees(self, point: Sequence[float]) -> np.ndarray:
        """A point in the hand's frame, (3,) m."""
        return np.asarray(self.rotation.T @ (np.array(point) - self.position))

    def gap(self, thing: Detection) -> float:
        """Vertical distance of a thing from the fingertips, m; infinite where it is not between them."""
        x, y, z = self.sees(thing.position)
        reach = max(thing.size[:2]) / 2 + 0.02 if thing.shape == "hollow" else 0.03
        return max(abs(z) - thing.size[2] / 2, 0.0) if math.hypot(x, y) < reach else math.inf


def hand_pose(state: RobotState) -> Hand:
    """The pose between the finger tips: z along the approach, y along the closing direction."""
    frame = link_frames(state.robot, state.joints)[state.robot.gripper.tool.frame]
    return Hand(frame[:3, 3], frame[:3, :3], state.width)


def capsules(state: RobotState) -> list[tuple[np.ndarray, np.ndarray, float]]:
    """Start, end (3,) in the base frame and radius of every capsule."""
    robot, gripper = state.robot, state.robot.gripper
    frames = link_frames(robot, state.joints)
    rows = [(frames[c.link], np.array(c.start), np.array(c.end), c.radius) for c in robot.capsules]
    half = max(0.0, min(state.width, gripper.opening)) / 2
    hand, closing = frames[gripper.link], frames[gripper.tool.frame][:3, 1]
    closing = hand[:3, :3].T @ closing  # in the hand
    first, last, radius = gripper.finger_capsule
    for side in (1.0, -1.0):
        start, end = (np.array(p) for p in (first, last))
        if side < 0:  # the other finger mirrors it
            start, end = (p - 2 * (p @ closing) * closing for p in (start, end))
        rows.append((hand, start + side * half * closing, end + side * half * closing, radius))
    return [(f[:3, :3] @ a + f[:3, 3], f[:3, :3] @ b + f[:3, 3], r) for f, a, b, r in rows]


def robot_mask(view: DepthView, state: RobotState, grow: int = 3) -> np.ndarray:
    """True where a pixel shows the robot, (height, width) bool, dilated by some pixels against mixed edges.

    view: in the frame of the robot's base. A point belongs to the robot when it is inside a capsule. Tested on every
    second row and column, and only where the capsule can be in the image.
    """
    height, width = view.depth.shape
    small = np.zeros(((height + 1) // 2, (width + 1) // 2), dtype=np.uint8)
    z = view.smooth[::2, ::2]
    x, y = (z * ray for ray in (view.rays[0][::2], view.rays[1][::2]))
    shapes = capsules(state)
    ends = np.array([each[:2] for each in shapes])
    radii = np.array([radius for _, _, radius in shapes])[:, None]
    inside = view.camera_to_frame.inverse().apply(ends)
    depth = inside[..., 2]
    reach = np.where(depth > radii + 0.05, view.intrinsics.fx * radii / np.maximum(depth - radii, 1e-3) + 3, np.inf)
    u, v = (at.reshape(depth.shape) for at in view.projector.pixels(ends.reshape(-1, 3)))
    for (start, end), radius, rows, columns in zip(
        inside, radii[:, 0], _spans(v, reach, height), _spans(u, reach, width)
    ):
        if max(start[2], end[2]) <= 0.02:
            continue
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
    full = np.where(view.valid, full, np.uint8(0))
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (2 * grow + 1, 2 * grow + 1))
    return cv2.dilate(full, kernel).astype(bool)


def _spans(centres: np.ndarray, reach: np.ndarray, size: int) -> list[slice]:
    """Of every second row or column of a picture of this size, those that are in reach of each pair of centres."""
    near = np.nan_to_num(np.stack((centres - reach, centres + reach)), nan=0.0).clip(-2.0, 2.0 * size).astype(int) // 2
    low, high = np.maximum(near[0].min(axis=1), 0), np.minimum(near[1].max(axis=1) + 1, (size + 1) // 2)
    return [slice(first, max(first, last)) for first, last in zip(low.tolist(), high.tolist())]

"""Grasps; candidates for them: `planweave.bodies.arm.grasp_sampling`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array
from planweave.robots import load_robot
from planweave.robots.description import GripperDescription

LOW = 0.035
"""What the fingers are around stands on something, or nearly so, where their tips are this low above the table, m."""
NOTHING = 0.0013
"""Fingers that are nearer to each other hold nothing, m; how thin walls are that lie down between them is not known."""
_SAME, _LEVEL = 0.015, 0.004  # grasps that are alike are at most so far apart, level and in height, m
_PARALLEL = math.sqrt(0.95)  # cosine between their closing directions
_ABOVE = 0.004  # of the finger tips above what the object stands on, m
_TALL = 0.025  # a grasp stays at least this high on tall objects, else they tip over


@dataclass(frozen=True, slots=True, eq=False)
class Grasp:
    """A grasp: 4x4 pose of the tool centre point in the base frame, opening before and after it, cost.

    least: the fingers hold nothing where they come nearer to each other than this. Metres.
    """

    pose: Array
    opening: float
    width: float
    cost: float
    least: float

    @property
    def point(self) -> tuple[float, float, float]:
        """The tool centre point."""
        x, y, z = self.pose[:3, 3].tolist()
        return x, y, z

    def is_like(self, other: Grasp) -> bool:
        """Whether it would fail where the other failed: the same height and closing direction (or its opposite), and
        the same place within a finger's breadth.
        """
        parallel = abs(float(self.pose[:3, 1] @ other.pose[:3, 1])) > _PARALLEL
        (x, y, z), (other_x, other_y, other_z) = self.point, other.point
        return parallel and abs(z - other_z) < _LEVEL and math.hypot(x - other_x, y - other_y) < _SAME


def grasp_height(thing: Thing, gripper: GripperDescription | None = None) -> float:
    """Height of the tool centre point: near the object's middle, on tall objects as low as the palm allows."""
    gripper = gripper or load_robot().gripper
    middle = thing.bottom + thing.size[2] / 2
    lowest = thing.bottom + gripper.tip + _ABOVE
    if thing.size[2] > 2 * _TALL:
        lowest = max(lowest, thing.bottom + _TALL)
    return max(lowest, min(middle, thing.top - 0.012), thing.top - gripper.reach_down)

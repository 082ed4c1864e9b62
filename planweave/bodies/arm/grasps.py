"""Grasps, and top-down candidates from an object's outline, height and class, scored against its neighbours.

Candidates for things whose parts are known: `planweave.bodies.arm.grasp_sampling`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array
from planweave.robots import load_robot
from planweave.robots.description import GripperDescription

LOW = 0.035
"""What the fingers are around stands on something, or nearly so, where their tips are this low above the table, m."""
_SAME, _LEVEL = 0.015, 0.004  # grasps that are alike are at most so far apart, level and in height, m
_PARALLEL = math.sqrt(0.95)  # cosine between their closing directions
_ABOVE = 0.004  # of the finger tips above what the object stands on, m
_CLEARANCE = 0.006  # both sides together, between the object and the open fingers
_ROUND_TURNS = 5
_NARROWER = ((0.02, 0.2), (0.01, 0.4))  # openings beyond the object's width, and what they cost more
_ROOM = 0.02  # a finger nearer than this to a neighbour makes a grasp less welcome, m
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

    @classmethod
    def downwards(cls, at: tuple[float, float, float], yaw: float, opening: float, width: float, cost: float) -> Grasp:
        """A top-down grasp; `yaw` rotates the closing direction from the base's y axis."""
        return cls(downwards(*at, yaw), opening, width, cost, 0.4 * width)

    @property
    def point(self) -> tuple[float, float, float]:
        """The tool centre point."""
        x, y, z = self.pose[:3, 3].tolist()
        return x, y, z

    @property
    def yaw(self) -> float:
        """Rotation about the vertical of the axis across the closing direction, rad."""
        return math.atan2(self.pose[1, 0], self.pose[0, 0])

    def is_like(self, other: Grasp) -> bool:
        """Whether it would fail where the other failed: the same height and closing direction (or its opposite), and
        the same place within a finger's breadth.
        """
        parallel = abs(float(self.pose[:3, 1] @ other.pose[:3, 1])) > _PARALLEL
        (x, y, z), (other_x, other_y, other_z) = self.point, other.point
        return parallel and abs(z - other_z) < _LEVEL and math.hypot(x - other_x, y - other_y) < _SAME


def candidates(thing: Thing, others: Iterable[Thing] = (), gripper: GripperDescription | None = None) -> list[Grasp]:
    """Grasps of an object, best first; empty where it is too wide for the gripper.

    gripper: by default that of the default robot. others: surrounding objects; a grasp whose fingers come close to
    one costs up to 1 more. Both orientations of each closing direction are returned: the hand is symmetric, the wrist's
    joint limits are not.
    """
    gripper = gripper or load_robot().gripper
    widest = gripper.opening
    height = grasp_height(thing, gripper)
    higher = min(thing.top - 0.010, height + 0.010)
    near = [o for o in others if o.name != thing.name and o.top > height - gripper.tip and thing.gap(o) < 0.1]
    found = []
    x, y, _ = thing.position
    for yaw, width, cost in _closings(thing):
        if width + _CLEARANCE > widest:
            continue
        for opening, extra in dict.fromkeys(((widest, 0.0), *((min(width + w, widest), e) for w, e in _NARROWER))):
            extra += max(0.0, 1.0 - finger_room(thing, yaw, opening, near, gripper) / _ROOM)
            for turn in (yaw, yaw + math.pi):
                turn = math.remainder(turn, 2 * math.pi)
                found.append(Grasp.downwards((x, y, height), turn, opening, width, cost + extra))
                if higher > height + 0.004:  # keeps the palm above walls beside flat objects
                    found.append(Grasp.downwards((x, y, higher), turn, opening, width, cost + extra + 0.5))
    return sorted(found, key=lambda g: g.cost)


def finger_room(
    thing: Thing, yaw: float, opening: float, others: Iterable[Thing], gripper: GripperDescription
) -> float:
    """Clearance between the open fingers and the nearest other object in top view; 0 where they touch, m."""
    closing, across = (-math.sin(yaw), math.cos(yaw)), (math.cos(yaw), math.sin(yaw))
    (thickness, half_width), nearest = gripper.finger_size, math.inf
    for side in (-1, 1):
        for out in (opening / 2, opening / 2 + thickness):
            for sideways in (-half_width, 0.0, half_width):
                x, y = (p + side * out * c + sideways * a for p, c, a in zip(thing.position[:2], closing, across))
                nearest = min([nearest, *(o.distance(x, y) for o in others)])
    return nearest


def grasp_height(thing: Thing, gripper: GripperDescription | None = None) -> float:
    """Height of the tool centre point: near the object's middle, on tall objects as low as the palm allows."""
    gripper = gripper or load_robot().gripper
    middle = thing.bottom + thing.size[2] / 2
    lowest = thing.bottom + gripper.tip + _ABOVE
    if thing.size[2] > 2 * _TALL:
        lowest = max(lowest, thing.bottom + _TALL)
    return max(lowest, min(middle, thing.top - 0.012), thing.top - gripper.reach_down)


def narrowest(thing: Thing) -> float:
    """The smallest extent that the gripper has to span, m."""
    return min(thing.size[0], thing.size[1])


def _closings(thing: Thing) -> list[tuple[float, float, float]]:
    """Closing directions as (rotation from the base's y axis, width, cost)."""
    along_x, along_y, _ = thing.size
    if thing.is_round:
        return [(math.pi * k / _ROUND_TURNS, max(along_x, along_y), 0.0) for k in range(_ROUND_TURNS)]
    found = [(thing.yaw, along_y, 0.0), (thing.yaw + math.pi / 2, along_x, 0.0)]
    if abs(along_x - along_y) > 0.25 * min(along_x, along_y):
        # Long objects are taken across: a grip at their ends is weak.
        long_first = along_x > along_y
        found = [
            (yaw, width, 0.0 if (index == 0) == long_first else 1.0) for index, (yaw, width, _) in enumerate(found)
        ]
    return found

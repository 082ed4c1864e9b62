"""The object in the gripper, and its pose there."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from planweave.bodies.arm.poses import placed, upright
from planweave.bodies.arm.scene_object import Thing
from planweave.geometry.arrays import Array


@dataclass(frozen=True)
class Held:
    """The object in the gripper: its appearance, its full pose in the tool's frame (4x4), and the opening (m).

    least: an opening at which it cannot be held any more; opening: at which the fingers came around it. m; 0 where that
    is not known.
    """

    thing: Thing
    thing_to_tcp: Array
    width: float
    least: float = 0.0
    opening: float = 0.0

    def seen_from(self, tcp_to_base: Array) -> Thing:
        """The object at its pose in the gripper, tilted as it is there."""
        return placed(replace(self.thing, visible=False), tcp_to_base @ self.thing_to_tcp)


def between_fingers(thing: Thing, tcp_to_base: Array, width: float) -> Held:
    """Pose of an object in a gripper that was not seen to grasp it: parallel to the pads, centred between them.

    The fingers, `width` m apart, span the side that fits better.
    """
    yaw = math.atan2(-tcp_to_base[0, 1], tcp_to_base[1, 1])
    if not thing.is_round and abs(thing.size[0] - width) < abs(thing.size[1] - width):
        yaw += math.pi / 2
    pose = np.linalg.inv(tcp_to_base) @ upright(*thing.position, yaw)
    pose[1, 3] = 0.0
    return Held(replace(thing, yaw=yaw), pose, width)

"""What the arm knows of one object on the table: an upright box or cylinder with a name.

All lengths in metres, angles in rad, poses in the robot's base frame ``fr3_link0`` (z up, z = 0 is the table top).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planweave.upright import Upright

ROUND_CLASSES = frozenset(
    {"cylinder", "can", "bottle", "bowl", "plate", "saucer", "apple", "orange", "peach", "plum", "cup"}
)
"""Classes with a round outline when seen from above, whatever shape the camera reports."""


@dataclass(frozen=True, slots=True)
class Thing(Upright):
    """An object as seen from above: its box stands on its own base, turned by `yaw` about the vertical.

    position is the centre (x, y, z), size the extent along the own axes (x, y, z). visible: seen in the newest
    image.
    """

    name: str
    type: str
    class_name: str
    position: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float = 0.0
    colour: str = ""
    shape: str = ""
    visible: bool = True

    @property
    def is_round(self) -> bool:
        """Whether the outline seen from above is a circle (extents within 20 % and a round shape or class)."""
        x, y, _ = self.size
        if max(x, y) > 1.2 * min(x, y):
            return False
        return self.shape == "cylinder" or self.class_name in ROUND_CLASSES

    @property
    def radius(self) -> float:
        """Radius of the circle around the outline seen from above."""
        x, y, _ = self.size
        return max(x, y) / 2 if self.is_round else math.hypot(x, y) / 2

    def distance(self, x: float, y: float) -> float:
        """Distance of a point of the table from the outline; 0 inside."""
        u, v = self.local(x, y)
        if self.is_round:
            return max(0.0, math.hypot(u, v) - self.radius)
        return math.hypot(max(abs(u) - self.size[0] / 2, 0.0), max(abs(v) - self.size[1] / 2, 0.0))

    def support(self, x: float, y: float) -> float:
        """How far the outline reaches from the centre in the direction of a unit vector (x, y)."""
        if self.is_round:
            return self.radius
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return abs(c * x + s * y) * self.size[0] / 2 + abs(c * y - s * x) * self.size[1] / 2

    def gap(self, other: Thing) -> float:
        """Room between the outlines of two objects seen from above; negative where they overlap.

        It is the widest gap seen along the axes of both and the line between their centres: exact for outlines that
        face each other with a side, at most a few millimetres too small where corner faces corner.
        """
        dx, dy = self.position[0] - other.position[0], self.position[1] - other.position[1]
        apart = math.hypot(dx, dy)
        axes = [(dx / apart, dy / apart)] if apart else [(1.0, 0.0)]
        for thing in (self, other):
            if not thing.is_round:
                c, s = math.cos(thing.yaw), math.sin(thing.yaw)
                axes += [(c, s), (-s, c)]
        return max(abs(dx * x + dy * y) - self.support(x, y) - other.support(x, y) for x, y in axes)


def yaw_of(quaternion: tuple[float, float, float, float]) -> float:
    """Rotation about the vertical of a unit quaternion (x, y, z, w), in (-pi, pi]."""
    x, y, z, w = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def quaternion_of(yaw: float) -> tuple[float, float, float, float]:
    """The unit quaternion (x, y, z, w) of a rotation about the vertical."""
    return 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)

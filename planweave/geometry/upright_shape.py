"""Geometry of objects on the table: upright boxes and cylinders in top view."""

from __future__ import annotations

import math


class Upright:
    """A box or cylinder rotated by `yaw` (rad) about the vertical. Lengths in metres, in the robot's base frame.

    position: centre; size: extents along its own axes; is_round: whether its outline is a circle.
    """

    __slots__ = ()
    position: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float

    @property
    def is_round(self) -> bool:
        """Whether its outline seen from above is a circle."""
        raise NotImplementedError

    @property
    def top(self) -> float:
        """Height of its upper side."""
        return self.position[2] + self.size[2] / 2

    @property
    def bottom(self) -> float:
        """Height of its lower side."""
        return self.position[2] - self.size[2] / 2

    def local(self, x: float, y: float) -> tuple[float, float]:
        """A point of the table in the object's frame."""
        dx, dy = x - self.position[0], y - self.position[1]
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return c * dx + s * dy, c * dy - s * dx

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point of the table lies inside the outline, dilated by `slack`."""
        u, v = self.local(x, y)
        if self.is_round:
            return math.hypot(u, v) <= max(self.size[:2]) / 2 + slack
        return abs(u) <= self.size[0] / 2 + slack and abs(v) <= self.size[1] / 2 + slack

    def support(self, x: float, y: float) -> float:
        """Support function of the outline in the direction of a unit vector (x, y)."""
        if self.is_round:
            return max(self.size[:2]) / 2
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return abs(c * x + s * y) * self.size[0] / 2 + abs(c * y - s * x) * self.size[1] / 2

    def gap(self, other: Upright) -> float:
        """Distance between the outlines of two objects in top view; negative where they overlap.

        Computed as the largest separation along the axes of both and the line between their centres: exact where sides
        face each other, a few millimetres too small where corners do.
        """
        dx, dy = self.position[0] - other.position[0], self.position[1] - other.position[1]
        apart = math.hypot(dx, dy)
        axes = [(dx / apart, dy / apart)] if apart else [(1.0, 0.0)]
        for thing in (self, other):
            if not thing.is_round:
                c, s = math.cos(thing.yaw), math.sin(thing.yaw)
                axes += [(c, s), (-s, c)]
        return max(abs(dx * x + dy * y) - self.support(x, y) - other.support(x, y) for x, y in axes)


def is_round(round_class: bool, shape: str, size: tuple[float, float, float]) -> bool:
    """Whether an outline in top view is a circle: extents within 20 % and a round shape or class.

    round_class: see `planweave.core.symbolic.domain.Domain.is_round_class`.
    """
    x, y, _ = size
    if max(x, y) > 1.2 * min(x, y):
        return False
    return round_class or shape == "cylinder"


_UPRIGHT = math.cos(0.02)  # rad of tilt


def is_upright(quaternion: tuple[float, float, float, float]) -> bool:
    """Whether a unit quaternion (x, y, z, w) keeps the vertical, to about a degree."""
    x, y, _, _ = quaternion
    return 1 - 2 * (x * x + y * y) >= _UPRIGHT


def yaw_of(quaternion: tuple[float, float, float, float]) -> float:
    """Rotation about the vertical of a unit quaternion (x, y, z, w), in (-pi, pi]."""
    x, y, z, w = quaternion
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def quaternion_of(yaw: float) -> tuple[float, float, float, float]:
    """The unit quaternion (x, y, z, w) of a rotation about the vertical."""
    return 0.0, 0.0, math.sin(yaw / 2), math.cos(yaw / 2)

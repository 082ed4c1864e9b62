"""The geometry that all nodes share of things that stand on the table: upright boxes and cylinders seen from above."""

from __future__ import annotations

import math


class Upright:
    """A box or cylinder turned by `yaw` (rad) about the vertical. Lengths in metres, in the robot's base frame.

    position: its centre; size: extents along its own axes; is_round: whether its outline is a circle.
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
        """A point of the table in its own axes, from its centre."""
        dx, dy = x - self.position[0], y - self.position[1]
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return c * dx + s * dy, c * dy - s * dx

    def world(self, u: float, v: float) -> tuple[float, float]:
        """A point in its own axes as a point of the table."""
        c, s = math.cos(self.yaw), math.sin(self.yaw)
        return self.position[0] + c * u - s * v, self.position[1] + s * u + c * v

    def covers(self, x: float, y: float, slack: float = 0.0) -> bool:
        """Whether a point of the table lies inside its outline, widened by `slack`."""
        u, v = self.local(x, y)
        if self.is_round:
            return math.hypot(u, v) <= max(self.size[:2]) / 2 + slack
        return abs(u) <= self.size[0] / 2 + slack and abs(v) <= self.size[1] / 2 + slack

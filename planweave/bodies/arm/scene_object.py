"""An object on the table, as the arm knows it: an upright box or cylinder with a name.

All lengths in metres, angles in rad, poses in the robot's base frame (z up, z = 0 is the table top).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from planweave.core.upright_shape import Upright, is_round


@dataclass(frozen=True, slots=True)
class Thing(Upright):
    """An object: its bounding box, rotated by `yaw` about the vertical.

    position: centre (x, y, z); size: extents along its own axes (x, y, z). visible: observed in the newest image;
    inferred: not observed in it, but the object on top of it is, at its height. round_class: whether the domain lists
    its class as round. orientation: unit quaternion (x, y, z, w) of a tilted object, as in a tilted hand; yaw is then
    that of its x axis. None: upright.
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
    inferred: bool = False
    round_class: bool = False
    orientation: tuple[float, float, float, float] | None = None

    @property
    def is_round(self) -> bool:
        """Whether the outline seen from above is a circle (extents within 20 % and a round shape or class)."""
        return is_round(self.round_class, self.shape, self.size)

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

"""An object around the arm, as the arm knows it: an upright box or cylinder with a name, or parts of its own.

All lengths in metres, angles in rad, poses in the robot's base frame (z up).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from planweave.bodies.arm.solids import Solid, block
from planweave.geometry.joints import frame
from planweave.geometry.upright_shape import Upright, is_round

KINDS = ("item", "container", "surface", "fixture", "part")
"""Types that the arm tells apart; what is below one of them in a domain's hierarchy is handled as it is."""


@dataclass(frozen=True, slots=True)
class Region:
    """A box on or in which things are put: centre, extents along its own axes, turned by `yaw` about the vertical."""

    centre: tuple[float, float, float]
    size: tuple[float, float, float]
    yaw: float = 0.0


@dataclass(frozen=True, slots=True)
class Thing(Upright):
    """An object: its bounding box, rotated by `yaw` about the vertical.

    type: what the arm takes it for, one of KINDS; subtype: its own type in the domain, where that is below it.
    position: centre (x, y, z); size: extents along its own axes (x, y, z). visible: observed in the newest image;
    inferred: not observed in it, but the object on top of it is, at its height. round_class: whether the domain lists
    its class as round. orientation: unit quaternion (x, y, z, w) of a tilted object, as in a tilted hand; yaw is then
    that of its x axis. None: upright. parts: of what it consists, in its own frame, where that is known (a room, as in
    a drawer, consists of none); None: of its box or cylinder, a container of walls and a floor. regions: where things
    are put on or in it, where that is not its middle. below, state: see planweave.geometry.seen_object.
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
    parts: Solid | None = None
    regions: tuple[Region, ...] = ()
    below: str | None = None
    state: str = ""
    subtype: str = ""

    @property
    def domain_type(self) -> str:
        """Its type in the domain, as the world tells it."""
        return self.subtype or self.type

    @property
    def solid(self) -> Solid:
        """Its parts, in its own frame."""
        return block(self.size, self.is_round, self.type == "container") if self.parts is None else self.parts

    @property
    def top(self) -> float:
        """Height of its highest point."""
        return self.position[2] + self._half_height

    @property
    def bottom(self) -> float:
        """Height of its lowest point."""
        return self.position[2] - self._half_height

    @property
    def _half_height(self) -> float:
        if self.orientation is None:
            return self.size[2] / 2
        x, y, _, _ = self.orientation
        cosine = 1 - 2 * (x * x + y * y)
        return (abs(cosine) * self.size[2] + math.sqrt(max(0.0, 1 - cosine**2)) * max(self.size[:2])) / 2

    @property
    def is_round(self) -> bool:
        """Whether the outline seen from above is a circle (extents within 20 % and a round shape or class)."""
        return is_round(self.round_class, self.shape, self.size)

    @property
    def radius(self) -> float:
        """Radius of the circle around the outline seen from above."""
        x, y, _ = self.size
        return max(x, y) / 2 if self.is_round else math.hypot(x, y) / 2


def thing_of_solid(
    name: str,
    type: str,
    class_name: str,
    solid: Solid,
    centre: tuple[float, float] | None = None,
    regions: tuple[Region, ...] = (),
    round_class: bool = False,
) -> Thing:
    """An object of parts in the base frame, as it is seen. centre: by default that of its shape."""
    low, high = solid.bounds
    x, y = centre or solid.centre
    z = float(low[2] + high[2]) / 2
    size = (float(high[0] - low[0]), float(high[1] - low[1]), float(high[2] - low[2]))
    own = solid.moved(frame(np.eye(3), (-x, -y, -z)))
    return Thing(name, type, class_name, (x, y, z), size, round_class=round_class, parts=own, regions=regions)


def room(name: str, type: str, class_name: str, region: Region) -> Thing:
    """A part of a thing that is only room, such as a drawer's inside."""
    return Thing(name, type, class_name, region.centre, region.size, region.yaw, parts=Solid(()), regions=(region,))

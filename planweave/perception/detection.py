"""What a detector is given of one frame, and what it says about one object in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from planweave.core.upright_shape import Upright
from planweave.perception.proposals import Region

RECEPTACLES = frozenset({"tray", "box", "bowl", "plate", "bin", "basket", "saucer"})
"""What things are put in or on; a class of several words (salad_bowl) counts by its last one."""


def is_receptacle(class_name: str) -> bool:
    """Whether things of this class are there to put others in or on."""
    return class_name.rsplit("_", 1)[-1] in RECEPTACLES


@dataclass(frozen=True)
class Detection(Upright):
    """One object in one frame, in the robot's base frame with z = 0 on the table; metres and radians.

    class_name, colour and shape as in DetectedObject.msg. position: centre; yaw of the object's own x axis; symmetry:
    the turn after which it looks the same (0 for round things). floor: height above the table on which things inside
    or on it stand. rgb: its colour, 0 to 255. cut: partly unseen, so that class and pose are not to be relied on.
    inferred: not measured itself, but must be there as something stands on it.
    """

    class_name: str
    colour: str
    shape: str
    confidence: float
    position: tuple[float, float, float]
    yaw: float
    symmetry: float
    size: tuple[float, float, float]
    floor: float
    rgb: tuple[float, float, float]
    cut: bool = False
    inferred: bool = False

    @property
    def look(self) -> tuple[str, str]:
        """What tells it from other things: class and colour."""
        return self.class_name, self.colour

    @property
    def is_round(self) -> bool:
        """Whether its outline is a circle."""
        return self.symmetry == 0.0


def footprint_points(thing: Detection, shrink: float = 0.7) -> np.ndarray:
    """A 5 x 5 grid of places (25, 2) on the middle part of a thing's outline."""
    half = np.linspace(-0.5, 0.5, 5) * shrink
    u, v = np.meshgrid(half * thing.size[0], half * thing.size[1])
    c, s = math.cos(thing.yaw), math.sin(thing.yaw)
    return np.column_stack(
        (thing.position[0] + c * u.ravel() - s * v.ravel(), thing.position[1] + s * u.ravel() + c * v.ravel())
    )


Measured: TypeAlias = tuple[Detection, Region | None]
"""An object and its pixels; None where it is inferred (a cube hidden under another)."""


@dataclass(frozen=True)
class View:
    """What a detector gets of one frame.

    rgb: (h, w, 3) uint8. measured: every object with pose and size from depth, named by colour and outline. names:
    noun phrases to look for, empty where nobody asked. pixel: side of a pixel on the table, metres.
    """

    rgb: np.ndarray
    measured: Sequence[Measured]
    names: Sequence[str]
    pixel: float

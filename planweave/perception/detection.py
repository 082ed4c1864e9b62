"""Input and output of detectors: a view of one frame, and the detections in it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from planweave.geometry.upright_shape import Upright
from planweave.perception.colours import colour_word, patch_colour
from planweave.perception.geometry import Outline, rotated
from planweave.perception.object_classes import UNKNOWN, UNSURE
from planweave.perception.regions import PixelRegion

if TYPE_CHECKING:
    from planweave.perception.seen_things import SeenThing

_TURNS = 32  # points around an object


@dataclass(frozen=True)
class Detection(Upright):
    """One object in one frame, in the robot's base frame with z = 0 on the table; metres and radians.

    class_name, colour and shape as in DetectedObject.msg. position: centre; yaw of the object's own x axis; symmetry:
    period of its rotational symmetry (0 for round objects). floor: height above the table on which objects in or on it
    rest. rgb: its colour, 0 to 255; side: that of its sides, None where no camera at the side has shown them. cut:
    partly out of view, so that class and pose are unreliable; beyond: cut by the image's border or the limits of the
    searched area, not by what is before it. inferred: not observed itself, but required as the support of an observed
    object. receptacle: whether it is there to put others in or on; the pipeline sets it by the domain's classes. parts:
    low and high corners of boxes that it consists of, from the middle of its bottom, along its own axes; empty: of one,
    or of a cylinder, or nobody asks. seen: its points, where it is known by them; known: id of the track that was found
    to be here by its points, 0 where that is still to be told. hollow: things may be within its outline. unnamed: its
    class is still to be told, so that it says nothing against another one.
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
    beyond: bool = False
    inferred: bool = False
    receptacle: bool = False
    parts: tuple[tuple[float, ...], ...] = ()
    seen: SeenThing | None = None
    known: int = 0
    hollow: bool = False
    side: tuple[float, float, float] | None = None
    unnamed: bool = False

    @property
    def look(self) -> tuple[str, str]:
        """Appearance: class and colour."""
        return self.class_name, self.colour

    @property
    def is_round(self) -> bool:
        """Whether its outline is a circle."""
        return self.symmetry == 0.0


def footprint_points(thing: Detection, shrink: float = 0.7) -> np.ndarray:
    """A 5 x 5 grid of points (25, 2) on the central part of an object's outline."""
    half = np.linspace(-0.5, 0.5, 5) * shrink
    u, v = np.meshgrid(half * thing.size[0], half * thing.size[1])
    return rotated(np.column_stack((u.ravel(), v.ravel())), thing.yaw) + thing.position[:2]


def outline_points(thing: Detection, shrink: float = 1.0) -> np.ndarray:
    """Points (n, 2) around an object, where its walls are."""
    turns, half = np.linspace(-math.pi, math.pi, _TURNS, endpoint=False), np.array(thing.size[:2]) / 2
    way = np.column_stack((np.cos(turns), np.sin(turns)))
    reach = half[0] if thing.is_round else (half / np.maximum(np.abs(way), 1e-9)).min(axis=1)
    return rotated(way * shrink * np.reshape(reach, (-1, 1)), thing.yaw) + thing.position[:2]


def unknown_thing(shape: Outline, bottom: float, top: float, colours: np.ndarray) -> Detection:
    """Unknown thing, as far as it is seen: an outline between two heights, m; colours: (n, 3) of its pixels."""
    (x, y), rgb = shape.centre, patch_colour(colours)
    size = (shape.long, shape.short, top - bottom)
    of, place = (UNKNOWN, colour_word(*rgb), "irregular", UNSURE), (x, y, (bottom + top) / 2)
    return Detection(*of, place, shape.yaw, math.pi, size, top, rgb, cut=True, beyond=True)


Measured: TypeAlias = tuple[Detection, PixelRegion | None]
"""An object and its pixels; None where it is inferred (a cube hidden under another)."""


@dataclass(frozen=True)
class View:
    """Input of a detector for one frame.

    rgb: (h, w, 3) uint8. measured: every object with pose and size from depth, named by colour and outline. names: noun
    phrases to detect, empty for none. pixel: side of a pixel on the table, metres.
    """

    rgb: np.ndarray
    measured: Sequence[Measured]
    names: Sequence[str]
    pixel: float

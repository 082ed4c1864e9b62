"""Objects as shapes for a 3D viewer, in the robot's base frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from planweave.perception.perceiver import NamedObject

_TEXT_HEIGHT = 0.025  # m
_GAP = 0.02  # m between an object's top and its label


@dataclass(frozen=True)
class MarkerShape:
    """One shape: kind "box", "cylinder" or "text"; id is the object's.

    position of the centre and size in metres; yaw in rad; colour red, green, blue, alpha from 0 to 1.
    """

    kind: str
    id: int
    position: tuple[float, float, float]
    yaw: float
    size: tuple[float, float, float]
    colour: tuple[float, float, float, float]
    text: str = ""


def shapes(objects: Sequence[NamedObject]) -> tuple[MarkerShape, ...]:
    """A body and a label for every object; objects out of view are faint, receptacles half transparent.

    Rounded to millimetres and hundredths, so that a static scene gives equal shapes in every frame.
    """
    result = []
    for seen in objects:
        thing = seen.thing
        x, y, z = (round(v, 3) for v in thing.position)
        alpha = 0.3 if not seen.visible else 0.5 if thing.receptacle else 0.9
        r, g, b = (round(v / 255.0, 2) for v in thing.rgb)
        w, d, h = (max(round(v, 3), 0.001) for v in thing.size)
        kind, yaw = ("cylinder", 0.0) if thing.is_round else ("box", round(thing.yaw, 2))
        result.append(MarkerShape(kind, seen.id, (x, y, z), yaw, (w, d, h), (r, g, b, alpha)))
        if not seen.name:
            continue
        above = (x, y, round(thing.top + _GAP, 3))
        white = (1.0, 1.0, 1.0, 1.0 if seen.visible else 0.5)
        result.append(MarkerShape("text", seen.id, above, 0.0, (0.0, 0.0, _TEXT_HEIGHT), white, seen.name))
    return tuple(result)

"""Objects, and furniture as objects, as shapes for a 3D viewer, in the robot's base frame."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.perception.detection import Detection
from planweave.perception.perceiver import NamedObject

_TEXT_HEIGHT = 0.025  # m
_GAP = 0.02  # m between an object's top and its label
_BODY, _PART = (150.0, 130.0, 110.0), (90.0, 160.0, 210.0)  # red, green, blue of what stands still, and of what moves
_MOST = 100  # boxes of one piece of furniture


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


def as_objects(fixtures: Sequence[SeenFixture], first: int) -> list[NamedObject]:
    """Boxes of furniture as objects, with ids from `first` on; a moving part says how far it is open."""
    return [
        NamedObject(first + _MOST * k + number, label, _detection(box, rgb), visible)
        for k, fixture in enumerate(fixtures)
        for number, (label, box, rgb, visible) in enumerate(_boxes(fixture))
    ]


def _boxes(fixture: SeenFixture) -> Iterator[tuple[str, OrientedBox, tuple[float, float, float], bool]]:
    for box in fixture.bodies:
        yield fixture.name, box, _BODY, fixture.visible
    for joint in fixture.joints:
        for k, box in enumerate(joint.boxes):
            yield ("" if k else _label(joint)), box, _PART, joint.visible


def _label(joint: SeenJoint) -> str:
    value = f"{joint.value:.2f} m" if joint.kind == "slide" else f"{math.degrees(joint.value):.0f} deg"
    return f"{joint.name} {value}"


def _detection(box: OrientedBox, rgb: tuple[float, float, float]) -> Detection:
    x, y, z = box.centre.tolist()
    a, b, c = (2 * box.half).tolist()
    yaw = math.atan2(box.axes[1, 0], box.axes[0, 0])
    return Detection("", "", "box", 0.9, (x, y, z), yaw, math.pi, (a, b, c), z + c / 2, rgb, receptacle=True)

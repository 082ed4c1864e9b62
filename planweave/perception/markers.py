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
    """One shape: kind "box", "cylinder" or "text"; id is the object's; part: number of a box of those it consists of.

    position of the centre and size in metres; yaw in rad; colour red, green, blue, alpha from 0 to 1.
    """

    kind: str
    id: int
    position: tuple[float, float, float]
    yaw: float
    size: tuple[float, float, float]
    colour: tuple[float, float, float, float]
    text: str = ""
    part: int = 0

    @property
    def namespace(self) -> str:
        """In which no other shape has its id."""
        return "labels" if self.kind == "text" else f"part {self.part}" if self.part else "objects"


def shapes(objects: Sequence[NamedObject]) -> tuple[MarkerShape, ...]:
    """A body, or the boxes that make it up, and a label for every object; those out of view are faint, receptacles half
    transparent.

    Rounded to millimetres and hundredths, so that a static scene gives equal shapes in every frame.
    """
    result = []
    for seen in objects:
        thing = seen.thing
        alpha = 0.3 if not seen.visible else 0.5 if thing.receptacle else 0.9
        r, g, b = (round(v / 255.0, 2) for v in thing.rgb)
        parts = [_detection(box, thing.rgb) for box in seen.seen().parts]
        for k, each in enumerate(parts or [thing]):
            kind, yaw = ("cylinder", 0.0) if each.is_round else ("box", round(each.yaw, 2))
            w, d, h = (max(round(v, 3), 0.001) for v in each.size)
            x, y, z = (round(v, 3) for v in each.position)
            result.append(MarkerShape(kind, seen.id, (x, y, z), yaw, (w, d, h), (r, g, b, alpha), part=k))
        if not seen.name:
            continue
        x, y, _ = (round(v, 3) for v in thing.position)
        above = (x, y, round(thing.top + _GAP, 3))
        white = (1.0, 1.0, 1.0, 1.0 if seen.visible else 0.5)
        result.append(MarkerShape("text", seen.id, above, 0.0, (0.0, 0.0, _TEXT_HEIGHT), white, seen.name))
    return tuple(result)


def as_objects(fixtures: Sequence[SeenFixture], first: int) -> list[NamedObject]:
    """Boxes of furniture as objects, with ids from `first` on; a moving part says how far it is open."""
    return [
        NamedObject(first + _MOST * k + number, label, _detection(box, rgb), visible, boxes=parts)
        for k, fixture in enumerate(fixtures)
        for number, (label, box, rgb, visible, parts) in enumerate(_boxes(fixture))
    ]


_Box = tuple[str, OrientedBox, tuple[float, float, float], bool, tuple[OrientedBox, ...]]


def _boxes(fixture: SeenFixture) -> Iterator[_Box]:
    for k, box in enumerate(fixture.bodies):
        yield fixture.name, box, _BODY, fixture.visible, () if k else fixture.shape
    for joint in fixture.joints:
        for k, box in enumerate(joint.boxes):
            yield ("" if k else _label(joint)), box, _PART, joint.visible, ()


def _label(joint: SeenJoint) -> str:
    value = f"{joint.value:.2f} m" if joint.kind == "slide" else f"{math.degrees(joint.value):.0f} deg"
    return f"{joint.name} {value}"


def _detection(box: OrientedBox, rgb: tuple[float, float, float]) -> Detection:
    x, y, z = box.centre.tolist()
    a, b, c = (2 * box.half).tolist()
    yaw = math.atan2(box.axes[1, 0], box.axes[0, 0])
    return Detection("", "", "box", 0.9, (x, y, z), yaw, math.pi, (a, b, c), z + c / 2, rgb, receptacle=True)

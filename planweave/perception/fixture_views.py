"""Furniture for viewers: its body and the parts that move as boxes with labels, like other objects."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.perception.detection import Detection
from planweave.perception.perceiver import NamedObject

_BODY, _PART = (150.0, 130.0, 110.0), (90.0, 160.0, 210.0)  # red, green, blue of what stands still, and of what moves
_MOST = 100  # boxes of one piece of furniture


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

"""Whether a stove is on, by the light of its burner, and how long that is known.

Metres, in the robot's base frame; colours are red, green, blue from 0 to 255.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.geometry.joints import SeenFixture, SeenJoint
from planweave.perception.depth_views import DepthView

KNOB = "knob"
"""Name of the joint of furniture with one knob; of several nobody knows what they turn on."""
_EDGE, _LEVEL, _AROUND = 0.012, 0.008, 0.01  # m: from the edges of a top, above and below it, and around its knob
_LEAST = 0.0015  # m² of a burner that are seen, at least
_BRIGHT, _WARM = 230, 80  # least red of what glows, and by how much less blue it is
_TURNED = 0.12  # rad
_DARK = 60  # what a burner that is off does not exceed


@dataclass(frozen=True)
class TurnedOn:
    """Last seen state of a burner, and how the knob was turned then, rad in half a turn; covered: it was on, and is
    not seen to be, though the knob was not turned.
    """

    state: str = ""
    value: float = 0.0
    covered: bool = False

    def now(self, knob: SeenJoint, shown: str) -> TurnedOn:
        """The same by a newer look; shown: "on", "off", or "" where it did not tell. What a knob has turned on that is
        seen not to be turned stays so; where a look says that it is off, nobody knows.
        """
        still = knob.visible and not turned(knob.value, self.value)
        if still and shown == "off" and (self.state == "on" or self.covered):
            return TurnedOn("", knob.value, True)  # something dark covers the burner, or looks like one
        return TurnedOn(shown, knob.value) if shown else self if still else TurnedOn()


def turned(now: float, before: float) -> bool:
    """Whether a knob has been turned, and not just seen a little differently; rad in half a turn."""
    return abs(math.remainder(now - before, math.pi)) > _TURNED


def knob_of(fixture: SeenFixture) -> SeenJoint | None:
    """The only knob of furniture."""
    return next((joint for joint in fixture.joints if joint.name == KNOB), None)


def with_state(fixture: SeenFixture, state: str) -> SeenFixture:
    """The same with the state of what its knob turns on."""
    joints = tuple(replace(joint, state=state) if joint.name == KNOB else joint for joint in fixture.joints)
    return replace(fixture, joints=joints)


def light_of(fixture: SeenFixture, views: Sequence[DepthView]) -> str:
    """Returns "on" where a burner on top of a stove glows, "off" where a dark one is seen, "" where no picture shows
    one.
    """
    knob, found = knob_of(fixture), ""
    for view in views if knob is not None else ():
        mask, rgb = top_of(fixture, view), view.rgb.astype(int)
        red, blue = rgb[..., 0], rgb[..., 2]
        if view.areas[mask & (red >= _BRIGHT) & (red - blue >= _WARM)].sum() >= _LEAST:
            return "on"
        if view.areas[mask & (rgb.max(axis=2) <= _DARK)].sum() >= _LEAST:
            found = "off"
    return found


def top_of(fixture: SeenFixture, view: DepthView) -> np.ndarray:
    """Pixels (h, w) of the level top of furniture, without its knob and what stands there."""
    body, knob = fixture.bodies[0], knob_of(fixture)
    up = body.axes[:, 2]
    found = view.valid & (np.abs(view.points @ up - (body.centre @ up + body.half[2])) < _LEVEL)
    level = view.points[found]
    inside = (np.abs((level - body.centre) @ body.axes[:, :2]) < body.half[:2] - _EDGE).all(axis=1)
    if knob is not None:
        around = np.abs((level - knob.panel.centre) @ knob.panel.axes) < knob.panel.half + _AROUND
        inside &= ~around[:, :2].all(axis=1)
    found[found] = inside
    return np.asarray(found)

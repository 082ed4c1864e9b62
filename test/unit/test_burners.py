"""How long it is known whether a stove is on: while its knob is seen not to be turned."""

import math
from dataclasses import replace

import numpy as np
import pytest

from planweave.geometry.joints import OrientedBox, SeenJoint
from planweave.perception.burners import TurnedOn

BOX = OrientedBox(np.zeros(3), np.eye(3), np.full(3, 0.01))
KNOB = SeenJoint("knob", "hinge", np.array((0.0, 0.0, 1.0)), np.zeros(3), 0.3, math.pi, BOX, BOX)


KNOB_ON = replace(KNOB, value=0.3, visible=True)


@pytest.mark.parametrize(
    ("value", "visible", "shown", "state"),
    [
        (0.3, True, "", "on"),  # a pot stands on the burner
        (0.25, True, "", "on"),
        (1.0, True, "", ""),
        (0.3, False, "", ""),
        (0.3, True, "off", ""),  # something dark lies on it
        (1.0, True, "off", "off"),
        (1.0, True, "on", "on"),
    ],
)
def test_what_is_on_stays_so_while_the_knob_is_seen_not_to_be_turned(value, visible, shown, state):
    knob = replace(KNOB, value=value, visible=visible)
    assert TurnedOn("on", 0.3).now(knob, shown).state == state


def test_what_covers_a_burner_for_long_does_not_turn_it_off():
    covered = TurnedOn("on", 0.3).now(KNOB_ON, "off").now(KNOB_ON, "off")
    assert (covered.state, covered.now(KNOB_ON, "on").state) == ("", "on")
    assert covered.now(replace(KNOB_ON, value=1.0), "off").state == "off"


def test_half_a_turn_of_a_ridge_is_none():
    assert TurnedOn("off", 0.02).now(replace(KNOB, value=math.pi - 0.02), "").state == "off"

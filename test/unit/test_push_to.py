"""Pushes along the ground: where the fingers come down, and what may not be met on the way."""

import numpy as np
import pytest

from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.skills import push_to
from planweave.bodies.arm.solids import Part, Solid


def block(name, x, y, half=(0.03, 0.05, 0.02)):
    pose = np.eye(4)
    pose[:3, 3] = (x, y, half[2])
    return thing_of_solid(name, "item", "box", Solid((Part.box(pose, half),)))


def test_how_far_it_reaches_behind():
    item = block("book", 0.5, 0.1)
    assert push_to._extent_behind(item, np.array([1.0, 0.0]), 0.04) == pytest.approx(0.03, abs=0.002)
    assert push_to._extent_behind(item, np.array([0.0, -1.0]), 0.04) == pytest.approx(0.05, abs=0.002)


def test_a_way_past_something_is_free_and_one_through_it_is_not():
    item, start, end = block("book", 0.5, 0.0), np.array([0.5, 0.0]), np.array([0.5, 0.3])
    assert push_to._pushed(item, start, end, [block("mug", 0.6, 0.15)]) == {"book": pytest.approx(0.3)}
    assert push_to._pushed(item, start, end, [block("mug", 0.5, 0.15)]) is None


def test_what_is_low_goes_along_only_where_it_has_room():
    item, start, end, low = block("book", 0.5, 0.0), np.array([0.5, 0.0]), np.array([0.5, 0.2]), block("bar", 0.5, 0.15)
    taken = push_to._pushed(item, start, end, [], [low])
    assert taken is not None
    assert 0.1 < taken["bar"] < taken["book"] == pytest.approx(0.2)
    assert push_to._pushed(item, start, end, [block("wall", 0.5, 0.35)], [low]) is None
    assert push_to._pushed(item, start, end, [block("wall", 0.5, 0.5)], [low]) == taken

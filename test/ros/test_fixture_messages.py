"""Furniture through messages and back; numbers that cannot be are refused."""

from dataclasses import replace

import numpy as np
import pytest

from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.geometry.seen_object import SeenObject
from planweave_ros.fixture_messages import fixture_from_msg, fixture_to_msg, is_furniture, seen_to_msg

C, S = np.cos(0.4), np.sin(0.4)
TURNED = np.array(((C, -S, 0.0), (S, C, 0.0), (0.0, 0.0, 1.0)))


def box(x, half=0.1):
    return OrientedBox(np.array((x, 0.1, 0.2)), TURNED, np.array((half, 0.05, 0.02)))


JOINT = SeenJoint(
    "top_drawer",
    "slide",
    -TURNED[:, 0],
    np.array((0.5, 0.1, 0.2)),
    0.12,
    0.17,
    box(0.5),
    box(0.46),
    False,
    (box(0.55),),
)
CABINET = SeenFixture("cabinet", "cabinet", (box(0.7),), (JOINT,), True, (box(0.72),))


def assert_same(one, other):
    for name in ("centre", "half", "axes"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), abs=1e-9)


def test_there_and_back():
    msg = fixture_to_msg(CABINET, 7)
    assert (msg.id, msg.class_name, msg.visible) == (7, "cabinet", True)
    found = fixture_from_msg(msg, "cabinet_2")
    assert (found.name, found.class_name, len(found.bodies), len(found.shape)) == ("cabinet_2", "cabinet", 1, 1)
    assert_same(found.shape[0], CABINET.shape[0])
    (joint,) = found.joints
    assert (joint.name, joint.kind, joint.value, joint.most, joint.visible) == (
        "top_drawer",
        "slide",
        0.12,
        0.17,
        False,
    )
    assert joint.axis == pytest.approx(JOINT.axis)
    for one, other in zip(joint.boxes, JOINT.boxes):
        assert_same(one, other)


def test_what_a_knob_has_turned_on_and_the_room_behind_a_door_go_along():
    knob = SeenJoint("knob", "hinge", TURNED[:, 2], np.zeros(3), 0.3, np.pi, box(0.5), box(0.5), state="on")
    door = SeenJoint("door", "hinge", TURNED[:, 2], np.zeros(3), 1.2, 1.9, box(0.5), None, room=box(0.7))
    msg = fixture_to_msg(SeenFixture("stove", "stove", (box(0.7),), (knob, door)), 1)
    turned, opened = fixture_from_msg(msg, "stove").joints
    assert (turned.state, turned.room, opened.state, opened.handle) == ("on", None, "", None)
    assert_same(opened.room, door.room)
    msg.joints[0].state = "burning"
    assert fixture_from_msg(msg, "stove").joints[0].state == "", "that is no state"


def test_furniture_is_told_by_its_joints_or_by_the_box_around_its_parts_and_never_by_its_class():
    shelf = SeenFixture("shelf", "shelf", (box(0.7),), shape=(box(0.7, 0.01), box(0.72)))
    assert is_furniture(fixture_to_msg(CABINET, 7)) and is_furniture(fixture_to_msg(shelf, 8))
    seen = SeenObject("cabinet", "cabinet", "", "box", (0.7, 0.1, 0.2), (0.0, 0.0, 0.0, 1.0), (0.2, 0.1, 0.04))
    for parts in ((), (box(0.7),), (box(0.65), box(0.75))):  # else it would be left out of the arm's world
        assert not is_furniture(seen_to_msg(replace(seen, parts=parts), 1, 0.9))


@pytest.mark.parametrize(
    "spoil",
    [
        lambda msg: msg.parts.clear(),
        lambda msg: setattr(msg.parts[0].pose.position, "x", float("nan")),
        lambda msg: setattr(msg.parts[0].pose.orientation, "w", 7.0),
        lambda msg: setattr(msg.parts[0].size, "y", -1.0),
        lambda msg: setattr(msg.joints[0], "kind", "screw"),
        lambda msg: setattr(msg.joints[0], "name", "a b"),
        lambda msg: setattr(msg.joints[0].axis, "x", 3.0),
        lambda msg: setattr(msg.joints[0], "value", float("inf")),
    ],
)
def test_what_cannot_be_is_refused(spoil):
    msg = fixture_to_msg(CABINET, 7)
    msg.parts, msg.joints = list(msg.parts), list(msg.joints)
    spoil(msg)
    with pytest.raises(ValueError):
        fixture_from_msg(msg, "cabinet")

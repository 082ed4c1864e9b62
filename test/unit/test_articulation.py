"""Drawers, doors and knobs: where a hand takes or pushes them, and where it goes with them."""

import math

import numpy as np
import pytest

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.solids import Part
from planweave.robots import load_robot

GRIPPER = load_robot("panda").gripper


def box(centre, half):
    pose = np.eye(4)
    pose[:3, 3] = centre
    return Part.box(pose, half)


def drawer(value=0.0):
    """A drawer that opens along +y: its front, and the bar of its handle 3 cm before it."""
    parts = (box((0.6, -0.2 - value, 0.1), (0.1, 0.01, 0.03)), box((0.6, -0.16 - value, 0.1), (0.04, 0.008, 0.008)))
    return Articulation(
        "level", "cabinet", "slide", np.array([0.0, -1.0, 0.0]), np.zeros(3), (-0.16, 0.01), value, parts
    )


def door(value=-1.5):
    """A door hung at (0.5, 0.3), which closes the side that faces -y; it is open by `value` towards -x."""
    c, s = math.cos(value), math.sin(value)
    pose = np.eye(4)
    pose[:3, :3] = [[c, -s, 0], [s, c, 0], [0, 0, 1]]
    pose[:3, 3] = [0.5, 0.3, 0.1]
    hinged = [
        Part.box(pose @ at(0.13, 0.0, 0.0), (0.13, 0.01, 0.09)),
        Part.cylinder(pose @ at(0.24, -0.04, 0.0), 0.01, 0.06),
    ]
    return Articulation(
        "hinge",
        "oven",
        "hinge",
        np.array([0.0, 0.0, 1.0]),
        np.array([0.5, 0.3, 0.1]),
        (-2.1, 0.0),
        value,
        tuple(hinged),
    )


def at(x, y, z):
    pose = np.eye(4)
    pose[:3, 3] = (x, y, z)
    return pose


def knob():
    """A disk with a ridge along x."""
    parts = (box((0.3, 0.2, 0.0), (0.04, 0.04, 0.006)), box((0.3, 0.2, 0.02), (0.04, 0.012, 0.02)))
    return Articulation(
        "button", "stove", "hinge", np.array([0.0, 0.0, 1.0]), np.array([0.3, 0.2, 0.0]), (-0.005, 2.1), 0.0, parts
    )


def test_the_open_end_is_the_farther_one():
    assert (drawer().open_end, drawer().closed_end) == (-0.16, 0.01)
    assert (knob().open_end, knob().closed_end) == (2.1, -0.005)


def test_outward_is_where_it_opens_to():
    assert drawer().outward == pytest.approx([0, 1, 0])
    assert door(-1.5).outward == pytest.approx([math.sin(-1.5), -math.cos(-1.5), 0])


def test_a_level_handle_is_taken_from_before_it_with_a_finger_above_and_one_below():
    pose, width, share = next(iter(drawer().pulls(GRIPPER)))
    assert pose[:3, 2] == pytest.approx([0, -1, 0]) and abs(pose[2, 1]) == pytest.approx(1.0)
    assert pose[:3, 3] == pytest.approx([0.6, -0.163, 0.1]) and width == pytest.approx(0.016) and share == 1.0


def test_an_upright_handle_is_taken_from_both_sides():
    pose, width, _ = next(iter(door().pulls(GRIPPER)))
    assert pose[2, 1] == pytest.approx(0.0) and width == pytest.approx(0.02, abs=0.001)


@pytest.mark.parametrize("part", [drawer(), door()])
def test_hands_are_rotations(part):
    poses = (
        [p for p, *_ in part.pulls(GRIPPER)]
        + [p for p, _ in part.pushes(GRIPPER)]
        + [p for p, *_ in part.turns(GRIPPER)]
    )
    assert poses
    for pose in poses:
        assert pose[:3, :3] @ pose[:3, :3].T == pytest.approx(np.eye(3)) and np.linalg.det(pose[:3, :3]) > 0.99


def test_no_handle_wider_than_the_hand_is_taken():
    parts = (box((0.6, -0.16, 0.1), (0.05, 0.05, 0.05)),)
    wide = Articulation("j", "chest", "slide", np.array([0.0, -1, 0]), np.zeros(3), (-0.2, 0.0), 0.0, parts)
    assert list(wide.pulls(GRIPPER)) == []


def test_a_hand_goes_along_with_a_drawer_and_with_a_door():
    pose = next(iter(drawer().pulls(GRIPPER)))[0]
    assert drawer().carried(pose, -0.1)[:3, 3] - pose[:3, 3] == pytest.approx([0, 0.1, 0])
    part = door(-1.5)
    pose = next(iter(part.pulls(GRIPPER)))[0]
    turned, level = part.carried(pose, -2.0), part.carried(pose, -2.0, share=0.0)
    assert turned[:3, 3] == pytest.approx(level[:3, 3]) and level[:3, :3] == pytest.approx(pose[:3, :3])
    assert math.dist(turned[:2, 3], (0.5, 0.3)) == pytest.approx(math.dist(pose[:2, 3], (0.5, 0.3)))
    assert np.arccos((np.trace(turned[:3, :3].T @ pose[:3, :3]) - 1) / 2) == pytest.approx(0.5)


def test_closed_fingers_push_from_before_the_handle_or_the_outer_side():
    for pose, _ in drawer(-0.15).pushes(GRIPPER):
        tips = pose[:3, 3] + GRIPPER.tip * pose[:3, 2]
        assert tips[1] > -0.16 + 0.15 + 0.008 and abs(tips[2] - 0.1) < 0.02
    part = door(-1.5)
    for pose, _ in part.pushes(GRIPPER):
        tips = pose[:3, 3] + GRIPPER.tip * pose[:3, 2]
        assert tips[0] < 0.5, "on the side that faces away from the oven"
        assert math.dist(tips[:2], (0.5, 0.3)) > 0.15


def test_a_knob_is_taken_across_its_ridge():
    pose, width, _ = next(iter(knob().turns(GRIPPER)))
    assert pose[:3, 2] == pytest.approx([0, 0, -1]) and abs(pose[1, 1]) == pytest.approx(1.0)
    assert width == pytest.approx(0.024, abs=0.001) and pose[:3, 3] == pytest.approx([0.3, 0.2, 0.02])

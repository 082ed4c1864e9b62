"""What is held has a whole pose in the hand: it tilts with it, the world tells it, and it is put down upright."""

import math
from dataclasses import replace

import numpy as np
import pytest

from planweave.bodies.arm.approach_planning import ApproachPlanner, held_in
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasp_sampling import tiers
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.placement_sampling import Spot
from planweave.bodies.arm.poses import angle_between, pose_of
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.geometry.rotations import quaternion_from_rotation, rotation_from_quaternion
from planweave.geometry.upright_shape import is_upright, quaternion_of, yaw_of
from planweave.robots import load_robot

HOME = np.array(load_robot().home)
BOX = Thing("box", "item", "block", (0.5, 0.1, 0.04), (0.04, 0.06, 0.08), yaw=0.2)


def about(axis, angle):
    """A 4x4 pose that turns about a unit axis."""
    pose = np.eye(4)
    pose[:3, :3] = rotation_from_quaternion(*(math.sin(angle / 2) * a for a in axis), math.cos(angle / 2))
    return pose


def best(thing):
    """The best grasp of a thing from above."""
    return next(tiers(thing, (), load_robot().gripper))[0]


def taken(thing):
    """The thing in a hand that points down."""
    grasp = best(thing)
    return held_in(grasp, thing, grasp.pose, 0.04)


@pytest.mark.parametrize("axis", [(1, 0, 0), (0, 1, 0), (0.6, 0.0, 0.8)])
@pytest.mark.parametrize("angle", [-2.5, 0.4, 1.2])
def test_quaternions_and_matrices_say_the_same(axis, angle):
    pose = about(axis, angle)
    assert rotation_from_quaternion(*quaternion_from_rotation(pose[:3, :3])) == pytest.approx(pose[:3, :3], abs=1e-9)
    assert angle_between(quaternion_from_rotation(pose[:3, :3]), (0.0, 0.0, 0.0, 1.0)) == pytest.approx(abs(angle))


def test_it_tilts_with_the_hand_and_back():
    held = taken(BOX)
    x, y = best(BOX).pose[:2, 0]
    hand = downwards(0.5, 0.1, 0.3, math.atan2(y, x))
    there = held.seen_from(hand)
    assert there.orientation is None and there.yaw == pytest.approx(0.2), "a hand that points down leaves it upright"
    tilted = hand @ about((0, 1, 0), 0.6)
    there = held.seen_from(tilted)
    assert not is_upright(there.orientation)
    assert angle_between(there.orientation, quaternion_of(0.2)) == pytest.approx(0.6)
    relative = np.linalg.inv(tilted) @ pose_of(there)
    assert relative == pytest.approx(held.thing_to_tcp, abs=1e-9), "in the hand it lies as it was taken"
    assert held.seen_from(hand).orientation is None


def test_what_was_seen_tilted_is_held_so():
    leaning = quaternion_from_rotation(about((1, 0, 0), 0.5)[:3, :3])
    held = taken(replace(BOX, yaw=yaw_of(leaning), orientation=leaning))
    grasp = best(BOX)
    there = held.seen_from(grasp.pose)
    tilt = math.acos(pose_of(there)[2, 2])
    assert tilt == pytest.approx(0.5, abs=1e-6)


def test_the_world_tells_how_it_lies_in_the_hand(kinematics):
    told = []
    world = WorldModel(Domain.load("tabletop"), (), kinematics, Safety(kinematics, JointLimits()), told.append)
    world.on_detections([BOX], 1.0)
    q = HOME + [0, 0, 0, 0, 0, 0.5, 0]
    world.on_joints(q)
    world.grasped(Held(replace(BOX, yaw=0.0), np.diag([1.0, -1.0, -1.0, 1.0]), 0.04))
    seen = world.world().by_name["box"].orientation
    upright = world.held.seen_from(kinematics.forward(HOME))
    expected = quaternion_from_rotation((kinematics.forward(q) @ np.diag([1.0, -1.0, -1.0, 1.0]))[:3, :3])
    assert angle_between(seen, expected) < 1e-6 and not is_upright(seen) and upright.orientation is None
    world.on_joints(HOME)
    world.action_ended()
    assert is_upright(world.world().by_name["box"].orientation), "a turn of the hand is a change of the world"


@pytest.mark.parametrize("tilt", [0.0, 0.25])
def test_it_is_put_down_upright_however_it_lies_in_the_hand(planning_scene, kinematics, tilt):
    planning_scene.update([])
    held = taken(BOX)
    held = replace(held, thing_to_tcp=held.thing_to_tcp @ about((0, 1, 0), tilt))
    planning_scene.attach(held.thing, held.thing_to_tcp)
    try:
        planner = ApproachPlanner(planning_scene, kinematics, MotionPlanner(planning_scene, kinematics), 5.0)
        approach = planner.to_place(held, [Spot(0.5, -0.2, 0.0)], HOME, "there")
    finally:
        planning_scene.detach()
    end = held.seen_from(kinematics.forward(approach.line[-1]))
    assert end.orientation is None and approach.placed.orientation is None
    assert end.position == pytest.approx((0.5, -0.2, 0.04), abs=0.004)
    hand = kinematics.forward(approach.line[-1])
    assert math.acos(-hand[2, 2]) == pytest.approx(tilt, abs=1e-4), "the hand tilts instead"


def test_it_falls_to_the_floor_of_what_is_deep_rather_than_rest_on_its_wall(planning_scene, kinematics):
    """Where the rim leaves the hand no room at the floor, a spot as high as it falls is no better."""
    planning_scene.update([Thing("basket", "container", "tray", (0.5, -0.2, 0.075), (0.13, 0.13, 0.15))])
    held, floor, wall = taken(BOX), Spot(0.5, -0.2, 0.005), Spot(0.3, 0.3, 0.14)
    planning_scene.attach(held.thing, held.thing_to_tcp)
    try:
        planner = ApproachPlanner(planning_scene, kinematics, MotionPlanner(planning_scene, kinematics), 5.0)
        with pytest.raises(SkillFailureError):
            planner.to_place(held, [floor], HOME, "the basket")
        approach = planner.to_place(held, [floor, wall], HOME, "the basket", 0.18)
    finally:
        planning_scene.detach()
    assert approach.placed.position[:2] == pytest.approx((0.5, -0.2), abs=0.004)


def test_a_can_is_held_in_its_middle_by_a_level_hand_too():
    """Held above it, it turns between the fingers on the way, and meets the board under which it shall go."""
    can = Thing("can", "item", "can", (0.45, 0.1, 0.0425), (0.065, 0.065, 0.085), shape="cylinder", round_class=True)
    *_, level = tiers(can, (), load_robot().gripper)
    best = min(level, key=lambda grasp: grasp.cost)
    assert abs(best.pose[2, 2]) < 0.1 and best.point[2] == pytest.approx(can.position[2], abs=0.006)

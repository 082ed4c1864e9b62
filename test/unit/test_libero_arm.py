"""LIBERO's arm: trajectories in steps of its simulator, its fingers, watches and ends; geometry in the base frame."""

import math
from itertools import pairwise

import numpy as np
import pytest
from codes import raises_code

from planweave.bodies.arm.arms.base import MotionResult
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.core.base.failure import Code
from planweave.libero.arm import STEP, LiberoArm
from planweave.libero.client import LiberoTask
from planweave.libero.geometry import Geometry
from planweave.robots import load_robot
from planweave.robots.chain import link_frames
from test.doubles.libero_arm import JointsSimulator

PANDA = load_robot("panda")
HOME = np.array(PANDA.home)
FAR = HOME + [0.8, 0.3, -0.2, 0.4, 0.1, -0.3, -0.6]


LOST = MotionResult(Code.GRASP_LOST, "lost it")


def motion(goal=FAR):
    return time_path(np.array([HOME, goal]), JointLimits.of(PANDA))


def spin(positions):
    """Largest angle by which the hand turns in a step, rad."""
    hands = [link_frames(PANDA, q)[PANDA.gripper.link][:3, :3] for q in positions]
    return max(math.acos(np.clip((np.trace(b.T @ a) - 1) / 2, -1, 1)) for a, b in pairwise(hands))


def test_the_end_of_a_trajectory_is_reached_on_its_way_and_not_spun_too_fast():
    arm, seen = LiberoArm(JointsSimulator(HOME)), [HOME]
    arm.follow(motion(), lambda state: seen.append(state.positions))
    assert arm.state().positions == pytest.approx(FAR, abs=0.012)
    line = (FAR - HOME) / np.linalg.norm(FAR - HOME)
    beside = [np.linalg.norm((q - HOME) - line * (line @ (q - HOME))) for q in seen]
    assert max(beside) < math.radians(1)
    assert spin(seen) / STEP < 1.25
    assert arm.state().stamp == pytest.approx(arm.steps * STEP)


def test_a_motion_that_is_blocked_is_a_failure_and_stops():
    simulator = JointsSimulator(HOME, blocked_at=0.3)
    arm = LiberoArm(simulator)
    with raises_code("control_failed", "panda_joint1", "0.500 rad") as failure:
        arm.follow(motion())
    assert failure.value.action_code is Code.CONTROL_FAILED
    assert simulator.goal[0] == pytest.approx(0.3, abs=0.02)


def test_a_motion_from_elsewhere_is_refused():
    arm = LiberoArm(JointsSimulator(FAR))
    with raises_code("control_failed", "panda_joint1", "0.800 rad"):
        arm.follow(motion())
    assert arm.steps == 0


def test_a_watch_stops_the_motion_where_it_was():
    arm = LiberoArm(JointsSimulator(HOME))
    with raises_code("grasp_lost", "lost it") as failure:
        arm.follow(motion(), lambda state: LOST if state.positions[0] > 0.4 else None)
    assert failure.value.action_code is Code.GRASP_LOST
    assert 0.4 < arm.state().positions[0] < 0.6


def test_an_abort_ends_before_the_next_step_and_a_deadline_likewise():
    arm = LiberoArm(JointsSimulator(HOME))

    def cancel(state):
        arm.abort(Code.CANCELED, "not any more")
        return ""

    with raises_code("canceled", "not any more"):
        arm.follow(motion(), cancel)
    assert arm.steps < 6
    arm.begin(0.0)
    with pytest.raises(SkillFailureError) as failure:
        arm.check()
    assert failure.value.action_code is Code.TIMEOUT


@pytest.mark.parametrize(("between", "width", "reached"), [(0.03, 0.0, 0.03), (0.0, 0.0, 0.0), (0.0, 0.036, 0.04)])
def test_fingers_stop_at_what_they_hold_or_where_they_shall(between, width, reached):
    arm = LiberoArm(JointsSimulator(HOME, between=between))
    assert arm.grip(width, 20.0) == pytest.approx(reached, abs=0.005)
    assert arm.grip(0.08, 20.0) == pytest.approx(0.08, abs=0.005)


def test_what_the_checker_said_is_kept():
    arm = LiberoArm(JointsSimulator(HOME, done_at=3))
    arm.follow(motion())
    assert arm.success and arm.ever


def task(geometry, **state):
    return LiberoTask("libero_goal/0/0", "open it", (), 1, {"base": [-0.66, 0, 0.9, 1, 0, 0, 0], **state}, geometry)


def test_geometry_is_given_in_the_base_frame_with_the_joint_that_moves_it():
    found = Geometry(
        task(
            {
                "geoms": [
                    {"body": "front", "kind": "box", "size": [0.1, 0.2, 0.3], "pos": [0, 0, 1], "quat": [1, 0, 0, 0]}
                ],
                "bodies": {
                    "cabinet": {"thing": "cabinet_1", "parent": "world"},
                    "drawer": {"thing": "cabinet_1", "parent": "cabinet"},
                    "front": {"thing": "cabinet_1", "parent": "drawer"},
                },
                "joints": {
                    "slide": {
                        "kind": "slide",
                        "body": "drawer",
                        "range": [0, 1],
                        "axis": [0, 1, 0],
                        "anchor": [0, 0, 0.9],
                    }
                },
                "sites": {"inside": ["slide"], "top": []},
                "meshes": {},
            },
            bodies={"front": [0, 0, 0, math.sqrt(0.5), math.sqrt(0.5), 0, 0]},
            values={"slide": 0.1},
        )
    )
    (geom,) = found.geoms()
    assert geom.thing == "cabinet_1" and geom.joint == "slide"
    assert geom.pose[:3, 3] == pytest.approx([0.66, -1.0, -0.9])
    (joint,) = found.articulations()
    assert joint.value == 0.1 and joint.anchor == pytest.approx([0.66, 0, 0]) and joint.axis == pytest.approx([0, 1, 0])
    assert found.joint_of_site("inside") == "slide" and found.joint_of_site("top") == ""


def test_kinematics_agree_with_the_simulator_s_own_grip_site():
    scene = PlanningScene(robot=PANDA)
    measured = [0.0107552, -0.1881566, 0.0241215, -2.4800595, -0.0186819, 2.2373576, 0.7695722]
    at = Kinematics(scene.model, PANDA).forward(measured)[:3, 3]  # in the world of libero_goal/0/0:
    assert at + [-0.66, 0.0, 0.912] == pytest.approx([-0.2185823, 0.0129080, 1.1712999], abs=1e-5)

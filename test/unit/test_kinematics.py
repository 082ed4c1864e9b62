"""Closed-form kinematics against MuJoCo, over the whole workspace."""

import mujoco
import numpy as np
import pytest

from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.motion import MotionPlanner
from planweave.robots import load_robot

FR3 = load_robot()

HOME = np.array(FR3.home)


def test_forward_is_mujocos(planning_scene, kinematics):
    data = mujoco.MjData(planning_scene.model)
    joints = [planning_scene.model.joint(name).qposadr[0] for name in FR3.joint_names]
    for q in np.random.default_rng(1).uniform(FR3.lower, FR3.upper, (50, 7)):
        data.qpos[joints] = q
        mujoco.mj_kinematics(planning_scene.model, data)
        pose = kinematics.forward(q)
        assert pose[:3, 3] == pytest.approx(data.site("tcp").xpos, abs=1e-9)
        assert pose[:3, :3].ravel() == pytest.approx(data.site("tcp").xmat, abs=1e-9)


def test_all_solutions_reach_the_pose_within_limits(kinematics):
    rng = np.random.default_rng(2)
    for _ in range(100):
        x, y = rng.uniform(0.30, 0.65), rng.uniform(-0.42, 0.42)
        pose = downwards(x, y, rng.uniform(0.02, 0.3), rng.uniform(-np.pi, np.pi))
        found = kinematics.ranked(pose, HOME)
        assert len(found) >= 4
        for q in found:
            assert kinematics.forward(q) == pytest.approx(pose, abs=1e-6)
        assert (found >= kinematics.lower).all() and (found <= kinematics.upper).all()


def test_the_solution_at_hand_comes_first(kinematics):
    found = kinematics.ranked(kinematics.forward(HOME), HOME)
    assert np.abs(found[0] - HOME).max() < 0.3  # the sweep of joint 7 has steps of a quarter radian


@pytest.mark.parametrize(
    ("x", "y", "reached"),
    [
        (0.45, 0.0, True),
        (0.6, 0.4, True),
        (0.4, -0.42, True),
        (0.87, 0.22, False),
        (0.88, -0.25, False),
        (2.0, 0.0, False),
    ],
)
def test_reach_on_the_table(kinematics, x, y, reached):
    assert kinematics.reaches(downwards(x, y, 0.03, 0.3)) is reached


def test_following_a_line_keeps_hand_and_elbow(planning_scene, kinematics):
    planner = MotionPlanner(planning_scene, kinematics)
    start = kinematics.ranked(downwards(0.5, 0.2, 0.03, 0.4), HOME)[0]
    line = planner.line(start, (0.0, 0.0, 1.0), 0.12)
    assert line is not None
    heights = [kinematics.forward(q)[2, 3] for q in line]
    assert heights == pytest.approx(np.linspace(0.03, 0.15, len(line)), abs=1e-6)
    assert np.abs(np.diff(line, axis=0)).max() < 0.1
    for q in line:
        assert kinematics.forward(q)[:2, 3] == pytest.approx([0.5, 0.2], abs=1e-6)


def test_a_line_out_of_the_workspace_is_none(planning_scene, kinematics):
    planner = MotionPlanner(planning_scene, kinematics)
    start = kinematics.ranked(downwards(0.6, 0.0, 0.2, 0.0), HOME)[0]
    assert planner.line(start, (1.0, 0.0, 0.0), 0.6) is None

"""The UR5e is found by its name, and the library plans for it. Planweave must be installed, and this package."""

import numpy as np
import pytest

from planweave.bodies.arm.kinematics import Kinematics, downwards
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.robots import ROBOTS, load_robot
from planweave.robots.chain import link_frames

# Universal Robots, "DH parameters for calculations of kinematics and dynamics": theta, d, a, alpha of the UR5e.
D = (0.1625, 0.0, 0.0, 0.1333, 0.0997, 0.0996)
A = (0.0, -0.425, -0.3922, 0.0, 0.0, 0.0)
ALPHA = (np.pi / 2, 0.0, 0.0, np.pi / 2, -np.pi / 2, 0.0)


@pytest.fixture(scope="module")
def robot():
    assert "ur5e" in ROBOTS and ROBOTS.package_of("ur5e") == "planweave-ur5e"
    return load_robot("ur5e")


@pytest.fixture(scope="module")
def scene(robot):
    return PlanningScene(robot=robot)


@pytest.fixture(scope="module")
def kinematics(robot, scene):
    return Kinematics(scene.model, robot)


def flange(q):
    """The flange in base_link, by UR's Denavit-Hartenberg parameters; their base is turned by half a turn."""
    pose = np.diag([-1.0, -1.0, 1.0, 1.0])
    for theta, d, a, alpha in zip(q, D, A, ALPHA):
        c, s, ca, sa = np.cos(theta), np.sin(theta), np.cos(alpha), np.sin(alpha)
        step = [[c, -s * ca, s * sa, a * c], [s, c * ca, -c * sa, a * s], [0, sa, ca, d], [0, 0, 0, 1]]
        pose = pose @ np.array(step)
    return pose


def test_the_flange_is_where_the_maker_says(robot):
    for q in np.random.default_rng(1).uniform(-3.1, 3.1, (20, 6)):
        assert link_frames(robot, q)["tool0"] == pytest.approx(flange(q), abs=1e-9)


def test_every_pose_of_the_arm_has_its_joint_positions_back(robot, kinematics):
    for q in np.random.default_rng(2).uniform(-3.0, 3.0, (30, 6)):
        pose = kinematics.forward(q)
        assert pose == pytest.approx(link_frames(robot, q)["gripper_tcp"], abs=1e-6)
        found = kinematics.solutions(pose, near=q)
        assert np.abs(found - q).max(axis=1).min() < 1e-4
        for each in found:
            assert kinematics.forward(each) == pytest.approx(pose, abs=1e-5)
            assert (each >= robot.lower).all() and (each <= robot.upper).all()


@pytest.mark.parametrize(
    ("x", "y", "reached"), [(0.3, 0.0, True), (0.6, -0.3, True), (0.75, 0.0, True), (1.3, 0.0, False)]
)
def test_what_it_reaches(kinematics, x, y, reached):
    assert kinematics.reaches(downwards(x, y, 0.05, 0.0)) is reached


def test_a_motion_around_an_obstacle_keeps_its_limits(robot, scene, kinematics):
    pytest.importorskip("ompl", reason="OMPL has no wheel for this Python")
    scene.update([Thing("box", "item", "box", (0.5, 0.0, 0.15), (0.1, 0.1, 0.3))])
    planner = MotionPlanner(scene, kinematics)
    home = np.array(robot.home)
    start, goal = (
        next(q for q in kinematics.ranked(downwards(0.5, y, 0.10, np.pi), home) if scene.free(q)) for y in (-0.25, 0.25)
    )
    assert not scene.edge_free(start, goal), "the straight way is blocked"
    path = planner.plan(start, [goal], 5.0)
    limits = JointLimits.of(robot).scaled(0.4, 0.8)
    trajectory = time_path(path, limits)
    Safety(kinematics, limits, (-1.0, -1.0, 0.0), (1.0, 1.0, 1.3)).check(trajectory)
    assert trajectory.end == pytest.approx(goal) and trajectory.positions.shape[1] == 6
    assert (np.abs(trajectory.velocities) <= limits.velocity * 1.02).all()
    assert all(scene.free(q, 0.0) for q in trajectory.dense(0.02))

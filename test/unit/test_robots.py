"""Robots as descriptions: the default one, how they are found, what is said of wrong ones, and one that is not ours."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from codes import raises_code
from doubles.direct_arm import Tabletop

from planweave import robots
from planweave.bodies.arm.arms.joints import JointStates
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.parameters import parameters_of
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.robots import check_robot
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.timing import JointLimits
from planweave.core.symbolic.world import Action
from planweave.perception.robot_filter import RobotState, capsules, hand_pose
from planweave.robots import load_robot
from planweave.robots.chain import link_frames
from planweave.robots.description import read_robot
from planweave.robots.model import robot_spec

FR3 = load_robot()
FR3_FILE = Path(robots.__file__).parent / "fr3.yaml"
UR5E_FILE = Path(__file__).resolve().parents[2] / "examples" / "robot_ur5e" / "planweave_ur5e" / "ur5e.yaml"


@pytest.fixture(scope="module")
def ur5e():
    return load_robot(str(UR5E_FILE))


def test_the_default_robot_has_the_limits_of_its_maker():
    assert (FR3.name, FR3.count, FR3.base) == ("fr3", 7, "fr3_link0")
    assert FR3.lower == (-2.7437, -1.7837, -2.9007, -3.0421, -2.8065, 0.5445, -3.0159)
    assert FR3.upper == (2.7437, 1.7837, 2.9007, -0.1518, 2.8065, 4.5169, 3.0159)
    assert FR3.velocity == (2.62, 2.62, 2.62, 2.62, 5.26, 4.18, 5.26) and set(FR3.acceleration) == {10.0}
    assert [joint.effort for joint in FR3.joints] == [87.0] * 4 + [12.0] * 3
    assert (FR3.gripper.opening, FR3.gripper.force, FR3.ros.driver) == (0.08, 70.0, "franka_ros2")
    assert JointLimits.of(FR3).jerk == 100.0


def test_the_chain_made_of_the_description_is_that_of_the_meshes():
    import mujoco

    q = np.random.default_rng(3).uniform(FR3.lower, FR3.upper)
    frames = link_frames(FR3, q)
    for robot in (FR3, replace(FR3, model="")):
        model = robot_spec(robot).compile()
        data = mujoco.MjData(model)
        data.qpos[:7] = q
        mujoco.mj_kinematics(model, data)
        assert data.site("tcp").xpos == pytest.approx(frames["fr3_hand_tcp"][:3, 3], abs=1e-6)
        assert data.body("fr3_link5").xmat.reshape(3, 3) == pytest.approx(frames["fr3_link5"][:3, :3], abs=1e-6)


@pytest.mark.parametrize(
    ("old", "new", "data"),
    [
        ("velocity: 2.62", "velocity: fast", ("fr3.yaml:9: joints[0].velocity", "fast")),
        ("velocity: 2.62", "speed: 2.62", ("fr3.yaml:9", "joints[0]", "'speed'")),
        ("base: fr3_link0 ", "bass: fr3_link0 ", ("'bass'", "'base'")),
        ("title: Franka Research 3", "", "'title'"),
        ("position: [-2.7437, 2.7437]", "position: [2.7437, -2.7437]", ("joints[0]", "2.7437", "-2.7437")),
        ("position: [-2.7437, 2.7437]", "position: [2.7437]", ("joints[0].position", "[2.7437]")),
        ("name: fr3_joint2", "name: fr3_joint1", "'fr3_joint1'"),
        ("home: [0.0, -0.785398, ", "home: [0.0, ", ("home", "6", "7")),
        ("home: [0.0, ", "home: [9.0, ", ("home: 9", "fr3_joint1, -2.7437 to 2.7437")),
        ("  fr3_link1:\n", "  fr3_link11:\n", "'fr3_link11'"),
        ("opening: 0.08 ", "opening: -0.08 ", ("gripper.opening", "-0.08")),
        ("open: 0.04 ", "open: 0.0 ", ("open", "closed", "fr3_finger_joint1")),
        ("force: 70.0 ", "force: 170.0 ", ("gripper: force", "peak_force")),
        ("collision_torques: [35.0, ", "collision_torques: [", ("ros.collision_torques", "6", "7")),
        ("joints: [fr3_finger_joint1, fr3_finger_joint2]", "joints: 3", ("gripper.joints", "1 to 2")),
        ("base: fr3_link0 ", "base: [fr3_link0 ", ("fr3.yaml:5", "YAML")),
        ("base: fr3_link0 ", "title: again ", ("fr3.yaml:4", "title")),
    ],
)
def test_what_is_wrong_in_a_description_is_said_with_its_place(tmp_path, old, new, data):
    text = FR3_FILE.read_text()
    assert old in text
    path = tmp_path / "fr3.yaml"
    path.write_text(text.replace(old, new, 1))
    with raises_code("configuration", data):
        read_robot(path)


def test_an_arm_of_another_kind_is_refused(tmp_path):
    five = re.sub(r"  - \{name: fr3_joint[67].*?\}\n", "", FR3_FILE.read_text(), flags=re.DOTALL)
    path = tmp_path / "five.yaml"
    path.write_text(five)
    with raises_code("configuration", "five.yaml:3", "5", "6 or 7"):
        read_robot(path)


def test_an_unknown_robot_is_told_with_the_known_ones():
    with raises_code("unknown_name", "'fr33'", "'fr3'"):
        load_robot("fr33")


def test_a_chain_without_capsules_has_no_model(ur5e):
    bare = replace(ur5e, capsules=tuple(c for c in ur5e.capsules if c.link != "forearm_link"))
    with raises_code("configuration", "forearm_link"):
        robot_spec(bare)


# ---- a robot that is not ours ------------------------------------------------------------------------------------


def test_parameters_and_refusals_are_those_of_the_robot(ur5e):
    defaults = {p.name: p.default for p in parameters_of(ur5e)}
    assert defaults["arm_controller"] == "scaled_joint_trajectory_controller" and defaults["gripper"] == "command"
    assert defaults["base_frame"] == "base_link" and len(defaults["observe_pose"]) == 6
    assert "collision_torques" not in defaults, "its driver cannot be told"
    assert "collision_torques" in {p.name for p in parameters_of(FR3)}
    check_robot("/executor_node", "ur5e", "follow", "command", ur5e)
    check_robot("/executor_node", "ur5e", "moveit", "command", ur5e)
    alone = replace(ur5e, planners=replace(ur5e.planners, moveit_group=""))
    with raises_code("configuration", "moveit_group", "ur5e.yaml"):
        check_robot("/executor_node", "ur5e", "moveit", "command", alone)
    for robot, gripper, data in (
        ("fr3", "command", ("fr3", "robot_type", "ur5e")),
        ("ur5e", "franka", ("gripper: franka", "gripper: command")),
        ("", "command", "robot: simulation, gazebo, fake, ur5e"),
    ):
        with raises_code("configuration", data):
            check_robot("/executor_node", robot, "follow", gripper, ur5e)


def test_a_gripper_whose_joint_turns_is_read_as_an_opening(ur5e):
    assert ur5e.gripper.width([0.8]) == 0.0 and ur5e.gripper.width([0.0]) == 0.085
    assert ur5e.gripper.position(0.0425) == pytest.approx(0.4)
    states = JointStates(ur5e)
    names = [*ur5e.gripper.joints, *ur5e.joint_names]
    seen = states.add(1.0, names, [0.4, *ur5e.home], [0.08, *[0.0] * 6])
    assert seen.width == pytest.approx(0.0425) and seen.finger_speed == pytest.approx(-0.0085)
    assert seen.positions == pytest.approx(ur5e.home)


def test_the_camera_knows_where_it_is(ur5e):
    state = RobotState(ur5e.home, 0.085, 0.0, ur5e)
    tool = link_frames(ur5e, ur5e.home)["gripper_tcp"]
    hand = hand_pose(state)
    assert hand.position == pytest.approx(tool[:3, 3]) and hand.rotation[:, 2] == pytest.approx([0, 0, -1], abs=1e-6)
    first, second = (start for start, _, _ in capsules(state)[-2:])
    apart = (first - second) @ tool[:3, 1]
    assert apart == pytest.approx(0.085 + 0.032), "the fingers are the opening apart, along the tool's y"


def test_a_grip_is_never_harder_than_the_gripper_can(ur5e):
    weak = replace(ur5e, gripper=replace(ur5e.gripper, force=12.0))
    kinematics = Kinematics(PlanningScene(robot=weak).model, weak)
    assert Safety(kinematics, JointLimits.of(weak)).force(200.0) == 12.0


@pytest.mark.slow
def test_it_takes_and_stacks_a_cube_in_the_simulation(ur5e):
    """Built of its capsules; the mesh of a real UR5e was not there."""
    table = Tabletop("blocks", robot=ur5e)
    for action in (Action("grasp", ("red_cube",)), Action("place_on", ("red_cube", "blue_cube"))):
        table.skills.run(action)
    seen = {thing.name: thing for thing in table.look()}
    red, blue = seen["red_cube"].position, seen["blue_cube"].position
    assert np.hypot(red[0] - blue[0], red[1] - blue[1]) < 0.01 and red[2] - blue[2] == pytest.approx(0.05, abs=0.003)
    assert len(table.arm.sent) >= 4
    for trajectory in table.arm.sent:
        assert trajectory.positions.shape[1] == 6
        assert (np.abs(trajectory.velocities) <= 0.4 * np.array(ur5e.velocity) * 1.02).all()
        assert (np.abs(trajectory.accelerations()) <= 0.8 * np.array(ur5e.acceleration) * 1.02 + 1e-3).all()

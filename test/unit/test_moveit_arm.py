"""MoveIt behind the arm: its server on a double after moveit_py's own signatures, and its process."""

import json
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import yaml
from codes import raises_code
from doubles import moveit_api, ros_messages
from doubles.environment import python_path

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.arms.grippers import NoGripper
from planweave.bodies.arm.arms.moveit import ERRORS, PIPELINES, STATUSES, MoveItFollower, MoveItPlanner
from planweave.bodies.arm.arms.moveit_process import MoveItProcess
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.safety import GuardedArm, Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.core.base.failure import Code
from planweave.core.base.paths import config_dir
from planweave.robots import load_robot

FR3 = load_robot()

HOME = np.array(FR3.home)
GOAL = HOME + 0.3
MOTION = time_path(np.array([HOME, HOME + 0.2]), JointLimits())
CUBE = Thing("red_cube", "item", "cube", (0.5, 0.2, 0.025), (0.05, 0.05, 0.05), 0.3, "red", "cube", True)
CAN = Thing("can", "item", "cylinder", (0.4, -0.2, 0.05), (0.06, 0.06, 0.10), 0.0, "blue", "cylinder", True)
CONFIG = config_dir() / "moveit"


@pytest.fixture(scope="module")
def scene(planning_scene):
    planning_scene.set_opening(0.08)
    return planning_scene


# ---- the server, in this process ----------------------------------------------------------------------------------


@pytest.fixture
def robot(monkeypatch):
    robot = moveit_api.Robot()
    ros_messages.install(lambda name, module: monkeypatch.setitem(sys.modules, name, module))
    moveit_api.install(robot, lambda name, module: monkeypatch.setitem(sys.modules, name, module))
    return robot


@pytest.fixture
def server(robot):
    from moveit.planning import MoveItPy

    from planweave_ros.moveit_server import NODE, MoveItServer, parameters

    return MoveItServer(MoveItPy(node_name=NODE, config_dict=parameters(CONFIG, False)))


def plan_request(scene, **changes):
    from planweave.bodies.arm.arms.moveit import scene_message

    return {
        "id": 1,
        "do": "plan",
        "pipeline": "ompl_rrtc",
        "seconds": 1.5,
        "goal": GOAL.tolist(),
        **scene_message(scene, 0.005),
        **changes,
    }


def test_a_path_is_planned_in_the_order_of_our_joints(server, robot, scene):
    scene.update([])
    scene.detach()
    robot.via = [(HOME + [0.1, 0.2, 0.3, 0.1, 0.2, 0.3, 0.1]).tolist()]
    answer = server.plan(plan_request(scene))
    assert answer["code"] == 1
    np.testing.assert_allclose(answer["path"], [robot.at, robot.via[0], GOAL])
    parameters, goal = robot.plans[0]
    assert parameters.arguments["*1"] == "ompl_rrtc" and parameters.planning_time == 1.5
    np.testing.assert_allclose(goal, GOAL)


def test_objects_table_and_what_is_held_are_in_the_planning_scene(server, robot, scene):
    scene.update([CUBE, CAN])
    grip = np.eye(4)
    grip[2, 3] = 0.01
    scene.attach(CUBE, grip)
    server.fill_scene(plan_request(scene))
    scene.detach()
    calls = [name for name, _ in robot.scene]
    assert calls[:2] == ["process_attached_collision_object", "remove_all_collision_objects"]
    objects = {
        a["collision_object_msg"].id: a["collision_object_msg"]
        for name, a in robot.scene
        if name == "apply_collision_object"
    }
    assert set(objects) == {"solid_0", "solid_1", "table"}
    cube, can, table = objects["solid_0"], objects["solid_1"], objects["table"]
    assert cube.header.frame_id == "fr3_link0" and cube.operation == b"\x00"
    assert cube.primitives[0].type == 1
    np.testing.assert_allclose(cube.primitives[0].dimensions, [0.06, 0.06, 0.06])  # grown by 5 mm on each side
    place = cube.primitive_poses[0]
    assert (place.position.x, place.position.y) == (0.5, 0.2) and place.orientation.z == pytest.approx(np.sin(0.15))
    assert can.primitives[0].type == 3
    np.testing.assert_allclose(can.primitives[0].dimensions, [0.11, 0.035])  # height, radius
    assert table.primitive_poses[0].position.z + table.primitives[0].dimensions[2] / 2 == pytest.approx(0.005)
    assert ("set_entry", {"name1": "table", "name2": "fr3_link0", "allowed": True}) in robot.scene
    removed, attached = (a["object"] for name, a in robot.scene if name == "process_attached_collision_object")
    assert removed.object.operation == b"\x01" and removed.link_name == attached.link_name == "fr3_hand"
    assert attached.object.header.frame_id == "fr3_hand" and "fr3_leftfinger" in attached.touch_links
    assert attached.object.primitive_poses[0].position.z == pytest.approx(0.1034 + 0.01)
    np.testing.assert_allclose(attached.object.primitives[0].dimensions, CUBE.size)


@pytest.mark.parametrize("number", sorted(ERRORS))
def test_planning_that_fails_says_the_code(server, robot, scene, number):
    robot.error_code = number
    assert server.plan(plan_request(scene))["code"] == number


def test_a_trajectory_is_executed_as_it_was_timed(server, robot):
    answer = server.execute(
        {
            "id": 2,
            "times": MOTION.times.tolist(),
            "positions": MOTION.positions.tolist(),
            "velocities": MOTION.velocities.tolist(),
        }
    )
    assert answer["status"] == "SUCCEEDED"
    trajectory = robot.executed[0]
    message = trajectory.message.joint_trajectory
    assert trajectory.joint_model_group_name == "fr3_arm" and message.joint_names == list(FR3.joint_names)
    np.testing.assert_allclose([p.positions for p in message.points], MOTION.positions)
    last = message.points[-1].time_from_start
    assert last.sec + last.nanosec * 1e-9 == pytest.approx(MOTION.duration)


def test_what_was_stopped_before_it_began_is_not_executed(server, robot):
    server.stop(3)
    request = {"times": [0.0, 0.1], "positions": [HOME.tolist()] * 2, "velocities": [[0.0] * 7] * 2}
    assert server.execute({"id": 2, **request})["status"] == "PREEMPTED" and not robot.executed
    assert server.execute({"id": 4, **request})["status"] == "SUCCEEDED"


def test_a_stop_reaches_an_execution_that_has_only_just_begun(server, robot):
    robot.wait, robot.before = True, 0.2
    request = {"id": 2, "times": [0.0, 0.1], "positions": [HOME.tolist()] * 2, "velocities": [[0.0] * 7] * 2}
    answers = []
    thread = threading.Thread(target=lambda: answers.append(server.execute(request)))
    thread.start()
    end = time.monotonic() + 60.0
    while not robot.executed and time.monotonic() < end:
        time.sleep(0.001)
    server.stop(3)
    thread.join(60.0)
    assert [answer["status"] for answer in answers] == ["PREEMPTED"]


def test_the_parameters_are_whole(server, robot):
    config = robot.config
    assert config["robot_description_semantic"].startswith("<?xml") and config["use_sim_time"] is False
    for name in config["planning_pipelines"]["pipeline_names"]:
        assert config[name]["planning_plugins"] and config[name]["request_adapters"], name
    for pipeline in PIPELINES:
        wanted = config[pipeline]["plan_request_params"]
        assert set(wanted) == {
            "planning_pipeline",
            "planner_id",
            "planning_attempts",
            "planning_time",
            "max_velocity_scaling_factor",
            "max_acceleration_scaling_factor",
        }
        assert wanted["planning_pipeline"] in config["planning_pipelines"]["pipeline_names"]
        if wanted["planning_pipeline"] == "ompl":
            assert wanted["planner_id"] in config["ompl"]["planner_configs"]
    assert config["robot_description_planning"]["joint_limits"]["fr3_joint1"]["max_velocity"] == FR3.velocity[0]
    controller = config["moveit_simple_controller_manager"]["fr3_arm_controller"]
    assert controller["joints"] == list(FR3.joint_names)


def test_the_errors_are_those_of_moveit():
    codes = yaml.safe_load(Path(ros_messages.__file__).with_suffix(".yaml").read_text())
    listed = codes["moveit_msgs"]["msg/MoveItErrorCodes"]["Message"].values()
    numbers = {int(kind.partition("=")[2]) for kind in listed if "=" in kind}
    assert set(ERRORS) == numbers - {0, 1}
    assert all(code is not Code.SUCCESS for code, _ in ERRORS.values())


def test_the_double_refuses_what_moveit_does_not_have(server):
    from moveit.planning import MoveItPy, PlanRequestParameters

    moveit = MoveItPy(node_name="x", config_dict={})
    for wrong in (
        lambda: moveit.get_planning_component("fr3_arm", 1),
        lambda: moveit.plan(),
        lambda: moveit.execute(robot_trajectory=1, blocking=True),
        lambda: MoveItPy(nodename="x"),
        lambda: PlanRequestParameters(moveit),
        lambda: setattr(moveit, "speed", 1),
        lambda: setattr(PlanRequestParameters(moveit, "p"), "planning_tme", 1.0),
    ):
        with pytest.raises(AssertionError):
            wrong()


# ---- the process --------------------------------------------------------------------------------------------------


@pytest.fixture
def start(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", python_path(Path(__file__).parents[1], Path(__file__).parents[2]))
    started = []

    def make(**double):
        monkeypatch.setenv("MOVEIT_DOUBLE", json.dumps(double))
        process = MoveItProcess(str(CONFIG), command=[sys.executable, "-m", "doubles.moveit_child"], patience=20.0)
        started.append(process)
        return process

    yield make
    for process in started:
        process.close()


def never():
    """The skill goes on."""


def test_planner_and_follower_through_the_process(start, scene, kinematics):
    scene.update([CUBE])
    process = start(via=[(HOME + 0.1).tolist()])
    planner = MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never)
    path = planner.plan(HOME, [GOAL])
    np.testing.assert_allclose(path, [HOME, GOAL])  # the point between is not needed
    canceled = []
    arm = ControlledArm(MoveItFollower(process, lambda: canceled.append(1)), NoGripper())
    arm.on_state(ArmState(0.0, HOME, np.zeros(7), 0.08))
    arm.begin(time.monotonic() + 10.0)
    arm.on_state(ArmState(MOTION.duration, MOTION.end, np.zeros(7), 0.08))
    # A motion that begins where it ends is over as soon as MoveIt says so.
    arm.follow(time_path(np.array([MOTION.end, MOTION.end]), JointLimits()))
    assert not canceled


def test_a_path_that_would_collide_in_our_own_scene_is_refused(start, scene, kinematics):
    far = HOME.copy()
    far[0] = 1.4
    low = HOME.copy()
    low[1], low[3] = 0.9, -1.6  # the hand is in the table
    planner = MoveItPlanner(scene, kinematics, start(via=[low.tolist()]), "ompl_rrtc", never)
    scene.update([])
    path = planner.plan(HOME, [far])
    assert all(scene.free(q) for q in path), "what is not needed is left out"
    wall = Thing("wall", "item", "box", (0.35, 0.295, 0.35), (0.2, 0.02, 0.7), 0.7, "grey", "box", True)
    scene.update([wall])
    with raises_code("planning_failed") as failed:
        planner.plan(HOME, [far])
    assert failed.value.action_code is Code.PLANNING_FAILED


def test_failures_of_the_process_are_said(start, scene, kinematics, monkeypatch):
    monkeypatch.setenv("ROS_DISTRO", "lyrical")
    scene.update([])
    for double, code, data in (
        ({"error_code": -10}, "collision", ()),
        ({"absent": True}, "control_failed", "apt install ros-lyrical-moveit-py ros-lyrical-moveit"),
        ({"die": True}, "control_failed", ()),
    ):
        planner = MoveItPlanner(scene, kinematics, start(**double), "ompl_rrtc", never)
        with raises_code(code, data):
            planner.plan(HOME, [GOAL])


def test_a_planner_that_hangs_is_ended_and_cancelling_does_not_wait_for_it(start, scene, kinematics, monkeypatch):
    from planweave.bodies.arm.arms import moveit

    monkeypatch.setattr(moveit, "_ANSWER", 0.0)
    process = start(hang=True)
    planner = MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never)
    with raises_code("control_failed", "0.3 s"):
        planner.plan(HOME, [GOAL], seconds=0.3)
    over = SkillFailureError(Code.CANCELED, "enough")

    def check():
        raise over

    planner = MoveItPlanner(scene, kinematics, process, "ompl_rrtc", check)
    with raises_code("canceled", "enough"):
        planner.plan(HOME, [GOAL], seconds=30.0)


def test_an_abort_stops_moveit_and_the_controller(start, scene, kinematics):
    process = start(wait=True)
    MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never).plan(HOME, [GOAL])
    canceled = []
    follower = MoveItFollower(process, lambda: canceled.append(time.monotonic()))
    outcomes, ended = [], threading.Event()
    follower.start(MOTION, lambda outcome: (outcomes.append(outcome), ended.set()), print)
    assert not ended.wait(0.1)
    follower.stop()
    assert canceled and ended.wait(60.0)
    assert outcomes[0].code is Code.SAFETY_STOP, "unless the arm was stopped by us, which its own reason says"


def test_what_moveit_planned_passes_our_limits_before_it_is_executed(start, scene, kinematics):
    process = start()
    path = MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never).plan(HOME, [GOAL])
    arm = ControlledArm(MoveItFollower(process, never), NoGripper())
    arm.on_state(ArmState(0.0, HOME, np.zeros(7), 0.08))
    arm.begin(time.monotonic() + 10.0)
    sent = []
    process.send = lambda message, take: sent.append(message)
    slow = Safety(kinematics, JointLimits().scaled(0.1, 0.1))
    small = Safety(kinematics, JointLimits(), workspace_high=(0.85, 0.85, 0.49))
    for safety, data in ((slow, ("rad/s ", "fr3_joint1")), (small, " m (")):
        with raises_code("safety_stop", data):
            GuardedArm(arm, safety).follow(time_path(path[::-1] if safety is small else path, JointLimits()))
    assert not sent


def test_every_status_of_an_execution_is_mapped(start, scene, kinematics):
    process = start(status="ABORTED")
    planner = MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never)
    follower = MoveItFollower(process, lambda: None)
    outcomes, ended = [], threading.Event()
    follower.start(MOTION, outcomes.append, print)
    assert outcomes[0].code is Code.CONTROL_FAILED and "still starting" in outcomes[0].message
    planner.plan(HOME, [GOAL])
    follower.start(MOTION, lambda outcome: (outcomes.append(outcome), ended.set()), print)
    assert (
        ended.wait(60.0)
        and outcomes[1].code is Code.CONTROL_FAILED
        and outcomes[1].if_no_joint_states
        and outcomes[1].if_behind
    )
    assert set(STATUSES) == {"SUCCEEDED", "PREEMPTED", "TIMED_OUT", "ABORTED", "FAILED"}


def test_when_the_process_dies_during_a_motion_the_controller_is_cancelled(start, scene, kinematics):
    process = start(wait=True)
    MoveItPlanner(scene, kinematics, process, "ompl_rrtc", never).plan(HOME, [GOAL])
    canceled, outcomes, ended = [], [], threading.Event()
    MoveItFollower(process, lambda: canceled.append(1)).start(
        MOTION, lambda outcome: (outcomes.append(outcome), ended.set()), print
    )
    process._child.kill()
    assert ended.wait(60.0) and canceled
    assert outcomes[0].code is Code.CONTROL_FAILED and "has ended" in outcomes[0].message

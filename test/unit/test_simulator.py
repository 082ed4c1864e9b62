"""The simulated arm and gripper: tracking, stopping, refusing, holding, slipping, resetting."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import threading
from pathlib import Path

import mujoco
import numpy as np
import pytest
from codes import raises_code

from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.intervention import read_intervention
from planweave.simulation.mujoco_model import build_model, object_body
from planweave.simulation.runner import Runner
from planweave.simulation.scene import parse_scene
from planweave.simulation.simulator import Simulator
from planweave.simulation.trajectory import DECELERATION, Point, decelerate, interpolate

FR3 = load_robot()

STILL = np.zeros(7)
CUBE = "objects:\n  - {kind: cube, position: [0.5, 0.0]}\n"


@functools.cache
def built(text):
    scene = parse_scene(text, Path("test.yaml"))
    return build_model(scene, load_camera()), scene


def make(text=CUBE):
    model, scene = built(text)
    return Simulator(copy.copy(model), scene)


@pytest.fixture
def simulator():
    return make()


def finish(simulator, limit=20.0):
    end = simulator.time + limit
    while simulator.busy:
        assert simulator.time < end, "the motion does not end"
        simulator.step()


def go(simulator, target, seconds):
    simulator.controller.follow(FR3.joint_names, [Point(seconds, target, STILL, STILL)])
    finish(simulator)


def reach(simulator, position, yaw=0.0):
    """Joint positions that bring the tool to a position, pointing down (damped least squares)."""
    model, data = simulator.model, mujoco.MjData(simulator.model)
    c, s = np.cos(yaw), np.sin(yaw)
    goal = np.array([[c, s, 0], [s, -c, 0], [0, 0, -1.0]])
    q, jacobian, site = np.array(FR3.home), np.zeros((6, model.nv)), model.site("tcp").id
    for _ in range(200):
        data.qpos[:7] = q
        mujoco.mj_kinematics(model, data)
        mujoco.mj_comPos(model, data)
        matrix = data.site_xmat[site].reshape(3, 3)
        turn = 0.5 * sum(np.cross(matrix[:, i], goal[:, i]) for i in range(3))
        error = np.concatenate([position - data.site_xpos[site], turn])
        if np.abs(error).max() < 1e-5:
            return q
        mujoco.mj_jacSite(model, data, jacobian[:3], jacobian[3:], site)
        a = jacobian[:, :7]
        q = np.clip(q + a.T @ np.linalg.solve(a @ a.T + 1e-4 * np.eye(6), error), FR3.lower, FR3.upper)
    raise AssertionError(f"no joint positions for {position}")


def grasp_and_lift(simulator, index=0, height=0.025):
    position, quaternion = simulator.object_pose(index)
    yaw = 2 * np.arctan2(quaternion[3], quaternion[0])
    above, at = (reach(simulator, position + [0, 0, z], yaw) for z in (0.15, height))
    go(simulator, above, 1.5)
    go(simulator, at, 1.0)
    simulator.move_gripper(0.0, 30.0)
    finish(simulator)
    closed = simulator.joint_state()[0][7:].sum()
    go(simulator, above, 1.0)
    return closed, above, at


def test_it_holds_still_at_home(simulator):
    simulator.step(500)
    positions, velocities = simulator.joint_state()
    assert positions[:7] == pytest.approx(FR3.home, abs=1e-4)
    assert positions[7:] == pytest.approx([0.04, 0.04], abs=5e-4)
    assert np.abs(velocities).max() < 1e-3 and not simulator.busy


def test_tracking_error_stays_below_5_mrad(simulator):
    target = np.array(FR3.home) + [0.6, 0.3, -0.3, 0.4, 0.5, -0.4, 0.8]
    points = [Point(2.0, target, STILL, STILL)]
    wanted = interpolate(FR3.joint_names, points, np.array(FR3.home), STILL, simulator.timestep).positions
    simulator.controller.follow(FR3.joint_names, points)
    for row in wanted:
        simulator.step()
        assert np.abs(simulator.joint_state()[0][:7] - row).max() < 0.005
    finish(simulator)
    positions, velocities = simulator.joint_state()
    assert positions[:7] == pytest.approx(target, abs=0.005)
    assert np.abs(velocities[:7]).max() < 0.02
    assert simulator.motions_ended == 1


def test_joints_in_another_order(simulator):
    target = np.array(FR3.home) + 0.1 * np.arange(7)
    simulator.controller.follow(FR3.joint_names[::-1], [Point(1.5, target[::-1], STILL)])
    finish(simulator)
    assert simulator.joint_state()[0][:7] == pytest.approx(target, abs=0.005)


def test_a_new_trajectory_takes_over_smoothly(simulator):
    simulator.controller.follow(FR3.joint_names, [Point(2.0, np.array(FR3.home) + 0.4, STILL)])
    simulator.step(500)
    before = simulator.joint_state()[1][:7]
    assert np.abs(before).max() > 0.2
    simulator.controller.follow(FR3.joint_names, [Point(1.5, FR3.home, STILL)])
    simulator.step(5)
    assert np.abs(simulator.joint_state()[1][:7] - before).max() < 0.1
    finish(simulator)
    assert simulator.joint_state()[0][:7] == pytest.approx(FR3.home, abs=0.005)


def test_a_delayed_trajectory_waits(simulator):
    simulator.controller.follow(FR3.joint_names, [Point(1.0, np.array(FR3.home) + 0.2, STILL)], delay=0.5)
    simulator.step(240)
    assert simulator.busy and simulator.joint_state()[0][:7] == pytest.approx(FR3.home, abs=1e-3)
    finish(simulator)
    assert simulator.joint_state()[0][:7] == pytest.approx(np.array(FR3.home) + 0.2, abs=0.005)


@pytest.mark.parametrize("seconds", [0.6, 1.0, 2.0])
def test_a_cancelled_motion_decelerates_then_holds(simulator, seconds):
    target = np.array(FR3.home) + [0.7, 0, 0, 0, 0, 0, 0.7]
    simulator.controller.follow(FR3.joint_names, [Point(seconds, target, STILL)])
    simulator.step(int(seconds / 2 / simulator.timestep))
    fastest = np.abs(simulator.joint_state()[1][:7]).max()
    assert fastest > 0.5
    simulator.controller.cancel()
    simulator.step(int((fastest / DECELERATION + 0.03) / simulator.timestep))
    stopped = simulator.joint_state()[0][:7]
    for _ in range(100):  # nor does it swing back
        simulator.step(5)
        assert np.abs(simulator.joint_state()[1][:7]).max() < 0.02
        assert simulator.joint_state()[0][:7] == pytest.approx(stopped, abs=1e-3)
    assert not simulator.busy


def test_a_stop_decelerates_each_joint_as_the_controller_of_a_real_arm_does():
    velocity = np.array([2.0, -1.0, 0.0, 0.1, 0.0, 0.0, -2.0])
    found = decelerate(STILL, velocity, 0.002)
    assert np.abs(np.diff(found.velocities, axis=0)).max() / 0.002 <= DECELERATION * 1.001
    assert not found.velocities[-1].any()
    assert found.positions[-1] == pytest.approx(velocity * np.abs(velocity) / (2 * DECELERATION))


def test_interpolation_passes_its_points_and_is_smooth():
    q1, q2 = np.array(FR3.home) + 0.2, np.array(FR3.home) + 0.3
    points = [Point(0.5, q1, np.full(7, 0.2)), Point(1.0, q2, STILL)]
    reference = interpolate(FR3.joint_names, points, np.array(FR3.home), STILL, 0.002)
    assert reference.positions[249] == pytest.approx(q1) and reference.velocities[249] == pytest.approx(np.full(7, 0.2))
    assert reference.positions[-1] == pytest.approx(q2)
    assert np.gradient(reference.positions, 0.002, axis=0)[5:-5] == pytest.approx(reference.velocities[5:-5], abs=2e-3)


@pytest.mark.parametrize(
    ("joints", "points", "data"),
    [
        (FR3.joint_names[:6], [Point(1, FR3.home)], "fr3_joint1"),
        (FR3.joint_names, [Point(1, FR3.home[:6])], ("points[0]", "6", "7")),
        (FR3.joint_names, [Point(1, FR3.home, [0.0])], ("points[0]", "1", "7")),
        (FR3.joint_names, [Point(1, FR3.home), Point(1, FR3.home)], "time_from_start"),
        (FR3.joint_names, [Point(-1, FR3.home)], "time_from_start"),
        (FR3.joint_names, [Point(1, [float("nan")] * 7)], ()),
        (FR3.joint_names, [Point(0, np.array(FR3.home) + 0.3), Point(1, FR3.home)], ("fr3_joint6", "0.30 rad")),
        (FR3.joint_names, [Point(5, np.array(FR3.home) + [0, 0, 0, 3.0, 0, 0, 0])], ("fr3_joint4", "-3.0421")),
        (FR3.joint_names, [Point(0.1, np.array(FR3.home) + 0.5)], "rad/s"),
        (FR3.joint_names, [Point(9999, FR3.home)], "600 s"),
    ],
)
def test_wrong_trajectories_are_refused_and_a_running_one_goes_on(simulator, joints, points, data):
    simulator.controller.follow(FR3.joint_names, [Point(1.0, np.array(FR3.home) + 0.001, STILL)])
    with raises_code("trajectory", data):
        simulator.controller.follow(joints, points)
    assert simulator.arm_moving
    finish(simulator)


@pytest.mark.parametrize(
    ("width", "force", "data"),
    [(0.2, 0, "0.200 m"), (-0.1, 0, "-0.100 m"), (float("nan"), 0, "nan"), (0.02, 1e4, "10000 N"), (0.02, -1, "-1")],
)
def test_wrong_gripper_commands_are_refused(simulator, width, force, data):
    with raises_code("trajectory", data):
        simulator.move_gripper(width, force)
    assert not simulator.busy


def test_the_gripper_reaches_its_width_with_limited_speed(simulator):
    simulator.move_gripper(0.03)
    began = simulator.time
    finish(simulator)
    assert simulator.joint_state()[0][7:].sum() == pytest.approx(0.03, abs=1e-3)
    assert simulator.time - began >= 0.5


def test_a_held_cube_stays_held_when_shaken(simulator):
    width, above, at = grasp_and_lift(simulator)
    assert width == pytest.approx(0.05, abs=1e-3)
    tool = simulator.model.site("tcp").id

    def offset():
        data = mujoco.MjData(simulator.model)
        data.qpos[:] = simulator.snapshot().qpos
        mujoco.mj_kinematics(simulator.model, data)
        return data.site_xmat[tool].reshape(3, 3).T @ (data.body("object_0").xpos - data.site_xpos[tool])

    lifted = offset()
    for k in range(4):
        go(simulator, above + (-1) ** k * np.array([0.25, 0, 0, 0, 0, 0.2, 0]), 0.5)
    assert np.abs(offset() - lifted).max() < 0.004
    go(simulator, above, 0.6)
    go(simulator, at, 1.0)
    simulator.move_gripper(0.08)
    finish(simulator)
    go(simulator, above, 1.0)
    assert simulator.object_pose(0)[0] == pytest.approx([0.5, 0.0, 0.0], abs=0.004)


def test_a_slip_fault_shows_once_and_only_once():
    simulator = make(CUBE + "faults:\n  - {kind: slip, object: 0}\n")
    width, _, _ = grasp_and_lift(simulator)
    assert width == pytest.approx(0.05, abs=1e-3)
    assert simulator.object_pose(0)[0][2] < 0.01, "the first grasp must slip"
    assert simulator.joint_state()[0][7:].sum() < 0.01
    simulator.move_gripper(0.08)
    finish(simulator)
    grasp_and_lift(simulator)
    assert simulator.object_pose(0)[0][2] > 0.1, "the second grasp must hold"
    simulator.reset()
    grasp_and_lift(simulator)
    assert simulator.object_pose(0)[0][2] < 0.01, "after a reset the fault is new"


def test_an_object_with_a_vanish_fault_is_elsewhere_when_first_grasped_at_and_only_then():
    simulator = make(CUBE + "faults:\n  - {kind: vanish, object: 0, to: [0.6, 0.3]}\n")
    grasp_and_lift(simulator)
    assert simulator.object_pose(0)[0] == pytest.approx([0.6, 0.3, 0.0], abs=2e-3)
    assert simulator.joint_state()[0][7:].sum() < 0.01, "the fingers must close on nothing"
    simulator.reset()
    assert simulator.object_pose(0)[0] == pytest.approx([0.5, 0.0, 0.0], abs=2e-3)
    grasp_and_lift(simulator)
    assert simulator.object_pose(0)[0][1] == pytest.approx(0.3, abs=2e-3), "after a reset the fault is new"
    simulator = make(CUBE + "faults:\n  - {kind: vanish, object: 0}\n")
    grasp_and_lift(simulator)
    x, _, z = simulator.object_pose(0)[0]
    assert z < -0.7 and x < -0.5, "without a place it ends on the floor"


def test_reset_brings_everything_back_and_time_goes_on(simulator):
    start, began = simulator.snapshot().qpos, simulator.time
    grasp_and_lift(simulator)
    late = simulator.time
    simulator.reset()
    assert simulator.snapshot().qpos == pytest.approx(start) and simulator.time == late > began
    assert not simulator.busy
    simulator.step(200)
    assert simulator.snapshot().qpos == pytest.approx(start, abs=1e-3)


def test_the_same_commands_give_the_same_states():
    ends = []
    for _ in range(2):
        simulator = make()
        grasp_and_lift(simulator)
        ends.append(simulator.snapshot())
    assert ends[0].time == ends[1].time and np.array_equal(ends[0].qpos, ends[1].qpos)


# ---- at rest --------------------------------------------------------------------------------------------------------


class Running:
    """A runner whose joint states are kept; `wait` until a condition holds for them."""

    def __init__(self, simulator, **options):
        self.states, self._heard = [], threading.Condition()
        self.runner = Runner(simulator, on_state=self._state, **options)
        self.runner.start()

    def _state(self, simulator, motion_ended):
        with self._heard:
            self.states.append((simulator.time, motion_ended, simulator.joint_state()[0]))
            self._heard.notify_all()

    def wait(self, condition):
        with self._heard:
            assert self._heard.wait_for(condition, 60.0)


@pytest.fixture
def running():
    running = Running(make(), real_time_factor=4.0, rest_rate=50.0)
    yield running
    running.runner.close()


def test_at_rest_time_goes_by_without_physics(running):
    running.wait(lambda: running.runner.resting)
    steps = running.runner.call(lambda s: s.fingerprint())
    count, time = len(running.states), running.states[-1][0]
    running.wait(lambda: len(running.states) > count + 5)
    assert running.runner.resting and running.runner.call(lambda s: s.fingerprint()) == steps
    times = [state[0] for state in running.states]
    assert times[-1] > time and all(a < b for a, b in itertools.pairwise(times))
    assert not any(ended for _, ended, _ in running.states)


def test_a_command_wakes_physics_at_once_and_it_rests_again(running):
    running.wait(lambda: running.runner.resting)
    target = np.array(FR3.home) + 0.05
    running.runner.call(lambda s: s.controller.follow(FR3.joint_names, [Point(0.3, target, STILL, STILL)]))
    running.wait(lambda: any(ended for _, ended, _ in running.states))
    assert np.abs(running.states[-1][2][:7] - target).max() < 0.01
    running.wait(lambda: running.runner.resting)


def test_whoever_lifts_an_object_wakes_physics(running):
    running.wait(lambda: running.runner.resting)

    def lift(simulator):
        simulator._data.qpos[simulator.model.joint(object_body(0)).qposadr[0] + 2] += 0.1

    running.runner.call(lift)
    running.wait(lambda: not running.runner.resting)
    running.wait(lambda: running.runner.resting)
    assert running.runner.call(lambda s: s.object_pose(0)[0][2]) == pytest.approx(0.0, abs=1e-3)  # it fell


@pytest.mark.parametrize("width", [0.0, 0.075])
def test_physics_rests_with_nothing_between_the_fingers_however_far_they_are_open(simulator, width):
    simulator.step(200)
    assert simulator.at_rest
    simulator.move_gripper(width)
    assert not simulator.at_rest
    finish(simulator)
    simulator.step(200)
    assert simulator.at_rest


# ---- a person's hands -----------------------------------------------------------------------------------------------

TWO = CUBE + "  - {kind: cube, colour: yellow, position: [0.5, 0.3], yaw: 0.5}\n"
NOWHERE = (float("nan"), 0.0, 0.0)


def ask(simulator, when, objects=(0,), places=(NOWHERE,), watch=0, camera=()):
    said = []
    what = read_intervention(simulator.scene, when, watch, objects, places, camera)
    return said, simulator.intervene(what, said.append)


def places(simulator):
    mujoco.mj_forward(simulator.model, simulator._data)
    return [simulator.object_pose(i)[0].round(3).tolist() for i in range(len(simulator.scene.objects))]


def test_a_person_moves_exchanges_and_takes_away_at_once_and_covers_the_camera():
    simulator = make(TWO)
    ask(simulator, "", places=[(0.4, -0.2, 0.1)])
    assert places(simulator)[0] == [0.4, -0.2, 0.1]
    simulator.step(500)
    assert places(simulator)[0] == pytest.approx([0.4, -0.2, 0.0], abs=2e-3), "it falls"
    one, two = places(simulator)
    ask(simulator, "", objects=(0, 1), places=())
    assert places(simulator) == [two, one]
    said, _ = ask(simulator, "", camera=(False,))
    assert places(simulator)[0][2] < -0.7 and said == [False]


@pytest.mark.parametrize(("moment", "step"), [("approach", 0), ("grasp", 2), ("lift", 3)])
def test_a_person_acts_at_moments_of_a_grasp(moment, step):
    simulator = make(TWO)
    told, _ = ask(simulator, moment, objects=(1,), camera=(True,))
    at = simulator.object_pose(0)[0]
    above, down = (reach(simulator, at + [0, 0, z]) for z in (0.13, 0.025))

    def close():
        simulator.move_gripper(0.0, 30.0)
        finish(simulator)

    steps = [
        lambda: go(simulator, above, 1.5),
        lambda: go(simulator, down, 1.0),
        close,
        lambda: go(simulator, above, 1.0),
    ]
    for number, do in enumerate(steps):
        assert bool(told) == (number > step), number
        do()
    assert told == [True] and places(simulator)[1][2] < -0.7


def test_a_moment_that_never_came_is_told_with_the_next_request_and_reset_forgets_it(simulator):
    _, before = ask(simulator, "carry")
    assert before is None
    _, before = ask(simulator, "lift")
    assert before.when.value == "carry"
    simulator.reset()
    assert ask(simulator, "lift")[1] is None


@pytest.mark.parametrize(
    ("fields", "data"),
    [
        ({"when": "soon"}, ("'soon'", "approach, grasp, lift")),
        ({"objects": (7,)}, "object 7"),
        ({"watch": 7}, "object 7"),
        ({"objects": (0, 0), "places": ()}, "[0, 0]"),
        ({"places": [NOWHERE, NOWHERE]}, ("1", "2")),
        ({"places": ()}, ()),
        ({"objects": (), "places": ()}, ()),
        ({"places": [(9.0, 0.0, 0.0)]}, "3 m"),
        ({"places": [(float("inf"), 0.0, 0.0)]}, "3 m"),
    ],
)
def test_what_no_person_can_do_is_refused(simulator, fields, data):
    with raises_code("scene", data):
        ask(simulator, **{"when": "", **fields})


KITCHEN = (
    "objects:\n  - {kind: cube, position: [0.2, -0.4]}\nfixtures:\n"
    "  - {kind: cabinet, position: [0.6, 0.2]}\n  - {kind: stove, position: [0.6, -0.2]}\n"
)


def test_a_person_opens_a_drawer_and_turns_a_knob():
    scene = parse_scene(KITCHEN, Path("kitchen.yaml"))
    simulator = Simulator(build_model(scene, load_camera()), scene)
    what = read_intervention(scene, "", 0, (), (), (), ["0/top_drawer", "1/knob"], [0.1, 9.0])
    simulator.intervene(what, lambda on: None)
    found = simulator.fixture_joints()
    assert found["fixture_0_top_drawer"] == pytest.approx(0.1)
    assert found["fixture_1_knob"] == pytest.approx(1.6, abs=1e-3), "as far as it turns"


@pytest.mark.parametrize(
    ("joints", "values", "data"),
    [
        (["0/drawer"], [0.1], ("'0/drawer'", "0/top_drawer, 0/bottom_drawer, 1/knob")),
        (["0/top_drawer"], [], ("1", "0")),
        (["0/top_drawer"], [math.nan], ()),
    ],
)
def test_what_a_person_cannot_do_to_furniture(joints, values, data):
    scene = parse_scene(KITCHEN, Path("kitchen.yaml"))
    with raises_code("scene", data):
        read_intervention(scene, "", 0, (), (), (), joints, values)

"""The force at the hand by the torques of the joints: what holds a drawer is felt before the arm is off its path."""

import math

import numpy as np
import pytest
from codes import raises_code
from doubles.kitchen import Kitchen

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.arms.joints import JointStates
from planweave.bodies.arm.hand_force import HandForce
from planweave.bodies.arm.input_checks import joint_state_fault
from planweave.core.base.failure import Code
from planweave.core.base.paths import find_config
from planweave.core.symbolic.world import Action, Literal
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.mujoco_model import build_model
from planweave.simulation.scene import load_scene, parse_scene
from planweave.simulation.simulator import Simulator

FR3 = load_robot()
TOP = "cabinet_top_drawer"
CABINET = (
    "objects:\n  - {kind: cube, position: [0.2, -0.4]}\ntable: {size: [1.8, 1.8]}\n"
    "fixtures:\n  - {kind: cabinet, size: [0.22, 0.24, 0.26], position: [0.72, 0.0]%s}\n"
)


class Pushed:
    """The simulated arm at rest, with a force at its hand."""

    def __init__(self, planning_scene):
        scene = load_scene("blocks")
        self.simulator = Simulator(build_model(scene, load_camera()), scene)
        self.planning_scene = planning_scene

    def state(self, force=(0.0, 0.0, 0.0), efforts=True):
        """Measured while something pushes at the hand with a force, N."""
        data = self.simulator._data
        data.xfrc_applied[self.simulator.model.body(FR3.gripper.link).id, :3] = force
        self.simulator.step(400)
        q, v = self.simulator.joint_state()
        torques = self.simulator.efforts()[:7] if efforts else None
        return ArmState(self.simulator.time, q[:7], v[:7], 0.08, efforts=torques)

    def watch(self, free, most=20.0):
        """Of a motion forwards, along x."""
        path = np.array([free.positions, free.positions])
        path[1, 3] += 0.02  # the elbow opens
        return HandForce(self.planning_scene).watch(free, path, most, "the hand pulled")


@pytest.fixture(scope="module")
def arm(planning_scene):
    return Pushed(planning_scene)


def felt(arm, force, efforts=True, most=20.0):
    """What a watch says of two states in which something pushes at the hand."""
    watch = arm.watch(arm.state(efforts=efforts), most)
    first, second = (watch(arm.state(force, efforts)) for _ in range(2))
    return first or second


def test_what_holds_the_hand_back_ends_a_motion(arm):
    way = _way(arm)
    ended = felt(arm, (-30.0 * way).tolist())
    assert ended.code is Code.COLLISION and "30 N" in ended.message and "contact_force" in ended.message


@pytest.mark.parametrize("share", [-0.5, 1.5])
def test_less_force_or_one_that_helps_ends_nothing(arm, share):
    assert felt(arm, (20.0 * share * _way(arm)).tolist()) is None


def test_what_presses_across_the_path_or_is_not_measured_ends_nothing(arm):
    way = _way(arm)
    assert felt(arm, (50.0 * np.cross(way, [0.0, 1.0, 0.0])).tolist()) is None
    assert felt(arm, (-50.0 * way).tolist(), efforts=False) is None
    assert felt(arm, (-50.0 * way).tolist(), most=0.0) is None


@pytest.mark.parametrize(("newtons", "most", "felt"), [(-20.0, 40.0, True), (20.0, 40.0, False), (-20.0, 0.0, None)])
def test_when_something_held_the_hand_back_last_is_noted(arm, newtons, most, felt):
    """None: nobody looks at it."""
    free = arm.state()
    watch, state = arm.watch(free, most), arm.state((newtons * _way(arm)).tolist())
    watch(state)
    assert watch.felt == (math.inf if felt is None else state.stamp if felt else free.stamp)


def _way(arm):
    """The direction of the path, (3,)."""
    free = arm.state()
    force, way = HandForce(arm.planning_scene), []
    for step in (0.0, 0.02):
        q = free.positions + step * np.eye(7)[3]
        way.append(force.at(q).site_xpos[force.tcp].copy())
    found = way[1] - way[0]
    return found / np.linalg.norm(found)


def kitchen(more="", feels=True):
    found = Kitchen(parse_scene(CABINET % more, find_config("scenes", "blocks").with_name("test.yaml")))
    found.arm.feels = feels
    found.world.wait_for_detections(0.0, 0.0)
    return found


@pytest.mark.gl
@pytest.mark.parametrize("feels", [True, False])
def test_a_locked_drawer_is_felt_where_the_arm_reports_its_torques(feels):
    locked = kitchen(", locked: [top_drawer]", feels)
    with raises_code("control_failed", TOP, "did not move at all") as failure:
        locked.skills.run(Action("open", (TOP,)))
    assert ("contact_force" in failure.value.message) is feels
    assert locked.true("top_drawer") < 0.001


@pytest.mark.gl
def test_a_drawer_that_moves_freely_is_opened_and_shut_with_that_force():
    free = kitchen()
    free.skills.run(Action("open", (TOP,)))
    assert free.true("top_drawer") > 0.14
    free.skills.run(Action("close", (TOP,)))
    assert free.true("top_drawer") < 0.003


@pytest.mark.gl
@pytest.mark.parametrize("feels", [True, False])
def test_a_drawer_that_stops_early_is_open_there_and_its_travel_is_remembered(feels):
    """Its box is shorter than the cabinet, which alone is seen."""
    short = kitchen(feels=feels)
    short.simulator.model.joint("fixture_0_top_drawer").range[1] = 0.11
    assert short.articulation(TOP).open_end > 0.17
    short.skills.run(Action("open", (TOP,)))
    assert short.world.world().holds(Literal("opened", (TOP,)))
    assert short.world.articulation(TOP).open_end == pytest.approx(0.11, abs=0.006)


@pytest.mark.gl
def test_a_drawer_that_stops_at_once_is_not_open_there():
    stuck = kitchen()
    stuck.simulator.model.joint("fixture_0_top_drawer").range[1] = 0.03
    with raises_code("control_failed", TOP):
        stuck.skills.run(Action("open", (TOP,)))


def test_efforts_count_where_a_message_has_those_of_the_whole_arm():
    names, q = [*FR3.joint_names, *FR3.gripper.joints], [*FR3.home, *[0.04] * len(FR3.gripper.joints)]
    torques = [float(k) for k in range(len(names))]
    assert JointStates().add(0.0, names, q, [], torques).efforts.tolist() == torques[:7]
    assert JointStates().add(0.0, names, q, []).efforts is None
    assert JointStates().add(0.0, names, q, [], [0.0] * len(names)).efforts is None
    assert JointStates().add(0.0, names, q, [], [np.nan, *torques[1:]]).efforts is None
    assert JointStates().add(0.0, names, q, [], torques[1:]) is None
    assert joint_state_fault(names, q, [], torques) == ""
    assert joint_state_fault(names, q, [], torques[1:]) and joint_state_fault(names, q, [], [np.inf, *torques[1:]])

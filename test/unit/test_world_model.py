"""What the body believes: noise is no news, an empty table is; limits that no arm gets around."""

import numpy as np
import pytest
from doubles.scripted_arm import ScriptedArm

from executor_node.failures import SkillFailureError
from executor_node.kinematics import Kinematics, downwards
from executor_node.planning_scene import PlanningScene
from executor_node.safety import GuardedArm, Safety
from executor_node.things import Thing
from executor_node.timing import Limits, time_path
from executor_node.workspace import load_workspace
from executor_node.world_model import Held, WorldModel
from planweave import franka
from planweave.domain import Domain
from planweave.failure import Code

HOME = np.array(franka.HOME)


def cube(name, x, y, **more):
    return Thing(name, "item", "cube", (x, y, 0.025), (0.05,) * 3, **more)


@pytest.fixture(scope="module")
def kinematics():
    return Kinematics(PlanningScene().model)


@pytest.fixture
def told():
    return []


@pytest.fixture
def world(kinematics, told):
    safety = Safety(kinematics, Limits())
    return WorldModel(Domain.load("tabletop"), load_workspace("tabletop"), kinematics, safety, told.append)


def test_an_empty_table_is_told_once(world, told):
    for stamp in (1.0, 2.0, 3.0, 4.0):
        world.on_detections([], stamp)
    assert not told  # nothing may be seen for certain yet
    for stamp in (5.0, 6.0):
        world.on_detections([], stamp)
    assert len(told) == 1 and world.world().stamp == 6.0


def test_noise_is_no_news_and_drift_is(world, told):
    rng = np.random.default_rng(0)
    for k in range(20):
        x, y = 0.5 + rng.uniform(-1e-3, 1e-3, 2)
        world.on_detections([cube("a", x, y - 0.5, yaw=rng.uniform(-0.05, 0.05))], 1.0 + k)
    assert len(told) == 1 and told[0].stamp == 1.0 and world.world().stamp == 20.0
    for k in range(10):
        world.on_detections([cube("a", 0.5 + 1e-3 * k, 0.0)], 30.0 + k)
    assert len(told) >= 3
    assert world.world().by_name["a"].position[0] == pytest.approx(0.509, abs=3e-3)
    assert world.things()[0].position[0] == pytest.approx(0.509)  # motion is planned with what was seen last


def test_a_change_that_no_pose_shows_is_news(world, told):
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    world.on_detections([cube("a", 0.5, 0.0, colour="red")], 2.0)
    world.on_joints(HOME)
    world.on_joints(HOME + 0.1)
    assert [w.revision for w in told] == sorted({w.revision for w in told}) and len(told) == 4


def test_what_is_held_goes_along_when_an_action_ends(world, told):
    world.on_detections([cube("a", 0.5, 0.0)], 1.0)
    world.on_joints(HOME)
    world.grasped(Held(cube("a", 0.5, 0.0), np.eye(4), 0.05))
    count = len(told)
    world.on_joints(HOME + 0.2)
    world.action_ended()
    assert len(told) > count and "holding(a)" in {str(f) for f in world.world().facts}
    assert world.world().by_name["a"].position[2] > 0.2


@pytest.fixture
def guarded(kinematics):
    arm = ScriptedArm()
    arm.forces = []
    grip = arm.grip
    arm.grip = lambda width, force, wait=True: (arm.forces.append(force), grip(width, force, wait))[1]
    limits = Limits().scaled(0.4, 0.8)
    return arm, GuardedArm(arm, Safety(kinematics, limits, (0.2, -0.5, 0.01), (0.7, 0.5, 0.8), 30.0))


def test_no_arm_presses_harder_than_allowed(guarded):
    arm, guard = guarded
    guard.grip(0.0, 120.0)
    guard.grip(0.2, 0.0, wait=False)
    assert arm.forces == [30.0, 1.0] and arm.grips[1] == franka.GRIPPER_MAX_WIDTH


@pytest.mark.parametrize(("speed", "words"), [(0.4, ""), (0.6, "beyond the speed limit of fr3_joint")])
def test_no_arm_goes_faster_than_allowed(guarded, speed, words):
    arm, guard = guarded
    trajectory = time_path(np.array([HOME, HOME + [0.5, 0, 0, 0, 0, 0, 0]]), Limits().scaled(speed, 0.8))
    if not words:
        guard.follow(trajectory)
        assert len(arm.sent) == 1
        return
    with pytest.raises(SkillFailureError, match=words) as failure:
        guard.follow(trajectory)
    assert failure.value.code is Code.SAFETY_STOP and not arm.sent


def test_no_arm_leaves_the_workspace(guarded, kinematics):
    arm, guard = guarded
    outside = kinematics.ranked(downwards(0.45, 0.6, 0.3, 0.0), HOME)[0]
    with pytest.raises(SkillFailureError, match="leaves the workspace at") as failure:
        guard.follow(time_path(np.array([HOME, outside]), Limits().scaled(0.4, 0.8)))
    assert failure.value.code is Code.SAFETY_STOP and not arm.sent

"""The simulated joint_trajectory_controller, stepped over drives that do as they are told, or as the test says."""

from __future__ import annotations

import numpy as np
import pytest
from codes import raises_code

from planweave.robots import load_robot
from planweave.simulation.trajectory import DECELERATION, Point
from planweave.simulation.trajectory_controller import (
    GOAL_TIME,
    GOAL_TOLERANCE,
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    TrajectoryController,
)

FR3 = load_robot()
HOME, STILL, STEP = np.array(FR3.home), np.zeros(7), 0.002
ASIDE = HOME + [0.5, 0, 0, 0, 0, 0, 0]


class Arm:
    """off: added to what the drives are told, rad; blocked: the first joint stays at `place`."""

    def __init__(self):
        self.controller = TrajectoryController(FR3, STEP, HOME)
        self.q, self.v, self.off, self.blocked = HOME.copy(), STILL.copy(), 0.0, False
        self.place = HOME[0]
        self.ends, self.speeds, self.seconds = [], [], 0.0

    def send(self, target=ASIDE, seconds=1.0, **options):
        points = [Point(seconds, target, STILL)]
        self.controller.follow(FR3.joint_names, points, done=self.ends.append, **options)

    def step(self, seconds=30.0):
        end = self.seconds + seconds
        while self.controller.moving and self.seconds < end:
            wanted = self.controller.update(self.q, self.v)
            if wanted is not None:
                self.q, self.v = wanted.positions + [self.off, 0, 0, 0, 0, 0, 0], wanted.velocities
                if self.blocked:
                    self.q[0], self.v = self.place, STILL
            self.speeds.append(float(np.abs(self.v).max()))
            self.seconds += STEP
        return [end.code for end in self.ends]


@pytest.fixture
def arm():
    return Arm()


def test_a_goal_succeeds_at_its_end_at_rest(arm):
    arm.send()
    assert arm.step() == [SUCCESSFUL] and arm.q == pytest.approx(ASIDE)
    assert arm.seconds == pytest.approx(1.0, abs=0.02)


def test_a_joint_off_its_path_aborts_the_goal_and_the_arm_brakes(arm):
    arm.send()
    arm.step(0.4)
    arm.blocked = True
    assert arm.step() == [PATH_TOLERANCE_VIOLATED]
    assert not arm.controller.moving
    wanted = arm.controller.desired
    assert not wanted.velocities.any(), "it holds where it was measured, not where it should have been"
    assert wanted.positions[0] == pytest.approx(HOME[0])


def test_an_arm_that_springs_back_after_it_was_stopped_is_held_where_it_comes_to_rest(arm):
    arm.send()
    arm.step(0.4)
    arm.blocked = True
    while not arm.ends:
        arm.step(STEP)
    arm.place = HOME[0] + 0.08
    arm.step()
    assert not arm.controller.moving and arm.controller.desired.positions == pytest.approx(arm.q)
    arm.controller.follow(FR3.joint_names, [Point(0.0, arm.q, STILL), Point(1.0, HOME, STILL)])  # else refused


def test_a_tolerance_of_the_goal_replaces_the_default_and_a_negative_one_is_none(arm):
    arm.blocked = True
    arm.send(tolerances=arm.controller.tolerances(path={FR3.joint_names[0]: 0.2}))
    away = 0.0
    while not arm.ends:
        away = abs(arm.controller.desired.positions[0] - HOME[0])
        arm.step(0.01)
    assert [end.code for end in arm.ends] == [PATH_TOLERANCE_VIOLATED] and away > 0.19
    free = {FR3.joint_names[0]: -1.0}
    arm = Arm()
    arm.blocked = True
    arm.send(tolerances=arm.controller.tolerances(path=free, goal=free))
    assert arm.step() == [SUCCESSFUL]
    with raises_code("trajectory", "nose"):
        arm.controller.tolerances(path={"nose": 1.0})


@pytest.mark.parametrize(("given", "waits"), [(0.0, GOAL_TIME), (0.5, 0.5)])
def test_an_arm_that_is_not_at_its_goal_in_time_aborts_the_goal(arm, given, waits):
    arm.off = 1.2 * GOAL_TOLERANCE
    arm.send(tolerances=arm.controller.tolerances(goal_time=given))
    assert arm.step() == [GOAL_TOLERANCE_VIOLATED]
    assert 1.0 + waits <= arm.seconds <= 1.0 + waits + 0.4


def test_an_arm_that_comes_late_to_its_goal_succeeds(arm):
    arm.off = 1.2 * GOAL_TOLERANCE
    arm.send()
    assert arm.step(2.0) == []
    arm.off = 0.0
    assert arm.step() == [SUCCESSFUL]


def test_a_newer_trajectory_takes_over_and_the_goal_ends(arm):
    arm.send()
    arm.step(0.5)
    before = arm.v.copy()
    arm.send(HOME, 1.5)
    assert [end.code for end in arm.ends] == [INVALID_GOAL]
    assert arm.ends[0].text == "Current goal preempted by new incoming action."
    arm.step(0.01)
    assert np.abs(arm.v - before).max() < 0.1
    assert arm.step() == [INVALID_GOAL, SUCCESSFUL] and arm.q == pytest.approx(HOME)


def test_a_trajectory_of_the_topic_takes_over_and_the_goal_stays(arm):
    arm.send()
    arm.step(0.5)
    arm.controller.follow(FR3.joint_names, [Point(1.5, HOME, STILL)])
    assert arm.ends == []
    assert arm.step() == [SUCCESSFUL] and arm.q == pytest.approx(HOME)


def test_a_cancelled_goal_has_no_result_and_decelerates(arm):
    arm.send()
    arm.step(0.5)
    speed, count = arm.speeds[-1], len(arm.speeds)
    arm.controller.cancel()
    assert arm.step() == []
    slowed = np.diff(arm.speeds[count - 1 :])
    assert slowed.min() / STEP >= -DECELERATION * 1.01 and arm.speeds[-1] == 0.0
    assert sum(v > 0 for v in arm.speeds[count:]) == pytest.approx(speed / DECELERATION / STEP, abs=2)


def test_a_deactivated_controller_aborts_its_goal_and_brakes(arm):
    arm.send()
    arm.step(0.5)
    arm.controller.deactivate()
    arm.step()
    assert [end.code for end in arm.ends] == [INVALID_GOAL] and "deactivate transition" in arm.ends[0].text
    assert arm.speeds[-1] == 0.0 and arm.q[0] < ASIDE[0] - 0.1


def test_speed_scaling_stretches_the_motion_and_zero_stands(arm):
    arm.controller.scaling = 0.3
    arm.send()
    assert arm.step() == [SUCCESSFUL]
    assert arm.seconds == pytest.approx(1.0 / 0.3, abs=0.05) and arm.q == pytest.approx(ASIDE)
    arm = Arm()
    arm.send()
    fastest = max(arm.speeds, default=0.0)
    arm.step(0.5)
    arm.controller.scaling = 0.0
    assert arm.step(5.0) == [] and arm.controller.moving
    held = arm.q.copy()
    assert arm.speeds[-1] == 0.0 and fastest == 0.0
    arm.step(1.0)
    assert arm.q == pytest.approx(held)
    arm.controller.scaling = 1.0
    assert arm.step() == [SUCCESSFUL]


def test_what_is_desired_and_which_point_comes_next(arm):
    points = [Point(0.5, HOME + 0.1, STILL), Point(1.0, HOME, STILL)]
    arm.controller.follow(FR3.joint_names, points, done=arm.ends.append)
    arm.step(0.25)
    assert arm.controller.index() == 0 and arm.controller.desired.positions == pytest.approx(arm.q)
    arm.step(0.5)
    assert arm.controller.index() == 1


def test_an_empty_trajectory_is_refused_and_the_goal_goes_on(arm):
    arm.send()
    arm.step(0.5)
    with raises_code("trajectory"):
        arm.controller.follow(FR3.joint_names, [])
    with raises_code("trajectory", "90 s"):
        arm.send(delay=90.0)
    assert arm.step() == [SUCCESSFUL]


def test_a_delayed_trajectory_waits_at_rest(arm):
    arm.send(delay=0.5)
    arm.step(0.49)
    assert arm.q == pytest.approx(HOME)
    assert arm.step() == [SUCCESSFUL] and arm.seconds == pytest.approx(1.5, abs=0.02)


def test_a_blocked_arm_that_is_cancelled_holds_where_it_is_and_starts_again_from_there(arm):
    arm.blocked = True
    arm.send(tolerances=arm.controller.tolerances(path={FR3.joint_names[0]: -1}))
    arm.step(0.5)
    assert abs(arm.controller.desired.positions[0] - arm.q[0]) > 0.1, "it is told to be elsewhere"
    arm.controller.cancel()
    arm.step()
    assert arm.controller.desired.positions == pytest.approx(arm.q, abs=0.01)
    arm.controller.follow(FR3.joint_names, [Point(0.0, arm.q, STILL), Point(1.0, HOME, STILL)])  # else refused

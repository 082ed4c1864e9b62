"""An arm behind a controller as ros2_control's: what it measures and hears while it moves, and what it leaves alone."""

import threading
import time

import numpy as np
import pytest
from doubles.trajectory_controller import FR3, PREEMPTED, PREEMPTED_BEFORE, TICK, TrajectoryController

from planweave.bodies.arm.arms import controlled
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.arms.follow import ActionFollower
from planweave.bodies.arm.arms.grippers import NoGripper
from planweave.bodies.arm.arms.moveit import MoveItFollower
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import End

HOME = np.array(FR3.home)
SLOW = JointLimits().scaled(0.15, 0.25)


def path_to(*offsets):
    return time_path(HOME + np.array([np.zeros(7), np.array(offsets)]), SLOW)


MOTION = path_to(0.3, 0.2, -0.3, 0.2, 0.4, -0.2, 0.5)
ELSEWHERE = path_to(-0.5, -0.3, 0.4, 0.0, -0.3, 0.5, -0.4)


class Bench:
    """An arm with its controller. through: the follower that reaches it."""

    def __init__(self, through=None, silence=0.3, **names):
        self.controller = TrajectoryController(lambda state: self.arm.on_state(state))
        names = RosNames(**names)
        follower = (through or ActionFollower)(self.controller, lambda t: t, FR3.joint_names, names)
        self.arm = ControlledArm(follower, NoGripper(), silence, FR3, names, self.controller)

    def moves(self, trajectory=MOTION):
        self.arm.begin(time.monotonic() + 60.0)
        self.arm.follow(trajectory)

    def fails(self, trajectory=MOTION):
        with pytest.raises(SkillFailureError) as caught:
            self.moves(trajectory)
        return caught.value

    def wait(self, condition):
        end = time.monotonic() + 30.0
        while not condition():
            assert time.monotonic() < end, "waited in vain"
            time.sleep(0.001)


@pytest.fixture
def briefly(monkeypatch):
    """Nobody waits long for an arm that is not heard."""
    monkeypatch.setattr(controlled, "_STANDING", 0.2)


@pytest.fixture
def bench():
    bench = Bench()
    with bench.controller:
        yield bench


class Status(MoveItFollower):
    """MoveIt's follower, whose process is this: it passes on the status of a goal and nothing else of it."""

    def __init__(self, controller, to_goal, joints, names):
        self.stop_process = lambda: None
        super().__init__(self, controller.cancel, names)
        self._controller = controller

    def send(self, message, take):
        goal = time_path(np.array(message["positions"])[[0, -1]], SLOW)
        words = {End.SUCCEEDED: "SUCCEEDED", End.ABORTED: "ABORTED", End.CANCELED: "PREEMPTED"}
        self._controller.send(goal, lambda ended: take({"status": words[ended.end]}))

    def stop(self):
        return self._cancel() if hasattr(self, "_cancel") else ""


# ---- nothing is stopped that is not its own -------------------------------------------------------------------------


def test_reading_a_state_stops_nobody_long_after_an_action(bench):
    """As /plan_motions does: the deadline of the last action is over, and somebody else moves the arm."""
    bench.moves()
    bench.arm.begin(time.monotonic() - 1.0)  # an action whose time ran out
    before = bench.controller.canceled
    bench.controller.preempt(ELSEWHERE)
    stamp = bench.arm.state().stamp
    bench.wait(lambda: bench.arm.state().stamp > stamp + 10 * TICK)
    assert bench.controller.canceled == before and bench.controller.foreign_goals


def test_after_a_cancel_a_state_is_still_read(bench):
    bench.arm.begin(time.monotonic() + 60.0)
    bench.arm.abort(Code.CANCELED, "the action was cancelled")
    assert bench.arm.state().positions is not None


def test_a_stop_while_nothing_of_ours_moves_leaves_the_motion_of_another_alone(bench):
    bench.controller.preempt(ELSEWHERE)
    bench.arm.abort(Code.SAFETY_STOP, "executor_node was deactivated")
    assert bench.arm.wait_standing() == "" and not bench.controller.canceled
    assert bench.controller.foreign_goals


def test_silence_while_reading_stops_nobody(bench):
    bench.controller.publishes = False
    bench.controller.preempt(ELSEWHERE)
    with pytest.raises(SkillFailureError) as caught:
        while True:
            bench.arm.state()
            time.sleep(0.01)
    assert caught.value.action_code is Code.CONTROL_FAILED and not bench.controller.canceled


def test_the_motion_of_another_client_keeps_ours_from_beginning(bench):
    bench.controller.foreign_goals.append(ELSEWHERE)
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP and not bench.controller.goals


# ---- whose motion it is ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("feedback", [True, False])
@pytest.mark.parametrize("names", ["", "/teleop, /moveit"])
def test_a_trajectory_of_another_publisher_ends_ours_within_a_small_way(bench, feedback, names):
    controller = bench.controller
    controller.feedback, controller.names = feedback, names
    moved = []

    def intrude():
        moved.append(controller.travelled)
        controller.publish(path_to(-0.4, 0.5, 0.4, -0.4, -0.4, 0.4, -0.4))

    controller.at[0.3] = intrude
    error = bench.fails()
    assert error.action_code is (Code.SAFETY_STOP if feedback or names else Code.COLLISION)
    assert controller.canceled and (names in error.message)


def test_an_intruder_that_is_heard_ends_the_motion_at_once(bench):
    controller = bench.controller
    controller.at[0.3] = lambda: threading.Thread(
        target=bench.arm.intruded, args=("/teleop published a trajectory on /fr3_arm_controller/joint_trajectory",)
    ).start()
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP and "/teleop" in error.message and controller.canceled
    bench.arm.intruded("/teleop published a trajectory")  # nothing moves any more
    assert controller.canceled == 1


@pytest.mark.parametrize("ended", [PREEMPTED, PREEMPTED_BEFORE])
def test_another_goal_that_takes_the_place_of_ours_is_told_and_stopped(bench, ended):
    bench.controller.names, bench.controller.preempted = "/other_client", ended
    bench.controller.at[0.3] = lambda: bench.controller.preempt(ELSEWHERE)
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP and "/other_client" in error.message
    assert error.action_code is Code.SAFETY_STOP and "/executor/recover" not in error.message
    assert bench.controller.canceled
    bench.wait(lambda: not bench.controller.foreign_goals)


def test_a_cancel_by_another_client_is_neither_ours_nor_an_error_of_the_controller(bench):
    bench.controller.at[0.3] = bench.controller.cancel
    assert bench.fails().action_code is Code.SAFETY_STOP


# ---- what ended it --------------------------------------------------------------------------------------------------


def test_a_controller_that_is_deactivated_by_somebody_is_told(bench):
    bench.controller.at[0.3] = bench.controller.deactivate
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP
    assert "/executor/recover" in error.message and "stop at" not in error.message
    again = bench.fails(time_path(np.array([bench.controller.q, HOME]), SLOW))
    assert again.action_code is Code.SAFETY_STOP and "/executor/recover" in again.message


def test_an_error_of_the_hardware_is_told_from_that_and_asks_for_the_stop_at_the_robot(bench, briefly):
    bench.controller.at[0.3] = bench.controller.fail_hardware
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP and "/executor/recover" in error.message and "stop at" in error.message
    with pytest.raises(SkillFailureError) as caught:
        bench.arm.state()
    assert "/executor/recover" in caught.value.message and "simulation_node" not in caught.value.message


def test_silence_of_the_arm_during_a_motion_asks_for_the_stop_at_the_robot(bench, briefly):
    def silence():
        bench.controller.publishes = False

    bench.controller.at[0.3] = silence
    error = bench.fails()
    assert error.action_code is Code.SAFETY_STOP and "stop at" in error.message
    assert bench.controller.canceled


@pytest.mark.parametrize(("kind", "there"), [("simulation", "simulation_node"), ("driver", "list_controllers")])
def test_silence_names_what_runs_there(kind, there):
    bench = Bench(kind=kind)
    with bench.controller:
        bench.controller.publishes = False
        with pytest.raises(SkillFailureError) as caught:
            while True:
                bench.arm.state()
    assert there in caught.value.message and "recover" not in caught.value.message


def test_silence_of_the_fingers_alone_is_not_that_of_the_arm(bench):
    def lose():
        bench.controller.fingers = False

    bench.controller.at[0.3] = lose
    error = bench.fails()
    assert error.action_code is Code.CONTROL_FAILED and "fingers" in error.message and bench.controller.canceled
    assert "stop at" not in error.message
    with pytest.raises(SkillFailureError) as caught:
        bench.arm.state()
    assert "fingers" in caught.value.message


# ---- speed scaling, contacts ----------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scaling", [0.3, 0.05])
@pytest.mark.parametrize("feedback", [True, False])
def test_a_speed_that_is_scaled_down_makes_a_motion_longer_and_no_failure(bench, scaling, feedback):
    bench.controller.scaling, bench.controller.feedback = scaling, feedback
    bench.moves()
    assert np.abs(bench.controller.q - MOTION.end).max() < 0.02 and not bench.controller.canceled


def test_a_speed_scaled_to_nothing_ends_after_the_grace(bench):
    def halt():
        bench.controller.scaling = 0.0

    bench.controller.at[0.3] = halt
    error = bench.fails()
    assert error.action_code is Code.CONTROL_FAILED and bench.controller.canceled


@pytest.mark.parametrize("through", [None, Status])
@pytest.mark.parametrize("blocked", [[1], list(range(7))])
def test_a_blocked_joint_is_a_contact_and_permanent(through, blocked):
    bench = Bench(through)
    with bench.controller:
        bench.controller.at[0.5] = lambda: bench.controller.blocked.extend(blocked)
        error = bench.fails()
    assert error.action_code is Code.COLLISION and error.permanent


def test_a_contact_that_the_controller_tolerates_is_seen_by_what_is_measured(bench):
    bench.controller.tolerances = False
    bench.controller.at[0.5] = lambda: bench.controller.blocked.append(4)
    error = bench.fails()
    assert error.action_code is Code.COLLISION and error.permanent and bench.controller.ends == [End.CANCELED]


def test_a_controller_that_begins_late_and_is_heard_before_the_arm_is_measured_is_not_held(bench):
    bench.controller.begins_after, bench.controller.lag = 0.6, 10
    bench.moves(time_path(HOME + np.array([np.zeros(7), np.full(7, 0.3)]), JointLimits()))
    assert bench.controller.ends == [End.SUCCEEDED]


def free_again(bench):
    """How far the arm goes once nothing blocks it any more, rad."""
    before = bench.controller.travelled
    bench.controller.blocked.clear()
    stamp = bench.arm.state().stamp
    bench.wait(lambda: bench.arm.state().stamp > stamp + 1.0)
    return bench.controller.travelled - before


def test_an_arm_that_is_held_on_its_path_is_a_contact_and_does_not_jump_when_it_is_free(bench):
    bench.controller.tolerances, bench.controller.scaling = False, 0.1
    bench.controller.at[0.5] = lambda: bench.controller.blocked.extend(range(7))
    error = bench.fails()
    assert error.action_code is Code.COLLISION and error.permanent
    assert bench.controller.ends == [End.CANCELED], "it is found while the controller goes on, not at the end"
    assert free_again(bench) < 0.01


@pytest.mark.parametrize("feedback", [True, False])
def test_a_controller_that_called_it_a_success_holds_the_arm_where_it_is(bench, feedback):
    bench.controller.tolerances, bench.controller.feedback = False, feedback
    bench.controller.at[MOTION.duration - 0.6] = lambda: bench.controller.blocked.extend(range(7))
    bench.fails()
    bench.wait(lambda: len(bench.controller.goals) == 2 or feedback)
    assert free_again(bench) < 0.01


def test_an_abort_after_such_a_success_holds_it_too(bench):
    bench.controller.tolerances, bench.controller.feedback = False, False
    bench.controller.at[MOTION.duration - 0.6] = lambda: bench.controller.blocked.extend(range(7))
    late = threading.Thread(target=bench.fails)
    late.start()
    bench.wait(lambda: bench.controller.ends)
    bench.arm.abort(Code.CANCELED, "enough")
    late.join(30.0)
    bench.wait(lambda: len(bench.controller.goals) == 2)
    assert free_again(bench) < 0.01


@pytest.mark.parametrize("how", ["deactivate", "fail_hardware"])
def test_through_moveit_a_controller_that_ends_is_no_contact(how):
    bench = Bench(Status)
    with bench.controller:
        bench.controller.at[1.0] = getattr(bench.controller, how)
        error = bench.fails()
    assert error.action_code is (Code.CONTROL_FAILED if how == "deactivate" else Code.SAFETY_STOP)
    assert "/executor/recover" in error.message

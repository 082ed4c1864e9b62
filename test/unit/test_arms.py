"""Arms behind actions: the good path, every error code, cancel, deadlines, silence, and joint states on two topics."""

import math
import threading
import time
import types

import numpy as np
import pytest
from codes import raises_code
from doubles.scripted_ports import ScriptedPort

from planweave.bodies.arm.arms import controlled
from planweave.bodies.arm.arms.base import ArmState, MotionResult
from planweave.bodies.arm.arms.choose import make_gripper
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.arms.follow import ERRORS, ActionFollower
from planweave.bodies.arm.arms.grippers import CommandGripper, FrankaGoals, FrankaGripper, NoGripper
from planweave.bodies.arm.arms.joints import JointStates
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.input_checks import joint_state_fault
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import JointLimits, time_path
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import End
from planweave.robots import load_robot

FR3 = load_robot()

HOME = np.array(FR3.home)
MOTION = time_path(np.array([HOME, HOME + 0.2]), JointLimits())


def state(stamp, q=HOME, v=0.0, width=0.08):
    return ArmState(stamp, np.array(q), np.full(7, v), width)


LOST = MotionResult(Code.GRASP_LOST, "it fell")


class Bench:
    """An arm whose controller, gripper and joint states are the test."""

    def __init__(self, home=False, silence=30.0):
        self.port = ScriptedPort("/fr3_arm_controller/follow_joint_trajectory")
        self.homing, self.moves, self.grasps = (
            ScriptedPort(f"/franka_gripper/{name}") for name in ("homing", "move", "grasp")
        )
        goals = FrankaGoals(
            lambda: "home", lambda width, speed: ("move", width, speed), lambda force, speed: ("grasp", force, speed)
        )
        gripper = FrankaGripper(self.homing, self.moves, self.grasps, goals, home)
        self.arm = ControlledArm(
            ActionFollower(self.port, lambda trajectory: trajectory), gripper, joint_state_timeout=silence
        )
        self.arm.on_state(state(0.0))
        self.arm.begin(time.monotonic() + 60.0)


@pytest.fixture
def bench():
    return Bench()


def in_thread(call, *args, **keywords):
    box = {}

    def target():
        try:
            box["value"] = call(*args, **keywords)
        except SkillFailureError as error:
            box["error"] = error

    thread = threading.Thread(target=target, daemon=True)
    thread.start()
    return thread, box


def until(condition):
    end = time.monotonic() + 60.0
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.001)


def ended(thread, box):
    thread.join(60.0)
    assert not thread.is_alive()
    return box.get("error")


def following(bench, **keywords):
    thread, box = in_thread(bench.arm.follow, MOTION, **keywords)
    until(lambda: bench.port.goals)
    return thread, box


def standing(bench, thread, q):
    """Let the arm stand there until a motion has ended."""
    stamp = MOTION.duration
    while thread.is_alive():
        stamp += 0.1
        bench.arm.on_state(state(stamp, q))
        time.sleep(0.001)


def test_a_motion_ends_when_the_controller_says_so_and_the_arm_is_there(bench):
    thread, box = following(bench)
    assert bench.port.goals == [MOTION]
    bench.arm.on_state(state(MOTION.duration + 0.1, MOTION.end))
    thread.join(0.05)
    assert thread.is_alive(), "the controller has not reported yet"
    bench.port.end(error_code=0, error_string="")
    assert ended(thread, box) is None and bench.port.canceled == 0


def test_a_report_of_success_far_from_the_end_is_not_believed(bench):
    thread, box = following(bench)
    bench.port.end(error_code=0)
    standing(bench, thread, HOME + 0.1)
    error = ended(thread, box)
    assert error.action_code is Code.CONTROL_FAILED and "0.100 rad away" in error.message and bench.port.canceled


@pytest.mark.parametrize("number", sorted(ERRORS))
def test_each_error_of_the_controller_is_said_and_stops_the_arm(bench, number):
    thread, box = following(bench)
    bench.port.end(End.ABORTED, error_code=number, error_string="joint 3, by 0.2 rad")
    until(lambda: bench.port.canceled)
    bench.arm.on_state(state(0.5))  # the driver lives
    error = ended(thread, box)
    code, text = ERRORS[number]
    assert error.action_code is code and text in error.message and "joint 3, by 0.2 rad" in error.message
    assert bench.port.canceled == 1


@pytest.mark.parametrize(
    ("end", "code", "words"),
    [
        (End.REJECTED, Code.SAFETY_STOP, "refused the trajectory"),
        (End.ABSENT, Code.SAFETY_STOP, "no controller offers /fr3_arm_controller/follow_joint_trajectory"),
        (End.CANCELED, Code.SAFETY_STOP, "another client of /fr3_arm_controller/follow_joint_trajectory"),
        (End.ABORTED, Code.CONTROL_FAILED, "the controller gave up"),
    ],
)
def test_goals_that_end_without_an_error_code(bench, end, code, words):
    thread, box = following(bench)
    bench.port.end(end)
    error = ended(thread, box)
    assert error.action_code is code and words in error.message and bench.port.canceled == 1


def test_rejected_and_absent_controllers_say_how_to_recover(bench):
    for end in (End.REJECTED, End.ABSENT):
        bench.port.goals.clear()
        thread, box = following(bench)
        bench.port.end(end)
        assert "ros2 service call /executor/recover" in ended(thread, box).message
    port, told = ScriptedPort("/left/follow"), []
    names = RosNames(recover="/left/executor/recover")
    ActionFollower(port, lambda trajectory: trajectory, FR3.joint_names, names).start(MOTION, told.append, None)
    port.end(End.ABSENT)
    assert "ros2 service call /left/executor/recover" in told[0].message
    driver = RosNames(kind="driver")
    ActionFollower(port, lambda trajectory: trajectory, FR3.joint_names, driver).start(MOTION, told.append, None)
    port.end(End.REJECTED)
    assert told[1].message.endswith(
        "; see that the driver runs and its controller is active: ros2 control list_controllers"
    )


def test_cancel_reaches_the_controller_before_abort_returns(bench):
    thread, box = following(bench)
    bench.arm.abort(Code.CANCELED, "enough")
    assert bench.port.canceled == 1
    bench.port.end(End.CANCELED)
    assert ended(thread, box).message == "enough"
    with raises_code("canceled", "enough"):
        bench.arm.follow(MOTION)
    assert len(bench.port.goals) == 1, "nothing is sent after an abort"


def test_the_deadline_of_the_action_stops_the_arm(bench):
    bench.arm.begin(time.monotonic() + 0.1)
    thread, box = following(bench)
    until(lambda: bench.port.canceled)
    bench.port.end(End.CANCELED)
    assert ended(thread, box).action_code is Code.TIMEOUT


def test_a_motion_that_begins_after_the_stop_is_waited_for(bench, monkeypatch):
    """The stop reaches the controller before it has accepted the goal, which it then follows until it cancels that."""
    monkeypatch.setattr(controlled, "_TOLD", 60.0)
    monkeypatch.setattr(controlled, "_STANDING", 60.0)
    thread, box = following(bench)
    bench.arm.abort(Code.SAFETY_STOP, "enough")
    bench.arm.on_state(state(0.5))
    thread.join(0.2)
    assert thread.is_alive(), "it stands, and nobody has told that the motion is over"
    bench.arm.on_state(state(0.6, HOME + 0.01, v=0.1))
    bench.port.end(End.CANCELED)
    thread.join(0.2)
    assert thread.is_alive(), "it brakes"
    bench.arm.on_state(state(0.8, HOME + 0.02))
    assert ended(thread, box).message == "enough"


@pytest.fixture
def briefly(monkeypatch):
    """Nobody waits long for an arm that is not seen standing."""
    monkeypatch.setattr(controlled, "_STANDING", 0.2)


def test_stale_joint_states_stop_the_arm(briefly):
    bench = Bench(silence=0.5)
    thread, box = following(bench)
    error = ended(thread, box)
    assert error.action_code is Code.SAFETY_STOP and " 0.5 s:" in error.message and bench.port.canceled


def test_silence_is_waited_for_once_until_the_controller_is_heard_again(bench):
    for silence in (0.05, 1e5):  # s: a second wait would be long
        bench.arm._joint_state_timeout, bench.arm._arrived_at = silence, float("-inf")
        bench.arm.begin(float("inf"))
        assert ended(*in_thread(bench.arm.state)).action_code is Code.CONTROL_FAILED
    bench.arm.on_state(state(1.0))
    assert bench.arm.state().stamp == 1.0


def test_a_controller_that_dies_silently(bench):
    thread, box = following(bench)
    standing(bench, thread, MOTION.end)
    error = ended(thread, box)
    assert error.action_code is Code.CONTROL_FAILED and " 3 s " in error.message and bench.port.canceled


def test_an_object_that_slips_stops_the_arm(bench):
    thread, box = following(bench, watch=lambda s: LOST if s.width < 0.01 else None)
    bench.arm.on_state(state(0.2, HOME + 0.01, width=0.0))
    until(lambda: bench.port.canceled)
    bench.port.end(End.CANCELED)
    error = ended(thread, box)
    assert error.action_code is Code.GRASP_LOST and error.message == "it fell" and bench.port.canceled == 1


def test_a_late_report_of_an_old_motion_does_not_end_a_new_one(bench, briefly):
    first, box = following(bench)
    late = bench.port._done
    bench.arm.abort(Code.CANCELED, "enough")
    assert ended(first, box).action_code is Code.SAFETY_STOP, "no joint states: nobody knows whether it stands"
    bench.arm.begin(time.monotonic() + 60.0)
    bench.port.goals.clear()
    second, box = following(bench)
    bench.port._done, new = late, bench.port._done
    bench.port.end(End.ABORTED, error_code=-5)
    bench.arm.on_state(state(MOTION.duration + 0.1, MOTION.end))
    second.join(0.05)
    assert second.is_alive()
    bench.port._done = new
    bench.port.end(error_code=0)
    assert ended(second, box) is None


@pytest.mark.parametrize("way", [0.031, -0.6])
def test_a_motion_that_begins_elsewhere_is_refused(bench, way):
    elsewhere = HOME.copy()
    elsewhere[3] += way
    with raises_code("control_failed", f"{abs(way):.3f} rad", "fr3_joint4"):
        bench.arm.follow(time_path(np.array([elsewhere, HOME]), JointLimits()))
    assert not bench.port.goals
    bench.arm.on_state(state(0.1, HOME + 0.029))
    following(bench)


def test_joint_states_that_jump_stop_a_motion(bench):
    thread, box = following(bench)
    jumped = HOME + 0.05 + 0.45 * np.eye(7)[0]
    bench.arm.on_state(state(0.02, HOME + 0.05, v=1.0))
    bench.arm.on_state(state(0.04, jumped, v=1.0))
    bench.arm.on_state(state(0.3, jumped))
    error = ended(thread, box)
    assert error.action_code is Code.SAFETY_STOP and bench.port.canceled
    assert "fr3_joint1 by 0.450 rad in 0.020 s" in error.message


def test_a_stop_that_does_not_work_is_said(bench, briefly):
    thread, box = following(bench)
    bench.port.unreached = "nobody offers /fr3_arm_controller/follow_joint_trajectory, so the stop was not delivered"
    bench.arm.abort(Code.CANCELED, "enough; the arm was stopped")

    def moving():
        stamp = 0.0
        while thread.is_alive():
            stamp += 0.02
            bench.arm.on_state(state(stamp, HOME + 0.01, v=0.5))
            time.sleep(0.02)

    threading.Thread(target=moving, daemon=True).start()
    error = ended(thread, box)
    assert error.message.startswith("enough; the arm was stopped. But nobody offers /fr3_arm_controller")
    assert " 0.2 s " in error.message
    assert error.action_code is Code.SAFETY_STOP, "canceled says that it stands"


def test_a_stop_is_sent_again_while_the_arm_moves_and_nothing_begins_until_it_stands(bench, monkeypatch):
    monkeypatch.setattr(controlled, "_AGAIN", 0.0)
    monkeypatch.setattr(controlled, "_STANDING", 0.05)
    monkeypatch.setattr(controlled, "_TOLD", 0.0)
    thread, box = following(bench)
    bench.arm.on_state(state(0.02, HOME + 0.01, v=0.5))
    bench.arm.abort(Code.CANCELED, "enough")
    assert ended(thread, box).action_code is Code.SAFETY_STOP and bench.port.canceled > 1
    sent = bench.port.canceled
    bench.arm.on_state(state(0.04, HOME + 0.02, v=0.5))
    assert bench.port.canceled == sent + 1 and "the arm still moves" in bench.arm.still_moves
    bench.arm.on_state(state(0.5, HOME + 0.02))
    bench.arm.on_state(state(0.7, HOME + 0.02, v=0.5))
    assert bench.port.canceled == sent + 1 and not bench.arm.still_moves, "a person may move an arm that stood"


def test_waiting_for_joint_states_ends_with_an_abort(bench):
    bench.arm._arrived_at = float("-inf")
    thread, box = in_thread(bench.arm.state)
    bench.arm.abort(Code.CANCELED, "enough")
    assert ended(thread, box).action_code is Code.CANCELED


def test_a_stop_without_joint_states_is_no_stop_that_was_seen(bench, briefly):
    thread, box = following(bench)
    bench.arm.on_state(state(0.02, HOME + 0.01, v=0.5))
    bench.arm.abort(Code.CANCELED, "enough")
    assert ended(thread, box).action_code is Code.SAFETY_STOP


# ---- grippers -----------------------------------------------------------------------------------------------------


def test_closing_is_a_grasp_and_opening_a_move(bench):
    thread, box = in_thread(bench.arm.grip, 0.0, 20.0)
    until(lambda: bench.grasps.goals)
    assert bench.grasps.goals == [("grasp", 20.0, 0.1)] and not bench.moves.goals
    bench.grasps.end(success=True, error="")
    thread.join(0.05)
    assert thread.is_alive(), "the opening measured then may still be the old one"
    bench.arm.on_state(state(0.5, width=0.043))
    assert ended(thread, box) is None and box["value"] == 0.043
    thread, box = in_thread(bench.arm.grip, 0.06, 20.0)
    until(lambda: bench.moves.goals)
    assert bench.moves.goals == [("move", 0.06, 0.1)]
    bench.moves.end(success=True, error="")
    bench.arm.on_state(state(1.0, width=0.06))
    assert ended(thread, box) is None and box["value"] == 0.06


def test_the_next_movement_of_the_fingers_waits_for_the_last(bench):
    assert bench.arm.grip(0.06, 20.0, wait=False) == 0.08
    thread, box = in_thread(bench.arm.grip, 0.0, 20.0)
    thread.join(0.05)
    assert not bench.grasps.goals
    bench.moves.end(success=True)
    bench.arm.on_state(state(0.5, width=0.06))
    until(lambda: bench.grasps.goals)
    bench.grasps.end(success=True)
    bench.arm.on_state(state(1.0, width=0.02))
    assert ended(thread, box) is None and box["value"] == 0.02


def test_the_hand_is_homed_once_before_its_first_movement():
    bench = Bench(home=True)
    thread, box = in_thread(bench.arm.grip, 0.06, 20.0)
    until(lambda: bench.homing.goals)
    assert not bench.moves.goals
    bench.homing.end(success=True)
    assert bench.moves.goals == [("move", 0.06, 0.1)]
    bench.moves.end(success=True)
    bench.arm.on_state(state(9.0, width=0.06))
    assert ended(thread, box) is None
    bench.arm.grip(0.0, 20.0, wait=False)
    assert len(bench.homing.goals) == 1 and bench.grasps.goals


def test_homing_that_fails_moves_nothing_and_is_tried_again():
    bench = Bench(home=True)
    thread, box = in_thread(bench.arm.grip, 0.06, 20.0)
    until(lambda: bench.homing.goals)
    bench.homing.end(End.ABORTED, success=False, error="libfranka: gripper: Connection timeout")
    error = ended(thread, box)
    assert error.action_code is Code.CONTROL_FAILED and "Connection timeout" in error.message and not bench.moves.goals
    bench.arm.grip(0.06, 20.0, wait=False)
    assert len(bench.homing.goals) == 2


def test_an_abort_during_homing_sends_no_movement_after_it():
    bench = Bench(home=True)
    bench.arm.grip(0.06, 20.0, wait=False)
    bench.arm.abort(Code.CANCELED, "enough")
    assert bench.homing.canceled == bench.moves.canceled == bench.grasps.canceled == 1
    bench.homing.end(success=True)
    assert not bench.moves.goals


@pytest.mark.parametrize(
    ("end", "result", "code", "words"),
    [
        (End.ABSENT, {}, Code.CONTROL_FAILED, "nobody offers /franka_gripper/move"),
        (End.REJECTED, {}, Code.CONTROL_FAILED, "refused /franka_gripper/move"),
        (End.ABORTED, {"success": False, "error": "blocked"}, Code.CONTROL_FAILED, "blocked"),
        (End.CANCELED, {}, Code.SAFETY_STOP, "another client"),
        (End.SUCCEEDED, {"success": False, "error": ""}, Code.CONTROL_FAILED, "not homed"),
    ],
)
def test_each_way_a_movement_of_the_fingers_fails(bench, end, result, code, words):
    thread, box = in_thread(bench.arm.grip, 0.06, 20.0)
    until(lambda: bench.moves.goals)
    bench.moves.end(end, **result)
    error = ended(thread, box)
    assert error.action_code is code and words in error.message


def test_a_gripper_that_never_answers_is_stopped(bench):
    thread, box = in_thread(bench.arm.grip, 0.06, 20.0)
    until(lambda: bench.moves.goals)
    bench.arm.on_state(state(30.0))
    error = ended(thread, box)
    assert error.action_code is Code.CONTROL_FAILED and " 25 s;" in error.message and bench.moves.canceled


@pytest.mark.parametrize(
    ("end", "stalled", "fine"),
    [(End.SUCCEEDED, False, True), (End.SUCCEEDED, True, True), (End.ABORTED, True, True), (End.ABORTED, False, False)],
)
def test_fingers_that_stall_on_an_object_are_an_end_of_a_gripper_command(end, stalled, fine):
    port = ScriptedPort("/fr3_gripper_controller/gripper_cmd")
    outcomes = []
    CommandGripper(port, lambda width, force: (width, force)).start(0.0, 15.0, outcomes.append)
    port.end(end, stalled=stalled, reached_goal=not stalled)
    assert port.goals == [(0.0, 15.0)] and (outcomes[0].code is Code.SUCCESS) is fine


@pytest.mark.parametrize(("kind", "parallel"), [("command", False), ("parallel", True)])
def test_the_parameter_chooses_the_action_of_the_fingers(kind, parallel):
    asked = []

    def gripper_command(parallel):
        asked.append(parallel)
        return ScriptedPort("/fingers/gripper_cmd"), lambda width, force: (width, force)

    made = make_gripper(kind, types.SimpleNamespace(gripper_command=gripper_command), home=False)
    assert isinstance(made, CommandGripper) and asked == [parallel]


def test_without_a_gripper_the_measured_opening_stays():
    arm = ControlledArm(ActionFollower(ScriptedPort(), lambda t: t), NoGripper())
    arm.on_state(state(0.0, width=0.07))
    arm.begin(time.monotonic() + 5.0)
    assert arm.grip(0.0, 20.0) == 0.07


# ---- joint states -------------------------------------------------------------------------------------------------


def test_arm_and_fingers_on_topics_of_their_own_make_one_state():
    joints = JointStates()
    q = list(FR3.home)
    assert not joints.add(1.0, FR3.joint_names, q, [0.1] * 7).fingers, "the fingers have not been heard"
    assert joints.add(1.05, FR3.gripper.joints, [0.02, 0.021], []) is None, "a state comes with the arm's joints"
    seen = joints.add(1.1, FR3.joint_names, q, [0.1] * 7)
    assert seen.fingers and seen.stamp == 1.1 and seen.width == pytest.approx(0.041) and seen.velocities[3] == 0.1
    np.testing.assert_allclose(seen.positions, q)


def test_one_message_in_any_order_with_other_joints_too():
    names = ["wheel", *FR3.gripper.joints, *reversed(FR3.joint_names)]
    seen = JointStates().add(3.0, names, [9.0, 0.01, 0.01, *reversed(FR3.home)], [])
    np.testing.assert_allclose(seen.positions, FR3.home)
    assert seen.width == pytest.approx(0.02) and seen.still


@pytest.mark.parametrize(
    "broken",
    [
        lambda names, q: (names[:6], q[:6]),
        lambda names, q: (names, q[:6]),
        lambda names, q: (names, [*q[:6], math.nan]),
    ],
)
def test_messages_that_make_no_state(broken):
    joints = JointStates()
    joints.add(1.0, FR3.gripper.joints, [0.02, 0.02], [])
    names, q = broken(list(FR3.joint_names), list(FR3.home))
    assert joints.add(1.0, names, q, []) is None


def test_the_state_of_fingers_that_fell_silent_is_not_measured():
    joints = JointStates()
    joints.add(1.0, FR3.gripper.joints, [0.02, 0.02], [])
    assert joints.add(2.5, FR3.joint_names, FR3.home, []).fingers
    assert not joints.add(3.5, FR3.joint_names, FR3.home, []).fingers


@pytest.mark.parametrize("other", [[], [math.nan]])
def test_one_finger_stands_for_both_where_the_other_mimics_it(other):
    joints = JointStates()
    joints.add(1.0, FR3.gripper.joints[: 1 + len(other)], [0.02, *other], [0.01, *other])
    seen = joints.add(1.0, FR3.joint_names, FR3.home, [])
    assert seen.fingers and seen.width == pytest.approx(0.04) and seen.finger_speed == pytest.approx(0.02)


def test_fingers_without_a_position_are_not_measured():
    joints = JointStates()
    joints.add(1.0, FR3.gripper.joints[1:], [math.nan], [])
    assert not joints.add(1.0, FR3.joint_names, FR3.home, []).fingers


def test_an_arm_in_two_messages_makes_one_state():
    joints, q = JointStates(), list(FR3.home)
    joints.add(1.0, FR3.gripper.joints, [0.02, 0.02], [])
    assert joints.add(1.0, FR3.joint_names[:3], q[:3], [0.0] * 3) is None and FR3.joint_names[3] in joints.problem
    seen = joints.add(1.01, FR3.joint_names[3:], q[3:], [0.0] * 4)
    assert seen.stamp == 1.01 and seen.positions == pytest.approx(q) and not joints.problem
    assert joints.add(1.2, FR3.joint_names[:3], q[:3], [0.0] * 3) is None, "the other half is too old"


@pytest.mark.parametrize(
    "velocities", [[], [math.nan] * 7, [0.0] * 7]
)  # NaN: joint_state_broadcaster; 0: mock hardware
def test_an_arm_without_velocities_is_seen_to_move(velocities):
    assert joint_state_fault(FR3.joint_names, FR3.home, velocities) == ""
    assert joint_state_fault(FR3.joint_names, FR3.home, [math.inf] * 7)
    joints, q = JointStates(), np.array(FR3.home)
    assert joints.add(1.0, FR3.joint_names, q, velocities).still
    moving = joints.add(1.01, FR3.joint_names, q + 0.005, velocities)
    assert moving.velocities == pytest.approx([0.5] * 7) and not moving.still
    assert joints.add(1.02, FR3.joint_names, q + 0.005, velocities).still

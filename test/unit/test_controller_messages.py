"""Goals for real controllers, built on message classes after the packages' own definitions; and error recovery."""

import sys
import types

import numpy as np
import pytest
from codes import raises_code
from doubles import ros_messages

from planweave.bodies.arm.arms.follow import ERRORS, ActionFollower
from planweave.bodies.arm.failures import SkillFailureError
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import ActionEnd, End
from planweave_ros import controllers


@pytest.fixture
def messages(monkeypatch):
    ros_messages.install(lambda name, module: monkeypatch.setitem(sys.modules, name, module))


def test_a_trajectory_goal(messages):
    q = np.arange(14.0).reshape(2, 7)
    message = controllers.joint_trajectory(["a"] * 7, [0.0, 1.25], q, q / 10)
    goal = controllers.follow_goal(message)
    points = goal.trajectory.points
    assert list(points[1].positions) == list(q[1]) and points[1].velocities[6] == 1.3
    assert (points[1].time_from_start.sec, points[1].time_from_start.nanosec) == (1, 250_000_000)


def test_the_feedback_of_a_trajectory_tells_what_the_controller_wants_by_the_names_of_joints(messages):
    from control_msgs.action import FollowJointTrajectory
    from trajectory_msgs.msg import JointTrajectoryPoint

    wanted, names = [], [f"joint{i}" for i in range(3)]
    sent = types.SimpleNamespace(send=lambda goal, done, feedback: sent.__dict__.update(feedback=feedback))
    ActionFollower(sent, lambda t: t, names).start(None, print, wanted.append)
    point = JointTrajectoryPoint(positions=[2.0, 1.0, 0.0])
    sent.feedback(FollowJointTrajectory.Feedback(joint_names=names[::-1], desired=point))
    sent.feedback(FollowJointTrajectory.Feedback(joint_names=names[:1], desired=point))  # of other joints
    assert [list(row) for row in wanted] == [[0.0, 1.0, 2.0]]


def test_goals_of_the_grippers(messages):
    assert controllers.gripper_command_goal(0.03, 15.0).command.position == 0.03
    assert controllers.gripper_command_goal(0.03, 15.0).command.max_effort == 15.0
    fingers = controllers.parallel_gripper_goal("fr3_finger_joint1", 0.03, 15.0).command
    assert (list(fingers.name), list(fingers.position), list(fingers.effort)) == (["fr3_finger_joint1"], [0.03], [15.0])
    assert not fingers.velocity, "as fast as the controller allows"
    move = controllers.move_goal(0.05, 0.1)
    assert (move.width, move.speed) == (0.05, 0.1)
    grasp = controllers.grasp_goal(20.0, 0.1)
    assert (grasp.width, grasp.force, grasp.speed) == (0.0, 20.0, 0.1)
    # libfranka: success where width - inner < opening < width + outer
    assert grasp.width - grasp.epsilon.inner < 0.0 and grasp.width + grasp.epsilon.outer > 0.079
    controllers.homing_goal()


@pytest.mark.parametrize(("parallel", "action"), [(True, "ParallelGripperCommand"), (False, "GripperCommand")])
def test_the_action_of_the_fingers_is_that_of_their_controller(messages, monkeypatch, parallel, action):
    from planweave.robots import load_robot
    from planweave_ros import arm_ports

    monkeypatch.setattr(arm_ports, "ActionPort", lambda node, kind, name: (kind, name))
    node = types.SimpleNamespace(create_publisher=lambda *_: None)
    ports = arm_ports.ArmPorts(node, arm_ports.ControllerNames("/arm", "/fingers", "/hand"), load_robot())
    (kind, name), to_goal = ports.gripper_command(parallel)
    assert name == "/fingers/gripper_cmd" and isinstance(to_goal(0.08, 20.0), kind.Goal)
    assert kind is getattr(sys.modules["control_msgs.action"], action)
    position = to_goal(0.08, 20.0).command.position
    assert (position[0] if parallel else position) == pytest.approx(0.04), "of one finger"


def test_the_errors_of_a_trajectory_are_all_known(messages):
    from control_msgs.action import FollowJointTrajectory

    result = FollowJointTrajectory.Result
    assert set(ERRORS) == {
        result.INVALID_GOAL,
        result.INVALID_JOINTS,
        result.OLD_HEADER_TIMESTAMP,
        result.PATH_TOLERANCE_VIOLATED,
        result.GOAL_TOLERANCE_VIOLATED,
    }
    assert result.SUCCESSFUL == 0


@pytest.mark.parametrize(
    ("package", "words"),
    [("control_msgs", "sudo apt install ros-lyrical-control-msgs"), ("franka_msgs", "build franka_ros2")],
)
def test_a_package_that_is_missing_says_how_to_get_it(monkeypatch, package, words):
    monkeypatch.setenv("ROS_DISTRO", "lyrical")
    monkeypatch.setitem(sys.modules, f"{package}.action", None)
    with raises_code("configuration", package, words):
        controllers.interface(package, "action", "Anything")


def test_the_double_refuses_wrong_fields_and_types(messages):
    from franka_msgs.action import Grasp, Move

    for wrong in (
        lambda: Move.Goal(widht=0.1),
        lambda: Move.Goal(width=1),
        lambda: setattr(Grasp.Goal(), "effort", 1.0),
        lambda: setattr(Grasp.Goal(), "epsilon", 0.1),
    ):
        with pytest.raises(AssertionError):
            wrong()


# ---- error recovery -------------------------------------------------------------------------------------------------


class FakeNode:
    """A node whose services answer at once; `answers` by service, None: nobody offers it. hangs: no answer comes."""

    def __init__(self):
        self.calls, self.answers, self.hangs = [], {}, False

    def create_client(self, service, name, callback_group=None):
        def call_async(request):
            self.calls.append((name, request))
            response = service.Response()
            good = {"success": True} if "collision" in name else {"ok": True}
            for key, value in self.answers.get(name, good).items():
                setattr(response, key, value)
            future = types.SimpleNamespace(result=lambda: response, done=lambda: not self.hangs)
            future.add_done_callback = lambda done: self.hangs or done(future)
            return future

        return types.SimpleNamespace(
            srv_name=name,
            call_async=call_async,
            remove_pending_request=lambda future: None,
            service_is_ready=lambda: self.answers.get(name, 1) is not None,
        )


@pytest.fixture
def recovery(messages, monkeypatch):
    from planweave_ros import recovery

    ends = [End.SUCCEEDED]

    class Port:
        def __init__(self, node, action, name):
            assert name == "action_server/error_recovery"

        def send(self, goal, done):
            done(ActionEnd(ends[-1], "action_server/error_recovery"))

    monkeypatch.setattr(recovery, "ActionPort", Port)
    node = FakeNode()
    made = recovery.Recovery(node, "/fr3_arm_controller", [30.0] * 7, [20.0] * 6)
    return types.SimpleNamespace(run=made.run, prepare=made.prepare, node=node, ends=ends)


def test_recovery_goes_in_the_order_that_the_driver_needs(recovery):
    good, words = recovery.run()
    assert good and "active again" in words
    (first, state), *rest = recovery.node.calls
    assert first == "controller_manager/set_hardware_component_state"
    assert (state.name, state.target_state.label) == ("FrankaHardwareInterface", "active")
    made_ready(rest)


def made_ready(calls):
    """The thresholds of contacts are set while the arm's controller is inactive."""
    (first, off), (second, contact), (third, on) = calls
    assert first == third == "controller_manager/switch_controller"
    assert off.deactivate_controllers == ["fr3_arm_controller"] and not off.activate_controllers
    assert "fr3_arm_controller" in on.activate_controllers and not on.deactivate_controllers and on.strictness == 1
    assert second == "service_server/set_full_collision_behavior"
    for phase in ("acceleration", "nominal"):
        assert getattr(contact, f"upper_torque_thresholds_{phase}") == [30.0] * 7
        assert getattr(contact, f"upper_force_thresholds_{phase}") == [20.0] * 6
        assert max(getattr(contact, f"lower_force_thresholds_{phase}")) < 20.0


def test_before_its_first_motion_the_arm_is_made_ready_once(recovery):
    assert recovery.prepare() == recovery.prepare() == ""
    made_ready(recovery.node.calls)


def test_an_arm_whose_thresholds_cannot_be_set_stays_inactive(recovery):
    service = "service_server/set_full_collision_behavior"
    for answer, words in (
        ({"success": False, "error": "out of range"}, "out of range"),
        (None, "is franka_ros2 running"),
    ):
        recovery.node.answers[service] = answer
        assert words in recovery.prepare()
        assert not any(getattr(request, "activate_controllers", []) for _, request in recovery.node.calls)
    del recovery.node.answers[service]
    assert recovery.prepare() == ""


def test_waiting_for_a_controller_manager_that_does_not_answer_ends_with_the_action(recovery):
    def over():
        raise SkillFailureError(Code.CANCELED, "enough")

    recovery.node.hangs = True
    with raises_code("canceled"):
        recovery.prepare(over)
    recovery.node.hangs = False
    assert recovery.prepare() == "", "the next action begins anew"


@pytest.mark.parametrize(
    ("end", "words"),
    [(End.ABSENT, "is franka_ros2 running"), (End.ABORTED, "look at Desk"), (End.REJECTED, "look at Desk")],
)
def test_an_error_that_cannot_be_cleared_goes_no_further(recovery, end, words):
    recovery.ends.append(end)
    good, text = recovery.run()
    assert not good and words in text and not recovery.node.calls


@pytest.mark.parametrize(
    ("service", "answer", "words"),
    [
        ("set_hardware_component_state", {"ok": False}, "did not become active"),
        ("set_hardware_component_state", None, "is ros2_control's controller_manager running"),
        ("switch_controller", {"ok": False, "message": "no such controller"}, "no such controller"),
    ],
)
def test_steps_that_fail_are_named(recovery, service, answer, words):
    recovery.node.answers[f"controller_manager/{service}"] = answer
    good, text = recovery.run()
    assert not good and words in text

"""executor_node over real DDS with the real simulation; the camera is a double that knows the truth."""

import hashlib
import inspect
import itertools
import re
import sys
import time
import traceback
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from action_msgs.msg import GoalStatus
from codes import raises_code
from doubles.listed import listed
from doubles.policy_server import PolicyServer, ScriptedPolicy, recorded
from doubles.true_camera import TrueCamera
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from planweave_interfaces.action import ExecuteAction, RunTask
from planweave_interfaces.msg import Action as ActionMsg
from planweave_interfaces.msg import ApprovedStep, Literal, TaskStatus, WorldState
from planweave_interfaces.srv import ApprovePlan, Look, SubmitTask
from rcl_interfaces.srv import SetParameters
from rclpy.parameter import Parameter
from ros_fixtures import arm_goals, result_of, simulated, simulation, task_goal
from sensor_msgs.msg import JointState

from executor_node.node import ExecutorNode
from feedback_node.node import FeedbackNode
from planweave.bodies.arm.arms.follow import ActionFollower
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, Known
from planweave.robots import load_robot
from planweave.simulation.trajectory import DECELERATION
from planweave.tasks.task_manager import TaskManager
from planweave_ros import conversions as convert
from planweave_ros.calling import Caller
from planweave_ros.qos import TRANSIENT_LOCAL
from simulation_node.node import SimulationNode

FR3, ROOT = load_robot(), Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.gl


@pytest.fixture
def make_table(make_node, spin_until):
    """make_table(scene, factor, **parameters of executor_node) -> simulation, camera, executor and a client."""

    class Table:
        def __init__(self, scene="blocks", factor=0.0, **parameters):
            self.simulation = make_node(SimulationNode, simulation(scene=scene, real_time_factor=factor))
            self.camera = make_node(TrueCamera, self.simulation)
            self.executor = make_node(ExecutorNode, simulated("executor_node", **parameters))
            self.arm_commands = arm_goals(self.executor)
            self.client = client = make_node("client")
            self.worlds, self.states = [], []
            client.create_subscription(
                WorldState, "/world_state", lambda m: self.worlds.append(convert.world_from_msg(m)), TRANSIENT_LOCAL
            )
            client.create_subscription(JointState, "/joint_states", self._state, 100)
            self.action = make_node.action_client(client, ExecuteAction, "/execute_action")
            assert self.action.wait_for_server(timeout_sec=60.0)
            spin_until(lambda: self.worlds, 10, "a first world")

        def _state(self, msg):
            self.states.append((convert.time_from_msg(msg.header.stamp), np.array(msg.velocity)[:7]))

        def send(self, text, timeout=30.0, on_phase=None):
            """Send an action; the goal handle."""
            action = convert.action_to_msg(Action.parse(text) if text else None)
            return self.goal(ExecuteAction.Goal(action=action, timeout=timeout), on_phase)

        def goal(self, goal, on_phase=None):
            """Send a goal as it is; its handle."""
            return result_of(
                self.action.send_goal_async(goal, feedback_callback=lambda m: on_phase and on_phase(m.feedback.phase))
            )

        def do(self, text, timeout=30.0):
            """Do an action; its result."""
            return self.end(self.send(text, timeout))

        def end(self, handle):
            """The result of a goal."""
            return result_of(handle.get_result_async()).result

        def facts(self, result):
            return listed(convert.world_from_msg(result.world))

        def moving(self):
            return bool(self.states) and np.abs(self.states[-1][1]).max() > 0.1

    return Table


def test_objects_are_taken_and_put_down(make_table):
    table = make_table()
    result = table.do("grasp(red_cube)")
    assert (result.code, result.message) == (Code.SUCCESS, "done: pick up the red cube")
    assert "holding(red_cube)" in table.facts(result) and result.motion_seconds > 1.0
    assert 0 < result.planning_seconds < result.motion_seconds
    assert result.world.header.frame_id == "fr3_link0"
    for text, fact in (
        ("place_in(red_cube, tray)", "in(red_cube, tray)"),
        ("return_to_base()", "at_base()"),
        ("grab_and_putin(purple_cylinder, tray_2)", "in(purple_cylinder, tray_2)"),
    ):
        result = table.do(text)
        assert result.code == Code.SUCCESS, result.message
        assert fact in table.facts(result)
    told = [(world.revision, world.silent) for world in table.worlds]
    assert all(a != b and a[0] <= b[0] for a, b in itertools.pairwise(told)), "each change is published once"


def test_beside_aside_and_into_a_hand(make_table):
    table = make_table(hand_over_timeout=10.0)
    for text, fact in (
        ("grasp(red_cube)", "holding(red_cube)"),
        ("place_left_of(red_cube, blue_cube)", "left_of(red_cube, blue_cube)"),
        ("push_aside(blue_cube)", "apart(blue_cube)"),
        ("grasp(green_cube)", "holding(green_cube)"),
        ("hand_over(green_cube)", "handed_over(green_cube)"),
        ("return_to_base()", "handed_over(green_cube)"),
    ):
        result = table.do(text)
        assert result.code == Code.SUCCESS, result.message
        assert fact in table.facts(result)
    assert table.do("grasp(green_cube)").code == Code.UNREACHABLE, "a person has it"


def test_a_policy_carries_out_an_action(make_table, tmp_path):
    """Our own skill where it does not: test_policy_skill."""
    policy = ScriptedPolicy(np.array([[*FR3.home, 0.0]]))
    server = PolicyServer(policy)
    path = server.contract(tmp_path, seconds=90.0, reply=30.0, camera="/camera/color/image_raw")
    try:
        table = make_table(factor=1.0, **{"skills.grasp": [f"policy:{path}", "grasping"]})
        policy.rows = recorded(PlanningScene(), table.executor._world.things(), "grasp(red_cube)")
        result = table.do("grasp(red_cube)", timeout=300.0)
        assert result.code == Code.SUCCESS and "holding(red_cube)" in table.facts(result), result.message
        assert "by grasping, after policy" not in result.message, result.message
        assert policy.seen[0]["image"].any(), "a picture of the simulated camera"
    finally:
        server.close()


def test_what_cannot_be_done_is_said_and_the_node_lives_on(make_table):
    table = make_table("out_of_reach", image_timeout=3.0, verify_timeout=3.0)
    for text, code, words in (
        ("grasp(mug)", Code.UNKNOWN_OBJECT, "unknown object 'mug'"),
        ("", Code.INVALID_ACTION, "names no action"),
        ("fly(red_cube)", Code.INVALID_ACTION, "unknown action 'fly'"),
        ("grasp(aqua_cube)", Code.UNREACHABLE, "aqua_cube is out of the workspace of the robot"),
        ("place_in(red_cube, tray)", Code.PRECONDITION_UNMET, "does not hold the red cube"),
    ):
        result = table.do(text)
        assert result.code == code and words in result.message, result.message
        assert not result.motion_seconds
    assert [str(x.predicate) for x in result.unmet] == ["holding"]

    table.camera.hidden = {"red_cube"}
    result = table.do("grab_and_putin(red_cube, tray)")
    assert result.code == Code.GRASP_LOST
    table.camera.hidden = set()
    assert table.do("grasp(red_cube)").code == Code.SUCCESS
    table.camera.silent = True
    result = table.do("place_in(red_cube, tray)")
    assert result.code == Code.CONTROL_FAILED and "perception/detected_objects" in result.message
    result = table.do("grasp(green_cube)")
    assert result.code == Code.CONTROL_FAILED and "perception_node" in result.message
    table.camera.silent = False
    assert table.do("grasp(green_cube)").code == Code.SUCCESS


def test_how_each_thing_is_known_and_a_camera_that_falls_silent(make_table, spin_until):
    """The silence is told though nothing else happens, a look then is not fresh, and both end by themselves."""
    table = make_table()
    looking = table.client.create_client(Look, "/look")
    assert looking.wait_for_service(timeout_sec=60.0)

    def look(seconds=20.0):
        answer = result_of(looking.call_async(Look.Request(timeout=seconds)))
        return answer, convert.world_from_msg(answer.world)

    def known(world):
        cube = world.by_name["red_cube"]
        return cube.known, cube.last_seen == pytest.approx(world.stamp)

    first = look()[1]
    answer, world = look()
    assert answer.fresh and world.stamp > first.stamp and world.revision == first.revision
    assert known(world) == (Known.SEEN, True) and world.by_name["table"].known is Known.FIXED
    table.camera.hidden = {"red_cube"}
    spin_until(lambda: known(table.worlds[-1]) == (Known.REMEMBERED, False), 20, "the cube to be hidden")
    hidden = table.worlds[-1].by_name["red_cube"].last_seen
    assert look()[1].by_name["red_cube"].last_seen == hidden >= world.stamp
    table.camera.hidden = set()
    spin_until(lambda: known(table.worlds[-1])[0] is Known.SEEN, 20, "the cube to be seen again")

    table.camera.silent = True
    spin_until(lambda: table.worlds[-1].silent, 20, "the silence to be told")
    silent, heard = table.worlds[-1], table.worlds[-1].heard
    assert known(silent)[0] is Known.SEEN and silent.revision == table.worlds[-2].revision
    assert 0 < time.time() - heard < 60
    answer, world = look(3.0)
    assert not answer.fresh and "perception_node running" in answer.message and world.silent
    table.camera.left, table.camera.silent = 1, False
    answer, _ = look(3.0)
    assert not answer.fresh, "one image may have been taken before the request, whatever the executor knew of the time"
    table.camera.left, table.camera.silent = None, False
    assert look()[0].fresh
    spin_until(lambda: not table.worlds[-1].silent, 20, "the camera to be heard again")
    assert table.worlds[-1].heard > heard

    table.simulation._publish = lambda *_: None
    answer, _ = look(1.0)
    assert not answer.fresh and "perception_node" not in answer.message, (
        "no image is known to be newer than the request"
    )


def test_a_slip_is_reported_and_the_next_grasp_holds(make_table):
    table = make_table("slippery", retries=["GRASP_LOST 1 look_again", "NO_GRASP 1 look_again"])
    result = table.do("grasp(red_cube)")
    assert result.message.endswith("(tried 2 times)"), result.message
    assert result.code in (Code.GRASP_LOST, Code.NO_GRASP), result.message
    assert "red_cube" in result.message and "hand_empty()" in table.facts(result)
    assert table.do("grasp(red_cube)").code == Code.SUCCESS


def test_cancel_and_deadline_stop_the_arm(make_table, spin_until):
    table = make_table(factor=0.1)  # slow, so that messages take next to no simulated time
    handle = table.send("grasp(red_cube)")
    spin_until(table.moving, 20, "the arm to move")
    assert "busy with grasp(red_cube)" in table.do("grasp(blue_cube)").message
    canceled_at = table.simulation._runner.call(lambda simulator: simulator.time)
    handle.cancel_goal_async()
    result = table.end(handle)
    assert result.code == Code.CANCELED and handle.status == GoalStatus.STATUS_CANCELED
    spin_until(lambda: not table.moving(), 5, "the arm to stand")
    fastest = max(np.abs(speed).max() for _, speed in table.states)
    still_at = next(stamp for stamp, speed in table.states if stamp > canceled_at and np.abs(speed).max() < 0.05)
    assert still_at - canceled_at <= fastest / DECELERATION + 0.05  # the stamps come in steps of 10 ms
    assert "hand_empty()" in table.facts(result)

    handle = table.send("grasp(red_cube)", timeout=0.6)
    result = table.end(handle)
    assert result.code == Code.TIMEOUT
    spin_until(lambda: not table.moving(), 5, "the arm to stand")
    assert table.do("return_to_base()").code == Code.SUCCESS


def test_a_controller_that_dies_and_comes_back(make_table, make_node, spin_until):
    table = make_table(factor=0.5, joint_state_timeout=2.0)
    spin_until(lambda: table.states and table.states[-1][0] > 1.5, 10, "the first clock to be ahead")
    handle = table.send("grasp(red_cube)")
    spin_until(table.moving, 20, "the arm to move")
    table.camera.silent = True
    table.simulation._gone.set()  # it publishes nothing any more
    result = table.end(handle)
    assert result.code == Code.SAFETY_STOP and " 2 s" in result.message
    table.simulation._arm.server.destroy()
    table.simulation._hand.server.destroy()
    table.camera._simulation = make_node(SimulationNode, simulation(scene="blocks"))
    table.camera.silent = False
    spin_until(lambda: not table.executor._sources.problem, 10, "the first to be silent long enough")
    results = []
    spin_until(
        lambda: results.append(table.do("grasp(red_cube)")) or results[-1].code == Code.SUCCESS,
        10,
        "the new simulation to be known, and an action that is done in it",
    )
    # Discovered late, the old simulation and the new one are two senders of joint states, which is refused as well.
    assert {r.code for r in results[:-1]} <= {
        Code.UNKNOWN_OBJECT,
        Code.CONTROL_FAILED,
        Code.SAFETY_STOP,
        Code.NOT_STARTED,
    }, results


def test_an_action_waits_for_joint_states_that_are_late_and_is_not_tried_again_without_any(
    make_table, spin_until, monkeypatch
):
    table, phases = make_table(joint_state_timeout=0.1), []
    publish = table.simulation._publish
    table.simulation._publish = lambda *_: None
    spin_until(lambda: table.executor._world.no_joint_states, 20, "the silence to be noticed")
    handle = table.send("return_to_base()", on_phase=phases.append)
    spin_until(lambda: "waiting for joint states" in phases, 20, "the wait to be told")
    table.simulation._publish = publish
    assert table.end(handle).code == Code.SUCCESS

    monkeypatch.setattr("executor_node.arm_body.LATE", 0.2)
    table.simulation._publish = lambda *_: None
    spin_until(lambda: table.executor._world.no_joint_states, 20, "the silence to be noticed")
    result = table.do("return_to_base()")
    assert (result.code, result.motion_seconds) == (Code.NOT_STARTED, 0.0), "which ends the task"


def test_a_controller_that_does_not_listen_is_named(make_table, spin_until, monkeypatch):
    """Before anything moves: the arm would go to a thing that the hand could not take."""
    table = make_table()
    spin_until(lambda: not table.executor._ports.absent(), 10, "the controllers to be discovered")
    table.simulation._hand.server.destroy()
    spin_until(table.executor._ports.absent, 10, "the hand's controller to be gone")
    monkeypatch.setattr("executor_node.node.LATE", 0.5)
    result = table.do("grasp(red_cube)")
    assert result.code == Code.NOT_STARTED and "nobody offers /fr3_gripper_controller/gripper_cmd" in result.message
    assert not result.motion_seconds


@pytest.mark.parametrize(
    ("parameters", "code", "datum"),
    [
        ({"retries": ["NO_GRASP twice look_again"]}, "configuration", "'NO_GRASP twice look_again'"),
        ({"workspace": "nowhere"}, "unknown_name", "'nowhere'"),
        ({"observe_pose": [0.0, 1.0]}, "configuration", "observe_pose"),
    ],
)
def test_wrong_parameters_are_refused(ros, parameters, code, datum):
    """How a process ends then: test_parameters."""
    with raises_code(code, datum):
        ExecutorNode(simulated("executor_node", **parameters))


def test_other_named_places_and_limits_are_taken_while_the_arm_rests(make_table, spin_until):
    table = make_table()
    setter = table.client.create_client(SetParameters, "/executor_node/set_parameters")
    assert setter.wait_for_service(timeout_sec=60.0)

    def use(value, name="workspace"):
        row = Parameter(name, value=value).to_parameter_msg()
        answer = setter.call_async(SetParameters.Request(parameters=[row]))
        spin_until(answer.done, 5, "an answer")
        return answer.result().results[0]

    refused = use([0.85, 0.85, 0.0], "workspace_high")
    assert not refused.successful and "workspace_high [0.85, 0.85, 0.0]" in refused.reason
    assert use([0.40, 0.85, 1.10], "workspace_high").successful
    assert table.do("grasp(red_cube)").code in (Code.UNREACHABLE, Code.SAFETY_STOP)  # by where it is, or its way there
    assert use([0.85, 0.85, 1.10], "workspace_high").successful
    assert use(0.2, "speed").successful and use(0.2, "approach_speed").successful
    begun, refusals = len(table.states), []

    def on_phase(_):
        if not refusals:
            row = Parameter("speed", value=1.0).to_parameter_msg()
            refusals.append(setter.call_async(SetParameters.Request(parameters=[row])))

    result = table.end(table.send("grasp(red_cube)", timeout=80.0, on_phase=on_phase))
    assert result.code == Code.SUCCESS, result.message
    spin_until(refusals[0].done, 5, "an answer")
    refused = refusals[0].result().results[0]
    assert not refused.successful and "grasp(red_cube)" in refused.reason
    fastest = max(np.abs(velocity[:4]).max() for _, velocity in table.states[begun:])
    assert fastest < 0.25 * FR3.velocity[0]
    assert use("letters").successful
    spin_until(lambda: "location_i" in table.worlds[-1].by_name, 5, "the places of another workspace")
    assert "left_side" not in table.worlds[-1].by_name
    refused = use("leters")
    assert not refused.successful and "'letters'" in refused.reason
    assert "location_i" in table.worlds[-1].by_name


def test_where_approval_is_required_the_arm_moves_for_nothing_else(make_table, make_node, spin_until, monkeypatch):
    table = make_table(require_approval=True)
    assert table.executor._skills.context.settings.pushes == 0, "nobody approved that a neighbour is pushed"

    def refused(seconds=0.2, **fields):
        """Why a grasp is refused, for whose approval the executor waits so long."""
        grasp = ActionMsg(name="grasp", arguments=["red_cube"])
        with monkeypatch.context() as patch:
            patch.setattr("planweave_ros.permission.APPROVED_SECONDS", seconds)
            result = table.end(table.goal(ExecuteAction.Goal(action=grasp, timeout=30.0, **fields)))
        assert (result.code, result.motion_seconds) == (Code.NOT_STARTED, 0.0)
        return result.message

    assert "not part of an approved plan" in refused()
    assert "require_approval is not set" in refused(task_id="task-1")
    assert "no node publishes /approved_step" in refused(approval="0" * 32)
    make_node(FeedbackNode, [Parameter("require_approval", value=True), Parameter("approval_timeout", value=60.0)])
    run = make_node.action_client(table.client, RunTask, "/run_task")
    approve = table.client.create_client(ApprovePlan, "/approve_plan")
    assert run.wait_for_server(timeout_sec=60.0) and approve.wait_for_service(timeout_sec=60.0)
    statuses = []
    task = result_of(
        run.send_goal_async(
            RunTask.Goal(
                task=task_goal(
                    goal=[Literal(predicate="in", arguments=["red_cube", "tray"], positive=True)], method="classical"
                )
            ),
            feedback_callback=lambda m: statuses.append(m.feedback.status),
        )
    )
    spin_until(lambda: any(s.state == TaskStatus.AWAITING_APPROVAL for s in statuses), 30, "a plan to wait")
    waiting = statuses[-1]
    for guess in (waiting.plan.hash, "0" * 32):
        assert "not the next step of an approved plan" in refused(approval=guess, task_id=waiting.task_id)
    told = []
    listen = lambda msg: told.append(msg)  # noqa: E731
    table.client.create_subscription(ApprovedStep, "/approved_step", listen, TRANSIENT_LOCAL)
    result_of(approve.call_async(ApprovePlan.Request(plan_hash=waiting.plan.hash, approve=True, approver="anna")))
    spin_until(lambda: told and told[-1].digest, 30, "the approved step")
    assert (told[-1].task_id, told[-1].approver) == (waiting.task_id, "anna")
    result = result_of(task.get_result_async(), 90.0).result
    assert result.success and result.status.plan.approved_by == "anna", result.message
    spin_until(lambda: not told[-1].digest, 10, "nothing to be approved any more")
    first = next(msg for msg in told if msg.digest)
    for token in (first.digest, waiting.plan.hash):  # what everybody can read is no token
        assert "not the next step of an approved plan" in refused(approval=token, task_id=waiting.task_id)
    stranger = table.client.create_publisher(ApprovedStep, "/approved_step", TRANSIENT_LOCAL)
    forged = ApprovedStep(
        task_id="task-9",
        action=ActionMsg(name="grasp", arguments=["red_cube"]),
        digest=hashlib.sha256(b"mine").hexdigest(),
    )
    stranger.publish(forged)
    spin_until(lambda: told[-1].task_id == "task-9", 20, "the forged step")
    assert "2 nodes publish /approved_step" in refused(5.0, approval="mine", task_id="task-9")


def test_what_was_pushed_aside_stands_in_the_result(make_table):
    table = make_table()
    skills = table.executor._skills
    attempt = skills.attempt
    skills.attempt = lambda: skills.context.pushed.append("blue_cube") or attempt()
    result = table.do("grasp(red_cube)")
    assert result.code == Code.SUCCESS and list(result.pushed) == ["blue_cube"]
    assert result.message == "done: pick up the red cube; pushed aside to get there: blue_cube"
    skills.attempt = attempt
    assert list(table.do("return_to_base()").pushed) == []


def test_an_arm_that_is_not_active_moves_nothing_and_says_what_to_call(make_table, spin_until):
    """Over the services that `ros2 lifecycle set` calls."""
    from std_srvs.srv import Trigger

    table = make_table(factor=1.0, autostart=False, speed=0.1)
    change = table.client.create_client(ChangeState, "/executor_node/change_state")
    let_go = table.client.create_client(Trigger, "/executor/let_go")
    assert change.wait_for_service(timeout_sec=60.0) and let_go.wait_for_service(timeout_sec=60.0)

    def go(transition):
        request = ChangeState.Request(transition=Transition(id=transition))
        assert result_of(change.call_async(request)).success

    def refused(state, *ways):
        before = len(table.arm_commands)
        result = table.do("return_to_base()")
        assert (result.code, len(table.arm_commands)) == (Code.NOT_STARTED, before)
        assert f"executor_node is {state}" in result.message
        assert all(f"ros2 lifecycle set /executor_node {way}" in result.message for way in ways)
        return result.message

    assert result_of(let_go.call_async(Trigger.Request())).message == refused("inactive", "activate")
    spin_until(lambda: "red_cube" in table.worlds[-1].by_name, 10, "the world, which is told all the same")
    go(Transition.TRANSITION_ACTIVATE)
    handle = table.send("grasp(red_cube)")
    spin_until(table.moving, 20, "the arm to move")
    go(Transition.TRANSITION_DEACTIVATE)
    result = table.end(handle)
    assert (result.code, result.message) == (Code.SAFETY_STOP, "executor_node was deactivated; the arm was stopped")
    spin_until(lambda: not table.moving(), 10, "the arm to stand")
    go(Transition.TRANSITION_CLEANUP)
    spin_until(lambda: not table.client.count_publishers("/world_state"), 20, "the body to be gone")
    go(Transition.TRANSITION_CONFIGURE)
    spin_until(lambda: "red_cube" in table.worlds[-1].by_name, 20, "the world")
    refused("inactive", "activate")
    go(Transition.TRANSITION_ACTIVATE)
    assert table.do("return_to_base()").code == Code.SUCCESS


def test_the_calls_from_a_task_to_the_motors_are_those_in_the_documents(make_table, make_node, monkeypatch, spin_until):
    """Walked where each thread hands over to the next: the goal of the body, and that of the controller."""
    walked = {}
    for part, owner, name in (
        ("feedback_node, a callback", TaskManager, "accept"),
        ("feedback_node, tasks", Caller, "run_goal"),
        ("executor_node, execute_action", ActionFollower, "start"),
    ):
        monkeypatch.setattr(owner, name, walking(walked, part, getattr(owner, name)))
    table = make_table()
    feedback = make_node(FeedbackNode, simulated("feedback_node", method="classical"))
    submit = table.client.create_client(SubmitTask, "/submit_task")
    assert submit.wait_for_service(60.0)
    goal = [Literal(predicate="in", arguments=["red_cube", "tray"], positive=True)]
    spin_until(lambda: {"red_cube", "tray"} <= table.worlds[-1].by_name.keys(), 20, "both in the world")
    assert result_of(submit.call_async(SubmitTask.Request(task=task_goal(goal=goal)))).accepted
    (task,) = feedback.manager.tasks()
    spin_until(lambda: len(walked) == 3 or task.ended.is_set(), 60, "the arm to move")
    assert len(walked) == 3, task.snapshot()
    feedback.manager.cancel()
    spin_until(task.ended.is_set, 60, "the arm to stand: else it, and its node, outlive this test")
    rows = [(thread, call) for thread, calls in walked.items() for call in calls]
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    made = "".join(f"| {n} | `{call}` | {thread} |\n" for n, (thread, call) in enumerate(rows, 1))
    assert made in page, made
    check_the_walk_beside_a_real_arm(page)


def check_the_walk_beside_a_real_arm(page):
    """Its names are those that our nodes use, beside a real arm, too (config/sros2/policies.xml); its codes exist."""
    _, _, rest = page.partition("### The same with approval on a real arm")
    rows = [row.split("|")[1:-1] for row in rest.partition("\n## ")[0].splitlines() if row.startswith("|")][2:]
    policies = ElementTree.fromstring((ROOT / "config" / "sros2" / "policies.xml").read_bytes())
    used = {f"/{e.text.lstrip('/')}" for kind in ("topic", "service", "action") for e in policies.iter(kind)}
    names = {name for row in rows for name in re.findall(r"`(/[\w/]+)`", row[3])}
    codes = {code for row in rows for code in re.findall(r"`(\w+)`", row[4])} - {"body_silence"}
    told = {*re.findall(r"`(\w+)`", (ROOT / "docs" / "codes.md").read_text(encoding="utf-8")), *(c.name for c in Code)}
    assert len(rows) == 17 and len(names) > 20 and len(codes) > 20
    assert (names - used, {c for c in codes - told if not c.endswith("_timeout")}) == (set(), set())


def walking(walked, part, call):
    """A function that first keeps by which of our functions it is called, outermost first, itself included."""

    def kept(*args, **kwargs):
        frames = [*traceback.walk_stack(sys._getframe(1))][::-1]
        names = [(Path(f.f_code.co_filename), f.f_code.co_name) for f, _ in frames]
        ours = [
            f"{path.relative_to(ROOT).with_suffix('').as_posix()} {name}"
            for path, name in names
            if path.is_relative_to(ROOT) and ".venv" not in path.parts and "test" not in path.parts and "<" not in name
        ]
        owner = inspect.getsourcefile(call)
        walked.setdefault(part, [*ours, f"{Path(owner).relative_to(ROOT).with_suffix('').as_posix()} {call.__name__}"])
        return call(*args, **kwargs)

    return kept

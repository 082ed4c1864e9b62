"""Previews of plans over real DDS: nothing moves for them, the arm then does what was shown, and edits are checked."""

import numpy as np
import pytest
from doubles.true_camera import TrueCamera
from planweave_interfaces.action import ExecuteAction, PlanTask, RunTask
from planweave_interfaces.msg import PlanPreview, TaskStatus, WorldState
from planweave_interfaces.srv import ApprovePlan, EditPlan, GetTask, PlanMotions
from ros_fixtures import arm_goals, result_of, simulated, simulation, task_goal
from sensor_msgs.msg import JointState

from executor_node.node import ExecutorNode
from feedback_node.node import FeedbackNode
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Action, Literal
from planweave.simulation.intervention import Intervention, InterventionMoment
from planweave_ros import conversions as convert
from planweave_ros.qos import STATUSES, TRANSIENT_LOCAL
from simulation_node.node import SimulationNode

pytestmark = pytest.mark.gl
GRASP, PLACE = Action("grasp", ("red_cube",)), Action("place_in", ("red_cube", "tray"))


@pytest.fixture
def system(make_node, spin_until):
    """system(**parameters of feedback_node and executor_node): simulation, a camera that knows the truth, the arm and
    feedback_node, and a client of all.
    """

    class System:
        def __init__(self, approval=False, **more):
            own = {"require_approval": approval}
            self.simulation = make_node(SimulationNode, simulation(scene="blocks", real_time_factor=0.0))
            self.camera = make_node(TrueCamera, self.simulation)
            self.executor = make_node(ExecutorNode, simulated("executor_node", **own))
            self.commands = arm_goals(self.executor)
            self.feedback = make_node(FeedbackNode, simulated("feedback_node", **own, method="classical", **more))
            self.client = client = make_node("client")
            self.worlds, self.states, self.previews, self.statuses = [], [], [], []
            listen = client.create_subscription
            listen(WorldState, "/world_state", lambda m: self.worlds.append(convert.world_from_msg(m)), TRANSIENT_LOCAL)
            listen(JointState, "/joint_states", lambda m: self.states.append(np.array(m.position)), 1000)
            listen(PlanPreview, "/plan_preview", self.previews.append, TRANSIENT_LOCAL)
            listen(TaskStatus, "/task_status", self.statuses.append, STATUSES)
            kinds = {"execute_action": ExecuteAction, "plan_task": PlanTask, "run_task": RunTask}
            self.actions = {name: make_node.action_client(client, kind, f"/{name}") for name, kind in kinds.items()}
            services = {
                "plan_motions": PlanMotions,
                "approve_plan": ApprovePlan,
                "edit_plan": EditPlan,
                "get_task": GetTask,
            }
            self.services = {name: client.create_client(kind, f"/{name}") for name, kind in services.items()}
            assert all(action.wait_for_server(timeout_sec=60.0) for action in self.actions.values())
            assert all(service.wait_for_service(timeout_sec=60.0) for service in self.services.values())
            spin_until(lambda: self.worlds and "red_cube" in self.worlds[-1].by_name, 20, "the world")

        def call(self, name, **fields):
            service = self.services[name]
            return result_of(service.call_async(service.srv_type.Request(**fields)), 240.0)

        def send(self, name, **fields):
            """A goal of an action; what gives its result."""
            action = self.actions[name]
            handle = result_of(action.send_goal_async(action._action_type.Goal(**fields)), 240.0)
            return lambda: result_of(handle.get_result_async(), 240.0).result

        def do(self, action, **fields):
            return self.send("execute_action", action=convert.action_to_msg(action), timeout=60.0, **fields)()

        def motions(self, *actions):
            return self.call("plan_motions", actions=[convert.action_to_msg(action) for action in actions])

        def waiting(self, number=1):
            """The status of the n-th plan that waits for approval."""

            def found():
                states = [s for s in self.statuses if s.state == TaskStatus.AWAITING_APPROVAL]
                return list({s.plan.hash: s for s in states}.values())

            spin_until(lambda: len(found()) >= number, 60, "a plan to wait")
            return found()[number - 1]

        def shown(self, plan_hash):
            """The preview of a plan."""
            spin_until(lambda: any(p.plan_hash == plan_hash for p in self.previews), 60, "the preview")
            return next(p for p in self.previews if p.plan_hash == plan_hash)

        def truth(self):
            return self.simulation._runner.call(lambda s: np.array([s.object_pose(k)[0] for k in range(5)]), 60.0)

    return System


def _moved(index, x, y):
    """A person who moves an object of the scene."""
    return Intervention(InterventionMoment.NOW, 0, (index,), ((x, y, 0.0),))


def way(path):
    """Rows of a trajectory message, of the arm's seven joints, rad."""
    return np.array([list(point.positions)[:7] for point in path.points])


def test_a_preview_after_a_cancelled_action_stops_nobody(system):
    """The deadline of that action is long over, and somebody else may move the arm meanwhile."""
    table = system()
    arm = table.executor._arm
    arm.begin(0.0)
    arm.abort(Code.CANCELED, "the action was cancelled")
    table.commands.clear()
    found = table.motions(Action.parse("grasp(red_cube)"))
    assert found.success, found.message
    assert not table.commands


def test_a_planned_task_moves_nothing_and_tells_all_motions(system, spin_until):
    table = system()
    spin_until(lambda: table.states, 60, "where the arm is")
    before, states = table.truth(), len(table.states) - 1
    result = table.send(
        "plan_task",
        task=task_goal(goal=convert.literals_to_msg([Literal("in", ("red_cube", "tray"))]), method="classical"),
    )()
    assert result.success and result.preview.success, result
    assert [convert.action_from_msg(a) for a in result.status.plan.actions] == [
        convert.action_from_msg(s.action) for s in result.preview.steps
    ]
    assert result.preview.length > 0.5 and result.preview.duration > 1.0 and 0 < result.preview.clearance < 0.15
    assert all(step.words and len(step.path.points) > 10 for step in result.preview.steps)
    carried = [step for step in result.preview.steps if step.held == "red_cube"]
    assert carried and all(step.held_from < step.held_until for step in carried)
    told = len(table.states)
    spin_until(lambda: len(table.states) > told + 1, 60, "where the arm is now: at rest it tells that seldom")
    moved = np.abs(np.diff(np.array(table.states[states:]), axis=0)).max()
    assert moved < 1e-3 and np.allclose(before, table.truth(), atol=1e-3), "nothing has moved"
    shown = table.shown("")
    assert shown.task_id == result.status.task_id and len(shown.steps) == len(result.preview.steps)


def test_the_arm_does_what_was_shown(system):
    table = system()
    shown = table.motions(GRASP, PLACE)
    assert shown.success, shown.message
    for action, step in zip((GRASP, PLACE), shown.steps):
        table.commands.clear()
        assert table.do(action).code == Code.SUCCESS
        told, done = way(step.path), np.vstack([way(command) for _, command in table.commands])
        away = max(np.abs(done - q).max(axis=1).min() for q in told)
        assert away < 0.02, f"the arm was sent by each point that was shown; farthest: {away} rad"
        astray = max(np.abs(told - q).max(axis=1).min() for q in done)
        assert astray < 0.1, f"and nowhere else, as far as points are shown; farthest: {astray} rad"


def test_motions_are_refused_politely_while_an_action_runs_and_for_what_is_no_action(system, spin_until):
    table = system()
    assert table.motions().code == table.motions(*[GRASP] * 101).code == "invalid_action"
    odd = table.motions(Action("grasp", ("<b>cup</b>",)), GRASP)
    assert not odd.success and [s.known for s in odd.steps] == [False, False] and "<b>cup</b>" in odd.message
    assert "step 1" in odd.steps[1].message
    with table.executor._served.reserved("something"):
        busy = table.motions(GRASP)
    assert (busy.success, busy.code) == (False, "not_started") and not busy.steps and "something" in busy.message


def test_an_edited_plan_is_checked_shown_approved_and_done(system, spin_until):
    table = system(approval=True)
    goal = [Literal("in", ("red_cube", "tray"))]
    task = table.send("run_task", task=task_goal(goal=convert.literals_to_msg(goal), method="classical"))
    first = table.waiting()
    assert table.shown(first.plan.hash).success
    plan = [convert.action_from_msg(a) for a in first.plan.actions]

    def edit(plan_hash, *actions):
        return table.call("edit_plan", plan_hash=plan_hash, actions=[convert.action_to_msg(a) for a in actions])

    broken = edit(first.plan.hash, PLACE)
    assert (broken.success, broken.code) == (False, "goal") and "holding(red_cube)" in broken.message, broken.message
    other = edit("0" * 12, *plan)
    assert other.code == "goal" and first.plan.hash in other.message
    assert edit(first.plan.hash).code == "goal"
    home = Action("return_to_base")
    edited = edit(first.plan.hash, *plan, home)
    assert edited.success and edited.plan_hash != first.plan.hash and "goal holds" in edited.check
    second = table.waiting(2)
    assert second.plan.hash == edited.plan_hash and "+ return_to_base()" in list(second.plan.changes)
    assert len(table.shown(second.plan.hash).steps) == len(plan) + 1
    late = table.call("approve_plan", plan_hash=first.plan.hash, approve=True)
    assert (late.success, late.code) == (False, "goal") and second.plan.hash in late.message
    assert table.call("approve_plan", plan_hash=second.plan.hash, approve=True, approver="anna").success
    assert table.call("approve_plan", plan_hash=second.plan.hash, approve=True).code == "goal"
    result = task()
    assert result.success and result.status.progress.executed == len(plan) + 1, result.message


def test_what_has_moved_since_it_was_shown_is_asked_for_again(system, spin_until):
    table = system(approval=True)
    goal = [Literal("in", ("red_cube", "tray"))]
    task = table.send("run_task", task=task_goal(goal=convert.literals_to_msg(goal), method="classical"))
    first = table.waiting()
    there = table.worlds[-1].by_name["red_cube"].position
    free = min(
        ((x / 100, y / 100) for x in range(36, 62, 2) for y in range(-30, 32, 2)),
        key=lambda at: -min(np.hypot(*np.subtract(o.position[:2], at)) for o in table.worlds[-1].objects),
    )
    table.simulation._runner.call(lambda s: s.intervene(_moved(0, *free), lambda shown: None), 60.0)
    heard = table.feedback.manager._runner.body.observe  # by feedback_node, which judges what has moved
    spin_until(lambda: np.hypot(*np.subtract(heard().by_name["red_cube"].position, there)[:2]) > 0.03, 30, "the look")
    assert table.call("approve_plan", plan_hash=first.plan.hash, approve=True).success
    second = table.waiting(2)
    assert any("red_cube has moved by" in change for change in second.plan.changes), second.plan.changes
    assert table.call("approve_plan", plan_hash=second.plan.hash, approve=True).success
    assert task().success

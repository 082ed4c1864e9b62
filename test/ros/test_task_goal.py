"""States to be reached in order and conditions to keep, submitted over real DDS."""

import importlib
import json
import re
from pathlib import Path

import pytest
import yaml

pytest.importorskip("planweave_interfaces")

from codes import raises_code
from doubles.nodes import BodyNodeDouble, PlannerNodeDouble
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, tabletop
from planweave_interfaces.action import PlanTask, RunTask
from planweave_interfaces.msg import GoalStep, TaskStatus
from planweave_interfaces.srv import SubmitTask
from ros_fixtures import simulated, task_goal

from feedback_node.node import FeedbackNode
from planweave.core.workflow.task_status import TaskState
from planweave_ros import conversions as convert
from planweave_ros.client import Client

WORLD = tabletop("a b: item; tray bowl: container; table: location", "at(a, table); at(b, table)")
FIRST, THEN = "grab_and_putin(a, tray)", "grab_and_putin(a, bowl)"


ROOT = Path(__file__).resolve().parents[2]
COMMAND = re.compile(r'(?:service call|action send_goal) \S+ planweave_interfaces/(\w+)/(\w+)[ \\\n]+"(\{.*\})"')


def fill(message, values):
    """Set fields from a mapping, as `ros2` does."""
    for name, value in values.items():
        assert name in message.get_fields_and_field_types(), f"{type(message).__name__} has no {name}"
        fill(getattr(message, name), value) if isinstance(value, dict) else setattr(message, name, value)


def test_the_commands_of_the_documents_fill_the_interfaces():
    pages = [ROOT / "README.md", ROOT / ".github" / "workflows" / "ci.yml", *sorted((ROOT / "docs").glob("*.md"))]
    found = [command for page in pages for command in COMMAND.findall(page.read_text())]
    assert {name for _, name, _ in found} >= {"RunTask", "PlanTask", "SubmitTask"}
    for kind, name, values in found:
        interface = getattr(importlib.import_module(f"planweave_interfaces.{kind}"), name)
        fill(interface.Goal() if kind == "action" else interface.Request(), yaml.safe_load(values))


def message(goal, *before, keep="", **fields):
    """TaskGoal of literals as texts."""
    written = {"goal": convert.literals_to_msg(literals(goal)), "keep": convert.literals_to_msg(literals(keep))}
    states = [GoalStep(literals=convert.literals_to_msg(literals(step))) for step in before]
    return task_goal(method="classical", before=states, **written, **fields)


@pytest.fixture
def body(make_node):
    """The body behind a feedback node; its planner must not be asked."""
    body = SymbolicBody(WORLD)
    make_node(PlannerNodeDouble, ScriptedPlanner())
    make_node(BodyNodeDouble, body)
    make_node(FeedbackNode, simulated("feedback_node", fallback="none"))
    return body


@pytest.fixture
def client(body):
    with Client() as client:
        assert client.is_up(60.0)
        yield client


def ended(client, spin_until, task_id):
    return spin_until(lambda: found if (found := client.task(task_id)[0]).state.ended else None, 60, "the end")


def test_submitted_states_are_reached_in_order_and_verified_and_what_is_kept_stays(body, client, spin_until):
    before, keep = [literals("in(a, tray)")], literals("at(b, table)")
    task_id = client.submit("", method="classical", goal=literals("in(a, bowl)"), before=before, keep=keep)
    status = ended(client, spin_until, task_id)
    assert (status.state, status.goal_source, body.done) == (TaskState.SUCCEEDED, "given", [FIRST, THEN])
    assert (status.before, status.reached, status.keep) == (tuple(before), 1, keep)
    assert status.goal == (*literals("in(a, bowl)"), *keep), "what is kept must hold at the end as well"
    assert status.understood.startswith("first the a is in the tray; in the end the a is in the bowl")
    _, record = client.task(task_id)
    assert record["events"][0]["before"] == [["in(a, tray)"]] and record["events"][0]["keep"] == ["at(b, table)"]
    assert [e["number"] for e in record["events"] if e["event"] == "step_reached"] == [1]


def test_run_task_and_plan_task_take_the_same(body, make_node, spin_until):
    node = make_node("client")
    done = {}
    for kind, name in ((PlanTask, "/plan_task"), (RunTask, "/run_task")):
        action = make_node.action_client(node, kind, name)
        assert action.wait_for_server(timeout_sec=60.0)
        sent = action.send_goal_async(kind.Goal(task=message("in(a, bowl)", "in(a, tray)", keep="at(b, table)")))
        spin_until(sent.done, 60, "the goal to be accepted")
        result = sent.result().get_result_async()
        spin_until(result.done, 60, "the end")
        done[name] = result.result().result
        assert done[name].success, done[name].message
        assert body.done == ([] if name == "/plan_task" else [FIRST, THEN])
    planned, ran = done["/plan_task"].status, done["/run_task"].status
    assert planned.state == TaskStatus.PLANNED and [step.arguments[1] for step in planned.plan.actions] == [
        "tray",
        "bowl",
    ]
    read = ran.reading
    assert ran.progress.reached == len(read.before) == 1 and len(read.keep) == 1
    events = json.loads(done["/run_task"].record)["events"]
    assert [e["event"] for e in events][:2] == ["submitted", "goal"]


def test_what_cannot_be_is_refused_with_a_code_before_anything_moves(body, client, spin_until):
    """Everything else that cannot be: test_tasks_in_steps."""
    for before, keep, code in (("in(c, tray)", "", "unknown_name"), ("", "at(b, tray)", "invalid_action")):
        states = [literals(before)] * bool(before)
        task = client.submit("", method="classical", goal=literals("in(a, bowl)"), before=states, keep=literals(keep))
        status = ended(client, spin_until, task)
        assert (status.state, status.code, body.done) == (TaskState.FAILED, code, []), status.message


def test_states_without_a_goal_are_not_accepted_and_an_id_is_that_of_one_task(body, client, make_node, spin_until):
    for fields in ({"before": [literals("in(a, tray)")]}, {"keep": literals("at(b, table)")}):
        with raises_code("goal"):
            client.submit("put a in the bowl", **fields)
    with raises_code("goal"):
        client.submit("", method="<root/>", goal=literals("in(a, bowl)"), before=[literals("in(a, tray)")])
    submit = make_node("client").create_client(SubmitTask, "/submit_task")
    assert submit.wait_for_service(60.0)

    def reply(*before):
        task = message("in(a, bowl)", *before, world_revision=0)
        sent = submit.call_async(SubmitTask.Request(task=task, request_id="one"))
        spin_until(sent.done, 60, "an answer")
        return sent.result()

    first, again, other = reply("in(a, tray)"), reply("in(a, tray)"), reply()
    assert first.accepted and again.task_id == first.task_id
    assert (other.accepted, other.code) == (False, "goal")

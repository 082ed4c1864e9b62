"""A sentence that is not clear, over real DDS: the question reaches a person, whose answer the task follows."""

import json
import re
import threading
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.nodes import BodyNodeDouble
from doubles.scripted import SymbolicBody, tabletop
from rclpy.parameter import Parameter
from ros_fixtures import simulated

from feedback_node.node import FeedbackNode
from planner_node.node import PlannerNode
from planweave.cli import main as cli
from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.task_status import TaskState
from planweave_ros.client import Client

WORLD = tabletop(
    "red_cube red_cube_2 pear: item; left_tray right_tray: container; table: location",
    "at(red_cube, table); at(red_cube_2, table); at(pear, table)",
)
WORLD = replace(
    WORLD,
    objects=tuple(
        replace(o, attributes={"colour": "red"}, class_name="cube") if "cube" in o.name else o for o in WORLD.objects
    ),
)


@pytest.fixture
def client(make_node):
    """The console's client beside feedback_node, planner_node without a model, and a symbolic body; body: of it."""
    body = SymbolicBody(WORLD)
    make_node(PlannerNode, parameter_overrides=[Parameter("client", value="none")])
    make_node(BodyNodeDouble, body)
    feedback = make_node(FeedbackNode, simulated("feedback_node", method="classical", answer_timeout=300.0))
    with Client() as made:
        assert made.is_up(60.0)
        made.body, made.feedback = body, feedback
        yield made


def asked(client, spin_until, task_id):
    spin_until(lambda: client.task(task_id)[0].question is not None, 30, "the question")
    return client.task(task_id)[0]


def test_the_question_is_answered_and_the_chosen_cube_is_moved(client, spin_until):
    task_id = client.submit("put the red cube in the tray")
    status = asked(client, spin_until, task_id)
    assert status.state is TaskState.AWAITING_ANSWER and not client.body.done
    assert status.question.phrase == "the tray" and [c.objects for c in status.question.choices] == [
        ("left_tray",),
        ("right_tray",),
    ]
    report = client.feedback._tasks_report()
    assert report.level.name == "WARN" and "planweave answer" in report.message
    with raises_code("goal", "planweave answer"):
        client.answer(task_id, "another", 1)
    with raises_code("goal", "choice 3"):
        client.answer(task_id, status.question.id, 3)
    with raises_code("goal", "'hmm'"):
        client.answer(task_id, status.question.id, text="hmm")
    assert client.answer(task_id, status.question.id, text="the left tray") == "understood: left tray"
    spin_until(lambda: (q := client.task(task_id)[0].question) and q.id != status.question.id, 30, "the next one")
    second = client.task(task_id)[0].question
    assert second.phrase == "the red cube"
    client.answer(task_id, second.id, 2, agent=True)
    spin_until(lambda: client.task(task_id)[0].state.ended, 60, "the end")
    end, record = client.task(task_id)
    assert end.state is TaskState.SUCCEEDED and end.question is None
    assert end.goal == (Literal.parse("in(red_cube_2, left_tray)"),)
    answers = [e for e in record["events"] if e["event"] == "answered"]
    assert answers[1]["person"].startswith("an agent of") and answers[1]["meant"] == ["red_cube_2"]
    with raises_code("goal", task_id):
        client.answer(task_id, second.id, 1)


def test_what_was_answered_is_shown_and_forgotten_while_the_system_runs(client, spin_until, capsys):
    task_id = client.submit("put the qwertz in the left tray", dry_run=True)
    question = asked(client, spin_until, task_id).question
    assert question.naming and question.phrase == "the qwertz"
    client.answer(task_id, question.id, 1 + [c.objects for c in question.choices].index(("pear",)))
    spin_until(lambda: client.task(task_id)[0].state.ended, 60, "the end")
    (entry,), gone = client.remembered()
    assert (entry.kind, entry.phrase, gone) == ("name", "qwertz", [])
    again = client.submit("put the qwertz in the right tray", dry_run=True)
    spin_until(lambda: client.task(again)[0].state.ended, 60, "the end of one that asks nothing")
    assert client.task(again)[0].goal == (Literal.parse("in(pear, right_tray)"),)
    with pytest.raises(PlanweaveError) as unknown:
        client.remembered([entry.id, 99])
    assert unknown.value.code == "unknown_name" and len(client.remembered()[0]) == 1
    assert cli.main(["memory", "--forget-all", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"entries": [], "forgotten": [entry.id]}


def test_a_question_leaves_the_robot_to_the_next_task(client, spin_until):
    first, second = client.submit("put the red cube in the left tray"), client.submit("put the pear in the right tray")
    spin_until(lambda: client.task(second)[0].state.ended, 60, "the end of the second")
    assert client.task(second)[0].state is TaskState.SUCCEEDED
    status = client.task(first)[0]
    assert status.state is TaskState.AWAITING_ANSWER and not client.feedback.manager.running
    assert first in client.feedback._tasks_report().message
    assert client.answer("", status.question.id, 1).startswith("understood")
    spin_until(lambda: client.task(first)[0].state.ended, 60, "the end of the first")
    assert client.task(first)[0].state is TaskState.SUCCEEDED
    facts = client.body.world.facts
    assert {Literal.parse("in(red_cube, left_tray)"), Literal.parse("in(pear, right_tray)")} <= set(facts)


def test_what_runs_in_the_foreground_asks_and_is_cancelled_at_once(client, spin_until):
    seen, ended = threading.Event(), []

    def status(status):
        if status.question is not None:
            seen.set()

    def run():
        ended.append(client.run_task("put the red cube in the left tray", dry_run=True, on_status=status))

    runner = threading.Thread(target=run, daemon=True)
    runner.start()
    assert seen.wait(120), "the question comes with the status"
    assert re.search("is being cancelled", client.cancel())
    runner.join(120)
    assert ended and ended[0].status.state is TaskState.CANCELED and not client.body.done

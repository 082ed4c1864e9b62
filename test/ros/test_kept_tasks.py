"""feedback_node killed with SIGKILL and started again: what was accepted goes on, and nothing is done twice."""

import threading

import pytest

pytest.importorskip("planweave_interfaces")

from doubles.nodes import BodyNodeDouble, PlannerNodeDouble
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.workflow.task_status import TaskState
from planweave_ros.client import Client

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
STEPS = ["grasp(a)", "place_in(a, tray)"]


class WaitingBody(SymbolicBody):
    """Waits after its first action until `go` is set; other moments: test_task_store."""

    def __init__(self):
        super().__init__(WORLD)
        self.arrived, self.go = threading.Event(), threading.Event()

    def execute(self, action, **options):
        outcome = super().execute(action, **options)
        self.arrived.set()
        assert self.go.wait(300.0)
        return outcome


@pytest.fixture
def beside(make_node):
    """The planner's and the body's node as doubles; gives a function that serves a body."""
    make_node(PlannerNodeDouble, ScriptedPlanner([plan("; ".join(STEPS), 3)], goal="in(a, tray)"))
    return lambda body: make_node(BodyNodeDouble, body)


@pytest.fixture
def client():
    with Client() as client:
        yield client


def test_a_killed_feedback_node_goes_on_and_does_nothing_twice(beside, start_node, client, spin_until, tmp_path):
    body = WaitingBody()
    beside(body)
    values = {"require_approval": False, "tasks_file": str(tmp_path / "tasks.sqlite"), "after_restart": "continue"}
    node = start_node("feedback_node", **values)
    assert client.is_up(120.0)
    first = client.submit("put a in the tray")
    second = client.submit("the other", method="classical", goal=literals("on(b, plate)"))
    assert body.arrived.wait(120.0)
    node.kill()
    node.wait(30.0)
    body.go.set()
    start_node("feedback_node", **values)

    def states():
        tasks = {t.task_id: t.state for t in client.tasks()}
        return tasks if set(tasks) == {first, second} and all(s.ended for s in tasks.values()) else None

    assert set(spin_until(states, 60, "both tasks").values()) == {TaskState.SUCCEEDED}
    assert len(body.done) == len(set(body.done))
    _, record = client.task(first)
    (event,) = [e for e in record["events"] if e["event"] == "interrupted"]
    assert event["under_way"] == STEPS[0]

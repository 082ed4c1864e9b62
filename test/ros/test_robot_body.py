"""pw.run on the body of a running system, over real DDS: `body="ros"` and planweave_ros.robot.Robot."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("planweave_interfaces")

from codes import raises_code
from doubles.environment import python_path
from doubles.scripted import SymbolicBody
from planweave_interfaces.msg import TaskStatus

import planweave as pw
from planweave.core.base.failure import Code
from planweave.core.workflow.ports import Outcome
from planweave_ros import robot
from planweave_ros.guarded import GuardedNode
from planweave_ros.robot import Robot
from planweave_ros.serve_body import serve_body

WORLD = pw.Domain.load("tabletop").world("cup: item; tray: container", facts=["on(cup, table)"])


class Stoppable(SymbolicBody):
    """Acts until it is stopped, where `hold` is clear."""

    def __init__(self, world):
        super().__init__(world)
        self.stopped = None

    def begin(self, timeout):
        self.stopped = None

    def stop(self, code, message):
        self.stopped = code, message
        self.hold.set()

    def execute(self, action, **options):
        outcome = super().execute(action, **options)
        return Outcome(*self.stopped, self.world) if self.stopped else outcome


@pytest.fixture
def serve(make_node):
    """serve(body): a node that serves it."""

    def start(body):
        serve_body(make_node(GuardedNode, "a_body"), body)
        return body

    return start


def test_run_drives_the_body_of_a_running_system_by_the_name_ros(serve):
    body = serve(SymbolicBody(WORLD))
    told = []
    result = pw.run(
        "put the cup in the tray", body="ros", method="classical", model="none", on_event=lambda s: told.append(s.phase)
    )
    assert result.success, result
    assert [str(action) for action, _ in result.steps] == body.done and "in(cup, tray)" in map(str, body.world.facts)
    assert told[-1] == "succeeded"


def test_a_plan_that_is_not_approved_moves_nothing(serve):
    body = serve(SymbolicBody(WORLD))
    plans = []

    def approve(status):
        plans.append(status.plan)
        return False

    result = pw.run("put the cup in the tray", body="ros", method="classical", model="none", approve=approve)
    assert plans and result.state is pw.TaskState.CANCELED and not body.done


def test_a_task_that_takes_too_long_is_stopped_on_the_robot(serve):
    body = Stoppable(WORLD)
    body.hold.clear()
    serve(body)
    result = pw.run("put the cup in the tray", body="ros", method="classical", model="none", timeout=4.0)
    assert result.state is pw.TaskState.CANCELED and "within the 4 s" in result.message
    assert body.stopped is not None and body.stopped[0] is Code.CANCELED


def test_a_body_that_goes_is_no_success(serve):
    body = SymbolicBody(WORLD)
    body.hold.clear()
    serve(body)
    results = []
    arm = Robot(patience=60.0)
    try:
        running = threading.Thread(
            target=lambda: results.append(
                pw.run("put the cup in the tray", body=arm, method="classical", model="none", fallback="")
            )
        )
        running.start()
        assert body.began.wait(60.0)
        arm._body._presence.departures += 1  # as where its liveliness is lost
        running.join(120.0)
    finally:
        body.hold.set()
        arm.close()
    assert results and not results[0].success and results[0].state is pw.TaskState.FAILED


@pytest.mark.parametrize(
    ("code", "objects", "words"),
    [(99, WORLD.objects, "unknown code 99 (it slipped)"), (Code.SUCCESS, 2 * WORLD.objects, "cannot be believed")],
)
def test_a_result_that_cannot_be_is_the_outcome_of_its_action(serve, code, objects, words):
    body = serve(SymbolicBody(WORLD))
    body.execute = lambda action, **_: Outcome(code, "it slipped", replace(WORLD, objects=objects))
    with contextlib.closing(Robot(patience=60.0)) as arm:
        outcome = arm.execute(pw.Action.parse("pick(cup)"))
    assert outcome.code is Code.CONTROL_FAILED and words in outcome.message


def test_a_body_that_stood_still_for_a_moment_is_believed_again(ros, spin_until):
    """Its world has not changed meanwhile, so it publishes nothing."""
    environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parent.parent)}
    body = subprocess.Popen([sys.executable, "-m", "doubles.body_process"], env=environment)
    try:
        with contextlib.closing(Robot(patience=60.0)) as arm:
            spin_until(lambda: arm._body._presence.there, 10, "the body's presence")
            body.send_signal(signal.SIGSTOP)
            spin_until(lambda: arm._body._presence.lost, 10, "its silence to be noticed")
            body.send_signal(signal.SIGCONT)
            spin_until(lambda: arm._body._presence.there, 10, "the body to be alive again")
            assert "at(a, table)" in map(str, arm.observe().facts)
            assert arm.execute(pw.Action.parse("pick(a)")).code is not Code.CONTROL_FAILED
    finally:
        body.terminate()  # a killed one would stay in the graph, and refuse a later test's body
        body.wait(60.0)


def test_without_a_body_it_says_what_to_start():
    with raises_code("no_system", "/world_state", "0.2 s"):
        Robot(patience=0.2)


def test_a_robot_that_a_task_of_feedback_node_uses_is_refused(serve, tasks_going_on):
    serve(SymbolicBody(WORLD))
    tasks_going_on.append(TaskStatus(task_id="task-7", state=TaskStatus.RUNNING, sentence="stack the cubes"))
    with raises_code("no_system", "task-7", '"stack the cubes"'):
        Robot(patience=60.0)


def test_where_ros_cannot_be_used_it_says_what_to_do(monkeypatch):
    monkeypatch.setattr(robot, "ros_environment", lambda base, prefix: {**base, "LD_LIBRARY_PATH": "/elsewhere"})
    with raises_code("configuration", "planweave.sh"):
        pw.run("put the cup in the tray", body="ros", model="none")
    monkeypatch.setattr(robot, "ros_environment", lambda base, prefix: base)
    monkeypatch.setitem(sys.modules, "planweave_ros.body_client", None)
    with raises_code("configuration", "make setup"):
        pw.run("put the cup in the tray", body="ros", model="none")


def test_nothing_is_left_in_the_graph(serve, make_node, spin_until):
    serve(SymbolicBody(WORLD))
    observer = make_node("observer")
    arm = Robot(patience=60.0)

    def there():
        return [name for name in observer.get_node_names() if name.startswith("planweave_robot_")]

    spin_until(there, 20, "the robot's node")
    threads = threading.active_count()
    arm.close()
    spin_until(lambda: not there(), 5, "its end")
    assert threading.active_count() < threads

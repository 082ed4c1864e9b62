"""feedback_node over real DDS, with a scripted planner node and a symbolic body node as doubles."""

import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import rclpy
from action_msgs.msg import GoalStatus
from doubles.environment import python_path
from doubles.nodes import BodyNodeDouble, PlannerNodeDouble
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop
from planweave_interfaces.action import RunTask
from planweave_interfaces.msg import ActionTree, TaskStatus
from planweave_interfaces.srv import CancelTask, GetTask, ListTasks, SendFeedback, SubmitTask
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from ros_fixtures import result_of, simulated, task_goal
from std_msgs.msg import String

from feedback_node import node
from feedback_node.node import FeedbackNode
from planweave.cli import main as cli
from planweave.core.base.cancellation import Cancellation
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import Look
from planweave_ros import conversions as convert
from planweave_ros.body_client import RosBody
from planweave_ros.only_one import publishers
from planweave_ros.qos import REQUESTS, TRANSIENT_LOCAL
from planweave_ros.rclpy_compat import ThreadSafeActionClient
from planweave_ros.spin import logging_of

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")


@pytest.fixture
def doubles():
    """A planner and a body whose scripts the test may change."""
    planner = ScriptedPlanner([plan("grasp(a); place_in(a, tray)", 3)], goal="in(a, tray)")
    return planner, SymbolicBody(WORLD)


def client_node():
    """A node that can run tasks; its action client is made before it is spun, as rclpy needs it."""
    node = rclpy.create_node("client")
    node.run = ThreadSafeActionClient(node, RunTask, "/run_task")
    return node


@pytest.fixture
def system(make_node, doubles):
    """Double nodes, the real feedback node, and a client node with what the tests call."""
    planner, body = doubles
    make_node(PlannerNodeDouble, planner)
    body_node = make_node(BodyNodeDouble, body)
    feedback = make_node(FeedbackNode, simulated("feedback_node"))
    client = make_node(client_node)

    class System:
        pass

    s = System()
    s.feedback, s.body_node, s.client = feedback, body_node, client
    s.run = client.run
    s.submit, s.cancel, s.get, s.list = (
        client.create_client(kind, name)
        for kind, name in (
            (SubmitTask, "/submit_task"),
            (CancelTask, "/cancel_task"),
            (GetTask, "/get_task"),
            (ListTasks, "/list_tasks"),
        )
    )
    assert s.run.wait_for_server(timeout_sec=60.0)
    for service in (s.submit, s.cancel, s.get, s.list):
        assert service.wait_for_service(timeout_sec=60.0)
    return s


def run(system, **goal):
    feedback = []
    handle = result_of(
        system.run.send_goal_async(RunTask.Goal(task=task_goal(**goal)), feedback_callback=feedback.append)
    )
    return handle, feedback


def test_run_task_from_sentence_to_checked_goal(system, doubles):
    handle, feedback = run(system, sentence="put a in the tray")
    result = result_of(handle.get_result_async()).result
    assert result.success, result.message
    assert doubles[1].done == ["grasp(a)", "place_in(a, tray)"]
    assert result.status.reading.source == "grammar"
    assert result.status.progress.executed == 2 and not result.status.progress.unmet
    assert any(f.feedback.status.progress.action.name == "grasp" for f in feedback)
    events = json.loads(result.record)["events"]
    assert [e["event"] for e in events][:2] == ["submitted", "goal"] and events[-1]["event"] == "ended"


def test_the_log_tells_a_task_from_its_begin_to_its_end(system, make_node, spin_until):
    """The library logs with Python's logging; a node's process brings that to /rosout."""
    heard = []
    make_node("listener").create_subscription(Log, "/rosout", lambda m: heard.append((m.name, m.msg)), 50)
    with logging_of(system.feedback):

        def told():
            """Tasks until the listener is discovered."""
            handle, _ = run(system, sentence="put a in\nthe tray")
            status = result_of(handle.get_result_async()).result.status
            lines = [text for name, text in heard if name == "feedback_node" and f": {status.task_id} " in text]
            return lines if len(lines) == 2 else []

        begun, ended = spin_until(told, 10, "two lines about a task")
    assert "begins (tree_planner): put a in the tray" in begun
    assert "ended as SUCCEEDED after" in ended and "2 steps: the goal holds, as observed" in ended


def test_the_domain_of_the_world_is_read_before_the_first_task(make_node, doubles, spin_until, monkeypatch):
    read = []
    monkeypatch.setattr(node, "Domain", SimpleNamespace(load=read.append))
    make_node(BodyNodeDouble, doubles[1])
    make_node(node.FeedbackNode)
    spin_until(lambda: read, 10, "the domain")
    assert read == ["tabletop"]


@pytest.mark.parametrize("name", ["(define (domain x))", "../domains/tabletop", "/etc/passwd", ""])
def test_nothing_is_read_that_a_message_calls_a_domain(name, monkeypatch):
    read = []
    monkeypatch.setattr(node, "Domain", SimpleNamespace(load=read.append))
    node._read_domain(name)
    assert not read


def test_what_no_look_shows_ends_not_confirmed(system, doubles):
    body = doubles[1]
    body.look = lambda seconds: Look(body.world, False, "no fresh look")
    handle, _ = run(system, sentence="put a in the tray")
    end = result_of(handle.get_result_async())
    assert (end.result.success, end.result.status.state) == (False, TaskStatus.NOT_CONFIRMED)
    assert end.status == GoalStatus.STATUS_ABORTED
    assert end.result.status.code == "not_confirmed"
    assert body.done == ["grasp(a)", "place_in(a, tray)"] and not end.result.status.progress.unmet


def test_no_world_older_than_the_last_answer_is_handed_out(make_node, doubles):
    """Messages of the topic may arrive after the answer of an action that was sent later."""
    make_node(BodyNodeDouble, doubles[1])
    node = make_node("asker")
    body = RosBody(node, Cancellation, 20.0, 20.0)
    before = time.time_ns()
    world = body.execute(Action.parse("grasp(a)")).world
    looked = body.look(5.0).world
    assert looked.stamp > world.stamp and looked.revision == world.revision
    older = replace(looked, revision=looked.revision - 1, stamp=looked.stamp + 9.0)
    sent_before = {"source_timestamp": before, "publisher_gid": {"data": body._owner}}
    for old in (older, replace(looked, stamp=world.stamp)):
        body._heard(convert.world_to_msg(old), sent_before)
        assert body.observe() == looked
    newer = replace(looked, stamp=looked.stamp + 1.0)
    body._heard(convert.world_to_msg(newer), sent_before)
    assert body.observe().stamp == newer.stamp, "what is newer counts, whenever it was sent"
    restarted = replace(looked, revision=1, stamp=0.5)
    body._heard(convert.world_to_msg(restarted), {**sent_before, "source_timestamp": time.time_ns()})
    assert body.observe().revision == 1, "a body that was started anew counts from the beginning"


def test_submit_get_and_list(system, spin_until):
    reply = result_of(system.submit.call_async(SubmitTask.Request(task=task_goal(sentence="put a in the tray"))))
    assert reply.accepted and reply.task_id

    def status():
        return result_of(system.get.call_async(GetTask.Request(task_id=reply.task_id))).status

    spin_until(lambda: status().state == TaskStatus.SUCCEEDED, 10, "the task to end")
    tasks = result_of(system.list.call_async(ListTasks.Request())).tasks
    assert [t.task_id for t in tasks] == [reply.task_id]
    unknown = result_of(system.get.call_async(GetTask.Request(task_id="task-99")))
    assert not unknown.found and reply.task_id in unknown.message


@pytest.mark.parametrize(
    "request_fields, code",
    [
        ({"sentence": ""}, "goal"),
        ({"sentence": "x" * 10_000}, "goal"),
        ({"sentence": "put a in the tray", "method": "magic"}, "unknown_name"),
    ],
)
def test_what_is_not_accepted_says_why(system, request_fields, code):
    reply = result_of(system.submit.call_async(SubmitTask.Request(task=task_goal(**request_fields))))
    assert not reply.accepted and reply.message and reply.code == code
    handle, _ = run(system, **request_fields)
    result = result_of(handle.get_result_async()).result
    assert not result.success and result.message == reply.message
    assert (result.status.state, result.status.code) == (TaskStatus.FAILED, code)


def test_a_request_sent_again_is_one_task_and_all_that_is_told_has_a_stamp(system):
    ids = {
        result_of(
            system.submit.call_async(SubmitTask.Request(task=task_goal(sentence="put a in the tray"), request_id="7"))
        ).task_id
        for _ in range(3)
    }
    assert len(ids) == 1
    for _ in range(2):
        result_of(system.submit.call_async(SubmitTask.Request(task=task_goal(sentence="put a in the tray"))))
    tasks = result_of(system.list.call_async(ListTasks.Request(limit=2))).tasks
    assert len(tasks) == 2 and ids.isdisjoint(t.task_id for t in tasks)
    assert all(t.stamp.sec > 0 for t in [*tasks, result_of(system.get.call_async(GetTask.Request())).status])


def test_forged_exchanges_harm_nothing(system, make_node, spin_until):
    """Whatever is published on /llm_exchanges: the node lives on, and only what names a task stands in its record."""
    task_id = result_of(
        system.submit.call_async(SubmitTask.Request(task=task_goal(sentence="put a in the tray")))
    ).task_id
    forger = make_node("forger").create_publisher(String, "/llm_exchanges", 100)

    def exchanges(probes=False):
        record = json.loads(result_of(system.get.call_async(GetTask.Request(task_id=task_id))).record)
        return [e for e in record["events"] if e["event"] == "exchange" and ("probe" in e) is probes]

    def heard():
        """Whether feedback_node has discovered the forger: what is published before is lost."""
        forger.publish(String(data=json.dumps({"task_id": task_id, "probe": True})))
        return exchanges(probes=True)

    spin_until(heard, 10, "a first exchange in the record")
    for text in (
        "[" * 100_000,
        '{"task_id": ' + "[" * 100_000,
        "[]",
        "null",
        "1e999",
        "{",
        '{"task_id": ["TASK"]}',
        '{"task_id": ""}',
        "x" * 5_000_000,
        '{"task_id": "TASK", "self": 1}',
        '{"task_id": "TASK", "event": "ended", "seconds": "x"}',
    ):
        forger.publish(String(data=text.replace("TASK", task_id)))
    spin_until(lambda: len(exchanges()) == 2, 10, "the two exchanges that name the task")
    assert exchanges()[0]["self"] == 1 and isinstance(exchanges()[1]["seconds"], float)


def test_cancelling_the_goal_stops_the_body_and_the_next_task_is_served(system, doubles):
    body = doubles[1]
    body.hold.clear()
    handle, _ = run(system, sentence="put a in the tray")
    assert body.began.wait(60.0)
    cancel = handle.cancel_goal_async()
    assert system.body_node.cancelled.wait(60.0), "the body was not told to stop"
    body.hold.set()
    result_of(cancel)
    result = result_of(handle.get_result_async())
    assert result.result.status.state == result.result.status.CANCELED
    assert result.status == 5  # GoalStatus.STATUS_CANCELED
    handle, _ = run(system, sentence="put a in the tray")
    assert result_of(handle.get_result_async()).result.success


def test_a_node_deactivated_in_the_middle_of_an_action_ends_all_its_tasks_and_begins_anew(system, doubles):
    doubles[1].hold.clear()
    acting, _ = run(system, sentence="put a in the tray")
    waiting, _ = run(system, sentence="put b in the tray")
    assert doubles[1].began.wait(60.0)
    threading.Timer(0.2, doubles[1].hold.set).start()
    system.feedback.trigger_deactivate()
    for handle in (acting, waiting):
        status = result_of(handle.get_result_async()).result.status
        assert (status.state, status.code) == (status.CANCELED, "canceled"), status.message
    assert system.feedback.manager.running is None and doubles[1].done in ([], ["grasp(a)"])
    assert [system.feedback.trigger_cleanup().name, system.feedback.trigger_configure().name] == ["SUCCESS"] * 2
    system.feedback.trigger_activate()
    assert system.get.wait_for_service(60.0)
    assert not result_of(system.get.call_async(GetTask.Request())).found, "tasks that no file keeps are gone"


def test_after_an_action_whose_end_is_not_told_nothing_is_tried_again(system, doubles, monkeypatch):
    monkeypatch.setattr("planweave_ros.body_client._BESIDE", -170.0)  # of the 180 s of an action
    doubles[1].hold.clear()
    handle, _ = run(system, sentence="put a in the tray")
    status = result_of(handle.get_result_async()).result.status
    doubles[1].hold.set()
    assert (status.state, status.code, status.progress.steps) == (status.FAILED, "safety_stop", 1), status.message


def test_cancel_service_without_a_task(system):
    reply = result_of(system.cancel.call_async(CancelTask.Request()))
    assert (reply.success, reply.code) == (False, "goal")


def test_a_persons_words_reach_the_running_task(system, doubles):
    client = system.client.create_client(SendFeedback, "/send_feedback")
    assert client.wait_for_service(timeout_sec=60.0)
    reply = result_of(client.call_async(SendFeedback.Request(text="hello")))
    assert (reply.success, reply.code) == (False, "goal")
    body = doubles[1]
    body.hold.clear()
    handle, _ = run(system, sentence="put a in the tray")
    assert body.began.wait(60.0)
    reply = result_of(client.call_async(SendFeedback.Request(text="mind the glass")))
    assert reply.success
    assert result_of(client.call_async(SendFeedback.Request())).code == "goal"
    body.hold.set()
    events = json.loads(result_of(handle.get_result_async()).result.record)["events"]
    assert [e["text"] for e in events if e["event"] == "said"] == ["mind the glass"]


def test_many_waiting_runs_block_nothing(system, doubles, spin_until):
    """Forty RunTask goals wait behind a held body; one alone is executing, services still answer, and all end."""
    body = doubles[1]
    body.hold.clear()
    sent = [system.run.send_goal_async(RunTask.Goal(task=task_goal(sentence="put a in the tray"))) for _ in range(40)]
    handles = [result_of(future, 60) for future in sent]
    assert len(result_of(system.list.call_async(ListTasks.Request())).tasks) == 40
    assert body.began.wait(60.0)
    running = GoalStatus.STATUS_EXECUTING
    spin_until(lambda: sum(h.status == running for h in handles) == 1, 10, "one goal to be executing")
    assert all(h.status in (running, GoalStatus.STATUS_UNKNOWN, GoalStatus.STATUS_ACCEPTED) for h in handles)
    body.hold.set()
    results = [h.get_result_async() for h in handles]
    assert all(result_of(future, 60).result.success for future in results)


def answer_to(future, client, request):
    """The answer to a request; one that was sent before the middleware had matched both sides is sent again."""
    for _ in range(10):
        done = threading.Event()
        future.add_done_callback(lambda _, done=done: done.set())
        if done.wait(20.0):
            return future.result()
        future = client.call_async(request)
    pytest.fail(f"{request.request_id} was not answered")


def test_of_twenty_clients_that_submit_at_once_no_task_is_lost_or_done_twice(system, doubles, spin_until):
    body = doubles[1]
    body.hold.clear()
    clients = [system.client.create_client(SubmitTask, "/submit_task", qos_profile=REQUESTS) for _ in range(20)]
    assert all(c.wait_for_service(timeout_sec=60.0) for c in clients)
    requests = [
        (client, SubmitTask.Request(task=task_goal(sentence="put a in the tray"), request_id=f"{of}-{turn}"))
        for turn in range(3)
        for of, client in enumerate(clients)
    ]
    asked = [client.call_async(request) for client, request in requests]
    replies = [answer_to(future, *sent) for future, sent in zip(asked, requests)]
    accepted = [r.task_id for r in replies if r.accepted]
    refused = [r.code for r in replies if not r.accepted]
    assert len(set(accepted)) == len(accepted) and len(accepted) + len(refused) == 60
    assert accepted and set(refused) == {"goal"}
    body.hold.set()

    def tasks():
        return {t.task_id: t.state for t in result_of(system.list.call_async(ListTasks.Request()), 60).tasks}

    spin_until(lambda: set(tasks().values()) == {TaskStatus.SUCCEEDED}, 60, "all of them to be done")
    assert set(tasks()) == set(accepted)


def test_a_tree_and_a_status_are_transient_local_for_who_comes_late(system, make_node, spin_until):
    handle, _ = run(system, sentence="put a in the tray")
    result_of(handle.get_result_async())
    late, trees, statuses = make_node("late"), [], []
    late.create_subscription(ActionTree, "/action_tree", trees.append, TRANSIENT_LOCAL)
    late.create_subscription(TaskStatus, "/task_status", statuses.append, TRANSIENT_LOCAL)
    spin_until(lambda: trees and statuses, 10, "transient local messages")
    assert [n.action.name for n in trees[-1].nodes] == ["", "grasp", "place_in", ""]
    assert statuses[-1].state == TaskStatus.SUCCEEDED


def test_no_body(make_node, doubles):
    """Nobody publishes a world: the task fails with what to do, the node lives on."""
    make_node(PlannerNodeDouble, doubles[0])
    make_node(FeedbackNode, simulated("feedback_node", body_silence=0.3))
    client = make_node(client_node).run
    assert client.wait_for_server(timeout_sec=60.0)
    for _ in range(2):
        handle = result_of(client.send_goal_async(RunTask.Goal(task=task_goal(sentence="put a in the tray"))))
        result = result_of(handle.get_result_async()).result
        assert not result.success and "/world_state" in result.message


def test_a_body_that_is_killed_while_acting(make_node, doubles, spin_until):
    """The body's process is killed in the middle of an action: the task fails in time, the node serves the next with a
    new body, though the graph shows the old one for another 20 s.
    """

    def start(*arguments):
        environment = {**os.environ, "PYTHONPATH": python_path(Path(__file__).parent.parent)}
        return subprocess.Popen([sys.executable, "-m", "doubles.body_process", *arguments], env=environment)

    bodies = [start("hold")]
    try:
        make_node(PlannerNodeDouble, doubles[0])
        feedback_node = make_node(
            FeedbackNode, simulated("feedback_node", action_timeout=2.0, fallback="none", body_silence=10.0)
        )
        client, feedback = make_node(client_node).run, []
        assert client.wait_for_server(timeout_sec=60.0)
        task = RunTask.Goal(task=task_goal(sentence="put a in the tray"))

        def begun():
            """The result to come of a task whose action has begun; one that a busy machine ended before is repeated."""
            sent = result_of(client.send_goal_async(task, feedback_callback=feedback.append), 60)
            ended = sent.get_result_async()
            spin_until(
                lambda: ended.done() or any("moving" in f.feedback.status.phase for f in feedback), 20, "the action"
            )
            return None if ended.done() else ended

        ended = spin_until(begun, 60, "the action to begin")
        dead = publishers(feedback_node, "/world_state").keys()
        bodies[0].kill()
        result = result_of(ended, 60).result
        assert not result.success and result.message
        bodies.append(start())
        spin_until(lambda: publishers(feedback_node, "/world_state").keys() - dead, 20, "the new body")
        handle = result_of(client.send_goal_async(RunTask.Goal(task=task_goal(sentence="put a in the tray"))))
        result = result_of(handle.get_result_async(), 60).result
        assert result.success, result.message
    finally:
        for body in bodies:
            body.kill()
            body.wait(60.0)
    spin_until(lambda: not publishers(feedback_node, "/world_state"), 40, "the graph to forget the dead")


def test_a_task_begins_in_no_older_world_than_its_sender_has_seen(system, doubles, make_node, spin_until):
    """The scene has changed, and the news reach feedback_node after the task: it waits for them."""
    from dataclasses import replace

    body = doubles[1]
    body.world = replace(tabletop("a b: item; tray: container", "in(a, tray)"), revision=7)
    handle, _ = run(system, sentence="put a in the tray", world_revision=7)

    def phases():  # asked for: the first feedback may come before all of the client is known to the node
        return [task.phase for task in result_of(system.list.call_async(ListTasks.Request())).tasks]

    spin_until(lambda: "looking" in phases(), 10, "the task to wait")
    system.body_node.served.publish()
    result = result_of(handle.get_result_async()).result
    assert result.success and result.status.progress.steps == 0, result.message  # it held already in the new world
    assert body.done == []


def test_a_world_that_never_comes_is_said(make_node, doubles, spin_until):
    make_node(PlannerNodeDouble, doubles[0])
    make_node(BodyNodeDouble, doubles[1])
    make_node(FeedbackNode, simulated("feedback_node", body_silence=0.3))
    client = make_node(client_node).run
    assert client.wait_for_server(timeout_sec=60.0)

    def outcome(**fields):
        handle = result_of(client.send_goal_async(RunTask.Goal(task=task_goal(sentence="put a in the tray", **fields))))
        return result_of(handle.get_result_async()).result

    spin_until(lambda: outcome().success, 60, "the body to be known")
    result = outcome(world_revision=99)
    assert not result.success and "world revision 99" in result.message


@pytest.fixture
def careful(make_node, doubles):
    """A feedback node that asks a person, its doubles, and a node that can run tasks."""
    make_node(PlannerNodeDouble, doubles[0])
    make_node(BodyNodeDouble, doubles[1])
    make_node(FeedbackNode, [Parameter("require_approval", value=True), Parameter("approval_timeout", value=30.0)])
    client = make_node(client_node)
    assert client.run.wait_for_server(timeout_sec=60.0)
    return client


@pytest.mark.parametrize("word, success", [("--yes", True), ("--no", False)])
def test_a_plan_waits_for_a_persons_word(careful, doubles, spin_until, capsys, word, success):
    seen = []
    handle = result_of(
        careful.run.send_goal_async(
            RunTask.Goal(task=task_goal(sentence="put a in the tray")), feedback_callback=seen.append
        )
    )
    spin_until(lambda: any(f.feedback.status.state == TaskStatus.AWAITING_APPROVAL for f in seen), 10, "a plan to wait")
    waiting = next(f.feedback.status for f in seen if f.feedback.status.state == TaskStatus.AWAITING_APPROVAL)
    assert [a.name for a in waiting.plan.actions] == ["grasp", "place_in"] and len(waiting.plan.hash) == 12
    assert cli.main(["approve", word, "--hash", "0" * 12]) == 1
    assert f"the pending plan is {waiting.plan.hash}" in capsys.readouterr().err
    assert doubles[1].done == []
    assert cli.main(["approve", "--json"]) == 1  # to read only
    assert json.loads(capsys.readouterr().out)["hash"] == waiting.plan.hash
    assert cli.main(["approve", word, "--hash", waiting.plan.hash, "--comment", "seen by me"]) == 0
    assert "1. pick up the a  [grasp(a)]" in capsys.readouterr().out
    result = result_of(handle.get_result_async()).result
    assert result.success is success and doubles[1].done == (["grasp(a)", "place_in(a, tray)"] if success else [])
    assert success or (result.status.state == TaskStatus.CANCELED and "by me" in result.message)
    assert cli.main(["approve", "--yes"]) == 1
    assert "no plan waits for approval" in capsys.readouterr().err


def test_dry_runs_and_questions_end_as_asked_and_are_no_success(system, doubles):
    planner, body = doubles
    handle, _ = run(system, sentence="put a in the tray", dry_run=True)
    end = result_of(handle.get_result_async())
    assert end.status == GoalStatus.STATUS_SUCCEEDED and not end.result.success and body.done == []
    status = end.result.status
    assert status.state == TaskStatus.PLANNED and [a.name for a in status.plan.actions] == ["grasp", "place_in"]
    assert list(status.plan.words) == ["pick up the a", "put the a in the tray"] and status.reading.understood
    planner.answer = "I see a and b."
    handle, _ = run(system, sentence="what do you see?")
    end = result_of(handle.get_result_async())
    assert end.status == GoalStatus.STATUS_SUCCEEDED and not end.result.success and body.done == []
    assert (end.result.status.state, end.result.status.reading.answer) == (TaskStatus.ANSWERED, "I see a and b.")
    listed = result_of(system.list.call_async(ListTasks.Request(limit=1)))
    assert [t.state for t in listed.tasks] == [TaskStatus.ANSWERED] and listed.total == 2

"""The console on real ROS, with a double of feedback_node: verbs as a person uses them, and every way to fail."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from builtin_interfaces.msg import Time
from codes import raises_code
from doubles.environment import python_path
from doubles.task_server import TaskServer
from planweave_interfaces.msg import WorldState

from planweave.cli import doctor
from planweave.cli import main as cli
from planweave.core.symbolic.world import Literal
from planweave.core.trees.action_tree import Status
from planweave.core.workflow.task_status import TaskState
from planweave.launcher.one_system import only_system
from planweave.launcher.systems import NodeSpec, systems_of
from planweave_ros import conversions as convert
from planweave_ros.client import Client
from planweave_ros.qos import TRANSIENT_LOCAL

TEST = Path(__file__).resolve().parents[1]


@pytest.fixture
def server(make_node):
    """A double of feedback_node that holds the domain as a system does, so that the verbs wait to discover it."""
    with only_system("double"):
        yield make_node(TaskServer)


@pytest.fixture
def client(request):
    served = "server" in request.fixturenames and request.getfixturevalue("server")
    with Client() as client:
        if served:  # a busy machine takes longer to discover it than a verb waits
            assert client._services["list_tasks"].wait_for_service(timeout_sec=60.0)
        yield client


def run_verb(*arguments, capsys):
    code = cli.main(list(arguments))
    printed = capsys.readouterr()
    assert "Traceback" not in printed.err + printed.out
    return code, printed.out, printed.err


def test_another_system_than_the_one_asked_for_is_refused_before_anything_is_sent(
    server, client, make_node, spin_until, capsys
):
    for name in ("virtualhome_node", "planner_node"):
        make_node(name)
    # A node of an earlier test that was killed stays in the graph until its lease ends.
    spin_until(lambda: systems_of(client.nodes(0.2)) == ["household"], 20, "the household alone")
    code, _, err = run_verb("run", "--system", "tabletop", "succeed", capsys=capsys)
    assert code == 1 and client.tasks() == []
    assert "--system tabletop" in err and "household" in err and "simulation_node" in err
    code, out, _ = run_verb("run", "--system", "household", "succeed", capsys=capsys)
    assert code == 0 and "done" in out


def test_a_task_is_run_and_seen_on_its_way(server, client):
    seen, trees = [], []
    result = client.run_task(
        "succeed",
        method="tree_planner",
        goal=[Literal("in", ("a", "b"))],
        on_status=seen.append,
        on_tree=lambda task_id, rows: trees.append((task_id, rows)),
    )
    assert result.success
    assert result.message == "it did succeed"
    assert result.status.state is TaskState.SUCCEEDED
    assert result.record == {"events": [{"event": "ended"}]}
    assert server.asked == [("succeed", "tree_planner", 1)]
    assert seen[0].phase == "acting"
    assert [row.action for row in result.rows] == ["", "grasp(red_cube)", "[END]"]
    assert result.rows[1].status is Status.DONE
    assert trees[-1][0] == result.status.task_id


def test_a_failure_is_a_result_and_not_an_exception(server, client):
    result = client.run_task("fail")
    assert not result.success
    assert result.status.state is TaskState.FAILED


def test_a_task_that_takes_too_long_is_cancelled(server, client, spin_until):
    with raises_code("canceled", "0.3 s", "--timeout"):
        client.run_task("wait", timeout=0.3)
    spin_until(lambda: server.canceled, 5.0, "the cancel to arrive")


def test_an_interrupt_cancels_the_task(server, client, spin_until):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        client.run_task("wait", watch=interrupt)
    spin_until(lambda: server.canceled, 5.0, "the cancel to arrive")


def test_an_interrupt_before_the_task_is_accepted_cancels_it_too(server, client, spin_until, monkeypatch):
    def interrupted(future, timeout, who):
        raise KeyboardInterrupt

    monkeypatch.setattr(client, "_result", interrupted)
    with pytest.raises(KeyboardInterrupt):
        client.run_task("wait")
    spin_until(lambda: server.canceled, 5.0, "the cancel to arrive")


def test_a_server_that_dies_in_the_middle_is_reported(client, start_node, monkeypatch):
    monkeypatch.setattr("planweave_ros.client.VANISHED", 1.0)
    node = start_node("task_server", module="doubles.task_server", environment={"PYTHONPATH": python_path(TEST)})
    assert client.is_up(10.0)
    with raises_code("no_system", "feedback_node", "1 s"):
        client.run_task("vanish", timeout=60.0)
    assert node.wait(60.0) == 3


def test_nobody_there_is_said_with_what_to_do(ros, client):
    assert not client.is_up(0.2)
    with raises_code("no_system", "planweave up tabletop"):
        client.tasks()


def test_nodes_are_named_that_are_discovered_late_and_no_hidden_ones(make_node, client, monkeypatch, spin_until):
    make_node("_ros2cli_daemon_1")
    make_node("early_node")
    seen = client._node.get_node_names_and_namespaces
    looks = []

    def discover():
        looks.append(1)
        if len(looks) == 2:
            make_node("late_node")
            spin_until(lambda: any(name == "late_node" for name, _ in seen()), 20.0, "the late node to be seen")
        return seen()

    monkeypatch.setattr(client._node, "get_node_names_and_namespaces", discover)
    assert {"early_node", "late_node"} <= set(client.nodes(1.0)) and "_ros2cli_daemon_1" not in client.nodes(0.2)


def test_what_is_missing_is_named_by_node(server, client, spin_until):
    there = NodeSpec("feedback_node", (), ("/get_task",), ("/run_task",), ("/action_tree",))
    absent = NodeSpec("planner_node", (), ("/interpret_goal", "/get_task"), ("/generate_plans",), ("/nothing",))
    spin_until(lambda: "feedback_node" not in client.missing([there]), 5.0, "the server to be seen")
    assert client.missing([there, absent]) == {"planner_node": ["/interpret_goal", "/generate_plans", "/nothing"]}


def test_scenes_recordings_and_pictures(server, client):
    client.load_scene("blocks")
    with raises_code("unknown_name", "'kitchen'"):
        client.load_scene("kitchen")
    client.start_recording()
    assert client.stop_recording("/tmp/x.mp4") == 12
    picture = client.picture()
    assert picture.tolist() == [[[255, 0, 0], [0, 255, 0], [0, 0, 255]]] * 2
    with raises_code("no_system", "/nowhere", "0.2 s"):
        client.picture("/nowhere", 0.2)


def test_run_status_and_cancel_as_a_person_uses_them(server, capsys):
    code, out, _ = run_verb("run", "succeed", capsys=capsys)
    assert code == 0
    assert "in(red_cube, left_tray)  [grammar]: holds" in out
    code, out, _ = run_verb("run", "fail", "--scene", "blocks", capsys=capsys)
    assert code == 1
    assert "failed  it did fail" in out
    code, out, _ = run_verb("status", capsys=capsys)
    assert code == 0
    assert "task-1" in out and "task-2" in out
    assert run_verb("cancel", "task-1", capsys=capsys)[:2] == (0, "cancelling task-1\n")
    code, _, err = run_verb("cancel", "task-9", capsys=capsys)
    assert code == 1
    assert "no task 'task-9'" in err
    code, _, err = run_verb("status", "task-9", capsys=capsys)
    assert code == 1
    assert "known: none" in err
    code, _, err = run_verb("run", "succeed", "--scene", "kitchen", capsys=capsys)
    assert code == 1
    assert "unknown scene 'kitchen'" in err
    code, _, err = run_verb("up", "tabletop", capsys=capsys)
    assert code == 1
    assert "already running: double in ROS domain" in err


@pytest.fixture
def silent_body(make_node):
    """A body whose camera has been silent for a minute."""
    worlds = make_node("a_body").create_publisher(WorldState, "/world_state", TRANSIENT_LOCAL)
    worlds.publish(WorldState(domain="tabletop", silent=True, heard=Time(sec=int(time.time()) - 60)))


def test_export_asks_the_running_system_for_a_task(server, capsys):
    run_verb("run", "succeed", capsys=capsys)
    code, _, err = run_verb("export", "task-9", capsys=capsys)
    assert code == 1 and "no task 'task-9'" in err
    code, _, err = run_verb("export", "--format", "pddl", capsys=capsys)
    assert code == 1 and "neither carried out nor planned an action" in err
    server.events = [{"event": "action", "action": "grasp(red_cube)", "code": "SUCCESS"}]
    assert run_verb("export", "task-1", "--format", "pddl", capsys=capsys)[:2] == (0, "(grasp red_cube)\n")


def test_run_sends_a_tree_in_place_of_a_method(server, tmp_path, capsys):
    path = tmp_path / "tree.xml"
    path.write_text("<root/>")
    assert run_verb("run", "succeed", "--tree", str(path), capsys=capsys)[0] == 0
    assert server.asked[-1][:2] == ("succeed", "<root/>")


def test_run_sends_states_in_their_order_and_what_is_kept(server, capsys):
    states = ["--before", "holding(a)", "--before", "on(a, b) and clear(a)"]
    code, _, _ = run_verb("run", "succeed", "--goal", "in(a, tray)", *states, "--keep", "clear(c)", capsys=capsys)
    assert code == 0
    sent = convert.task_goal_from_msg(server.newest)
    assert [" and ".join(map(str, step)) for step in sent.before] == states[1::2]
    assert (sent.sentence, *map(str, (*sent.goal, *sent.keep))) == ("succeed", "in(a, tray)", "clear(c)")


def test_what_nobody_saw_has_an_exit_code_of_its_own(server, capsys):
    code, out, _ = run_verb("run", "blind", capsys=capsys)
    assert code == 3 and "not confirmed  it did blind" in out and "[grammar]: not confirmed" in out
    code, out, _ = run_verb("run", "blind", "--json", capsys=capsys)
    assert code == 3 and json.loads(out)["success"] is False and json.loads(out)["state"] == "not_confirmed"
    assert json.loads(run_verb("status", "--json", capsys=capsys)[1])["sight"] is None


def test_status_shows_a_silent_camera(server, silent_body, capsys):
    code, out, _ = run_verb("status", capsys=capsys)
    assert code == 0 and re.search(r"no detections for \d+ s", out), out
    assert json.loads(run_verb("status", "--json", capsys=capsys)[1])["sight"]["silent"]


def test_a_running_task_shows_a_silent_camera(server, client, silent_body):
    told = []

    def silence(silent, heard):
        told.append(silent)
        server.go_on.set()

    assert client.run_task("linger", on_sight=silence).success
    assert told[:1] == [True], "it is told while the task runs"


@pytest.mark.parametrize(("sentence", "success", "code"), [("succeed", True, 0), ("fail", False, 1)])
def test_json_is_one_object_and_nothing_else(server, capsys, sentence, success, code):
    got, out, _ = run_verb("run", "--json", sentence, capsys=capsys)
    assert got == code
    found = json.loads(out)
    assert found["success"] is success
    assert found["goal"] == ["in(red_cube, left_tray)"]
    assert len(found["tree"]) == 3
    assert json.loads(run_verb("status", "--json", capsys=capsys)[1])["tasks"][0]["task_id"] == "task-1"


def test_ctrl_c_in_a_shell_cancels_and_leaves_with_130(server, spin_until):
    process = subprocess.Popen(
        [sys.executable, "-m", "planweave", "run", "--json", "wait"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    ender = threading.Timer(30.0, process.kill)
    ender.start()
    try:
        spin_until(lambda: server.asked, 20.0, "the task to arrive")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        ender.cancel()
        process.kill()
    assert process.returncode == 130
    assert json.loads(out) == {
        "success": False,
        "error": "Interrupted",
        "message": "interrupted",
        "code": "interrupted",
    }
    assert "Traceback" not in err
    spin_until(lambda: server.canceled, 5.0, "the cancel to arrive")


def test_doctor_finds_ros_working(capsys):
    finding = doctor.check_ros()
    assert finding.state == "ok", finding
    assert finding.details["milliseconds"] < 5000


def test_what_was_understood_comes_before_anything_moves_and_a_dry_run_stops_there(server, capsys):
    code, out, _ = run_verb("run", "succeed", capsys=capsys)
    assert code == 0 and out.index("I understood: the red cube goes into the left tray") < out.index("step 1")
    code, out, _ = run_verb("run", "--dry", "succeed", capsys=capsys)
    assert code == 0 and "planned" in out and "1. pick up the red cube  [grasp(red_cube)]" in out
    assert "every step can be done and the goal holds" in out and "holds, as" not in out
    found = json.loads(run_verb("run", "--dry", "--json", "succeed", capsys=capsys)[1])
    assert (found["success"], found["state"], found["dry_run"]) == (False, "planned", True)
    assert found["plan_words"] == ["pick up the red cube"] and found["understood"]


def test_a_question_is_answered_with_exit_code_0_and_is_no_reached_goal(server, capsys):
    code, out, _ = run_verb("run", "ask", capsys=capsys)
    assert code == 0 and "answer  I see the red cube." in out and "done" not in out
    code, out, _ = run_verb("run", "--json", "ask", capsys=capsys)
    found = json.loads(out)
    assert code == 0 and (found["success"], found["state"], found["answer"]) == (
        False,
        "answered",
        "I see the red cube.",
    )


def test_subscriptions_are_destroyed_by_the_thread_that_spins(client, server, spin_until, monkeypatch):
    """Destroyed by another while it waits for them, they end that thread with rclpy's InvalidHandle."""
    where, destroy = [], client._node.destroy_subscription

    def destroyed(subscription):
        where.append(threading.current_thread())
        return destroy(subscription)

    monkeypatch.setattr(client._node, "destroy_subscription", destroyed)
    client.run_task("succeed")
    spin_until(lambda: where, 5, "the subscription to the status to be gone")
    assert set(where) == {client._thread} and client._thread.is_alive()

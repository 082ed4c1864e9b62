"""Nothing is started where a system, or somebody else's robot, may be: on real ROS, in the domain of the tests."""

import contextlib
import socket
import threading

import pytest
from codes import raises_code
from doubles.task_server import TaskServer
from rich.console import Console
from sensor_msgs.msg import JointState

from planweave.cli import run
from planweave.core.base.errors import SystemDownError
from planweave.launcher import domains, running_system
from planweave.launcher.one_system import own_domain
from planweave_ros.client import Client
from planweave_ros.lasting_client import LastingClient

CONSOLE = Console(quiet=True)


@pytest.fixture
def unknown_participant():
    """Somebody in the domain who is not discovered, as where the first messages are lost."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("127.0.0.1", 7400 + 250 * domains.domain() + 10 + 2 * 90))
        yield taken


@pytest.fixture
def nothing_starts(monkeypatch):
    """Fails where a system is started."""

    def starts(*_):
        pytest.fail("a system was started")

    monkeypatch.setattr(running_system.RunningSystem, "__enter__", starts)


def test_a_system_that_is_discovered_late_is_waited_for(
    ros, make_node, unknown_participant, nothing_starts, monkeypatch
):
    monkeypatch.setattr(run, "DISCOVERY", 300.0)
    found, searched, search = [], threading.Event(), Client.search

    def telling(client, patience):
        searched.set()
        return search(client, patience)

    monkeypatch.setattr(Client, "search", telling)

    def ask():
        with run.system_for(None, None, CONSOLE) as (client, _):
            found.append(client.tasks())

    asking = threading.Thread(target=ask, daemon=True)
    asking.start()
    assert searched.wait(60.0)
    make_node("somebody_else")
    with Client() as client:
        assert client.search(0.0) is None, "nobody knows"
    make_node(TaskServer)
    asking.join(120.0)
    assert found == [[]]


def test_where_nobody_can_know_nothing_is_started(ros, make_node, unknown_participant, nothing_starts, monkeypatch):
    monkeypatch.setattr(run, "DISCOVERY", 0.5)
    with raises_code("no_system", "planweave run --system tabletop"), run.system_for(None, None, CONSOLE):
        pass


def test_it_is_known_that_nothing_runs_once_everybody_is_discovered(ros, make_node):
    make_node("somebody_else")
    with Client() as client:
        assert client.search(300.0) is False


def test_a_task_server_that_is_starting_is_waited_for(ros, make_node):
    make_node("feedback_node")
    with Client() as client:
        assert client.search(3.0) is None


@pytest.mark.parametrize("name", ["executor_node", "/joint_states"])
def test_a_simulation_is_refused_in_a_named_domain_that_has_a_robot(ros, make_node, nothing_starts, name):
    if name.startswith("/"):
        make_node("driver").create_publisher(JointState, name, 10)
    else:
        make_node(name)
    up = run.started("tabletop", {}, CONSOLE, lasting=True)
    with raises_code("already_running", name.strip("/"), "ROS_DOMAIN_ID=7"), up:
        pass


def test_what_run_starts_is_in_a_domain_of_its_own(ros, make_node, monkeypatch):
    """Also where its search has overlooked a robot: whatever is sent there arrives nowhere else."""
    here, started = domains.domain(), []

    @contextlib.contextmanager
    def starting(system, logs, overrides):
        started.append((system.name, domains.domain()))
        raise SystemDownError("enough")
        yield

    monkeypatch.setattr(running_system, "RunningSystem", starting)
    make_node("driver").create_publisher(JointState, "/joint_states", 10)
    monkeypatch.setattr(Client, "search", lambda client, patience: False)
    with raises_code("no_system", "enough"), run.system_for(None, None, CONSOLE):
        pass
    assert [name for name, _ in started] == ["tabletop"] and started[0][1] not in (here, 0)
    assert domains.domain() == here


def test_a_client_follows_the_system_to_its_domain(ros, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.delenv("ROS_DOMAIN_ID")
    with LastingClient() as client:
        with own_domain("tabletop", lasting=True):
            up = domains.domain()
            monkeypatch.delenv("ROS_DOMAIN_ID")
            assert client._client is None and client.nodes(0.0) == []
            first = client._client
            assert first._domain == up
        client.nodes(0.0)
        assert client._client is not first and client._client._domain != up

"""One system for each ROS domain and namespace, and the domain in which a command finds it."""

import contextlib
import os
import socket
import stat
import subprocess
import sys

import pytest
from codes import raises_code

from planweave.launcher import domains, one_system
from planweave.launcher.environment import RANGE, ros_environment
from planweave.launcher.namespace import namespace
from planweave.launcher.one_system import (
    domain_of_running,
    held_domain,
    join,
    only_system,
    own_domain,
    running,
    runs_here,
)


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("ROS_DOMAIN_ID", "55")


@pytest.fixture
def unnamed(monkeypatch):
    """A shell in which no domain is named."""
    monkeypatch.delenv("ROS_DOMAIN_ID")


def test_a_second_system_in_the_domain_is_refused_by_name_and_another_domain_is_free(monkeypatch):
    assert runs_here() is None
    with only_system("tabletop"):
        assert (runs_here().name, runs_here().process, runs_here().domain) == ("tabletop", os.getpid(), 55)
        with raises_code("already_running", f"tabletop in ROS domain 55 (process {os.getpid()}"), only_system("b"):
            pass
        monkeypatch.setenv("ROS_DOMAIN_ID", "56")
        assert runs_here() is None
        with only_system("household"):
            assert [one.name for one in running()] == ["tabletop", "household"]
    assert running() == []


def test_each_namespace_has_a_system_of_its_own(monkeypatch):
    monkeypatch.setenv("PLANWEAVE_NAMESPACE", "arm1")
    with only_system("tabletop"):
        with raises_code("already_running", "tabletop", "ROS domain 55", "/arm1", "--namespace arm2"):
            only_system("tabletop").__enter__()
        monkeypatch.setenv("PLANWEAVE_NAMESPACE", "/lab/arm2/")
        assert runs_here() is None
        with only_system("tabletop"):
            assert runs_here().namespace == "/lab/arm2"
        monkeypatch.delenv("PLANWEAVE_NAMESPACE")
        assert runs_here() is None


@pytest.mark.parametrize("name", ["arm-1", "1arm", "a//b", "arm 1", "a__b", "~arm"])
def test_what_cannot_be_a_namespace_is_refused(monkeypatch, name):
    monkeypatch.setenv("PLANWEAVE_NAMESPACE", name)
    with raises_code("configuration", f"'{name}'"):
        namespace()


def test_a_killed_holder_leaves_the_domain_free():
    code = (
        "import os\nfrom planweave.launcher.one_system import only_system\n"
        "with only_system('t'):\n    os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code], timeout=30).returncode == -9
    assert runs_here() is None and running() == []


def test_a_lock_file_that_is_not_ours_is_neither_followed_nor_emptied(tmp_path):
    precious, lock = tmp_path / "precious", tmp_path / f"planweave-{os.getuid()}-domain-55.lock"
    precious.write_text("kept")
    for make in (lock.symlink_to, lock.hardlink_to):
        make(precious)
        with raises_code("configuration", "planweave-0-domain-55.lock"), only_system("tabletop"):
            pass
        assert running() == [] and precious.read_text() == "kept"
        lock.unlink()
    with only_system("tabletop"):
        assert stat.S_IMODE(lock.stat().st_mode) == 0o600
        lock.write_text("{")
        assert [one.domain for one in running()] == [55], "held, whatever stands in it"


@pytest.mark.parametrize("text", ["x", "-1", "1.5", "233", "²"])
def test_what_is_no_domain_is_refused(monkeypatch, text):
    monkeypatch.setenv("ROS_DOMAIN_ID", text)
    with raises_code("configuration", "ROS_DOMAIN_ID"):
        domains.domain()


def in_domain(domain, participant=0):
    """A socket on the port of a participant of a domain, as of another user's program, of any DDS."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    taken.bind(("127.0.0.1", 7400 + 250 * domain + 10 + 2 * participant))
    return taken


def test_who_is_in_a_domain_is_known_without_joining_it():
    local = ros_environment({}, one_system.Path(sys.prefix))
    assert domains.is_this_machine(local) and domains.participants(98) == 0 and domains.is_empty(98, local)
    with in_domain(98), in_domain(98, 3):
        assert domains.participants(98) == 2 and domains.participants(97) == 0
        assert not domains.is_empty(98, local)
    for variable, value in (
        (RANGE, "SUBNET"),
        ("ROS_STATIC_PEERS", "10.0.0.2"),
        ("RMW_IMPLEMENTATION", "rmw_zenoh_cpp"),
    ):
        assert not domains.is_empty(98, ros_environment({variable: value}, one_system.Path(sys.prefix)))


def test_a_domain_of_its_own_is_one_in_which_nobody_is_and_reaches_no_other_machine(monkeypatch):
    monkeypatch.setenv(RANGE, "SUBNET")
    monkeypatch.setenv("ROS_STATIC_PEERS", "10.0.0.2")
    with own_domain("first"):
        first = domains.domain()
        assert domains.is_this_machine(os.environ) and "ROS_STATIC_PEERS" not in os.environ
        assert first not in (0, 55)
    assert (os.environ["ROS_DOMAIN_ID"], os.environ[RANGE], os.environ["ROS_STATIC_PEERS"]) == (
        "55",
        "SUBNET",
        "10.0.0.2",
    )
    with in_domain(first), own_domain("somebody is there"):
        assert domains.domain() != first
    with own_domain("ours"), own_domain("another of ours"):
        assert len({one.domain for one in running()}) == 2


def test_it_is_the_same_one_again_where_all_are_free(monkeypatch):
    monkeypatch.setattr(one_system, "participants", lambda domain: 0)  # tests beside this one take and free some
    monkeypatch.setattr(one_system, "reserved", lambda domain: contextlib.nullcontext(True))
    with own_domain("first"):
        first = domains.domain()
    with own_domain("second"):
        assert domains.domain() == first


def test_where_somebody_is_in_every_domain_nothing_is_started(monkeypatch):
    monkeypatch.setattr(one_system, "participants", lambda domain: 1)
    with raises_code("already_running", "1 to 101", "ROS_DOMAIN_ID"), own_domain("tabletop"):
        pass


@pytest.mark.parametrize("lasting", [False, True])
def test_a_simulation_never_is_where_the_user_has_named_no_domain(unnamed, lasting):
    with held_domain("tabletop", alone=True, lasting=lasting) as empty:
        assert empty and domains.domain() != 0


def test_a_simulation_that_a_command_starts_is_not_in_the_named_domain_either():
    with held_domain("tabletop", alone=True, lasting=False) as empty:
        assert empty and domains.domain() != 55
    with held_domain("tabletop", alone=True, lasting=True) as empty:
        assert not empty and domains.domain() == 55


def test_systems_that_share_no_files_take_different_domains_before_their_nodes_are_up(unnamed, monkeypatch, tmp_path):
    """As in containers on the host's network, or of two users."""
    with own_domain("tabletop"):
        one = domains.domain()
        assert domains.participants(one) == 0
        monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
        with own_domain("tabletop"):
            assert domains.domain() != one
    with domains.reserved(one) as alone:
        assert alone  # it was released


@pytest.mark.parametrize("lasting", [False, True])
def test_what_needs_other_nodes_is_in_their_domain(unnamed, lasting):
    with held_domain("franka", alone=False, lasting=lasting) as empty:
        assert not empty and domains.domain() == 0


def test_commands_find_the_system_that_is_up_and_a_named_domain_counts(unnamed, monkeypatch):
    assert domain_of_running() == 0
    with own_domain("tabletop", lasting=True):
        up = domains.domain()
        del os.environ["ROS_DOMAIN_ID"]
        assert domain_of_running() == up
        with own_domain("tabletop"):  # of a `run` at the same time
            del os.environ["ROS_DOMAIN_ID"]
            assert domain_of_running() == domain_of_running(temporary=False) == up
        monkeypatch.setenv("ROS_DOMAIN_ID", "7")
        assert domain_of_running() == 7
        monkeypatch.delenv("ROS_DOMAIN_ID")
        monkeypatch.setenv("PLANWEAVE_NAMESPACE", "arm1")
        assert domain_of_running() == 0 and str(up) in one_system.elsewhere()
        monkeypatch.delenv("PLANWEAVE_NAMESPACE")
        join()
        assert os.environ["ROS_DOMAIN_ID"] == str(up)


def test_a_system_of_run_is_found_to_cancel_its_task_but_not_to_give_it_another(unnamed):
    with own_domain("tabletop"):
        one = domains.domain()
        del os.environ["ROS_DOMAIN_ID"]
        assert domain_of_running() == one and domain_of_running(temporary=False) == 0
        with own_domain("tabletop"):
            del os.environ["ROS_DOMAIN_ID"]
            with raises_code("already_running", "ROS_DOMAIN_ID"):
                domain_of_running()


def test_a_second_system_that_lasts_is_refused_by_name_unless_its_domain_is_named(unnamed, monkeypatch):
    with held_domain("franka", alone=False, lasting=True):
        with raises_code("already_running", "franka", "ROS domain 0"), held_domain("tabletop", True, True):
            pass
        monkeypatch.setenv("ROS_DOMAIN_ID", "56")
        with held_domain("tabletop", alone=True, lasting=True):
            assert domains.domain() == 56


def test_other_programs_are_told_the_domain(unnamed):
    def told():
        return subprocess.run(
            [sys.executable, "-m", "planweave.launcher.one_system"], capture_output=True, text=True, timeout=60
        )

    assert told().stdout == "0\n"
    with own_domain("tabletop", lasting=True):
        up = domains.domain()
        del os.environ["ROS_DOMAIN_ID"]
        assert told().stdout == f"{up}\n"
        with own_domain("household", lasting=True):
            del os.environ["ROS_DOMAIN_ID"]
            assert told().returncode == 1 and "2 systems run" in told().stderr

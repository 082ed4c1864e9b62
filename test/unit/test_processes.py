"""Nodes as processes and whole systems, with small programs in the place of nodes. No ROS."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from codes import raises_code
from doubles.environment import python_path

from planweave.core.base.errors import SystemDownError
from planweave.core.base.memory import _as_in_files, give_back_memory
from planweave.launcher.running_system import RunningSystem, log_folder, start_node, stop_nodes
from planweave.launcher.systems import NodeSpec, System

PATIENT = (  # SIGINT is ignored by what a shell starts in the background, and by what that starts
    "import signal, time\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "print('at work', flush=True)\ntime.sleep(60)\n"
)
DEAF = "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf', flush=True)\ntime.sleep(60)\n"
PARENT = (
    "import subprocess, sys, time\n"
    "code = 'import signal, time; signal.signal(2, signal.SIG_IGN); time.sleep(60)'\n"
    "child = subprocess.Popen([sys.executable, '-c', code])\n"
    "print(child.pid, flush=True)\ntime.sleep(60)\n"
)
BROKEN = (
    "import sys\nprint('starting')\nprint('error: the camera is missing', file=sys.stderr)\nprint('bye')\nsys.exit(2)\n"
)
TELLING = "import json, os, sys\nprint(json.dumps({'argv': sys.argv[1:], 'domain': os.environ.get('ROS_DOMAIN_ID')}))\n"


@pytest.fixture
def program(tmp_path, monkeypatch):
    """program("name", source): a room with this source as its node.py."""
    monkeypatch.setenv("PYTHONPATH", python_path(tmp_path))

    def make(name, source):
        (tmp_path / name).mkdir()
        (tmp_path / name / "node.py").write_text(textwrap.dedent(source))
        return NodeSpec(name, (tmp_path / "parameters.yaml",), services=(f"/{name}/go",))

    return make


def until(condition, seconds=10.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.01)


def alive(pid):
    try:
        return open(f"/proc/{pid}/stat").read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Graph:
    """Sees nothing until `there` names a node."""

    def __init__(self, *there):
        self.there = set(there)

    def missing(self, nodes):
        return {node.name: list(node.services) for node in nodes if node.name not in self.there}


def test_a_node_gets_parameters_and_environment_and_its_output_is_kept(program, tmp_path):
    import json

    program("telling_node", TELLING)
    node = start_node(
        "telling_node",
        tmp_path / "log",
        parameter_files=[tmp_path / "p.yaml"],
        parameters={"scene": "blocks", "fast": True, "rate": 2.5, "names": ["a", "b"], "empty": ""},
        environment={"ROS_DOMAIN_ID": "77"},
    )
    assert node.wait(60.0) == 0
    told = json.loads(node.output())
    assert told["domain"] == "77"
    assert told["argv"] == [
        "--ros-args",
        "--params-file",
        str(tmp_path / "p.yaml"),
        "-p",
        'scene:="blocks"',
        "-p",
        "fast:=true",
        "-p",
        "rate:=2.5",
        "-p",
        'names:=["a", "b"]',
        "-p",
        'empty:=""',
    ]


def test_all_are_ended_and_only_the_deaf_are_killed(program, tmp_path):
    program("patient_node", PATIENT), program("deaf_node", DEAF)
    nodes = [start_node(name, tmp_path / name.replace("_", "-")) for name in ("patient_node", "deaf_node")]
    until(lambda: all(node.output() for node in nodes))
    assert stop_nodes(nodes, patience=2.0) == ["deaf_node"]
    assert nodes[0].returncode == -signal.SIGINT or nodes[0].returncode == 1
    assert nodes[1].returncode == -signal.SIGKILL
    assert not any(alive(node.pid) for node in nodes)


def test_what_a_node_has_started_ends_with_it(program, tmp_path):
    program("parent_node", PARENT)
    node = start_node("parent_node", tmp_path / "log")
    until(lambda: node.output().strip())
    child = int(node.output())
    assert alive(child)
    stop_nodes([node], patience=2.0)
    until(lambda: not alive(child))


def test_nodes_end_with_a_console_that_is_killed(program, tmp_path):
    program("patient_node", PATIENT)
    console = subprocess.Popen(
        [
            sys.executable,
            "-c",
            textwrap.dedent(f"""
        import time
        from pathlib import Path
        from planweave.launcher.running_system import start_node
        print(start_node("patient_node", Path({str(tmp_path / "log")!r})).pid, flush=True)
        time.sleep(60)
    """),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    pid = int(console.stdout.readline())
    until(lambda: (tmp_path / "log").read_text())
    console.kill()
    console.wait(60.0)
    until(lambda: not alive(pid))
    console.stdout.close()


def test_a_system_waits_until_all_nodes_are_ready(program, tmp_path):
    system = System("small", "", (program("a_node", PATIENT), program("b_node", PATIENT)))
    heard = []
    with RunningSystem(system, tmp_path) as running:
        running.wait_ready(Graph("a_node", "b_node"), 10.0, heard.append)
        running.check()
        until(lambda: (tmp_path / "b_node.log").read_text())
    assert sorted(heard) == ["a_node", "b_node"]


def test_a_node_that_is_never_ready_is_named_with_what_it_lacks(program, tmp_path):
    system = System("small", "", (program("a_node", PATIENT), program("b_node", PATIENT)))
    with RunningSystem(system, tmp_path) as running, pytest.raises(SystemDownError) as caught:
        running.wait_ready(Graph("a_node"), 0.2)
    assert "b_node lacks /b_node/go" in str(caught.value)
    assert "a_node lacks" not in str(caught.value)
    assert str(tmp_path) in str(caught.value)


def test_a_node_that_ends_is_reported_with_its_last_error_and_takes_the_others_along(program, tmp_path):
    system = System("small", "", (program("a_node", PATIENT), program("broken_node", BROKEN)))
    with pytest.raises(SystemDownError) as caught, RunningSystem(system, tmp_path) as running:
        until(lambda: (tmp_path / "a_node.log").read_text())
        first = running._processes[0]
        running.wait_ready(Graph(), 10.0)
    message = str(caught.value)
    assert all(datum in message for datum in ("broken_node", "exit code 2", "error: the camera is missing"))
    assert str(tmp_path / "broken_node.log") in message
    assert first.returncode is not None


def test_a_killed_node_is_reported_as_killed(program, tmp_path):
    with RunningSystem(System("small", "", (program("a_node", PATIENT),)), tmp_path) as running:
        os.kill(running._processes[0].pid, signal.SIGKILL)
        running._processes[0].wait(60.0)
        with raises_code("no_system", "signal 9"):
            running.check()


def test_logs_have_a_folder_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    folder = log_folder("tabletop")
    assert folder.is_dir()
    assert folder.parent == tmp_path / "planweave" / "logs"


def dies(times, code=3):
    """A node that dies with an exit code at its first starts, and counts them."""
    return textwrap.dedent(f"""
        import pathlib, sys, time
        count = pathlib.Path(__file__).with_name("starts")
        starts = int(count.read_text()) + 1 if count.exists() else 1
        count.write_text(str(starts))
        print("start", starts, flush=True)
        if starts <= {times}:
            print("error: the cable is loose", flush=True)
            sys.exit({code})
        time.sleep(60)
    """)


@pytest.fixture
def quick(monkeypatch):
    """Nodes are started again soon."""
    monkeypatch.setattr("planweave.launcher.running_system.FIRST_PAUSE", 0.02)
    monkeypatch.setattr("planweave.launcher.running_system.LONGEST_PAUSE", 0.05)


def test_a_node_that_dies_is_started_again_and_the_rest_goes_on(program, tmp_path, quick):
    system = System("small", "", (program("a_node", PATIENT), program("b_node", dies(2))))
    said = []
    with RunningSystem(system, tmp_path) as running:
        until(lambda: (tmp_path / "a_node.log").read_text())
        other = running._processes[0].pid

        def settled():
            running.revive(said.append)
            return "start 3" in (tmp_path / "b_node.log").read_text()

        until(settled, 20)
        running.revive(said.append)
        assert running._processes[0].pid == other and running._processes[0].returncode is None
        second = running._processes[1].pid
        assert alive(second)
    assert not alive(second) and not alive(other)
    assert said == [
        "b_node ended (exit code 3): error: the cable is loose; restarting it in 0.02 s",
        "b_node ended (exit code 3): error: the cable is loose; restarting it in 0.04 s",
    ]
    log = (tmp_path / "b_node.log").read_text()
    assert log.startswith("start 1\nerror: the cable is loose\nstart 2\n"), "the log of the lives before is kept"


def test_a_node_that_asks_for_a_restart_gets_it_also_before_all_are_ready(program, tmp_path, quick):
    system, said = System("small", "", (program("b_node", dies(1, os.EX_TEMPFAIL)),)), []
    log = tmp_path / "b_node.log"
    graph = SimpleNamespace(missing=lambda nodes: {} if "start 2" in log.read_text() else {"b_node": ["/go"]})
    with RunningSystem(system, tmp_path) as running:
        running.wait_ready(graph, 60.0, say=said.append)
        running.check(said.append)
    assert said == ["b_node ended (exit code 75): error: the cable is loose; restarting it in 0.02 s"]


def test_a_node_that_keeps_dying_is_given_up_aloud(program, tmp_path, quick):
    said = []
    with (
        RunningSystem(System("small", "", (program("b_node", dies(99)),)), tmp_path) as running,
        raises_code("no_system", "b_node", "6 times"),
    ):
        until(lambda: running.revive(said.append), 30)
    assert len(said) == 5


def test_memory_that_is_given_back_leaves_all_that_is_in_use():
    before = np.linalg.inv(np.eye(40) * 2.0)
    kept = [bytes(1000) for _ in range(1000)]
    ours = list(_as_in_files(Path("/proc/self/smaps").read_text(encoding="utf-8")))
    assert ours and all(start < end for start, end in ours)
    give_back_memory()
    assert np.array_equal(np.linalg.inv(np.eye(40) * 2.0), before) and kept[-1] == bytes(1000)


def test_only_what_is_as_in_its_file_is_mapped_anew():
    def part(place, rights, path, own):
        return f"{place} {rights} 00000000 08:01 77 {path}\nRss: 8 kB\nAnonymous: {own} kB\nVmFlags: rd\n"

    rows = [
        ("1000-2000", "r-xp", "/lib/a lib.so", 0),
        ("2000-3000", "r-xp", "/lib/a lib.so", 4),  # patched when it was loaded
        ("3000-4000", "rw-p", "/lib/a lib.so", 0),
        ("4000-5000", "r--s", "/dev/shm/fastdds", 0),
        ("5000-6000", "r-xp", "[vdso]", 0),
        ("6000-7000", "r--p", "/lib/a lib.so", 0),
    ]
    text = "".join(part(*row) for row in rows) + "8000-9000 rw-p 00000000 00:00 0\nAnonymous: 0 kB\n"
    assert list(_as_in_files(text)) == [(0x1000, 0x2000), (0x6000, 0x7000)]

"""Starts a system's nodes, waits until they are ready, restarts those that die, and terminates them all."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planweave.core.base.errors import SystemDownError
from planweave.core.base.paths import state_dir
from planweave.launcher.environment import ros_environment
from planweave.launcher.namespace import namespace
from planweave.launcher.systems import NodeSpec, System

_LIBC = ctypes.CDLL(None)
_PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Run in the child before exec: the kernel terminates it when the parent dies."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


class NodeProcess:
    """One node running as `python -m <room>.node`; its output goes to a log file."""

    def __init__(self, name: str, process: subprocess.Popen[bytes], log: Path):
        self.name, self.log, self._process = name, log, process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """Exit code; negative: ended by that signal; None while it runs."""
        return self._process.poll()

    def output(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def wait(self, seconds: float) -> int | None:
        """The exit code once it ends, None where it still runs after ``seconds``."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def interrupt(self) -> None:
        """Send SIGINT, as Ctrl-C does."""
        if self._process.poll() is None:
            self.signal(signal.SIGINT)

    def kill(self) -> None:
        """Send SIGKILL to the process group, including children that outlived the node."""
        self.signal(signal.SIGKILL)

    def signal(self, number: int) -> None:
        """Send a signal to it and to what it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)


def start_node(
    name: str,
    log: Path,
    *,
    parameter_files: Sequence[Path] = (),
    parameters: Mapping[str, object] | None = None,
    module: str = "",
    environment: Mapping[str, str] | None = None,
) -> NodeProcess:
    """Start a node and return at once; ``parameters`` take precedence over those of the files.

    name: folder of the node. The node gets the namespace of this process (namespace.py). ``module`` runs another module
    instead; ``environment`` extends this process's own. The kernel terminates the node with the thread that started it,
    so call this from a thread that persists. An existing log is appended to.
    """
    command = [sys.executable, "-m", module or f"{name}.node"]
    ros_arguments: list[str] = []
    for path in parameter_files:
        ros_arguments += ["--params-file", str(path)]
    for key, value in (parameters or {}).items():
        ros_arguments += ["-p", f"{key}:={json.dumps(value)}"]  # rcl reads YAML, of which JSON is a part
    if namespace():
        ros_arguments += ["-r", f"__ns:={namespace()}"]
    if ros_arguments:
        command += ["--ros-args", *ros_arguments]
    environment = {
        **ros_environment(os.environ, Path(sys.prefix)),
        "PYTHONUNBUFFERED": "1",
        **(environment or {}),
    }
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=_end_with_parent,
        )
    return NodeProcess(name, process, log)


def stop_nodes(nodes: list[NodeProcess], patience: float = 5.0) -> list[str]:
    """Stop all nodes and their children; returns the names of those that had to be killed.

    Sends SIGINT, and SIGKILL to what still runs after ``patience`` seconds.
    """
    for node in nodes:
        node.interrupt()
    deadline = time.monotonic() + patience
    late = [node for node in nodes if node.wait(max(0.0, deadline - time.monotonic())) is None]
    for node in nodes:
        node.kill()
    for node in late:
        node.wait(5.0)
    return [node.name for node in late]


FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
"""Seconds before a node that died is started again: twice as long after each death, until it lives for STEADY."""
STEADY = 60.0
"""Seconds of life after which the deaths of a node are forgotten."""
DEATHS = 6
"""Deaths, each soon after the last start, after which a node is given up."""


@dataclass
class _Deaths:
    """Recent deaths of a node. again: time of its restart (time.monotonic()), None while it runs."""

    count: int = 0
    started: float = 0.0
    again: float | None = None


class RosGraph(Protocol):
    """Discovery of a node's interfaces; planweave_ros.client.Client implements it."""

    def missing(self, nodes: Iterable[NodeSpec]) -> dict[str, list[str]]:
        """Interfaces not discovered yet, by node; empty when all are ready."""


def log_folder(system: str) -> Path:
    folder = state_dir() / "logs" / f"{system}-{time.strftime('%Y%m%d-%H%M%S')}-{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


class RunningSystem:
    """The nodes of one system as processes. A context manager that terminates them on exit."""

    def __init__(self, system: System, logs: Path, overrides: Mapping[str, Mapping[str, object]] | None = None):
        self.system, self.logs = system, logs
        self._overrides = overrides or {}
        self._processes: list[NodeProcess] = []
        self._deaths = {node.name: _Deaths() for node in system.nodes}

    def __enter__(self) -> RunningSystem:
        try:
            for node in self.system.nodes:
                self._processes.append(self._start(node))
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _start(self, node: NodeSpec) -> NodeProcess:
        self._deaths[node.name].started = time.monotonic()
        return start_node(
            node.name,
            self.logs / f"{node.name}.log",
            parameter_files=node.parameter_files,
            parameters=self._overrides.get(node.name),
        )

    def stop(self) -> list[str]:
        """Stop all nodes; returns the names of those that had to be killed."""
        late = stop_nodes(self._processes)
        self._processes = []
        return late

    @property
    def pids(self) -> dict[str, int]:
        return {process.name: process.pid for process in self._processes}

    def check(self, say: Callable[[str], None] = lambda line: None) -> None:
        """Raise SystemDownError where a node has ended; the message contains its last output. One that asks to be
        restarted (os.EX_TEMPFAIL: its process was suspended for long) is, as by `revive`.
        """
        self.revive(say, only=os.EX_TEMPFAIL)

    def signal(self, name: str, number: int) -> None:
        """Send a signal to a node, for failure tests."""
        for process in self._processes:
            if process.name == name:
                process.signal(number)

    def revive(self, say: Callable[[str], None], only: int | None = None) -> None:
        """Restart dead nodes, each after a delay that grows with its deaths; say is called with one line for each.

        Call several times per second, from the thread that started the system. only: the exit code of those that are
        restarted, by default all. Raises SystemDownError where a node keeps dying, or has ended with another code.
        """
        now = time.monotonic()
        for index, (node, process) in enumerate(zip(self.system.nodes, self._processes)):
            deaths = self._deaths[node.name]
            if deaths.again is not None:
                if now >= deaths.again:
                    deaths.again = None
                    self._processes[index] = self._start(node)
                continue
            code = process.returncode
            if code is None:
                continue
            why = f"{node.name} ended ({_how(code)}): {_last_words(process)}"
            if only not in (None, code):
                raise SystemDownError(f"{why}\nits log: {process.log}")
            deaths.count = 1 if now - deaths.started > STEADY else deaths.count + 1
            if deaths.count >= DEATHS:
                raise SystemDownError(
                    f"{why}\nit ended {DEATHS} times soon after its start and is not restarted; its log: {process.log}"
                )
            pause = min(FIRST_PAUSE * 2 ** (deaths.count - 1), LONGEST_PAUSE)
            deaths.again = now + pause
            say(f"{why}; restarting it in {pause:g} s")

    def wait_ready(
        self,
        graph: RosGraph,
        timeout: float = 60.0,
        on_ready: Callable[[str], None] = lambda name: None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Wait until all interfaces of the description are discovered; ``on_ready`` is called for each node.

        A node that asks for a restart gets it, and `say` one line; one that ends otherwise raises SystemDownError.
        """
        deadline = time.monotonic() + timeout
        waiting = {node.name for node in self.system.nodes}
        while waiting:
            self.check(say)
            missing = graph.missing(self.system.nodes)
            for name in sorted(waiting - set(missing)):
                on_ready(name)
            waiting &= set(missing)
            if waiting and time.monotonic() > deadline:
                what = "; ".join(f"{name} lacks {', '.join(missing[name])}" for name in sorted(waiting))
                raise SystemDownError(f"not ready after {timeout:g} s: {what}\nlogs: {self.logs}")
            if waiting:
                time.sleep(0.05)


def _how(code: int) -> str:
    return f"killed by signal {-code}" if code < 0 else f"exit code {code}"


def _last_words(process: NodeProcess) -> str:
    """The line most likely to name the cause: the last error, else the last line."""
    lines = [line.strip() for line in process.output().splitlines() if line.strip()]
    errors = [line for line in lines if "error" in line.lower()]
    return (errors or lines or ["it wrote nothing"])[-1][:500]

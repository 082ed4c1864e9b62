"""Starts a system's nodes, waits until they are ready, restarts those that die, and terminates them all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from planweave.core.base.errors import SystemDownError
from planweave.core.base.paths import state_dir
from planweave.launcher.processes import NodeProcess, start_node, stop_nodes
from planweave.launcher.systems import NodeSpec, System

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
        """Process ids of the nodes, by name."""
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

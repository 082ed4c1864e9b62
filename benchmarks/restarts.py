"""From SIGKILL of a node to the answer of the one that was started again, under the restarts of `planweave up`."""

from __future__ import annotations

import argparse
import signal
import time
from concurrent.futures import Future
from typing import Any

from rclpy.node import Node
from rclpy.parameter_client import AsyncParameterClient
from rich.console import Console

from benchmarks.figures import Row, figure
from benchmarks.spun_node import spun_node, started_system
from planweave.core.base.errors import SystemDownError
from planweave.launcher import running_system
from planweave.launcher.running_system import FIRST_PAUSE, RunningSystem
from planweave.launcher.systems import load_system, with_page

_ASKED = 0.05  # s between two questions to a node that is coming back
_LONGEST = 60.0  # s
_SETTLE = 5.0  # s between two deaths


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """A row for each node of the tabletop system with its page."""
    system = with_page(load_system("tabletop"))
    running_system.STEADY = 1.0  # all deaths are ours: none makes a pause longer
    rows = []
    with started_system(system, console) as (_, running), spun_node("restarts") as asker:
        for name in running.pids:
            time.sleep(_SETTLE)
            passed = _back(asker, running, name)
            console.print(f"{name}: {passed:.1f} s", markup=False)
            of = f"{name}: from SIGKILL until it answers again, {FIRST_PAUSE:g} s of back-off in it"
            rows.append(figure(of, f"{passed:.1f} s"))
    return rows


def _back(asker: Node, running: RunningSystem, name: str) -> float:
    """Seconds of wall time from a node's death until its successor answers for its parameters."""
    before, begun = running.pids[name], time.monotonic()
    running.signal(name, signal.SIGKILL)
    questions = AsyncParameterClient(asker, name)
    answers: list[Future[Any]] = []
    while time.monotonic() - begun < _LONGEST:
        running.revive(lambda message: None)
        if running.pids[name] != before:
            answers.append(questions.get_parameters(["use_sim_time"]))
        if any(answer.done() for answer in answers):
            return time.monotonic() - begun
        time.sleep(_ASKED)
    raise SystemDownError(f"{name} did not come back within {_LONGEST:g} s; logs: {running.logs}")

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

from benchmarks.spun_node import spun_node
from planweave.core.base.errors import SystemDownError
from planweave.launcher import running_system
from planweave.launcher.running_system import FIRST_PAUSE, RunningSystem, log_folder
from planweave.launcher.systems import load_system, with_page
from planweave_ros.client import Client

_ASKED = 0.05  # s between two questions to a node that is coming back
_LONGEST = 60.0  # s
_SETTLE = 5.0  # s between two deaths


def run(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """A row for each node of the tabletop system with its page."""
    system = with_page(load_system("tabletop"))
    running_system.STEADY = 1.0  # all deaths are ours: none makes a pause longer
    rows = []
    with Client() as client, RunningSystem(system, log_folder("bench")) as running, spun_node("restarts") as asker:
        console.print(f"starting the tabletop system; logs: {running.logs}", markup=False)
        running.wait_ready(client)
        for name in running.pids:
            time.sleep(_SETTLE)
            passed = _back(asker, running, name)
            console.print(f"{name}: {passed:.1f} s", markup=False)
            figure = f"{name}: from SIGKILL until it answers again, {FIRST_PAUSE:g} s of back-off in it"
            rows.append({"figure": figure, "value": f"{passed:.1f} s", "goal": "", "met": None})
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

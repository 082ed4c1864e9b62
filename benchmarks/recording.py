"""The cost of `--record`: processor time and bytes of a recording of the tabletop system, at rest and during tasks."""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console

from benchmarks.figures import Row, figure
from benchmarks.idle import processor_seconds
from benchmarks.spun_node import started_system
from planweave.core.base.errors import SystemDownError
from planweave.core.symbolic.world import Literal
from planweave.launcher.systems import load_system
from planweave_ros.client import Client
from planweave_ros.recording import Recording

_SETTLE = 15.0  # s until nothing moves after the start
_TASKS = 4
_TRAYS = ("left_tray", "right_tray")
_Figures = tuple[float, float, float]
"""Wall time, processor time of this process and of the nodes, s."""


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """The rows: each without and with a recording, in turn."""
    with started_system(load_system("tabletop"), console) as (client, running):
        _tasks(client)
        time.sleep(_SETTLE)

        def taken(work: Callable[[], object]) -> _Figures:
            begun, own = time.monotonic(), time.process_time()
            nodes = sum(map(processor_seconds, running.pids.values()))
            work()
            return (
                time.monotonic() - begun,
                time.process_time() - own,
                sum(map(processor_seconds, running.pids.values())) - nodes,
            )

        rows = []
        for what, work in (("at rest", lambda: time.sleep(options.seconds)), ("tasks", lambda: _tasks(client))):
            console.print(f"{what}, without and with a recording …", markup=False)
            alone = taken(work)
            with tempfile.TemporaryDirectory(prefix="planweave-recording-") as folder:
                file = Path(folder) / "all.mcap"
                with Recording(str(file)):
                    recorded = taken(work)
                size = file.stat().st_size
            rows += _rows(what, alone, recorded, size)
    return rows


def _tasks(client: Client) -> None:
    for number in range(_TASKS):
        goal = (Literal("in", ("red_cube", _TRAYS[number % 2])),)
        result = client.run_task("", method="classical", goal=goal, timeout=120.0)
        if not result.success:
            raise SystemDownError(f"the benchmark's task failed: {result.message}")


def _rows(what: str, alone: _Figures, recorded: _Figures, size: int) -> list[Row]:
    wall, own, nodes = recorded
    more_own, more_nodes = own / wall - alone[1] / alone[0], nodes / wall - alone[2] / alone[0]
    return [
        figure(f"{what}: recorder's share of a core", f"{100 * more_own:.1f} %"),
        figure(
            f"{what}: the nodes' share of a core, without, with",
            f"{100 * alone[2] / alone[0]:.1f} %, {100 * nodes / wall:.1f} % ({100 * more_nodes:+.1f})",
        ),
        figure(f"{what}: wall time without, with", f"{alone[0]:.1f} s, {wall:.1f} s"),
        figure(f"{what}: bytes", f"{size / wall / 1e6:.2f} MB/s"),
    ]

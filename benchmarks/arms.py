"""Two simulated arms in one ROS domain: two tasks at once against one after the other; in real time."""

from __future__ import annotations

import argparse
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

from rich.console import Console

from benchmarks.figures import Row, figure, seconds
from planweave.core.base.errors import PlanweaveError
from planweave.launcher.running_system import RunningSystem, log_folder
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

SHARE = 0.75  # of the time for both, one after the other, that both at once may take
_SENTENCES = {"arm1": "put the red cube in the left tray", "arm2": "put the blue cube in the right tray"}
_SCENE = "blocks"


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """All figures, as rows of figure, value, goal and whether it is met."""
    system = load_system("tabletop")
    overrides = system.overrides(
        {"scene": _SCENE, "planner_node.client": "none", "simulation_node.real_time_factor": "1.0"}
    )
    before = os.environ.get("PLANWEAVE_NAMESPACE")
    clients: dict[str, Client] = {}
    with ExitStack() as stack:
        try:
            for name in _SENTENCES:
                os.environ["PLANWEAVE_NAMESPACE"] = name
                running = stack.enter_context(RunningSystem(system, log_folder(f"bench-{name}"), overrides))
                clients[name] = stack.enter_context(Client())
                console.print(f"starting {name}; logs: {running.logs}", markup=False)
                running.wait_ready(clients[name])
        finally:
            os.environ.pop("PLANWEAVE_NAMESPACE")
            if before is not None:
                os.environ["PLANWEAVE_NAMESPACE"] = before
        rounds = []
        for _ in range(options.repeat):
            for client in clients.values():
                client.load_scene(_SCENE)
            one_by_one = seconds(_one_by_one, clients, clock=time.monotonic)
            for client in clients.values():
                client.load_scene(_SCENE)
            rounds.append((one_by_one, seconds(_at_once, clients, clock=time.monotonic)))
            console.print(f"one after the other {rounds[-1][0]:.1f} s, at once {rounds[-1][1]:.1f} s")
    share = statistics.median(at_once / alone for alone, at_once in rounds)
    alone, at_once = (statistics.median(column) for column in zip(*rounds))
    return [
        figure(
            "two arms: two tasks one after the other, at once; median",
            f"{alone:.1f} s, {at_once:.1f} s ({100 * share:.0f} %)",
            f"at once ≤ {100 * SHARE:.0f} %",
            share <= SHARE,
        )
    ]


def _do(client: Client, name: str) -> None:
    result = client.run_task(_SENTENCES[name], method="classical", timeout=120.0)
    if not result.success:
        raise PlanweaveError(f"{name}: {result.message}")


def _one_by_one(clients: dict[str, Client]) -> None:
    for name, client in clients.items():
        _do(client, name)


def _at_once(clients: dict[str, Client]) -> None:
    with ThreadPoolExecutor(len(clients)) as pool:
        for done in [pool.submit(_do, client, name) for name, client in clients.items()]:
            done.result()

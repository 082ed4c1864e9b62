"""Figures of a tabletop system that has nothing to do: processor share and memory of each node, and the way from a
task to the first motion when it has rested and when it has not. Then of tasks in a row: how many are confirmed, what
they add to the memory, and the processor time of a frame while things move.

Read from /proc; processor time counts, so that other programs on the machine matter little.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planweave_interfaces.msg import DetectedObjects
from rich.console import Console
from sensor_msgs.msg import JointState

from benchmarks.figures import Row, figure
from benchmarks.spun_node import spun_node, started_system
from planweave.core.base.errors import SystemDownError
from planweave.core.symbolic.world import Literal
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import load_system
from planweave_ros.client import Client, TaskResult

SHARE_GOAL = 0.10  # of a core, all nodes together
MEMORY_GOAL = 500.0  # MB, all nodes together
REACTION_GOAL = 0.1  # s that a first task after a rest may take longer than one right after another
_SETTLE, _REST = 20.0, 4.0  # s until nothing moves after the start; s of rest before a task
_MOVES = 0.02  # rad/s of the fastest joint of an arm that moves
_ROUNDS = 4
_TASKS, _FEW = 48, 8  # in a row, and how many of them tell the memory
FLAT_GOAL, FRAME_GOAL = 10.0, 50.0  # MB that the others add, ms of a frame
_TRAYS = ("left_tray", "right_tray")


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    with started_system(load_system("tabletop"), console) as (client, running):
        rested, at_once = _reactions(client, console)
        time.sleep(_SETTLE)
        console.print(f"resting for {options.seconds:g} s …")
        before, begun = {n: processor_seconds(p) for n, p in running.pids.items()}, time.monotonic()
        time.sleep(options.seconds)
        wall = time.monotonic() - begun
        shares = {n: (processor_seconds(p) - before[n]) / wall for n, p in running.pids.items()}
        memory = {n: proportional_memory(p) for n, p in running.pids.items()}
        busy = _in_a_row(client, running, console)
        running.check()
    rows = [figure(f"{n}: share of a core, memory", f"{100 * shares[n]:.1f} %, {memory[n]:.0f} MB") for n in shares]
    share, megabytes, added = sum(shares.values()), sum(memory.values()), rested - at_once
    return [
        *rows,
        figure(
            "all nodes: share of a core", f"{100 * share:.1f} %", f"≤ {100 * SHARE_GOAL:.0f} %", share <= SHARE_GOAL
        ),
        figure(
            "all nodes: memory (proportional set size)",
            f"{megabytes:.0f} MB",
            f"≤ {MEMORY_GOAL:.0f} MB",
            megabytes <= MEMORY_GOAL,
        ),
        figure(
            "task to first motion: right after another, after a rest, median",
            f"{1000 * at_once:.0f} ms, {1000 * rested:.0f} ms",
            f"a rest adds ≤ {1000 * REACTION_GOAL:.0f} ms",
            added <= REACTION_GOAL,
        ),
        *busy,
    ]


def processor_seconds(pid: int) -> float:
    """Processor time that a process has used, in user and kernel mode, s."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def proportional_memory(pid: int) -> float:
    """Memory of a process in MB, what it shares with others divided among them (PSS)."""
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024 / 1e6
    raise SystemDownError(f"/proc/{pid}/smaps_rollup has no line Pss")


def _in_a_row(client: Client, running: RunningSystem, console: Console) -> list[Row]:
    """Figures of tasks one after the other: confirmed ones, memory, processor time of a frame meanwhile."""
    eyes, memory, confirmed, frames = running.pids["perception_node"], list[float](), 0, list[DetectedObjects]()
    with spun_node("planweave_bench_row") as node:
        node.create_subscription(DetectedObjects, "perception/detected_objects", frames.append, 50)
        before = processor_seconds(eyes)
        for index in range(_TASKS):
            confirmed += _put(client, 1 - index % 2, 120.0).success  # _reactions ends with the first tray
            memory.append(sum(map(proportional_memory, running.pids.values())))
            console.print(f"task {index + 1} of {_TASKS}: {memory[-1]:.0f} MB")
        frame = 1000 * (processor_seconds(eyes) - before) / max(len(frames), 1)
    early, late = statistics.median(memory[_FEW : 2 * _FEW]), statistics.median(memory[-_FEW:])
    values, flat = f"{confirmed} of {_TASKS}; {early:.0f}, {late:.0f} MB", late - early <= FLAT_GOAL
    of = f"{_TASKS} tasks in a row: confirmed; memory after some {_FEW} and after the last {_FEW}, medians"
    return [
        figure(of, values, f"all; + ≤ {FLAT_GOAL:.0f} MB", confirmed == _TASKS and flat),
        figure(
            "processor time of a moving frame, mean", f"{frame:.0f} ms", f"≤ {FRAME_GOAL:g} ms", frame <= FRAME_GOAL
        ),
    ]


def _put(client: Client, tray: int, timeout: float) -> TaskResult:
    """A task of one pick-and-place."""
    goal = (Literal("in", ("red_cube", _TRAYS[tray])),)
    return client.run_task("", method="classical", goal=goal, timeout=timeout)


def _reactions(client: Client, console: Console) -> tuple[float, float]:
    """Median seconds from submitting a task until the arm moves: after a rest, and right after another task."""
    found: dict[bool, list[float]] = {True: [], False: []}
    with _motions() as moved:
        for index in range(2 * _ROUNDS + 1):
            rest = index % 2 == 0
            time.sleep(_REST if rest else 0.0)
            console.print(f"a task {'after a rest' if rest else 'right after another'} …")
            moved.clear()
            begun = time.monotonic()
            result = _put(client, index % 2, 60.0)
            if not result.success or not moved:
                raise SystemDownError(f"the benchmark's task failed: {result.message}")
            if index:  # the first also loads what a first task needs
                found[rest].append(moved[0] - begun)
    return statistics.median(found[True]), statistics.median(found[False])


@contextmanager
def _motions() -> Iterator[list[float]]:
    """A list to which the time (monotonic, s) of every joint state is added in which the arm moves."""
    moved: list[float] = []

    def on_joints(message: JointState) -> None:
        if max(abs(speed) for speed in message.velocity[:7]) > _MOVES:
            moved.append(time.monotonic())

    with spun_node("planweave_bench_idle") as node:
        node.create_subscription(JointState, "joint_states", on_joints, 50)
        yield moved

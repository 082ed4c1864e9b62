"""Figures of the bake-off itself: episodes a minute against jobs, memory of a worker, what recording costs."""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from benchmarks.figures import Row, figure, seconds
from planweave.bench.engines import LocalEngine, work
from planweave.bench.episodes import Spec, play
from planweave.bench.records import Recorder, write_record
from planweave.bench.runner import Config, Run, default_jobs, prepare
from planweave.bench.suites import SUITES

JOBS = (1, 2, 4)
METHODS = ("tree_planner", "iterative", "brainbody", "progprompt")
MODEL = "simulated:0.1"
RECORDING_GOAL = 0.05  # share of an episode's time


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    """All figures, as rows of figure, value, goal and whether it is met."""
    cases = tuple(SUITES["home"].cases())
    rows = []
    speeds: dict[int, float] = {}
    for jobs in JOBS:
        console.print(f"{len(cases) * len(METHODS)} episodes with {jobs} jobs …")
        speeds[jobs], memory = _speed(Config("home", cases, METHODS, (MODEL,), seed=options.seed), jobs)
        ratio = f", {speeds[jobs] / speeds[1]:.1f} times one job" if jobs > 1 else ""
        of = f"{jobs} job{'s' * (jobs > 1)}"
        rows.append(figure(f"episodes a minute, {of} on {default_jobs()} cores", f"{speeds[jobs]:,.0f}{ratio}"))
        rows.append(figure(f"memory of a worker, {of}", f"{memory:.0f} MiB at most"))
    console.print("the same episodes with and without a record …")
    plain, recorded, size = _recording(cases[:20], options.seed)
    cost = recorded / plain - 1
    rows.append(
        figure(
            "recording, of the time of an episode with a model that answers at once",
            f"{cost:.1%} ({1e3 * (recorded - plain):.1f} of {1e3 * plain:.1f} ms), {size / 1024:.0f} KiB an episode",
            f"< {RECORDING_GOAL:.0%}",
            cost < RECORDING_GOAL,
        )
    )
    return rows


def _speed(config: Config, jobs: int) -> tuple[float, float]:
    """Episodes a minute once all workers are warm, and the largest memory of a worker in MiB."""
    engine = LocalEngine(jobs)
    try:
        first = Spec("home", config.cases[0], METHODS[0], MODEL, 0)
        for future in [engine.submit(first) for _ in range(2 * jobs)]:
            future.result()
        with tempfile.TemporaryDirectory() as folder:
            prepare(Path(folder), config, resume=False)
            outcome = Run(Path(folder), config, engine).play()
        memory = [engine.call(_memory).result() for _ in range(4 * jobs)]
    finally:
        engine.close()
    return 60 * outcome.ran / outcome.seconds, max(memory)


def _memory() -> float:
    """The most memory that this process has had, MiB."""
    import resource

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _recording(cases: Sequence[str], seed: int, repeats: int = 7) -> tuple[float, float, float]:
    """Seconds of processor time of an episode without and with a record on the disk, each the least of several in turn,
    since others use the machine; the size of a record in bytes."""
    specs = [Spec("home", case, method, MODEL, 0, seed) for case in cases for method in METHODS]
    plain, recorded, size = 0.0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "episode.jsonl"

        def record(spec: Spec) -> int:
            text = work(spec)[1]
            write_record(path, text)
            return len(text)

        for spec in specs:
            size += record(spec)  # homes, grammars and prompts are read once
            pairs = [(seconds(play, spec, Recorder()), seconds(record, spec)) for _ in range(repeats)]
            plain += min(p for p, _ in pairs)
            recorded += min(r for _, r in pairs)
    return plain / len(specs), recorded / len(specs), size / len(specs)

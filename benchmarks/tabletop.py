"""Figures of the papers' tabletop tasks: with reference plans, with faults put in, and of what these rest on.

Simulation, perception and executor run as processes; actions go to /execute_action; the simulator's true poses judge.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.figures import Row, figure
from benchmarks.perception_figures import measure as perceive
from benchmarks.planning_figures import measure as measure_planning
from planweave.bench.tabletop_tasks import OWN, PAPERS, TabletopTask, load_task
from planweave.bench.task_files import ids_of
from planweave_ros.tabletop_runs import RunningStage, TabletopRun, Truth, running_parts

SUCCESS, RECOVERED = 0.98, 0.90
FAULTS = 0.05  # share of the objects to be moved that slip once, and of those that vanish once
PLANNING_GOAL = 25.0  # ms, median at 12 obstacles
MOTIONS, TABLES, OBJECTS = 200, 20, 20


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    tasks = [load_task(name) for name in ids_of(options.tasks, (*PAPERS, *OWN))]
    runs, faulty = measure(tasks, range(options.seed, options.seed + options.seeds), console)
    rows = _task_rows(tasks, runs) + _recovery_rows(faulty)
    console.print("motion planning among obstacles …")
    rows += _planning_rows(options.seed)
    console.print(f"perception of {TABLES} tables with {OBJECTS} objects …")
    rows += _perception_rows(options.seed)
    return rows


def measure(
    tasks: Sequence[TabletopTask], seeds: Sequence[int], console: Console
) -> tuple[list[TabletopRun], list[TabletopRun]]:
    """Runs by the reference plans, and runs with faults by the classical planner, one after the other."""
    plain: list[TabletopRun] = []
    faulty: list[TabletopRun] = []
    with tempfile.TemporaryDirectory() as folder, running_parts(console) as (client, body, node):
        stage = RunningStage(client, body, Truth(node), Path(folder))
        for task in track(tasks, "tasks", console=console):
            for seed in seeds:
                plain.append(stage.run(task, seed))
                _tell(console, plain[-1])
                faulty.append(stage.run(task, seed, recover=True, slip=FAULTS, vanish=FAULTS))
                _tell(console, faulty[-1])
    return plain, faulty


def _tell(console: Console, run: TabletopRun) -> None:
    """A line for every run that went wrong or met a fault."""
    if not run.success or run.failures or run.slips or run.vanishings:
        faults = f", {run.slips} slips, {run.vanishings} vanishings put in" if run.slips or run.vanishings else ""
        end = "done" if run.success else "; ".join(run.lacking)
        said = f" | {' | '.join(run.messages)}" if run.messages else ""
        console.print(f"{run.task} {run.seed}{faults}: {end}{said}", highlight=False, markup=False)


def _task_rows(tasks: Sequence[TabletopTask], runs: Sequence[TabletopRun]) -> list[Row]:
    rows = [_runs_row(task.id, [r for r in runs if r.task == task.id]) for task in tasks]
    papers = [r for r in runs if r.task in PAPERS]
    if papers:
        share = sum(r.success for r in papers) / len(papers)
        rows.append(
            figure(
                "the papers' tasks by reference plans",
                f"{sum(r.success for r in papers)} of {len(papers)}",
                f"≥ {SUCCESS:.0%}",
                share >= SUCCESS,
            )
        )
    codes = Counter(code for r in runs for code in r.failures)
    codes["wrong end without a failed action"] = sum(not r.success and not r.failures for r in runs)
    named = ", ".join(f"{code} {count}" for code, count in codes.most_common() if count)
    return [*rows, figure("failed actions by code", named or "none")]


def _runs_row(name: str, runs: Sequence[TabletopRun]) -> Row:
    good = [r for r in runs if r.success]
    wall, motion = (statistics.median([getattr(r, key) for r in good] or [float("nan")]) for key in ("wall", "motion"))
    actions = statistics.median([r.actions for r in runs])
    return figure(
        f"{name}: success; robot and wall seconds, median",
        f"{len(good)} of {len(runs)}; {motion:.0f} s, {wall:.1f} s for {actions:.0f} actions",
    )


def _recovery_rows(runs: Sequence[TabletopRun]) -> list[Row]:
    papers = [r for r in runs if r.task in PAPERS] or list(runs)
    hit = [r for r in papers if r.slips or r.vanishings]
    good, recovered = sum(r.success for r in papers), sum(r.success for r in hit)
    slips, vanishings = sum(r.slips for r in papers), sum(r.vanishings for r in papers)
    return [
        figure(
            f"with {FAULTS:.0%} slips and {FAULTS:.0%} vanishings, replanning by `classical`",
            f"{good} of {len(papers)}",
            f"≥ {RECOVERED:.0%}",
            good >= RECOVERED * len(papers),
        ),
        figure(
            "of these, runs that met a fault",
            f"{recovered} of {len(hit)} ({slips} slips, {vanishings} vanishings; "
            f"{sum(r.replans for r in papers)} times planned again)",
        ),
    ]


def _planning_rows(seed: int) -> list[Row]:
    rows = []
    for count, planned in measure_planning(MOTIONS, seed).items():
        median, p95 = np.percentile(planned.milliseconds, [50, 95])
        goal = (f"≤ {PLANNING_GOAL:.0f} ms median", bool(median <= PLANNING_GOAL)) if count == 12 else ("", None)
        rows.append(
            figure(
                f"motion planning among {count} obstacles, median and 95th percentile",
                f"{median:.1f} ms, {p95:.1f} ms; {planned.failed} of {MOTIONS} without a plan",
                *goal,
            )
        )
    return rows


def _perception_rows(seed: int) -> list[Row]:
    seen = perceive(TABLES, seed, items=OBJECTS - 3, receptacles=4, objects=OBJECTS).summary()
    found = seen["objects"] - seen["missed"]
    return [
        figure(
            f"perception of {OBJECTS} objects: found, of these named rightly; invented",
            f"{found:.0f} of {seen['objects']:.0f}, {found - seen['mistaken']:.0f}; {seen['invented']:.0f}",
        ),
        figure(
            "position error, median and 95th percentile",
            f"{seen['error_median_mm']:.2f} mm, {seen['error_p95_mm']:.2f} mm",
        ),
        figure(
            "time per frame on one thread, median and 95th percentile",
            f"{seen['frame_median_ms']:.0f} ms, {seen['frame_p95_ms']:.0f} ms",
        ),
    ]

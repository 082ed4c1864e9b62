"""Figures of the household: the simulator, beside eai-eval where installed; how long decisions take beside the model;
what the check of plans refuses."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from benchmarks.check_figures import check_figures
from benchmarks.decision_figures import Decisions, decision_figures
from benchmarks.figures import Row, figure
from benchmarks.home_tasks import HomeTask, data_folder, task_sets
from benchmarks.household_figures import figures

STEP_GOAL, LOAD_GOAL = 20.0, 5.0  # times as fast as eai-eval's evolving graph
DECISION_GOAL = 5.0  # ms


def run(_: argparse.Namespace, console: Console) -> list[Row]:
    """All figures, as rows of figure, value, goal and whether it is met (None where there is no goal or comparison)."""
    console.print("the household simulator on the 444-node home and, where its data are, the densest of EAI …")
    rows = _simulator(data_folder())
    console.print("decisions of each method on the 444-node home, with a model that answers at once …")
    rows += _decisions()
    for name, tasks in task_sets():
        rows += _checks(name, tasks)
    return rows


def _simulator(data: Path) -> list[Row]:
    rows: list[Row] = []
    for scene, f in figures(data).items():
        rows += [
            figure(f"{scene}: step", f"{f['step_us']:.1f} us, {f['steps_per_second']:,.0f} a second"),
            figure(
                f"{scene}: load",
                f"{f['load_ms']:.1f} ms, {f['load_and_first_step_ms']:.1f} ms with a first step, "
                f"{f['load_and_first_look_ms']:.1f} ms with a first look",
            ),
            figure(f"{scene}: observe", f"{f['observe_ms']:.1f} ms"),
            figure(f"{scene}: memory", f"{f['memory_mib']:.1f} MiB"),
        ]
        ratio, theirs = f.get("ratio"), f.get("eai_eval")
        if ratio is None or theirs is None:
            rows.append(figure(f"{scene}: eai-eval", "not installed (pip install --no-deps eai-eval)"))
            continue
        rows += [
            figure(
                f"{scene}: step against eai-eval",
                f"{ratio['step']:.0f}x ({theirs['step_us']:.0f} us; in place {ratio['step_in_place']:.0f}x)",
                f">= {STEP_GOAL:.0f}x",
                ratio["step"] >= STEP_GOAL,
            ),
            figure(
                f"{scene}: load against eai-eval",
                f"{ratio['load']:.1f}x ({theirs['load_ms']:.1f} ms); with a first step "
                f"{ratio['load_and_first_step']:.1f}x ({theirs['load_and_first_step_ms']:.1f} ms)",
                f">= {LOAD_GOAL:.0f}x",
                ratio["load"] >= LOAD_GOAL,
            ),
            figure(f"{scene}: memory of eai-eval", f"{theirs['memory_mib']:.1f} MiB"),
        ]
    return rows


def _decisions() -> list[Row]:
    decisions = Decisions()
    return [
        figure(
            f"{decisions.objects} objects: {name}",
            f"{f['median_ms']:.1f} ms, 95 % below {f['p95_ms']:.1f} ms, prompt {f['characters']:,.0f} characters",
            f"<= {DECISION_GOAL:.0f} ms",
            f["median_ms"] <= DECISION_GOAL,
        )
        for name, f in decision_figures(decisions).items()
    ]


def _checks(name: str, tasks: list[HomeTask]) -> list[Row]:
    """What the check of plans refuses and lets pass where the home was seen in part."""
    found = check_figures(tasks)
    sure, assumed, left_open, refused = found.right
    return [
        figure(
            f"{name}: right plans by the check",
            f"{sure} sure, {assumed} on assumptions, {left_open} with a goal "
            f"left open, {refused} refused of {len(tasks)}",
        ),
        figure(
            f"{name}: plans made of these",
            f"{found.refused} of {found.varied_right} right ones refused, "
            f"{found.passed} of {found.varied_wrong} wrong ones let pass",
        ),
    ]

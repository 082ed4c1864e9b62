"""Tokens per task of Tree-Planner against Iterative-Planner, on the same tasks with the same simulated model: prompts,
parsing, loops and body are the product's. Tokens are estimated; prompts count once however many replies are asked for.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence

from rich.console import Console

from benchmarks.figures import Row, figure
from planweave.bench.episodes import Spec, play
from planweave.bench.metrics import Measures
from planweave.bench.records import Recorder
from planweave.bench.suites import SUITES, Case
from planweave.bench.suites.eai import data_folder, package_folder

ERROR_RATES, SEEDS = (0.1, 0.2, 0.3), 2  # of the simulated model
TREE = "tree_planner:samples=25,check_plans=false"  # as in the paper, all plans that were sampled are kept
UNCORRECTED, CHECKED = f"{TREE},max_corrections=0", "tree_planner:samples=25,check_plans=true"
#: The saving of Tree-Planner with 25 samples against each, as its paper has it (Section 1)
PAPER = {"iterative:replan=none": 0.53, "iterative:replan=local": 0.74, "iterative:replan=global": 0.92}


def chosen_cases() -> dict[str, list[Case]]:
    """By suite: the papers' tasks at home, and one EAI task of each name whose plan reaches a goal about the end, where
    the data are there.
    """
    found = {"home": [case for case in SUITES["home"].cases().values() if case.groups]}
    if data_folder() or package_folder():
        named: dict[str, Case] = {}
        for case in SUITES["eai"].cases().values():
            name = case.sentence.partition(":")[0]
            if name not in named and case.goal and not case.in_order and _to_be_done(case):
                named[name] = case
        found["eai"] = list(named.values())
    return found


def _to_be_done(case: Case) -> bool:
    """Whether its goal does not hold at first, and does after its gold plan."""
    simulator = SUITES["eai"].stage(case).simulator
    first = all(map(simulator.holds, case.goal))
    done = all(simulator.execute(step).ok for step in case.gold) and all(map(simulator.holds, case.goal))
    return done and not first


def run(_: argparse.Namespace, console: Console) -> list[Row]:
    """Tokens and savings over the papers' tasks and, where their data are, over EAI's."""
    rows = []
    for suite, cases in chosen_cases().items():
        console.print(f"tokens of {len(cases)} tasks of {suite} with a simulated model …")
        rows += token_rows(suite, cases)
    return rows


def token_rows(suite: str, cases: Sequence[Case], seeds: int = SEEDS) -> list[Row]:
    """Tokens of each method, then the savings; a saving counts as reached where it is at every rate of errors."""
    shares = "/".join(f"{rate:.0%}" for rate in ERROR_RATES)
    means: dict[str, list[float]] = {}
    rows = []
    for method in (TREE, UNCORRECTED, CHECKED, *PAPER):
        found = [_measured(suite, cases, method, rate, seeds) for rate in ERROR_RATES]
        means[method] = [statistics.fmean(m.tokens for m in of) for of in found]
        parts = (
            " / ".join(f"{mean:,.0f}" for mean in means[method]),
            " / ".join(f"{statistics.fmean(m.requests for m in of):.1f}" for of in found),
            " / ".join(f"{statistics.fmean(m.corrections for m in of):.1f}" for of in found),
            " / ".join(f"{statistics.fmean(m.sr for m in of):.0%}" for of in found),
        )
        value = "{} tokens, {} questions, {} corrections a task; goal held in {}".format(*parts)
        rows.append(figure(f"{suite}, simulated model with {shares} wrong steps: {method}", value))
    for against, goal in PAPER.items():
        for by in (UNCORRECTED if against.endswith("none") else TREE, CHECKED):
            saved = [1 - ours / theirs for ours, theirs in zip(means[by], means[against])]
            shown = " / ".join(f"{share:.0%}" for share in saved)
            name = f"{suite}: saving of {by} against {against}"
            rows.append(figure(name, shown, f">= {goal:.0%} (paper)", min(saved) >= goal))
    return rows


def _measured(suite: str, cases: Sequence[Case], method: str, rate: float, seeds: int) -> list[Measures]:
    specs = [Spec(suite, case.id, method, f"simulated:{rate}", seed) for case in cases for seed in range(seeds)]
    return [play(spec, Recorder()).measures for spec in specs]

"""Figures of the household: how long a decision of each method takes beside the model (the prompt, the reply, the tree
and the check of plans), and what the check of plans refuses and lets pass."""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Sequence

from doubles.decisions import Decisions
from rich.console import Console

from benchmarks.figures import Row, figure
from planweave.bench.suites import SUITES, Case
from planweave.bench.suites.eai import data_folder, package_folder
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.checks.validation import Validation, Validator
from planweave.core.symbolic.world import Action, World

DECISION_GOAL = 5.0  # ms
_VARIED, _WRONG = 30, 0.15  # plans made of each right one, and the share of their steps that is changed


def run(_: argparse.Namespace, console: Console) -> list[Row]:
    console.print("decisions of each method on the 444-node home, with a model that answers at once …")
    rows = _decisions()
    for suite, cases in chosen_cases().items():
        rows += check_rows(suite, cases)
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


def decision_figures(decisions: Decisions | None = None, repeats: int = 40) -> dict[str, dict[str, float]]:
    """Median and 95th percentile in milliseconds, and characters of the prompt (0: nobody was asked), by question."""
    decisions = decisions or Decisions()
    worlds, figures = decisions.worlds(), {}
    for name, (replies, ask) in decisions.questions().items():
        decisions.client.texts, decisions.client.characters = list(replies), 0
        times = []
        for _ in range(repeats):
            world = next(worlds)
            begin = time.perf_counter()
            ask(world)
            times.append((time.perf_counter() - begin) * 1e3)
        figures[name] = {
            "median_ms": statistics.median(times),
            "first_ms": times[0],
            "p95_ms": sorted(times)[min(len(times) - 1, int(0.95 * len(times)))],
            "characters": decisions.client.characters,
        }
    return figures


def chosen_cases() -> dict[str, list[Case]]:
    """By suite: the papers' tasks at home, and one EAI task of each name whose plan reaches a goal about the end, where
    the data are there.
    """
    found = {"home": [case for case in SUITES["home"].cases().values() if case.groups]}
    if data_folder() or package_folder():
        named: dict[str, Case] = {}
        for case in SUITES["eai"].cases().values():
            name = case.sentence.partition(":")[0]
            if name not in named and case.goal and not case.in_order:
                simulator = SUITES["eai"].stage(case).simulator
                if not all(map(simulator.holds, case.goal)) and _works(simulator, case, case.gold):
                    named[name] = case
        found["eai"] = list(named.values())
    return found


def check_rows(suite: str, cases: Sequence[Case], varied: int = _VARIED) -> list[Row]:
    """What the check of plans refuses and lets pass where the home was seen in part: right plans, and others made of
    them at random, with steps left out or done with another object. The simulator, which knows all, says which do.
    """
    right, counts = [0, 0, 0, 0], [0, 0, 0, 0]
    for case in cases:
        stage = SUITES[suite].stage(case)
        simulator, world = stage.simulator, stage.body.observe()
        validator = Validator(stage.domain, world)
        right[_grade(validator.check(case.gold, case.goal))] += 1
        rng = random.Random(f"0 {case.id}")
        for _ in range(varied):
            plan = _varied(case.gold, world, rng)
            if plan != case.gold:
                works, passes = _works(simulator, case, plan), validator.check(plan, case.goal).possible
                counts[0] += works
                counts[1] += works and not passes
                counts[2] += not works
                counts[3] += passes and not works
    sure, assumed, left_open, refused = right
    return [
        figure(
            f"{suite}: right plans by the check",
            f"{sure} sure, {assumed} on assumptions, {left_open} with a goal left open, "
            f"{refused} refused of {len(cases)}",
        ),
        figure(
            f"{suite}: plans made of these",
            f"{counts[1]} of {counts[0]} right ones refused, {counts[3]} of {counts[2]} wrong ones let pass",
        ),
    ]


def _grade(check: Validation) -> int:
    if check.ok:
        return 1 if check.assumed else 0
    return 2 if check.possible else 3


def _varied(plan: Sequence[Action], world: World, rng: random.Random) -> tuple[Action, ...]:
    names, steps = [o.name for o in world.objects], []
    for step in plan:
        if rng.random() < _WRONG:
            if not step.args or rng.random() < 0.5:
                continue
            place = rng.randrange(len(step.args))
            step = Action(step.name, (*step.args[:place], rng.choice(names), *step.args[place + 1 :]))
        steps.append(step)
    return tuple(steps)


def _works(simulator: HomeSimulator, case: Case, plan: Sequence[Action]) -> bool:
    """Whether every step can be done and the goal holds then; the simulator is as before."""
    done = all(simulator.execute(step).ok for step in plan) and all(map(simulator.holds, case.goal))
    simulator.reset()
    return done

"""The check of plans in homes that were seen in part: right plans that it refuses, wrong ones that it lets pass.

Right plans are those of the tasks. Others are made of them at random, with steps left out or done with another object;
whether they are right is found by doing them in the simulator, which knows all.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from benchmarks.home_tasks import HomeTask
from planweave.bodies.home.port import HomeBody
from planweave.bodies.home.simulator import HomeSimulator
from planweave.core.checks.validation import Validation, Validator
from planweave.core.symbolic.world import Action, World


@dataclass(frozen=True)
class CheckRow:
    """right: the tasks' own plans by what the check says of them (sure, on assumptions, goal left open, refused);
    varied_right, varied_wrong: how many others there are of each; refused and passed: of those."""

    right: tuple[int, int, int, int]
    varied_right: int
    refused: int
    varied_wrong: int
    passed: int


def check_figures(tasks: Sequence[HomeTask], varied: int = 30, rate: float = 0.15, seed: int = 0) -> CheckRow:
    """The check on each task's plan and on `varied` others made of it, of which each step is wrong at a rate."""
    right, counts = [0, 0, 0, 0], [0, 0, 0, 0]
    for task in tasks:
        body = HomeBody(task.scene)
        simulator, world = body.home.simulator, body.observe()
        validator = Validator(simulator.vocabulary.domain, world)
        right[_grade(validator.check(task.plan, task.goal))] += 1
        rng = random.Random(f"{seed} {task.words}")
        for _ in range(varied):
            plan = _varied(task.plan, world, rate, rng)
            if plan != task.plan:
                works, passes = _works(simulator, task, plan), validator.check(plan, task.goal).possible
                counts[0] += works
                counts[1] += works and not passes
                counts[2] += not works
                counts[3] += passes and not works
    return CheckRow((right[0], right[1], right[2], right[3]), *counts)


def _grade(check: Validation) -> int:
    if check.ok:
        return 1 if check.assumed else 0
    return 2 if check.possible else 3


def _varied(plan: Sequence[Action], world: World, rate: float, rng: random.Random) -> tuple[Action, ...]:
    names, steps = [o.name for o in world.objects], []
    for step in plan:
        if rng.random() < rate:
            if not step.args or rng.random() < 0.5:
                continue
            place = rng.randrange(len(step.args))
            step = Action(step.name, (*step.args[:place], rng.choice(names), *step.args[place + 1 :]))
        steps.append(step)
    return tuple(steps)


def _works(simulator: HomeSimulator, task: HomeTask, plan: Sequence[Action]) -> bool:
    """Whether every step can be done and the goal holds then; the simulator is as before."""
    done = all(simulator.execute(step).ok for step in plan) and all(map(simulator.holds, task.goal))
    simulator.reset()
    return done

"""What 20 rules add to the check of plans: in one run, with and without them in turn, on a table and in a home."""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.figures import Row, figure
from planweave.bodies.home.port import HomeBody
from planweave.core.checks.validation import Validator
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import ruled
from planweave.core.symbolic.world import Action, Literal, World
from planweave.goals import read_rule

PLANS = 25  # checked from one world, as many as Tree-Planner samples
PAIRS = 60
_TABLE = [
    *(f"never put anything on the {colour} plate" for colour in ("red", "green", "white", "yellow")),
    *(f"keep the {colour} ball in the box" for colour in ("red", "green", "blue", "yellow", "white")),
    *(f"do not touch the {colour} cup" for colour in ("red", "green", "blue", "white", "pink")),
    *(f"never put the {colour} cube in the left tray" for colour in ("pink", "gray", "white", "black", "brown")),
    "never put the pear in the right tray",
]
_HOME = [
    *(f"never put anything on the {thing}" for thing in ("stove", "tv", "bed", "toaster", "computer", "radio")),
    *(f"the {thing} stays closed" for thing in ("dishwasher", "microwave", "window", "box", "door")),
    *(f"never switch on the {thing}" for thing in ("tv", "stove", "radio", "computer", "toaster")),
    *(f"do not touch the {thing}" for thing in ("cat", "phone", "window", "radio")),
]


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    table = Domain.load("tabletop")
    cubes = [f"cube_{k}" for k in range(8)]
    world = table.world(f"{', '.join(cubes)}: item; left_tray, right_tray, box: container; white_plate: surface")
    home = HomeBody("home_flat", "full")
    cases = [
        ("table", table, world, [Literal.parse(f"in({cube}, box)") for cube in cubes[:4]], _TABLE),
        ("home", home.domain, home.observe(), [_in_the_fridge(home.observe())], _HOME),
    ]
    return [_row(*case) for case in cases]


def _in_the_fridge(world: World) -> Literal:
    fridge = next(o.name for o in world.objects if o.class_name == "fridge")
    food = next(o.name for o in world.objects if "salmon" in o.class_name)
    return Literal("inside", (food, fridge))


def _row(name: str, domain: Domain, world: World, goal: Sequence[Literal], sentences: Sequence[str]) -> Row:
    """The ratio of a check's times: the median of pairs that are measured one after the other."""
    under = ruled(domain, [read_rule(domain, sentence) for sentence in sentences])
    plan = solve(under, world, goal, 30.0)
    pairs = [(_seconds(under, world, plan, goal), _seconds(domain, world, plan, goal)) for _ in range(PAIRS)][5:]
    ratios = sorted(one / other for one, other in pairs)
    low, high = ratios[len(ratios) // 10], ratios[-len(ratios) // 10]
    return figure(
        f"check of {PLANS} plans of {len(plan)} steps, {name} of {len(world.objects)} things: time with "
        f"{len(sentences)} rules, as a multiple of the time without",
        f"{statistics.median(ratios):.2f} (nine in ten from {low:.2f} to {high:.2f})",
    )


def _seconds(domain: Domain, world: World, plan: Sequence[Action], goal: Sequence[Literal]) -> float:
    begun = time.perf_counter()
    validator = Validator(domain, world)
    for _ in range(PLANS):
        assert validator.check(plan, goal).ok
    return time.perf_counter() - begun

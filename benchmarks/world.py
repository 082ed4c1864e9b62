"""Figures of worlds of many objects: facts, size of the message, and processor time: to compute a world of objects that
are all new, and one in which one moved; to make it a message and read that; to ask four relations of it.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from rclpy.serialization import serialize_message
from rich.console import Console

from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World
from planweave_ros.conversions import world_from_msg, world_to_msg

NUMBERS = (4, 8, 16, 20, 32, 50, 100)
GOALS = {20: 10.0, 100: 50.0}  # ms of processor time for a world of so many objects that are all new
_CELL, _ROWS, _COLUMNS = 0.055, 10, 22  # of the grid on which cubes stand, m
_CHANGES = 10


def run(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    """All figures, as rows of figure, value, goal and whether it is met (None where there is no goal)."""
    kinematics = Kinematics(PlanningScene().model)
    domain, places = Domain.load("tabletop"), load_workspace("tabletop")
    rows = []
    for number in NUMBERS:
        console.print(f"{number} cubes …")
        rng = random.Random(options.seed + number)
        model = WorldModel(domain, places, kinematics, Safety(kinematics, JointLimits()))
        things = _cubes(number, rng)
        first = _milliseconds(model.on_detections, things, 1.0)
        changed = []
        for k in range(_CHANGES):
            index = rng.randrange(number)
            x, y, z = things[index].position
            things[index] = replace(things[index], position=(x + 0.01 * (-1) ** k, y, z))
            changed.append(_milliseconds(model.on_detections, things, 2.0 + k))
        world = model.world()
        size = len(serialize_message(world_to_msg(world)))
        sent = _milliseconds(_there_and_back, world)
        literals = [
            Literal(p, (things[0].name, *(t.name for t in things[1:n])))
            for p, n in (("near", 2), ("left_of", 2), ("apart", 1), ("between", 3))
        ]
        asked = _milliseconds(world.unmet, literals)
        goal = GOALS.get(number)
        rows.append(
            _row(
                f"{number} objects: facts, message; new, one moved, sent, asked",
                f"{len(world.facts)}, {size / 1024:.1f} KiB; {first:.1f}, {statistics.median(changed):.1f}, "
                f"{sent:.1f}, {asked:.1f} ms",
                f"all new ≤ {goal:g} ms" if goal else "",
                first <= goal if goal else None,
                objects=number,
                facts=len(world.facts),
                first_ms=first,
                changed_ms=statistics.median(changed),
                message_ms=sent,
                asked_ms=asked,
                bytes=size,
            )
        )
    return rows


def _cubes(number: int, rng: random.Random) -> list[Thing]:
    """Cubes of 4 cm at random places of a grid on the table, each turned at random."""
    cells = [(0.3 + _CELL * i, -0.6 + _CELL * j) for i in range(_ROWS) for j in range(_COLUMNS)]
    rng.shuffle(cells)
    return [
        Thing(f"cube_{k}", "item", "cube", (x, y, 0.02), (0.04,) * 3, rng.uniform(0.0, 1.5))
        for k, (x, y) in enumerate(cells[:number])
    ]


def _there_and_back(world: World) -> World:
    return world_from_msg(world_to_msg(world))


def _milliseconds(work: Callable[..., Any], *args: Any) -> float:
    """Processor time of a call, ms."""
    begun = time.process_time()
    work(*args)
    return 1000 * (time.process_time() - begun)


def _row(figure: str, value: str, goal: str = "", met: bool | None = None, **numbers: float) -> dict[str, Any]:
    return {"figure": figure, "value": value, "goal": goal, "met": met, **numbers}

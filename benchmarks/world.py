"""Figures of worlds of many objects: facts, size of the message, and processor time: to compute a world of objects that
are all new, and one in which one moved; to make it a message and read that; to ask four relations of it.
"""

from __future__ import annotations

import argparse
import random
import statistics
from dataclasses import replace

from rclpy.serialization import serialize_message
from rich.console import Console

from benchmarks.figures import Row, figure, seconds
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave_ros.conversions import world_from_msg, world_to_msg

NUMBERS = (4, 8, 16, 20, 32, 50, 100)
GOALS = {20: 10.0, 100: 50.0}  # ms of processor time for a world of so many objects that are all new
_CELL, _ROWS, _COLUMNS = 0.055, 10, 22  # of the grid on which cubes stand, m
_CHANGES = 10


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    kinematics = Kinematics(PlanningScene().model)
    domain, places = Domain.load("tabletop"), load_workspace("tabletop")
    rows = []
    for number in NUMBERS:
        console.print(f"{number} cubes …")
        rng = random.Random(options.seed + number)
        model = WorldModel(domain, places, kinematics, Safety(kinematics, JointLimits()))
        things = _cubes(number, rng)
        first = 1e3 * seconds(model.on_detections, things, 1.0)
        changed = []
        for k in range(_CHANGES):
            index = rng.randrange(number)
            x, y, z = things[index].position
            things[index] = replace(things[index], position=(x + 0.01 * (-1) ** k, y, z))
            changed.append(1e3 * seconds(model.on_detections, things, 2.0 + k))
        world = model.world()
        size = len(serialize_message(world_to_msg(world)))
        sent = 1e3 * seconds(lambda sent: world_from_msg(world_to_msg(sent)), world)
        literals = [
            Literal(p, (things[0].name, *(t.name for t in things[1:n])))
            for p, n in (("near", 2), ("left_of", 2), ("apart", 1), ("between", 3))
        ]
        asked = 1e3 * seconds(world.unmet, literals)
        goal = GOALS.get(number)
        rows.append(
            figure(
                f"{number} objects: facts, message; new, one moved, sent, asked",
                f"{len(world.facts)}, {size / 1024:.1f} KiB; {first:.1f}, {statistics.median(changed):.1f}, "
                f"{sent:.1f}, {asked:.1f} ms",
                f"all new ≤ {goal:g} ms" if goal else "",
                first <= goal if goal else None,
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

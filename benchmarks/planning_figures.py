"""Duration of motion planning among 6, 12 and 30 obstacles: random tables, random motions low over them."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics, downwards
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.scene_object import Thing
from planweave.robots import load_robot

Array = NDArray[np.float64]
OBSTACLES = (6, 12, 30)
_HEIGHTS = (0.06, 0.22)  # of the tool centre point at both ends of a motion, m: between tall things and above them
_SIZES = ((0.05, 0.05, 0.05), (0.05, 0.05, 0.10), (0.052, 0.052, 0.15), (0.066, 0.066, 0.06))  # the last: round


@dataclass
class Planned:
    """Milliseconds of each motion that was planned, and how many had no plan in time."""

    milliseconds: list[float] = field(default_factory=list)
    failed: int = 0


def measure(motions: int, seed: int = 0, obstacles: Sequence[int] = OBSTACLES) -> dict[int, Planned]:
    """Plan so many motions for each number of obstacles, on tables drawn anew for every fifth motion."""
    scene = PlanningScene()
    kinematics = Kinematics(scene.model)
    planner = MotionPlanner(scene, kinematics)
    rng = np.random.default_rng(seed)
    figures: dict[int, Planned] = {}
    for count in obstacles:
        found = figures[count] = Planned()
        for index in range(motions):
            if index % 5 == 0:
                scene.update(_table(rng, count))
                start = _pose(scene, kinematics, rng, np.array(load_robot().home))
            goal = _pose(scene, kinematics, rng, start)
            begun = time.perf_counter()
            try:
                planner.plan(start, [goal])
            except SkillFailureError:
                found.failed += 1
                continue
            found.milliseconds.append(1e3 * (time.perf_counter() - begun))
            start = goal
    return figures


def _table(rng: np.random.Generator, count: int) -> list[Thing]:
    """Upright objects at random places within reach, 3 cm or more apart, none under the arm's foot."""
    things: list[Thing] = []
    while len(things) < count:
        x, y = float(rng.uniform(0.28, 0.78)), float(rng.uniform(-0.50, 0.50))
        size = _SIZES[int(rng.integers(len(_SIZES)))]
        if any(math.dist((x, y), t.position[:2]) < 0.04 + max(size) / 2 + t.size[0] / 2 for t in things):
            continue
        kind, shape = ("apple", "cylinder") if size is _SIZES[-1] else ("cube", "box")
        yaw = float(rng.uniform(-math.pi, math.pi))
        things.append(Thing(f"thing_{len(things)}", "item", kind, (x, y, size[2] / 2), size, yaw, shape=shape))
    return things


def _pose(scene: PlanningScene, kinematics: Kinematics, rng: np.random.Generator, near: Array) -> Array:
    """Joint positions of a hand that points down somewhere over the table and touches nothing."""
    while True:
        x, y = rng.uniform(0.32, 0.70), rng.uniform(-0.45, 0.45)
        pose = downwards(x, y, rng.uniform(*_HEIGHTS), rng.uniform(-math.pi, math.pi))
        for q in kinematics.ranked(pose, near)[:3]:
            if scene.free(q):
                return np.asarray(q)

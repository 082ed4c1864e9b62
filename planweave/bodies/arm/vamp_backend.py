"""VAMP's RRTConnect (Thomason et al., ICRA 2024), tried before OMPL's where the package `vamp` imports.

VAMP plans for an arm of the same shape, whose joint limits may be wider, and represents every obstacle by its bounding
box. Its result is therefore only a proposal: the caller checks limits and collisions again and falls back to OMPL.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.solids import Part

_TABLE = ((0.5, 0.0, -0.07), (0.0, 0.0, 0.0), (1.5, 1.5, 0.05))  # a little low: the model's base would touch it


@lru_cache(maxsize=1)
def _planner(robot: str) -> tuple[Any, Any, Any, Any, Any] | None:
    """The package, the robot's module, RRTConnect and the settings; None where VAMP is not installed."""
    if importlib.util.find_spec("vamp") is None:
        return None
    vamp = importlib.import_module("vamp")
    return (vamp, *vamp.configure_robot_and_planner_with_kwargs(robot, "rrtc"))


def propose(
    start: NDArray[np.float64], goal: NDArray[np.float64], shapes: Iterable[Part], robot: str
) -> NDArray[np.float64] | None:
    """Waypoints (rows, rad) from start to goal among boxes; None where VAMP is not installed or finds none.

    robot: VAMP's name of it; empty where VAMP does not know it.
    """
    found = _planner(robot) if robot else None
    if found is None:
        return None
    vamp, arm, rrtc, plan_settings, simplify_settings = found
    environment = vamp.Environment()
    environment.add_cuboid(vamp.Cuboid(*map(list, _TABLE)))
    for part in shapes:
        environment.add_cuboid(vamp.Cuboid(part.pose[:3, 3].tolist(), list(_euler(part)), part.half.tolist()))
    generator = arm.halton()
    result = rrtc(np.asarray(start), np.asarray(goal), environment, plan_settings, generator)
    if not result.solved:
        return None
    path = arm.simplify(result.path, environment, simplify_settings, generator).path
    return np.asarray(path.numpy(), dtype=np.float64)


def _euler(part: Part) -> tuple[float, float, float]:
    """Roll, pitch and yaw of a part, rad."""
    r = part.pose[:3, :3]
    return (
        math.atan2(r[2, 1], r[2, 2]),
        math.atan2(-r[2, 0], math.hypot(r[0, 0], r[1, 0])),
        math.atan2(r[1, 0], r[0, 0]),
    )

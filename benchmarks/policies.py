"""A policy alone, under plans, and under plans with our own skill after it, in the simulated arm's physics.

The policy is scripted (test/doubles/policy_server.py): motions of our own planner, in openpi's protocol, with errors at
a given rate. It says what plan and checks are worth where a policy errs so, and nothing about any learned policy. True
poses decide on success; the camera sees them with noise; pictures are black, since the script does not look at them.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import planweave as pw
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.settings import SkillSettings
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from doubles.direct_arm import Tabletop
from doubles.policy_server import PlanningPolicy, PolicyServer

RATES = (0.0, 0.3)
ALONE, PLAN, BOTH = "policy alone", "plan over policy", "plan over policy, then our skill"
_GOAL = "in(red_cube, tray)"
_STEPS = Action("grasp", ("red_cube",)), Action("place_in", ("red_cube", "tray"))
_COLOURS = ("red", "blue", "green", "yellow")
_INSIDE = 0.09, 0.12  # half of the tray along x and y, m
_TRAY = 0.58, 0.35
_CAMERA_NOISE = 0.001  # m


def run(options: argparse.Namespace, console: Any) -> list[dict[str, Any]]:
    """Rows of the table: share of tasks that succeeded, by mode and error rate."""
    rows = []
    scene, twin = PlanningScene(), PlanningScene()
    for rate in RATES:
        for mode in (ALONE, PLAN, BOTH):
            done = [_episode(mode, rate, seed, scene, twin) for seed in range(options.repeat)]
            console.print(f"{mode}, {rate:.0%}: {done}")
            rows.append(
                {
                    "figure": f"{mode}, scripted errors {rate:.0%}",
                    "value": f"{sum(done)} of {len(done)}",
                    "goal": "",
                    "met": None,
                }
            )
    return rows


def _episode(mode: str, rate: float, seed: int, scene: PlanningScene, twin: PlanningScene) -> bool:
    """Whether the red cube lies in the tray at the end."""
    domain = Domain.load("tabletop")
    begun = [0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_text(_scene(seed))
        policies: list[PlanningPolicy] = []
        server = PolicyServer(lambda observation: policies[0](observation))
        lists = {"grasp": ["grasping"], "place_in": ["placing"]}
        mention = f"policy:{server.contract(Path(folder), reply=60.0, seconds=120.0)}"
        settings = SkillSettings(
            domain=domain,
            off=frozenset({"grab_and_putin"}),  # so that a plan has two steps
            skills={name: (mention, *(own if mode == BOTH else ())) for name, own in lists.items()},
            pictures=lambda camera: np.zeros((48, 64, 3), np.uint8),
        )
        scene.detach()
        table = Tabletop(path, noise=_CAMERA_NOISE, seed=seed, settings=settings, planning_scene=scene)
        actions = [Action(name, args) for name, args in _offered(domain, table)]
        policies.append(PlanningPolicy(table, twin, actions, rate, seed, lambda: table.arm.begun + begun[0]))
        try:
            if mode == ALONE:
                for action in _STEPS:
                    begun[0] += 1
                    _unchecked(table, action)
            else:
                body = ArmBody(domain, table.world, table.arm, table.skills)
                pw.run("put the red cube in the tray", body=body, goal=_GOAL, method="classical", model="none")
        finally:
            server.close()
        table.arm.grip(0.08, 20.0)  # what is only carried is not there
        table.simulator.step(500)
        (x, y, z), _ = table.simulator.object_pose(0)
        return bool(abs(x - _TRAY[0]) < _INSIDE[0] and abs(y - _TRAY[1]) < _INSIDE[1] and 0.0 < z < 0.06)


def _unchecked(table: Tabletop, action: Action) -> None:
    """What the policy makes of an instruction; nobody looks whether it did it."""
    table.skills.begin(None)
    with contextlib.suppress(SkillFailureError):  # the arm is at rest; a policy alone is told the next thing
        table.skills.by(next(iter(table.skills.able(action).values())), action)


def _offered(domain: Domain, table: Tabletop) -> list[tuple[str, tuple[str, ...]]]:
    items = [t.name for t in table.look() if t.type == "item"]
    return [("grasp", (name,)) for name in items] + [("place_in", (name, "tray")) for name in items]


def _scene(seed: int) -> str:
    """Four cubes at random, and a tray."""
    rng = np.random.default_rng(seed)
    points: list[np.ndarray] = []
    while len(points) < len(_COLOURS):
        point = rng.uniform((0.35, -0.35), (0.62, 0.12))
        if all(np.linalg.norm(point - other) > 0.13 for other in points):
            points.append(point)
    rows = [
        f"  - {{kind: cube, colour: {colour}, position: [{x:.4f}, {y:.4f}], yaw: {rng.uniform(0, 1.57):.3f}}}"
        for colour, (x, y) in zip(_COLOURS, points)
    ]
    tray = f"  - {{kind: tray, position: [{_TRAY[0]}, {_TRAY[1]}]}}"
    return "\n".join(["description: cubes and a tray", "objects:", *rows, tray, ""])

"""A policy alone, under plans, and under plans with our own skill after it, in the physics of the simulated arm and of
LIBERO.

The policy is scripted (test/doubles/policy_server.py): motions of our own planner, in openpi's protocol, with errors at
a given rate. It says what plan and checks are worth where a policy errs so, and nothing about any learned policy. True
poses decide on success; on the table the camera sees them with noise, in the kitchen it sees the furniture's points,
LIBERO tells them and its own checker judges. Pictures are black, since the script does not look at them.
"""

from __future__ import annotations

import argparse
import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from doubles.direct_arm import Tabletop
from doubles.kitchen import Kitchen
from doubles.policy_server import PlanningPolicy, PolicyServer, planned

import planweave as pw
from benchmarks.figures import Row, figure
from planweave.bench.kitchen_tasks import DOOR, OPEN, SWUNG, TOP, KitchenTask, part_name, within
from planweave.bodies.arm.body import ArmBody
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.planning_scene import PlanningScene, Pools
from planweave.bodies.arm.settings import SkillSettings
from planweave.bodies.arm.skills import Skills
from planweave.bodies.arm.skills.context import SkillContext
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.libero.arm import ROBOT
from planweave.libero.bodies import TRUTH, body_on
from planweave.libero.client import LiberoSimulator
from planweave.libero.truth import goal_of, truth
from planweave.robots import load_robot
from planweave.simulation.scene import parse_scene

RATES = (0.0, 0.3)
ALONE, PLAN, BOTH = "policy alone", "plan over policy", "plan over policy, then our skill"
_COLOURS = ("red", "blue", "green", "yellow")
_INSIDE = 0.09, 0.12  # half of the tray along x and y, m
_TRAY = 0.58, 0.35
_CAMERA_NOISE = 0.001  # m
_OWN = {"grasp": "grasping", "place_in": "placing", "open": "articulated"}
_LIBERO_TASKS = 10  # of libero_object
_BOXES = Pools(boxes=600, cylinders=16, held=48)


@dataclass
class PolicyEpisode:
    """A task with a body whose skills are the policy's. steps: that the policy alone is told; offered: what it can be
    told.
    """

    body: ArmBody
    sentence: str
    goal: str
    steps: tuple[Action, ...]
    offered: Sequence[Action]
    reached: Callable[[], bool]


def run(options: argparse.Namespace, console: Any) -> list[Row]:
    """Rows of the table: share of tasks that succeeded, by suite, mode and error rate. Raises NotInstalledError where
    LIBERO is not there.
    """
    rows = []
    for suite in options.tasks or BODIES:
        if suite not in BODIES:
            raise ConfigError(str(UnknownNameError("body", suite, BODIES)))
        with BODIES[suite]() as episode_of:
            for rate in RATES:
                for mode in (ALONE, PLAN, BOTH):
                    done = [_play(episode_of, mode, rate, seed) for seed in range(options.repeat)]
                    console.print(f"{suite}: {mode}, {rate:.0%}: {done}")
                    rows.append(figure(f"{suite}: {mode}, scripted errors {rate:.0%}", f"{sum(done)} of {len(done)}"))
    return rows


_Made = Callable[[int, "dict[str, Any]"], "tuple[PolicyEpisode, PlanningScene]"]


def _play(made: _Made, mode: str, rate: float, seed: int) -> bool:
    """Whether the task of a seed is done at the end."""
    begun, policies = [0], list[PlanningPolicy]()
    server = PolicyServer(lambda observation: policies[0](observation))
    with tempfile.TemporaryDirectory() as folder, contextlib.closing(server):
        mention = f"policy:{server.contract(Path(folder), reply=60.0, seconds=120.0)}"
        settings = {
            "off": frozenset({"grab_and_putin"}),  # so that a plan has several steps
            "skills": {name: (mention, *((own,) if mode == BOTH else ())) for name, own in _OWN.items()},
            "pictures": lambda camera: np.zeros((48, 64, 3), np.uint8),
        }
        episode, twin = made(seed, settings)
        body = episode.body
        body.skills = _Counted(body.skills, begun)

        def motion(action: Action) -> Any:
            return planned(body, twin, action)

        policies.append(PlanningPolicy(body.domain, motion, episode.offered, rate, seed, lambda: begun[0]))
        if mode == ALONE:
            for action in episode.steps:
                with contextlib.suppress(SkillFailureError):  # it is told the next thing, and nobody looks
                    body.skills.run(action)
        else:
            pw.run(episode.sentence, body=body, goal=episode.goal, method="classical", model="none")
        return episode.reached()


class _Counted(Skills):
    """Skills; counts the attempts."""

    def __init__(self, skills: Skills, begun: list[int]) -> None:
        vars(self).update(vars(skills))
        self._begun = begun

    @contextlib.contextmanager
    def attempt(self) -> Iterator[SkillContext]:
        self._begun[0] += 1
        with super().attempt() as context:
            yield context


@contextlib.contextmanager
def _table() -> Iterator[_Made]:
    """The red one of four cubes into the tray."""
    scene, twin, domain = PlanningScene(), PlanningScene(), Domain.load("tabletop")

    def made(seed: int, settings: dict[str, Any]) -> tuple[PolicyEpisode, PlanningScene]:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "scene.yaml"
            path.write_text(_cubes(seed))
            scene.detach()
            own = SkillSettings(domain=domain, **settings)
            table = Tabletop(path, noise=_CAMERA_NOISE, seed=seed, settings=own, planning_scene=scene)

        def reached() -> bool:
            table.arm.grip(0.08, 20.0)  # what is only carried is not there
            table.simulator.step(500)
            (x, y, z), _ = table.simulator.object_pose(0)
            return bool(abs(x - _TRAY[0]) < _INSIDE[0] and abs(y - _TRAY[1]) < _INSIDE[1] and 0.0 < z < 0.06)

        items = [t.name for t in table.look() if t.type == "item"]
        offered = [Action("grasp", (n,)) for n in items] + [Action("place_in", (n, "tray")) for n in items]
        steps = Action("grasp", ("red_cube",)), Action("place_in", ("red_cube", "tray"))
        body = ArmBody(domain, table.world, table.arm, table.skills)
        goal = "in(red_cube, tray)"
        return PolicyEpisode(body, "put the red cube in the tray", goal, steps, offered, reached), twin

    yield made


@contextlib.contextmanager
def _kitchen() -> Iterator[_Made]:
    """Two parts of the kitchen's furniture, which stands anywhere, are opened."""
    task = KitchenTask("open_two", "open the top drawer and the cupboard", {TOP: OPEN, DOOR: SWUNG})
    names = "cabinet_top_drawer", "cupboard"
    twin = PlanningScene(pools=_BOXES)

    def made(seed: int, settings: dict[str, Any]) -> tuple[PolicyEpisode, PlanningScene]:
        scene = parse_scene(task.scene(), Path("kitchen.yaml"))
        rng = np.random.default_rng(seed)
        moved = [
            replace(
                each,
                position=tuple(np.add(each.position, (*rng.uniform(-0.02, 0.02, 2), 0.0))),
                yaw=each.yaw + rng.uniform(-0.1, 0.1),
            )
            for each in scene.fixtures
        ]
        kitchen = Kitchen(replace(scene, objects=(), fixtures=tuple(moved)), seed, **settings)
        body = ArmBody(kitchen.domain, kitchen.world, kitchen.arm, kitchen.skills)

        def reached() -> bool:
            parts = {part_name(n): value for n, value in kitchen.simulator.fixture_joints().items()}
            return all(within(parts[part], span) for part, span in task.parts.items())

        steps = tuple(Action("open", (name,)) for name in names)
        goal = " and ".join(f"opened({name})" for name in names)
        return PolicyEpisode(body, task.sentence, goal, steps, steps, reached), twin

    yield made


@contextlib.contextmanager
def _libero() -> Iterator[_Made]:
    """The tasks of libero_object, a thing into the basket, by true poses."""
    domain = Domain.load("kitchen")
    twin = PlanningScene(robot=load_robot(ROBOT), pools=_BOXES)

    def made(seed: int, settings: dict[str, Any]) -> tuple[PolicyEpisode, PlanningScene]:
        name = f"libero_object/{seed % _LIBERO_TASKS}/{seed // _LIBERO_TASKS}"
        task, body = body_on(simulator, name, TRUTH)
        skills, context = body.skills, body.skills.context
        own = replace(context.settings, **settings)
        body.skills = Skills(context.arm, context.scene, skills.reaching, context.arm.safety, body.world, own)
        goal = goal_of(task.state, task.goal)
        steps = solve(domain, truth(domain, task.state), goal)
        items = [thing.name for thing in body.world.things() if thing.type == "item"]
        offered = [Action(step.name, (item, *step.args[1:])) for step in steps for item in items]
        reached = lambda: bool(simulator.verdict.holds)  # noqa: E731
        return PolicyEpisode(body, task.language, " and ".join(map(str, goal)), steps, offered, reached), twin

    with contextlib.closing(LiberoSimulator()) as simulator:
        yield made


BODIES = {"table": _table, "kitchen": _kitchen, "libero": _libero}


def _cubes(seed: int) -> str:
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

"""Planweave's simulated arm at a table and in a kitchen, with the tasks of both."""

from __future__ import annotations

import tempfile
from pathlib import Path

from inspect_robots.errors import ConfigError
from inspect_robots.scene import Scene
from inspect_robots.scorer import success_at_end
from inspect_robots.task import Task

from planweave.bench.kitchen_tasks import TASKS as KITCHEN
from planweave.bench.kitchen_tasks import kitchen_task, part_name
from planweave.bench.tabletop_checks import ObjectPose
from planweave.bench.tabletop_tasks import TASKS, check, load_task
from planweave.bench.tabletop_variants import variant
from planweave.simulation.scene import Scene as SimulatedScene
from planweave.simulation.scene import load_scene
from planweave_inspect.simulated_arm import Arrangement, SimulatedArm


class PlanweaveTable(SimulatedArm):
    """A table, seen from above. Seed 0 is the task's own scene."""

    name = "planweave_table"

    def arrange(self, task: str, seed: int) -> Arrangement:
        """A tabletop task by name."""
        found = load_task(task)
        scene = _loaded(variant(found, seed).text) if seed else load_scene(found.scene)
        start: list[ObjectPose] = []

        def missing(bodies: list[ObjectPose], _: dict[str, float]) -> list[str]:
            start.extend(bodies if not start else ())
            return list(check(found, bodies, start))

        return Arrangement(scene, missing)


class PlanweaveKitchen(SimulatedArm):
    """A counter with drawers, a door and a stove, seen from above and from both sides. Seed 0 is the kitchen's own
    arrangement.
    """

    name = "planweave_kitchen"
    domain = "kitchen"
    cameras = ("overhead", "left", "right")
    where = "at a kitchen counter"

    def arrange(self, task: str, seed: int) -> Arrangement:
        """A task of the kitchen by name."""
        found = kitchen_task(task)
        scene = _loaded(found.scene(seed or None))

        def missing(bodies: list[ObjectPose], joints: dict[str, float]) -> list[str]:
            return found.missing(scene, {part_name(name): value for name, value in joints.items()}, bodies)

        return Arrangement(scene, missing, bool(found.inside or found.on))


def planweave_table_task(tasks: str = "banana_in_bowl,pear_on_plate", seeds: int = 1, max_steps: int = 2400) -> Task:
    """Tabletop tasks of Planweave by name, each with some seeds."""
    return _task(
        "planweave-table", "tabletop", {name: load_task(name).sentence for name in TASKS}, tasks, seeds, max_steps
    )


def planweave_kitchen_task(tasks: str = "open_top,can_on_plate", seeds: int = 1, max_steps: int = 4800) -> Task:
    """Tasks of Planweave's kitchen by name, each with some seeds."""
    return _task("planweave-kitchen", "kitchen", {each.id: each.sentence for each in KITCHEN}, tasks, seeds, max_steps)


def _task(title: str, kind: str, known: dict[str, str], tasks: str, seeds: int, max_steps: int) -> Task:
    names = [name.strip() for name in tasks.split(",")]
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise ConfigError(f"no {kind} task {unknown[0]!r}; there are {', '.join(known)}")
    scenes = [
        Scene(f"{name}-{seed}", known[name], init_seed=seed, metadata={SimulatedArm.key: name})
        for name in names
        for seed in range(seeds)
    ]
    return Task(title, scenes, success_at_end(), max_steps)


def _loaded(text: str) -> SimulatedScene:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scene.yaml"
        path.write_text(text)
        return load_scene(str(path))

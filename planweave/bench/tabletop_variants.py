"""Random variants of tabletop scenes by seed: objects moved, distractors removed, faults added. Without ROS."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import yaml

from planweave.bench.tabletop_tasks import TabletopTask, extent, scene_names
from planweave.core.base.errors import SceneError
from planweave.core.symbolic.domain import Domain
from planweave.simulation.scene import Scene, SceneObject, load_scene

NOISE = {"mass": 0.1, "friction": 0.1}  # shares by which the physics of each run differ
ROOM = 0.015  # kept between objects that are moved at random, m
UNDER_ARM = (0.46, 0.26)  # nothing is put where the arm at home hides it: x below, |y| below, m


@dataclass(frozen=True)
class Variant:
    """A task's scene with objects moved at random, distractors removed, and faults added."""

    text: str
    names: tuple[str, ...]
    slips: int = 0
    vanishings: int = 0


def variant(task: TabletopTask, seed: int, slip: float = 0.0, vanish: float = 0.0) -> Variant:
    """The scene of a run. slip, vanish: fractions of the objects to be moved whose first grasp meets that fault."""
    rng = random.Random(f"{task.id} {seed}")
    scene = load_scene(task.scene)
    left_out = set(task.distractors[task.counts[seed % len(task.counts)] :])
    kept = [(o, n) for o, n in zip(scene.objects, scene_names(scene)) if n not in left_out]
    objects = _shuffled(scene, [o for o, _ in kept], rng)
    names = tuple(n for _, n in kept)
    faults: list[dict[str, Any]] = []
    for index, name in enumerate(names):
        if not any(a.args[:1] == (name,) for a in task.reference):
            continue
        if rng.random() < slip:
            faults.append({"kind": "slip", "object": index})
        if rng.random() < vanish:
            faults.append({"kind": "vanish", "object": index, "to": _elsewhere(objects, index, rng)})
    document = {
        "description": f"{task.id}, seed {seed}",
        "objects": [
            {
                "kind": o.kind,
                "colour": o.colour,
                "position": [round(p, 4) for p in o.position],
                "size": list(o.size),
                "yaw": round(o.yaw, 4),
            }
            for o in objects
        ],
        "noise": {"seed": seed, **NOISE},
        "faults": faults,
    }
    kinds = [f["kind"] for f in faults]
    return Variant(yaml.safe_dump(document, sort_keys=False), names, kinds.count("slip"), kinds.count("vanish"))


def _shuffled(scene: Scene, objects: Sequence[SceneObject], rng: random.Random) -> list[SceneObject]:
    """The objects moved within the scene's ranges, without overlap."""
    reach, turn = scene.jitter.position, scene.jitter.yaw
    for _ in range(1000):
        moved = [
            replace(
                o,
                position=(
                    o.position[0] + rng.uniform(-reach, reach),
                    o.position[1] + rng.uniform(-reach, reach),
                    o.position[2],
                ),
                yaw=math.remainder(o.yaw + rng.uniform(-turn, turn), 2 * math.pi),
            )
            for o in objects
        ]
        if all(_apart(a, b.position, b) for i, a in enumerate(moved) for b in moved[:i]):
            return moved
    raise SceneError(f"scene {scene.name}: its objects stand so near that jitter leaves them no room; move them apart")


def _apart(one: SceneObject, where: Sequence[float], other: SceneObject) -> bool:
    return math.dist(one.position[:2], where[:2]) >= _radius(one) + _radius(other) + ROOM


def _radius(thing: SceneObject) -> float:
    along, across, _ = extent(thing)
    return along / 2 if Domain.load().is_round_class(thing.kind) else math.hypot(along, across) / 2


def _elsewhere(objects: Sequence[SceneObject], index: int, rng: random.Random) -> list[float]:
    """A free, visible and reachable place for one of the objects: the first with enough clearance, or the best
    of many.
    """
    others = [o for i, o in enumerate(objects) if i != index]
    best, most = (0.0, 0.0), -math.inf
    for _ in range(1000):
        x, y = rng.uniform(0.34, 0.70), rng.uniform(-0.48, 0.48)
        hidden = x < UNDER_ARM[0] and abs(y) < UNDER_ARM[1]
        if hidden or math.dist((x, y), objects[index].position[:2]) < 0.10:
            continue
        room = min((math.dist((x, y), o.position[:2]) - _radius(o) for o in others), default=1.0)
        if room > most:
            best, most = (x, y), room
        if room > _radius(objects[index]) + 2 * ROOM:
            break
    return [round(p, 3) for p in best]

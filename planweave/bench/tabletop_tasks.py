"""The papers' tabletop tasks as data, and our own: planweave/bench/tasks/tabletop/<id>.yaml. No ROS.

    sentence: put the banana in the bowl          # what a person says
    source: ProgPrompt, Table IV                  # where it comes from
    scene: banana_in_bowl                         # under config/scenes
    workspace: tabletop                           # the named places it needs, under config/workspaces
    goal: [in(banana, bowl)]                      # one way to do it, in the words of the domain
    checker: [{inside: {objects: [banana], containers: [bowl]}}]   # what must be so, as geometry (tabletop_checks.py)
    reference: [grasp(banana), place_in(banana, bowl)]             # a plan that reaches it
    distractors: {objects: [apple, plate], counts: [0, 2]}         # optional: how many of these the benchmark leaves
    unreachable: [purple_cube]                                     # optional: objects and places out of reach

Objects are named as perception names what it sees in the scene.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import msgspec

from planweave.bench.tabletop_checks import CONDITIONS, ObjectPose, Situation, unmet
from planweave.bodies.arm.workspace import load_workspace
from planweave.core.base.errors import ConfigError, ParseError, UnknownNameError
from planweave.core.base.yaml_files import read_yaml
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.perception.naming import Nameless, name_all
from planweave.perception.object_classes import ObjectClasses
from planweave.simulation.scene import Scene, SceneObject, load_scene
from planweave.simulation.shapes import KINDS

FOLDER = Path(__file__).parent / "tasks" / "tabletop"
PAPERS = (
    "right_side_only",
    "letter_l",
    "rainbow_line",
    "one_each_side",
    "red_triangle",
    "plus_sign",
    "segregate_shapes",
    "banana_in_bowl",
    "pear_on_plate",
    "banana_on_plate_pear_in_bowl",
    "sort_fruits_and_bottles",
)
"""BrainBody-LLM's seven (Table 4) and ProgPrompt's four (Table IV)."""
OWN = ("stack_five", "clear_table", "hand_me")
TASKS = (*PAPERS, *OWN)


class _Distractors(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    objects: tuple[str, ...] = ()
    counts: tuple[int, ...] = (0,)


class _TaskRow(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    sentence: str
    source: str
    scene: str
    goal: list[str]
    checker: tuple[dict[str, Any], ...]
    reference: list[str]
    workspace: str = "tabletop"
    distractors: _Distractors = _Distractors()
    unreachable: tuple[str, ...] = ()


#: Height of a kind as a share of its first size (its footprint is in KINDS); that of the others is their last size
_HEIGHTS = {"cube": 1.0, "banana": 0.23, "pear": 0.64, "apple": 0.86, "orange": 0.94, "strawberry": 0.75}


@dataclass(frozen=True)
class TabletopTask:
    """One task; see the module's text for the fields."""

    id: str
    sentence: str
    source: str
    scene: str
    workspace: str
    goal: tuple[Literal, ...]
    checker: tuple[Mapping[str, Any], ...]
    reference: tuple[Action, ...]
    distractors: tuple[str, ...] = ()
    counts: tuple[int, ...] = (0,)
    unreachable: tuple[str, ...] = ()


def load_task(name: str) -> TabletopTask:
    """The task of this id, or in the file at this path.

    Raises UnknownNameError, or ConfigError that says what is wrong.
    """
    path = Path(name) if name.endswith((".yaml", ".yml")) else FOLDER / f"{name}.yaml"
    if not path.is_file():
        raise UnknownNameError("task", name, (p.stem for p in FOLDER.glob("*.yaml")))
    try:
        table = read_yaml(path)
        for key in table if isinstance(table, dict) else ():
            if key not in _TaskRow.__struct_fields__:
                raise ConfigError(f"{path}: {UnknownNameError('key', str(key), _TaskRow.__struct_fields__)}")
        row = msgspec.convert(table, _TaskRow)
        goal, reference = tuple(map(Literal.parse, row.goal)), tuple(map(Action.parse, row.reference))
    except msgspec.ValidationError as error:
        raise ConfigError(f"{path}: {error}") from None
    except ParseError as error:
        raise ConfigError(f"{path}: goal or reference: {error}") from None
    left = row.distractors
    given = row.sentence, row.source, row.scene, row.workspace, goal, row.checker, reference
    task = TabletopTask(path.stem, *given, left.objects, left.counts, row.unreachable)
    _check_conditions(path, task.checker)
    return task


def _check_conditions(path: Path, conditions: Sequence[Mapping[str, Any]]) -> None:
    """Raise ConfigError for an unknown condition or wrong arguments."""
    for condition in conditions:
        if not isinstance(condition, dict) or len(condition) != 1:
            raise ConfigError(f"{path}: checker: expected {{condition: {{argument: value}}}}, got {condition!r}")
        ((name, arguments),) = condition.items()
        if name == "any":
            for branch in arguments:
                _check_conditions(path, branch)
            continue
        if name not in CONDITIONS:
            raise ConfigError(f"{path}: checker: {UnknownNameError('condition', str(name), ('any', *CONDITIONS))}")
        try:
            inspect.signature(CONDITIONS[name]).bind(None, **arguments)
        except TypeError as error:
            raise ConfigError(f"{path}: checker: {name}: {error}") from None


def check(
    task: TabletopTask, bodies: Sequence[ObjectPose], start: Sequence[ObjectPose] = (), handed: Sequence[str] = ()
) -> list[str]:
    """Violations of a task's conditions, as sentences; empty where it is done.

    start: initial poses (default: of the scene file); handed: objects that a person has taken.
    """
    before = start or scene_bodies(load_scene(task.scene))
    places = {name: centre for name, (centre, _) in _places(task.workspace).items()}
    return unmet(
        task.checker, Situation({b.name: b for b in bodies}, {b.name: b for b in before}, places, frozenset(handed))
    )


def check_world(task: TabletopTask, world: World, start: World | None = None) -> list[str]:
    """The same for the world as observed by the body."""
    handed = [f.args[0] for f in world.facts if f.predicate == "handed_over"]
    return check(task, world_bodies(world), world_bodies(start) if start else (), handed)


@lru_cache(maxsize=32)
def _places(workspace: str) -> dict[str, tuple[tuple[float, float], tuple[float, float]]]:
    return {p.name: (p.centre, p.size) for p in load_workspace(workspace)}


def scene_names(scene: Scene) -> list[str]:
    """The names that perception gives the objects of a scene, in order."""
    colours = ["aqua" if o.colour == "cyan" else o.colour for o in scene.objects]
    domain = Domain.load("tabletop")
    things = [
        Nameless(o.kind, c, o.position[1], domain.is_receptacle_class(o.kind)) for o, c in zip(scene.objects, colours)
    ]
    return name_all(things, ObjectClasses.of(domain))


def extent(entry: SceneObject) -> tuple[float, float, float]:
    """Size of an object along its own axes as placed in the scene, m."""
    height = _HEIGHTS[entry.kind] * entry.size[0] if entry.kind in _HEIGHTS else entry.size[-1]
    return (*KINDS[entry.kind].footprint(entry.size), height)


def scene_bodies(
    scene: Scene, poses: Sequence[tuple[Sequence[float], Sequence[float]]] | None = None, held: str = ""
) -> list[ObjectPose]:
    """The objects of a scene: as in the file, or at true poses (centre of the bottom; quaternion x, y, z, w)."""
    bodies = []
    for index, (entry, name) in enumerate(zip(scene.objects, scene_names(scene))):
        size = extent(entry)
        if poses is None:
            x, y, z = entry.position
            bodies.append(ObjectPose(name, entry.kind, (x, y, z + size[2] / 2), size, entry.yaw))
            continue
        (x, y, z), (qx, qy, qz, qw) = poses[index]
        up = 2 * (qx * qz + qw * qy), 2 * (qy * qz - qw * qx), 1 - 2 * (qx * qx + qy * qy)
        yaw = _yaw(qx, qy, qz, qw)
        centre = tuple(p + u * size[2] / 2 for p, u in zip((x, y, z), up))
        rise = 2 * (qx * qz - qw * qy), 2 * (qy * qz + qw * qx), up[2]
        bodies.append(ObjectPose(name, entry.kind, (centre[0], centre[1], centre[2]), size, yaw, rise, name == held))
    return bodies


def world_bodies(world: World) -> list[ObjectPose]:
    bodies = []
    for thing in world.objects:
        if thing.position is None or thing.size is None or thing.type == "location":
            continue
        yaw = _yaw(*(thing.orientation or (0.0, 0.0, 0.0, 1.0)))
        held = Literal("holding", (thing.name,)) in world.facts
        bodies.append(ObjectPose(thing.name, thing.class_name, thing.position, thing.size, yaw, held=held))
    return bodies


def _yaw(x: float, y: float, z: float, w: float) -> float:
    return math.atan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))

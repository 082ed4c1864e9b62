"""Tasks of the kitchen counter: sentences, what must be true in the simulator at the end, and random arrangements."""

from __future__ import annotations

import cmath
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import yaml

from planweave.bench.tabletop_checks import ObjectPose
from planweave.core.base.errors import SceneError, UnknownNameError
from planweave.core.base.paths import find_config
from planweave.core.base.yaml_files import read_yaml
from planweave.simulation.fixtures import FIXTURES, TURNED_ON
from planweave.simulation.scene import Fixture, Scene

TOP, BOTTOM, DOOR, KNOB = "0/top_drawer", "0/bottom_drawer", "1/door", "2/knob"
"""Parts of furniture: the number of the fixture in the scene, and the part's name."""
OPEN, SHUT = (0.08, 1.0), (-0.01, 0.012)
"""Ranges of m that a drawer is out."""
SWUNG, CLOSED = (0.6, 2.0), (-0.05, 0.10)
"""Ranges of rad that a door is open."""

OFF, ON = (-0.1, TURNED_ON), (TURNED_ON, 2.0)
"""Ranges of rad to which a stove's knob is turned."""

_FREE = (0.32, 0.58), (-0.24, 0.24)  # x and y of the counter on which things are strewn, m
_KEPT_FREE = (0.52, 0.25, 0.08), (0.56, -0.32, 0.11)  # x, y and radius of where drawers and the door go, m
_FRONT = 0.655  # x up to which things reach: the front of the stove
_APART = 0.03  # m between their outlines
_TRIES = 100_000  # arrangements
_LEAF, _HANDLE = 8, 0.02  # pieces of an open door, and how far to its sides its handle and what it is made of reach, m
_BOARD = 0.012  # m, of carcasses


@dataclass(frozen=True)
class KitchenTask:
    """A sentence, and what it asks for: parts within ranges (m or rad), things in drawers or behind doors, or on other
    things or furniture.

    open_at_first: parts by how far they are open; locked: parts that nobody can move.
    """

    id: str
    sentence: str
    parts: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    inside: Mapping[str, str] = field(default_factory=dict)
    on: Mapping[str, str] = field(default_factory=dict)
    open_at_first: Mapping[str, float] = field(default_factory=dict)
    locked: tuple[str, ...] = ()

    def scene(self, seed: int | None = None) -> str:
        """Text of the scene file; seed: of a random arrangement of the things, None for the kitchen's own."""
        scene = read_yaml(find_config("scenes", "kitchen"))
        fixtures, leaves = scene["fixtures"], list[tuple[float, float, float]]()
        for part, value in self.open_at_first.items():
            index, name = part.split("/")
            fixtures[int(index)].setdefault("joints", {})[name] = value
            leaves += leaf(fixtures[int(index)], value) if name == "door" else []
        for index, name in (part.split("/") for part in self.locked):
            fixtures[int(index)].setdefault("locked", []).append(name)
        if seed is not None:
            _strew(scene["objects"], np.random.default_rng(seed), leaves)
        return yaml.safe_dump(scene)

    def missing(self, scene: Scene, parts: Mapping[str, float], bodies: Iterable[ObjectPose]) -> list[str]:
        """Unmet parts of the goal. parts: how far each is open, m or rad; bodies: true poses of the things."""
        by_kind = {f.kind: _pose(f) for f in scene.fixtures} | {body.kind: body for body in bodies}
        away = [part for part, span in self.parts.items() if not within(parts.get(part), span)]
        out = [f"{n} in {p}" for n, p in self.inside.items() if not _inside(scene, p, parts[p], by_kind[n])]
        off = [f"{name} on {other}" for name, other in self.on.items() if not _rests_on(by_kind[name], by_kind[other])]
        return [*away, *out, *off]


MUG_AWAY = "open the top drawer, put the mug in it and close it"

TASKS = (
    KitchenTask("open_top", "open the top drawer", {TOP: OPEN}),
    KitchenTask("close_cupboard", "close the cupboard", {DOOR: CLOSED}, open_at_first={DOOR: 1.2}),
    KitchenTask("close_top", "close the top drawer", {TOP: SHUT}, open_at_first={TOP: 0.15}),
    KitchenTask("open_cupboard", "open the cupboard", {DOOR: SWUNG}),
    KitchenTask("mug_away", MUG_AWAY, {TOP: SHUT}, {"mug": TOP}),
    KitchenTask("mug_in_cupboard", "put the mug in the cupboard and close it", {DOOR: CLOSED}, {"mug": DOOR}),
    KitchenTask("stove_on", "turn on the stove", {KNOB: ON}),
    KitchenTask("can_on_plate", "put the can on the plate", on={"can": "plate"}),
    KitchenTask("can_on_shelf", "put the can on the shelf", on={"can": "shelf"}),
)


def kitchen_task(name: str) -> KitchenTask:
    """A task by its id; raises UnknownNameError."""
    for task in TASKS:
        if task.id == name:
            return task
    raise UnknownNameError("kitchen task", name, [task.id for task in TASKS])


def within(value: float | None, span: tuple[float, float]) -> bool:
    """Whether a known value is in a range."""
    return value is not None and span[0] <= value <= span[1]


def part_name(joint: str) -> str:
    """The part ("0/top_drawer") that a joint of the model moves."""
    _, index, part = joint.split("_", 2)
    return f"{index}/{part}"


def _inside(scene: Scene, part: str, value: float, body: ObjectPose) -> bool:
    """Whether the middle of a thing is within a drawer that is so far out, m, or behind a door: it may lie."""
    index, name = part.split("/")
    fixture = scene.fixtures[int(index)]
    depth, width, height = fixture.size
    names = FIXTURES[fixture.kind].parts
    each = (height - _BOARD) / len(names)
    low = height - _BOARD - each * (names.index(name) + 1)
    c, s = math.cos(fixture.yaw), math.sin(fixture.yaw)
    x, y = body.position[0] - fixture.position[0], body.position[1] - fixture.position[1]
    out = value if name.endswith("drawer") else 0.0
    along, across = c * x + s * y + out, c * y - s * x
    return abs(along) < depth / 2 and abs(across) < width / 2 and low <= body.position[2] < low + each


def _pose(fixture: Fixture) -> ObjectPose:
    (x, y, _), (depth, width, height) = fixture.position, fixture.size
    return ObjectPose(fixture.kind, fixture.kind, (x, y, height / 2), (depth, width, height), fixture.yaw)


def _rests_on(item: ObjectPose, other: ObjectPose) -> bool:
    return other.covers(*item.position[:2]) and abs(item.bottom - other.bottom) < other.top - other.bottom + 0.005


def leaf(fixture: Mapping[str, Any], value: float) -> list[tuple[float, float, float]]:
    """Circles, x, y and radius, m, around the door of a scene's fixture that is so far open, rad."""
    depth, width, _ = fixture["size"]
    (x, y), yaw = fixture["position"], fixture["yaw"]
    hinge = complex(x, y) + cmath.rect(1.0, yaw) * complex(-depth / 2, width / 2)
    along = cmath.rect(width / _LEAF, yaw - value - math.pi / 2)
    return [(at.real, at.imag, _HANDLE) for at in (hinge + k * along for k in range(_LEAF + 1))]


def _strew(
    objects: list[dict[str, Any]], rng: np.random.Generator, kept_free: Sequence[tuple[float, float, float]]
) -> None:
    """Put the objects of a scene at random places of the counter."""
    for _ in range(_TRIES):
        placed: list[tuple[float, float, float]] = []
        for thing in objects:
            x, y = (float(rng.uniform(low, high)) for low, high in _FREE)
            radius = _radius(thing)
            if x + radius > _FRONT or any(
                math.hypot(x - a, y - b) < radius + r + _APART for a, b, r in (*placed, *_KEPT_FREE, *kept_free)
            ):
                break
            placed.append((x, y, radius))
        if len(placed) == len(objects):
            for thing, (x, y, _) in zip(objects, placed):
                thing.update(position=[x, y], yaw=float(rng.uniform(-math.pi, math.pi)))
            return
    raise SceneError("there is no room for all objects of the kitchen")


def _radius(thing: dict[str, Any]) -> float:
    return float(thing.get("size", [0.085])[0]) / 2 if thing["kind"] != "mug" else 0.06

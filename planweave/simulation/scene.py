"""Scene files: what stands on the table. Reads and checks config/scenes/<name>.yaml; every error names
file, line and entry.

    description: two words for people
    table: {size: [1.2, 1.4], centre: [0.35, 0.0]}     # optional, metres
    objects:
      - {kind: cube, colour: red, position: [0.45, 0.1], size: 0.05, yaw: 0.3}
    fixtures:                                          # optional: furniture that stands fast, with parts that move
      - {kind: cabinet, position: [0.7, 0.3], joints: {top_drawer: 0.1}}
    jitter: {position: 0.02, yaw: 3.14}                # optional: largest displacement of each object in a benchmark
    noise: {seed: 3, mass: 0.1, friction: 0.1}         # optional: relative random variation of the physics
    faults:                                            # optional
      - {kind: slip, object: 0, times: 1}              # the first grasp of objects[0] slips
      - {kind: vanish, object: 1, to: [0.5, 0.3]}      # objects[1] is moved there when it is first grasped at;
                                                       # without `to` it is taken off the table
    person: {at: [0.6, 0.0, 0.4], after: 1.0}          # optional: who takes what the gripper holds out there for
                                                       # that long, s; these are the usual values; person: nobody

position: x, y of the middle of the footprint and, optionally, the height of the bottom above the table;
the robot's base frame, metres.
yaw: radians about z; a fixture's front faces the robot at 0. size: metres, one number or as the kind's dimensions
say (shapes.KINDS, fixtures.FIXTURES). joints: how far a fixture's parts are open or turned at first, metres or radians;
locked: [top_drawer]: parts that nobody can move.
"""

# ruff: noqa: RUF009  (the fields are made by functions that say how each is read)
from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, SceneError, UnknownNameError
from planweave.core.base.paths import find_config, is_file
from planweave.core.base.yaml_files import compose
from planweave.core.base.yaml_records import between, key, numbers, one_of, part, read_record, text, texts
from planweave.simulation.fixtures import FIXTURES
from planweave.simulation.shapes import COLOURS, KINDS, Kind

_Limits = Sequence[tuple[float, float]]  # of the table, along x and y


def _position(value: Any) -> tuple[float, ...]:
    place = numbers(0, between(-3.0, 3.0))(value)
    if len(place) not in (2, 3) or (*place, 0.0)[2] < 0:
        raise ValueError("x and y and, where it is not the table's top, a height of 0 or more, m")
    return (*place, 0.0)[:3]


def _size(value: Any) -> tuple[float, ...]:
    size: tuple[float, ...] = numbers(0, between(0.01, 0.6))(value if isinstance(value, list) else [value])
    return size


def _joints(value: Any) -> tuple[tuple[str, float], ...]:
    if not isinstance(value, dict):
        raise ValueError("names of parts, each with how far it is open or turned")
    return tuple((str(name), between(0.0, math.pi)(how_far)) for name, how_far in value.items())


@dataclass(frozen=True)
class SceneObject:
    """One object.

    position: centre of the bottom, m; colour and size: by default those of its kind; size: its dimensions, m; yaw in
    rad; line: in the scene file.
    """

    kind: str = key(one_of("kind", KINDS))
    position: tuple[float, float, float] = key(_position)
    colour: str = key(one_of("colour", COLOURS), "")
    size: tuple[float, ...] = key(_size, ())
    yaw: float = key(between(-2 * math.pi, 2 * math.pi), 0.0)
    line: int = 0

    def problem(self) -> str:
        names = {**KINDS, **FIXTURES}[self.kind].size
        asked = f"size of a {self.kind} must be [{', '.join(names)}], m, not {list(self.size)}"
        return asked if self.size and len(self.size) != len(names) else ""


@dataclass(frozen=True)
class Fixture(SceneObject):
    """Furniture that stands fast. joints: how far its parts are open or turned at first, m or rad, where not 0;
    locked: parts that stay so.
    """

    kind: str = key(one_of("kind", FIXTURES))
    joints: tuple[tuple[str, float], ...] = key(_joints, ())
    locked: tuple[str, ...] = key(texts(0, 99), ())

    def problem(self) -> str:
        parts = FIXTURES[self.kind].parts
        unknown = [name for name in (*dict(self.joints), *self.locked) if name not in parts]
        return str(UnknownNameError("part", unknown[0], parts)) if unknown else super().problem()


@dataclass(frozen=True)
class Slip:
    """A fault: objects[object] is slippery for the fingers until it has slipped out of them ``times`` times."""

    object: int
    times: int


@dataclass(frozen=True)
class Vanish:
    """A fault: objects[object] disappears when the fingers first close on it.

    to: its new place, x and y in m; None: off the table.
    """

    object: int
    to: tuple[float, ...] | None


@dataclass(frozen=True)
class _Fault:
    """A fault as in the file."""

    kind: str = key(one_of("fault", ("slip", "vanish")))
    object: int = key(between(0, 999, whole=True))
    times: int = key(between(1, 100, whole=True), 0)
    to: tuple[float, ...] = key(numbers(2, between(-3.0, 3.0)), ())
    line: int = 0

    def problem(self) -> str:
        given, wrong = (self.to, "to") if self.kind == "slip" else (self.times, "times")
        return f"{wrong} means nothing for a fault of kind {self.kind}; leave it out" if given else ""


@dataclass(frozen=True)
class Jitter:
    """Largest displacement of each object in a benchmark: along x and y (m), in yaw (rad)."""

    position: float = key(between(0.0, 0.3), 0.0)
    yaw: float = key(between(0.0, math.pi), 0.0)


@dataclass(frozen=True)
class Noise:
    """Relative variation of masses and frictions, drawn with the seed."""

    seed: int = key(between(0, 2**31 - 1, whole=True), 0)
    mass: float = key(between(0.0, 0.5), 0.0)
    friction: float = key(between(0.0, 0.5), 0.0)


@dataclass(frozen=True)
class Taker:
    """A person who takes what the gripper holds out. at: position, m; after: seconds that it must be held still."""

    at: tuple[float, ...] = key(numbers(3, between(-2.0, 2.0)), (0.60, 0.0, 0.40))
    after: float = key(between(0.0, 3600.0), 1.0)


@dataclass(frozen=True)
class TableTop:
    """Along x and y, m; its top is z = 0."""

    size: tuple[float, ...] = key(numbers(2, between(0.2, 4.0)), (1.2, 1.4))
    centre: tuple[float, ...] = key(numbers(2, between(-2.0, 2.0)), (0.35, 0.0))


@dataclass(frozen=True)
class _File:
    """Content of a scene file."""

    objects: tuple[SceneObject, ...] = part(SceneObject, many=list)
    description: str = key(text, "")
    table: TableTop = part(TableTop, TableTop())
    fixtures: tuple[Fixture, ...] = part(Fixture, (), many=list)
    jitter: Jitter = part(Jitter, Jitter())
    noise: Noise = part(Noise, Noise())
    faults: tuple[_Fault, ...] = part(_Fault, (), many=list)
    person: Taker | None = part(Taker, Taker(), nothing="nobody")

    def problem(self) -> str:
        asked = "objects: the list is empty; a scene needs an object, such as {kind: cube, position: [0.45, 0.1]}"
        return "" if self.objects else asked


@dataclass(frozen=True)
class Scene:
    """The objects on the table."""

    path: Path
    description: str
    table: TableTop
    objects: tuple[SceneObject, ...]
    faults: tuple[Slip | Vanish, ...] = ()
    jitter: Jitter = Jitter()
    noise: Noise = Noise()
    person: Taker | None = Taker()
    fixtures: tuple[Fixture, ...] = ()

    @property
    def name(self) -> str:
        """File name without its suffix."""
        return self.path.stem

    def where(self, table: str, index: int) -> str:
        """Location of an entry of "objects" or "fixtures" in the file, for messages."""
        entry = getattr(self, table)[index]
        return f"{self.path}:{entry.line}: {table}[{index}] ({entry.colour} {entry.kind})"


def load_scene(name: str) -> Scene:
    """Read a scene by its name under config/scenes, or by the path of a file.

    Raises SceneError for an error in the file, UnknownNameError for an unknown name.
    """
    if name.endswith((".yaml", ".yml")) and not is_file(name):
        raise SceneError(
            f"no scene file {name[:200]}: give the path of a scene file, or the name of one in config/scenes"
        )
    return parse_scene(None, Path(name) if name.endswith(".yml") else find_config("scenes", name))


def parse_scene(text: str | None, path: Path) -> Scene:
    """Parse the YAML text of a scene, by default that of the file; path: for messages and the scene's name. Raises
    SceneError.
    """
    try:
        read: _File = read_record(_File, path, compose(path, text), "scene")
    except ConfigError as error:
        raise SceneError(str(error)) from None
    of = read.table
    table = [(middle - length / 2, middle + length / 2) for length, middle in zip(of.size, of.centre)]
    objects, fixtures = (
        tuple(_placed(row, kinds, table, f"{path}:{row.line}: {name}[{k}].position") for k, row in enumerate(rows))
        for name, rows, kinds in (("objects", read.objects, KINDS), ("fixtures", read.fixtures, FIXTURES))
    )
    faults: dict[tuple[str, int], Slip | Vanish] = {}
    for number, row in enumerate(read.faults):
        where, which = f"{path}:{row.line}: faults[{number}]", (row.kind, row.object)
        if row.object >= len(objects):
            raise SceneError(f"{where}.object is {row.object}, and must be from 0 to {len(objects) - 1}")
        if which in faults:
            raise SceneError(f"{where}: objects[{row.object}] has such a fault already; give it one entry")
        faults[which] = _fault(row, objects[row.object], table, f"{where}.to")
    named = read.description or path.stem.replace("_", " ")
    others = read.jitter, read.noise, read.person, fixtures
    return Scene(path, named, of, objects, tuple(faults.values()), *others)


def _placed(entry: Any, kinds: Mapping[str, Kind], table: _Limits, where: str) -> Any:
    """An entry with what its kind has by default; raises SceneError where it would hang over the edge of the table."""
    name, kind = entry.kind, kinds[entry.kind]
    made = replace(entry, colour=entry.colour or kind.colour, size=entry.size or kind.default)
    along, across = kind.footprint(made.size)
    c, s = abs(math.cos(made.yaw)), abs(math.sin(made.yaw))
    half = (
        ((along * c + across * s) / 2, (along * s + across * c) / 2)
        if along != across or name == "cube" or name in FIXTURES
        else (along / 2,) * 2
    )
    for axis, value, extent, (low, high) in zip("xy", made.position, half, table):
        if not low <= value - extent or not value + extent <= high:
            raise SceneError(
                f"{where}: the {name} would hang over the edge of the table: it reaches from "
                f"{axis} = {value - extent:.3f} to "
                f"{value + extent:.3f} m, the table from {low:.3f} to {high:.3f} m; "
                + (
                    f"give it {axis} from {low + extent:.3f} to {high - extent:.3f}"
                    if high - low > 2 * extent
                    else "the table is too small for it"
                )
            )
    return made


def _fault(row: _Fault, at: SceneObject, table: _Limits, where: str) -> Slip | Vanish:
    """The fault of an object; where: of its new place, for messages."""
    if row.kind == "slip":
        return Slip(row.object, row.times or 1)
    extent = max(KINDS[at.kind].footprint(at.size)) / 2
    for axis, value, (low, high) in zip("xy", row.to, table):
        if not low + extent <= value <= high - extent:
            raise SceneError(
                f"{where}: {axis} = {value:g} m is too near to the edge of the table or beyond it; "
                f"give {axis} from {low + extent:.3f} to {high - extent:.3f}"
            )
    return Vanish(row.object, row.to or None)

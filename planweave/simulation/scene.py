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

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from planweave.core.base.errors import ConfigError, SceneError
from planweave.core.base.paths import find_config, is_file
from planweave.core.base.yaml_files import BoundedLoader, plain_value, read_text
from planweave.simulation.fixtures import FIXTURES
from planweave.simulation.shapes import COLOURS, KINDS, Kind

_LARGEST = 1e12  # of any number in a scene
_OBJECT, _NEEDED = ("kind", "colour", "position", "size", "yaw"), ("kind", "position")
_Limits = Sequence[tuple[float, float]]  # of the table, along x and y


@dataclass(frozen=True)
class SceneObject:
    """One object.

    position: centre of the bottom, m; yaw in rad; size: dimensions of its kind, m; line: in the scene file.
    """

    kind: str
    colour: str
    position: tuple[float, float, float]
    size: tuple[float, ...]
    yaw: float
    line: int


@dataclass(frozen=True)
class Fixture(SceneObject):
    """Furniture that stands fast. joints: how far its parts are open or turned at first, m or rad, where not 0;
    locked: parts that stay so.
    """

    joints: tuple[tuple[str, float], ...] = ()
    locked: tuple[str, ...] = ()


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
    to: tuple[float, float] | None


@dataclass(frozen=True)
class Jitter:
    """Largest displacement of each object in a benchmark: along x and y (m), in yaw (rad)."""

    position: float = 0.0
    yaw: float = 0.0


@dataclass(frozen=True)
class Noise:
    """Relative variation of masses and frictions, drawn with the seed."""

    seed: int = 0
    mass: float = 0.0
    friction: float = 0.0


@dataclass(frozen=True)
class Taker:
    """A person who takes what the gripper holds out. at: position, m; after: seconds that it must be held still."""

    at: tuple[float, ...] = (0.60, 0.0, 0.40)
    after: float = 1.0


@dataclass(frozen=True)
class Scene:
    """The objects on the table. table_size and table_centre along x and y, m; the table's top is z = 0."""

    path: Path
    description: str
    table_size: tuple[float, ...]
    table_centre: tuple[float, ...]
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
    path = Path(name) if name.endswith(".yml") else find_config("scenes", name)
    try:
        text = read_text(path)
    except ConfigError as error:
        raise SceneError(str(error)) from None
    return parse_scene(text, path)


def parse_scene(text: str, path: Path) -> Scene:
    """Parse the YAML text of a scene; path is for messages and the scene's name. Raises SceneError."""
    try:
        root = yaml.compose(text, Loader=BoundedLoader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or str(error)
        raise SceneError(f"{path}{line}: not valid YAML: {problem}") from error
    if root is None:
        raise SceneError(f"{path}: the file is empty; a scene needs a list called objects")
    top = _YamlNode(path, "scene", root).fields(
        ("description", "table", "objects", "fixtures", "jitter", "noise", "faults", "person"), needed=("objects",)
    )
    description = top["description"].text() if "description" in top else path.stem.replace("_", " ")
    fields = _section(top, "table", ("size", "centre"))
    size, centre = _numbers(fields, "size", 0.2, 4.0, (1.2, 1.4)), _numbers(fields, "centre", -2.0, 2.0, (0.35, 0.0))
    table = [(middle - length / 2, middle + length / 2) for length, middle in zip(size, centre)]
    entries = top["objects"].items()
    if not entries:
        raise top["objects"].error(
            "the list is empty; a scene needs an object, such as {kind: cube, position: [0.45, 0.1]}"
        )
    objects = tuple(_read_placed(e.fields(_OBJECT, _NEEDED), KINDS, e.line, table) for e in entries)
    fixtures = tuple(_read_fixture(entry, table) for entry in (top["fixtures"].items() if "fixtures" in top else ()))
    faults: list[Slip | Vanish] = []
    for entry in top["faults"].items() if "faults" in top else ():
        faults.append(_read_fault(entry, objects, table))
        if any(type(f) is type(faults[-1]) and f.object == faults[-1].object for f in faults[:-1]):
            raise entry.error(f"objects[{faults[-1].object}] has such a fault already; give it one entry")
    fields = _section(top, "jitter", ("position", "yaw"))
    jitter = Jitter(_number(fields, "position", 0.0, 0.3), _number(fields, "yaw", 0.0, math.pi))
    fields = _section(top, "noise", ("seed", "mass", "friction"))
    seed = fields["seed"].integer(0, 2**31 - 1) if "seed" in fields else 0
    noise = Noise(seed, _number(fields, "mass", 0.0, 0.5), _number(fields, "friction", 0.0, 0.5))
    return Scene(path, description, size, centre, objects, tuple(faults), jitter, noise, _read_person(top), fixtures)


def _read_person(top: dict[str, _YamlNode]) -> Taker | None:
    if "person" in top and top["person"].is_text:
        top["person"].choice("person", ("nobody",))
        return None
    fields, usual = _section(top, "person", ("at", "after")), Taker()
    return Taker(_numbers(fields, "at", -2.0, 2.0, usual.at), _number(fields, "after", 0.0, 3600.0, usual.after))


def _section(top: dict[str, _YamlNode], key: str, known: tuple[str, ...]) -> dict[str, _YamlNode]:
    """The entries of an optional mapping."""
    return top[key].fields(known) if key in top else {}


def _numbers(
    fields: dict[str, _YamlNode], key: str, low: float, high: float, usual: tuple[float, ...], meaning: str = ""
) -> tuple[float, ...]:
    """As many numbers as are usual, which are those where none are given."""
    return fields[key].numbers(len(usual), len(usual), low, high, meaning) if key in fields else usual


def _number(fields: dict[str, _YamlNode], key: str, low: float, high: float, usual: float = 0.0) -> float:
    return _numbers(fields, key, low, high, (usual,))[0]


def _read_fixture(entry: _YamlNode, table: _Limits) -> Fixture:
    fields = entry.fields((*_OBJECT, "joints", "locked"), _NEEDED)
    placed = _read_placed(fields, FIXTURES, entry.line, table)
    parts = FIXTURES[placed.kind].parts
    joints = _section(fields, "joints", parts)
    locked = tuple(part.choice("part", parts) for part in fields["locked"].items()) if "locked" in fields else ()
    return Fixture(**vars(placed), joints=tuple((p, _number(joints, p, 0.0, math.pi)) for p in joints), locked=locked)


def _read_placed(fields: dict[str, _YamlNode], kinds: Mapping[str, Kind], line: int, table: _Limits) -> SceneObject:
    name = fields["kind"].choice("kind", kinds)
    kind = kinds[name]
    colour = fields["colour"].choice("colour", COLOURS) if "colour" in fields else kind.colour
    x, y, z = (*fields["position"].numbers(2, 3, -3.0, 3.0), 0.0)[:3]
    if z < 0:
        raise fields["position"].error(f"height {z:g} m is below the table's top (z = 0)")
    size = _numbers(fields, "size", 0.01, 0.6, kind.default, f"{' and '.join(kind.size)} of a {name}")
    yaw = _number(fields, "yaw", -2 * math.pi, 2 * math.pi)
    along, across = kind.footprint(size)
    c, s = abs(math.cos(yaw)), abs(math.sin(yaw))
    half = (
        ((along * c + across * s) / 2, (along * s + across * c) / 2)
        if along != across or name == "cube" or name in FIXTURES
        else (along / 2,) * 2
    )
    for axis, value, extent, (low, high) in zip("xy", (x, y), half, table):
        if not low <= value - extent or not value + extent <= high:
            raise fields["position"].error(
                f"the {name} would hang over the edge of the table: it reaches from "
                f"{axis} = {value - extent:.3f} to "
                f"{value + extent:.3f} m, the table from {low:.3f} to {high:.3f} m; "
                + (
                    f"give it {axis} from {low + extent:.3f} to {high - extent:.3f}"
                    if high - low > 2 * extent
                    else "the table is too small for it"
                )
            )
    return SceneObject(name, colour, (x, y, z), tuple(size), yaw, line)


def _read_fault(entry: _YamlNode, objects: tuple[SceneObject, ...], table: _Limits) -> Slip | Vanish:
    fields = entry.fields(("kind", "object", "times", "to"), needed=("kind", "object"))
    kind = fields["kind"].choice("fault", ("slip", "vanish"))
    many = f"there are {len(objects)} objects, counted from 0"
    index = fields["object"].integer(0, len(objects) - 1, many)
    wrong = "to" if kind == "slip" else "times"
    if wrong in fields:
        raise fields[wrong].error(f"means nothing for a fault of kind {kind}; leave it out")
    if kind == "slip":
        return Slip(index, fields["times"].integer(1, 100) if "times" in fields else 1)
    if "to" not in fields:
        return Vanish(index, None)
    x, y = fields["to"].numbers(2, 2, -3.0, 3.0)
    extent = max(KINDS[objects[index].kind].footprint(objects[index].size)) / 2
    for axis, value, (low, high) in zip("xy", (x, y), table):
        if not low + extent <= value <= high - extent:
            raise fields["to"].error(
                f"{axis} = {value:g} m is too near to the edge of the table or beyond it; "
                f"give {axis} from {low + extent:.3f} to {high - extent:.3f}"
            )
    return Vanish(index, (x, y))


class _YamlNode:
    """A YAML node with its location, for messages."""

    def __init__(self, path: Path, place: str, node: yaml.Node):
        self._path, self._place, self._node = path, place, node
        self.line = node.start_mark.line + 1

    def error(self, problem: str) -> SceneError:
        return SceneError(f"{self._path}:{self.line}: {self._place}: {problem}")

    def fields(self, known: tuple[str, ...], needed: tuple[str, ...] = ()) -> dict[str, _YamlNode]:
        """The values of a mapping; rejects unknown, duplicate and missing keys."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error(f"must be a mapping with the keys {', '.join(known)}")
        result: dict[str, _YamlNode] = {}
        prefix = "" if self._place == "scene" else f"{self._place}."
        for key_node, value in self._node.value:
            key = str(key_node.value)
            entry = _YamlNode(self._path, f"{prefix}{key}", value)
            entry.line = key_node.start_mark.line + 1
            if key not in known:
                raise entry.error(f"unknown key{_hint(key, known)}")
            if key in result:
                raise entry.error("given twice")
            result[key] = entry
        for key in needed:
            if key not in result:
                raise self.error(f"{key} is missing")
        return result

    def items(self) -> list[_YamlNode]:
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("must be a list")
        return [_YamlNode(self._path, f"{self._place}[{i}]", node) for i, node in enumerate(self._node.value)]

    def text(self) -> str:
        if not isinstance(self._node, yaml.ScalarNode):
            raise self.error("must be a text")
        return str(self._node.value)

    @property
    def is_text(self) -> bool:
        """Whether the value is a scalar."""
        return isinstance(self._node, yaml.ScalarNode)

    def choice(self, what: str, known: Iterable[str]) -> str:
        value, names = self.text(), sorted(known)
        if value not in names:
            raise self.error(f"unknown {what} {value!r}{_hint(value, names)}")
        return value

    def numbers(self, least: int, most: int, low: float, high: float, meaning: str = "") -> tuple[float, ...]:
        """Finite numbers within [low, high]; a single one may be written without brackets."""
        try:
            value: Any = plain_value(self._node)
        except yaml.YAMLError as error:
            raise self.error(str(getattr(error, "problem", None) or error)) from None
        values = value if isinstance(value, list) else [value]
        count = str(least) if least == most else f"{least} or {most}"
        asked = f"must be {count} number{'s' if most > 1 else ''}" + (f" ({meaning}, m)" if meaning else "")
        if not least <= len(values) <= most or not all(
            isinstance(v, (int, float)) and not isinstance(v, bool) for v in values
        ):
            raise self.error(f"{asked}, not {value!r}")
        for number in values:
            if not abs(number) < _LARGEST or not low <= number <= high:
                raise self.error(f"{str(number)[:20]} is not between {low:g} and {high:g}")
        return tuple(float(v) for v in values)

    def integer(self, low: int, high: int, meaning: str = "") -> int:
        value = self.numbers(1, 1, -math.inf, math.inf)[0]
        if value != int(value) or not low <= value <= high:
            raise self.error(f"must be a whole number from {low} to {high}{'; ' + meaning if meaning else ''}")
        return int(value)


def _hint(name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return (f"; did you mean {close[0]!r}?" if close else "") + f" (known: {', '.join(known)})"

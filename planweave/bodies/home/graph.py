"""VirtualHome's environment graph: nodes with properties and states, edges between them, as JSON.

``{"nodes": [{"id", "class_name", "category", "properties", "states", "bounding_box"?}], "edges": [{"from_id",
"relation_type", "to_id"}]}``. Bounding boxes are in Unity's axes (x right, y up, z forward), metres.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any, Literal, cast, get_args

import msgspec

from planweave.core.base.errors import SceneError, UnknownNameError
from planweave.core.base.paths import find_config, is_file

Relation = Literal["INSIDE", "ON", "CLOSE", "FACING", "BETWEEN", "HOLDS_RH", "HOLDS_LH", "SITTING"]
RELATIONS: tuple[str, ...] = get_args(Relation)  # SITTING: a person ON something
ROOMS = "Rooms"
CHARACTER = "character"
Edge = tuple[int, str, int]
Point = tuple[float, float, float]
_SIMPLE = re.compile(r"[a-z][a-z0-9_]*\Z").match


class Box(msgspec.Struct, gc=False, frozen=True):
    """A bounding box as in the JSON: Unity's axes, metres."""

    center: Point
    size: Point


class Link(msgspec.Struct, gc=False, frozen=True):
    """An edge as in the JSON."""

    from_id: int
    relation_type: Relation
    to_id: int


@lru_cache(maxsize=4096)
def _word(class_name: str) -> str:
    """The name of a class as part of a unique name: lower case, beginning with a letter."""
    if _SIMPLE(class_name):
        return class_name
    word = re.sub(r"[^a-z0-9_]+", "_", class_name.lower())
    return word if word[:1].isalpha() else "item_" + word


class Node(msgspec.Struct, frozen=True):
    """An object, room or character, as in the JSON; its other keys are not used."""

    id: int
    class_name: str
    category: str = ""
    properties: frozenset[str] = frozenset()
    states: tuple[str, ...] = ()
    bounding_box: Box | None = None

    @property
    def centre(self) -> Point | None:
        """The centre in metres, x and y along the floor and z up; None where unknown."""
        return None if self.bounding_box is None else _upright(self.bounding_box.center)

    @property
    def size(self) -> Point | None:
        """The extent along the same axes."""
        return None if self.bounding_box is None else _upright(self.bounding_box.size)

    @property
    def name(self) -> str:
        """The unique name in actions and literals: ``fridge_289``."""
        return f"{_word(self.class_name)}_{self.id}"

    @property
    def tag(self) -> str:
        """VirtualHome's notation: ``<fridge> (289)``."""
        return f"<{self.class_name}> ({self.id})"

    def __hash__(self) -> int:
        return self.id


@dataclass(frozen=True, eq=False)
class Graph:
    """A home: nodes by id, and links between them. Derived values are computed on first access."""

    nodes: Mapping[int, Node]
    links: Sequence[Link]

    @cached_property
    def edges(self) -> frozenset[Edge]:
        return frozenset([(link.from_id, link.relation_type, link.to_id) for link in self.links])

    def pairs(self, relation: str) -> Iterator[tuple[int, int]]:
        """End points of all links of a relation."""
        links = self.links if relation == "CLOSE" else self._few
        return ((link.from_id, link.to_id) for link in links if link.relation_type == relation)

    @cached_property
    def _few(self) -> list[Link]:
        """All links but those of the relation CLOSE, which are nine in ten."""
        return [link for link in self.links if link.relation_type != "CLOSE"]

    @cached_property
    def names(self) -> dict[int, str]:
        return {number: f"{_word(node.class_name)}_{number}" for number, node in self.nodes.items()}

    @cached_property
    def by_name(self) -> dict[str, Node]:
        return {name: self.nodes[number] for number, name in self.names.items()}

    @cached_property
    def character(self) -> Node:
        """The acting agent: the character with the lowest id."""
        return min((n for n in self.nodes.values() if n.class_name == CHARACTER), key=lambda n: n.id)


def load_graph(scene: str) -> Graph:
    """The scene ``config/scenes/<scene>.json`` or the JSON file at a path; raises SceneError or UnknownNameError."""
    if scene.endswith(".json") and not is_file(scene):
        raise SceneError(f"{scene[:200]}: no such file; give the path of a VirtualHome graph, or a name like home_flat")
    path = find_config("scenes", scene, ".json")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path}: cannot be read: {error}") from None
    return read_graph(text, path.name)


class _Home(msgspec.Struct):
    nodes: list[Node]
    edges: list[Link]


_DECODER = msgspec.json.Decoder(_Home)


def read_graph(text: str, source: str = "graph") -> Graph:
    """A graph from JSON text; raises SceneError with the line of a mistake in the JSON."""
    try:
        graph = _checked(_DECODER.decode(text))
        if graph is not None:
            return graph
    except (msgspec.MsgspecError, RecursionError):  # not of this form: see below what is wrong
        pass
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SceneError(f"{source}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise SceneError(f"{source}: nested too deeply for a VirtualHome graph") from None
    return _carefully(data, source)


def graph_from(data: Any, source: str = "graph") -> Graph:
    """A graph from parsed JSON; raises SceneError that names the invalid entry and what would be valid."""
    try:
        graph = _checked(msgspec.convert(data, _Home))
        if graph is not None:
            return graph
    except (msgspec.MsgspecError, RecursionError):
        pass
    return _carefully(data, source)


def _checked(home: _Home) -> Graph | None:
    """The graph of well-formed nodes and links, None where anything is invalid; a fast path of few passes."""
    nodes = {node.id: node for node in home.nodes}
    ends = set(map(attrgetter("from_id"), home.edges))
    ends.update(map(attrgetter("to_id"), home.edges))
    classes = {node.class_name for node in home.nodes}
    words = set().union(*[node.properties for node in home.nodes], *[node.states for node in home.nodes])
    if (
        len(nodes) < len(home.nodes)
        or not ends <= nodes.keys()
        or any(word != word.upper() for word in words)
        or not all(map(_fit, classes))
        or CHARACTER not in classes
        or all(node.category != ROOMS for node in home.nodes)
    ):
        return None
    return Graph(nodes, home.edges)


def _fit(class_name: str) -> bool:
    """Whether the name of a class is valid in a script."""
    return bool(class_name.strip()) and ">" not in class_name and "\n" not in class_name


def _carefully(data: Any, source: str) -> Graph:
    """Entry by entry: accepts variants of the format; raises SceneError that names an invalid entry."""
    if isinstance(data, dict) and isinstance(data.get("init_graph"), dict):
        data = data["init_graph"]
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or not isinstance(data.get("edges"), list):
        raise SceneError(f'{source}: expected an object with the lists "nodes" and "edges"')
    nodes: dict[int, Node] = {}
    for index, row in enumerate(data["nodes"]):
        node = _node(row, f"{source}: nodes[{index}]")
        if node.id in nodes:
            raise SceneError(
                f"{source}: nodes[{index}]: id {node.id} is used twice, by {nodes[node.id].tag} and "
                f"{node.tag}; every node needs an id of its own"
            )
        nodes[node.id] = node
    links = [_link(row, nodes, f"{source}: edges[{index}]") for index, row in enumerate(data["edges"])]
    if not any(n.category == ROOMS for n in nodes.values()):
        raise SceneError(f'{source}: no room; rooms are nodes of the category "{ROOMS}"')
    if not any(n.class_name == CHARACTER for n in nodes.values()):
        raise SceneError(f'{source}: there is no character; add a node of the class "{CHARACTER}" INSIDE a room')
    return Graph(nodes, links)


def _node(row: Any, where: str) -> Node:
    if not isinstance(row, dict):
        raise SceneError(f"{where}: expected an object with id and class_name")
    number, class_name = row.get("id"), row.get("class_name")
    if not isinstance(number, int) or isinstance(number, bool):
        raise SceneError(f"{where}: id must be a whole number, got {number!r}")
    if not isinstance(class_name, str) or not class_name.strip():
        raise SceneError(f'{where}: class_name must be a word such as "fridge", got {class_name!r}')
    if not _fit(class_name):
        raise SceneError(f"{where}: class_name {class_name!r} is not valid in a script; leave out '>' and line ends")
    box = row.get("bounding_box")
    if box is not None:
        box = Box(_point(box, "center", where), _point(box, "size", where))
    properties, states = (_words(row, key, where) for key in ("properties", "states"))
    return Node(number, class_name, str(row.get("category") or ""), frozenset(properties), tuple(states), box)


def _words(row: dict[str, Any], key: str, where: str) -> list[str]:
    words = row.get(key) or []
    if not isinstance(words, list) or not all(isinstance(w, str) for w in words):
        raise SceneError(f"{where}: {key} must be a list of words, got {words!r:.60}")
    return [w.upper() for w in words]


def _point(box: Any, key: str, where: str) -> Point:
    value = box.get(key) if isinstance(box, dict) else None
    if not isinstance(value, list) or len(value) != 3 or not all(isinstance(v, (int, float)) for v in value):
        raise SceneError(f"{where}: bounding_box.{key} must be three numbers, got {value!r:.60}")
    x, up, forward = (float(v) for v in value)
    return x, up, forward


def _upright(point: Point) -> Point:
    """Convert between Unity's axes and ours (an involution)."""
    x, y, z = point
    return x, z, y


def _link(row: Any, nodes: Mapping[int, Node], where: str) -> Link:
    """An edge, its relation in any case; raises SceneError where it is invalid."""
    if not isinstance(row, dict) or not {"from_id", "relation_type", "to_id"} <= row.keys():
        raise SceneError(f"{where}: expected an object with from_id, relation_type and to_id, got {row!r:.80}")
    relation = str(row["relation_type"]).upper()
    if relation not in RELATIONS:
        raise SceneError(f"{where}: {UnknownNameError('relation', relation, RELATIONS)}")
    for key in ("from_id", "to_id"):
        number = row[key]
        if not isinstance(number, int) or number not in nodes:
            raise SceneError(f"{where}: {key} {number!r} is the id of no node; add the node, or leave the edge out")
    return Link(row["from_id"], cast("Relation", relation), row["to_id"])

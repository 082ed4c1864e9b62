"""VirtualHome's graph of a home: nodes with properties and states, edges between them, as JSON.

``{"nodes": [{"id", "class_name", "category", "properties", "states", "bounding_box"?}], "edges": [{"from_id",
"relation_type", "to_id"}]}``. Bounding boxes are in Unity's axes (x right, y up, z forward), metres.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from planweave.errors import SceneError, UnknownNameError
from planweave.paths import find_config

RELATIONS = ("INSIDE", "ON", "CLOSE", "FACING", "BETWEEN", "HOLDS_RH", "HOLDS_LH", "SITTING")  # the last: a person ON
ROOMS = "Rooms"
CHARACTER = "character"
Edge = tuple[int, str, int]
Point = tuple[float, float, float]
_SIMPLE = re.compile(r"[a-z][a-z0-9_]*\Z").match


@dataclass(frozen=True, slots=True)
class Node:
    """A thing, room or character. centre and size in metres, x and y along the floor and z up; None where unknown.

    extra: keys of the JSON object that nothing here uses, kept for writing it back.
    """

    id: int
    class_name: str
    category: str = ""
    properties: frozenset[str] = frozenset()
    states: tuple[str, ...] = ()
    centre: Point | None = None
    size: Point | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The unique name in actions and literals: ``fridge_289``."""
        word = self.class_name
        if not _SIMPLE(word):
            word = re.sub(r"[^a-z0-9_]+", "_", word.lower())
            word = word if word[:1].isalpha() else "item_" + word
        return f"{word}_{self.id}"

    @property
    def tag(self) -> str:
        """As VirtualHome writes it: ``<fridge> (289)``."""
        return f"<{self.class_name}> ({self.id})"

    def __hash__(self) -> int:
        return self.id


@dataclass(frozen=True, eq=False)
class Graph:
    """A home: nodes by their ids, and edges."""

    nodes: Mapping[int, Node]
    edges: frozenset[Edge]

    @cached_property
    def names(self) -> dict[int, str]:
        """Unique names by ids."""
        return {number: node.name for number, node in self.nodes.items()}

    @cached_property
    def by_name(self) -> dict[str, Node]:
        """Nodes by their unique names."""
        return {name: self.nodes[number] for number, name in self.names.items()}

    @cached_property
    def character(self) -> Node:
        """The person who acts: the character with the lowest id."""
        return min((n for n in self.nodes.values() if n.class_name == CHARACTER), key=lambda n: n.id)

    def to_dict(self) -> dict[str, Any]:
        """The graph in VirtualHome's JSON form, in a fixed order."""
        nodes = []
        for node in self.nodes.values():
            row = {
                "id": node.id, "class_name": node.class_name, "category": node.category,
                "properties": sorted(node.properties), "states": list(node.states), **node.extra,
            }
            if node.centre is not None and node.size is not None:
                row["bounding_box"] = {"center": _swap(node.centre), "size": _swap(node.size)}
            nodes.append(row)
        edges = [{"from_id": a, "relation_type": r, "to_id": b} for a, r, b in sorted(self.edges)]
        return {"nodes": nodes, "edges": edges}


def load_graph(scene: str) -> Graph:
    """The scene ``config/scenes/<scene>.json`` or the JSON file at a path; raises SceneError or UnknownNameError."""
    if scene.endswith(".json") and not Path(scene).is_file():
        raise SceneError(f"{scene}: no such file; give the path of a VirtualHome graph, or a name like home_flat")
    path = find_config("scenes", scene, ".json")
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"{path}: cannot be read: {error}") from None
    return read_graph(text, path.name)


def read_graph(text: str, source: str = "graph") -> Graph:
    """A graph from JSON text; raises SceneError with the line of a mistake in the JSON."""
    try:
        data = json.loads(text)
    except json.JSONDecodeError as error:
        raise SceneError(f"{source}:{error.lineno}:{error.colno}: not JSON: {error.msg}") from None
    except RecursionError:
        raise SceneError(f"{source}: nested too deeply for a VirtualHome graph") from None
    return graph_from(data, source)


def graph_from(data: Any, source: str = "graph") -> Graph:
    """A graph from parsed JSON; raises SceneError that names the entry and what would be right."""
    if isinstance(data, dict) and isinstance(data.get("init_graph"), dict):
        data = data["init_graph"]
    if not isinstance(data, dict) or not isinstance(data.get("nodes"), list) or not isinstance(data.get("edges"), list):
        raise SceneError(f'{source}: expected an object with the lists "nodes" and "edges"')
    nodes: dict[int, Node] = {}
    for index, row in enumerate(data["nodes"]):
        node = _node(row, f"{source}: nodes[{index}]")
        if node.id in nodes:
            raise SceneError(f"{source}: nodes[{index}]: id {node.id} is used twice, by {nodes[node.id].tag} and "
                             f"{node.tag}; every node needs an id of its own")
        nodes[node.id] = node
    graph = Graph(nodes, _edges(data["edges"], nodes, source))
    if not any(n.category == ROOMS for n in nodes.values()):
        raise SceneError(f'{source}: no room; rooms are nodes of the category "{ROOMS}"')
    if not any(n.class_name == CHARACTER for n in nodes.values()):
        raise SceneError(f'{source}: nobody is there to act; add a node of the class "{CHARACTER}" INSIDE a room')
    return graph


def _edges(rows: list[Any], nodes: Mapping[int, Node], source: str) -> frozenset[Edge]:
    """All edges at once; one by one only where something is wrong with one of them."""
    try:
        edges = frozenset([(row["from_id"], row["relation_type"], row["to_id"]) for row in rows])
        relations, ends = {e[1] for e in edges}, {e[0] for e in edges} | {e[2] for e in edges}
        if relations <= set(RELATIONS) and ends <= nodes.keys():
            return edges
    except (TypeError, KeyError):
        pass
    return frozenset([_mended_edge(row, nodes, f"{source}: edges[{index}]") for index, row in enumerate(rows)])


def _node(row: Any, where: str) -> Node:
    if not isinstance(row, dict):
        raise SceneError(f"{where}: expected an object with id and class_name")
    number, class_name = row.get("id"), row.get("class_name")
    if not isinstance(number, int) or isinstance(number, bool):
        raise SceneError(f"{where}: id must be a whole number, got {number!r}")
    if not isinstance(class_name, str) or not class_name.strip():
        raise SceneError(f"{where}: class_name must be a word such as \"fridge\", got {class_name!r}")
    if ">" in class_name or "\n" in class_name:
        raise SceneError(f"{where}: class_name {class_name!r} cannot stand in a script; leave out '>' and line ends")
    box = row.get("bounding_box")
    centre = size = None
    if box is not None:
        centre, size = (_point(box, key, where) for key in ("center", "size"))
    used = ("id", "class_name", "category", "properties", "states", "bounding_box")
    properties, states = (_words(row, key, where) for key in ("properties", "states"))
    return Node(number, class_name, str(row.get("category") or ""), frozenset(properties), tuple(states), centre, size,
                {k: v for k, v in row.items() if k not in used})


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
    return x, forward, up


def _swap(point: Point) -> list[float]:
    x, y, z = point
    return [x, z, y]


def _mended_edge(row: Any, nodes: Mapping[int, Node], where: str) -> Edge:
    """An edge whose relation is written in lower case; raises SceneError for what is wrong with it."""
    if not isinstance(row, dict) or not {"from_id", "relation_type", "to_id"} <= row.keys():
        raise SceneError(f"{where}: expected an object with from_id, relation_type and to_id, got {row!r:.80}")
    relation = str(row["relation_type"]).upper()
    if relation not in RELATIONS:
        raise SceneError(f"{where}: {UnknownNameError('relation', relation, RELATIONS)}")
    for key in ("from_id", "to_id"):
        number = row[key]
        if not isinstance(number, int) or number not in nodes:
            raise SceneError(f"{where}: {key} {number!r} is the id of no node; add the node, or leave the edge out")
    return row["from_id"], relation, row["to_id"]

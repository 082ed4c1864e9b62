"""A home as VirtualHome writes it: the graph after some steps, in VirtualHome's JSON form, and steps by its lines; and
a large home."""

import copy
import json
import random

import msgspec

from planweave.bodies.home.facts import TO_PERSON, TO_THINGS, HomeFacts
from planweave.bodies.home.graph import ROOMS, Graph, Link
from planweave.bodies.home.simulator import StepResult
from planweave.bodies.home.vocabulary import read_line
from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.base.paths import config_dir


def execute_line(simulator, line):
    """Try ``[GRAB] <apple> (50)``; a line that cannot be read is a step that failed."""
    try:
        action = read_line(line, simulator.graph, simulator.vocabulary)
    except PlanweaveError as error:
        unknown = isinstance(error, UnknownNameError) and error.kind != "action"
        return StepResult(Code.UNKNOWN_OBJECT if unknown else Code.INVALID_ACTION, str(error))
    return simulator.execute(action)


def facts_of_graph(graph, vocabulary):
    """All facts of a graph, by predicate."""
    home = HomeFacts(graph, vocabulary)
    return {**home.groups, **{predicate: make() for predicate, make in home.late.items()}}


def graph_now(simulator):
    return graph_of_facts(simulator.graph, simulator.vocabulary, simulator.state.facts)


def graph_of_facts(graph, vocabulary, facts):
    """The graph with the current states and edges; everything else is unchanged."""
    person, number = graph.character.id, {name: node.id for name, node in graph.by_name.items()}
    state_of = {p: s for s, p in vocabulary.states.items()}
    states = {
        i: [s for s in n.states if n.category == ROOMS or s not in vocabulary.states] for i, n in graph.nodes.items()
    }
    states[person] = [s for s in states[person] if s not in ("SITTING", "LYING")]
    edges = set()
    for predicate, *args in facts:
        ids = [number[a] for a in args]
        if predicate in state_of:
            states[ids[0]].append(state_of[predicate])
        elif predicate in ("sitting", "lying"):
            states[person].append(predicate.upper())
        elif predicate in TO_PERSON:
            edges.add((person, TO_PERSON[predicate], ids[0]))
            if predicate == "close_to":
                edges.add((ids[0], "CLOSE", person))
        elif predicate in TO_THINGS:
            edges.add((ids[0], TO_THINGS[predicate], ids[1]))
        elif predicate == "worn":
            edges.add((ids[0], "ON", person))
        elif predicate == "in_room":
            edges.add((ids[0], "INSIDE", ids[1]))
        elif predicate == "agent_in":
            edges.add((person, "INSIDE", ids[0]))
    order = list(vocabulary.states) + ["SITTING", "LYING"]
    known = {s: i for i, s in enumerate(order)}
    nodes = {
        i: msgspec.structs.replace(node, states=tuple(sorted(states[i], key=lambda s: known.get(s, 99))))
        for i, node in graph.nodes.items()
    }
    return Graph(nodes, [msgspec.convert(dict(zip(Link.__struct_fields__, edge)), Link) for edge in edges])


def as_json(graph):
    """A graph in VirtualHome's JSON form, in a fixed order."""
    return {
        "nodes": [_row(node) for node in graph.nodes.values()],
        "edges": [{"from_id": a, "relation_type": r, "to_id": b} for a, r, b in sorted(graph.edges)],
    }


def _row(node):
    row = {key: getattr(node, key) for key in ("id", "class_name", "category")}
    row |= {"properties": sorted(node.properties), "states": list(node.states)}
    if node.bounding_box is not None:
        row["bounding_box"] = {k: list(v) for k, v in msgspec.structs.asdict(node.bounding_box).items()}
    return row


def large_home(nodes=444, seed=0):
    """The scene ``home_house`` with more things on its furniture, up to so many nodes; each close to twelve others."""
    data = json.loads((config_dir() / "scenes" / "home_house.json").read_text(encoding="utf-8"))
    rng = random.Random(seed)
    by_id = {n["id"]: n for n in data["nodes"]}
    in_rooms = [e for e in data["edges"] if by_id[e["to_id"]]["category"] == "Rooms"]
    rooms = {e["from_id"]: e["to_id"] for e in in_rooms}
    rows = [e for e in data["edges"] if e["relation_type"] in ("ON", "INSIDE") and e not in in_rooms]
    placed = {}
    for edge in rows:
        placed.setdefault(rooms[edge["to_id"]], []).append(edge["from_id"])
    edges = data["edges"]
    while len(data["nodes"]) < nodes:
        edge = rng.choice(rows)
        node = copy.deepcopy(by_id[edge["from_id"]])
        node["id"] = max(by_id) + 1
        data["nodes"].append(node)
        by_id[node["id"]] = node
        room, support = rooms[edge["to_id"]], edge["to_id"]
        edges.append({"from_id": node["id"], "relation_type": edge["relation_type"], "to_id": support})
        edges.append({"from_id": node["id"], "relation_type": "INSIDE", "to_id": room})
        near = {support, *rng.sample(placed[room], min(12, len(placed[room])))}
        edges += [
            {"from_id": a, "relation_type": "CLOSE", "to_id": b}
            for n in near
            for a, b in ((n, node["id"]), (node["id"], n))
        ]
        placed[room].append(node["id"])
    return data

"""A graph as facts of the household domain, and facts as a graph.

The person's edges become predicates without the person: CLOSE is close_to, INSIDE a room agent_in, ON agent_on,
HOLDS_RH holds_rh; what is ON the person is worn. Every thing gets the room it is in, through what it is in or on.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace

from planweave.errors import SceneError
from planweave.state import AtomKey
from planweave.world import Literal, WorldObject
from virtualhome_node.graph import RELATIONS, ROOMS, Edge, Graph
from virtualhome_node.vocabulary import Vocabulary

_OF_PERSON = {"CLOSE": "close_to", "FACING": "facing", "HOLDS_RH": "holds_rh", "HOLDS_LH": "holds_lh", "ON": "agent_on"}
_OF_THINGS = {"CLOSE": "next_to", "FACING": "faces", "ON": "on", "INSIDE": "inside", "BETWEEN": "between"}
_TO_THINGS = {p: r for r, p in _OF_THINGS.items()}
_TO_PERSON = {p: r for r, p in _OF_PERSON.items()}


Groups = dict[str, set[AtomKey]]


def objects_of(graph: Graph, vocabulary: Vocabulary) -> tuple[WorldObject, ...]:
    """All nodes but the person who acts, as objects of the world."""
    upright = (0.0, 0.0, 0.0, 1.0)
    return tuple(
        WorldObject(graph.names[number], vocabulary.type_of(node), node.class_name,
                    {"id": str(number), "category": node.category},
                    node.centre, None if node.centre is None else upright, node.size)
        for number, node in graph.nodes.items() if node is not graph.character
    )


def facts_of_graph(graph: Graph, vocabulary: Vocabulary) -> Groups:
    """The facts that hold in a graph, by predicate; raises SceneError where the person is in no room."""
    person, names = graph.character.id, graph.names
    rooms = {i for i, n in graph.nodes.items() if n.category == ROOMS}
    edges: dict[str, list[Edge]] = {relation: [] for relation in RELATIONS}
    for edge in graph.edges:
        edges[edge[1]].append(edge)
    within: dict[int, list[int]] = defaultdict(list)  # what things are in or on, rooms first
    groups: Groups = {p: set() for p in ("holds_rh", "holds_lh", "worn", "in_room", "agent_in")}
    not_things = rooms | {person}
    for relation, predicate in _OF_THINGS.items():
        groups[predicate] = {
            (predicate, names[a], names[b]) for a, _, b in edges[relation]
            if a not in not_things and b not in not_things
        }
    one_way = [(a, b) for a, _, b in edges["CLOSE"] if (b, "CLOSE", a) not in graph.edges]
    groups["next_to"].update(
        ("next_to", names[b], names[a]) for a, b in one_way if a not in not_things and b not in not_things)
    groups["between"] = {("between", names[a], names[b]) for a, _, b in edges["BETWEEN"] if b in rooms and a != person}
    for relation, predicate in _OF_PERSON.items():
        groups[predicate] = {(predicate, names[b]) for a, _, b in edges[relation] if a == person}
    groups["agent_on"] |= {("agent_on", names[b]) for a, _, b in edges["SITTING"] if a == person}
    groups["worn"] = {("worn", names[a]) for a, _, b in edges["ON"] if b == person}
    for start, _, end in (*edges["INSIDE"], *edges["ON"]):
        if end in rooms:
            within[start].insert(0, end)
        elif end != person:
            within[start].append(end)
    for number, node in graph.nodes.items():
        if number in not_things:
            continue
        for predicate in vocabulary.predicates_of(node):
            groups.setdefault(predicate, set()).add((predicate, names[number]))
        room = _room(graph, number, within, rooms)
        if room is not None:
            groups["in_room"].add(("in_room", names[number], names[room]))
    room = _room(graph, person, within, rooms)
    if room is None:
        raise SceneError(f"{graph.character.tag} is in no room; add an edge INSIDE to the node of a room")
    groups["agent_in"].add(("agent_in", names[room]))
    _add_person(graph, groups, names[room])
    return groups


def _add_person(graph: Graph, groups: Groups, room: str) -> None:
    """States of the person, free hands, what comes along, and what is always close."""
    for state in ("SITTING", "LYING"):
        if state in graph.character.states:
            groups[state.lower()] = {(state.lower(),)}
    for predicate, free in (("holds_rh", "right_hand_free"), ("holds_lh", "left_hand_free")):
        held = sorted(f[1] for f in groups[predicate])
        if len(held) > 1:
            raise SceneError(f"{graph.character.tag} holds {' and '.join(held)} in one hand ({predicate.upper()}); "
                             "keep one of these edges")
        if not held:
            groups[free] = {(free,)}
    carried = {f[1] for p in ("holds_rh", "holds_lh", "worn") for f in groups[p]}
    groups["close_to"] |= {("close_to", n) for n in (*carried, *(f[1] for f in groups.get("body_part", ())))}
    for _ in range(2 if carried else 0):
        carried |= {f[1] for p in ("on", "inside") for f in groups[p] if f[2] in carried}
    groups["carried"] = {("carried", name) for name in carried}
    placed = {f[1] for f in groups["in_room"] if f[1] in carried}
    groups["in_room"] |= {("in_room", name, room) for name in carried - placed}


def _room(graph: Graph, number: int, within: dict[int, list[int]], rooms: set[int]) -> int | None:
    """The room of a node: by its edges, through what it is in or on, else the nearest one."""
    todo, seen = list(within.get(number, ())), {number}
    while todo:
        place = todo.pop(0)
        if place in rooms:
            return place
        if place not in seen:
            seen.add(place)
            todo += within.get(place, ())
    here = graph.nodes[number].centre
    if here is None:
        return None
    known = [(math.dist(here, centre), r) for r in rooms if (centre := graph.nodes[r].centre) is not None]
    return min(known)[1] if known else None


def edge_literal(graph: Graph, start: int, relation: str, end: int) -> Literal:
    """The literal that an edge of a goal stands for; raises SceneError for what no literal can say."""
    person, names = graph.character.id, graph.names
    if start == person and relation == "INSIDE":
        return Literal("agent_in", (names[end],))
    if start == person and relation in _OF_PERSON:
        return Literal(_OF_PERSON[relation], (names[end],))
    if end == person and relation in ("ON", "CLOSE"):
        return Literal("worn" if relation == "ON" else "close_to", (names[start],))
    if relation == "INSIDE" and graph.nodes[end].category == ROOMS:
        return Literal("in_room", (names[start], names[end]))
    if relation in _OF_THINGS and person not in (start, end):
        return Literal(_OF_THINGS[relation], (names[start], names[end]))
    raise SceneError(f"{graph.nodes[start].tag} {relation} {graph.nodes[end].tag} cannot be a goal")


def state_literal(graph: Graph, vocabulary: Vocabulary, number: int, state: str) -> Literal:
    """The literal that a state of a goal stands for; raises SceneError for an unknown state."""
    if number == graph.character.id and state in ("SITTING", "LYING"):
        return Literal(state.lower())
    if state not in vocabulary.states:
        raise SceneError(f"state {state!r} of {graph.nodes[number].tag}: known are {', '.join(vocabulary.states)}")
    return Literal(vocabulary.states[state], (graph.names[number],))


def graph_of_facts(graph: Graph, vocabulary: Vocabulary, facts: Iterable[AtomKey]) -> Graph:
    """The graph with the states and edges that hold now; properties and all else stay."""
    person, number = graph.character.id, {name: node.id for name, node in graph.by_name.items()}
    state_of = {p: s for s, p in vocabulary.states.items()}
    states = {
        i: [s for s in n.states if n.category == ROOMS or s not in vocabulary.states] for i, n in graph.nodes.items()
    }
    states[person] = [s for s in states[person] if s not in ("SITTING", "LYING")]
    edges: set[Edge] = set()
    for predicate, *args in facts:
        ids = [number[a] for a in args]
        if predicate in state_of:
            states[ids[0]].append(state_of[predicate])
        elif predicate in ("sitting", "lying"):
            states[person].append(predicate.upper())
        elif predicate in _TO_PERSON:
            edges.add((person, _TO_PERSON[predicate], ids[0]))
            if predicate == "close_to":
                edges.add((ids[0], "CLOSE", person))
        elif predicate in _TO_THINGS:
            edges.add((ids[0], _TO_THINGS[predicate], ids[1]))
        elif predicate == "worn":
            edges.add((ids[0], "ON", person))
        elif predicate == "in_room":
            edges.add((ids[0], "INSIDE", ids[1]))
        elif predicate == "agent_in":
            edges.add((person, "INSIDE", ids[0]))
    order = list(vocabulary.states) + ["SITTING", "LYING"]
    known = {s: i for i, s in enumerate(order)}
    nodes = {
        i: replace(node, states=tuple(sorted(states[i], key=lambda s: known.get(s, 99))))
        for i, node in graph.nodes.items()
    }
    return Graph(nodes, frozenset(edges))

"""Facts of the household domain from a VirtualHome graph.

The agent's edges become predicates without the agent: CLOSE is close_to, INSIDE a room agent_in, ON agent_on, HOLDS_RH
holds_rh; objects ON the agent are worn. Every object is assigned to a room, through its supports and containers.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable
from functools import cached_property, partial

from planweave.bodies.home.graph import ROOMS, Graph
from planweave.bodies.home.vocabulary import HomeVocabulary
from planweave.core.base.errors import SceneError
from planweave.core.symbolic.state import AtomKey
from planweave.core.symbolic.world import Literal, WorldObject

OF_PERSON = {"CLOSE": "close_to", "FACING": "facing", "HOLDS_RH": "holds_rh", "HOLDS_LH": "holds_lh", "ON": "agent_on"}
_OF_THINGS = {"CLOSE": "next_to", "FACING": "faces", "ON": "on", "INSIDE": "inside", "BETWEEN": "between"}
TO_THINGS = {p: r for r, p in _OF_THINGS.items()}
TO_PERSON = {p: r for r, p in OF_PERSON.items()}


Groups = dict[str, set[AtomKey]]


def objects_of(graph: Graph, vocabulary: HomeVocabulary) -> tuple[WorldObject, ...]:
    """All nodes but the acting agent, as objects of the world."""
    upright = (0.0, 0.0, 0.0, 1.0)
    return tuple(
        WorldObject(
            graph.names[number],
            vocabulary.type_of(node),
            node.class_name,
            {"id": str(number), "category": node.category},
            node.centre,
            None if node.centre is None else upright,
            node.size,
        )
        for number, node in graph.nodes.items()
        if node is not graph.character
    )


class HomeFacts:
    """Facts of a graph, by predicate: `groups` are computed at once, `late` on first access.

    Errors concerning the agent are detected at once; raises SceneError.
    """

    def __init__(self, graph: Graph, vocabulary: HomeVocabulary):
        self._graph, self._vocabulary = graph, vocabulary
        self._person, self._names = graph.character.id, graph.names
        self._rooms = {i for i, n in graph.nodes.items() if n.category == ROOMS}
        self._not_things = self._rooms | {self._person}
        direct = (b for r in ("INSIDE", "ON") for a, b in graph.pairs(r) if a == self._person and b in self._rooms)
        room = next(direct, None) or self._room(self._person)
        if room is None:
            raise SceneError(f"{graph.character.tag} is in no room; add an edge INSIDE to the node of a room")
        self._here = self._names[room]
        self.groups: Groups = {"agent_in": {("agent_in", self._here)}}
        for predicate, free in (("holds_rh", "right_hand_free"), ("holds_lh", "left_hand_free")):
            found = self.groups[predicate] = self._of_person(predicate)
            if len(found) > 1:
                held = " and ".join(sorted(f[1] for f in found))
                raise SceneError(
                    f"{graph.character.tag} holds {held} in one hand ({predicate.upper()}); keep one of these edges"
                )
            self.groups[free] = set() if found else {(free,)}
        for state in ("SITTING", "LYING"):
            self.groups[state.lower()] = {(state.lower(),)} if state in graph.character.states else set()
        self.groups["worn"] = {("worn", self._names[a]) for a, b in graph.pairs("ON") if b == self._person}
        self.late: dict[str, Callable[[], set[AtomKey]]] = {
            **{p: partial(self._of_nodes, p) for p in vocabulary.of_nodes},
            **{p: partial(self._of_things, p) for p in _OF_THINGS.values()},
            **{p: partial(self._of_person, p) for p in ("facing", "agent_on")},
            "close_to": self._close_to,
            "carried": self._carried,
            "in_room": self._in_room,
        }

    def _of_nodes(self, predicate: str) -> set[AtomKey]:
        """States and properties of objects."""
        return self._node_facts.get(predicate, set())

    @cached_property
    def _node_facts(self) -> Groups:
        found: Groups = defaultdict(set)
        for number, node in self._graph.nodes.items():
            if number not in self._not_things:
                name = self._names[number]
                for predicate in self._vocabulary.predicates_of(node):
                    found[predicate].add((predicate, name))
        return found

    def _of_things(self, predicate: str) -> set[AtomKey]:
        """Relations of objects; next_to is symmetric, between joins a door and a room."""
        names, no = self._names, self._not_things
        pairs = self._graph.pairs(TO_THINGS[predicate])
        if predicate == "between":
            return {(predicate, names[a], names[b]) for a, b in pairs if b in self._rooms and a != self._person}
        facts: set[AtomKey] = {(predicate, names[a], names[b]) for a, b in pairs if a not in no and b not in no}
        if predicate == "next_to":
            facts.update([(predicate, b, a) for _, a, b in facts])
        return facts

    def _of_person(self, predicate: str) -> set[AtomKey]:
        """Relations of the agent to objects and rooms."""
        relations = [TO_PERSON[predicate], *(["SITTING"] if predicate == "agent_on" else [])]
        return {(predicate, self._names[b]) for r in relations for a, b in self._graph.pairs(r) if a == self._person}

    def _close_to(self) -> set[AtomKey]:
        """Objects close to the agent; always includes held and worn ones, and the agent's own body."""
        own = [f[1] for p in ("holds_rh", "holds_lh", "worn") for f in self.groups[p]]
        own += [f[1] for f in self._of_nodes("body_part")]
        return self._of_person("close_to") | {("close_to", name) for name in own}

    @cached_property
    def _comes_along(self) -> set[str]:
        """Held and worn objects, and their contents."""
        carried = {f[1] for p in ("holds_rh", "holds_lh", "worn") for f in self.groups[p]}
        for _ in range(2 if carried else 0):
            carried |= {f[1] for p in ("on", "inside") for f in self._of_things(p) if f[2] in carried}
        return carried

    def _carried(self) -> set[AtomKey]:
        return {("carried", name) for name in self._comes_along}

    def _in_room(self) -> set[AtomKey]:
        """Room of every object; carried objects are in the agent's room, unless edges say otherwise."""
        found = dict.fromkeys(self._comes_along, self._here)
        for number in self._graph.nodes:
            if number not in self._not_things:
                room = self._room(number)
                if room is not None:
                    found[self._names[number]] = self._names[room]
        return {("in_room", name, room) for name, room in found.items()}

    @cached_property
    def _within(self) -> dict[int, list[int]]:
        """Supports and containers of objects, rooms first."""
        within: dict[int, list[int]] = defaultdict(list)
        for start, end in (*self._graph.pairs("INSIDE"), *self._graph.pairs("ON")):
            if end in self._rooms:
                within[start].insert(0, end)
            elif end != self._person:
                within[start].append(end)
        return within

    def _room(self, number: int) -> int | None:
        """Room of a node: by its edges, through its supports and containers, else the nearest one."""
        todo, seen = list(self._within.get(number, ())), {number}
        while todo:
            place = todo.pop(0)
            if place in self._rooms:
                return place
            if place not in seen:
                seen.add(place)
                todo += self._within.get(place, ())
        nodes = self._graph.nodes
        here = nodes[number].centre
        if here is None:
            return None
        known = [(math.dist(here, centre), r) for r in self._rooms if (centre := nodes[r].centre) is not None]
        return min(known)[1] if known else None


def edge_literal(graph: Graph, start: int, relation: str, end: int) -> Literal:
    """The literal of an edge in a goal; raises SceneError where no literal expresses it."""
    person, names = graph.character.id, graph.names
    if start == person and relation == "INSIDE":
        return Literal("agent_in", (names[end],))
    if start == person and relation in OF_PERSON:
        return Literal(OF_PERSON[relation], (names[end],))
    if end == person and relation in ("ON", "CLOSE"):
        return Literal("worn" if relation == "ON" else "close_to", (names[start],))
    if relation == "INSIDE" and graph.nodes[end].category == ROOMS:
        return Literal("in_room", (names[start], names[end]))
    if relation in _OF_THINGS and person not in (start, end):
        return Literal(_OF_THINGS[relation], (names[start], names[end]))
    raise SceneError(f"{graph.nodes[start].tag} {relation} {graph.nodes[end].tag} cannot be a goal")


def state_literal(graph: Graph, vocabulary: HomeVocabulary, number: int, state: str) -> Literal:
    """The literal of a state in a goal; raises SceneError for an unknown state."""
    if number == graph.character.id and state in ("SITTING", "LYING"):
        return Literal(state.lower())
    if state not in vocabulary.states:
        raise SceneError(f"state {state!r} of {graph.nodes[number].tag}: known are {', '.join(vocabulary.states)}")
    return Literal(vocabulary.states[state], (graph.names[number],))

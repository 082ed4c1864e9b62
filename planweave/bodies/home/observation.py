"""Partial observation (Tree-Planner, appendix A.2): the agent sees its room, except for the contents of closed
containers, and what it holds. Past observations are remembered until contradicted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from planweave.bodies.home.facts import OF_PERSON
from planweave.bodies.home.graph import Point
from planweave.bodies.home.simulator import HomeSimulator
from planweave.bodies.home.vocabulary import DOMAIN
from planweave.core.symbolic.state import AtomKey, State
from planweave.core.symbolic.world import Action, Known, Literal, World, WorldObject

#: Facts of the person that name things; they are told where the thing is seen.
_OF_PERSON = frozenset({"close_to", "facing"})
_PERSONAL = frozenset(
    {*OF_PERSON.values(), "agent_in", "worn", "carried", "taken_from_top", "taken_from_inside", "taken_in"}
)


def visible(simulator: HomeSimulator) -> set[str]:
    """Names of the objects visible to the agent; linear in the size of the home."""
    state = simulator.state
    here = {f[1] for f in state.of("agent_in")}
    shut = {f[1] for f in state.of("closed")}
    inside: dict[str, list[str]] = {}
    for _, thing, place in state.of("inside"):
        inside.setdefault(place, []).append(thing)
    hidden: set[str] = set()
    todo = [thing for place in shut for thing in inside.get(place, ())]
    while todo:
        thing = todo.pop()
        if thing not in hidden:
            hidden.add(thing)
            todo += inside.get(thing, ())
            todo += [f[1] for f in state.lookup("on", 2, thing)]
    held = {f[1] for p in ("holds_rh", "holds_lh", "worn", "body_part") for f in state.of(p)}
    return ({f[1] for f in state.of("in_room") if f[2] in here} - hidden) | held


class Observer:
    """The agent's knowledge of the home.

    partial: observe only what is visible from the room; else everything. names: "all" gives the name, class and
    properties of every object at the start, like the object lists of the papers; "seen" only those of objects seen so
    far. An object whose name is known but that was never seen is reported as unseen(object): its states are unknown.
    """

    def __init__(self, partial: bool = True, names: str = "all"):
        self._partial, self._all_names = partial, names == "all"
        self._memory: set[AtomKey] = set()
        self._seen: dict[str, float] = {}  # when each thing was seen last
        self._objects: tuple[WorldObject, ...] = ()
        self._fixed: dict[str, list[Literal]] = {}
        self._parents: dict[str, AtomKey | None] = {}
        self._literals: dict[AtomKey, Literal] = {}

    def begin(self, simulator: HomeSimulator) -> None:
        """Clear the memory, for a new or reset home."""
        scenery = simulator.vocabulary.scenery
        self._memory, self._seen, self._literals = set(), {}, {}
        self._objects = tuple(o for o in simulator.objects if o.attributes["category"] not in scenery)
        self._parents = {o.name: _parent(simulator.state, o.name) for o in self._objects}
        self._fixed = {o.name: [] for o in self._objects}
        for predicate in simulator.vocabulary.fixed - {"faces", "between"}:
            for fact in simulator.state.of(predicate):
                if fact[1] in self._fixed:
                    self._fixed[fact[1]].append(Literal(predicate, fact[1:]))

    def look(self, simulator: HomeSimulator, stamp: float = 0.0) -> World:
        """Observe at a time (s) and return all that is known."""
        told = self._parents.keys()
        rooms = {o.name for o in self._objects if o.type == "room"}
        seen_now = (visible(simulator) & told) if self._partial else {n for n in told if n not in rooms}
        self._remember(simulator, seen_now, rooms)
        self._seen.update(dict.fromkeys(seen_now, stamp))
        known = told if self._all_names else self._seen.keys() | rooms
        facts: set[Literal] = set()
        for name in known:
            facts.update(self._fixed[name])
        facts.update(self._literal(f) for f in self._memory)
        facts.update(self._literal(("unseen", name)) for name in known - self._seen.keys() - rooms)
        hiders = self._hiders(seen_now | rooms)
        objects = tuple(
            self._object(simulator, o, o.name in seen_now, hiders) for o in self._objects if o.name in known
        )
        return World(DOMAIN, objects, frozenset(facts), stamp, "home", simulator.revision)

    def _hiders(self, in_view: Collection[str]) -> dict[str, str]:
        """Objects that hide others, as remembered: the closed container, else the room."""
        shut = {f[1] for f in self._memory if f[0] == "closed"}
        parents = {f[1]: f[2] for predicate in ("on", "inside") for f in self._memory if f[0] == predicate}
        hiders = {f[1]: f[2] for f in self._memory if f[0] == "in_room" and f[1] not in in_view}
        for name in parents.keys() - in_view:
            place, above = parents.get(name, ""), {name}
            while place and place not in shut and place not in above:
                above.add(place)
                place = parents.get(place, "")
            if place in shut:
                hiders[name] = place
        return hiders

    def learn(self, simulator: HomeSimulator, action: Action, unmet: Collection[Literal]) -> None:
        """Remember what a failure reveals: the action's object is inside the closed container of the error message."""
        for literal in unmet:
            if literal.predicate == "closed" and not literal.positive and action.args:
                chain = {action.args[0]}
                for _ in range(2):
                    for fact in [f for name in chain for f in simulator.state.lookup("inside", 1, name)]:
                        self._memory.add(fact)
                        chain.add(fact[2])

    def _remember(self, simulator: HomeSimulator, now: Collection[str], rooms: Collection[str]) -> None:
        """Adopt the current observation; drop contradicted facts, and those about the agent."""
        state, fixed = simulator.state, simulator.vocabulary.fixed - {"faces", "between"}
        shut = {f[1] for f in state.of("closed")}
        here = {f[1] for f in state.of("agent_in")}
        hidden = {f[1] for f in self._memory if f[0] == "inside" and f[2] in shut}
        kept = set()
        for fact in self._memory:
            if (
                fact[0] not in _PERSONAL
                and len(fact) > 1
                and fact[1] not in now
                and not (len(fact) == 3 and fact[1] not in hidden and (fact[2] in now or fact[2] in here))
            ):
                kept.add(fact)
        for name in simulator.vocabulary.domain.predicates:
            if name not in fixed:
                kept.update(f for f in state.of(name) if self._told(f, now, rooms))
        self._memory = kept

    def _told(self, fact: AtomKey, now: Collection[str], rooms: Collection[str]) -> bool:
        """Whether a true fact is visible, or about the agent."""
        if len(fact) == 1:
            return True
        if fact[0] in _PERSONAL and fact[0] not in _OF_PERSON:
            return fact[1] in self._parents
        return (fact[1] in now or fact[1] in rooms) and (len(fact) == 2 or fact[2] in now or fact[2] in rooms)

    def _literal(self, fact: AtomKey) -> Literal:
        literal = self._literals.get(fact)
        if literal is None:
            literal = self._literals[fact] = Literal(fact[0], fact[1:])
        return literal

    def _object(
        self, simulator: HomeSimulator, thing: WorldObject, seen_now: bool, hiders: Mapping[str, str]
    ) -> WorldObject:
        """The object with its position, where known, and how it is known."""
        if thing.type == "room":
            return replace(thing, known=Known.FIXED)
        hider = "" if seen_now else hiders.get(thing.name, "")
        last_seen = self._seen.get(thing.name)
        known = (
            Known.SEEN
            if seen_now
            else Known.REMEMBERED
            if last_seen is not None
            else Known.INFERRED
            if hider
            else Known.UNKNOWN
        )
        thing = replace(thing, known=known, last_seen=last_seen, hidden_by=hider)
        attributes = {**thing.attributes, "seen": "yes" if thing.name in self._seen else "no"}
        position = thing.position if thing.name in self._seen else None
        if seen_now:
            position = _place(simulator, thing, self._parents[thing.name])
        if position is None:
            return replace(thing, attributes=attributes, position=None, orientation=None, size=None)
        return replace(thing, attributes=attributes, position=position)


def _parent(state: State, name: str) -> AtomKey | None:
    """The fact that states an object's support or container."""
    found = sorted([*state.lookup("on", 1, name), *state.lookup("inside", 1, name)])
    return found[0] if found else None


def _place(simulator: HomeSimulator, thing: WorldObject, parent_at_start: AtomKey | None) -> Point | None:
    """Position of an object: from the graph until it is moved, then that of its support or container; None while
    carried.
    """
    if ("carried", thing.name) in simulator.state or thing.position is None:
        return None
    parent = _parent(simulator.state, thing.name)
    if parent == parent_at_start:
        return thing.position
    support = simulator.graph.by_name[parent[2]] if parent else None
    if parent is None or support is None or support.centre is None or support.size is None:
        return None
    x, y, z = support.centre
    on_top = z + support.size[2] / 2 + (thing.size[2] / 2 if thing.size else 0.0)
    return x, y, on_top if parent[0] == "on" else z

"""The section `virtualhome` of the domain's YAML file: states, properties, wording."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from planweave.bodies.home.graph import CHARACTER, ROOMS, Graph, Node
from planweave.core.base.errors import DomainError, InvalidActionError, ParseError, UnknownNameError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import fixed_predicates
from planweave.core.symbolic.world import Action

DOMAIN = "household"


@dataclass(frozen=True, eq=False)
class HomeVocabulary:
    """The domain, and the mapping of VirtualHome's names to it."""

    domain: Domain
    states: Mapping[str, str]  # state of a node -> predicate
    properties: Mapping[str, tuple[str, ...]]  # property of a node -> predicates
    by_class: Mapping[str, tuple[str, ...]]  # class -> predicates
    wide_seats: frozenset[str]
    wide_beds: frozenset[str]
    scenery: frozenset[str]  # categories that the body does not tell about
    wording: Mapping[str, Mapping[str, str]]
    spellings: Mapping[str, str]  # squeezed spelling of an action -> its name
    fixed: frozenset[str]  # predicates that no action changes
    of_nodes: frozenset[str]  # predicates that `predicates_of` tells of nodes
    _known: dict[Any, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def load(cls) -> HomeVocabulary:
        """The vocabulary of the household domain; cached. Raises DomainError."""
        return _vocabulary(Domain.load(DOMAIN))

    def type_of(self, node: Node) -> str:
        return "room" if node.category == ROOMS else self.domain.type_of_class(node.class_name)

    def predicates_of(self, node: Node) -> tuple[str, ...]:
        """Unary predicates that hold of a node: its states and properties."""
        key = node.class_name, node.properties, node.states
        known = self._known.get(key)
        if known is None:
            states = [self.states[s] for s in node.states if s in self.states]
            known = self._known[key] = tuple(dict.fromkeys((*states, *sorted(self._properties(node)))))
        return known

    def _properties(self, node: Node) -> set[str]:
        found = set(self.by_class.get(node.class_name, ()))
        for word in node.properties:
            found.update(self.properties.get(word, ()))
        if node.class_name != CHARACTER:
            if "sittable" in found and node.class_name not in self.wide_seats:
                found.add("narrow_seat")
            if "lieable" in found and node.class_name not in self.wide_beds:
                found.add("narrow_bed")
        return found

    def action(self, spelling: str) -> str:
        """The name of an action in any spelling (``PutObjBack``, ``WALK``, ``turn on``); raises UnknownNameError."""
        found = self.spellings.get(squeezed(spelling))
        if found is None:
            raise UnknownNameError("action", spelling.lower(), self.domain.actions)
        return found


def squeezed(spelling: str) -> str:
    """Lower case without blanks, underscores and hyphens."""
    return re.sub(r"[\s_-]+", "", spelling.lower())


@lru_cache(maxsize=4)
def _vocabulary(domain: Domain) -> HomeVocabulary:
    notes: dict[str, Any] = domain.extra.get("virtualhome") or {}
    missing = {"states", "properties", "by_class", "wide_seats", "wide_beds", "scenery", "wording"} - notes.keys()
    if missing:
        raise DomainError(f"{domain.name}.yaml: the section virtualhome lacks {', '.join(sorted(missing))}")
    of_properties = [p for ps in notes["properties"].values() for p in ps]
    for predicate in (*notes["states"].values(), *of_properties, *notes["by_class"]):
        if predicate not in domain.predicates:
            unknown = UnknownNameError("predicate", predicate, domain.predicates)
            raise DomainError(f"{domain.name}.yaml: virtualhome: {unknown}")
    by_class: dict[str, tuple[str, ...]] = {}
    for predicate, classes in notes["by_class"].items():
        for class_name in classes:
            by_class[class_name] = (*by_class.get(class_name, ()), predicate)
    spellings: dict[str, str] = {}
    for schema in domain.actions.values():
        for alias in schema.aliases:
            spellings.setdefault(squeezed(alias), schema.name)
    spellings.update({squeezed(name): name for name in domain.actions})
    return HomeVocabulary(
        domain,
        notes["states"],
        {k: tuple(v) for k, v in notes["properties"].items()},
        by_class,
        frozenset(notes["wide_seats"]),
        frozenset(notes["wide_beds"]),
        frozenset(notes["scenery"]),
        notes["wording"],
        spellings,
        fixed_predicates(domain),
        frozenset({*notes["states"].values(), *of_properties, *notes["by_class"], "narrow_seat", "narrow_bed"}),
    )


_LINE = re.compile(r"\s*(?:<char\d+>\s*)?\[\s*([\w -]{1,40}?)\s*\]\s*(.*?)\s*(?:\[\d+\])?\s*\Z", re.DOTALL)
_OBJECT = re.compile(r"\s*<\s*([^<>\n]{1,80}?)\s*>\s*\(\s*(-?\d{1,9}(?:\.\d{1,9})?)\s*\)\s*")


def read_line(line: str, graph: Graph, vocabulary: HomeVocabulary) -> Action:
    """The action of a line. Ids may be written ``(1.289)``, as in the scripts of ActivityPrograms.

    Raises ParseError for a malformed line, UnknownNameError for an unknown action or object, InvalidActionError where
    class and id do not belong together or the number of objects is wrong.
    """
    match = _LINE.match(line)
    if match is None:
        raise ParseError(f"cannot read the script line {line[:80]!r}: expected e.g. [GRAB] <apple> (12)")
    name = vocabulary.action(match.group(1))
    rest, names = match.group(2), []
    while rest:
        thing = _OBJECT.match(rest)
        if thing is None:
            raise ParseError(f"cannot read {rest[:60]!r} in the script line {line[:80]!r}: expected <class> (id)")
        names.append(_named(graph, thing.group(1), thing.group(2)).name)
        rest = rest[thing.end() :]
    wanted = len(vocabulary.domain.actions[name].parameters)
    if len(names) != wanted:
        raise InvalidActionError(f"{line.strip()[:120]}: [{name.upper()}] takes {wanted} object(s), got {len(names)}")
    return Action(name, tuple(names))


def _named(graph: Graph, class_name: str, number: str) -> Node:
    word = class_name.lower().replace(" ", "_")
    node = graph.nodes.get(int(number.rsplit(".", 1)[-1]))
    if node is not None and node.class_name.lower().replace(" ", "_") == word:
        return node
    same = sorted(n.id for n in graph.nodes.values() if n.class_name.lower().replace(" ", "_") == word)
    if not same:
        raise UnknownNameError("class of objects", class_name, {n.class_name for n in graph.nodes.values()})
    known = f"there is <{class_name}> ({'), ('.join(map(str, same[:8]))})"
    if node is None:
        raise InvalidActionError(f"<{class_name}> ({number}) cannot be found; {known}")
    raise InvalidActionError(f"<{class_name}> ({number}) cannot be found: {node.id} is a {node.class_name}; {known}")


def write_line(action: Action, graph: Graph, character: int | None = None, index: int | None = None) -> str:
    """The line of an action; character: the number in ``<char0>``, for Unity; index: the number shown in messages."""
    things = "".join(f" {_tag(graph, name)}" for name in action.args)
    if character is not None:
        return f"<char{character}> [{action.name}]{things}"
    return f"[{action.name.upper()}]{things}" + (f" [{index}]" if index is not None else "")


def _tag(graph: Graph, name: str) -> str:
    node = graph.by_name.get(name)
    return f"<{name}>" if node is None else node.tag

"""A mutable set of facts with lazily built indexes.

An atom is a tuple ``(predicate, argument, …)``.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Protocol

from planweave.core.pddl.formula import TypedVariable
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import WorldObject

AtomKey = tuple[str, ...]
_EMPTY: frozenset[AtomKey] = frozenset()


class Members(dict[frozenset[str], Collection[str]]):
    """Names of a world's objects by type set, in the world's order; computed on first access."""

    def __init__(self, domain: Domain, objects: tuple[WorldObject, ...]):
        super().__init__()
        self._domain, self._objects = domain, objects

    def __missing__(self, types: frozenset[str]) -> Collection[str]:
        found = dict.fromkeys(self._domain.candidates(TypedVariable("?", types), self._objects)).keys()
        self[types] = found
        return found


class Derivation(Protocol):
    """Derived predicates. dependents: by predicate, the derived ones whose facts depend on it, directly or not."""

    @property
    def predicates(self) -> Collection[str]:
        """Their names."""

    @property
    def dependents(self) -> Mapping[str, tuple[str, ...]]:
        """Dependents by predicate."""

    def derive(self, state: State, predicate: str) -> None:
        """Make the facts of a derived predicate by `State.begin` and `State.insert`."""


class State:
    """Positive facts over typed objects, grouped by predicate. Change them through `add` and `discard` only.

    late: functions that produce the facts of further predicates on first access. derivation: of derived predicates,
    whose facts are made on first access after a change, and are not among those given.
    """

    __slots__ = ("_derivation", "_groups", "_late", "_tables", "members")

    def __init__(
        self,
        groups: dict[str, set[AtomKey]],
        members: Members,
        late: Mapping[str, Callable[[], set[AtomKey]]] | None = None,
        derivation: Derivation | None = None,
    ):
        self._groups = groups
        self._late = late or {}
        self._derivation = derivation
        for name in derivation.predicates if derivation is not None else ():
            groups.pop(name, None)
        self.members = members
        self._tables: dict[str, dict[int, defaultdict[str, set[AtomKey]]]] = {}  # predicate, position, object -> facts

    @classmethod
    def of_facts(cls, facts: Iterable[AtomKey], members: Members, derivation: Derivation | None = None) -> State:
        groups: dict[str, set[AtomKey]] = defaultdict(set)
        for fact in facts:
            groups[fact[0]].add(fact)
        return cls(dict(groups), members, None, derivation)

    @property
    def facts(self) -> set[AtomKey]:
        derived = self._derivation.predicates if self._derivation is not None else ()
        return set().union(*[self.of(predicate) for predicate in (*self._groups, *self._late, *derived)])

    def __contains__(self, fact: AtomKey) -> bool:
        return fact in self.of(fact[0])

    def add(self, fact: AtomKey) -> bool:
        if not self.insert(fact):
            return False
        if self._derivation is not None:
            self._forget(fact[0])
        return True

    def insert(self, fact: AtomKey) -> bool:
        """Add a fact without a change of derived ones; whether it was new."""
        name = fact[0]
        group = self.of(name)
        if fact in group:
            return False
        group.add(fact)
        for position, table in self._tables.get(name, {}).items():
            table[fact[position]].add(fact)
        return True

    def discard(self, fact: AtomKey) -> bool:
        """Remove a fact; whether it was there."""
        name = fact[0]
        group = self.of(name)
        if fact not in group:
            return False
        group.discard(fact)
        for position, table in self._tables.get(name, {}).items():
            table[fact[position]].discard(fact)
        if self._derivation is not None:
            self._forget(name)
        return True

    def begin(self, predicate: str) -> None:
        """Make a derived predicate one without facts, to be inserted."""
        self._groups[predicate] = set()
        self._tables.pop(predicate, None)

    def _forget(self, predicate: str) -> None:
        """Forget the derived facts that depend on a predicate."""
        assert self._derivation is not None
        for name in self._derivation.dependents.get(predicate, ()):
            self._groups.pop(name, None)
            self._tables.pop(name, None)

    def of(self, predicate: str) -> set[AtomKey]:
        group = self._groups.get(predicate)
        if group is None and self._derivation is not None and predicate in self._derivation.predicates:
            self._derivation.derive(self, predicate)
            return self._groups[predicate]
        if group is None:
            group = self._groups.setdefault(predicate, self._late.get(predicate, set)())  # the first of two threads
        return group

    def lookup(self, predicate: str, position: int, name: str) -> Collection[AtomKey]:
        """Facts of a predicate with an object at a position, counted from 1."""
        tables = self._tables.get(predicate)
        if tables is None:
            tables = self._tables[predicate] = {}
        table = tables.get(position)
        if table is None:
            table = defaultdict(set)
            for fact in self.of(predicate):
                table[fact[position]].add(fact)
            tables[position] = table
        return table.get(name, _EMPTY)

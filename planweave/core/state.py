"""A mutable set of facts with lazily built indexes.

An atom is a tuple ``(predicate, argument, …)``.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping

from planweave.core.domain import Domain
from planweave.core.formula import Parameter
from planweave.core.world import WorldObject

AtomKey = tuple[str, ...]
_EMPTY: frozenset[AtomKey] = frozenset()


class Members(dict[frozenset[str], Collection[str]]):
    """Names of a world's objects by type set, in the world's order; computed on first access."""

    def __init__(self, domain: Domain, objects: tuple[WorldObject, ...]):
        super().__init__()
        self._domain, self._objects = domain, objects

    def __missing__(self, types: frozenset[str]) -> Collection[str]:
        found = dict.fromkeys(self._domain.candidates(Parameter("?", types), self._objects)).keys()
        self[types] = found
        return found


class State:
    """Positive facts over typed objects, grouped by predicate. Change them through `add` and `discard` only.

    late: functions that produce the facts of further predicates on first access.
    """

    __slots__ = ("_groups", "_late", "_tables", "members")

    def __init__(
        self,
        groups: dict[str, set[AtomKey]],
        members: Members,
        late: Mapping[str, Callable[[], set[AtomKey]]] | None = None,
    ):
        self._groups = groups
        self._late = late or {}
        self.members = members
        self._tables: dict[str, dict[int, dict[str, set[AtomKey]]]] = {}  # predicate -> position -> object -> facts

    @classmethod
    def of_facts(cls, facts: Iterable[AtomKey], members: Members) -> State:
        """A state with the given facts."""
        groups: dict[str, set[AtomKey]] = {}
        for fact in facts:
            group = groups.get(fact[0])
            if group is None:
                groups[fact[0]] = {fact}
            else:
                group.add(fact)
        return cls(groups, members)

    @property
    def facts(self) -> set[AtomKey]:
        """All facts, as a new set."""
        return set().union(*[self.of(predicate) for predicate in (*self._groups, *self._late)])

    def __contains__(self, fact: AtomKey) -> bool:
        return fact in self.of(fact[0])

    def add(self, fact: AtomKey) -> bool:
        """Add a fact; whether it was new."""
        name = fact[0]
        group = self.of(name)
        if fact in group:
            return False
        group.add(fact)
        for position, table in self._tables.get(name, {}).items():
            found = table.get(fact[position])
            if found is None:
                table[fact[position]] = {fact}
            else:
                found.add(fact)
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
        return True

    def of(self, predicate: str) -> set[AtomKey]:
        """All facts of a predicate."""
        group = self._groups.get(predicate)
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
            table = tables[position] = {}
            for fact in self.of(predicate):
                found = table.get(fact[position])
                if found is None:
                    table[fact[position]] = {fact}
                else:
                    found.add(fact)
        return table.get(name, _EMPTY)

    def match(self, pattern: tuple[str | None, ...]) -> list[AtomKey]:
        """Facts of a predicate whose bound positions agree; None stands for any object."""
        predicate = pattern[0] or ""
        best: Collection[AtomKey] = self.of(predicate)
        for position, value in enumerate(pattern[1:], 1):
            if value is not None and best:
                found = self.lookup(predicate, position, value)
                best = found if len(found) < len(best) else best
        return [
            fact
            for fact in best
            if len(fact) == len(pattern) and all(v is None or v == f for v, f in zip(pattern[1:], fact[1:]))
        ]

"""Least heights of the tops of carried things, by sizes and by what stands on what, for rules about heights. The real
height is known to the arm alone, which keeps the same rules along every path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from planweave.core.base.errors import ConfigError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.state import AtomKey, Members, State
from planweave.core.symbolic.world import Literal, World, WorldObject

SLACK = 0.01
"""m by which the camera may take a thing, or a stack of things, for too high."""
_HOLLOW = "hollow"  # the shape of what others may lie in
_DEEPEST = 50  # things on each other that are followed

Supports = Callable[[str], Iterable[str]]


class Heights:
    """Lower bounds in one world, m above what the lowest thing stands on, which is the table or higher."""

    def __init__(self, domain: Domain, world: World, words: tuple[str, str]) -> None:
        """words: what `predicates` says of the domain; where it says nothing, nothing is known before the arm plans."""
        (self._held, self._stacked), self._domain, self._world = words, domain, world
        self._extents: dict[str, float] = {}

    def of_facts(self, state: State, facts: Iterable[AtomKey]) -> Iterator[tuple[str, float]]:
        """The things that facts say are held, or stand on another one, in a state, with the least height of their top;
        a thing that is held has begun where it stands.
        """

        def below(name: str) -> list[str]:
            return [fact[2] for fact in state.lookup(self._stacked, 1, name)]

        return self._tops(facts, below)

    def of_goal(self, goal: Iterable[Literal]) -> Iterator[tuple[Literal, float]]:
        """The literals of a goal that want a thing held, or on another one, with the least height of its top."""
        wanted = [literal for literal in goal if literal.positive]

        def below(name: str) -> list[str]:
            return [g.args[1] for g in wanted if g.predicate == self._stacked and g.args[0] == name]

        for literal in wanted:
            for _, top in self._tops([literal.key], below):
                yield literal, top

    def pairs(self, members: Members) -> Iterator[tuple[tuple[str, ...], float]]:
        """Single things, and pairs of which one stands on the other, with the least height of the first one's top."""
        things, targets = (p.types for p in self._domain.predicates[self._stacked].parameters)
        for name in members[things]:
            yield (name,), self._extent(name)
            for other in members[targets]:
                if other != name:
                    yield (name, other), self._extent(name) + self._bearing(other)

    def _tops(self, facts: Iterable[AtomKey], below: Supports) -> Iterator[tuple[str, float]]:
        for fact in facts:
            if fact[0] == self._held:
                yield fact[1], self._extent(fact[1]) + self._highest(below(fact[1]), below)
            elif fact[0] == self._stacked:
                yield fact[1], self._extent(fact[1]) + self._highest((fact[2],), below)

    def _highest(self, names: Iterable[str], below: Supports, depth: int = 0) -> float:
        """The least height of the upper side of the highest of some things."""
        if depth > _DEEPEST:
            return 0.0
        return max((self._bearing(n) + self._highest(below(n), below, depth + 1) for n in names), default=0.0)

    def _bearing(self, name: str) -> float:
        """The height by which an object lifts what stands on it: in a bowl or on a plate less than the rim."""
        thing = self._world.by_name.get(name)
        if thing is None or thing.type in (self._domain.extra.get("classes") or {}):
            return 0.0
        return 0.0 if thing.attributes.get("shape") == _HOLLOW else self._extent(name)

    def _extent(self, name: str) -> float:
        if name not in self._extents:
            thing = self._world.by_name.get(name)
            self._extents[name] = vertical_extent(thing) if thing is not None else 0.0
        return self._extents[name]


def vertical_extent(thing: WorldObject) -> float:
    """Least height of a thing as it stands or lies, m, 0 where its size is not known; one in a tilted hand may be put
    upright.
    """
    if thing.size is None:
        return 0.0
    x, y, z, w = thing.orientation or (0.0, 0.0, 0.0, 1.0)
    up = 2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)  # the vertical in the thing's own axes
    return min(sum(abs(u) * extent for u, extent in zip(up, thing.size)), thing.size[2])


@lru_cache(maxsize=64)
def predicates(domain: Domain) -> tuple[str, str] | None:
    """The predicates by which a thing is held, and stands on another one."""
    given = domain.extra.get("heights")
    if given is None:
        return None
    words = [str(given.get(key)) for key in ("held", "stacked")] if isinstance(given, dict) else []
    if [len(domain.predicates[w].parameters) if w in domain.predicates else 0 for w in words] != [1, 2]:
        raise ConfigError(
            f"domain {domain.name}: heights must name a predicate of one object (held) and one of two (stacked), "
            f"got {given!r}"
        )
    return words[0], words[1]

"""Values of the symbolic world: actions, literals, objects, and one observed state. All immutable."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from planweave.errors import ParseError

_CALL = re.compile(r"\s*([A-Za-z_][\w-]*)\s*(?:\(\s*([^()]*?)\s*\))?\s*\Z")


def _read_call(text: str) -> tuple[str, tuple[str, ...]]:
    match = _CALL.match(text)
    if not match:
        raise ParseError(f"cannot read {text[:80]!r}: expected the form name(argument, …)")
    name, inside = match.groups()
    arguments = tuple(part.strip() for part in inside.split(",")) if inside else ()
    if not all(arguments):
        raise ParseError(f"cannot read {text[:80]!r}: an argument is empty")
    return name, arguments


@dataclass(frozen=True, slots=True, order=True)
class Action:
    """A ground action, written ``name(argument, …)``."""

    name: str
    args: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(self.args)})"

    @classmethod
    def parse(cls, text: str) -> Action:
        """Read ``name(argument, …)``; raises ParseError."""
        return cls(*_read_call(text))


@dataclass(frozen=True, slots=True, order=True)
class Literal:
    """A ground literal, written ``predicate(argument, …)`` or ``not predicate(argument, …)``."""

    predicate: str
    args: tuple[str, ...] = ()
    positive: bool = True

    def __str__(self) -> str:
        atom = f"{self.predicate}({', '.join(self.args)})"
        return atom if self.positive else f"not {atom}"

    @property
    def atom(self) -> Literal:
        """The same literal without its negation."""
        return self if self.positive else Literal(self.predicate, self.args)

    def negated(self) -> Literal:
        """The opposite literal."""
        return Literal(self.predicate, self.args, not self.positive)

    @classmethod
    def parse(cls, text: str) -> Literal:
        """Read ``p(a, …)`` or ``not p(a, …)``; raises ParseError."""
        text = text.strip()
        positive = True
        if text.startswith(("not ", "not(")):
            text, positive = text[3:].strip(), False
            if text.startswith("(") and text.endswith(")"):
                text = text[1:-1]
        name, args = _read_call(text)
        return cls(name, args, positive)


@dataclass(frozen=True, slots=True)
class WorldObject:
    """An object or place.

    position is the centre in the frame of the world (metres), orientation a unit quaternion (x, y, z, w),
    size the extent along the object's own axes (metres); all None where unknown.
    """

    name: str
    type: str
    class_name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    position: tuple[float, float, float] | None = None
    orientation: tuple[float, float, float, float] | None = None
    size: tuple[float, float, float] | None = None

    def __hash__(self) -> int:
        return hash((self.name, self.type))


@dataclass(frozen=True)
class World:
    """One observed state: objects and the positive facts that hold (closed world over these objects).

    stamp is the time of the newest observation in it, seconds; frame that of all poses.
    """

    domain: str
    objects: tuple[WorldObject, ...] = ()
    facts: frozenset[Literal] = frozenset()
    stamp: float = 0.0
    frame: str = ""
    revision: int = 0

    @cached_property
    def by_name(self) -> dict[str, WorldObject]:
        """Objects by their names."""
        return {o.name: o for o in self.objects}

    @cached_property
    def by_predicate(self) -> dict[str, list[Literal]]:
        """Facts by their predicates."""
        found: dict[str, list[Literal]] = {}
        for fact in self.facts:
            try:
                found[fact.predicate].append(fact)
            except KeyError:
                found[fact.predicate] = [fact]
        return found

    def holds(self, literal: Literal) -> bool:
        """Whether a literal holds in this state."""
        return (literal.atom in self.facts) == literal.positive

    def unmet(self, literals: Iterable[Literal]) -> tuple[Literal, ...]:
        """Those of the literals that do not hold."""
        return tuple(x for x in literals if not self.holds(x))

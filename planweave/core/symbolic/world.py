"""Values of the symbolic world: actions, literals, objects, and one observed state. All immutable."""

from __future__ import annotations

import enum
import math
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from planweave.core.base.errors import ParseError
from planweave.core.base.names import SYMBOL_FORM, is_symbol

MAX_OBJECTS = 5_000
PERSON = "person"
"""The frame of a world as a person opposite the robot sees it: x away from them, y to their left."""
_CALL = re.compile(r"\s*(\w[\w-]*)\s*(?:\(\s*([^()]*?)\s*\))?\s*\Z")


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
        return self if self.positive else Literal(self.predicate, self.args)

    @property
    def key(self) -> tuple[str, ...]:
        """Its atom as (predicate, argument, …), see planweave.core.symbolic.state."""
        return (self.predicate, *self.args)

    def negated(self) -> Literal:
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


class Known(enum.IntEnum):
    """Sources of the knowledge of an object and its pose, weakest first; the numbers are those of WorldObject.msg."""

    UNKNOWN = 0
    INFERRED = 1
    REMEMBERED = 2
    SEEN = 3
    SENSED = 4
    FIXED = 5


@dataclass(frozen=True, slots=True)
class Leaf:
    """A box of an object. position: its centre in the frame of the world (m); orientation: unit quaternion (x, y, z,
    w); size: extents along its axes (m).
    """

    position: tuple[float, float, float]
    orientation: tuple[float, float, float, float]
    size: tuple[float, float, float]


@dataclass(frozen=True, slots=True)
class WorldObject:
    """An object or place.

    position: centre in the frame of the world (metres); orientation: unit quaternion (x, y, z, w); size: extents along
    the object's own axes (metres); all None where unknown. last_seen: stamp (s) of the newest observation that showed
    it, None for never; for SEEN objects that of the world. hidden_by: the object that hides it, where the newest
    observation is consistent with its presence there. leaves: of furniture, its doors and knobs, where they are now; of
    another thing, the boxes that make it up, where it is known to be more than one box or cylinder.
    """

    name: str
    type: str
    class_name: str = ""
    attributes: Mapping[str, str] = field(default_factory=dict)
    position: tuple[float, float, float] | None = None
    orientation: tuple[float, float, float, float] | None = None
    size: tuple[float, float, float] | None = None
    known: Known = Known.UNKNOWN
    last_seen: float | None = None
    hidden_by: str = ""
    leaves: tuple[Leaf, ...] = ()

    def __hash__(self) -> int:
        return hash((self.name, self.type))


@dataclass(frozen=True, slots=True)
class Knowledge:
    """Source and age of a fact: stamp (s) of the oldest observation it depends on, None where one is missing.

    of: the object with the weakest knowledge, empty for a fact about the body alone.
    """

    how: Known
    since: float | None
    of: str = ""


@dataclass(frozen=True)
class World:
    """One observed state: objects and the positive facts that hold (closed world over these objects).

    derived: predicates whose facts are not listed, since they follow from the objects' poses, each with the function
    that decides its literals, given by the body (for tables: planweave.geometry.spatial). `holds` calls it; code that
    reads `facts` directly needs `with_derived` of the literals in question.

    stamp: time of the newest observation in it, seconds; frame: that of all poses. silent: expected observations have
    stopped; heard: system time (s) at which the newest one arrived, 0 before the first.

    actions_off: actions of the domain that the body refuses. No plan may contain them.

    values: of the functions that costs of actions depend on.

    origins: where objects were (m) before what is looked at now, for relations to that: at the start of a task, or when
    the arm took them. Not sent in messages.
    """

    domain: str
    objects: tuple[WorldObject, ...] = ()
    facts: frozenset[Literal] = frozenset()
    stamp: float = 0.0
    frame: str = ""
    revision: int = 0
    silent: bool = False
    heard: float = 0.0
    derived: Mapping[str, Derivation] = field(default_factory=dict, hash=False)
    actions_off: frozenset[str] = frozenset()
    values: tuple[tuple[Literal, float], ...] = ()
    origins: Mapping[str, tuple[float, float, float]] = field(default_factory=dict, hash=False)

    @cached_property
    def by_name(self) -> dict[str, WorldObject]:
        return {o.name: o for o in self.objects}

    @cached_property
    def spellings(self) -> dict[str, str]:
        return {o.name.lower(): o.name for o in self.objects}

    @cached_property
    def by_predicate(self) -> dict[str, list[Literal]]:
        found: dict[str, list[Literal]] = defaultdict(list)
        for fact in self.facts:
            found[fact.predicate].append(fact)
        return dict(found)

    def observable(self, name: str) -> bool:
        """Return whether an object is observed now, or its place never changes; a remembered one is not."""
        thing = self.by_name.get(name)
        return thing is not None and thing.known >= Known.SEEN

    def holds(self, literal: Literal) -> bool:
        """Return whether a literal holds in this state, as a goal means it."""
        if literal.predicate not in self.derived or literal.atom in self.facts:
            return (literal.atom in self.facts) == literal.positive
        return self.derived[literal.predicate](self, literal)

    def seems(self, literal: Literal) -> bool:
        """Return whether people would say so: in questions and references a side counts at any height."""
        return self.holds(literal.atom.negated()) != literal.positive

    def with_derived(self, literals: Iterable[Literal]) -> World:
        """The same world with the derived facts listed that decide these literals."""
        found = {x.atom for x in literals if x.predicate in self.derived and self.holds(x) == x.positive} - self.facts
        return replace(self, facts=self.facts.union(found)) if found else self

    def unmet(self, literals: Iterable[Literal]) -> tuple[Literal, ...]:
        return tuple(x for x in literals if not self.holds(x))

    def fault(self) -> str:
        """The fault of an invalid world (names that are not symbols or not unique, numbers that are not finite), or "".

        Names reach prompts, schemas and PDDL, so they are checked where a world enters the system, and only there.
        """
        seen: set[str] = set()
        for thing in self.objects:
            if not is_symbol(thing.name):
                return f"the object name {thing.name[:100]!r} is not valid: {SYMBOL_FORM}"
            if thing.name in seen:
                return f"two objects have the name {thing.name}"
            seen.add(thing.name)
            numbers = (*(thing.position or ()), *(thing.orientation or ()), *(thing.size or ()))
            for leaf in thing.leaves:
                numbers += (*leaf.position, *leaf.orientation, *leaf.size)
            if not all(math.isfinite(x) and abs(x) < 1e6 for x in numbers) or min(thing.size or (0.0,)) < 0:
                return f"pose or size of {thing.name} cannot be: {', '.join(f'{x:g}' for x in numbers)}"
        wrong_action = next((name for name in self.actions_off if not is_symbol(name)), None)
        if wrong_action is not None:
            return f"{wrong_action[:100]!r} in actions_off is not a valid name"
        for fact in self.facts:
            wrong = next((a for a in (fact.predicate, *fact.args) if not is_symbol(a)), None)
            if wrong is not None:
                return f"{wrong[:100]!r} in a fact is not a valid name"
        return ""

    def last_seen(self, name: str) -> float | None:
        """Stamp (s) of the newest observation that showed an object; None for never."""
        thing = self.by_name.get(name)
        if thing is None:
            return None
        return self.stamp if thing.known is Known.SEEN else thing.last_seen

    def how_known(self, name: str) -> str:
        """Words for how an object of this world is known, with the time since it was seen where it is not seen now."""
        thing = self.by_name[name]
        since = self.last_seen(name)
        if thing.known >= Known.SEEN or since is None:
            return thing.known.name.lower()
        return f"{thing.known.name.lower()}, last seen {max(0.0, self.stamp - since):.0f} s ago"

    def knowledge(self, literal: Literal) -> Knowledge:
        """The source of a literal's truth value.

        It is that of the least known object of the literal, positive or negative: an object's absence from a place is
        known by seeing the object. Objects that are not in the world are UNKNOWN. Literals without objects (hand_empty,
        at_base) are sensed by the body. Of several objects known equally, the one seen longest ago counts.
        """
        known = [
            Knowledge(thing.known if (thing := self.by_name.get(name)) else Known.UNKNOWN, self.last_seen(name), name)
            for name in literal.args
        ]
        if not known:
            return Knowledge(Known.SENSED, self.stamp)
        return min(known, key=lambda k: (k.how, float("-inf") if k.since is None else k.since))

    def taken(self, *names: str) -> World:
        """The same world with these objects' places as their origins."""
        places = {n: place for n in names if n in self.by_name and (place := self.by_name[n].position) is not None}
        return replace(self, origins=places)

    def all_seen(self) -> World:
        """The same world with every object marked as seen, as reported by an omniscient body."""
        return replace(self, objects=tuple(replace(o, known=Known.SEEN) for o in self.objects))


Derivation = Callable[[World, Literal], bool]
"""Decides whether a literal is sure to hold in a world, by the poses of its objects."""

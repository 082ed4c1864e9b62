"""Text form of worlds, facts and goals: ``cup, mug: item; tray: container`` and ``in(cup, tray) and not p(x)``.

Beside what the text states, a world has what the section ``assumed`` of the domain's YAML file declares for every
world: ``objects`` that need no declaration (added where a fact names them), and ``facts`` that hold unless a given fact
contradicts them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from planweave.core.base.errors import DomainError, ParseError, UnknownNameError
from planweave.core.base.names import SYMBOL_FORM, is_symbol
from planweave.core.pddl.conditions import read_condition
from planweave.core.pddl.formula import And, Atom, Formula, Not, conjuncts, unified
from planweave.core.symbolic.domain import Domain, is_pddl_text
from planweave.core.symbolic.transition import completed
from planweave.core.symbolic.world import MAX_OBJECTS, Known, Literal, World, WorldObject

_BETWEEN = re.compile(r"\s+and\s+|[;&\n]")
Written = str | Literal | Iterable["str | Literal"]


def read_literals(written: Written) -> tuple[Literal, ...]:
    """Literals of a text ("p(a) and not q(b)"; also ``;``, ``&``, lines), a literal, or several; raises ParseError."""
    if isinstance(written, Literal):
        return (written,)
    if isinstance(written, str):
        return tuple(Literal.parse(part) for part in _BETWEEN.split(written) if part.strip())
    if not isinstance(written, Iterable):
        raise ParseError(
            f"{written!r} is not a goal: give a text such as 'in(cup, tray)', a Literal, or several of them"
        )
    return tuple(literal for each in written for literal in read_literals(each))


def read_goal(domain: Domain, world: World, written: Written) -> tuple[Literal, ...]:
    """Parse the literals of a goal and check them against domain and world; raises ParseError, UnknownNameError or
    InvalidActionError.
    """
    goal = tuple(dict.fromkeys(domain.spelled(literal, world) for literal in read_literals(written)))
    if not goal:
        raise ParseError("the goal is empty: say what is to hold, e.g. 'in(cup, tray)'")
    for literal in goal:
        domain.check_literal(literal, world)
    return goal


def read_formula(domain: Domain, world: World, written: Written | Formula) -> Formula:
    """A goal as a formula over the objects of a world, from a formula, from PDDL such as ``(and (on a b) (not (held
    a)))``, or from what `read_goal` takes; raises PddlError, ParseError, UnknownNameError or InvalidActionError.
    """
    if isinstance(written, Formula):
        return written
    if isinstance(written, str) and is_pddl_text(written):
        objects = {thing.name: thing.type for thing in world.objects}
        return read_condition(written, replace(domain.vocabulary, objects=objects))
    return formula_of(read_goal(domain, world, written))


def formula_of(literals: Iterable[Literal]) -> And:
    atoms = ((Atom(x.predicate, x.args), x.positive) for x in literals)
    return And(tuple(atom if positive else Not(atom) for atom, positive in atoms))


def literals_of(formula: Formula) -> tuple[Literal, ...] | None:
    """The literals of a formula that is a conjunction of ground literals; None where it is not."""
    found = []
    for part in conjuncts(formula):
        atom = part.part if isinstance(part, Not) else part
        if not isinstance(atom, Atom):
            return None
        found.append(Literal(atom.predicate, atom.terms, atom is part))
    return tuple(found)


def written_world(domain: Domain, objects: str, facts: Written = (), assume: bool = True) -> World:
    """Parse the world of a text. Negative facts ("not reachable(cup)") override what is assumed.

    The domain's constants are in every world. assume: add what the section ``assumed`` declares. Every object counts as
    seen. Raises ParseError for syntax errors, UnknownNameError for types, predicates and objects, InvalidActionError
    for wrong arguments.
    """
    things = {thing.name.lower(): thing for thing in domain.constants}
    things.update((thing.name.lower(), thing) for thing in _objects(domain, objects))
    given = read_literals(facts)
    assumed = _Assumed(domain) if assume else None
    if assumed is not None:
        for name in dict.fromkeys(arg for fact in given for arg in fact.args):
            if name.lower() not in things and name in assumed.objects:
                things[name.lower()] = _thing(domain, name, assumed.objects[name])
    world = World(domain.name, tuple(things.values()))
    stated = dict.fromkeys(domain.spelled(each, world) for each in given)
    for fact in stated:
        domain.check_literal(fact, world)
        if fact.predicate in domain.derived:
            raise ParseError(f"{fact}: {fact.predicate} is derived; state what it follows from instead")
        if not fact.positive and fact.atom in stated:
            raise ParseError(f"the facts say both {fact.atom} and {fact}")
    held = {fact for fact in stated if fact.positive}
    if assumed is not None:
        assumed.add(domain, world, held, {fact.atom for fact in stated if not fact.positive})
    return completed(domain, World(domain.name, world.objects, frozenset(held)))


def _objects(domain: Domain, text: str) -> Iterator[WorldObject]:
    seen: dict[str, str] = {}
    constants = {thing.name.lower(): thing for thing in domain.constants}
    if not isinstance(text, str):
        raise ParseError(f"{text!r:.80} is not a text such as 'cup, mug: item; tray: container'")
    for group in filter(str.strip, re.split(r"[;\n]", text)):
        names, colon, kind = group.partition(":")
        if not colon or not kind.strip():
            raise ParseError(f"cannot read {group.strip()[:80]!r}: expected name: type, or name, name: type")
        for name in (part.strip() for part in names.split(",")):
            if not is_symbol(name):
                raise ParseError(f"the name {name[:100]!r} is not valid: {SYMBOL_FORM}, and a comma between two names")
            key = name.lower()
            if key in seen:
                raise ParseError(
                    f"{name} is declared twice"
                    if seen[key] == name
                    else f"{seen[key]} and {name} differ in case only, which PDDL does not distinguish"
                )
            seen[key] = name
            if len(seen) > MAX_OBJECTS:
                raise ParseError(f"more than {MAX_OBJECTS} objects")
            thing = _thing(domain, name, kind.strip())
            if key in constants:
                if constants[key].type != thing.type:
                    raise ParseError(f"{name} is a constant of the domain, of the type {constants[key].type}")
                thing = constants[key]
            yield thing


def _thing(domain: Domain, name: str, kind: str) -> WorldObject:
    found = kind if kind in domain.types else {t.lower(): t for t in (*domain.types, "object")}.get(kind.lower())
    if found is None:
        raise UnknownNameError("type", kind, domain.types or ["object"])
    return WorldObject(name, found, known=Known.SEEN)


class _Assumed:
    """The section ``assumed`` of a domain's YAML file; raises DomainError where it is wrong."""

    def __init__(self, domain: Domain) -> None:
        self._file = f"{domain.name}.yaml: assumed"
        section = domain.extra.get("assumed") or {}
        if not isinstance(section, Mapping):
            raise DomainError(f"{self._file}: must be a mapping with objects and facts")
        self.objects: dict[str, str] = {str(k): str(v) for k, v in (section.get("objects") or {}).items()}
        self._rows = [self._row(domain, row) for row in section.get("facts") or ()]

    def _row(self, domain: Domain, row: Any) -> tuple[Literal, str, list[list[Literal]]]:
        try:
            fact, kind = Literal.parse(row["fact"]), str(row.get("for", "object"))
            unless = [[Literal.parse(part) for part in ways] for ways in row.get("unless", ())]
        except (ParseError, KeyError, TypeError, AttributeError) as error:
            raise DomainError(
                f"{self._file}: cannot read {row!r} ({error}); the form is {{fact: p(?x), for: type, "
                "unless: [[q(?x), r(?o, ?x)]]}"
            ) from None
        for literal in (fact, *(part for ways in unless for part in ways)):
            if literal.predicate not in domain.predicates:
                raise DomainError(
                    f"{self._file}: {UnknownNameError('predicate', literal.predicate, domain.predicates)}"
                )
        if set(fact.args) - {"?x"}:
            raise DomainError(f"{self._file}: {fact}: the one variable of an assumed fact is ?x")
        return fact, kind, unless

    def add(self, domain: Domain, world: World, held: set[Literal], denied: set[Literal]) -> None:
        """Add the assumed facts to the given ones, row by row."""
        for fact, kind, unless in self._rows:
            names = [o.name for o in world.objects if domain.is_a(o.type, [kind])] if fact.args else [""]
            for name in names:
                atom = Literal(fact.predicate, (name,) * len(fact.args))
                if atom not in denied and not any(_hold(ways, {"?x": name}, held) for ways in unless):
                    held.add(atom)


def _hold(pattern: Sequence[Literal], bound: Mapping[str, str], held: set[Literal]) -> bool:
    """Whether facts match all literals of a pattern under one binding of its variables."""
    if not pattern:
        return True
    same = (fact for fact in held if fact.predicate == pattern[0].predicate)
    found = (unified(pattern[0].args, fact.args, bound) for fact in same)
    return any(more is not None and _hold(pattern[1:], more, held) for more in found)

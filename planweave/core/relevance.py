"""Reduction of a large world to the objects relevant to a goal, so that a classical planner need not ground a whole
home.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from planweave.core.domain import Domain
from planweave.core.formula import And, Atom, Formula, Not, Or, Quantified, conjuncts
from planweave.core.transition import fixed_predicates
from planweave.core.world import Literal, World

_SMALL = 25  # worlds of up to so many objects are left as they are
_DEPTH = 4  # how far to follow what a thing is in or on
_AROUND = 6  # so many things at most that are on or in a thing of the goal
_TOOLS = 4  # of one type


def relevant_world(domain: Domain, world: World, goal: Sequence[Literal]) -> World:
    """The world restricted to the objects relevant to a goal; small worlds are returned unchanged.

    Kept are the goal's objects and their supports and containers; tools required by type (a knife, a microwave); the
    contents of the goal's objects; and the objects in the agent's state, such as the held one. The reduction is
    incomplete: where the reduced world has no plan, the whole one may have one.
    """
    if len(world.objects) <= _SMALL:
        return world
    above: dict[str, list[str]] = defaultdict(list)  # a thing -> its places
    below: dict[str, list[str]] = defaultdict(list)
    told = {name for name, p in domain.predicates.items() if p.goal}
    count = Counter(f.predicate for f in world.facts)
    names = {a for g in goal for a in g.args if a in world.by_name}
    for fact in sorted(world.facts):
        if fact.predicate in told and len(fact.args) == 2:
            above[fact.args[0]].append(fact.args[1])
            below[fact.args[1]].append(fact.args[0])
        elif fact.predicate in told and len(fact.args) == 1 and count[fact.predicate] <= 2:
            names.add(fact.args[0])
    for name in list(names):
        if len(below[name]) <= _AROUND:
            names.update(below[name])
    tools = [_members(domain, world, types) for types in set(_tool_types(domain, goal))]
    for required in set(_required(domain, goal)):
        tools.append([f.args[0] for f in world.facts if f.predicate == required])
    for found in tools:
        if len(found) * 4 <= len(world.objects):  # else no tool, but any thing
            names.update(sorted(found, key=lambda n: (n not in above, n))[:_TOOLS])
    for _ in range(_DEPTH):
        names.update(place for name in list(names) for place in above[name])
    return replace(
        world,
        objects=tuple(o for o in world.objects if o.name in names),
        facts=frozenset(f for f in world.facts if all(a in names for a in f.args)),
    )


def _members(domain: Domain, world: World, types: frozenset[str]) -> list[str]:
    """Names of the objects of some types."""
    return [o.name for o in world.objects if domain.is_a(o.type, types)]


def _required(domain: Domain, goal: Sequence[Literal]) -> Iterator[str]:
    """Static predicates that an object must satisfy to take part in achieving a goal literal that does not name it:
    sitting requires something sittable.
    """
    fixed = fixed_predicates(domain)
    for literal in goal:
        for schema in domain.actions.values():
            made = [
                a
                for e in schema.effects
                for a in (e.add if literal.positive else e.delete)
                if a.predicate == literal.predicate
            ]
            free = {p.name for p in schema.parameters} - {t for a in made for t in a.terms}
            for part in conjuncts(schema.precondition) if made else ():
                if isinstance(part, Atom) and part.predicate in fixed and set(part.terms) <= free and part.terms:
                    yield part.predicate


def _tool_types(domain: Domain, goal: Sequence[Literal]) -> Iterator[frozenset[str]]:
    """Types of the variables of actions that can achieve a literal of the goal."""
    for literal in goal:
        for schema in domain.actions.values():
            effects = [
                e
                for e in schema.effects
                if any(a.predicate == literal.predicate for a in (e.add if literal.positive else e.delete))
            ]
            for effect in effects:
                yield from (v.types for v in effect.variables if v.types)
            if effects:
                yield from (p.types for p in schema.parameters if p.types)
                yield from _quantified(schema.precondition)


def _quantified(formula: Formula) -> Iterator[frozenset[str]]:
    if isinstance(formula, Quantified):
        yield from (v.types for v in formula.variables if v.types)
        yield from _quantified(formula.part)
    elif isinstance(formula, Not):
        yield from _quantified(formula.part)
    elif isinstance(formula, And | Or):
        for part in formula.parts:
            yield from _quantified(part)

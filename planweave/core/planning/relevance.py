"""Reduction of a large world to the objects relevant to a goal, so that a classical planner need not ground a whole
home.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

from planweave.core.checks.validation import Goal
from planweave.core.pddl.formula import (
    Atom,
    Effect,
    Formula,
    TypedVariable,
    atoms_in,
    conjuncts,
    free_variables,
    quantified_in,
)
from planweave.core.planning.deadline import Deadline, OutOfTimeError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import Members
from planweave.core.symbolic.transition import Binding, Transition, fixed_predicates
from planweave.core.symbolic.world import Literal, World
from planweave.core.symbolic.written import formula_of

_SMALL = 25  # worlds of up to so many objects are left as they are
_DEPTH = 4  # how far to follow what a thing is in or on
_AROUND = 6  # so many things at most that are on or in a thing of the goal
_TOOLS = 4  # of one type
_WORTH = 0.67  # share of the objects that a reduced world may have
_SUBGOALS = 300  # literals at most that are followed backwards from the goal
_BINDINGS = 6  # instances at most of one action that achieves a literal
Achieving = tuple[ActionSchema, list[tuple[Effect, Atom]]]
"""An action, and the effects and atoms by which it achieves a literal of the goal."""


def relevant_world(domain: Domain, world: World, goal: Sequence[Literal]) -> World:
    """The world restricted to the objects relevant to a goal; small worlds are returned unchanged.

    Kept are the goal's objects and their supports and containers; tools required by type (a knife, a microwave); the
    contents of the goal's objects; and the objects in the agent's state, such as the held one. The reduction is
    incomplete and unsound: where the reduced world has no plan, the whole one may have one, and a plan for the reduced
    world may fail in the whole one.
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
    signs = {(g.predicate, g.positive) for g in goal}
    achieving = list(_achieving(domain, signs))
    members = Members(domain, world.objects)
    tools: list[Collection[str]] = [members[types] for types in set(_tool_types(achieving))]
    for required in set(_required(domain, achieving)):
        tools.append([f.args[0] for f in world.facts if f.predicate == required])
    for found in tools:
        if len(found) * 4 <= len(world.objects):  # else no tool, but any thing
            names.update(sorted(found, key=lambda n: (n not in above, n))[:_TOOLS])
    for _ in range(_DEPTH):
        names.update(place for name in list(names) for place in above[name])
    return _restricted(world, names)


def reductions(transition: Transition, goal: Goal, unmet: Sequence[Literal], seconds: float) -> Iterator[World]:
    """Reduced worlds to try before the whole one, smallest first: that of `relevant_world`, and one that also has, to
    any depth, what is in the way (see `_Regression`). Left out is what saves too little. unmet: the literals of the
    goal that do not hold; seconds: for the regression at most.
    """
    domain, world = transition.domain, transition.world
    named = [Literal(a.predicate, a.terms) for a in atoms_in(goal)] if isinstance(goal, Formula) else list(goal)
    last = relevant_world(domain, world, [*unmet, *named])
    if len(last.objects) <= _WORTH * len(world.objects):
        yield last
    names = _Regression(transition).objects(unmet, seconds).union(last.by_name)
    if len(last.objects) < len(names) <= _WORTH * len(world.objects):
        yield _restricted(world, names)


def _restricted(world: World, names: set[str]) -> World:
    """The world with these objects only, and the facts about them."""
    return replace(
        world,
        objects=tuple(o for o in world.objects if o.name in names),
        facts=frozenset(f for f in world.facts if all(a in names for a in f.args)),
    )


class _Regression:
    """Literals that have to become true for a goal, backwards from it through the actions that achieve them.

    Free variables of an action are bound by the facts that hold now: what stands on a thing is found through the
    action that takes it off. Variables that no fact binds are left open, unless few objects fit.
    """

    def __init__(self, transition: Transition) -> None:
        self._domain, self._world, self._transition = transition.domain, transition.world, transition
        self._state, self._members = transition.state(), Members(transition.domain, transition.world.objects)

    def objects(self, unmet: Sequence[Literal], seconds: float) -> set[str]:
        """Names of the objects met on the way from literals that do not hold."""
        watched = Deadline(seconds).watched
        queue = list(dict.fromkeys(x for part in formula_of(unmet).parts for x in self._missing(part, {})))
        found = {name for literal in queue for name in literal.args if name in self._world.by_name}
        seen = set(queue)
        ways = (way for literal in queue for way in self._achievers(literal))  # queue grows
        try:
            for schema, effect, bound in watched(ways):
                parts = (*conjuncts(schema.precondition), *effect.condition.parts)
                for binding in watched(self._instances(schema, effect, parts, bound)):
                    found.update(binding.values())
                    for more in (x for part in parts for x in self._missing(part, binding)):
                        if more not in seen and len(seen) < _SUBGOALS:
                            seen.add(more)
                            queue.append(more)
                            found.update(more.args)
        except OutOfTimeError:
            pass
        return found

    def _achievers(self, literal: Literal) -> Iterator[tuple[ActionSchema, Effect, Binding]]:
        """Effects that make a literal true, with the variables that it binds."""
        for schema in self._domain.actions.values():
            for effect, bound in schema.achieving(literal.key, literal.positive):
                types = {p.name: p.types for p in (*schema.parameters, *effect.variables)}
                if all(self._transition.fits(bound[term], types[term]) for term in bound):
                    yield schema, effect, bound

    def _instances(
        self, schema: ActionSchema, effect: Effect, parts: Sequence[Formula], bound: Binding
    ) -> list[Binding]:
        """A few bindings of the free variables: by facts that hold, or where only a few objects fit."""
        variables = (*schema.parameters, *effect.variables)
        atoms = [part for part in parts if isinstance(part, Atom)]
        found = [bound]
        for _ in variables:
            wider = [more for binding in found for more in self._wider(atoms, variables, binding)]
            if wider == found:
                break
            found = wider[:_BINDINGS]
        return found

    def _wider(self, atoms: list[Atom], variables: Sequence[TypedVariable], binding: Binding) -> list[Binding]:
        for atom in atoms:
            free = [v for v in variables if v.name in atom.terms and v.name not in binding]
            if free and not {v.name for v in free}.issuperset(atom.terms):
                rows = self._transition.bindings(self._state, free, [atom], binding)
                if rows:
                    return sorted(rows, key=lambda row: [row.get(t, t) for t in atom.terms])[:_BINDINGS]
        for variable in variables:
            if variable.name not in binding:
                fitting = self._members[variable.types]
                if len(fitting) <= _TOOLS:
                    return [{**binding, variable.name: each} for each in fitting] or [binding]
        return [binding]

    def _missing(self, part: Formula, binding: Binding) -> Iterator[Literal]:
        """Literals that have to become true for a part of a condition, where all its variables are bound."""
        if free_variables(part) <= binding.keys() and not self._transition.holds(self._state, part, binding):
            for literal in self._transition.explain(self._state, part, binding):
                if literal.predicate != "=" and all(a in self._world.by_name for a in literal.args):
                    yield literal


def _achieving(domain: Domain, signs: Iterable[tuple[str, bool]]) -> Iterator[Achieving]:
    for predicate, positive in signs:
        for schema in domain.actions.values():
            if made := list(schema.changing(predicate, positive)):
                yield schema, made


def _required(domain: Domain, achieving: Iterable[Achieving]) -> Iterator[str]:
    """Static predicates that an object must satisfy to take part in achieving a goal literal that does not name it:
    sitting requires something sittable.
    """
    fixed = fixed_predicates(domain)
    for schema, made in achieving:
        free = {p.name for p in schema.parameters} - {t for _, atom in made for t in atom.terms}
        for part in conjuncts(schema.precondition):
            if isinstance(part, Atom) and part.predicate in fixed and set(part.terms) <= free and part.terms:
                yield part.predicate


def _tool_types(achieving: Iterable[Achieving]) -> Iterator[frozenset[str]]:
    """Types of the variables of actions that can achieve a literal of the goal."""
    for schema, made in achieving:
        owners = (
            schema.parameters,
            *(e.variables for e, _ in made),
            *(q.variables for q in quantified_in(schema.precondition)),
        )
        yield from (v.types for variables in owners for v in variables if v.types)

"""A domain without some of its actions, such as those that the body refuses, or without what a goal does not need."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from planweave.core.pddl.formula import Effect, atoms_in
from planweave.core.symbolic import heights
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import highest
from planweave.core.symbolic.transition import needed_predicates


def without(domain: Domain, names: frozenset[str]) -> Domain:
    """The domain without these actions; a predicate that only they achieve cannot be a goal."""
    found = frozenset(domain.actions).intersection(names)
    return _without(domain, found) if found else domain


@lru_cache(maxsize=64)
def _without(domain: Domain, names: frozenset[str]) -> Domain:
    made: dict[str, set[str]] = {}
    for schema in domain.actions.values():
        for effect in schema.effects:
            for atom in effect.add:
                made.setdefault(atom.predicate, set()).add(schema.name)
    predicates = {
        name: replace(p, goal=False) if name in made and made[name] <= names else p
        for name, p in domain.predicates.items()
    }
    actions = {name: schema for name, schema in domain.actions.items() if name not in names}
    return replace(domain, actions=actions, predicates=predicates)


@lru_cache(maxsize=64)
def focused(domain: Domain, predicates: frozenset[str]) -> Domain:
    """The domain without effects on what nothing asks for, neither a condition, a rule nor a goal of these predicates:
    the same plans reach the goal, and a planner has less to follow.
    """
    asked = predicates | needed_predicates(domain) | domain.derived
    asked |= {each.predicate for rule in domain.rules for each in rule.forbidden}
    if highest(domain.rules) is not None:
        asked |= {*(heights.predicates(domain) or ())}
    asked |= {atom.predicate for axiom in domain.axioms for atom in atoms_in(axiom.condition)}

    def kept(effect: Effect) -> Effect:
        add, delete = (tuple(a for a in atoms if a.predicate in asked) for atoms in (effect.add, effect.delete))
        return replace(effect, add=add, delete=delete)

    actions = {
        name: replace(schema, effects=tuple(e for e in map(kept, schema.effects) if e.add or e.delete))
        for name, schema in domain.actions.items()
    }
    return replace(domain, actions=actions)

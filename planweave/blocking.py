"""Blocking conditions and resolutions, derived from the domain (BCR, Section III.A).

The paper writes them by hand for each action. Here an unmet literal of an action's precondition is a blocking
condition, the literal itself its resolution, and every ground action with an effect that achieves it, for certain or
possibly, a resolution action.
"""

from __future__ import annotations

from collections import defaultdict

from planweave.domain import ActionSchema, Domain
from planweave.formula import Atom, Formula, Parameter
from planweave.transition import Binding, State, Transition
from planweave.world import Action, Literal


def _unify(atom: Atom, literal: Literal) -> Binding | None:
    """Variables of an effect's atom bound to a literal's arguments; None where they do not fit."""
    if atom.predicate != literal.predicate or len(atom.terms) != len(literal.args):
        return None
    binding: Binding = {}
    for term, value in zip(atom.terms, literal.args):
        if term.startswith("?"):
            if binding.setdefault(term, value) != value:
                return None
        elif term != value:
            return None
    return binding


def _ways(schema: ActionSchema, literal: Literal) -> list[tuple[Binding, tuple[Formula, ...], tuple[Parameter, ...]]]:
    """Bindings under which an action achieves a literal, with what must hold and be bound beside."""
    ways: list[tuple[Binding, tuple[Formula, ...], tuple[Parameter, ...]]] = []
    for effect in schema.effects:
        for atom in effect.add if literal.positive else effect.delete:
            bound = _unify(atom, literal)
            if bound is not None:
                ways.append((bound, effect.condition.parts, effect.variables))
    for atom, positive in schema.possibly:
        bound = _unify(atom, literal) if positive == literal.positive else None
        if bound is not None and not _brings_about(schema, literal.negated()):
            ways.append((bound, (), ()))
    return ways


def _brings_about(schema: ActionSchema, literal: Literal) -> bool:
    """Whether a certain effect has this literal: then its possible failure is no way to the opposite."""
    return any(_unify(atom, literal) is not None
               for effect in schema.effects for atom in (effect.add if literal.positive else effect.delete))


def resolution_actions(
    domain: Domain, transition: Transition, state: State, literal: Literal, limit: int = 15
) -> list[Action]:
    """Ground actions that achieve a literal in a state, for certain or possibly.

    For each action schema only those with the fewest unmet preconditions are kept, at most `limit`: putting down
    what is held comes before putting down what would have to be picked up first. Actions for special occasions (with
    `words` in the domain's file) are candidates only where no other action achieves the literal.
    """
    ranked: dict[str, dict[Action, int]] = defaultdict(dict)
    for schema in domain.actions.values():
        for bound, condition, variables in _ways(schema, literal):
            parameters = [p for p in (*schema.parameters, *variables) if p.name not in bound]
            known = {p.name: p for p in (*schema.parameters, *variables)}
            if not all(transition.fits(value, known[name].types) for name, value in bound.items() if name in known):
                continue
            for binding in transition.bindings(state, parameters, list(condition), bound):
                action = Action(schema.name, tuple(binding[p.name] for p in schema.parameters))
                if action not in ranked[schema.name]:
                    ranked[schema.name][action] = len(transition.unmet(state, action))
    found: list[Action] = []
    everyday = {name: rows for name, rows in ranked.items() if not domain.actions[name].words}
    for rows in (everyday or ranked).values():
        fewest = min(rows.values())
        found += sorted(a for a, unmet in rows.items() if unmet == fewest)[:limit]
    return found

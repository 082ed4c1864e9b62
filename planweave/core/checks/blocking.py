"""Blocking conditions and resolutions, derived from the domain (BCR, Section III.A).

The paper lists them by hand for each action. Here an unmet literal of an action's precondition is a blocking condition,
the literal itself its resolution, and every ground action with an effect that achieves it, certainly or possibly, a
resolution action. The condition of a conditional effect (a plate in the sink is washed while the tap is on) is a
blocking condition as well.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import product

from planweave.core.base.errors import DomainError, UnknownNameError
from planweave.core.pddl.formula import Atom, Equal, Formula, TypedVariable, atoms_in, unified
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rules import RuleError
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.transition import Binding, State, Transition, fixed_predicates
from planweave.core.symbolic.world import Action, Literal


def _ways(
    schema: ActionSchema, literal: Literal
) -> list[tuple[Binding, tuple[Formula, ...], tuple[TypedVariable, ...]]]:
    """Bindings under which an action achieves a literal, with the remaining conditions and bindings."""
    made = schema.achieving(literal.key, literal.positive)
    ways = [(bound, effect.condition.parts, effect.variables) for effect, bound in made]
    for atom, positive in schema.possibly:
        same = (atom.predicate, positive) == (literal.predicate, literal.positive)
        bound = unified(atom.terms, literal.args) if same else None
        # a certain effect that brings about the opposite excludes the action
        if bound is not None and not any(schema.achieving(literal.key, not literal.positive)):
            ways.append((bound, (), ()))
    return ways


def resolution_actions(domain: Domain, transition: Transition, state: State, literal: Literal) -> list[Action]:
    """Ground actions that achieve a literal in a state, certainly or possibly, one action schema after the other.

    For each action schema only those with the fewest unmet preconditions are kept: placing the held object comes before
    placing one that would have to be grasped first. Actions marked with `words` in the domain's
    file are candidates only where no other action achieves the literal. Excluded are actions that can never become
    applicable, because an object lacks a static property, and, while others remain, those that the section
    ``candidates`` of the domain's file rules out. Actions whose effect has an unmet condition (see `lacking`) are
    candidates only where no other remains. A derived literal is achieved by achieving what it follows from.
    """
    if literal.predicate in domain.derived:
        basis = transition.explain(state, Atom(literal.predicate, literal.args), {}, literal.positive)
        rows = [resolution_actions(domain, transition, state, x) for x in basis if x.predicate not in domain.derived]
        return list(dict.fromkeys(action for row in rows for action in row))
    by, only = _sensible(domain)
    ranked = _ranked(transition, state, literal, True) or _ranked(transition, state, literal, False)
    usual = {name: able for name, able in ranked.items() if not domain.actions[name].words} or ranked
    sensible = {
        name: {
            a: n
            for a, n in able.items()
            if name not in only or _holds(domain.actions[name], only[name], a, literal, state)
        }
        for name, able in usual.items()
        if literal.predicate not in by or not literal.positive or name in by[literal.predicate]
    }
    found: list[Action] = []
    for able in ({name: able for name, able in sensible.items() if able} or usual).values():
        fewest = min(able.values())
        found += sorted(a for a, unmet in able.items() if unmet == fewest)
    return found


def revealing_actions(domain: Domain, transition: Transition, state: State) -> list[Action]:
    """Ground actions that may show an object that was never seen: the paper's effects that are possibly true.

    The section ``candidates: reveals`` of the domain's file declares them as action -> conditions, such as opening what
    is closed and walking to a room where the agent is not. Raises DomainError.
    """
    found = []
    for name, wanted in _reveals(domain).items():
        schema = domain.actions[name]
        for names in product(*(_fitting(domain, transition, p, wanted) for p in schema.parameters)):
            binding = schema.binding(names)
            if all(((x.predicate, *[binding[a] for a in x.args]) in state) == x.positive for x in wanted):
                found.append(Action(name, names))
    return sorted(found)


def _fitting(domain: Domain, transition: Transition, parameter: TypedVariable, wanted: Sequence[Literal]) -> list[str]:
    """Objects for a parameter of an action that fit its type, and those of the conditions that name it."""
    uses = [
        p.types
        for x in wanted
        for p, a in zip(domain.predicates[x.predicate].parameters, x.args)
        if a == parameter.name
    ]
    names = (o.name for o in transition.world.objects)
    return [n for n in names if all(transition.fits(n, types) for types in (parameter.types, *uses))]


def _ranked(
    transition: Transition, state: State, literal: Literal, conditions_hold: bool
) -> dict[str, dict[Action, int]]:
    """Action schema -> ground actions that achieve a literal -> number of unmet literals; only schemas with any."""
    domain, fixed = transition.domain, fixed_predicates(transition.domain)
    ranked: dict[str, dict[Action, int]] = defaultdict(dict)
    for schema in domain.actions.values():
        for bound, condition, variables in _ways(schema, literal):
            parts = list(condition) if conditions_hold else _fixed_parts(condition, fixed)
            parameters = [p for p in (*schema.parameters, *variables) if p.name not in bound]
            known = {p.name: p for p in (*schema.parameters, *variables)}
            if not all(transition.fits(value, known[name].types) for name, value in bound.items() if name in known):
                continue
            for binding in transition.bindings(state, parameters, parts, bound):
                action = Action(schema.name, tuple(binding[p.name] for p in schema.parameters))
                if action in ranked[schema.name] and conditions_hold:
                    continue
                try:
                    unmet = transition.unmet(state, action)
                except RuleError:
                    continue  # it is no way
                if any(u.predicate in fixed and u.positive for u in unmet):
                    continue
                lacks = len(unmet) + (0 if conditions_hold else len(_unmet(transition, state, condition, binding)))
                ranked[schema.name][action] = min(lacks, ranked[schema.name].get(action, lacks))
    return {name: rows for name, rows in ranked.items() if rows}


def lacking(
    domain: Domain, transition: Transition, state: State, action: Action, literal: Literal
) -> tuple[Literal, ...]:
    """Literals that an applicable action still needs to achieve a literal, by the way that needs the fewest."""
    schema, fixed = domain.schema(action), fixed_predicates(domain)
    binding = schema.binding(action.args)
    best: list[Literal] | None = None
    for bound, condition, variables in _ways(schema, literal):
        if any(binding.get(name, value) != value for name, value in bound.items()):
            continue
        free = [v for v in variables if v.name not in bound]
        for full in transition.bindings(state, free, _fixed_parts(condition, fixed), {**binding, **bound}):
            unmet = _unmet(transition, state, condition, full)
            if best is None or len(unmet) < len(best):
                best = unmet
            if not best:
                return ()
    return tuple(dict.fromkeys(best or ()))


def _fixed_parts(condition: tuple[Formula, ...], fixed: frozenset[str]) -> list[Formula]:
    """Conjuncts of a condition that no action changes."""
    return [p for p in condition if isinstance(p, Equal) or all(a.predicate in fixed for a in atoms_in(p))]


def _unmet(transition: Transition, state: State, condition: tuple[Formula, ...], binding: Binding) -> list[Literal]:
    failing = [part for part in condition if not transition.holds(state, part, binding)]
    return [literal for part in failing for literal in transition.explain(state, part, binding)]


def _holds(schema: ActionSchema, wanted: Literal, action: Action, literal: Literal, state: State) -> bool:
    """Whether the required condition holds for an action's arguments; arguments of the literal itself are exempt."""
    binding = schema.binding(action.args)
    names = [binding[a] for a in wanted.args]
    return any(n in literal.args for n in names) or (wanted.predicate, *names) in state


@lru_cache(maxsize=8)
def _sensible(domain: Domain) -> tuple[dict[str, frozenset[str]], dict[str, Literal]]:
    """The domain's ``candidates``: predicate -> actions, action -> required condition; raises DomainError."""
    notes = domain.extra.get("candidates") or {}
    by = {p: frozenset(actions) for p, actions in (notes.get("by") or {}).items()}
    only = {a: Literal.parse(text) for a, text in (notes.get("only") or {}).items()}

    _check(domain, "predicate", [*by, *(x.predicate for x in only.values())], domain.predicates)
    _check(domain, "action", [*only, *(a for actions in by.values() for a in actions)], domain.actions)
    for name, wanted in only.items():
        _check(domain, f"parameter of {name}", wanted.args, [p.name for p in domain.actions[name].parameters])
    return by, only


@lru_cache(maxsize=8)
def _reveals(domain: Domain) -> dict[str, tuple[Literal, ...]]:
    """The part ``reveals`` of the section ``candidates``: action -> conditions; raises DomainError."""
    notes = (domain.extra.get("candidates") or {}).get("reveals") or {}
    reveals = {name: tuple(map(Literal.parse, texts)) for name, texts in notes.items()}
    _check(domain, "action", reveals, domain.actions)
    for name, wanted in reveals.items():
        _check(domain, "predicate", [x.predicate for x in wanted], domain.predicates)
        known = [p.name for p in domain.actions[name].parameters]
        _check(domain, f"parameter of {name}", [a for x in wanted for a in x.args], known)
    return reveals


def _check(domain: Domain, kind: str, names: Iterable[str], known: Iterable[str]) -> None:
    for name in names:
        if name not in set(known):
            raise DomainError(f"{domain.name}.yaml: candidates: {UnknownNameError(kind, name, known)}")

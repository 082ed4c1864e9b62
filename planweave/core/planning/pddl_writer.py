"""PDDL for the classical planner, written from the compiled domain, its rules and a world.

The planner folds case and reserves words, so that a name which it would not give back is written with a prefix;
`planned_step` reverses it.

Rules become preconditions: objects that a rule describes satisfy a predicate of its own, whose facts belong to the
problem; so do objects that are too high for a rule about heights, alone or on another one. Of higher stacks the planner
does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import chain
from weakref import WeakKeyDictionary

from planweave.core.pddl.formula import (
    And,
    Atom,
    Axiom,
    Effect,
    Equal,
    Formula,
    Not,
    Quantified,
    TypedVariable,
    renamed,
    substitute,
)
from planweave.core.planning.deadline import Watched
from planweave.core.symbolic.descriptions import fits
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.heights import SLACK, Heights, predicates
from planweave.core.symbolic.rules import Description, Forbidden, highest
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import AtomKey, Members
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.symbolic.written import formula_of

_PREFIX, _OUTCOME = "x--", "outcome--"
_SAFE = re.compile(rf"(?!{_PREFIX}|{_OUTCOME})[a-zA-Z][\w-]*\Z")
_OUTCOME_OF = re.compile(rf"{_OUTCOME}(\d+)--")
_RESERVED = frozenset(
    ("and", "or", "not", "imply", "forall", "exists", "when", "either", "object", "number", "preference")
    + ("increase", "decrease", "assign", "scale-up", "scale-down")
)
_REQUIREMENTS = "(:requirements :adl :derived-predicates)"
Step = tuple[Action, int | None]
"""An action, and which of its uncertain effects it has in the planner's plan; None for the certain ones."""
_WRITTEN: WeakKeyDictionary[Domain, dict[bool, str]] = WeakKeyDictionary()


def domain_pddl(domain: Domain, all_outcomes: bool = False, watched: Watched = iter) -> str:
    """The domain with what its rules forbid. all_outcomes: with one more action for each uncertain effect, of the same
    precondition (all-outcomes determinisation, FF-Replan). watched: see Deadline; it sees each section.
    """
    written = _WRITTEN.setdefault(domain, {})
    if all_outcomes not in written:
        written[all_outcomes] = "\n".join(watched(_sections(domain, all_outcomes)))
    return written[all_outcomes]


def _sections(domain: Domain, all_outcomes: bool) -> Iterator[str]:
    predicates = {**{name: p.parameters for name, p in domain.predicates.items()}, **rule_predicates(domain)}
    declared = " ".join(f"({_name(name)}{_variables(parameters)})" for name, parameters in predicates.items())
    yield f"(define (domain {_name(domain.name)}) {_REQUIREMENTS}"
    yield f"(:types {' '.join(f'{_name(t)} - {_type_name(parent)}' for t, parent in domain.types.items())})"
    yield f"(:constants {' '.join(f'{_name(c.name)} - {_type_name(c.type)}' for c in domain.constants)})"
    yield f"(:predicates {declared})"
    for axiom in domain.axioms:
        head = f"({_name(axiom.predicate)}{_variables(axiom.parameters)})"
        yield f"(:derived {head} {formula_pddl(And((*_narrower(domain, axiom), axiom.condition)))})"
    for schema in domain.actions.values():
        yield _action(domain, schema, _name(schema.name), " ".join(map(_effect, schema.effects)))
        for k, (atom, positive) in enumerate(schema.possibly if all_outcomes else ()):
            effect = formula_pddl(atom if positive else Not(atom))
            yield _action(domain, schema, f"{_OUTCOME}{k}--{_name(schema.name)}", effect)
    yield ")\n"


def problem_pddl(domain: Domain, world: World, goal: Sequence[Literal] | Formula, watched: Watched = iter) -> str:
    """The problem of a world and a goal. Facts of predicates that the domain does not have are left out. watched: see
    Deadline; it sees each object and fact.

    Facts stand in the order in which domain and world list predicates and objects: on it depends which of two equal
    states the planner takes first, and people list them in an order that makes sense.
    """
    constants = {thing.name for thing in domain.constants}
    things = (o for o in world.objects if o.name not in constants)
    objects = (f"{_name(o.name)} - {_type_name(o.type if o.type in domain.types else '')}" for o in watched(things))
    known = [name for name in domain.predicates if name not in domain.derived]
    rank = {thing.name: number for number, thing in enumerate(world.objects)}
    facts = (
        (name, *args)
        for name in known
        for args in sorted(
            (f.args for f in world.by_predicate.get(name, ())), key=lambda args: [rank.get(a, -1) for a in args]
        )
    )
    init = (f"({' '.join(map(_name, fact))})" for fact in watched(chain(facts, rule_facts(domain, world))))
    wanted = formula_pddl(goal if isinstance(goal, Formula) else formula_of(goal))
    return (
        f"(define (problem task) (:domain {_name(domain.name)})\n (:objects {' '.join(objects)})\n"
        f" (:init {' '.join(init)})\n (:goal {wanted}))\n"
    )


def planned_step(domain: Domain, world: World, name: str, args: Iterable[str]) -> Step:
    """The action of a step of the planner's plan, with the names that domain and world have."""
    outcome = _OUTCOME_OF.match(name)
    own = name[outcome.end() if outcome else 0 :].removeprefix(_PREFIX)
    action = domain.spelled(Action(own, tuple(arg.removeprefix(_PREFIX) for arg in args)), world)
    return action, int(outcome[1]) if outcome else None


def _narrower(domain: Domain, axiom: Axiom) -> Iterator[Formula]:
    """The types of an axiom's parameters that its predicate does not declare, as conditions: the planner reads the
    predicate's types only.
    """
    for one, declared in zip(axiom.parameters, domain.predicates[axiom.predicate].parameters):
        if one.types != declared.types and one.types:
            same = TypedVariable(f"{one.name}--same", one.types)
            yield Quantified(False, (same,), Equal(same.name, one.name))


def _name(name: str) -> str:
    return name if _SAFE.match(name) and name.lower() not in _RESERVED else f"{_PREFIX}{name}"


def _type_name(name: str) -> str:
    return _name(name) if name not in ("", "object") else "object"


def _variables(parameters: Iterable[TypedVariable]) -> str:
    return "".join(f" {p.name}{_types(p)}" for p in parameters)


def _types(parameter: TypedVariable) -> str:
    names = sorted(map(_name, parameter.types))
    if len(names) > 1:
        return f" - (either {' '.join(names)})"
    return f" - {names[0] if names else 'object'}"  # an untyped one would take the type of the next


def _action(domain: Domain, schema: ActionSchema, name: str, effect: str) -> str:
    condition = And((schema.precondition, *rule_conditions(domain, schema)))
    return (
        f"(:action {name} :parameters ({_variables(schema.parameters)})\n :precondition {formula_pddl(condition)}\n"
        f" :effect (and {effect}))"
    )


def _effect(effect: Effect) -> str:
    literals: tuple[Formula, ...] = (*map(Not, effect.delete), *effect.add)
    text = f"(and {' '.join(map(formula_pddl, literals))})"
    if effect.condition.parts:
        text = f"(when {formula_pddl(effect.condition)} {text})"
    return f"(forall ({_variables(effect.variables)}) {text})" if effect.variables else text


def formula_pddl(formula: Formula) -> str:
    """A formula as the planner reads it."""
    return "".join(_pieces(formula))


def _pieces(formula: Formula) -> Iterator[str]:
    if isinstance(formula, Atom):
        yield f"({' '.join((_name(formula.predicate), *map(_term, formula.terms)))})"
    elif isinstance(formula, Equal):
        yield f"(= {_term(formula.left)} {_term(formula.right)})"
    elif isinstance(formula, Not):
        yield "(not "
        yield from _pieces(formula.part)
        yield ")"
    elif isinstance(formula, Quantified):
        yield f"({'forall' if formula.every else 'exists'} ({_variables(formula.variables).strip()}) "
        yield from _pieces(formula.part)
        yield ")"
    else:
        yield "(and" if isinstance(formula, And) else "(or"
        for part in formula.parts:
            yield " "
            yield from _pieces(part)
        yield ")"


def _term(term: str) -> str:
    return term if term.startswith("?") else _name(term)


_TOO_HIGH = ("-too-high", "-too-high-on")  # facts of one object, and of one on another one; no domain has such names


@lru_cache(maxsize=16)
def rule_predicates(domain: Domain) -> dict[str, tuple[TypedVariable, ...]]:
    """The predicates that `rule_conditions` adds to those of the domain."""
    one, two = TypedVariable("?x"), TypedVariable("?y")
    found: dict[str, tuple[TypedVariable, ...]] = dict.fromkeys(_marks(domain).values(), (one,))
    if _limit(domain) is not None:
        found.update({_TOO_HIGH[0]: (one,), _TOO_HIGH[1]: (one, two)})
    return found


def rule_facts(domain: Domain, world: World) -> Iterator[AtomKey]:
    """The facts of these predicates in a world."""
    for description, name in _marks(domain).items():
        yield from ((name, thing.name) for thing in world.objects if fits(domain, description, thing))
    if (most := highest(domain.rules)) is not None and (words := predicates(domain)):
        for things, top in Heights(domain, world, words).pairs(Members(domain, world.objects)):
            if top > most + SLACK:
                yield (_TOO_HIGH[len(things) - 1], *things)


def rule_conditions(domain: Domain, schema: ActionSchema) -> Iterator[Formula]:
    """Preconditions under which an action breaks no rule."""
    marks = _marks(domain)
    for rule in domain.rules:
        for thing in rule.untouched:
            for parameter in schema.parameters:
                if parameter.name not in schema.untouched:
                    yield Not(And(_fitting((thing,), (parameter.name,), marks)))
        for each in rule.forbidden:
            yield from _forbidding(schema, each, marks)
    if _limit(domain) is not None:
        for predicate, mark in zip(predicates(domain) or (), _TOO_HIGH):
            for effect in _bringing(schema):
                for atom in effect.add:
                    if atom.predicate == predicate:
                        yield _never(effect, (*effect.condition.parts, Atom(mark, atom.terms)))


def _limit(domain: Domain) -> float | None:
    """The height in m that rules allow, None where none is limited or the domain says nothing of heights."""
    return highest(domain.rules) if predicates(domain) else None


@lru_cache(maxsize=16)
def _marks(domain: Domain) -> dict[Description, str]:
    """The predicate of each description in the rules but "anything"."""
    found = [d for rule in domain.rules for d in (*(t for f in rule.forbidden for t in f.things), *rule.untouched)]
    return {d: f"-rule-{k}" for k, d in enumerate(dict.fromkeys(d for d in found if not d.is_anything), 1)}


def _bringing(schema: ActionSchema) -> tuple[Effect, ...]:
    """The effects of an action, with what holds meanwhile as one more."""
    return (*schema.effects, *([Effect((), And(), schema.meanwhile, ())] if schema.meanwhile else []))


def _never(effect: Effect, parts: Iterable[Formula]) -> Formula:
    """Whether parts of an effect's condition never hold together."""
    some = And(tuple(parts))
    return Quantified(True, effect.variables, Not(some)) if effect.variables else Not(some)


def _forbidding(schema: ActionSchema, each: Forbidden, marks: dict[Description, str]) -> Iterator[Formula]:
    """What has to hold for an action not to bring a forbidden literal about, for each effect that could."""
    for effect in _bringing(schema):
        for atom in effect.add if each.positive else effect.delete:
            if atom.predicate != each.predicate:
                continue
            parts: list[Formula] = [*effect.condition.parts, *_fitting(each.things, atom.terms, marks)]
            if each.positive:
                parts.append(Not(atom))
            else:
                parts += [atom, *(Not(again) for again in _added_again(schema, atom))]
            yield _never(effect, parts)


def _added_again(schema: ActionSchema, atom: Atom) -> Iterator[Formula]:
    """The conditions under which an action adds what it deletes, which then goes on to hold; none where it ends
    in between.
    """
    for effect in schema.effects if not schema.meanwhile else ():
        names = {v.name: f"{v.name}--again" for v in effect.variables}
        variables = tuple(TypedVariable(names[v.name], v.types) for v in effect.variables)
        for added in effect.add:
            if added.predicate == atom.predicate:
                same = tuple(map(Equal, substitute(added.terms, names), atom.terms))
                some = And((*(renamed(p, names) for p in effect.condition.parts), *same))
                yield Quantified(False, variables, some) if variables else some


def _fitting(
    things: tuple[Description, ...], terms: tuple[str, ...], marks: dict[Description, str]
) -> tuple[Formula, ...]:
    return tuple(Atom(marks[d], (term,)) for d, term in zip(things, terms) if d in marks)

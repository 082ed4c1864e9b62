"""Library-independent form of PDDL conditions and effects, and the conversion from the `pddl` library.

Terms are strings: variables start with ``?``, all others are object names.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pddl.action import Action as PddlAction
from pddl.logic.base import And as PddlAnd
from pddl.logic.base import ExistsCondition, ForallCondition, Imply
from pddl.logic.base import Not as PddlNot
from pddl.logic.base import Or as PddlOr
from pddl.logic.effects import Forall, When
from pddl.logic.predicates import EqualTo
from pddl.logic.predicates import Predicate as PddlPredicate

from planweave.core.errors import DomainError


@dataclass(frozen=True, slots=True)
class Parameter:
    """A typed variable; types is empty where any object fits."""

    name: str
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Atom:
    """A predicate over terms."""

    predicate: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """Two terms are the same object."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Not:
    """Negation."""

    part: Formula


@dataclass(frozen=True, slots=True)
class And:
    """Conjunction; true when empty."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Or:
    """Disjunction; false when empty."""

    parts: tuple[Formula, ...] = ()


@dataclass(frozen=True, slots=True)
class Quantified:
    """``forall`` or ``exists`` over typed variables."""

    every: bool
    variables: tuple[Parameter, ...]
    part: Formula


Formula = Atom | Equal | Not | And | Or | Quantified


@dataclass(frozen=True, slots=True)
class Effect:
    """For all variables for which condition holds: atoms are deleted, then atoms are added."""

    variables: tuple[Parameter, ...]
    condition: And
    add: tuple[Atom, ...]
    delete: tuple[Atom, ...]


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    """The parts of a conjunction; any other formula alone."""
    return formula.parts if isinstance(formula, And) else (formula,)


def negated(formula: Formula) -> Formula:
    """Negation of a formula in simplified form, without double negation; that of a disjunction is a conjunction."""
    if isinstance(formula, Not):
        return formula.part
    if isinstance(formula, Or):
        return And(tuple(p for part in formula.parts for p in conjuncts(negated(part))))
    return Not(formula)


def parameters_of(terms: Any) -> tuple[Parameter, ...]:
    """Typed variables of the `pddl` library as parameters, in order (quantified ones sorted by name)."""
    ordered = terms if isinstance(terms, (tuple, list)) else sorted(terms, key=lambda v: str(v.name))
    return tuple(
        Parameter("?" + str(v.name), frozenset(str(t) for t in v.type_tags if str(t) != "object")) for v in ordered
    )


def _term(term: Any) -> str:
    return str(term)  # a variable's text starts with "?"


def _atom(predicate: Any) -> Atom:
    return Atom(str(predicate.name), tuple(_term(t) for t in predicate.terms))


def formula_of(source: Any) -> Formula:
    """A condition of the `pddl` library in this module's form; raises DomainError where it is not supported."""
    if source is None:
        return And()
    if isinstance(source, PddlPredicate):
        return _atom(source)
    if isinstance(source, EqualTo):
        return Equal(_term(source.left), _term(source.right))
    if isinstance(source, PddlNot):
        return Not(formula_of(source.argument))
    if isinstance(source, PddlAnd):
        return And(tuple(p for op in source.operands for p in conjuncts(formula_of(op))))
    if isinstance(source, PddlOr):
        return Or(tuple(formula_of(op) for op in source.operands))
    if isinstance(source, Imply):
        left, right = source.operands
        return Or((Not(formula_of(left)), formula_of(right)))
    if isinstance(source, (ForallCondition, ExistsCondition)):
        every = isinstance(source, ForallCondition)
        return Quantified(every, parameters_of(source.variables), formula_of(source.condition))
    raise DomainError(f"unsupported condition {source}: use predicates, =, not, and, or, imply, forall, exists")


def effects_of(action: PddlAction) -> tuple[Effect, ...]:
    """The effects of an action of the `pddl` library, each with its quantifier and condition."""
    flat: dict[tuple[tuple[Parameter, ...], And], tuple[list[Atom], list[Atom]]] = {}

    def visit(source: Any, variables: tuple[Parameter, ...], condition: And) -> None:
        if isinstance(source, PddlAnd):
            for operand in source.operands:
                visit(operand, variables, condition)
        elif isinstance(source, Forall):
            visit(source.effect, variables + parameters_of(source.variables), condition)
        elif isinstance(source, When):
            extra = conjuncts(formula_of(source.condition))
            visit(source.effect, variables, And(condition.parts + extra))
        elif isinstance(source, PddlPredicate):
            flat.setdefault((variables, condition), ([], []))[0].append(_atom(source))
        elif isinstance(source, PddlNot) and isinstance(source.argument, PddlPredicate):
            flat.setdefault((variables, condition), ([], []))[1].append(_atom(source.argument))
        elif source is not None:
            raise DomainError(f"action {action.name}: unsupported effect {source}: use literals, and, when, forall")

    visit(action.effect, (), And())
    return tuple(Effect(vs, c, tuple(add), tuple(delete)) for (vs, c), (add, delete) in flat.items())


def atoms_in(formula: Formula) -> Iterator[Atom]:
    """All atoms of a formula, in order of appearance."""
    if isinstance(formula, Atom):
        yield formula
    elif isinstance(formula, Not):
        yield from atoms_in(formula.part)
    elif isinstance(formula, (And, Or)):
        for part in formula.parts:
            yield from atoms_in(part)
    elif isinstance(formula, Quantified):
        yield from atoms_in(formula.part)


def free_variables(formula: Formula) -> set[str]:
    """The free variables of a formula."""
    if isinstance(formula, Atom):
        return {t for t in formula.terms if t.startswith("?")}
    if isinstance(formula, Equal):
        return {t for t in (formula.left, formula.right) if t.startswith("?")}
    if isinstance(formula, Not):
        return free_variables(formula.part)
    if isinstance(formula, Or | And):
        return {v for part in formula.parts for v in free_variables(part)}
    return free_variables(formula.part) - {v.name for v in formula.variables}


def substitute(terms: tuple[str, ...], binding: Mapping[str, str]) -> tuple[str, ...]:
    """Terms with their variables replaced."""
    return tuple(binding.get(t, t) for t in terms)

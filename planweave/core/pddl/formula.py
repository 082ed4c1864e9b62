"""PDDL conditions and effects as immutable values. Terms are strings: variables start with ``?``, all others are
object names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True, slots=True)
class TypedVariable:
    """A typed variable; types is empty where any object fits."""

    name: str
    types: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Atom:
    predicate: str
    terms: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Equal:
    """Two terms are the same object."""

    left: str
    right: str


@dataclass(frozen=True, slots=True)
class Not:
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
    variables: tuple[TypedVariable, ...]
    part: Formula


Formula = Atom | Equal | Not | And | Or | Quantified


@dataclass(frozen=True, slots=True)
class Effect:
    """Atoms that are deleted, then added, for all variables for which the condition holds."""

    variables: tuple[TypedVariable, ...]
    condition: And
    add: tuple[Atom, ...]
    delete: tuple[Atom, ...]


@dataclass(frozen=True, slots=True)
class Axiom:
    """A rule of a derived predicate: its atom holds for all parameters for which the condition holds."""

    predicate: str
    parameters: tuple[TypedVariable, ...]
    condition: Formula


def conjuncts(formula: Formula) -> tuple[Formula, ...]:
    return formula.parts if isinstance(formula, And) else (formula,)


def negated(formula: Formula) -> Formula:
    """Negation of a formula in simplified form, without double negation; that of a disjunction is a conjunction."""
    if isinstance(formula, Not):
        return formula.part
    if isinstance(formula, Or):
        return And(tuple(p for part in formula.parts for p in conjuncts(negated(part))))
    return Not(formula)


def atoms_in(formula: Formula) -> Iterator[Atom]:
    """All atoms of a formula, in order of appearance."""
    return (atom for atom, _ in signed_atoms(formula))


def parts_of(formula: Formula) -> tuple[Formula, ...]:
    """The formulas that a formula is made of; none for an atom or an equality."""
    if isinstance(formula, Not | Quantified):
        return (formula.part,)
    return formula.parts if isinstance(formula, And | Or) else ()


def quantified_in(formula: Formula) -> Iterator[Quantified]:
    """All quantified parts of a formula, outer ones first."""
    if isinstance(formula, Quantified):
        yield formula
    for part in parts_of(formula):
        yield from quantified_in(part)


def terms_of(formula: Formula) -> frozenset[str]:
    own = formula.terms if isinstance(formula, Atom) else ()
    own = (formula.left, formula.right) if isinstance(formula, Equal) else own
    return frozenset(own).union(*map(terms_of, parts_of(formula)))


def substitute(terms: tuple[str, ...], binding: Mapping[str, str]) -> tuple[str, ...]:
    """Terms with their variables replaced."""
    return tuple(binding.get(t, t) for t in terms)


def unified(
    terms: Sequence[str], names: Sequence[str], given: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str] | None:
    """Values of the variables among terms with which these are the names, beside the given ones; None for none."""
    if len(terms) != len(names):
        return None
    binding = dict(given)
    for term, name in zip(terms, names):
        if (binding.setdefault(term, name) if term.startswith("?") else term) != name:
            return None
    return binding


def free_variables(formula: Formula) -> frozenset[str]:
    """The variables that no quantifier of the formula binds."""
    if isinstance(formula, Quantified):
        return free_variables(formula.part).difference(v.name for v in formula.variables)
    if isinstance(formula, Atom | Equal):
        return frozenset(t for t in terms_of(formula) if t.startswith("?"))
    return frozenset().union(*map(free_variables, parts_of(formula)))


def signed_atoms(formula: Formula, positive: bool = True) -> Iterator[tuple[Atom, bool]]:
    """All atoms of a formula, each with whether the formula becomes true, rather than false, by more of them."""
    if isinstance(formula, Atom):
        yield formula, positive
    for part in parts_of(formula):
        yield from signed_atoms(part, positive != isinstance(formula, Not))


def renamed(formula: Formula, names: Mapping[str, str]) -> Formula:
    """A formula with its free terms replaced."""
    if isinstance(formula, Atom):
        return Atom(formula.predicate, substitute(formula.terms, names))
    if isinstance(formula, Equal):
        return Equal(names.get(formula.left, formula.left), names.get(formula.right, formula.right))
    if isinstance(formula, Not):
        return Not(renamed(formula.part, names))
    if isinstance(formula, Quantified):
        inner = {k: v for k, v in names.items() if k not in {p.name for p in formula.variables}}
        return Quantified(formula.every, formula.variables, renamed(formula.part, inner))
    return type(formula)(tuple(renamed(part, names) for part in formula.parts))


def reached(name: str, needs: Mapping[str, Iterable[str]]) -> frozenset[str]:
    """All that a name needs, directly or not."""
    found: set[str] = set()
    todo = [name]
    while todo:
        for other in needs.get(todo.pop(), ()):
            if other not in found:
                found.add(other)
                todo.append(other)
    return frozenset(found)

"""Formulas compiled to nested functions over a state: preconditions, effects, axioms of derived predicates.

Variables are slots of a frame (a list). The search for bindings is a chain of steps in an order fixed at compile time:
bound atoms are tested, equalities bind, then the atom with the most bound terms is looked up in the index; only a
variable that no atom binds iterates over all objects of its type.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from planweave.core.pddl.formula import (
    And,
    Atom,
    Axiom,
    Effect,
    Equal,
    Formula,
    Not,
    Or,
    Quantified,
    TypedVariable,
    atoms_in,
    conjuncts,
    free_variables,
    negated,
    reached,
    renamed,
)
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import AtomKey, State

Frame = list[Any]
Test = Callable[[State, Frame], bool]
Key = Callable[[Frame], AtomKey]
Slots = dict[str, int]
Rest = Callable[[Slots], Test]
"""What is compiled once further variables have slots."""
_MAX_WAYS = 16  # conjunctions into which one axiom is split
_DELETE, _ADD, _FIRST = 0, 1, 2  # slots of the two lists of atoms, and of the first variable


def _frame(size: int, values: Sequence[str]) -> Frame:
    """A frame of a number of slots, with the first variables bound."""
    return [[], [], *values, *[None] * (size - len(values) - _FIRST)]


@dataclass(frozen=True, eq=False)
class CompiledAction:
    """A compiled action.

    conditions: conjuncts of the precondition; effects: functions that append to the frame's lists.
    """

    conditions: tuple[Test, ...]
    effects: tuple[Test, ...]
    size: int

    def each(self, state: State, args: Sequence[str]) -> Iterator[bool]:
        """Yield whether each conjunct of the precondition holds."""
        frame = _frame(self.size, args)
        return (test(state, frame) for test in self.conditions)

    def possible(self, state: State, args: Sequence[str]) -> bool:
        return all(self.each(state, args))

    def changes(self, state: State, args: Sequence[str]) -> tuple[list[AtomKey], list[AtomKey]]:
        """Atoms that the effects delete and add; an atom in both is added."""
        frame = _frame(self.size, args)
        for effect in self.effects:
            effect(state, frame)
        return frame[_DELETE], frame[_ADD]


@dataclass(frozen=True, eq=False)
class CompiledFormula:
    """A formula whose free variables are given, or the search for those that are not."""

    run: Test
    size: int

    def holds(self, state: State, values: Iterable[str]) -> bool:
        return self.run(state, _frame(self.size, [*values]))

    def bindings(self, state: State, values: Iterable[str]) -> list[tuple[str, ...]]:
        """All values of the variables of a search, or of the first as many as it was compiled for."""
        frame = _frame(self.size, [*values])
        self.run(state, frame)
        rows: list[tuple[str, ...]] = frame[_ADD]
        return rows


@lru_cache(maxsize=4096)
def compile_formula(domain: Domain, formula: Formula, given: tuple[str, ...]) -> CompiledFormula:
    """Compile a formula; given: its free variables, in the order of their values."""
    compiler = _Compiler(domain)
    slots = {name: compiler.new_slot() for name in given}
    return CompiledFormula(compiler.test(formula, slots), compiler.size)


@lru_cache(maxsize=4096)
def compile_search(
    domain: Domain, variables: tuple[TypedVariable, ...], parts: tuple[Formula, ...], given: tuple[str, ...], limit: int
) -> CompiledFormula:
    """Compile the search for values of variables under which all parts hold, at most `limit` of them (0: all)."""
    compiler = _Compiler(domain)
    slots = {name: compiler.new_slot() for name in given}
    names = [v.name for v in variables]

    def last(inner: Slots) -> Test:
        found = [inner[name] for name in names]

        def keep(state: State, frame: Frame) -> bool:
            frame[_ADD].append(tuple([frame[slot] for slot in found]))
            return bool(limit) and len(frame[_ADD]) >= limit

        return keep

    run = compiler.search(variables, parts, _outside(slots, variables), last)
    return CompiledFormula(run, compiler.size)


class CompiledAxioms:
    """The derived predicates of a domain (`planweave.core.symbolic.state.Derivation`), by strata.

    recursive: those that depend on themselves.
    """

    def __init__(self, domain: Domain) -> None:
        self.predicates: Collection[str] = domain.derived
        needs = {
            name: {a.predicate for x in domain.axioms if x.predicate == name for a in atoms_in(x.condition)}
            for name in domain.derived
        }
        below = {name: reached(name, needs) for name in needs}
        self.dependents: Mapping[str, tuple[str, ...]] = {
            base: tuple(name for name in needs if base in below[name] and base not in needs)
            for base in set().union(*below.values())
        }
        self._strata = {
            name: frozenset([name, *(o for o in below[name] if o in needs and name in below[o])]) for name in needs
        }
        self.recursive = frozenset(name for name in needs if name in below[name])
        self._rules = {
            stratum: [_compile_axiom(domain, x) for x in domain.axioms if x.predicate in stratum]
            for stratum in set(self._strata.values())
        }

    def derive(self, state: State, predicate: str) -> None:
        """Insert the facts of a derived predicate, and of those that depend on each other with it: all that follow."""
        stratum = self._strata[predicate]
        for name in stratum:
            state.begin(name)
        more = True
        while more:
            more = False
            for rule in self._rules[stratum]:
                for fact in rule.bindings(state, ()):
                    more = state.insert(fact) or more
            more = more and predicate in self.recursive


@lru_cache(maxsize=64)
def compile_axioms(domain: Domain) -> CompiledAxioms | None:
    """Compile the derived predicates of a domain; None where it has none."""
    return CompiledAxioms(domain) if domain.axioms else None


def _compile_axiom(domain: Domain, axiom: Axiom) -> CompiledFormula:
    compiler = _Compiler(domain)
    head = Atom(axiom.predicate, tuple(p.name for p in axiom.parameters))

    def last(inner: Slots) -> Test:
        key = compiler.key(head, inner)

        def keep(state: State, frame: Frame) -> bool:
            frame[_ADD].append(key(frame))
            return False

        return keep

    ways = [
        compiler.search((*axiom.parameters, *more), parts, {}, last)
        for more, parts in _alternatives(axiom.condition, itertools.count())
    ]

    def run(state: State, frame: Frame) -> bool:
        for way in ways:
            way(state, frame)
        return False

    return CompiledFormula(run, compiler.size)


def _alternatives(formula: Formula, numbers: Iterator[int]) -> list[tuple[tuple[TypedVariable, ...], list[Formula]]]:
    """Conjunctions with further variables, one of which holds where the formula does: a search binds their variables
    by facts, and tests what stays within a disjunction or a quantifier.
    """
    if isinstance(formula, Not) and isinstance(formula.part, Not | Or):
        formula = negated(formula.part) if isinstance(formula.part, Or) else formula.part.part
    if isinstance(formula, Or):
        return [way for part in formula.parts for way in _alternatives(part, numbers)]
    if isinstance(formula, Quantified) and not formula.every:
        own = {v.name: f"{v.name}#{next(numbers)}" for v in formula.variables}
        more = tuple(TypedVariable(own[v.name], v.types) for v in formula.variables)
        inner = renamed(formula.part, own)
        return [((*more, *others), parts) for others, parts in _alternatives(inner, numbers)]
    if isinstance(formula, And):
        ways: list[tuple[tuple[TypedVariable, ...], list[Formula]]] = [((), [])]
        for part in formula.parts:
            each = _alternatives(part, numbers)
            if len(ways) * len(each) > _MAX_WAYS:
                each = [((), [part])]
            ways = [((*a, *b), [*p, *q]) for a, p in ways for b, q in each]
        return ways
    return [((), [formula])]


def compile_action(domain: Domain, schema: ActionSchema) -> CompiledAction:
    compiler = _Compiler(domain)
    slots = {p.name: compiler.new_slot() for p in schema.parameters}
    conditions = tuple(compiler.test(part, slots) for part in conjuncts(schema.precondition))
    effects = tuple(compiler.effect(effect, slots) for effect in schema.effects)
    return CompiledAction(conditions, effects, compiler.size)


class _Compiler:
    def __init__(self, domain: Domain):
        self._domain = domain
        self.size = _FIRST

    def new_slot(self) -> int:
        self.size += 1
        return self.size - 1

    def key(self, atom: Atom, slots: Slots) -> Key:
        """A function that grounds an atom from the slots."""
        name, terms = atom.predicate, atom.terms
        places = [slots.get(t) for t in terms]
        if not terms:
            constant = (name,)
            return lambda frame: constant
        if len(places) == 1 and places[0] is not None:
            only = places[0]
            return lambda frame: (name, frame[only])
        if len(places) == 2 and places[0] is not None and places[1] is not None:
            one, two = places[0], places[1]
            return lambda frame: (name, frame[one], frame[two])
        pairs = tuple(zip(places, terms))
        return lambda frame: (name, *[term if slot is None else frame[slot] for slot, term in pairs])

    def test(self, formula: Formula, slots: Slots) -> Test:
        """A test of a formula whose free variables are bound to slots."""
        if isinstance(formula, Atom):
            return self._atom(formula, slots)
        if isinstance(formula, Not):
            part = self.test(formula.part, slots)
            return lambda state, frame: not part(state, frame)
        if isinstance(formula, Equal):
            left, right = self._value(formula.left, slots), self._value(formula.right, slots)
            return lambda state, frame: bool(left(frame) == right(frame))
        if isinstance(formula, Quantified):
            if formula.every:
                some = self.test(Quantified(False, formula.variables, negated(formula.part)), slots)
                return lambda state, frame: not some(state, frame)
            return self.search(
                formula.variables, conjuncts(formula.part), _outside(slots, formula.variables), lambda _: _found
            )
        tests = [self.test(part, slots) for part in formula.parts]
        return self._all(tests) if isinstance(formula, And) else self._any(tests)

    @staticmethod
    def _all(tests: Sequence[Test]) -> Test:
        if len(tests) == 1:
            return tests[0]
        if len(tests) == 2:
            one, two = tests
            return lambda state, frame: one(state, frame) and two(state, frame)
        return lambda state, frame: all(test(state, frame) for test in tests)

    @staticmethod
    def _any(tests: Sequence[Test]) -> Test:
        if len(tests) == 2:
            one, two = tests
            return lambda state, frame: one(state, frame) or two(state, frame)
        return lambda state, frame: any(test(state, frame) for test in tests)

    def effect(self, effect: Effect, slots: Slots) -> Test:
        """Append the effect's atoms to the frame's lists, for every binding under which its condition holds."""

        def emit(inner: Slots) -> Test:
            rows = [(_DELETE, self.key(atom, inner)) for atom in effect.delete]
            rows += [(_ADD, self.key(atom, inner)) for atom in effect.add]
            if len(rows) == 1:
                ((slot, key),) = rows

                def append(state: State, frame: Frame) -> bool:
                    frame[slot].append(key(frame))
                    return False
            else:

                def append(state: State, frame: Frame) -> bool:
                    for slot, key in rows:
                        frame[slot].append(key(frame))
                    return False

            return append

        return self.search(effect.variables, effect.condition.parts, _outside(slots, effect.variables), emit)

    def search(self, variables: Iterable[TypedVariable], parts: Iterable[Formula], slots: Slots, last: Rest) -> Test:
        """Call `last` for every binding under which all conjuncts hold, until it returns True; whether it did."""
        todo = list(parts)
        free = {v.name: v for v in variables}

        def rest(bound: Slots) -> Test:
            return self.search([v for name, v in free.items() if name not in bound], todo, bound, last)

        ready = [part for part in todo if free.keys().isdisjoint(free_variables(part))]
        if ready:
            todo = [part for part in todo if not free.keys().isdisjoint(free_variables(part))]
            return _then(self._all([self.test(part, slots) for part in ready]), rest(slots))
        for part in todo:
            if isinstance(part, Equal) and (part.left in free) != (part.right in free):
                name, other = (part.left, part.right) if part.left in free else (part.right, part.left)
                todo.remove(part)
                return self._assign(free[name], self._value(other, slots), slots, rest)
        atoms = [part for part in todo if isinstance(part, Atom)]  # each has a free variable here
        if atoms:
            best = max(atoms, key=lambda a: (sum(t not in free for t in a.terms), -len(a.terms)))
            todo.remove(best)
            return self._matches(best, free, slots, rest)
        return self._enumerate(next(iter(free.values())), slots, rest) if free else last(slots)

    def _atom(self, atom: Atom, slots: Slots) -> Test:
        key, name = self.key(atom, slots), atom.predicate
        return lambda state, frame: key(frame) in state.of(name)

    @staticmethod
    def _value(term: str, slots: Slots) -> Callable[[Frame], str]:
        slot = slots.get(term)
        return (lambda frame: term) if slot is None else (lambda frame: str(frame[slot]))

    def _assign(self, variable: TypedVariable, value: Callable[[Frame], str], slots: Slots, rest: Rest) -> Test:
        slot, types = self.new_slot(), variable.types
        after = rest({**slots, variable.name: slot})

        def assign(state: State, frame: Frame) -> bool:
            name = value(frame)
            if name not in state.members[types]:
                return False
            frame[slot] = name
            return after(state, frame)

        return assign

    def _enumerate(self, variable: TypedVariable, slots: Slots, rest: Rest) -> Test:
        slot, types = self.new_slot(), variable.types
        after = rest({**slots, variable.name: slot})

        def enumerate_all(state: State, frame: Frame) -> bool:
            for name in state.members[types]:
                frame[slot] = name
                if after(state, frame):
                    return True
            return False

        return enumerate_all

    def _matches(self, atom: Atom, free: dict[str, TypedVariable], slots: Slots, rest: Rest) -> Test:
        """Bind an atom's free variables by the facts that match it."""
        inner = dict(slots)
        outputs: list[tuple[int, int, frozenset[str]]] = []  # position in the fact, slot, types to check
        fixed: list[tuple[int, Callable[[Frame], str]]] = []  # position, value that must be there
        for position, term in enumerate(atom.terms, 1):
            if term in free and term not in inner:
                inner[term] = self.new_slot()
                outputs.append((position, inner[term], self._unsure(atom, position, free[term])))
            elif term in free:  # the same variable again
                fixed.append((position, self._value(term, inner)))
            else:
                fixed.append((position, self._value(term, slots)))
        twice = len(set(atom.terms)) < len(atom.terms)
        after = rest(inner)
        name = atom.predicate
        if len(atom.terms) == 1:
            ((_, slot, types),) = outputs

            def unary(state: State, frame: Frame) -> bool:
                for fact in state.of(name):
                    if not types or fact[1] in state.members[types]:
                        frame[slot] = fact[1]
                        if after(state, frame):
                            return True
                return False

            return unary
        if len(atom.terms) == 2 and len(outputs) == 1 and not twice:
            ((where, slot, types),) = outputs
            ((at, value),) = fixed

            def binary(state: State, frame: Frame) -> bool:
                for fact in state.lookup(name, at, value(frame)):
                    if not types or fact[where] in state.members[types]:
                        frame[slot] = fact[where]
                        if after(state, frame):
                            return True
                return False

            return binary

        def general(state: State, frame: Frame) -> bool:
            for fact in state.of(name):
                for where, slot, types in outputs:
                    if types and fact[where] not in state.members[types]:
                        break
                    frame[slot] = fact[where]
                else:
                    if all(fact[at] == value(frame) for at, value in fixed) and after(state, frame):
                        return True
            return False

        return general

    def _unsure(self, atom: Atom, position: int, variable: TypedVariable) -> frozenset[str]:
        """Types to check for a fact's argument; empty where the predicate's declaration guarantees them."""
        declared = self._domain.predicates[atom.predicate].parameters[position - 1].types
        sure = declared and all(self._domain.is_a(t, variable.types) for t in declared)
        sure = sure and (atom.predicate, position) not in loose_places(self._domain)
        return frozenset() if sure else variable.types


@lru_cache(maxsize=64)
def loose_places(domain: Domain) -> frozenset[tuple[str, int]]:
    """Predicates and positions (from 1) that effects or axioms fill with objects that the declaration does not allow:
    a variable of an effect may have a wider type.
    """
    made: list[tuple[Atom, dict[str, frozenset[str]]]] = []
    for schema in domain.actions.values():
        given = {p.name: p.types for p in schema.parameters}
        for effect in schema.effects:
            types = {**given, **{v.name: v.types for v in effect.variables}}
            made += [(atom, types) for atom in effect.add]
        made += [(atom, given) for atom, positive in schema.possibly if positive]
    for axiom in domain.axioms:
        terms = tuple(p.name for p in axiom.parameters)
        made.append((Atom(axiom.predicate, terms), {p.name: p.types for p in axiom.parameters}))
    return frozenset(
        (atom.predicate, position)
        for atom, types in made
        for position, (term, declared) in enumerate(zip(atom.terms, domain.predicates[atom.predicate].parameters), 1)
        if term in types
        and declared.types
        and not (types[term] and all(domain.is_a(t, declared.types) for t in types[term]))
    )


def _outside(slots: Slots, variables: Sequence[TypedVariable]) -> Slots:
    """The slots visible outside a quantifier: without those shadowed by its variables."""
    names = {v.name for v in variables}
    return {name: slot for name, slot in slots.items() if name not in names}


def _found(state: State, frame: Frame) -> bool:
    return True


def _then(test: Test, after: Test) -> Test:
    if after is _found:
        return test
    return lambda state, frame: test(state, frame) and after(state, frame)

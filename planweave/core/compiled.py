"""Preconditions and effects of an action, compiled to nested functions over a state.

Variables are slots of a frame (a list). The search for bindings is a chain of steps in an order fixed at compile time:
bound atoms are tested, equalities bind, then the atom with the most bound terms is looked up in the index; only a
variable that no atom binds iterates over all objects of its type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from planweave.core.domain import ActionSchema, Domain
from planweave.core.formula import (
    And,
    Atom,
    Effect,
    Equal,
    Formula,
    Not,
    Parameter,
    Quantified,
    conjuncts,
    free_variables,
    negated,
)
from planweave.core.state import AtomKey, State

Frame = list[Any]
Test = Callable[[State, Frame], bool]
Key = Callable[[Frame], AtomKey]
_DELETE, _ADD, _FIRST = 0, 1, 2  # slots of the two lists of atoms, and of the first variable


@dataclass(frozen=True, eq=False)
class CompiledAction:
    """A compiled action.

    conditions: conjuncts of the precondition; effects: functions that append to the frame's lists.
    """

    conditions: tuple[Test, ...]
    effects: tuple[Test, ...]
    size: int

    def frame(self, args: Sequence[str]) -> Frame:
        """A frame with the arguments bound."""
        return [[], [], *args, *[None] * (self.size - len(args) - _FIRST)]

    def possible(self, state: State, args: Sequence[str]) -> bool:
        """Whether the precondition holds."""
        frame = self.frame(args)
        return all(test(state, frame) for test in self.conditions)

    def changes(self, state: State, args: Sequence[str]) -> tuple[list[AtomKey], list[AtomKey]]:
        """Atoms that the effects delete and add; an atom in both is added."""
        frame = self.frame(args)
        for effect in self.effects:
            effect(state, frame)
        return frame[_DELETE], frame[_ADD]


def compile_action(domain: Domain, schema: ActionSchema) -> CompiledAction:
    """Compile an action of a domain."""
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

    def key(self, atom: Atom, slots: dict[str, int]) -> Key:
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

    def test(self, formula: Formula, slots: dict[str, int]) -> Test:
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
        tests = tuple(self.test(part, slots) for part in formula.parts)
        if len(tests) == 2:
            one, two = tests
            if isinstance(formula, And):
                return lambda state, frame: one(state, frame) and two(state, frame)
            return lambda state, frame: one(state, frame) or two(state, frame)
        if isinstance(formula, And):
            return lambda state, frame: all(test(state, frame) for test in tests)
        return lambda state, frame: any(test(state, frame) for test in tests)

    def effect(self, effect: Effect, slots: dict[str, int]) -> Test:
        """Append the effect's atoms to the frame's lists, for every binding under which its condition holds."""

        def emit(inner: dict[str, int]) -> Test:
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

    def search(
        self,
        variables: Sequence[Parameter],
        parts: Iterable[Formula],
        slots: dict[str, int],
        last: Callable[[dict[str, int]], Test],
    ) -> Test:
        """Call `last` for every binding under which all conjuncts hold, until it returns True; whether it did."""
        todo = list(parts)
        free = {v.name: v for v in variables}
        for part in todo:
            if not free_variables(part) & free.keys():
                todo.remove(part)
                return _then(self.test(part, slots), self.search(variables, todo, slots, last))
        for part in todo:
            if isinstance(part, Equal) and (part.left in free) != (part.right in free):
                name, other = (part.left, part.right) if part.left in free else (part.right, part.left)
                todo.remove(part)
                return self._assign(free.pop(name), self._value(other, slots), list(free.values()), todo, slots, last)
        atoms = [part for part in todo if isinstance(part, Atom)]  # each has a free variable here
        if atoms:
            best = max(atoms, key=lambda a: (sum(t not in free for t in a.terms), -len(a.terms)))
            todo.remove(best)
            return self._matches(best, free, todo, slots, last)
        if free:
            first = free.pop(next(iter(free)))
            return self._enumerate(first, list(free.values()), todo, slots, last)
        return last(slots)

    def _atom(self, atom: Atom, slots: dict[str, int]) -> Test:
        key, name = self.key(atom, slots), atom.predicate
        return lambda state, frame: key(frame) in state.of(name)

    @staticmethod
    def _value(term: str, slots: dict[str, int]) -> Callable[[Frame], str]:
        slot = slots.get(term)
        return (lambda frame: term) if slot is None else (lambda frame: str(frame[slot]))

    def _assign(
        self,
        variable: Parameter,
        value: Callable[[Frame], str],
        others: list[Parameter],
        todo: list[Formula],
        slots: dict[str, int],
        last: Callable[[dict[str, int]], Test],
    ) -> Test:
        slot = self.new_slot()
        after = self.search(others, todo, {**slots, variable.name: slot}, last)
        types = variable.types

        def assign(state: State, frame: Frame) -> bool:
            name = value(frame)
            if name not in state.members[types]:
                return False
            frame[slot] = name
            return after(state, frame)

        return assign

    def _enumerate(
        self,
        variable: Parameter,
        others: list[Parameter],
        todo: list[Formula],
        slots: dict[str, int],
        last: Callable[[dict[str, int]], Test],
    ) -> Test:
        slot = self.new_slot()
        after = self.search(others, todo, {**slots, variable.name: slot}, last)
        types = variable.types

        def enumerate_all(state: State, frame: Frame) -> bool:
            for name in state.members[types]:
                frame[slot] = name
                if after(state, frame):
                    return True
            return False

        return enumerate_all

    def _matches(
        self,
        atom: Atom,
        free: dict[str, Parameter],
        todo: list[Formula],
        slots: dict[str, int],
        last: Callable[[dict[str, int]], Test],
    ) -> Test:
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
        others = [v for n, v in free.items() if n not in inner]
        twice = len(set(atom.terms)) < len(atom.terms)
        after = self.search(others, todo, inner, last)
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

    def _unsure(self, atom: Atom, position: int, variable: Parameter) -> frozenset[str]:
        """Types to check for a fact's argument; empty where the predicate's declaration guarantees them."""
        declared = self._domain.predicates[atom.predicate].parameters[position - 1].types
        sure = declared and all(self._domain.is_a(t, variable.types) for t in declared)
        return frozenset() if sure else variable.types


def _outside(slots: dict[str, int], variables: Sequence[Parameter]) -> dict[str, int]:
    """The slots visible outside a quantifier: without those shadowed by its variables."""
    names = {v.name for v in variables}
    return {name: slot for name, slot in slots.items() if name not in names}


def _found(state: State, frame: Frame) -> bool:
    return True


def _then(test: Test, after: Test) -> Test:
    if after is _found:
        return test
    return lambda state, frame: test(state, frame) and after(state, frame)

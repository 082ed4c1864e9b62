"""The compiled transition function of a domain: which literals an action lacks, and what it changes.

A state is mutable and indexed (by predicate, and by predicate, position and object), so that quantified effects
touch only the facts that match. Atoms inside a state are plain tuples ``(predicate, argument, …)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from planweave.domain import ActionSchema, Domain
from planweave.formula import And, Atom, Effect, Equal, Formula, Not, Or, Parameter, conjuncts
from planweave.world import Action, Literal, World

AtomKey = tuple[str, ...]
Binding = dict[str, str]
_EMPTY: frozenset[AtomKey] = frozenset()


class State:
    """A mutable set of positive facts over typed objects."""

    __slots__ = ("_index", "facts", "objects_by_type")

    def __init__(self, facts: Iterable[AtomKey], objects_by_type: Mapping[frozenset[str], Sequence[str]]):
        self.facts: set[AtomKey] = set()
        self._index: dict[tuple[str, int, str], set[AtomKey]] = {}
        self.objects_by_type = objects_by_type
        for fact in facts:
            self.add(fact)

    def add(self, fact: AtomKey) -> bool:
        """Add a fact; whether it was new."""
        if fact in self.facts:
            return False
        self.facts.add(fact)
        index = self._index
        index.setdefault((fact[0], 0, ""), set()).add(fact)
        for position in range(1, len(fact)):
            index.setdefault((fact[0], position, fact[position]), set()).add(fact)
        return True

    def discard(self, fact: AtomKey) -> bool:
        """Remove a fact; whether it was there."""
        if fact not in self.facts:
            return False
        self.facts.discard(fact)
        index = self._index
        index[fact[0], 0, ""].discard(fact)
        for position in range(1, len(fact)):
            index[fact[0], position, fact[position]].discard(fact)
        return True

    def match(self, pattern: tuple[str | None, ...]) -> Iterable[AtomKey]:
        """Facts of a predicate whose bound positions agree; None stands for any object."""
        best: Iterable[AtomKey] | None = None
        size = 0
        for position, value in enumerate(pattern[1:], 1):
            if value is not None:
                found = self._index.get((pattern[0] or "", position, value), _EMPTY)
                if best is None or len(found) < size:
                    best, size = found, len(found)
        if best is None:
            best = self._index.get((pattern[0] or "", 0, ""), _EMPTY)
        return [
            fact for fact in best
            if len(fact) == len(pattern) and all(v is None or v == f for v, f in zip(pattern[1:], fact[1:]))
        ]


@dataclass(frozen=True, slots=True)
class Change:
    """What an action changed: facts added and facts deleted, without those that cancel out."""

    added: frozenset[AtomKey]
    deleted: frozenset[AtomKey]


class Transition:
    """The transition function of a domain over a fixed set of objects. Build it once a world, use it often."""

    def __init__(self, domain: Domain, world: World):
        self.domain = domain
        self.world = world
        self._types: dict[frozenset[str], list[str]] = {}
        self._type_of = {o.name: o.type for o in world.objects}
        self._fits: dict[tuple[str, frozenset[str]], bool] = {}

    def state(self, facts: Iterable[Literal] | None = None) -> State:
        """A fresh mutable state with the world's facts, or with the given ones."""
        source = self.world.facts if facts is None else facts
        return State(((f.predicate, *f.args) for f in source), self._types)

    def unmet(self, state: State, action: Action) -> tuple[Literal, ...]:
        """Literals of the precondition that do not hold; empty where the action can be done.

        Raises UnknownNameError or InvalidActionError for what is not an action over these objects.
        """
        self.domain.check_action(action, self.world)
        schema = self.domain.actions[action.name]
        missing: list[Literal] = []
        binding = schema.binding(action.args)
        for part in conjuncts(schema.precondition):
            if not self._holds(state, part, binding):
                missing.extend(self._explain(state, part, binding))
        return tuple(dict.fromkeys(missing))

    def apply(self, state: State, action: Action) -> Change:
        """Carry out the effects in place (the precondition is the caller's business) and return the change."""
        schema = self.domain.actions[action.name]
        binding = schema.binding(action.args)
        delete: set[AtomKey] = set()
        add: set[AtomKey] = set()
        for effect in schema.effects:
            for bound in self._matches(state, effect, binding):
                delete.update(_ground(atom, bound) for atom in effect.delete)
                add.update(_ground(atom, bound) for atom in effect.add)
        deleted = frozenset(fact for fact in delete - add if state.discard(fact))
        added = frozenset(fact for fact in add if state.add(fact))
        return Change(added, deleted)

    def undo(self, state: State, change: Change) -> None:
        """Take a change back."""
        for fact in change.added:
            state.discard(fact)
        for fact in change.deleted:
            state.add(fact)

    def result(self, world: World, action: Action) -> World:
        """The world after an action whose precondition holds."""
        state = self.state(world.facts)
        self.apply(state, action)
        return replace(world, facts=facts_of(state))

    def _objects(self, types: frozenset[str]) -> Sequence[str]:
        found = self._types.get(types)
        if found is None:
            found = self.domain.candidates(Parameter("?", types), self.world.objects)
            self._types[types] = found
        return found

    def fits(self, name: str, types: frozenset[str]) -> bool:
        """Whether an object exists and is of one of the types (of any, where none is named)."""
        key = (name, types)
        known = self._fits.get(key)
        if known is None:
            known = name in self._type_of and self.domain.is_a(self._type_of[name], types)
            self._fits[key] = known
        return known

    def _matches(self, state: State, effect: Effect, binding: Binding) -> Iterator[Binding]:
        if not effect.variables and not effect.condition.parts:
            yield binding
        else:
            yield from self.bindings(state, list(effect.variables), list(effect.condition.parts), binding)

    def bindings(
        self, state: State, variables: list[Parameter], parts: list[Formula], binding: Binding
    ) -> Iterator[Binding]:
        """Bindings of the variables for which all parts hold; positive atoms bind through the index."""
        if not variables:
            if all(self._holds(state, part, binding) for part in parts):
                yield binding
            return
        free = {v.name: v for v in variables}
        for part in parts:
            if isinstance(part, Equal) and (part.left in free) != (part.right in free):
                name, other = (part.left, part.right) if part.left in free else (part.right, part.left)
                value = binding.get(other, other)
                if self.fits(value, free[name].types):
                    rest = [v for v in variables if v.name != name]
                    yield from self.bindings(state, rest, parts, {**binding, name: value})
                return
        for part in parts:
            if isinstance(part, Atom) and any(t in free for t in part.terms):
                pattern = (part.predicate, *(None if t in free else binding.get(t, t) for t in part.terms))
                for fact in state.match(pattern):
                    extra: Binding = {}
                    for term, value in zip(part.terms, fact[1:]):
                        if term in free and extra.setdefault(term, value) != value:
                            break
                    else:
                        if all(self.fits(value, free[name].types) for name, value in extra.items()):
                            rest = [v for v in variables if v.name not in extra]
                            yield from self.bindings(state, rest, parts, {**binding, **extra})
                return
        first, rest = variables[0], variables[1:]
        for name in self._objects(first.types):
            yield from self.bindings(state, rest, parts, {**binding, first.name: name})

    def _holds(self, state: State, formula: Formula, binding: Binding) -> bool:
        if isinstance(formula, Atom):
            return _ground(formula, binding) in state.facts
        if isinstance(formula, Not):
            return not self._holds(state, formula.part, binding)
        if isinstance(formula, And):
            return all(self._holds(state, part, binding) for part in formula.parts)
        if isinstance(formula, Or):
            return any(self._holds(state, part, binding) for part in formula.parts)
        if isinstance(formula, Equal):
            return binding.get(formula.left, formula.left) == binding.get(formula.right, formula.right)
        if formula.every:
            return next(self.bindings(state, list(formula.variables), [Not(formula.part)], binding), None) is None
        parts = list(conjuncts(formula.part))
        return next(self.bindings(state, list(formula.variables), parts, binding), None) is not None

    def _explain(self, state: State, formula: Formula, binding: Binding, wanted: bool = True) -> list[Literal]:
        """Ground literals that would have to become true for a formula that does not hold."""
        if isinstance(formula, Atom):
            predicate, *args = _ground(formula, binding)
            return [Literal(predicate, tuple(args), wanted)]
        if isinstance(formula, Equal):
            left, right = (binding.get(t, t) for t in (formula.left, formula.right))
            return [Literal("=", (left, right), wanted)]
        if isinstance(formula, Not):
            return self._explain(state, formula.part, binding, not wanted)
        if isinstance(formula, (And, Or)):
            failing = [p for p in formula.parts if self._holds(state, p, binding) != wanted]
            rows = [self._explain(state, p, binding, wanted) for p in failing]
            if isinstance(formula, And) == wanted:  # all of them are needed
                return [literal for row in rows for literal in row]
            return min(rows, key=len, default=[])  # one is enough: the shortest
        if formula.every == wanted:
            found: list[Literal] = []
            part: Formula = Not(formula.part) if wanted else formula.part
            for bound in self.bindings(state, list(formula.variables), list(conjuncts(part)), binding):
                found.extend(self._explain(state, formula.part, bound, wanted))
            return found
        for name in self._objects(formula.variables[0].types):  # one instance is enough: the first
            return self._explain(state, formula.part, {**binding, formula.variables[0].name: name}, wanted)
        return []


def _ground(atom: Atom, binding: Binding) -> AtomKey:
    get = binding.get
    return (atom.predicate, *[get(t, t) for t in atom.terms])


def facts_of(state: State) -> frozenset[Literal]:
    """The facts of a state as literals."""
    return frozenset(Literal(fact[0], fact[1:]) for fact in state.facts)


def inverse_actions(domain: Domain, before: World, action: Action) -> tuple[Action, ...] | None:
    """Actions that undo an action, by the rules of the domain, from the world as it was before it.

    Empty where there is nothing to undo; None where the domain declares no way back (Tree-Planner, Section 3.3).
    """
    schema: ActionSchema = domain.schema(action)
    if schema.inverse is None:
        return None
    if not schema.inverse:
        return ()
    transition = Transition(domain, before)
    state = transition.state()
    binding = schema.binding(action.args)
    for rule in schema.inverse:
        names = dict.fromkeys(t for atom in rule.when for t in atom.terms if t.startswith("?") and t not in binding)
        free = [Parameter(name) for name in names]
        bound = next(iter(sorted(transition.bindings(state, free, list(rule.when), binding), key=_by_names)), None)
        if bound is not None:
            return tuple(Action(atom.predicate, _ground(atom, bound)[1:]) for atom in rule.do)
    return None




def _by_names(binding: Binding) -> list[tuple[str, str]]:
    return sorted(binding.items())

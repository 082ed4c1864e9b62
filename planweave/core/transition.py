"""The compiled transition function of a domain: unmet preconditions of an action, and its effects.

Preconditions and effects run compiled (planweave.core.compiled); the cause of an unmet precondition is found by walking
the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter

from planweave.core.compiled import CompiledAction, compile_action
from planweave.core.domain import ActionSchema, Domain
from planweave.core.errors import PlanweaveError, RuleError
from planweave.core.formula import (
    And,
    Atom,
    Equal,
    Formula,
    Not,
    Or,
    Parameter,
    Quantified,
    atoms_in,
    conjuncts,
    negated,
)
from planweave.core.rules import Broken, RuleCheck
from planweave.core.state import AtomKey as AtomKey
from planweave.core.state import Members
from planweave.core.state import State as State
from planweave.core.world import Action, Literal, World

Binding = dict[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """Effects of an action on a state: facts added and facts deleted, without those that cancel out.

    denied: all facts that the effects delete, whether they held before or not.
    """

    added: frozenset[AtomKey]
    deleted: frozenset[AtomKey]
    denied: Sequence[AtomKey] = field(default=(), compare=False)


class Transition:
    """The transition function of a domain over a fixed set of objects; built once per world."""

    def __init__(self, domain: Domain, world: World):
        self.domain = domain
        self.world = world
        self._members = Members(domain, world.objects)
        self._known: set[Action] = set()
        self._rules = RuleCheck(domain, world) if domain.rules else None

    def state(self, facts: Iterable[Literal] | None = None) -> State:
        """A fresh mutable state with the world's facts, or with the given ones."""
        if facts is None:
            return State({}, self._members, {p: partial(_keys, p, of) for p, of in self.world.by_predicate.items()})
        return State.of_facts([(f.predicate, *f.args) for f in facts], self._members)

    def grouped(
        self, groups: dict[str, set[AtomKey]], late: Mapping[str, Callable[[], set[AtomKey]]] | None = None
    ) -> State:
        """A state that takes ownership of facts grouped by predicate; late: see State."""
        return State(groups, self._members, late)

    def unmet(self, state: State, action: Action) -> tuple[Literal, ...]:
        """Literals of the precondition that do not hold; empty where the action is applicable.

        Raises UnknownNameError or InvalidActionError where the action is not valid over these objects, and RuleError
        where it would break a rule of the domain, whether its precondition holds or not.
        """
        if action not in self._known:
            self.domain.check_action(action, self.world)
            self._known.add(action)
        if self._rules is not None and (broken := self.broken(state, action)):
            raise RuleError(broken)
        binding = self.domain.actions[action.name].binding(action.args)
        missing = [x for part in self.failing(state, action) for x in self.explain(state, part, binding)]
        return tuple(dict.fromkeys(missing))

    def broken(self, state: State, action: Action) -> tuple[Broken, ...]:
        """The rules of the domain that a valid action would break."""
        if self._rules is None:
            return ()
        found = tuple(self._rules.touches(action))
        if self._rules.changes(action.name):
            delete, add = _compiled(self.domain, action.name).changes(state, action.args)
            found += tuple(self._rules.brings(state, action, delete, add))
        return found

    def applicable(self, state: State, action: Action) -> bool:
        """Whether an action is valid over these objects, breaks no rule, and its precondition holds."""
        try:
            return not self.unmet(state, action)
        except PlanweaveError:
            return False

    def failing(self, state: State, action: Action) -> tuple[Formula, ...]:
        """Conjuncts of the precondition that do not hold, for an action over these objects."""
        compiled = _compiled(self.domain, action.name)
        if compiled.possible(state, action.args):
            return ()
        frame, parts = compiled.frame(action.args), conjuncts(self.domain.actions[action.name].precondition)
        return tuple(part for part, test in zip(parts, compiled.conditions) if not test(state, frame))

    def apply(self, state: State, action: Action) -> Change:
        """Apply the effects in place, without checking the precondition, and return the change."""
        delete, add = _compiled(self.domain, action.name).changes(state, action.args)
        staying = set(add)
        deleted = frozenset([fact for fact in delete if fact not in staying and state.discard(fact)])
        added = frozenset([fact for fact in add if state.add(fact)])
        return Change(added, deleted, delete)

    def undo(self, state: State, change: Change) -> None:
        """Revert a change."""
        for fact in change.added:
            state.discard(fact)
        for fact in change.deleted:
            state.add(fact)

    def result(self, world: World, action: Action) -> World:
        """The world after an action whose precondition holds."""
        state = self.state(world.facts)
        self.apply(state, action)
        return replace(world, facts=facts_of(state), derived=frozenset())  # poses are not predicted

    def fits(self, name: str, types: frozenset[str]) -> bool:
        """Whether an object exists and is of one of the types (of any, where none is named)."""
        return name in self._members[types]

    def bindings(
        self, state: State, variables: list[Parameter], parts: list[Formula], binding: Binding
    ) -> Iterator[Binding]:
        """Bindings of the variables under which all conjuncts hold; positive atoms bind through the index."""
        if not variables:
            if all(self.holds(state, part, binding) for part in parts):
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
        atoms = [p for p in parts if isinstance(p, Atom) and any(t in free for t in p.terms)]
        if atoms:
            atom = max(atoms, key=lambda a: sum(t not in free for t in a.terms))
            pattern = (atom.predicate, *(None if t in free else binding.get(t, t) for t in atom.terms))
            for fact in state.match(pattern):
                extra: Binding = {}
                for term, value in zip(atom.terms, fact[1:]):
                    if term in free and extra.setdefault(term, value) != value:
                        break
                else:
                    if all(self.fits(value, free[name].types) for name, value in extra.items()):
                        rest = [v for v in variables if v.name not in extra]
                        yield from self.bindings(state, rest, parts, {**binding, **extra})
            return
        first, rest = variables[0], variables[1:]
        for name in self._members[first.types]:
            yield from self.bindings(state, rest, parts, {**binding, first.name: name})

    def holds(self, state: State, formula: Formula, binding: Binding) -> bool:
        """Whether a formula holds whose free variables are bound."""
        if isinstance(formula, Atom):
            return _ground(formula, binding) in state
        if isinstance(formula, Not):
            return not self.holds(state, formula.part, binding)
        if isinstance(formula, And):
            return all(self.holds(state, part, binding) for part in formula.parts)
        if isinstance(formula, Or):
            return any(self.holds(state, part, binding) for part in formula.parts)
        if isinstance(formula, Equal):
            return binding.get(formula.left, formula.left) == binding.get(formula.right, formula.right)
        part = negated(formula.part) if formula.every else formula.part
        found = next(self.bindings(state, list(formula.variables), list(conjuncts(part)), binding), None)
        return (found is None) == formula.every

    def explain(self, state: State, formula: Formula, binding: Binding, wanted: bool = True) -> list[Literal]:
        """Ground literals that would have to become true for a formula to hold."""
        if isinstance(formula, Atom):
            predicate, *args = _ground(formula, binding)
            return [Literal(predicate, tuple(args), wanted)]
        if isinstance(formula, Equal):
            left, right = (binding.get(t, t) for t in (formula.left, formula.right))
            return [Literal("=", (left, right), wanted)]
        if isinstance(formula, Not):
            return self.explain(state, formula.part, binding, not wanted)
        if isinstance(formula, (And, Or)):
            failing = [p for p in formula.parts if self.holds(state, p, binding) != wanted]
            if isinstance(formula, And) == wanted:  # all of them are needed
                return [literal for p in failing for literal in self.explain(state, p, binding, wanted)]
            shortest: list[Literal] = []  # one is enough: the shortest
            for part in failing:
                row = self.explain(state, part, binding, wanted)
                if not shortest or len(row) < len(shortest):
                    shortest = row
                if len(shortest) == 1:
                    break
            return shortest
        if formula.every == wanted:  # every instance counts that is as it should not be
            found: list[Literal] = []
            part = negated(formula.part) if wanted else formula.part
            for bound in self.bindings(state, list(formula.variables), list(conjuncts(part)), binding):
                found.extend(self.explain(state, formula.part, bound, wanted))
            return found
        return self.explain(state, formula.part, self._nearest(state, formula, binding), wanted)

    def _nearest(self, state: State, formula: Quantified, binding: Binding) -> Binding:
        """The instance of a conjunction with a single unmet conjunct, else the first.

        Where the world has no object of a variable's type, the type's name is its placeholder.
        """
        parts = conjuncts(formula.part)
        for left_out in parts if len(parts) > 1 else ():
            rest = [p for p in parts if p is not left_out]
            bound = next(self.bindings(state, list(formula.variables), rest, binding), None)
            if bound is not None:
                return bound
        first = {v.name: next(iter(self._members[v.types]), min(v.types, default="object")) for v in formula.variables}
        return {**binding, **first}


def rule_problem(domain: Domain, world: World, action: Action) -> str:
    """Why the rules of a domain forbid an action in a world, "" where they do not.

    With rules, an action that is none of the domain over these objects raises UnknownNameError or InvalidActionError:
    nobody knows what it would do.
    """
    if not domain.rules:
        return ""
    domain.check_action(action, world)
    transition = Transition(domain, world)
    return "; ".join(dict.fromkeys(map(str, transition.broken(transition.state(), action))))


@lru_cache(maxsize=16)
def needed_predicates(domain: Domain) -> frozenset[str]:
    """Predicates in preconditions, in conditions of effects, and in inverse rules."""
    found: set[str] = set()
    for schema in domain.actions.values():
        rules = [atom for rule in schema.inverse or () for atom in rule.when]
        formulas = (schema.precondition, *(e.condition for e in schema.effects), *rules)
        found.update(atom.predicate for formula in formulas for atom in atoms_in(formula))
    return frozenset(found)


@lru_cache(maxsize=16)
def fixed_predicates(domain: Domain) -> frozenset[str]:
    """Predicates that no action changes."""
    changed = {a.predicate for s in domain.actions.values() for e in s.effects for a in (*e.add, *e.delete)}
    maybe = {atom.predicate for s in domain.actions.values() for atom, _ in s.possibly}
    return frozenset(domain.predicates) - changed - maybe


@lru_cache(maxsize=512)
def _compiled(domain: Domain, name: str) -> CompiledAction:
    return compile_action(domain, domain.actions[name])


def _keys(predicate: str, facts: Iterable[Literal]) -> set[AtomKey]:
    return {(predicate, *args) for args in map(attrgetter("args"), facts)}


def _ground(atom: Atom, binding: Binding) -> AtomKey:
    get = binding.get
    return (atom.predicate, *[get(t, t) for t in atom.terms])


def facts_of(state: State) -> frozenset[Literal]:
    """The facts of a state as literals."""
    return frozenset(Literal(fact[0], fact[1:]) for fact in state.facts)


def inverse_actions(domain: Domain, before: World, action: Action) -> tuple[Action, ...] | None:
    """Actions that undo an action, by the rules of the domain, from the world before it.

    Empty where there is nothing to undo; None where the domain declares no inverse (Tree-Planner, Section 3.3).
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

"""The transition function of a domain: unmet preconditions of an action, and its effects.

All formulas are evaluated compiled (planweave.core.symbolic.compiled). What would have to become true for one to hold
is found by walking it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from operator import attrgetter

from planweave.core.base.errors import PlanweaveError
from planweave.core.pddl.formula import (
    And,
    Atom,
    Equal,
    Formula,
    Not,
    Or,
    Quantified,
    TypedVariable,
    atoms_in,
    conjuncts,
    negated,
)
from planweave.core.symbolic.compiled import (
    CompiledAction,
    compile_action,
    compile_axioms,
    compile_formula,
    compile_search,
)
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import RuleCheck
from planweave.core.symbolic.rules import Broken, RuleError
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import AtomKey as AtomKey
from planweave.core.symbolic.state import Members
from planweave.core.symbolic.state import State as State
from planweave.core.symbolic.world import Action, Literal, World

Binding = dict[str, str]
#: What would have to become true for a formula to hold that nothing can make true, such as ``(or)``.
IMPOSSIBLE = Literal("false")


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
        self.world = world = _with_constants(domain, world)
        self._members = Members(domain, world.objects)
        self._known: set[Action] = set()
        self._rules = RuleCheck(domain, world) if domain.rules else None
        self._axioms = compile_axioms(domain)

    def state(self, facts: Iterable[Literal] | None = None) -> State:
        if facts is None:
            late = {p: partial(_keys, p, of) for p, of in self.world.by_predicate.items()}
            return State({}, self._members, late, self._axioms)
        return State.of_facts([(f.predicate, *f.args) for f in facts], self._members, self._axioms)

    def grouped(
        self, groups: dict[str, set[AtomKey]], late: Mapping[str, Callable[[], set[AtomKey]]] | None = None
    ) -> State:
        """A state that takes ownership of facts grouped by predicate; late: see State."""
        return State(groups, self._members, late, self._axioms)

    def unmet(self, state: State, action: Action) -> tuple[Literal, ...]:
        """Literals that would have to become true for the precondition to hold; empty where the action is applicable.

        Raises UnknownNameError or InvalidActionError where the action is not valid over these objects, and RuleError
        where it would break a rule of the domain, whether its precondition holds or not.
        """
        self._check(state, action)
        binding = self.domain.actions[action.name].binding(action.args)
        missing = [x for part in self.failing(state, action) for x in self.explain(state, part, binding)]
        return tuple(dict.fromkeys(missing))

    def _check(self, state: State, action: Action) -> None:
        if action not in self._known:
            self.domain.check_action(action, self.world)
            self._known.add(action)
        if self._rules is not None and (broken := self.broken(state, action)):
            raise RuleError(broken)

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
        """Return whether an action is valid over these objects, breaks no rule, and its precondition holds."""
        try:
            self._check(state, action)
        except PlanweaveError:
            return False
        return _compiled(self.domain, action.name).possible(state, action.args)

    def failing(self, state: State, action: Action) -> tuple[Formula, ...]:
        """Conjuncts of the precondition that do not hold, for an action over these objects."""
        compiled = _compiled(self.domain, action.name)
        if compiled.possible(state, action.args):
            return ()
        parts = conjuncts(self.domain.actions[action.name].precondition)
        return tuple(part for part, holds in zip(parts, compiled.each(state, action.args)) if not holds)

    def apply(self, state: State, action: Action) -> Change:
        """Apply the effects in place, without checking the precondition, and return the change."""
        delete, add = _compiled(self.domain, action.name).changes(state, action.args)
        staying = set(add)
        deleted = frozenset([fact for fact in delete if fact not in staying and state.discard(fact)])
        added = frozenset([fact for fact in add if state.add(fact)])
        return Change(added, deleted, delete)

    def undo(self, state: State, change: Change) -> None:
        for fact in change.added:
            state.discard(fact)
        for fact in change.deleted:
            state.add(fact)

    def result(self, world: World, action: Action) -> World:
        """The world after an action whose precondition holds."""
        state = self.state(world.facts)
        self.apply(state, action)
        return replace(world, facts=facts_of(state), derived={})  # poses are not predicted

    def fits(self, name: str, types: frozenset[str]) -> bool:
        """Return whether an object exists and is of one of the types (of any, where none is named)."""
        return name in self._members[types]

    def bindings(
        self,
        state: State,
        variables: Sequence[TypedVariable],
        parts: Iterable[Formula],
        binding: Binding,
        limit: int = 0,
    ) -> list[Binding]:
        """Bindings of the variables under which all conjuncts hold, at most `limit` (0: all)."""
        search = compile_search(self.domain, tuple(variables), tuple(parts), tuple(binding), limit)
        names = [v.name for v in variables]
        return [{**binding, **dict(zip(names, row))} for row in search.bindings(state, binding.values())]

    def holds(self, state: State, formula: Formula, binding: Binding) -> bool:
        if isinstance(formula, Atom):  # what needs no search is not worth a look-up
            return _ground(formula, binding) in state
        if isinstance(formula, Not):
            return not self.holds(state, formula.part, binding)
        return compile_formula(self.domain, formula, tuple(binding)).holds(state, binding.values())

    def explain(self, state: State, formula: Formula, binding: Binding, wanted: bool = True) -> list[Literal]:
        """Ground literals that would have to become true for a formula to hold that does not.

        Of several ways one that actions can bring about, and the shortest of these. A derived predicate is explained by
        what it follows from.
        """
        return self._explained(state, formula, binding, wanted, {}) or [IMPOSSIBLE]

    def _explained(
        self,
        state: State,
        formula: Formula,
        binding: Binding,
        wanted: bool,
        seen: dict[tuple[AtomKey, bool], list[Literal]],
    ) -> list[Literal]:
        """The explanation; seen: those of derived facts, complete or begun."""
        if isinstance(formula, Atom):
            return self._explained_atom(state, _ground(formula, binding), wanted, seen)
        if isinstance(formula, Equal):
            left, right = (binding.get(t, t) for t in (formula.left, formula.right))
            return [Literal("=", (left, right), wanted)]
        if isinstance(formula, Not):
            return self._explained(state, formula.part, binding, not wanted, seen)
        if isinstance(formula, (And, Or)):
            failing = (p for p in formula.parts if self.holds(state, p, binding) != wanted)
            rows = (self._explained(state, p, binding, wanted, seen) for p in failing)
            return _joined(rows) if isinstance(formula, And) == wanted else self._best(rows)
        if formula.every == wanted:  # every instance counts that is as it should not be
            part = negated(formula.part) if wanted else formula.part
            bound = self.bindings(state, formula.variables, conjuncts(part), binding)
            return _joined(self._explained(state, formula.part, each, wanted, seen) for each in bound)
        return self._explained(state, formula.part, self._nearest(state, formula, binding), wanted, seen)

    def _explained_atom(
        self, state: State, fact: AtomKey, wanted: bool, seen: dict[tuple[AtomKey, bool], list[Literal]]
    ) -> list[Literal]:
        literal = [Literal(fact[0], fact[1:], wanted)]
        if fact[0] not in self.domain.derived:
            return literal
        key = (fact, wanted)
        if key not in seen:
            seen[key] = literal
            rows = []
            for axiom in self.domain.axioms:
                inner = {p.name: name for p, name in zip(axiom.parameters, fact[1:])}
                fits = all(self.fits(name, p.types) for p, name in zip(axiom.parameters, fact[1:]))
                if axiom.predicate == fact[0] and fits and self.holds(state, axiom.condition, inner) != wanted:
                    rows.append(self._explained(state, axiom.condition, inner, wanted, seen))
            found = self._best(rows) if wanted else _joined(rows)
            assert self._axioms is not None
            if fact[0] in self._axioms.recursive and any(x.predicate in useless_predicates(self.domain) for x in found):
                found = literal  # the way that was tried is one of many
            seen[key] = found or literal
        return seen[key]

    def _best(self, rows: Iterable[list[Literal]]) -> list[Literal]:
        """The explanation with the fewest literals that no action changes, the fewest that none brings about, and the
        shortest of these.
        """
        able, useless = achievable(self.domain), useless_predicates(self.domain)

        best, lowest = list[Literal](), (0, 0, 0)
        for row in filter(None, rows):
            static = sum(x.predicate in useless for x in row)
            rank = static, sum((x.predicate, x.positive) not in able for x in row), len(row)
            if not best or rank < lowest:
                best, lowest = row, rank
            if lowest == (0, 0, 1):
                break
        return best

    def _nearest(self, state: State, formula: Quantified, binding: Binding) -> Binding:
        """The instance of a conjunction with a single unmet conjunct that actions change, else one for which all holds
        that no action changes, else one with a single unmet conjunct, else the first.

        Where the world has no object of a variable's type, the type's name is its placeholder.
        """
        parts, fixed = conjuncts(formula.part), fixed_predicates(self.domain)
        static = [p for p in parts if all(a.predicate in fixed for a in atoms_in(p))]
        changing = [p for p in parts if p not in static]
        single = [[p for p in parts if p is not left_out] for left_out in changing] if parts[1:] else []
        for rest in (*single, static, *([p for p in parts if p is not left_out] for left_out in static)):
            if rest and (bound := self.bindings(state, formula.variables, rest, binding, 1)):
                return bound[0]
        first = {v.name: next(iter(self._members[v.types]), min(v.types, default="object")) for v in formula.variables}
        return {**binding, **first}


def _joined(rows: Iterable[list[Literal]]) -> list[Literal]:
    return list(dict.fromkeys(literal for row in rows for literal in row))


def _with_constants(domain: Domain, world: World) -> World:
    """The world with the domain's constants."""
    missing = [thing for thing in domain.constants if thing.name not in world.by_name]
    return replace(world, objects=(*world.objects, *missing)) if missing else world


def completed(domain: Domain, world: World) -> World:
    """The world with the domain's constants, and with the facts of derived predicates as they follow from the others.

    A world that comes from outside may lack them.
    """
    world = _with_constants(domain, world)
    if domain.axioms and (facts := facts_of(Transition(domain, world).state())) != world.facts:
        world = replace(world, facts=facts)
    return world


def cost_of(domain: Domain, world: World, actions: Iterable[Action]) -> float | None:
    """The total cost of a plan; None where the domain has no costs, or the world lacks the value of a function."""
    if not any(schema.cost for schema in domain.actions.values()):
        return None
    values, total = dict(world.values), 0.0
    for action in actions:
        schema = domain.schema(action)
        binding = schema.binding(action.args)
        for part in schema.cost:
            fact = _ground(part, binding) if isinstance(part, Atom) else ()
            value = values.get(Literal(fact[0], fact[1:])) if fact else part
            if not isinstance(value, float):
                return None
            total += value
    return total


def rule_problem(domain: Domain, world: World, action: Action) -> str:
    """The reason why the rules of a domain forbid an action in a world, "" for none.

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
    """Predicates that no action changes, nor what they are derived from."""
    changed = {name for name, _ in achievable(domain)}
    if (axioms := compile_axioms(domain)) is not None:
        changed.update(*(axioms.dependents.get(name, ()) for name in [*changed]))
    return frozenset(domain.predicates) - changed


@lru_cache(maxsize=16)
def achievable(domain: Domain) -> frozenset[tuple[str, bool]]:
    """Predicates that an action can make true (with True) or false (with False), certainly or possibly."""
    effects = [e for s in domain.actions.values() for e in s.effects]
    found = {(a.predicate, True) for e in effects for a in e.add}
    found |= {(a.predicate, False) for e in effects for a in e.delete}
    return frozenset(found.union((a.predicate, sign) for s in domain.actions.values() for a, sign in s.possibly))


@lru_cache(maxsize=16)
def useless_predicates(domain: Domain) -> frozenset[str]:
    """Predicates of which an explanation says nothing that can be done."""
    return fixed_predicates(domain) | domain.derived | {"=", IMPOSSIBLE.predicate}


@lru_cache(maxsize=512)
def _compiled(domain: Domain, name: str) -> CompiledAction:
    return compile_action(domain, domain.actions[name])


def _keys(predicate: str, facts: Iterable[Literal]) -> set[AtomKey]:
    return {(predicate, *args) for args in map(attrgetter("args"), facts)}


def _ground(atom: Atom, binding: Binding) -> AtomKey:
    get = binding.get
    return (atom.predicate, *[get(t, t) for t in atom.terms])


def facts_of(state: State) -> frozenset[Literal]:
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
        free = [TypedVariable(name) for name in names]
        bound = min(transition.bindings(state, free, rule.when, binding), key=lambda b: sorted(b.items()), default=None)
        if bound is not None:
            return tuple(Action(atom.predicate, _ground(atom, bound)[1:]) for atom in rule.do)
    return None

"""Unknown facts of a partially observed world: neither stated nor known to be false, so that a plan may assume them.

The section ``unknown`` of the domain's YAML file declares them: ``{fact: "clean(?o)", when: "unseen(?o)"}`` makes an
unstated fact unknown instead of false where the conditions hold in the initial state; ``also`` lists facts that hold
together with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import islice
from typing import Any

from planweave.core.base.errors import DomainError, ParseError, UnknownNameError
from planweave.core.pddl.formula import (
    And,
    Atom,
    Effect,
    Formula,
    Not,
    Or,
    Quantified,
    atoms_in,
    conjuncts,
    negated,
)
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.state import AtomKey, State
from planweave.core.symbolic.transition import Binding, Transition, completed
from planweave.core.symbolic.world import Action, Literal, World

_TRIED = 200  # bindings of the variables of a quantifier


@dataclass(frozen=True)
class AssumptionRule:
    """A fact with variables that is unknown where it is not stated and all of `when` holds."""

    fact: Literal
    when: tuple[Literal, ...]
    also: tuple[Literal, ...]

    def bound(self, literal: Literal, fact: AtomKey) -> AtomKey:
        """One of the other literals, with the variables bound by the arguments of a fact."""
        names = dict(zip(self.fact.args, fact[1:]))
        return (literal.predicate, *[names[a] for a in literal.args])


@lru_cache(maxsize=8)
def unknown_rules(domain: Domain) -> dict[str, tuple[AssumptionRule, ...]]:
    """The declared rules by the predicate of their fact; raises DomainError."""
    rules: dict[str, tuple[AssumptionRule, ...]] = {}
    for row in domain.extra.get("unknown") or ():
        rule = _rule(domain, row)
        rules[rule.fact.predicate] = (*rules.get(rule.fact.predicate, ()), rule)
    return rules


def _rule(domain: Domain, row: Any) -> AssumptionRule:
    try:
        when, also = ([x] if isinstance(x, str) else x for x in (row["when"], row.get("also", [])))
        rule = AssumptionRule(
            Literal.parse(row["fact"]), tuple(map(Literal.parse, when)), tuple(map(Literal.parse, also))
        )
    except (TypeError, KeyError, AttributeError, ParseError) as error:
        raise DomainError(
            f"{domain.name}.yaml: unknown: cannot read {row!r} ({error}); the form is "
            '{fact: "clean(?o)", when: "unseen(?o)"}'
        ) from None
    for literal in (rule.fact, *rule.when, *rule.also):
        known = domain.predicates.get(literal.predicate)
        if known is None:
            unknown = UnknownNameError("predicate", literal.predicate, domain.predicates)
            raise DomainError(f"{domain.name}.yaml: unknown: {unknown}")
        if len(literal.args) != len(known.parameters) or not set(literal.args) <= set(rule.fact.args):
            raise DomainError(
                f"{domain.name}.yaml: unknown: {literal} must have {len(known.parameters)} of the "
                f"variables of {rule.fact}"
            )
    return rule


def unseen_marks(domain: Domain, world: World) -> frozenset[Literal]:
    """The facts, such as unseen(cup), by which a world marks objects as unobserved."""
    marks = {w.predicate for rules in unknown_rules(domain).values() for rule in rules for w in rule.when}
    return frozenset(f for mark in marks for f in world.by_predicate.get(mark, ()))


def never_seen(domain: Domain, world: World) -> frozenset[str]:
    """Names of the objects that a world marks as unobserved."""
    return frozenset(a for f in unseen_marks(domain, world) for a in f.args)


class Assumptions:
    """The facts that may be assumed of one world, and the assumptions that make a formula true."""

    def __init__(self, transition: Transition, start: State) -> None:
        """start: the initial state; the state must equal it again whenever `unknown` is called."""
        self._transition, self._rules = transition, unknown_rules(transition.domain)
        marks = {w.predicate for rules in self._rules.values() for rule in rules for w in rule.when}
        self._marks = {mark: frozenset(start.of(mark)) for mark in marks}
        self._barred: Collection[AtomKey] = ()
        #: False: everything was seen, nothing may be assumed
        self.any = any(self._marks.values())

    def bar(self, facts: Collection[AtomKey]) -> None:
        """Exclude facts from being assumed, since executed actions have determined them."""
        self._barred = facts

    def unknown(self, fact: AtomKey) -> frozenset[AtomKey] | None:
        """An unstated fact and what holds with it, if it is unknown; None if it is false."""
        if fact not in self._barred:
            for rule in self._rules.get(fact[0], ()):
                if self._fits(fact) and all(
                    (rule.bound(w, fact) in self._marks[w.predicate]) == w.positive for w in rule.when
                ):
                    return frozenset([fact, *(rule.bound(a, fact) for a in rule.also)])
        return None

    def _fits(self, fact: AtomKey) -> bool:
        parameters = self._transition.domain.predicates[fact[0]].parameters
        return len(set(fact[1:])) == len(fact) - 1 and all(
            self._transition.fits(name, p.types) for name, p in zip(fact[1:], parameters)
        )

    def repair(self, state: State, formula: Formula, binding: Binding) -> frozenset[AtomKey] | None:
        """Unknown facts that make a formula true in a state: empty where it is true, None where no assumption helps."""
        holds = self._transition.holds
        if holds(state, formula, binding):
            return frozenset()
        if isinstance(formula, Atom):
            fact = (formula.predicate, *[binding.get(t, t) for t in formula.terms])
            return self.unknown(fact)
        if isinstance(formula, And):
            return self._all(state, formula.parts, binding)
        if isinstance(formula, Or):
            found = (self.repair(state, part, binding) for part in formula.parts)
            return min((f for f in found if f is not None), key=_fewest, default=None)
        if isinstance(formula, Not) and isinstance(formula.part, And):
            return self.repair(state, Or(tuple(map(negated, formula.part.parts))), binding)
        if isinstance(formula, Not) and isinstance(formula.part, Or):
            return self._all(state, tuple(map(negated, formula.part.parts)), binding)
        if isinstance(formula, Quantified) and not formula.every:
            return min(self._instances(state, formula, binding), key=_fewest, default=None)
        return None

    def _all(self, state: State, parts: Sequence[Formula], binding: Binding) -> frozenset[AtomKey] | None:
        found: frozenset[AtomKey] = frozenset()
        for part in parts:
            more = self.repair(state, part, binding)
            if more is None:
                return None
            found |= more
        return found

    def _instances(self, state: State, formula: Quantified, binding: Binding) -> Iterator[frozenset[AtomKey]]:
        """Bindings of an existential formula under which all conjuncts hold but one, which may be assumed."""
        parts = conjuncts(formula.part)
        for left_out in parts:
            rest = [p for p in parts if p is not left_out]
            if not rest or not any(atom.predicate in self._rules for atom in atoms_in(left_out)):
                continue
            bindings = self._transition.bindings(state, list(formula.variables), rest, binding)
            for bound in islice(bindings, _TRIED):
                found = self.repair(state, left_out, bound)
                if found is not None:
                    yield found

    def brings_about(self, state: State, action: Action, fact: AtomKey) -> frozenset[AtomKey] | None:
        """Unknown facts under which an action in a state adds a fact; None where there are none."""
        for effect, bound in self._effects(action, fact, adds=True):
            variables = tuple(v for v in effect.variables if v.name not in bound)
            condition: Formula = effect.condition
            found = self.repair(state, Quantified(False, variables, condition) if variables else condition, bound)
            if found:
                return found
        return None

    def prevents(self, state: State, action: Action, fact: AtomKey) -> frozenset[AtomKey] | None:
        """Unknown facts under which an action in a state does not delete a fact; None where there are none."""
        needed: frozenset[AtomKey] = frozenset()
        for effect, bound in self._effects(action, fact, adds=False):
            variables = [v for v in effect.variables if v.name not in bound]
            for instance in self._transition.bindings(state, variables, list(effect.condition.parts), bound):
                more = self.repair(state, Not(effect.condition), instance)
                if not more:
                    return None
                needed |= more
        return needed or None

    def _effects(self, action: Action, fact: AtomKey, adds: bool) -> Iterator[tuple[Effect, Binding]]:
        """Effects with an atom that unifies with a fact, and the bindings."""
        schema = self._transition.domain.actions[action.name]
        for effect, bound in schema.achieving(fact, adds, schema.binding(action.args)):
            if all(self._transition.fits(bound[v.name], v.types) for v in effect.variables if v.name in bound):
                yield effect, bound


def _fewest(facts: frozenset[AtomKey]) -> tuple[int, list[AtomKey]]:
    return len(facts), sorted(facts)


@dataclass
class UnobservedEffects:
    """Predicted facts about unobserved objects; dropped where an action that relies on them fails."""

    facts: set[Literal] = field(default_factory=set)

    def applied_to(self, domain: Domain, world: World) -> World:
        """The observed world together with these facts."""
        return completed(domain, replace(world, facts=world.facts | self.facts)) if self.facts else world

    def record(self, domain: Domain, before: World, after: World, action: Action) -> None:
        """Add the predicted effects of an executed action; before and after: the worlds observed around it."""
        unseen = never_seen(domain, after)
        if not unseen:
            self.facts.clear()
            return
        transition = Transition(domain, before)
        change = transition.apply(transition.state(before.facts | self.facts), action)
        self.facts.difference_update([Literal(f[0], f[1:]) for f in change.deleted])
        self.facts.update([Literal(f[0], f[1:]) for f in change.added])
        self.facts.difference_update([f for f in self.facts if not unseen.intersection(f.args)])

    def discard(self, action: Action) -> None:
        """Drop the facts about the objects of a failed action."""
        self.facts.difference_update([f for f in self.facts if set(f.args) & set(action.args)])

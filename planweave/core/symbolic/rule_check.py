"""Rules that always hold: what no action may bring about, what no action may touch, and how high things may be lifted.

A rule speaks of what an action changes, not of the state before the first one. "Never put anything on the stove": no
action makes a fact ``on(x, stove)`` true that did not hold; what is on the stove already may stay there. "Keep the
knife in the box": no action ends ``in(knife, box)``, whenever it holds. One form says both: a literal that no action
may bring about. A domain with rules (`Domain.rules`) is checked by `planweave.core.symbolic.transition`, and so by all
that is made of it. Objects are matched by their words in each world anew, so that later ones are covered, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations

from planweave.core.pddl.formula import substitute
from planweave.core.symbolic.descriptions import covers, fits
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.heights import SLACK, Heights, predicates
from planweave.core.symbolic.rules import Broken, Description, Forbidden, Rule
from planweave.core.symbolic.schemas import ActionSchema
from planweave.core.symbolic.state import AtomKey, State
from planweave.core.symbolic.world import Action, Literal, World


class RuleCheck:
    """Checks actions against the rules of a domain, over the objects of one world."""

    def __init__(self, domain: Domain, world: World) -> None:
        self._domain, self._world = domain, world
        self._any_untouched = any(rule.untouched for rule in domain.rules)
        self._touching: dict[str, tuple[Rule, ...]] = {}  # by object: the rules that forbid to touch it
        self._bringing: dict[tuple[bool, AtomKey], tuple[Rule, ...]] = {}  # the same of facts that begin or end
        self._limits = tuple(rule for rule in domain.rules if rule.highest is not None)
        words = predicates(domain) if self._limits else None
        self._heights = Heights(domain, world, words) if words else None

    def touches(self, action: Action) -> Iterator[Broken]:
        if self._any_untouched:
            for name in touched(self._domain.actions[action.name], action):
                rules = self._touching.get(name)
                if rules is None:
                    found = [r for r in self._domain.rules if any(self._fits(t, name) for t in r.untouched)]
                    rules = self._touching[name] = tuple(found)
                yield from (Broken(rule, f"{action} touches {name}") for rule in rules)

    def changes(self, name: str) -> bool:
        """Return whether an action of this name can bring about what a rule forbids."""
        return bool(self._heights) or any(_forbidden_by(self._domain, name))

    def brings(
        self, state: State, action: Action, delete: Collection[AtomKey], add: Collection[AtomKey]
    ) -> Iterator[Broken]:
        """The rules that an action breaks whose effects delete and add these facts."""
        begun, ended = _forbidden_by(self._domain, action.name)
        schema = self._domain.actions[action.name]
        meanwhile: list[AtomKey] = []
        if schema.meanwhile:
            binding = schema.binding(action.args)
            meanwhile = [(a.predicate, *substitute(a.terms, binding)) for a in schema.meanwhile]
        for fact in (*add, *meanwhile) if begun else ():
            if fact[0] in begun and fact not in state:
                said = "would come about"
                yield from (Broken(r, f"{Literal(fact[0], fact[1:])} {said}") for r in self._against(True, fact))
        again = () if meanwhile else add  # in between it has ended
        for fact in delete if ended else ():
            if fact[0] in ended and fact in state and fact not in again:
                yield from (Broken(r, f"{Literal(fact[0], fact[1:])} would end") for r in self._against(False, fact))
        if self._heights:
            for thing, top in self._heights.of_facts(state, (*meanwhile, *add)):
                said = f"the top of {thing} would be {top:.2f} m above the table at least"
                yield from (Broken(rule, said) for rule in self._exceeded(top))

    def _exceeded(self, top: float) -> Iterator[Rule]:
        """The rules against a height in m."""
        return (rule for rule in self._limits if rule.highest is not None and top > rule.highest + SLACK)

    def _against(self, positive: bool, fact: AtomKey) -> tuple[Rule, ...]:
        """The rules against a fact that begins to hold, or ends."""
        found = self._bringing.get((positive, fact))
        if found is None:
            found = self._bringing[positive, fact] = tuple(
                rule
                for rule in self._domain.rules
                if any(
                    each.predicate == fact[0]
                    and each.positive == positive
                    and all(map(self._fits, each.things, fact[1:]))
                    for each in rule.forbidden
                )
            )
        return found

    def against(self, goal: Sequence[Literal]) -> Iterator[Broken]:
        """The rules that forbid to bring about a literal of a goal that does not hold yet."""
        for literal in self._world.unmet(goal):
            for rule in self._against(literal.positive, literal.key):
                yield Broken(rule, f"the goal asks for {literal}")
        for literal, top in self._heights.of_goal(goal) if self._heights else ():
            if not self._world.holds(literal):
                said = f"the goal asks for {literal}, whose top would be {top:.2f} m above the table at least"
                yield from (Broken(rule, said) for rule in self._exceeded(top))

    def _fits(self, description: Description, name: str) -> bool:
        thing = self._world.by_name.get(name)
        return thing is not None and fits(self._domain, description, thing)


def touched(schema: ActionSchema, action: Action) -> list[str]:
    """The objects that an action touches: its arguments but those that the domain's notes name as untouched."""
    return [a for p, a in zip(schema.parameters, action.args) if p.name not in schema.untouched]


@lru_cache(maxsize=512)
def _forbidden_by(domain: Domain, name: str) -> tuple[frozenset[str], frozenset[str]]:
    """Predicates that an action of this name can make true and false, of those that rules are about."""
    schema = domain.actions[name]
    begun = {a.predicate for e in schema.effects for a in e.add} | {a.predicate for a in schema.meanwhile}
    ended = {a.predicate for e in schema.effects for a in e.delete}
    every = [each for rule in domain.rules for each in rule.forbidden]
    return (
        frozenset(each.predicate for each in every if each.positive) & begun,
        frozenset(each.predicate for each in every if not each.positive) & ended,
    )


def rule_formulas(domain: Domain, rule: Rule) -> tuple[str, ...]:
    """The rule as formulas over predicates, actions and limits of the domain."""
    limits = () if rule.highest is None else (f"always: top(?x) <= {rule.highest:g} m; ?x: anything carried",)
    touches = (f"always: no {_touching(domain)}; ?x: {thing}" for thing in rule.untouched)
    return (*map(_formula, rule.forbidden), *touches, *limits)


def rule_words(domain: Domain, rule: Rule) -> str:
    said = [_said(domain, each) for each in rule.forbidden]
    said += [f"no action touches {thing}" for thing in rule.untouched]
    said += [] if rule.highest is None else [f"nothing is carried higher than {rule.highest:g} m above the table"]
    return "; ".join(said)


def contradiction(domain: Domain, rules: Sequence[Rule]) -> str:
    """A contradiction of rules, "" for none: one forbids what another keeps, or both keep a thing, in two places."""
    rows = [(rule, each) for rule in rules for each in rule.forbidden]
    for (one, first), (two, second) in combinations(rows, 2):
        contrary = _excluded(domain, first, second) or _excluded(domain, second, first)
        if one is not two and (contrary or _elsewhere(domain, first, second)):
            return f'the rules "{one.text}" and "{two.text}" contradict each other'
    return ""


def _excluded(domain: Domain, kept: Forbidden, never: Forbidden) -> bool:
    """Whether one keeps what the other one forbids."""
    return (
        kept.predicate == never.predicate
        and never.positive
        and not kept.positive
        and all(covers(domain, general, special) for general, special in zip(never.things, kept.things))
    )


def _elsewhere(domain: Domain, one: Forbidden, two: Forbidden) -> bool:
    """Whether two rules keep one thing in two places."""
    exclusive = (domain.extra.get("goals") or {}).get("exclusive", ())
    if one.positive or two.positive or not {one.predicate, two.predicate} <= set(exclusive):
        return False
    (thing, *places), (other, *others) = one.things, two.things
    same = covers(domain, thing, other) or covers(domain, other, thing)
    return same and (one.predicate, places) != (two.predicate, others)


def _formula(each: Forbidden) -> str:
    names = [f"?{name}" for name in "xyzuvw"[: len(each.things)]]
    kept = str(Literal(each.predicate, tuple(names), not each.positive))
    where = ", ".join(f"{name}: {thing}" for name, thing in zip(names, each.things))
    return f"always: {kept} -> next {kept}" + (f"; {where}" if where else "")


def _said(domain: Domain, each: Forbidden) -> str:
    """A forbidden literal in the words of its predicate's phrase."""
    predicate = domain.predicates[each.predicate]
    phrase = predicate.phrase
    for parameter, thing in zip(predicate.parameters, each.things):
        placeholder = "{" + parameter.name[1:] + "}"
        phrase = phrase.replace(f"the {placeholder}", str(thing)).replace(placeholder, str(thing))
    return f"it never {'comes about' if each.positive else 'ends'} that {phrase}"


def _touching(domain: Domain) -> str:
    """The actions that touch ``?x``, in formal notation."""
    return ", ".join(
        f"{schema.name}({', '.join('?x' if other is one else '_' for other in schema.parameters)})"
        for schema in domain.actions.values()
        for one in schema.parameters
        if one.name not in schema.untouched
    )


def ruled(domain: Domain, rules: Sequence[Rule]) -> Domain:
    """The domain under these rules, and no others; the same one where nothing changes."""
    return replace(domain, rules=tuple(rules)) if tuple(rules) != domain.rules else domain


def keeping(domain: Domain, literal: Literal) -> Rule:
    """The rule that no action may end a literal of certain objects, nor bring about what excludes it."""
    things = tuple(Description(name) for name in literal.args)
    forbidden = [Forbidden(literal.predicate, things, not literal.positive)]
    for pair in domain.never_together:
        if literal.positive and len(pair) == 2 and literal.predicate in pair:
            other = domain.predicates.get(next(name for name in pair if name != literal.predicate))
            if other is not None and len(other.parameters) == len(things):
                forbidden.append(Forbidden(other.name, things))
    return Rule(f"meanwhile: {domain.phrase(literal)}", tuple(forbidden))

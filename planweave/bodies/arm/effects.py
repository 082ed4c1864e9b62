"""Purpose of an action: the facts that it shall bring about of the things that it names."""

from __future__ import annotations

from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World


def felt(domain: Domain, fact: Literal) -> bool:
    """Whether fingers and joints tell a fact (`felt` in the domain's notes); all others are told by cameras."""
    return domain.predicates[fact.predicate].felt


def expected(domain: Domain, before: World, action: Action) -> frozenset[Literal]:
    """The facts about its arguments that an action adds to a world in which its precondition holds."""
    added = Transition(domain, before).result(before, action).facts - before.facts
    return frozenset(fact for fact in added if set(fact.args) <= set(action.args))


def unmet(facts: frozenset[Literal], world: World) -> tuple[Literal, ...]:
    """Those of some facts that do not hold in a world."""
    return tuple(sorted(fact for fact in facts if not world.holds(fact)))

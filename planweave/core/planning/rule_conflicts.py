"""Goals that rules put out of reach, found before anything moves."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.core.planning.classical import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import RuleCheck, ruled
from planweave.core.symbolic.world import Literal, World

_SECONDS = 2.0  # for one search


def goal_conflict(domain: Domain, world: World, goal: Sequence[Literal]) -> str:
    """Why the domain's rules put a goal out of reach, "" where they do not, as far as the world is known.

    A rule forbids a literal of the goal itself; or the classical planner has proved that no plan keeps all rules, and
    finds one that keeps fewer. Then the rules are named without which it finds one.
    """
    if not domain.rules:
        return ""
    against = list(dict.fromkeys(map(str, RuleCheck(domain, world).against(goal))))
    if against:
        return f"the goal cannot be reached, {'; '.join(against)}"
    if not _impossible(domain, world, goal) or not _possible(ruled(domain, ()), world, goal):
        return ""
    needed = list(domain.rules)
    for rule in domain.rules:
        fewer = [r for r in needed if r is not rule]
        if _impossible(ruled(domain, fewer), world, goal):
            needed = fewer
    named = " and ".join(f'"{rule.text}"' for rule in needed)
    return f"the goal cannot be reached: no plan for it keeps the rule{'s' * (len(needed) > 1)} {named}"


def _impossible(domain: Domain, world: World, goal: Sequence[Literal]) -> bool:
    """Whether it is proved that no plan reaches a goal."""
    try:
        solve(domain, world, goal, _SECONDS)
    except NoPlanError as error:
        return error.proved
    return False


def _possible(domain: Domain, world: World, goal: Sequence[Literal]) -> bool:
    """Whether a plan reaches a goal."""
    try:
        solve(domain, world, goal, _SECONDS)
    except NoPlanError:
        return False
    return True

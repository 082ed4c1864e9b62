"""Goals that rules put out of reach, found before anything moves."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.rule_check import RuleCheck, ruled
from planweave.core.symbolic.world import Literal, World

_SECONDS = 2.0  # for one search


def goal_conflict(domain: Domain, world: World, goal: Sequence[Literal]) -> str:
    """The reason why the domain's rules put a goal out of reach, "" for none, as far as the world is known.

    A rule forbids a literal of the goal itself; or the classical planner has proved that no plan keeps all rules, and
    finds one that keeps fewer. Then the rules are named without which it finds one.
    """
    if not domain.rules:
        return ""
    against = list(dict.fromkeys(map(str, RuleCheck(domain, world).against(goal))))
    if against:
        return f"the goal cannot be reached, {'; '.join(against)}"
    if _reachable(domain, world, goal) is not False or not _reachable(ruled(domain, ()), world, goal):
        return ""
    needed = list(domain.rules)
    for rule in domain.rules:
        fewer = [r for r in needed if r is not rule]
        if _reachable(ruled(domain, fewer), world, goal) is False:
            needed = fewer
    named = " and ".join(f'"{rule.text}"' for rule in needed)
    return f"the goal cannot be reached: no plan for it keeps the rule{'s' * (len(needed) > 1)} {named}"


def _reachable(domain: Domain, world: World, goal: Sequence[Literal]) -> bool | None:
    """Whether a plan reaches a goal; None where none was found, and it is not proved that there is none."""
    try:
        solve(domain, world, goal, _SECONDS)
    except NoPlanError as error:
        return False if error.proved else None
    return True

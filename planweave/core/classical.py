"""Classical planning on a world and goal literals, through the `kairos` planner (PDDL in, actions out)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import kairos

from planweave.core.domain import Domain, refusal
from planweave.core.errors import GoalError, PlanweaveError
from planweave.core.pddl_writer import domain_pddl, planned_step, problem_pddl
from planweave.core.reduced import without
from planweave.core.relevance import relevant_world
from planweave.core.transition import Transition, facts_of
from planweave.core.validation import achievers
from planweave.core.world import Action, Literal, World

#: In a sentence of kairos about its own options.
_NOTES = 6  # obstacles that an error names at most
_ADVICE = (" --", "SolveOptions")


class NoPlanError(GoalError):
    """No plan reaches the goal. proved: the search was complete; else it ran out of time or memory."""

    def __init__(self, message: str, proved: bool):
        super().__init__(message)
        self.proved = proved


@lru_cache(maxsize=8)
def _compiled(pddl_text: str) -> kairos.Domain:
    return kairos.parse_domain(pddl_text)


def solve(
    domain: Domain,
    world: World,
    goal: Sequence[Literal],
    timeout: float = 5.0,
    all_outcomes: bool = False,
    namespace: str = "",
) -> tuple[Action, ...]:
    """The plan with the fewest actions found by the ``ff`` search; empty where the goal holds already. timeout in
    seconds.

    Actions that the body refuses are excluded, and so is what the domain's rules forbid. Large worlds are reduced to
    the objects relevant to the goal (planweave.core.relevance). namespace: see Domain.unaccounted.

    Raises NoPlanError that names the literal that cannot be reached.
    """
    if not world.unmet(goal):
        return ()
    unaccounted = domain.unaccounted(world, namespace)
    off = {a for g in world.unmet(goal) for a in achievers(domain, g)} & world.actions_off
    refused = [refusal(sorted(off))] if off else []
    domain = without(domain, world.actions_off)
    world = relevant_world(domain, world.with_derived(goal), goal)
    for literal in goal:
        try:
            domain.check_literal(literal, world)
        except PlanweaveError as error:
            raise NoPlanError(f"the goal {literal} cannot be planned for: {error}", proved=False) from None
    compiled = _compiled(domain_pddl(domain, all_outcomes))
    try:
        problem = kairos.parse_problem(problem_pddl(domain, world, goal), compiled)
    except kairos.PddlError as error:
        raise NoPlanError(f"the goal cannot be planned for: {error}", proved=False) from None
    planner: Any = kairos.Planner
    result = planner().solve(problem, timeout=timeout, search="ff", anytime=False)
    if result.status == kairos.Status.SOLVED:
        plan = [planned_step(domain, world, step.name, step.args)[0] for step in result.plan.steps]
        return tuple(plan if all_outcomes else _needed(Transition(domain, world), goal, plan))
    proved = result.status == kairos.Status.UNSOLVABLE
    wanted = domain.phrases(world.unmet(goal))
    found = "no plan reaches the goal that" if proved else "no plan was found for the goal that"
    obstacles = "".join(f" ({text})" for text in (*unaccounted, *refused)) + _obstacles(domain, world, goal)
    raise NoPlanError(f"{found} {wanted}{obstacles}: {_reason(result, timeout)}", proved)


def _needed(transition: Transition, goal: Sequence[Literal], plan: list[Action]) -> list[Action]:
    """A plan without actions that the goal does not need (action elimination: Nakhost, Müller, ICAPS 2010, Section 2):
    each is left out with those that depend on it, where the goal is reached without.
    """
    index = 0
    while index < len(plan):
        state, kept = transition.state(), plan[:index]
        for action in kept:
            transition.apply(state, action)
        for action in plan[index + 1 :]:
            if transition.applicable(state, action):
                transition.apply(state, action)
                kept.append(action)
        if replace(transition.world, facts=facts_of(state), derived=frozenset()).unmet(goal):
            index += 1
        else:
            plan = kept
    return plan


def _reason(result: Any, timeout: float) -> str:
    """Why the search ended, without the planner's hints about its own options."""
    if result.status == kairos.Status.TIMEOUT:
        return (
            f"the search ended after {timeout:g} s ({result.stats.states:,} states searched); ask for less at a "
            "time, or give it more time: classical.plan_timeout of feedback_node, timeout of planweave.plan"
        )
    sentences = [s for d in result.diagnostics for s in re.split(r"(?<=[.])\s+", str(d.message))]
    useful = " ".join(s for s in sentences if not any(word in s for word in _ADVICE))
    return useful or str(result.status).removeprefix("Status.")


def _obstacles(domain: Domain, world: World, goal: Sequence[Literal]) -> str:
    """Facts about the goal's objects that explain why it is unreachable, e.g. that one is out of reach."""
    notes = []
    for name in dict.fromkeys(a for g in world.unmet(goal) for a in g.args):
        for predicate in domain.predicates.values():
            literal = Literal(predicate.name, (name,), False)
            if predicate.state == "negative" and name in world.by_name and world.holds(literal):
                notes.append(domain.phrase(literal))
    more = f"; and {len(notes) - _NOTES} more" if len(notes) > _NOTES else ""
    return f" ({'; '.join(notes[:_NOTES])}{more})" if notes else ""

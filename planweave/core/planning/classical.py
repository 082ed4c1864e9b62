"""Classical planning on a world and goal literals, through the `kairos` planner (PDDL in, actions out)."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain

from planweave.core.base.errors import GoalError, PlanweaveError
from planweave.core.checks.validation import Goal, achievers, simplest, unmet_goal, with_facts_of
from planweave.core.pddl.formula import Formula, atoms_in, substitute
from planweave.core.planning.kairos_search import POLL, SMALL, Search, SearchResult, ground_instances, start
from planweave.core.planning.pddl_writer import domain_pddl, planned_step, problem_pddl
from planweave.core.planning.relevance import reductions
from planweave.core.symbolic.domain import Domain, refusal
from planweave.core.symbolic.reduced import without
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World

_NOTES = 6  # obstacles that an error names at most
_ADVICE = (" --", "SolveOptions")  # in a sentence of kairos about its own options
_AUXILIARY = "kairos-aux"  # in names that it gives to parts of formulas
_SHARE = 0.2  # of the time, after which the next larger world is searched, too
_ANALYSIS = 0.05  # of the time, for finding out what is in the way
_REPEATED = 2  # searches that have to agree with a proof for which the planner gives no reason
_ELIMINATION = 3_000  # actions applied at most to find those that a plan does not need


class NoPlanError(GoalError):
    """No plan reaches the goal. proved: the search was complete; else it ran out of time or memory."""

    def __init__(self, message: str, proved: bool):
        super().__init__(message)
        self.proved = proved


class _Clock:
    """The deadline of everything that planning does."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self._end = seconds, time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline, 0 after it."""
        return max(0.0, self._end - time.monotonic())


def solve(
    domain: Domain,
    world: World,
    goal: Goal,
    timeout: float = 5.0,
    all_outcomes: bool = False,
    namespace: str = "",
) -> tuple[Action, ...]:
    """The plan with the fewest actions found by the ``ff`` search; empty where the goal holds already. timeout: seconds
    for all of it.

    Actions that the body refuses are excluded, and so is what the domain's rules forbid. Of large worlds the objects
    relevant to the goal are tried first (planweave.core.planning.relevance); every plan is checked in the whole world
    before it is returned, and that there is none is proved by a search of the whole world only. namespace: see
    Domain.unaccounted.

    Raises NoPlanError that names the literals that cannot be reached.
    """
    clock, goal = _Clock(timeout), simplest(goal)
    if not isinstance(goal, Formula) and not world.unmet(goal):
        return ()
    _check_goal(domain, world, goal)
    unaccounted = domain.unaccounted(world, namespace)
    able, domain = domain, without(domain, world.actions_off)
    world = with_facts_of(domain, world, goal)
    transition = Transition(domain, world)
    unmet = unmet_goal(transition, transition.state(), goal)
    if not unmet:
        return ()
    steps, found, fault = _searched(transition, goal, unmet, clock, all_outcomes)
    if steps:
        plan = [step.action for step in steps]
        return tuple(plan if all_outcomes else _needed(transition, goal, plan, clock))
    off = {name for literal in unmet for name in achievers(able, literal)} & world.actions_off
    notes = (*unaccounted, *([refusal(sorted(off))] if off else ()), *_obstacles(domain, world, unmet))
    lead = "no plan reaches the goal" if found.unsolvable else "no plan was found for the goal"
    known = [g for g in unmet if g.predicate in domain.predicates]  # not "=", nor what can never hold
    wanted = f" that {domain.phrases(known)}" if known else ""
    said = "".join(f" ({note})" for note in notes)
    raise NoPlanError(f"{lead}{wanted}{said}: {fault or _reason(found, timeout)}", found.unsolvable)


def _check_goal(domain: Domain, world: World, goal: Goal) -> None:
    """Raise NoPlanError where a goal is not one of the domain over the world's objects."""
    if isinstance(goal, Formula):
        ground = (a for a in atoms_in(goal) if not any(t.startswith("?") for t in a.terms))
        goal = [Literal(atom.predicate, atom.terms) for atom in ground]
    for literal in goal:
        try:
            domain.check_literal(literal, world)
        except PlanweaveError as error:
            raise NoPlanError(f"the goal {literal} cannot be planned for: {error}", proved=False) from None


@dataclass(frozen=True)
class _Step:
    """A step of a determinised plan. outcome: which uncertain effect it has, None for the certain ones."""

    action: Action
    outcome: int | None = None


def _searched(
    transition: Transition, goal: Goal, unmet: Sequence[Literal], clock: _Clock, all_outcomes: bool
) -> tuple[list[_Step], SearchResult, str]:
    """A plan that reaches the goal in the whole world; else none, how the search of the whole world ended, and why a
    plan of the planner does not do. unmet: the literals of the goal that do not hold.

    The reduced worlds are searched first. The next one begins when one has ended without a plan, or after a share of
    the time, while the former goes on.
    """
    domain, world = transition.domain, transition.world
    text = domain_pddl(domain, all_outcomes)
    small = ground_instances(domain, world) <= SMALL
    worlds = chain(() if small else reductions(transition, goal, unmet, _ANALYSIS * clock.left), [world])
    running: list[tuple[Search, World]] = []
    part, next_start, repeated = None, 0.0, 0

    def begin(part: World) -> Search:
        return start(text, problem_pddl(domain, part, goal), clock.left, ground_instances(domain, part))

    try:
        while part is not world or running:
            if part is not world and (not running or clock.left <= next_start):
                part = next(worlds)
                running.append((begin(part), part))
                next_start = clock.left - _SHARE * clock.seconds
            alone = part is world and len(running) == 1
            for search, searched in list(running):
                found = search.result(clock.left + POLL if alone else POLL)
                if found is None:
                    continue
                running.remove((search, searched))
                steps = [_Step(*planned_step(domain, world, *step)) for step in found.steps]
                fault = _fault(transition, steps, goal) if found.solved else ""
                if found.solved and not fault:
                    return steps, found, ""
                if searched is world and found.unexplained and repeated < _REPEATED:
                    repeated += 1
                    running.append((begin(world), world))
                elif searched is world:
                    return [], replace(found, status="NO_PLAN_FOUND") if found.solved else found, fault
    finally:
        for search, _ in running:
            search.stop()
    raise AssertionError("the search of the whole world has no end")


def _fault(transition: Transition, steps: Sequence[_Step], goal: Goal) -> str:
    """Why a plan does not reach the goal in the whole world, "" where it does."""
    state = transition.state()
    for number, step in enumerate(steps, 1):
        try:
            missing = transition.unmet(state, step.action)
        except PlanweaveError as error:
            return f"step {number} of the only plan found, {step.action}: {error}"
        if missing:
            return f"step {number} of the only plan found, {step.action}, needs {', '.join(map(str, missing))}"
        if step.outcome is None:
            transition.apply(state, step.action)
        else:
            schema = transition.domain.actions[step.action.name]
            atom, positive = schema.possibly[step.outcome]
            key = (atom.predicate, *substitute(atom.terms, schema.binding(step.action.args)))
            (state.add if positive else state.discard)(key)
    unmet = unmet_goal(transition, state, goal)
    return f"the only plan found leaves open {', '.join(map(str, unmet))}" if unmet else ""


def _needed(transition: Transition, goal: Goal, plan: list[Action], clock: _Clock) -> list[Action]:
    """A plan without actions that the goal does not need (action elimination: Nakhost, Müller, ICAPS 2010, Section 2):
    each is left out with those that depend on it, where the goal is reached without; as far as time allows.
    """
    state, index, applied = transition.state(), 0, 0
    while index < len(plan) and applied < _ELIMINATION and clock.left:  # state: that before plan[index]
        changes, kept = [], plan[:index]
        for action in plan[index + 1 :]:
            if transition.applicable(state, action):
                changes.append(transition.apply(state, action))
                kept.append(action)
        needed = bool(unmet_goal(transition, state, goal))
        for change in reversed(changes):
            transition.undo(state, change)
        applied += len(plan) - index
        if needed:
            transition.apply(state, plan[index])
            index += 1
        else:
            plan = kept
    return plan


def _reason(found: SearchResult, timeout: float) -> str:
    """Why the search ended, without the planner's hints about its own options."""
    if found.status == "TIMEOUT":
        return (
            f"the search ended after {timeout:g} s ({found.states:,} states searched); ask for less at a "
            "time, or give it more time: classical.plan_timeout of feedback_node, timeout of planweave.plan"
        )
    sentences = [s for message in found.messages for s in re.split(r"(?<=[.])\s+", message)]
    useful = " ".join(s for s in sentences if not any(word in s for word in _ADVICE))
    return (useful.partition("\n")[0] if _AUXILIARY in useful else useful) or found.status


def _obstacles(domain: Domain, world: World, unmet: Sequence[Literal]) -> list[str]:
    """Facts about the goal's objects that explain why it is unreachable, e.g. that one is out of reach."""
    notes = []
    for name in dict.fromkeys(a for g in unmet for a in g.args):
        for predicate in domain.predicates.values():
            literal = Literal(predicate.name, (name,), False)
            if predicate.state == "negative" and name in world.by_name and world.holds(literal):
                notes.append(domain.phrase(literal))
    more = f"; and {len(notes) - _NOTES} more" if len(notes) > _NOTES else ""
    return [f"{'; '.join(notes[:_NOTES])}{more}"] if notes else []

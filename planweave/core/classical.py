"""Classical planning on a world and goal literals, through the `kairos` planner (PDDL in, actions out)."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain

from planweave.core.domain import Domain, refusal
from planweave.core.errors import GoalError, PlanweaveError
from planweave.core.formula import Atom, substitute
from planweave.core.kairos_search import SMALL, Found, Search, ground_instances, start
from planweave.core.reduced import block, without
from planweave.core.relevance import reductions
from planweave.core.ruled_pddl import rule_facts, ruled_pddl
from planweave.core.state import State
from planweave.core.transition import Transition
from planweave.core.validation import achievers
from planweave.core.world import Action, Literal, World

_VARIANT = re.compile(r"-outcome-(\d+)$")
_NOTES = 6  # obstacles that an error names at most
_ADVICE = (" --", "SolveOptions")  # in a sentence of kairos about its own options
_SHARE = 0.2  # of the time, after which the next larger world is searched, too
_POLL = 0.02  # s
_ELIMINATION = 20_000  # actions applied at most to find those that a plan does not need


class NoPlanError(GoalError):
    """No plan reaches the goal. proved: the search was complete; else it ran out of time or memory."""

    def __init__(self, message: str, proved: bool):
        super().__init__(message)
        self.proved = proved


def _s_expression(literal: Literal) -> str:
    atom = f"({' '.join((literal.predicate, *literal.args))})"
    return atom if literal.positive else f"(not {atom})"


def problem_pddl(domain: Domain, world: World, goal: Sequence[Literal]) -> str:
    """The PDDL problem of a world and a conjunction of literals."""
    objects = " ".join(f"{o.name} - {o.type}" for o in world.objects)
    facts = " ".join((*map(_s_expression, sorted(world.facts)), *rule_facts(domain, world)))
    wanted = " ".join(_s_expression(g) for g in goal)
    return (
        f"(define (problem task) (:domain {domain.name})\n (:objects {objects})\n (:init {facts})\n"
        f" (:goal (and {wanted})))\n"
    )


@lru_cache(maxsize=8)
def determinised_pddl(domain: Domain) -> str:
    """The domain with one more action for each uncertain effect (all-outcomes determinisation, FF-Replan).

    The extra actions are called ``<name>-outcome-<k>`` and have the same precondition.
    """
    text = domain.pddl_text.rstrip()
    extra = []
    for schema in domain.actions.values():
        found = block(text, f"(:action {schema.name}")
        effect_at = found.find(":effect")
        for k, (atom, positive) in enumerate(schema.possibly):
            head = found[:effect_at].replace(f"(:action {schema.name}", f"(:action {schema.name}-outcome-{k}", 1)
            extra.append(f"  {head}:effect {_effect(atom, positive)})\n")
    return text[: text.rfind(")")] + "\n" + "".join(extra) + ")\n"


def _effect(atom: Atom, positive: bool) -> str:
    plain = f"({' '.join((atom.predicate, *atom.terms))})"
    return plain if positive else f"(not {plain})"


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
    goal: Sequence[Literal],
    timeout: float = 5.0,
    all_outcomes: bool = False,
    namespace: str = "",
) -> tuple[Action, ...]:
    """The plan with the fewest actions found by the ``ff`` search; empty where the goal holds already. timeout: seconds
    for all of it.

    Actions that the body refuses are excluded, and so is what the domain's rules forbid. Of large worlds the objects
    relevant to the goal are tried first (planweave.core.relevance); every plan is checked in the whole world before it
    is returned, and that there is none is proved by a search of the whole world only. namespace: see
    Domain.unaccounted.

    Raises NoPlanError that names the literal that cannot be reached.
    """
    if not world.unmet(goal):
        return ()
    clock = _Clock(timeout)
    unaccounted = domain.unaccounted(world, namespace)
    off = {a for g in world.unmet(goal) for a in achievers(domain, g)} & world.actions_off
    refused = [refusal(sorted(off))] if off else []
    domain = without(domain, world.actions_off)
    world = world.with_derived(goal)
    for literal in goal:
        try:
            domain.check_literal(literal, world)
        except PlanweaveError as error:
            raise NoPlanError(f"the goal {literal} cannot be planned for: {error}", proved=False) from None
    transition = Transition(domain, world)
    steps, found, fault = _searched(transition, goal, clock, all_outcomes)
    if steps:
        plan = [step.action for step in steps]
        return tuple(plan if all_outcomes else _needed(transition, goal, plan, clock))
    wanted = domain.phrases(world.unmet(goal))
    lead = "no plan reaches the goal that" if found.unsolvable else "no plan was found for the goal that"
    obstacles = "".join(f" ({text})" for text in (*unaccounted, *refused)) + _obstacles(domain, world, goal)
    raise NoPlanError(f"{lead} {wanted}{obstacles}: {fault or _reason(found, timeout)}", found.unsolvable)


@dataclass(frozen=True)
class _Step:
    """A step of a determinised plan. outcome: which uncertain effect it has, None for the certain ones."""

    action: Action
    outcome: int | None = None

    @classmethod
    def of(cls, name: str, args: tuple[str, ...]) -> _Step:
        """The step of an action of the planner's domain."""
        match = _VARIANT.search(name)
        return cls(Action(_VARIANT.sub("", name), args), int(match[1]) if match else None)


def _searched(
    transition: Transition, goal: Sequence[Literal], clock: _Clock, all_outcomes: bool
) -> tuple[list[_Step], Found, str]:
    """A plan that reaches the goal in the whole world; else none, how the search of the whole world ended, and why a
    plan of the planner does not do.

    The reduced worlds are searched first. The next one begins when one has ended without a plan, or after a share of
    the time, while the former goes on.
    """
    domain, world = transition.domain, transition.world
    text = ruled_pddl(domain, determinised_pddl(domain) if all_outcomes else domain.pddl_text)
    small = ground_instances(domain, world) <= SMALL
    worlds = chain(() if small else reductions(domain, world, goal), [world])
    running: list[tuple[Search, World]] = []
    part, next_start = None, 0.0
    try:
        while part is not world or running:
            if part is not world and (not running or clock.left <= next_start):
                part = next(worlds)
                problem = problem_pddl(domain, part, goal)
                running.append((start(text, problem, clock.left, ground_instances(domain, part)), part))
                next_start = clock.left - _SHARE * clock.seconds
            alone = part is world and len(running) == 1
            for search, searched in list(running):
                found = search.result(clock.left + _POLL if alone else _POLL)
                if found is None:
                    continue
                running.remove((search, searched))
                steps = [_Step.of(*step) for step in found.steps]
                fault = _fault(transition, steps, goal) if found.solved else ""
                if found.solved and not fault:
                    return steps, found, ""
                if searched is world:
                    return [], replace(found, status="NO_PLAN_FOUND") if found.solved else found, fault
    finally:
        for search, _ in running:
            search.stop()
    raise AssertionError("the search of the whole world has no end")


def _fault(transition: Transition, steps: Sequence[_Step], goal: Sequence[Literal]) -> str:
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
    unmet = _unmet(transition.world, state, goal)
    return f"the only plan found leaves open {', '.join(map(str, unmet))}" if unmet else ""


def _unmet(world: World, state: State, goal: Sequence[Literal]) -> tuple[Literal, ...]:
    """The literals of the goal that do not hold in a state."""
    return tuple(g for g in goal if ((g.predicate, *g.args) in state) != g.positive)


def _needed(transition: Transition, goal: Sequence[Literal], plan: list[Action], clock: _Clock) -> list[Action]:
    """A plan without actions that the goal does not need (action elimination: Nakhost, Müller, ICAPS 2010, Section 2):
    each is left out with those that depend on it, where the goal is reached without; as far as time allows.
    """
    index, steps = 0, 0
    while index < len(plan) and steps < _ELIMINATION and clock.left:
        state, kept = transition.state(), plan[:index]
        for action in kept:
            transition.apply(state, action)
        for action in plan[index + 1 :]:
            if transition.applicable(state, action):
                transition.apply(state, action)
                kept.append(action)
        steps += len(plan)
        if _unmet(transition.world, state, goal):
            index += 1
        else:
            plan = kept
    return plan


def _reason(found: Found, timeout: float) -> str:
    """Why the search ended, without the planner's hints about its own options."""
    if found.status == "TIMEOUT":
        return (
            f"the search ended after {timeout:g} s ({found.states:,} states searched); ask for less at a "
            "time, or give it more time: classical.plan_timeout of feedback_node, timeout of planweave.plan"
        )
    sentences = [s for message in found.messages for s in re.split(r"(?<=[.])\s+", message)]
    useful = " ".join(s for s in sentences if not any(word in s for word in _ADVICE))
    return useful or found.status


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

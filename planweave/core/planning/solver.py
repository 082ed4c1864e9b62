"""Classical planning on a world and goal literals, through the `kairos` planner (PDDL in, actions out)."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, product

from planweave.core.base.errors import GoalError, PlanweaveError
from planweave.core.checks.validation import Goal, achievers, goal_atoms, simplest, unmet_goal
from planweave.core.pddl.formula import Atom, Formula, atoms_in, conjuncts, substitute
from planweave.core.planning.deadline import Deadline, OutOfTimeError, Watched
from planweave.core.planning.kairos_search import POLL, SMALL, Search, SearchResult, ground_instances, start
from planweave.core.planning.pddl_writer import Step, domain_pddl, planned_step, problem_pddl
from planweave.core.planning.relevance import reductions
from planweave.core.symbolic.domain import Domain, refusal
from planweave.core.symbolic.reduced import focused, without
from planweave.core.symbolic.state import State
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World

_NOTES = 6  # obstacles that an error names at most
_ADVICE = (" --", "SolveOptions")  # in a sentence of kairos about its own options
_AUXILIARY = "kairos-aux"  # in names that it gives to parts of formulas
_SHARE = 0.1  # of the time, after which the next larger world is searched, too
_ANALYSIS = 0.05  # of the time, for finding out what is in the way
_REPEATED = 2  # searches that have to agree with a proof for which the planner gives no reason
_ELIMINATION = 2_000  # actions applied at most to find those that a plan does not need


class NoPlanError(GoalError):
    """No plan reaches the goal. proved: the search was complete; else it ran out of time or memory."""

    code = "no_plan"

    def __init__(self, message: str, proved: bool, brief: str = ""):
        super().__init__(message)
        self.proved, self.brief = proved, brief or message  # brief: without what is in the way


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
    before it is returned, and that there is none is proved by a search of the whole world only. What is only in the way
    is put down where the domain wants it (_putting_aside). namespace: see Domain.unaccounted.

    Raises NoPlanError that names the literals that cannot be reached.
    """
    deadline, goal = Deadline(timeout), simplest(goal)
    if not isinstance(goal, Formula) and not world.unmet(goal):
        return ()
    _check_goal(domain, world, goal)
    unaccounted = domain.unaccounted(world, namespace)
    able, domain = domain, without(domain, world.actions_off)
    unmet: tuple[Literal, ...] = ()
    try:
        world = world.with_derived(deadline.watched(goal_atoms(domain, world, goal)))
        transition = Transition(domain, world)
        unmet = unmet_goal(transition, transition.state(), goal)
        if not unmet:
            return ()
        steps, found, fault = _searched(transition, goal, unmet, deadline, all_outcomes)
    except OutOfTimeError:
        steps, found, fault = [], SearchResult("TIMEOUT"), ""
    if steps:
        plan = [action for action, _ in steps]
        if any(outcome is not None for _, outcome in steps):
            return tuple(plan)
        return tuple(_putting_aside(transition, goal, _needed(transition, goal, plan, deadline), deadline))
    off = {name for literal in unmet for name in achievers(able, literal)} & world.actions_off
    notes = (*unaccounted, *([refusal(sorted(off))] if off else ()), *_obstacles(domain, world, unmet))
    lead = "no plan reaches the goal" if found.unsolvable else "no plan was found for the goal"
    known = [g for g in unmet if g.predicate in domain.predicates]  # not "=", nor what can never hold
    wanted = f" that {domain.phrases(known)}" if known else ""
    said = "".join(f" ({note})" for note in notes)
    reason = fault or _reason(found, timeout)
    raise NoPlanError(f"{lead}{wanted}{said}: {reason}", found.unsolvable, f"{lead}{wanted}")


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


def _searched(
    transition: Transition, goal: Goal, unmet: Sequence[Literal], deadline: Deadline, all_outcomes: bool
) -> tuple[list[Step], SearchResult, str]:
    """A plan that reaches the goal in the whole world; else none, how the search of the whole world ended, and why a
    plan of the planner does not do. unmet: the literals of the goal that do not hold. Raises OutOfTimeError.

    The reduced worlds are searched first. The next one begins when one has ended without a plan, or after a share of
    the time, while the former goes on.
    """
    domain, world, watched = transition.domain, transition.world, deadline.watched
    asked = atoms_in(goal) if isinstance(goal, Formula) else goal
    narrow = focused(domain, frozenset(atom.predicate for atom in asked))
    text, size = domain_pddl(narrow, all_outcomes, watched), ground_instances(domain, world, watched)
    worlds = chain(() if size <= SMALL else reductions(transition, goal, unmet, _ANALYSIS * deadline.left), [world])
    running: list[tuple[Search, World]] = []
    part, next_start, repeated = None, 0.0, 0

    def begin(part: World) -> Search:
        instances = size if part is world else ground_instances(domain, part, watched)
        return start(text, problem_pddl(domain, part, goal, watched), deadline, instances)

    try:
        while part is not world or running:
            if part is not world and (not running or deadline.left <= next_start):
                part = next(worlds)
                running.append((begin(part), part))
                next_start = deadline.left - _SHARE * deadline.seconds
            alone = part is world and len(running) == 1
            for search, searched in watched(list(running)):
                found = search.result(deadline.left if alone else min(POLL, deadline.left))
                if found is None:
                    continue
                running.remove((search, searched))
                steps = [planned_step(domain, world, *step) for step in found.steps]
                fault = _fault(transition, watched(steps), goal) if found.solved else ""
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


def _fault(transition: Transition, steps: Iterable[Step], goal: Goal) -> str:
    """Why a plan does not reach the goal in the whole world, "" where it does."""
    state = transition.state()
    for number, (action, outcome) in enumerate(steps, 1):
        try:
            missing = transition.unmet(state, action)
        except PlanweaveError as error:
            return f"step {number} of the only plan found, {action}: {error}"
        if missing:
            return f"step {number} of the only plan found, {action}, needs {', '.join(map(str, missing))}"
        if outcome is None:
            transition.apply(state, action)
        else:
            schema = transition.domain.actions[action.name]
            atom, positive = schema.possibly[outcome]
            key = (atom.predicate, *substitute(atom.terms, schema.binding(action.args)))
            (state.add if positive else state.discard)(key)
    unmet = unmet_goal(transition, state, goal)
    return f"the only plan found leaves open {', '.join(map(str, unmet))}" if unmet else ""


def _needed(transition: Transition, goal: Goal, plan: list[Action], deadline: Deadline) -> list[Action]:
    """A plan without actions that the goal does not need (action elimination: Nakhost, Müller, ICAPS 2010, Section 2):
    each is left out with those that depend on it, where the goal is reached without; as far as time allows.
    """
    state, index, applied = transition.state(), 0, 0
    try:
        while index < len(plan) and applied < _ELIMINATION:  # state: that before plan[index]
            changes, kept = [], plan[:index]
            for action in deadline.watched(plan[index + 1 :]):
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
    except OutOfTimeError:
        pass
    return plan


def _putting_aside(transition: Transition, goal: Goal, plan: list[Action], deadline: Deadline) -> list[Action]:
    """A plan that puts what is only in the way where the domain wants it, as far as time allows; raises NoPlanError
    where it still puts that on something on which it must not be.
    """
    left = None
    with contextlib.suppress(OutOfTimeError):
        plan, left = PuttingAside(transition, goal).improved(plan, deadline.watched)
    if left is not None:
        why = f"what is in the way would have to be put where it must not be: {transition.domain.phrase(left)}"
        raise NoPlanError(f"no plan was found for the goal: {why}; make room elsewhere", proved=False)
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
    """Why a goal is unreachable, as far as facts tell: one of its objects is out of reach, or its state not known."""
    notes = []
    for literal in unmet:
        if _state_unknown(domain, world, literal):
            notes.append(f"whether {domain.phrase(replace(literal, positive=True))} is not known")
    notes += [domain.phrase(fact) for literal in unmet for fact in _in_the_way(domain, world, literal)]
    for name in dict.fromkeys(a for g in unmet for a in g.args):
        for predicate in domain.predicates.values():
            literal = Literal(predicate.name, (name,), False)
            if predicate.state == "negative" and name in world.by_name and world.holds(literal):
                notes.append(domain.phrase(literal))
    more = f"; and {len(notes) - _NOTES} more" if len(notes) > _NOTES else ""
    return [f"{'; '.join(notes[:_NOTES])}{more}"] if notes else []


def _in_the_way(domain: Domain, world: World, literal: Literal) -> list[Literal]:
    """Facts that keep an action of one thing from bringing a literal about, as what blocks a door."""
    transition = Transition(domain, world)
    actions = [Action(name, literal.args) for name in achievers(domain, literal) if len(literal.args) == 1]
    able = (a for a in actions if len(domain.actions[a.name].parameters) == 1)
    return [fact.negated() for a in able for fact in transition.unmet(transition.state(), a) if not fact.positive]


def _state_unknown(domain: Domain, world: World, literal: Literal) -> bool:
    """Whether a thing is in neither of two states, and what brings about the one needs the other: on or off."""
    states = {state for group in domain.never_together if literal.predicate in group for state in group}
    needed = (part for name in achievers(domain, literal) for part in conjuncts(domain.actions[name].precondition))
    changed = any(isinstance(part, Atom) and part.predicate in states and len(part.terms) == 1 for part in needed)
    return changed and not any(Literal(state, literal.args) in world.facts for state in states)


class PuttingAside:
    """Replaces the steps of a plan that put something down where the goal does not want it, by ``aside`` of the
    domain's notes: the actions that do, the better first, and the facts of things on which nothing is put aside.
    """

    def __init__(self, transition: Transition, goal: Goal) -> None:
        domain = transition.domain
        notes = domain.extra.get("aside") or {}
        self._transition, self._goal = transition, goal
        self._by = [name for name in notes.get("by", ()) if name in domain.actions]
        self._never_on = [name for name in notes.get("never_on", ()) if name in domain.predicates]

    def improved(self, plan: Sequence[Action], watched: Watched = iter) -> tuple[list[Action], Action | None]:
        """The plan, and its first step that still puts something on what nothing is to be put on; None without one.
        watched: see Deadline; it sees each action that is tried.
        """
        found, state, left = list(plan), self._transition.state(), None
        for index, action in enumerate(plan):
            forbidden = self._is_forbidden(state, action)
            rank = self._by.index(action.name) if action.name in self._by else len(self._by)
            names = self._by if forbidden else self._by[:rank]
            for other in watched(self._others(action, names)):
                if not self._is_forbidden(state, other) and self._reaches(state, [other, *found[index + 1 :]]):
                    found[index] = other
                    break
            else:
                left = left or (action if forbidden else None)
            self._transition.apply(state, found[index])
        return found, left

    def _others(self, action: Action, names: Sequence[str]) -> Iterator[Action]:
        """Actions by these names with the same first argument."""
        domain, objects = self._transition.domain, self._transition.world.objects
        for name in names if action.args else ():
            rest = (domain.candidates(parameter, objects) for parameter in domain.actions[name].parameters[1:])
            yield from (Action(name, (action.args[0], *args)) for args in product(*rest))

    def _is_forbidden(self, state: State, action: Action) -> bool:
        """Whether it puts something on what nothing is put aside on, and the goal does not ask for both together."""
        if action.name not in self._by or isinstance(self._goal, Formula):
            return False
        asked = [set(literal.args) for literal in self._goal]
        hot = [a for a in action.args[1:] if any((name, a) in state for name in self._never_on)]
        return any(not any({action.args[0], a} <= together for together in asked) for a in hot)

    def _reaches(self, state: State, plan: Sequence[Action]) -> bool:
        """Whether a plan reaches the goal from a state, which is the same after this."""
        changes, able = [], True
        for action in plan:
            able = self._transition.applicable(state, action)
            if not able:
                break
            changes.append(self._transition.apply(state, action))
        reached = able and not unmet_goal(self._transition, state, self._goal)
        for change in reversed(changes):
            self._transition.undo(state, change)
        return reached

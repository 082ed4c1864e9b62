"""Edits of a plan by a person: drop, move, add a step. Steps are numbered from 1; whether the result passes is checked
by `planweave.core.workflow.approval.Approval.edit`.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from planweave.core.base.errors import GoalError, ParseError, UnknownNameError
from planweave.core.checks.validation import validate
from planweave.core.pddl.formula import conjuncts
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, World

MAX_CHOICES = 400
"""Actions that are offered to be added at most; of each name as many as of the others."""
Plan = tuple[Action, ...]


def drop(plan: Sequence[Action], number: int) -> Plan:
    """A plan without one step; raises GoalError."""
    at = _index(plan, number)
    return (*plan[:at], *plan[at + 1 :])


def move(plan: Sequence[Action], number: int, to: int) -> Plan:
    """A plan in which one step has another number; raises GoalError."""
    at, there = _index(plan, number), _index(plan, to)
    rest = [*plan[:at], *plan[at + 1 :]]
    return (*rest[:there], plan[at], *rest[there:])


def insert(plan: Sequence[Action], action: Action, number: int) -> Plan:
    """A plan with one more step, which gets this number; raises GoalError."""
    if not 1 <= number <= len(plan) + 1:
        raise GoalError(f"a step can be added at 1 to {len(plan) + 1}, not at {number}")
    return (*plan[: number - 1], action, *plan[number - 1 :])


def _index(plan: Sequence[Action], number: int) -> int:
    if not 1 <= number <= len(plan):
        raise GoalError(f"the plan has the steps 1 to {len(plan)}, and no step {number}")
    return number - 1


def choices(domain: Domain, world: World, plan: Sequence[Action], number: int) -> dict[str, Action]:
    """Actions that are applicable before the step of this number, as predicted, by their phrases."""
    transition = Transition(domain, validate(domain, world, plan[: max(number - 1, 0)]).world)
    state = transition.state()
    names = [name for name in domain.actions if name not in world.actions_off]
    found: dict[str, Action] = {}
    for name in names:
        schema = domain.actions[name]
        parts = list(conjuncts(schema.precondition))
        bound = transition.bindings(state, list(schema.parameters), parts, {})
        actions = (Action(name, tuple(binding[p.name] for p in schema.parameters)) for binding in bound)
        fitting = (a for a in actions if transition.applicable(state, a))
        found.update((domain.phrase(a), a) for a in islice(fitting, MAX_CHOICES // len(names) + 1))
    return dict(sorted(found.items()))


def read_step(domain: Domain, world: World, plan: Sequence[Action], text: str, number: int) -> Action:
    """A step that a person has written: ``place_in(red_cube, tray)``, or its phrase; raises GoalError or ParseError."""
    if "(" in text:
        return Action.parse(text)
    offered = choices(domain, world, plan, number)
    found = offered.get(" ".join(text.lower().split()))
    if found is None:
        try:
            return Action.parse(text)  # one without arguments
        except ParseError:
            raise GoalError(str(UnknownNameError("step", text, offered))) from None
    return found

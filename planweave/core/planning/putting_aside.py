"""Where a plan puts down what is only in the way: by the domain's order, and never on what is on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from planweave.core.checks.validation import Goal, unmet_goal
from planweave.core.pddl.formula import Formula
from planweave.core.planning.deadline import Watched
from planweave.core.symbolic.state import State
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action


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

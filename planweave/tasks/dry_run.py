"""A predicted body for dry runs: actions have the effects declared by the domain; nothing moves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planweave.core.base.failure import Code
from planweave.core.checks.validation import Validation, Validator
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import Look, Outcome


class PredictedBody:
    """A LookingBody (core.ports) predicted from one observed world. done: the applicable actions in order.

    The whole plan is validated from the observed world at each step, so that all steps share the same assumptions about
    unobserved objects (planweave.core.checks.validation).
    """

    def __init__(self, domain: Domain, world: World):
        self._validator = Validator(domain, world)
        self._world = world
        self.done: tuple[Action, ...] = ()

    def observe(self, revision: int = 0) -> World:
        """The predicted world after the actions so far."""
        return self._world

    def execute(self, action: Action, **options: Any) -> Outcome:
        """Predict the outcome of an action; nothing moves."""
        check = self._validator.check((*self.done, action))
        if not check.ok:
            code = Code.PRECONDITION_UNMET if check.causes else Code.INVALID_ACTION
            return Outcome(code, check.message, self._world, tuple(c.literal for c in check.causes))
        self.done = (*self.done, action)
        self._world = check.world
        return Outcome(Code.SUCCESS, "predicted; nothing moved", self._world)

    def look(self, seconds: float) -> Look:
        return Look(self._world.all_seen())

    def check(self, goal: Sequence[Literal]) -> Validation:
        """Validation of the actions so far and of the goal after them."""
        return self._validator.check(self.done, goal)

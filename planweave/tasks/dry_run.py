"""A body that moves nothing: the domain predicts what each action would do, so that any method can plan for show."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planweave.core.domain import Domain
from planweave.core.failure import Code
from planweave.core.ports import Look, Outcome
from planweave.core.validation import Validation, Validator
from planweave.core.world import Action, Literal, World


class PredictedBody:
    """A LookingBody (core.ports) over one observed world. done: the actions that can be carried out in their order.

    The whole plan is checked from the observed world each time, so that what it assumes of things never seen
    (planweave.core.validation) is the same for all of its steps.
    """

    def __init__(self, domain: Domain, world: World):
        self._validator = Validator(domain, world)
        self._world = world
        self.done: tuple[Action, ...] = ()

    def observe(self, revision: int = 0) -> World:
        """The world as predicted after the actions so far."""
        return self._world

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """What the domain says that the action would do; nothing moves."""
        check = self._validator.check((*self.done, action))
        if not check.ok:
            code = Code.PRECONDITION_UNMET if check.causes else Code.INVALID_ACTION
            return Outcome(code, check.message, self._world, tuple(c.literal for c in check.causes))
        self.done = (*self.done, action)
        self._world = check.world
        return Outcome(Code.SUCCESS, "predicted; nothing moved", self._world)

    def look(self, seconds: float) -> Look:
        """What would be seen then, were it as predicted."""
        return Look(self._world.all_seen())

    def check(self, goal: Sequence[Literal]) -> Validation:
        """What the domain says of the actions so far and of the goal after them."""
        return self._validator.check(self.done, goal)

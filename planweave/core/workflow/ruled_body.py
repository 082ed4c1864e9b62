"""Rules round a body: an action that breaks one is refused, whoever sent it."""

from __future__ import annotations

from typing import Any

from planweave.core.base.errors import PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import rule_problem
from planweave.core.symbolic.world import Action
from planweave.core.workflow.ports import LookingBody, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody


class RuledBody(WrappedBody):
    """domain: with rules. An action that cannot be checked against them is refused, too."""

    def __init__(self, body: LookingBody, domain: Domain) -> None:
        super().__init__(body)
        self._domain = domain

    def execute(self, action: Action, **options: Any) -> Outcome:
        world = self._body.observe()
        try:
            why = rule_problem(self._domain, world, action)
        except PlanweaveError as error:
            unknown = isinstance(error, UnknownNameError) and error.kind == "object"
            return Outcome(Code.UNKNOWN_OBJECT if unknown else Code.INVALID_ACTION, f"{action}: {error}", world)
        if why:
            return Outcome(Code.INVALID_ACTION, f"nothing was moved, {why}", world)
        return self._body.execute(action, **options)

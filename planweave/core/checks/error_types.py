"""Types of errors, as in Tree-Planner's Tables 3 and 8, found by rule where the paper's authors read the plans.

| type | here |
|---|---|
| environment misunderstanding | an unknown action or object, or a property that no action changes is missing |
| incomplete plan | a condition that no step has brought about; or all steps can be done and the goal is left unmet |
| illogical error | a condition that did hold and that an earlier step ended |
| semantically correct | the domain allows the action, and carrying it out failed |
| incorrect deciding | a right plan was sampled and another one was followed |
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from planweave.core.base.failure import Code
from planweave.core.checks.validation import Validation
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import fixed_predicates
from planweave.core.symbolic.world import Literal

ENVIRONMENT = "environment misunderstanding"
INCOMPLETE = "incomplete plan"
ILLOGICAL = "illogical error"
EXECUTION = "semantically correct"
DECIDING = "incorrect deciding"


def plan_error(check: Validation) -> str:
    """The error of a plan; empty where it reaches the goal."""
    if check.ok:
        return ""
    if check.failed_step is None:
        return INCOMPLETE
    if not check.causes or any(not (cause.achievers or cause.refused) for cause in check.causes):
        return ENVIRONMENT
    return ILLOGICAL if any(cause.destroyed_by is not None for cause in check.causes) else INCOMPLETE


def action_error(domain: Domain, code: Code, unmet: Sequence[Literal], held: Collection[Literal]) -> str:
    """The error of an executed action; empty for success, where a person or a limit stopped it, or it was not begun.

    unmet: conditions that did not hold; held: facts that were observed at some time before.
    """
    if code in (Code.SUCCESS, Code.CANCELED, Code.SAFETY_STOP, Code.NOT_STARTED):
        return ""
    if code in (Code.INVALID_ACTION, Code.UNKNOWN_OBJECT):
        return ENVIRONMENT
    if code is not Code.PRECONDITION_UNMET:
        return EXECUTION
    if any(x.predicate in fixed_predicates(domain) for x in unmet):
        return ENVIRONMENT
    return ILLOGICAL if any(x.positive and x in held for x in unmet) else INCOMPLETE

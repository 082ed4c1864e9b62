"""Symbolic checks before a motion: valid action, known objects, satisfied precondition."""

from __future__ import annotations

from planweave.bodies.arm.failures import SkillFailureError
from planweave.core.base.errors import InvalidActionError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World


def check(domain: Domain, world: World, action: Action) -> None:
    """Raise SkillFailureError: INVALID_ACTION, UNKNOWN_OBJECT, UNREACHABLE or PRECONDITION_UNMET with the unmet
    literals.
    """
    transition = Transition(domain, world)
    try:
        unmet = transition.unmet(transition.state(), action)
    except UnknownNameError as error:
        code = Code.UNKNOWN_OBJECT if error.kind == "object" else Code.INVALID_ACTION
        raise SkillFailureError(code, str(error)) from None
    except InvalidActionError as error:
        raise SkillFailureError(Code.INVALID_ACTION, str(error)) from None
    if not unmet:
        return
    far = [literal.args[0] for literal in unmet if literal.predicate == "reachable" and literal.positive]
    if far and Literal("handed_over", (far[0],)) in world.facts:
        raise SkillFailureError(Code.UNREACHABLE, f"{far[0]} was handed over: a person has it", unmet)
    if far:
        raise SkillFailureError(Code.UNREACHABLE, f"{far[0]} is out of the workspace of the robot", unmet)
    missing = "; ".join(f"{domain.phrase(literal.negated())}" for literal in unmet)
    raise SkillFailureError(Code.PRECONDITION_UNMET, f"cannot {domain.phrase(action)}: {missing}", unmet)

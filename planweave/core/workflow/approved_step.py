"""The approved step that a task carries out now, as its body is told, and the body's check of an action against it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.world import Action


@dataclass(frozen=True)
class ApprovedStep:
    """The fields are those of ApprovedStep.msg. digest: of the secret token with which the action is sent (`digest`);
    who reads it learns no token.
    """

    task_id: str
    plan_hash: str
    action: Action
    approver: str
    digest: str


OnApproved = Callable[[ApprovedStep | None], None]
"""Called with the step that may be carried out now, before it is sent; with None once it is over."""


def digest(token: str) -> str:
    """SHA-256 of a token, hexadecimal."""
    return hashlib.sha256(token.encode()).hexdigest()


class StepCheck:
    """A body's check: an action is carried out that is the approved step now and has its token, once.

    Not thread-safe.
    """

    def __init__(self) -> None:
        self._step: ApprovedStep | None = None
        self._spent = ""  # digest of the token that was redeemed last

    def publish(self, step: ApprovedStep | None) -> None:
        """Set the approved step, None for none; the one before is revoked."""
        self._step = step

    def knows(self, token: str) -> bool:
        return self._step is not None and hmac.compare_digest(self._step.digest.encode(), digest(token).encode())

    def redeem(self, token: str, task_id: str, action: Action) -> ApprovedStep:
        """The approved step of a token, which this spends, also where it is that of another action; any other leaves
        the step as it is. Raises GoalError.
        """
        step = self._step
        known = step is not None and self.knows(token) and step.digest != self._spent
        if step is not None and known:
            self._spent = step.digest
        if step is None or not known or (step.task_id, step.action) != (task_id, action):
            raise GoalError(f"{action} is not the next step of an approved plan")
        return step

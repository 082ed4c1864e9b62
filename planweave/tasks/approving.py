"""Approval round a task's body: an action waits for a person, and carries the token of the approved step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.approval import Approval, Decision, OutdatedError, Request
from planweave.core.workflow.ports import Outcome
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.methods.running.episode import Episode


class ApprovedBody(WrappedBody):
    """look: the world as a look shows it that begins after the call."""

    _body: WrappedBody

    def __init__(self, body: WrappedBody, episode: Episode, approval: Approval, look: Callable[[], World]) -> None:
        super().__init__(body)
        self._episode, self._approval, self._look = episode, approval, look

    def execute(self, action: Action, *, plan: tuple[Action, ...] = (), **options: Any) -> Outcome:
        """See planweave.core.workflow.ports.Body. plan: the action and what shall follow it, approved together."""
        episode = self._episode
        goal = episode.goal if plan else ()
        while True:
            token = self._approval.pass_through(
                plan or (action,), episode.domain, self.observe, self._look, goal, episode.canceled, self._changed
            )
            try:
                return self._body.execute(action, plan=plan, approval=token, **options)
            except OutdatedError:
                continue
            finally:
                self._approval.revoke()

    def _changed(self, request: Request, word: Decision | None) -> None:
        episode = self._episode
        if word is None:
            episode.journal.add(
                "approval_asked",
                plan=[str(a) for a in request.plan],
                hash=request.hash,
                changes=list(request.changes),
                check=request.check,
                **({"edited_by": request.editor or "a person"} if request.edited else {}),
            )
            episode.tell("waiting for approval", f"the plan waits for approval; validation: {request.check}")
        else:
            episode.journal.add(
                "approval", hash=request.hash, approve=word.approve, approver=word.approver, comment=word.comment
            )
            episode.message = word.comment  # what the domain said of the plan is answered
            episode.tell("approved" if word.approve else "not approved")

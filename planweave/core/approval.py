"""Human approval of plans before the robot moves: one gate per task, independent of the planning method.

A method announces its intended plan (`announce`); every action passes the gate (`pass_through`). The next step of an
approved plan passes without asking. Any other action creates a request that waits for `answer`: for the announced plan
if it begins with this action, otherwise for the action alone. A method that decides one step at a time therefore asks
at every step, and a changed plan is requested again together with its changes. Actions in the vicinity of people
(approved individually) are always requested separately, also within an approved plan.

A passed action carries a token: a secret valid once, for this action only. A body with the parameter require_approval
verifies it (`confirm`), so that it rejects actions from any other source.
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from planweave.core.cancellation import Cancellation
from planweave.core.domain import Domain
from planweave.core.errors import CanceledError, GoalError
from planweave.core.validation import validate
from planweave.core.world import Action, Literal, World


@dataclass(frozen=True)
class Request:
    """A plan that waits for approval.

    check: its validation in words; changes: its differences from the plan approved before.
    """

    plan: tuple[Action, ...]
    words: tuple[str, ...]
    hash: str
    changes: tuple[str, ...]
    check: str


@dataclass(frozen=True)
class Answer:
    """A person's answer to a request."""

    approve: bool
    comment: str
    approver: str = ""  # who says so, as the sender of the answer tells; nobody checks it


class Approval:
    """The approval gate of one task. seconds: how long to wait for an answer, after which the task is cancelled."""

    def __init__(self, task_id: str, seconds: float, alone: Collection[str] = ()):
        """alone: names of the actions that are approved individually."""
        self._task_id, self._seconds, self._alone = task_id, seconds, frozenset(alone)
        self._answered = threading.Condition()
        self._announced: tuple[Action, ...] = ()
        self._left: tuple[Action, ...] = ()  # what of the plan approved last was not done yet
        self._asked = 0
        self._word: Answer | None = None
        self._open: tuple[str, Action] | None = None  # the token that is good now, and for what
        self.approver = ""  # who approved the last plan
        self.shown: Request | None = None  # the plan asked for last
        self.waiting = False

    def announce(self, plan: Sequence[Action]) -> None:
        """Set the actions that the method intends to execute from here on."""
        self._announced = tuple(plan)

    def pass_through(
        self,
        action: Action,
        domain: Domain,
        world: World,
        goal: Sequence[Literal],
        canceled: Cancellation,
        on_change: Callable[[Request, Answer | None], None],
    ) -> str:
        """Return the token of an action once it is approved; on_change is called with the request, and again with its
        answer.

        Raises CanceledError where the plan is refused, the answer does not come in time, or the task is cancelled
        meanwhile.
        """
        planned = self._left[:1] == (action,)
        alone = action.name in self._alone
        if planned and not alone:
            self._left = self._left[1:]
            self._announced = self._left
            return self._token(action)
        whole = self._announced[:1] == (action,) and not alone
        plan = self._announced if whole else (action,)
        check = validate(domain, world, plan, goal if whole else ())
        self._asked += 1
        name = plan_hash(self._task_id, self._asked, plan)
        words = tuple(domain.phrase(a) if a.name in domain.actions else str(a) for a in plan)  # the body refuses those
        changes = () if planned else _changes(self._left, plan)
        request = Request(plan, words, name, changes, check.message)
        word = self._ask(request, canceled, on_change)
        if not word.approve:
            raise CanceledError("the plan was not approved" + (f": {word.comment}" if word.comment else ""))
        self._left = self._announced = self._left[1:] if planned else plan[1:]
        self.approver = word.approver
        return self._token(action)

    def _token(self, action: Action) -> str:
        token = secrets.token_hex(16)
        with self._answered:
            self._open = token, action
        return token

    def confirm(self, token: str, action: Action) -> str:
        """Name of the person who approved the action of a token, which is valid once; raises GoalError for any other
        token.
        """
        with self._answered:
            good, self._open = self._open, None
        if good is None or not hmac.compare_digest(good[0].encode(), token.encode()) or good[1] != action:
            raise GoalError(f"{action} is not the next step of an approved plan")
        return self.approver

    def _ask(
        self, request: Request, canceled: Cancellation, on_change: Callable[[Request, Answer | None], None]
    ) -> Answer:
        with self._answered:
            self._word, self.shown, self.waiting = None, request, True
        try:
            on_change(request, None)
            with canceled.calling(self._wake), self._answered:
                self._answered.wait_for(lambda: self._word is not None or canceled.is_set, self._seconds)
                word = self._word
        finally:
            with self._answered:
                self.waiting = False
        canceled.check()
        if word is None:
            raise CanceledError(
                f"the plan was not approved within {self._seconds:g} s, so the task is cancelled; nothing was moved"
            )
        on_change(request, word)
        return word

    def _wake(self) -> None:
        with self._answered:
            self._answered.notify_all()

    def answer(self, plan_hash: str, approve: bool, comment: str = "", approver: str = "") -> None:
        """Record a person's answer to the pending request; raises GoalError where none is pending or its hash
        differs.
        """
        with self._answered:
            if not self.waiting or self._word is not None or self.shown is None:
                raise GoalError("no plan of this task waits for approval; `planweave status` says what it does")
            if plan_hash != self.shown.hash:
                raise GoalError(
                    f"the pending plan is {self.shown.hash}, not {plan_hash or 'empty'}: it changed; read it again "
                    "(planweave approve) and send its hash"
                )
            self._word = Answer(approve, comment, approver)
            self._answered.notify_all()


def plan_hash(task_id: str, number: int, plan: Sequence[Action]) -> str:
    """Identifier of one plan of one task: the first 12 hexadecimal digits of a SHA-256.

    number: the number of the request in its task, so that a repeated answer cannot approve a later request.
    """
    return hashlib.sha256("\n".join([task_id, str(number), *map(str, plan)]).encode()).hexdigest()[:12]


def _changes(before: Sequence[Action], after: Sequence[Action]) -> tuple[str, ...]:
    """Diff against the rest of the previously approved plan, lines with - and +; empty for a first plan."""
    if not before:
        return ()
    lines = difflib.ndiff([str(a) for a in before], [str(a) for a in after])
    return tuple(line for line in lines if line[0] in "-+")

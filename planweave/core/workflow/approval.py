"""Human approval of plans before the robot moves: one gate per task, independent of the planning method.

Every action passes the gate (`pass_through`) with what its method intends to do after it. The next step of an approved
plan passes without asking. Any other creates a request, for the whole intended plan, that waits for `answer`. A method
that decides one step at a time therefore asks at every step, and a changed plan is requested again together with its
changes. Actions in the vicinity of people
(approved individually) are always requested separately, also within an approved plan.

An approval holds for what the person saw: where, in a look taken after the answer, a thing that the plan names has
moved or gone, or other preconditions of it hold, it is requested anew with what has changed. A person may also edit
the plan that waits (`edit`); an edited plan that is approved takes the place of the method's own (`PlanEdited`).

A passed action carries a token: a secret valid once, for this action only, until it is over (`revoke`). What a body
with the parameter require_approval needs to check it by itself is published before (`approved_step`), so that it
rejects actions from any other source.
"""

from __future__ import annotations

import difflib
import hashlib
import hmac
import math
import secrets
import threading
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import CanceledError, GoalError, PlanRefusedError, PlanweaveError
from planweave.core.checks.validation import validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.pause import wait_unpaused


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


NEAR_PEOPLE = ("hand_over", "push_aside")
"""Actions in the vicinity of people or of what stands close: by default off on an arm, and approved individually."""
_SINCE = "since it was shown: "
MOVED = 0.03
"""Distance by which a thing must have moved for an approval not to hold any more, m."""
_GRID = 0.01  # to which positions are rounded in the text, m
Position = tuple[float, float, float]


@dataclass(frozen=True)
class Request:
    """A plan that waits for approval.

    check: its validation in words; changes: its differences from the plan approved before, and what is different in the
    world. basis: what it is approved upon. editor: the person who has made it of the method's plan, empty for none.
    """

    plan: tuple[Action, ...]
    words: tuple[str, ...]
    hash: str
    changes: tuple[str, ...]
    check: str
    basis: ApprovalBasis
    editor: str = ""
    edited: bool = False

    @property
    def changed(self) -> bool:
        """Whether it was approved before, and the world had changed since it was shown."""
        return any(change.startswith(_SINCE) for change in self.changes)


class PlanEdited(Exception):
    """A person has approved another plan than the method's, which is to be carried out in its place."""

    def __init__(self, plan: Sequence[Action]):
        super().__init__("a person has edited the plan")
        self.plan = tuple(plan)


class OutdatedError(Exception):
    """Things are no longer as they were shown for approval."""


@dataclass(frozen=True)
class _Asking:
    """Sources of a pending request: the domain, the world as it is now, and the goal that the plan must reach."""

    domain: Domain
    observe: Callable[[], World]
    goal: tuple[Literal, ...]
    on_change: Callable[[Request, Decision | None], None]


@dataclass(frozen=True)
class Decision:
    approve: bool
    comment: str
    approver: str = ""  # who says so, as the sender of the answer tells; nobody checks it


class Approval:
    """The approval gate of one task. seconds: how long to wait for an answer, after which the task is cancelled."""

    def __init__(
        self,
        task_id: str,
        seconds: float,
        alone: Collection[str] = (),
        moved: float = MOVED,
        publish: OnApproved = lambda step: None,
    ):
        """alone: names of the actions that are approved individually. moved: see ApprovalBasis.changes. publish: tells
        the body the approved step.
        """
        self._task_id, self._seconds, self._alone = task_id, seconds, frozenset(alone)
        self._moved, self._publish = moved, publish
        self._answered = threading.Condition()
        self._left: tuple[Action, ...] = ()  # what of the plan approved last was not done yet
        self._asked, self._passed = 0, False  # requests so far; whether a step has passed
        self._word: Decision | None = None
        self._asking: _Asking | None = None  # of the request that waits
        self._current: Request | None = None  # approved for the step that passed last, where it was asked for that step
        self._since: tuple[str, ...] = ()  # what of it has changed before the step was sent
        self.notes: tuple[str, ...] = ()  # what a person is told with every new plan
        self.approver = ""  # who approved the last plan
        self.shown: Request | None = None  # the plan asked for last
        self.waiting = False
        self.paused: Callable[[], bool] = lambda: False  # whether the time to answer stands still

    def pass_through(
        self,
        intended: Sequence[Action],
        domain: Domain,
        observe: Callable[[], World],
        look: Callable[[], World],
        goal: Sequence[Literal],
        canceled: Cancellation,
        on_change: Callable[[Request, Decision | None], None],
    ) -> str:
        """Return the token of the first intended action once it is approved; on_change is called with the request, and
        again with its answer. observe: the newest world. look: the world as a look after this call shows it.

        Raises CanceledError where the plan is refused, the answer does not come in time, or the task is cancelled
        meanwhile; PlanEdited where another plan was approved.
        """
        action, *rest = intended
        self._current = None
        planned = self._left[:1] == (action,)
        alone = action.name in self._alone
        if planned and not alone:
            self._left = self._left[1:]
            return self._token(action)
        own = plan = (action,) if alone else (action, *rest)
        changes = self._since or (() if planned else (*self.notes, *_changes(self._left, plan)))
        self._since = ()
        asking = _Asking(domain, observe, () if alone else tuple(goal), on_change)
        while True:
            request, word = self._ask(self._request(asking, plan, changes), asking, canceled)
            if not word.approve:
                because = f": {word.comment}" if word.comment else ""
                raise PlanRefusedError(
                    f"the plan was not approved{because}", word.comment, word.approver, request.words
                )
            plan = request.plan
            changes = request.basis.changes(ApprovalBasis.of(domain, look(), plan), domain, self._moved)
            if not changes:
                break
            changes = tuple(f"{_SINCE}{change}" for change in changes)
        self.approver = word.approver
        if plan != own:
            self._left = plan
            raise PlanEdited(plan)
        self._left, self._current = self._left[1:] if planned else plan[1:], request
        return self._token(action)

    def check_since(self, domain: Domain, world: World) -> None:
        """Raise OutdatedError where what was approved for the step that has passed has changed since, in a pause before
        it was sent: it is to be asked for anew.
        """
        request = self._current
        if request is None:
            return
        changes = request.basis.changes(ApprovalBasis.of(domain, world, request.plan), domain, self._moved)
        if changes:
            self._left, self._since = (), tuple(f"{_SINCE}{change}" for change in changes)
            raise OutdatedError

    def go_on(self, action: Action) -> None:
        """An approved action was interrupted and goes on with this one: itself, or a part of it."""
        self._left = (action, *self._left)

    def _request(
        self,
        asking: _Asking,
        plan: tuple[Action, ...],
        changes: tuple[str, ...],
        editor: str = "",
        edited: bool = False,
    ) -> Request:
        """A request for a plan in the world as it is now; raises GoalError for an edited plan that does not pass."""
        domain, world = asking.domain, asking.observe()
        check = validate(domain, world, plan, asking.goal)
        if edited and not check.ok:
            raise GoalError(f"the edited plan does not pass, so the plan is as it was: {check.message}")
        basis = ApprovalBasis.of(domain, world, plan)
        with self._answered:
            self._asked += 1
            name = plan_hash(self._task_id, self._asked, plan, basis)
        words = tuple(domain.phrase(a) if a.name in domain.actions else str(a) for a in plan)  # the body refuses those
        return Request(plan, words, name, changes, check.message, basis, editor, edited)

    def edit(self, plan_hash: str, plan: Sequence[Action], editor: str = "") -> Request:
        """Replace the pending plan; what waits from now on. Raises GoalError where none is pending, its hash differs,
        or the new plan does not pass the check: the plan is then as it was.
        """
        with self._answered:
            before, asking = self._pending(plan_hash), self._asking
        assert asking is not None
        request = self._request(asking, tuple(plan), _changes(before.plan, plan), editor, edited=True)
        with self._answered:
            self._pending(plan_hash)
            self.shown = request
        asking.on_change(request, None)
        return request

    def _token(self, action: Action) -> str:
        token, shown = secrets.token_hex(16), self.shown
        assert shown is not None
        self._passed = True
        self._publish(ApprovedStep(self._task_id, shown.hash, action, self.approver, digest(token)))
        return token

    def revoke(self) -> None:
        """The approved step is over: its token is good no longer."""
        self._current = None
        self._publish(None)

    def _ask(self, request: Request, asking: _Asking, canceled: Cancellation) -> tuple[Request, Decision]:
        """The answer, and the request that it is for: a person may have edited the plan meanwhile."""
        with self._answered:
            self._word, self.shown, self.waiting, self._asking = None, request, True, asking
        try:
            asking.on_change(request, None)
            wait_unpaused(self._answered, lambda: self._word is not None, self._seconds, self.paused, canceled)
        finally:
            with self._answered:
                word, request = self._word, self.shown
                self.waiting, self._asking = False, None
        canceled.check()
        if word is None:
            again = " again, as the world had changed since it was shown," if request.changed else ""
            moved = "nothing more is moved" if self._passed else "nothing was moved"
            raise CanceledError(
                f"the plan was not approved{again} within {self._seconds:g} s, so the task is cancelled; {moved}"
            )
        asking.on_change(request, word)
        return request, word

    def answer(self, plan_hash: str, approve: bool, comment: str = "", approver: str = "") -> None:
        """Record a person's answer to the pending request; raises GoalError where none is, or its hash differs."""
        with self._answered:
            self._pending(plan_hash)
            self._word = Decision(approve, comment, approver)
            self._answered.notify_all()

    def _pending(self, plan_hash: str) -> Request:
        """The pending request, whose hash must be this; the lock is held."""
        if not self.waiting or self._word is not None or self.shown is None:
            raise GoalError("no plan of this task waits for approval; `planweave status` says what it does")
        if plan_hash != self.shown.hash:
            raise GoalError(
                f"the pending plan is {self.shown.hash}, not {plan_hash[:100] or 'empty'}; read it again "
                "(planweave approve) and send its hash"
            )
        return self.shown


def plan_hash(task_id: str, number: int, plan: Sequence[Action], basis: ApprovalBasis) -> str:
    """Identifier of one plan of one task, and of what it is approved upon: first 12 hexadecimal digits of a SHA-256.

    number: the number of the request in its task, so that a repeated answer cannot approve a later request.
    """
    lines = [task_id, str(number), *map(str, plan), "", *basis.lines()]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


def _changes(before: Sequence[Action], after: Sequence[Action]) -> tuple[str, ...]:
    """Diff against the rest of the previously approved plan, lines with - and +; empty for a first plan."""
    if not before:
        return ()
    lines = difflib.ndiff([str(a) for a in before], [str(a) for a in after])
    return tuple(line for line in lines if line[0] in "-+")


@dataclass(frozen=True)
class ApprovalBasis:
    """Basis of an approval. places: of the things that a plan names, m, None where the place is not known; things
    that are not there are left out. unmet: preconditions of its steps that do not hold before the first one.
    """

    places: dict[str, Position | None]
    unmet: frozenset[Literal]

    @classmethod
    def of(cls, domain: Domain, world: World, plan: Sequence[Action]) -> ApprovalBasis:
        """The basis on which a plan is approved in a world."""
        named = dict.fromkeys(arg for action in plan for arg in action.args)
        places = {name: world.by_name[name].position for name in named if name in world.by_name}
        transition, unmet = Transition(domain, world), set[Literal]()
        state = transition.state()
        for action in plan:
            try:
                unmet.update(transition.unmet(state, action))
            except PlanweaveError:  # no action over these objects; the check of the plan says so
                continue
        return cls(places, frozenset(unmet))

    def changes(self, now: ApprovalBasis, domain: Domain, moved: float = MOVED) -> tuple[str, ...]:
        """Differences from `now`, a sentence each; empty where the approval still holds. moved: see MOVED."""
        found = [f"{name} is gone" for name in self.places if name not in now.places]
        found += [f"{name} is new" for name in now.places if name not in self.places]
        for name, place in self.places.items():
            there = now.places.get(name)
            if name in now.places and (place is None) != (there is None):
                found.append(f"the place of {name} is {'known now' if there else 'not known any more'}")
            elif place is not None and there is not None and (way := math.dist(place, there)) > moved:
                found.append(f"{name} has moved by {way * 100:.0f} cm")
        found += [domain.phrase(x.negated()) for x in sorted(now.unmet - self.unmet)]
        found += [domain.phrase(x) for x in sorted(self.unmet - now.unmet)]
        return tuple(found)

    def lines(self) -> list[str]:
        """The same as text, positions rounded; for the plan's hash."""
        places = [f"{name} at {_rounded(place)}" for name, place in sorted(self.places.items())]
        return [*places, *map(str, sorted(self.unmet))]


def _rounded(place: Position | None) -> str:
    return " ".join(f"{round(x / _GRID) * _GRID:.2f}" for x in place) if place is not None else "?"

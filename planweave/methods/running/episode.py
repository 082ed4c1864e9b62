"""An attempt at a task, as its method sees it: planner and body ports, goal, and bookkeeping of every action."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import ParseError, PlanweaveError, UnknownNameError
from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.checks.error_types import action_error
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, inverse_actions
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.trees.action_tree import TreeNode
from planweave.core.workflow.approval import Approval, Decision, Request
from planweave.core.workflow.pause import Pause
from planweave.core.workflow.ports import Body, Outcome, Planner
from planweave.methods.running.after_pause import AfterPause, Resumed
from planweave.methods.running.journal import Journal


@dataclass
class Episode:
    """The interface of a method to its task. `changed` is called after every change of the task's status;
    `wait_while_paused` returns how it found the world after a pause, None where there was none; `look` is the world as
    it is seen after an approval, by default the body's newest. observed: facts around the actions so far.
    """

    task_id: str
    sentence: str
    goal: tuple[Literal, ...]
    domain: Domain
    planner: Planner
    body: Body
    journal: Journal
    canceled: Cancellation = field(default_factory=Cancellation)
    changed: Callable[[], None] = lambda: None
    action_timeout: float = 0.0
    approval: Approval | None = None
    dry_run: bool = False
    namespace: str = ""  # of the body, for messages
    pause: Pause = field(default_factory=Pause)
    wait_while_paused: Callable[[], Resumed | None] = lambda: None
    look: Callable[[], World] | None = None

    phase: str = ""
    message: str = ""
    action: Action | None = None
    tree: TreeNode | None = None
    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    executed: int = 0
    corrections: int = 0
    questions: int = 0
    fallback: bool = False
    alone: bool = False  # no other method takes over: the method's switch `paper`, or a given tree
    used: list[Action] = field(default_factory=list)
    pushed: list[str] = field(default_factory=list)
    failed: Outcome | None = None  # of the last action, where it failed
    stopped: bool = False  # by a person or a safety limit: nothing more may be tried
    undo_problem: str = ""  # why the last action could not be undone
    observed: set[Literal] = field(default_factory=set)
    said: deque[str] = field(default_factory=deque)
    intended: tuple[Action, ...] = ()  # the actions that the method announced, from the next one on

    def tell(self, phase: str = "", message: str = "") -> None:
        """Publish phase and message, this in words for people."""
        self.phase = phase or self.phase
        self.message = self.domain.told(message) or self.message
        self.changed()

    def observe(self) -> World:
        """The newest world."""
        self.canceled.check()
        return self.body.observe().with_derived(self.goal)

    def spend(self, usage: Usage | None) -> None:
        """Add language model usage."""
        self.usage = self.usage + (usage or Usage())
        self.changed()

    def intend(self, plan: Sequence[Action]) -> None:
        """Announce the intended actions, as far as the method knows them, for approval."""
        self.intended = tuple(plan)
        if self.approval is not None:
            self.approval.announce(plan)

    def execute(self, action: Action, undoing: bool = False) -> Outcome:
        """Execute one action and record its outcome.

        It waits while the task is paused. After a pause an interrupted action goes on where it is still right, and
        fails where the world was changed so that its plan is not; raises ReachedMeanwhileError where nothing is left to
        do.
        """
        self.canceled.check()
        plan = self.intended if self.intended[:1] == (action,) else (action,)
        self.intended = plan[1:]
        outcome = self._problem_after_pause(plan)
        if outcome is None:
            token = self._approved(action)
            outcome = self._problem_after_pause(plan)  # it may have been paused while somebody read the plan
        began = None
        while outcome is None:
            began = began or self.observe()
            outcome = self._attempt(action, undoing, token)
            if outcome.code is Code.CANCELED and self.pause.is_set:
                outcome, action = self._go_on(began, (action, *plan[1:]))
                token = self._approved(action, again=True) if outcome is None else ""
        return outcome

    def _approved(self, action: Action, again: bool = False) -> str:
        """The token of an action once it is approved; again: it is the rest of an approved one."""
        if self.approval is None:
            return ""
        if again:
            self.approval.go_on(action)
        observe, look = self.body.observe, self.look or self.body.observe
        return self.approval.pass_through(
            action, self.domain, observe, look, self.goal, self.canceled, self._approval_changed
        )

    def _problem_after_pause(self, plan: tuple[Action, ...]) -> Outcome | None:
        """Wait while the task is paused; the failure of a plan that is no longer right after that."""
        resumed = self.wait_while_paused()
        if resumed is None or resumed.before is None:
            return None
        after = AfterPause(self.domain, self.goal, resumed)
        after.check_goal()
        return self._told(plan[0], after.problem(resumed.before.with_derived(self.goal), plan, plan))

    def _go_on(self, began: World, plan: tuple[Action, ...]) -> tuple[Outcome | None, Action]:
        """Wait while the task is paused, after it interrupted the first action of a plan: its outcome where that is
        decided, else the action with which it goes on. began: the world before it.
        """
        action, rest = plan[0], plan[1:]
        resumed = self.wait_while_paused()
        if resumed is None:
            return None, action
        after = AfterPause(self.domain, self.goal, resumed)
        if after.is_done(began, action):
            done = Outcome(Code.SUCCESS, "it was done when it was interrupted, as seen after the pause", after.now)
            return self._told(action, done), action
        after.check_goal()
        step = after.next_step(began, action)
        if step is None:
            return self._told(action, after.refused(action)), action
        return self._told(action, after.problem(began, plan, (step, *rest))), step

    def _told(self, action: Action, outcome: Outcome | None) -> Outcome | None:
        """Record an outcome that was decided after a pause, without the body."""
        if outcome is not None:
            self.journal.add(
                "after_pause", action=str(action), code=outcome.code.name, message=outcome.message, done=outcome.ok
            )
            self.executed += outcome.ok
            self.failed = None if outcome.ok else outcome
            self.observed.update(outcome.world.facts)
            self.tell(message="" if outcome.ok else outcome.message)
        return outcome

    def _attempt(self, action: Action, undoing: bool, token: str) -> Outcome:
        """Have the body execute an action, and record its outcome."""
        why = "undo" if undoing else "fallback" if self.fallback else "plan"
        verb = "predicting" if self.dry_run else "acting"
        self.action, self.steps = action, self.steps + 1
        self.used.append(action)
        self.tell(verb if why == "plan" else f"{verb} ({why})")
        if not self.observed:
            self.observed.update(self.body.observe().facts)
        if not self.dry_run:
            self.journal.begin(str(action))
        begun = time.monotonic()
        outcome = self._acted(action, token)
        self.action = None
        interrupted = self.pause.is_set and outcome.code is Code.CANCELED
        if self.pause.is_set:
            self.pause.know(outcome.world)
            self.pause.note = f"{action} was interrupted" if interrupted else ""
        self.failed = None if outcome.ok or interrupted else outcome
        self.stopped = self.stopped or (outcome.final and not interrupted)
        wrong = action_error(self.domain, outcome.code, outcome.unmet, self.observed)
        self.observed.update(outcome.world.facts)
        self.executed += outcome.ok and not self.dry_run
        self.journal.add(
            "predicted" if self.dry_run else "action",
            action=str(action),
            why=why,
            code=outcome.code.name,
            message=outcome.message,
            unmet=[str(u) for u in outcome.unmet],
            motion_seconds=round(outcome.motion_seconds, 3),
            planning_seconds=round(outcome.planning_seconds, 4),
            wall_seconds=round(time.monotonic() - begun, 4),
            facts=[str(f) for f in sorted(outcome.world.facts)],
            **({"pushed": list(outcome.pushed)} if outcome.pushed else {}),
            **({"error_type": wrong} if wrong else {}),
        )
        self.pushed += [name for name in outcome.pushed if name not in self.pushed]
        self.tell(message=outcome.message if not outcome.ok or outcome.pushed else "")
        return outcome

    def _acted(self, action: Action, token: str) -> Outcome:
        """The body's outcome of an action, which a pause stops where the body can be stopped."""
        begin, stop = getattr(self.body, "begin", None), getattr(self.body, "stop", None)

        def stop_body() -> None:
            if stop is not None:
                stop(Code.CANCELED, f"the task was {self.pause.message}")

        def on_phase(phase: str, progress: float) -> None:
            self.tell(f"acting: {phase}")

        if begin is not None:
            begin(self.action_timeout)
        with self.pause.calling(stop_body):
            outcome = self.body.execute(
                action, task_id=self.task_id, timeout=self.action_timeout, on_phase=on_phase, approval=token
            )
        return replace(outcome, world=outcome.world.with_derived(self.goal))

    def _approval_changed(self, request: Request, word: Decision | None) -> None:
        if word is None:
            self.journal.add(
                "approval_asked",
                plan=[str(a) for a in request.plan],
                hash=request.hash,
                changes=list(request.changes),
                check=request.check,
                **({"edited_by": request.editor or "a person"} if request.edited else {}),
            )
            self.tell("waiting for approval", f"the plan waits for approval; validation: {request.check}")
        else:
            self.journal.add(
                "approval", hash=request.hash, approve=word.approve, approver=word.approver, comment=word.comment
            )
            self.message = word.comment  # what the domain said of the plan is answered
            self.tell("approved" if word.approve else "not approved")

    def follow(self, plan: Sequence[Action]) -> None:
        """Execute a plan open loop: failed actions are skipped, as in the papers' open-loop baselines."""
        for index, action in enumerate(plan):
            self.intend(plan[index:])
            if self.execute(action).final:
                return
        self.tell("plan ended")

    def feedback(self) -> list[str]:
        """Feedback of people since the last call; treated as additional error messages."""
        said = []
        while self.said:
            said.append(self.said.popleft())
        return said

    def resolve(self, name: str, args: Sequence[str]) -> Action:
        """An action over objects as a model names them: exactly, in another spelling, by class or a synonym of it.

        Raises ParseError.
        """
        world = self.observe()
        return Action(name, tuple(self.object_named(world, arg) for arg in args))

    def object_named(self, world: World, name: str) -> str:
        """The object that an action takes for a name: of a class the one acted on last, else the first; raises
        ParseError.
        """
        plain = name.strip().lower().replace(" ", "_").replace("-", "_")
        for candidate in (name, plain):
            if candidate in world.by_name:
                return candidate
        for noun in (plain, *self.domain.synonyms(plain)):
            of_class = [o.name for o in world.objects if o.class_name.lower() in (noun, noun.replace("_", ""))]
            if of_class:
                break
        if not of_class:
            raise ParseError(str(UnknownNameError("object", name, world.by_name)))
        last = [a for action in reversed(self.used) for a in action.args if a in of_class]
        return last[0] if last else of_class[0]  # the same one again, else the first

    def undo(self, action: Action, before: World) -> bool:
        """Undo an action by its declared inverse; False where that fails, with the reason in `undo_problem`."""
        self.undo_problem = ""
        inverse = inverse_actions(self.domain, before, action)
        if inverse is None:
            self._not_undone(action, "the domain declares no inverse")
            self.tell(message=f"{action} cannot be undone: {self.undo_problem}; going on from here")
            return False
        for step in inverse:
            world = self.observe()
            transition = Transition(self.domain, world)
            try:
                missing = transition.unmet(transition.state(), step)
            except PlanweaveError as error:
                self._not_undone(action, str(error), step)
                return False
            if missing:
                self._not_undone(action, "not needed or not possible now: " + ", ".join(map(str, missing)), step)
                return False
            outcome = self.execute(step, undoing=True)
            if not outcome.ok:
                self._not_undone(action, outcome.message, step)
                self.tell(message=f"{action} could not be undone: {outcome.message}; going on from here")
                return False
            self.journal.add("undo", action=str(action), by=str(step), done=True, reason=outcome.message)
        return True

    def _not_undone(self, action: Action, reason: str, step: Action | None = None) -> None:
        self.undo_problem = reason
        by = {"by": str(step)} if step is not None else {}
        self.journal.add("undo", action=str(action), **by, done=False, reason=reason)

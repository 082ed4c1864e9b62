"""Pauses round a task's body: nothing moves while the task is paused; resumed, it looks anew, tells what has changed
meanwhile, and goes on with what is still right.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from planweave.core.base.errors import CanceledError, PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow.ports import Look, LookingBody, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody
from planweave.methods.running.episode import Episode
from planweave.tasks.after_pause import AfterPause, Resumed, changes_between
from planweave.tasks.task import Task

_SHOWN = 8  # changes in the task's message; the record has all
_LOOKS = 6  # at most, while a thing is missing: what was moved is seen some images after its old place is seen empty
BETWEEN_LOOKS = 0.2
"""Seconds from one look at the world to the next."""


Plan = tuple[Action, ...]
"""An action and what its method intends to do after it; empty where it told nothing."""


class PauseGate(WrappedBody):
    """Waits while the task is paused. A plan that is no longer right after that fails, and nothing moves.

    wait: returns how the world was found after a pause, None where there was none.
    """

    _body: WrappedBody

    def __init__(self, body: WrappedBody, task: Task, episode: Episode, wait: Callable[[], Resumed | None]) -> None:
        super().__init__(body)
        self._task, self._episode, self._wait = task, episode, wait

    def execute(self, action: Action, *, plan: Plan = (), **options: Any) -> Outcome:
        return self._problem(plan or (action,)) or self._body.execute(action, plan=plan, **options)

    def _problem(self, plan: Plan) -> Outcome | None:
        """Wait; the failure of a plan that is no longer right after that. Raises ReachedMeanwhileError, and
        OutdatedError where it was approved meanwhile and things are not as they were shown.
        """
        if (after := self._after_pause()) is None or after.resumed.before is None:
            return None
        if self._task.approval is not None:
            self._task.approval.check_since(self._episode.domain, after.now)
        outcome = after.problem(plan)
        return None if outcome is None else self._told(plan[0], outcome)

    def _after_pause(self) -> AfterPause | None:
        resumed = self._wait()
        return None if resumed is None else AfterPause(self._episode.domain, self._episode.goal, resumed)

    def _told(self, action: Action, outcome: Outcome) -> Outcome:
        """Record an outcome that was decided without the body."""
        episode = self._episode
        episode.journal.add(
            "after_pause", action=str(action), code=outcome.code.name, message=outcome.message, done=outcome.ok
        )
        episode.executed += outcome.ok
        episode.failed = None if outcome.ok else outcome
        episode.observed.update(outcome.world.facts)
        episode.tell(message="" if outcome.ok else outcome.message)
        return outcome


class ResumedBody(PauseGate):
    """Goes on with an action that a pause has interrupted, too, or with the rest of it."""

    def execute(self, action: Action, *, plan: Plan = (), **options: Any) -> Outcome:
        outcome, began = self._problem(plan or (action,)), None
        while outcome is None:
            done = self._body.execute(action, plan=plan, **options)
            began = began or self._episode.before
            if began is None or done.code is not Code.CANCELED or not self._task.pause.is_set:
                return done
            if (after := self._after_pause()) is not None:
                rest = after.rest(began, plan or (action,))
                if isinstance(rest, Outcome):
                    return self._told(action, rest)
                action, plan = rest, (rest, *plan[1:])
            if self._task.approval is not None:
                self._task.approval.go_on(action)
        return outcome


@dataclass(frozen=True)
class PausedWait:
    """observation_timeout: s for a fresh look. changed(task): called at every change of its status."""

    body: LookingBody
    observation_timeout: float
    changed: Callable[[Task], None]
    load_domain: Callable[[str], Domain]

    def wait(self, task: Task) -> Resumed | None:
        """Wait while a task is paused, and look; None where it was not paused.

        It stays paused where the look is not fresh. Raises CanceledError, and SystemDownError where the body has gone.
        """
        pause = task.pause
        resumed = None
        while pause.wait(task.canceled, self.body.observe):
            try:
                look = self._look(pause.known)
            except CanceledError:
                raise
            except PlanweaveError as error:
                self._refuse(task, str(error))
                continue
            if not look.fresh:
                self._refuse(task, look.message)
                continue
            resumed = Resumed(pause.known, look.world, self._changes(pause.known, look.world, look.message))
            seconds, message = pause.seconds, _message(pause.resumed_by or "somebody", resumed)
            if pause.release(message):
                self._tell(task, resumed, seconds, message)
                break
        return resumed

    def _look(self, before: World | None) -> Look:
        """A fresh look; repeated while something that was there is missing."""
        look = self.body.look(self.observation_timeout)
        for _ in range(_LOOKS - 1):
            if not look.fresh or before is None or before.by_name.keys() <= look.world.by_name.keys():
                break
            time.sleep(BETWEEN_LOOKS)
            look = self.body.look(self.observation_timeout)
        return look

    def _refuse(self, task: Task, why: str) -> None:
        told = f"it stays paused, since nobody can see what has changed: {why}"
        task.journal.add("resume_refused", by=task.pause.resumed_by, message=told)
        task.pause.refuse(told)
        self.changed(task)

    def _changes(self, before: World | None, now: World, told: str) -> tuple[str, ...]:
        """What a person should know of the time between; told: what the body itself says of it."""
        own = (told,) if told else ()
        return own if before is None else (*changes_between(self.load_domain(now.domain), before, now), *own)

    def _tell(self, task: Task, resumed: Resumed, seconds: float, message: str) -> None:
        task.journal.add(
            "resumed",
            by=task.pause.resumed_by or "somebody",
            paused_seconds=round(seconds, 3),
            changes=list(resumed.changes),
            message=message,
            facts=[str(f) for f in sorted(resumed.now.facts)],
        )
        if task.episode is not None:
            task.episode.message = message
        else:
            task.status = replace(task.status, message=message)
        self.changed(task)


def _message(by: str, resumed: Resumed) -> str:
    changes = list(resumed.changes)
    more = [f"and {len(changes) - _SHOWN} more changes"] if len(changes) > _SHOWN else []
    unseen = "what changed meanwhile is not known" if resumed.before is None else "nothing has changed meanwhile"
    return f"resumed by {by}; {'; '.join((changes or [unseen])[:_SHOWN] + more)}"

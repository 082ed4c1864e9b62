"""The innermost wrapper round a task's body: one attempt at an action, counted and recorded in its episode."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import CanceledError, NotStoppedError, refused
from planweave.core.base.failure import Code
from planweave.core.checks.error_types import action_error
from planweave.core.symbolic.world import Action
from planweave.core.workflow.pause import Pause
from planweave.core.workflow.ports import LookingBody, Outcome
from planweave.core.workflow.wrapped_body import WrappedBody

if TYPE_CHECKING:
    from planweave.methods.running.episode import Episode


class RecordedBody(WrappedBody):
    """A pause, or the task's cancellation, stops the action under way, where the body can be stopped. timeout: s of
    wall time for an action, 0 for the body's default.
    """

    def __init__(self, body: LookingBody, episode: Episode, pause: Pause | None = None, timeout: float = 0.0) -> None:
        super().__init__(body)
        self._episode, self._pause, self._timeout = episode, pause or Pause(), timeout

    def execute(self, action: Action, *, undoing: bool = False, approval: str = "", **options: Any) -> Outcome:
        """See planweave.core.workflow.ports.Body. undoing: it takes an earlier action back."""
        episode = self._episode
        why = "undo" if undoing else "fallback" if episode.fallback else "plan"
        verb = "predicting" if episode.dry_run else "acting"
        episode.before = episode.observe()
        episode.action, episode.steps = action, episode.steps + 1
        episode.used.append(action)
        episode.tell(verb if why == "plan" else f"{verb} ({why})")
        episode.observed = episode.observed or {*episode.before.facts}
        if not episode.dry_run:
            episode.journal.begin(str(action))
        begun = time.monotonic()
        if (begin := getattr(self._body, "begin", None)) is not None:
            begin(self._timeout)
        canceled, pause = episode.canceled, self._pause
        with (
            pause.calling(lambda: self._stop(f"the task was {pause.message}")),
            canceled.calling(lambda: self._stop(canceled.reason)),
        ):
            outcome = self._body.execute(
                action,
                task_id=episode.task_id,
                timeout=self._timeout,
                on_phase=lambda phase, progress: episode.tell(f"acting: {phase}"),
                approval=approval,
            )
        outcome = replace(outcome, world=outcome.world.with_derived(episode.goal))
        self._record(action, outcome, why, time.monotonic() - begun)
        if canceled.is_set and not outcome.ok:
            told = "; ".join(dict.fromkeys((canceled.reason, outcome.message)))
            stands = outcome.code is not Code.SAFETY_STOP
            raise CanceledError(told) if stands else refused(NotStoppedError, told, outcome.code.word)
        return outcome

    def _stop(self, why: str) -> None:
        if (stop := getattr(self._body, "stop", None)) is not None:
            stop(Code.CANCELED, why)

    def _record(self, action: Action, outcome: Outcome, why: str, seconds: float) -> None:
        """Count and record the outcome of an action. why: "plan", "fallback", "undo". seconds: wall time."""
        episode, pause = self._episode, self._pause
        episode.action = None
        interrupted = pause.is_set and outcome.code is Code.CANCELED
        if pause.is_set:
            pause.know(outcome.world)
            pause.note = f"{action} was interrupted" if interrupted else ""
        episode.failed = None if outcome.ok or interrupted else outcome
        episode.stopped = episode.stopped or (outcome.final and not interrupted)
        wrong = action_error(episode.domain, outcome.code, outcome.unmet, episode.observed)
        episode.observed.update(outcome.world.facts)
        episode.executed += outcome.ok and not episode.dry_run
        episode.journal.add(
            "predicted" if episode.dry_run else "action",
            action=str(action),
            why=why,
            code=outcome.code.name,
            message=outcome.message,
            unmet=[str(u) for u in outcome.unmet],
            motion_seconds=round(outcome.motion_seconds, 3),
            planning_seconds=round(outcome.planning_seconds, 4),
            wall_seconds=round(seconds, 4),
            facts=[str(f) for f in sorted(outcome.world.facts)],
            **({"pushed": list(outcome.pushed)} if outcome.pushed else {}),
            **({"error_type": wrong} if wrong else {}),
        )
        episode.pushed += [name for name in outcome.pushed if name not in episode.pushed]
        if not outcome.ok:
            episode.trouble = action, episode.domain.told(outcome.message)
        elif episode.trouble is not None and episode.trouble[0] == action:  # mended: no news any more
            episode.message = "" if episode.trouble[1] in episode.message else episode.message
        episode.tell(message=outcome.message if not outcome.ok or outcome.pushed else "")

"""A paused task waits here; resumed, it looks anew and tells what has changed meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from planweave.core.base.errors import CanceledError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.core.symbolic.world_changes import changes_between
from planweave.core.workflow.ports import Look, LookingBody
from planweave.methods.running.after_pause import Resumed
from planweave.tasks.task import Task

_SHOWN = 8  # changes in the task's message; the record has all
_LOOKS = 6  # at most, while a thing is missing: what was moved is seen some images after its old place is seen empty
BETWEEN_LOOKS = 0.2
"""Seconds from one look at the world to the next."""


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

"""One task of the task manager, and its status as published."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace

from planweave.core.base.cancellation import Cancellation
from planweave.core.workflow.approval import Approval
from planweave.core.workflow.pause import Pause
from planweave.core.workflow.question import Inquiry
from planweave.core.workflow.reading import Reading
from planweave.core.workflow.task_status import TaskGoal, TaskState, TaskStatus
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.tasks.answers import Answers
from planweave.tasks.given_tree import is_tree

_COUNTED = ("action", "steps", "executed", "corrections", "questions", "fallback", "message")
"""Fields of a status that are those of the episode."""


@dataclass
class Task:
    """One task with everything needed to run and to monitor it."""

    status: TaskStatus
    asked: TaskGoal  # with the method that is used where none was named
    journal: Journal
    named: bool = False  # the method was named with the task, no default
    approval: Approval | None = None
    inquiry: Inquiry | None = None  # None where nobody is asked what an unclear sentence means
    answers: Answers = field(default_factory=Answers)
    canceled: Cancellation = field(default_factory=Cancellation)
    pause: Pause = field(default_factory=Pause)
    episode: Episode | None = None
    said: deque[str] = field(default_factory=deque)
    started: float | None = None
    known: Reading | None = None  # as a process that is gone understood the sentence
    moved_before: bool = False  # a process that is gone has carried out a part of it
    ending: TaskState | None = None  # how it ends, once that is being written
    ended: threading.Event = field(default_factory=threading.Event)

    @property
    def given(self) -> Reading | None:
        """The reading that needs no sentence: as the sender gave it, or as it is known already."""
        asked = self.asked
        return Reading(asked.goal, "given", before=asked.before, keep=asked.keep) if asked.goal else self.known

    @property
    def acts(self) -> bool:
        return self.episode is not None and self.episode.action is not None

    @property
    def given_tree(self) -> str:
        """A behaviour tree in XML, followed in place of a method; "" without one."""
        return self.asked.method if is_tree(self.asked.method) else ""

    def snapshot(self) -> TaskStatus:
        """Current status, with the counters of the running episode."""
        status, episode = self.status, self.episode
        if self.started is not None and not status.state.ended:
            status = replace(status, elapsed=time.monotonic() - self.started)
        if episode is not None and not status.state.ended:
            status = replace(
                status,
                phase=episode.phase or status.phase,
                pushed=tuple(episode.pushed),
                usage=status.usage + episode.usage,
                **{name: getattr(episode, name) for name in _COUNTED},
            )
        if self.approval is not None and self.approval.shown is not None:
            shown = self.approval.shown
            status = replace(
                status,
                plan=shown.plan,
                plan_words=shown.words,
                plan_check=shown.check,
                plan_hash=shown.hash,
                plan_changes=shown.changes,
                approved_by=self.approval.approver,
            )
            if self.approval.waiting and not status.state.ended:
                status = replace(status, state=TaskState.AWAITING_APPROVAL)
        if self.inquiry is not None and (question := self.inquiry.shown) is not None and not status.state.ended:
            status = replace(status, state=TaskState.AWAITING_ANSWER, phase="waiting for an answer", question=question)
        if self.pause.shown and not status.state.ended:
            status = replace(status, state=TaskState.PAUSED, phase=f"while {status.phase}", message=self.pause.message)
        return status

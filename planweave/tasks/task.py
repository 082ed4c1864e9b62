"""One task of the task manager, and its status as published."""

from __future__ import annotations

import threading
import time
from collections import deque
from dataclasses import dataclass, field, replace

from planweave.core.base.cancellation import Cancellation
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.approval import Approval
from planweave.core.workflow.pause import Pause
from planweave.core.workflow.question import Inquiry
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.tasks.answers import Answers


@dataclass
class Task:
    """One task with everything needed to run and to monitor it."""

    status: TaskStatus
    given_goal: tuple[Literal, ...]
    journal: Journal
    given_tree: str = ""  # a behaviour tree in XML, followed in place of a method
    world_revision: int = 0
    named: bool = False  # the method was named with the task, no default
    approval: Approval | None = None
    inquiry: Inquiry | None = None  # None where nobody is asked what an unclear sentence means
    answers: Answers = field(default_factory=Answers)
    canceled: Cancellation = field(default_factory=Cancellation)
    pause: Pause = field(default_factory=Pause)
    episode: Episode | None = None
    said: deque[str] = field(default_factory=deque)
    started: float | None = None
    known_goal: tuple[Literal, ...] = ()  # as a process that is gone understood the sentence
    known_steps: tuple[tuple[Literal, ...], ...] = ()  # to be reached before that goal
    known_keep: tuple[Literal, ...] = ()  # what no action may end meanwhile
    moved_before: bool = False  # a process that is gone has carried out a part of it
    ending: bool = False  # its end is being written, or is
    ended: threading.Event = field(default_factory=threading.Event)

    def snapshot(self) -> TaskStatus:
        """Current status, with the counters of the running episode."""
        status, episode = self.status, self.episode
        if self.started is not None and not status.state.ended:
            status = replace(status, elapsed=time.monotonic() - self.started)
        if episode is not None and not status.state.ended:
            status = replace(
                status,
                phase=episode.phase or status.phase,
                action=episode.action,
                steps=episode.steps,
                executed=episode.executed,
                corrections=episode.corrections,
                questions=episode.questions,
                fallback=episode.fallback,
                pushed=tuple(episode.pushed),
                message=episode.message,
                usage=status.usage + episode.usage,
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

"""State of a task, as published."""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal
from planweave.core.trees.action_tree import Status
from planweave.core.workflow.question import UserQuestion
from planweave.core.workflow.reading import plain


class TaskState(enum.IntEnum):
    """State of a task; the numbers are those of TaskStatus.msg."""

    QUEUED = 0
    RUNNING = 1
    SUCCEEDED = 2
    FAILED = 3
    CANCELED = 4
    AWAITING_APPROVAL = 5
    NOT_CONFIRMED = 6
    ANSWERED = 8
    PLANNED = 9
    AWAITING_ANSWER = 10
    PAUSED = 11

    @property
    def word(self) -> str:
        """Its name in phases and JSON: not_confirmed."""
        return self.name.lower()

    @property
    def ended(self) -> bool:
        return self not in (TaskState.QUEUED, TaskState.RUNNING, *_WAITING)


_WAITING = (TaskState.AWAITING_APPROVAL, TaskState.AWAITING_ANSWER, TaskState.PAUSED)
_CUT_SHORT = (TaskState.FAILED, TaskState.CANCELED)
NEXT: Mapping[TaskState, tuple[TaskState, ...]] = {
    TaskState.QUEUED: (TaskState.RUNNING, TaskState.PAUSED, *_CUT_SHORT),
    TaskState.RUNNING: (*_WAITING, *(state for state in TaskState if state.ended)),
    TaskState.AWAITING_APPROVAL: (TaskState.RUNNING, TaskState.PAUSED, *_CUT_SHORT),
    TaskState.AWAITING_ANSWER: (TaskState.RUNNING, TaskState.QUEUED, TaskState.PAUSED, *_CUT_SHORT),
    TaskState.PAUSED: (TaskState.QUEUED, TaskState.RUNNING, *_WAITING[:2], *_CUT_SHORT),
}
"""What may follow each state that is no end, as docs/architecture.md draws it."""


ENDS: Mapping[str, str] = {
    "canceled_late": "Of a success: its cancellation came after the last look.",
    "internal": "A fault of ours; the log has it.",
    "interrupted": "Of a command: by the keyboard.",
    "not_confirmed": "No look shows whether the goal holds.",
    "not_reached": "The last action succeeded, and the goal does not hold; of a dry run: in the prediction, which "
    "proves nothing (no_plan does, or says that the search ended).",
}
"""Codes of ends that are neither an error's nor an action's, and what they say."""


@dataclass(frozen=True)
class TaskStatus:
    """One snapshot; the fields are those of TaskStatus.msg and its parts. elapsed in seconds of wall time."""

    task_id: str
    sentence: str
    method: str
    state: TaskState = TaskState.QUEUED
    phase: str = "queued"
    goal: tuple[Literal, ...] = ()
    goal_source: str = ""
    understood: str = ""
    answer: str = ""
    unmet: tuple[Literal, ...] = ()
    plan: tuple[Action, ...] = ()
    plan_words: tuple[str, ...] = ()
    plan_check: str = ""
    plan_hash: str = ""
    plan_changes: tuple[str, ...] = ()
    approved_by: str = ""
    action: Action | None = None
    pushed: tuple[str, ...] = ()
    steps: int = 0
    executed: int = 0
    corrections: int = 0
    questions: int = 0
    fallback: bool = False
    message: str = ""
    elapsed: float = 0.0
    usage: Usage = field(default_factory=Usage)
    dry_run: bool = False
    question: UserQuestion | None = None
    before: tuple[tuple[Literal, ...], ...] = ()
    reached: int = 0
    keep: tuple[Literal, ...] = ()
    code: str = ""

    def plain(self) -> dict[str, Any]:
        """The fields as JSON has them, literals and actions as texts, without the question and with the state's
        number.
        """
        found = {f.name: plain(getattr(self, f.name)) for f in fields(self)}
        return {**found, "question": None, "state": int(self.state)}


@dataclass(frozen=True)
class TaskGoal:
    """A sentence, or literals in its place; the fields are those of TaskGoal.msg.

    method: a name, or a behaviour tree in XML, which is followed. before, keep: as in `Reading`, of a goal in literals.
    world_revision: of the oldest world that the task may start from, so that it has what its sender has seen.
    """

    sentence: str
    method: str = ""
    goal: tuple[Literal, ...] = ()
    before: tuple[tuple[Literal, ...], ...] = ()
    keep: tuple[Literal, ...] = ()
    world_revision: int = field(default=0, compare=False)  # means nothing to a later process
    dry_run: bool = False


STEP_MARKS = {
    Status.UNTRIED: "·",
    Status.CURRENT: "▶",
    Status.DONE: "✓",
    Status.FAILED: "✗",
    Status.INVALID: "✗",
    Status.UNDONE: "↶",
}
STATE_WORDS = {
    TaskState.SUCCEEDED: "done",
    TaskState.FAILED: "failed",
    TaskState.CANCELED: "cancelled",
    TaskState.ANSWERED: "answer",
    TaskState.PLANNED: "planned",
    TaskState.AWAITING_APPROVAL: "awaiting approval",
    TaskState.AWAITING_ANSWER: "waits for an answer",
    TaskState.PAUSED: "paused",
    TaskState.NOT_CONFIRMED: "not confirmed",
    TaskState.RUNNING: "running",
    TaskState.QUEUED: "queued",
}


def usage_text(usage: Usage) -> str:
    """Language model use in one line."""
    if not usage.requests:
        if not usage.endpoint:
            return "no model asked"
        name = f"{usage.model or 'a model'} ({usage.endpoint})"
        return f"{name} did not answer within {usage.model_seconds:.0f} s"
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "no cost"
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return (
        f"{usage.requests} requests to {usage.model or 'a model'} ({usage.endpoint}): {usage.prompt_tokens} tokens "
        f"read{cached}, {usage.completion_tokens} written, {usage.model_seconds:.1f} s, {cost}"
    )


def states_text(before: Sequence[Sequence[Literal]]) -> str:
    """States to be reached in order, as literals."""
    return "; then ".join(" and ".join(map(str, step)) for step in before)

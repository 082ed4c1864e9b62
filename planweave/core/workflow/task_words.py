"""Words for people: states of tasks and steps, and the use of models."""

from __future__ import annotations

from collections.abc import Sequence

from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Literal
from planweave.core.trees.action_tree import Status
from planweave.core.workflow.task_status import TaskState

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

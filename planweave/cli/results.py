"""Results of tasks as plain JSON values, and goals from their text form."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from planweave.cli.answer import question_json
from planweave.core.base.errors import GoalError, ParseError
from planweave.core.symbolic.world import Literal
from planweave.core.symbolic.written import read_literals
from planweave.core.trees.action_tree import as_json
from planweave.core.workflow.question import AmbiguityError
from planweave.core.workflow.step_motion import PlanPreview, preview_text, step_text
from planweave.core.workflow.task_status import TaskStatus

if TYPE_CHECKING:
    from planweave_ros.client import TaskResult


def read_goal(texts: Iterable[str], option: str = "--goal") -> tuple[Literal, ...]:
    """Literals from texts of an option like "in(red_cube, left_tray) and not holding(pear)"; raises GoalError."""
    try:
        return tuple(x for text in texts for x in read_literals(text) or (Literal.parse(text),))
    except ParseError as error:
        raise GoalError(f'{option}: {error}; write it like "in(red_cube, left_tray) and clear(blue_cube)"') from None


def status_json(status: TaskStatus) -> dict[str, Any]:
    """A status as plain JSON values; literals and actions as texts."""
    values = status.plain()
    del values["pushed"]
    question = question_json(status.question) if status.question else None
    return {**values, "state": status.state.word, "question": question, "elapsed": round(status.elapsed, 3)}


def preview_json(preview: PlanPreview | None) -> dict[str, Any] | None:
    """The motions of a plan with their paths: rad and m by joint, s from the start of each step; None without any."""
    if preview is None:
        return None
    closest = preview.closest
    return {
        "known": preview.known,
        "message": preview.message,
        "length": preview.length,
        "duration": preview.duration,
        "clearance": closest.clearance if closest else None,
        "nearest": closest.nearest if closest else "",
        "planning_seconds": preview.seconds,
        "steps": [{**asdict(step), "action": str(step.action)} for step in preview.steps],
    }


def preview_lines(preview: PlanPreview | None) -> list[str]:
    """Length, duration and clearance of each step and of the whole plan, one line each."""
    if preview is None:
        return []
    steps = [f"{number}. {step_text(step)}" for number, step in enumerate(preview.steps, 1)]
    return [f"motion: {preview_text(preview)}", *(f"  {line}" for line in steps)]


def result_json(result: TaskResult) -> dict[str, Any]:
    """The complete result of an ended task; `success` and `message` first."""
    return {
        "success": result.success,
        "message": result.message,
        "code": AmbiguityError.code if result.status.question else result.status.code,
        **{key: value for key, value in status_json(result.status).items() if key not in ("message", "code")},
        "tree": as_json(result.rows),
        "record": result.record,
    }

"""Motion of the steps of a plan as a body would carry them out, planned while nothing moves. Metres, seconds, rad."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planweave.core.symbolic.world import Action

SEEN_WITHIN = 0.15
"""Distances above this are not measured, m."""
MAX_STEPS = 100
"""Steps of one plan whose motion is planned, or of a plan that a person has edited."""

Position = tuple[float, float, float]
Orientation = tuple[float, float, float, float]


@dataclass(frozen=True)
class Carried:
    """An object in the hand from a time of a step to another, s from its start.

    position, orientation (x, y, z, w): of its centre in the frame of the tool centre point.
    """

    name: str
    position: Position
    orientation: Orientation
    since: float
    until: float


@dataclass(frozen=True)
class StepMotion:
    """Motion of one step; the fields are those of StepMotion.msg.

    known: planned to its end. joint_names: of arm and fingers; positions: rad and m, one row for each of `times`.
    length: of the path of the tool centre point; clearance: smallest distance to what the step does not touch, at most
    SEEN_WITHIN; nearest: what comes that near, empty for nothing.
    """

    action: Action
    known: bool
    message: str = ""
    words: str = ""
    joint_names: tuple[str, ...] = ()
    times: tuple[float, ...] = ()
    positions: tuple[tuple[float, ...], ...] = ()
    length: float = 0.0
    duration: float = 0.0
    clearance: float = SEEN_WITHIN
    nearest: str = ""
    held: Carried | None = None


@dataclass(frozen=True)
class PlanPreview:
    """Motions of a whole plan. hash: that of the plan that waits for approval, empty for a dry run.

    seconds: wall time that planning them took. message: why not all steps are known, empty where they are.
    """

    task_id: str
    hash: str
    steps: tuple[StepMotion, ...]
    message: str = ""
    seconds: float = 0.0

    @property
    def known(self) -> bool:
        return bool(self.steps) and all(step.known for step in self.steps)

    @property
    def length(self) -> float:
        """Length of the tool's path, m."""
        return sum((step.length for step in self.steps), 0.0)

    @property
    def duration(self) -> float:
        """Duration of all motions, s."""
        return sum((step.duration for step in self.steps), 0.0)

    @property
    def closest(self) -> StepMotion | None:
        """The step with the smallest clearance; None where nothing moves."""
        return min((s for s in self.steps if s.times), key=lambda s: s.clearance, default=None)


def step_text(step: StepMotion) -> str:
    """Length, duration and clearance of a step in words."""
    if not step.times:
        return step.message or "nothing moves"
    near = f"{step.clearance * 100:.1f} cm from {step.nearest}" if step.nearest else f"{far_text()} from everything"
    numbers = f"{step.length:.2f} m in {step.duration:.1f} s, {near}"
    return f"{numbers}; {step.message}" if step.message else numbers


def preview_text(preview: PlanPreview) -> str:
    closest = preview.closest
    if closest is None:
        return preview.message or "nothing moves"
    near = f"{closest.clearance * 100:.1f} cm from {closest.nearest}" if closest.nearest else far_text()
    total = f"{preview.length:.2f} m in {preview.duration:.1f} s of motion, smallest clearance {near}"
    return f"{total}; {preview.message}" if preview.message else total


def far_text() -> str:
    return f"more than {SEEN_WITHIN * 100:.0f} cm"


def summary(steps: Iterable[StepMotion]) -> str:
    """Reasons why motions of steps are not known; empty where all are."""
    open_ended = [(number, step) for number, step in enumerate(steps, 1) if not step.known]
    if not open_ended:
        return ""
    number, first = open_ended[0]
    return f"the motion of step {number}, {first.action}, is not known beforehand: {first.message}"

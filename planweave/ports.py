"""The two ports a planning loop talks to, and the values that pass through them.

In the ROS graph these are service and action clients; in tests and in evaluation plain objects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planweave.budget import Usage
from planweave.failure import Code
from planweave.plan import Plan
from planweave.world import Action, Literal, World


@dataclass(frozen=True)
class SampledPlans:
    """Distinct plans after post-processing (Tree-Planner, B.3), most frequent first."""

    plans: tuple[Plan, ...]
    received: int
    dropped: int = 0
    mended: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Choice:
    """A vote among candidate actions; index into the options that were offered."""

    index: int
    votes: tuple[int, ...]
    unreadable: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Interpretation:
    """A sentence read into goal literals; source is "grammar" or "model"."""

    goal: tuple[Literal, ...]
    source: str
    usage: Usage = field(default_factory=Usage)


class Planner(Protocol):
    """What a loop may ask of a language model. Every call raises ModelError or ParseError on failure.

    samples = 0 and temperature < 0 stand for the planner's configured defaults.
    """

    def generate_plans(
        self, sentence: str, world: World, *, samples: int = 0, temperature: float = -1.0, top_p: float = 0.0,
        task_id: str = "",
    ) -> SampledPlans:
        """Sample plans in one request (Tree-Planner, Section 3.1). At least one plan, else ParseError."""

    def choose_action(
        self, sentence: str, world: World, history: Sequence[Action], options: Sequence[Action | None], *,
        errors: Sequence[str] = (), samples: int = 0, temperature: float = -1.0, task_id: str = "",
    ) -> Choice:
        """Choose among candidates by majority vote (Tree-Planner, Section 3.3); None: the task is done."""

    def interpret_goal(self, sentence: str, world: World) -> Interpretation:
        """Read a sentence into goal literals over the world's objects; raises GoalError."""


@dataclass(frozen=True)
class Outcome:
    """What came of one action. message is the raw text of the controller or simulator."""

    code: Code
    message: str
    world: World
    unmet: tuple[Literal, ...] = ()
    motion_seconds: float = 0.0
    planning_seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """Whether the action was carried out."""
        return self.code is Code.SUCCESS


class Body(Protocol):
    """Whatever executes actions and reports the world: the arm, the household avatar, a test double."""

    def observe(self) -> World:
        """The newest world; raises SystemDownError where none comes before the deadline."""

    def execute(self, action: Action, *, task_id: str = "", timeout: float = 0.0,
                on_phase: Callable[[str, float], None] | None = None) -> Outcome:
        """Execute one action and wait for its outcome. Failures are outcomes, not exceptions.

        timeout in seconds of wall time, 0 for the body's default; on_phase hears phase and progress 0 to 1.
        Raises CanceledError when the task is cancelled meanwhile, after the body has stopped.
        """

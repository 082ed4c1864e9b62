"""The two ports a planning loop talks to, and the values that pass through them.

In the ROS graph these are service and action clients; in tests and in evaluation plain objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planweave.core.budget import Usage
from planweave.core.failure import Code
from planweave.core.plan import Plan
from planweave.core.world import Action, Literal, World


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
    """A sentence read into goal literals; source is "grammar" or "model".

    understood: the goal in words, for the person to compare with what was meant. answer: not empty where the sentence
    was a question; then there is no goal and nothing is to be done.
    """

    goal: tuple[Literal, ...]
    source: str
    usage: Usage = field(default_factory=Usage)
    understood: str = ""
    answer: str = ""


@dataclass(frozen=True)
class Candidate:
    """A next step that the model proposes. action None: the model says that the task is done.

    text is what the model wrote; match the similarity (0 to 1) of that text to the admissible action it was
    translated to; logprob the mean log-probability of its tokens, None where the endpoint gives none; relatedness
    (0 to 1) of the action's objects to the objects of the example and of the steps so far.
    """

    text: str
    action: Action | None
    match: float = 1.0
    object_match: float = 1.0
    logprob: float | None = None
    relatedness: float = 0.0


@dataclass(frozen=True)
class Proposals:
    """Candidates for the next step; where several were asked for, the most frequent first."""

    candidates: tuple[Candidate, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Written:
    """A reply in words: a program's text as one line, or numbered steps. explanation is the reasoning before them."""

    lines: tuple[str, ...]
    explanation: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Grounding:
    """One step in words as an action; action None: the model passes, the step needs no action."""

    action: Action | None
    text: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Check:
    """Whether a condition holds; source is "rule" or "model"."""

    holds: bool
    source: str
    usage: Usage = field(default_factory=Usage)


class Planner(Protocol):
    """What a loop may ask of a language model. Every call raises ModelError or ParseError on failure.

    samples = 0 and temperature < 0 stand for the planner's configured defaults; `method` names the prompt folder.
    """

    def generate_plans(
        self,
        sentence: str,
        world: World,
        *,
        samples: int = 0,
        temperature: float = -1.0,
        top_p: float = 0.0,
        task_id: str = "",
        method: str = "tree_planner",
    ) -> SampledPlans:
        """Sample plans in one request (Tree-Planner, Section 3.1). At least one plan, else ParseError."""

    def choose_action(
        self,
        sentence: str,
        world: World,
        history: Sequence[Action],
        options: Sequence[Action | None],
        *,
        errors: Sequence[str] = (),
        samples: int = 0,
        temperature: float = -1.0,
        task_id: str = "",
    ) -> Choice:
        """Choose among candidates by majority vote (Tree-Planner, Section 3.3); None: the task is done."""

    def interpret_goal(self, sentence: str, world: World, *, task_id: str = "") -> Interpretation:
        """Read a sentence into goal literals over the world's objects, or answer a question; raises GoalError."""

    def select_action(
        self,
        method: str,
        sentence: str,
        world: World,
        history: Sequence[Action],
        options: Sequence[Action],
        *,
        goal: Sequence[Literal] = (),
        errors: Sequence[str] = (),
        task_id: str = "",
    ) -> Choice:
        """Choose one of the candidates in the method's own words; an answer outside the list is a ParseError."""

    def propose_steps(
        self,
        method: str,
        sentence: str,
        world: World,
        history: Sequence[Action],
        *,
        errors: Sequence[str] = (),
        samples: int = 0,
        task_id: str = "",
    ) -> Proposals:
        """Candidates for the next step, each translated to the nearest admissible action."""

    def write(
        self,
        method: str,
        sentence: str,
        world: World,
        *,
        history: Sequence[str] = (),
        errors: Sequence[str] = (),
        start: int = 0,
        options: Mapping[str, bool] | None = None,
        task_id: str = "",
    ) -> Written:
        """A whole plan in the method's own form: a program, or steps numbered from `start`."""

    def ground_step(
        self,
        method: str,
        sentence: str,
        step: str,
        world: World,
        *,
        errors: Sequence[str] = (),
        task_id: str = "",
    ) -> Grounding:
        """One step in words as an action of the domain."""

    def check_condition(self, condition: str, world: World, *, task_id: str = "") -> Check:
        """Whether a condition, as a program writes it, holds: by rule where the domain knows it, else the model."""


@dataclass(frozen=True)
class Outcome:
    """What came of one action. message is the raw text of the controller or simulator."""

    code: Code
    message: str
    world: World
    unmet: tuple[Literal, ...] = ()
    motion_seconds: float = 0.0
    planning_seconds: float = 0.0
    pushed: tuple[str, ...] = ()  # objects pushed aside that the action does not name

    @property
    def ok(self) -> bool:
        """Whether the action was carried out."""
        return self.code is Code.SUCCESS

    @property
    def final(self) -> bool:
        """Whether a person or a limit stopped the body, so that nothing more may be tried."""
        return self.code in (Code.SAFETY_STOP, Code.CANCELED)


@dataclass(frozen=True)
class Look:
    """A look at the world: fresh where it was taken after it was asked for, else the newest world and why it is not."""

    world: World
    fresh: bool = True
    message: str = ""


class Body(Protocol):
    """Whatever executes actions and reports the world: the arm, the household avatar, a test double."""

    def observe(self, revision: int = 0) -> World:
        """The newest world, of at least a revision; raises SystemDownError where none comes before the deadline."""

    def execute(
        self,
        action: Action,
        *,
        task_id: str = "",
        timeout: float = 0.0,
        on_phase: Callable[[str, float], None] | None = None,
        approval: str = "",
    ) -> Outcome:
        """Execute one action and wait for its outcome. Failures are outcomes, not exceptions.

        timeout in seconds of wall time, 0 for the body's default; on_phase hears phase and progress 0 to 1. approval:
        the token of a person's approval, for bodies that do nothing without.
        Raises CanceledError when the task is cancelled meanwhile, after the body has stopped.
        """


BODY_METHODS = ("observe", "execute", "look")
"""What a LookingBody can do."""


class LookingBody(Body, Protocol):
    """A body that can be asked to look anew, which is what a task's goal is checked with."""

    def look(self, seconds: float) -> Look:
        """The world as observed after this call, while nothing moves; waits at most some seconds of wall time.

        Raises CanceledError when the task is cancelled meanwhile, SystemDownError where there is no body.
        """

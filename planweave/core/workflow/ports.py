"""The ports of a planning loop, `Planner` and `Body`, and the values exchanged through them.

In the ROS graph they are service and action clients; in tests and evaluations plain objects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from planweave.core.base.failure import Code
from planweave.core.base.usage import Usage
from planweave.core.symbolic.plan import CountedPlan
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.question import Clarification
from planweave.core.workflow.reading import Reading


@dataclass(frozen=True)
class SampledPlans:
    """Distinct plans after post-processing (Tree-Planner, B.3), most frequent first."""

    plans: tuple[CountedPlan, ...]
    received: int
    dropped: int = 0
    mended: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Choice:
    """Result of a vote among candidate actions; index into the given options."""

    index: int
    votes: tuple[int, ...]
    unreadable: int = 0
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Candidate:
    """A next step proposed by the model. action None: the model considers the task done.

    text: the model's reply; match: similarity (0 to 1) of that text to the admissible action it was translated to;
    logprob: mean log-probability of its tokens, None where the endpoint returns none; relatedness (0 to 1): of the
    action's objects to the objects of the example and of the steps so far.
    """

    text: str
    action: Action | None
    match: float = 1.0
    object_match: float = 1.0
    logprob: float | None = None
    relatedness: float = 0.0


@dataclass(frozen=True)
class Proposals:
    """Candidates for the next step, most frequent first where several were requested."""

    candidates: tuple[Candidate, ...]
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Written:
    """A free-text reply: a program as one line, or numbered steps. explanation: the reasoning before them."""

    lines: tuple[str, ...]
    explanation: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class Grounding:
    """One step in words, translated to an action; action None: the step needs no action."""

    action: Action | None
    text: str = ""
    usage: Usage = field(default_factory=Usage)


@dataclass(frozen=True)
class ConditionCheck:
    """The verdict on a condition; source is "rule" or "model"."""

    holds: bool
    source: str
    usage: Usage = field(default_factory=Usage)


class Planner(Protocol):
    """Requests of a planning loop to a language model. Every call raises ModelError or ParseError on failure, one that
    takes a task's sentence GoalError where it cannot be, and CanceledError.

    samples = 0 and temperature < 0 select the planner's configured defaults; `method` names the prompt folder.
    """

    def generate_plans(
        self,
        sentence: str,
        world: World,
        *,
        samples: int = 0,
        temperature: float = -1.0,
        top_p: float = 0.0,
        errors: Sequence[str] = (),
        task_id: str = "",
        method: str = "tree_planner",
    ) -> SampledPlans:
        """Sample plans in one request (Tree-Planner, Section 3.1). At least one plan, else ParseError; none where there
        are no others after `errors`: earlier plans, and what was found wrong with them.
        """

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
        method: str = "tree_planner",
    ) -> Choice:
        """Choose among candidates by majority vote (Tree-Planner, Section 3.3); None: the task is done."""

    def interpret_goal(
        self, sentence: str, world: World, *, clarifications: Sequence[Clarification] = (), task_id: str = ""
    ) -> Reading:
        """Interpret a sentence as goal literals over the world's objects, or answer a question; raises GoalError,
        an AmbiguityError where a person could make it clear. clarifications: what a person has answered so far.
        """

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
        """Choose one of the candidates in the method's own format; raises ParseError for an answer outside the list."""

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
        options: Mapping[str, int] | None = None,
        task_id: str = "",
    ) -> Written:
        """A whole plan in the method's own format: a program, or steps numbered from `start`.

        options: switches and numbers of the method's prompt.
        """

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
        """Translate one step in words to an action of the domain."""

    def check_condition(self, condition: str, world: World, *, task_id: str = "") -> ConditionCheck:
        """Evaluate a condition of a program: by rule where the domain defines it, else by the model.

        Written as the statement ``assert(...)``, it is put to the model in any case.
        """


@dataclass(frozen=True)
class Outcome:
    """Result of one action. message: the raw text of the controller or simulator."""

    code: Code
    message: str
    world: World
    unmet: tuple[Literal, ...] = ()
    motion_seconds: float = 0.0
    planning_seconds: float = 0.0
    pushed: tuple[str, ...] = ()  # objects pushed aside that the action does not name

    @property
    def ok(self) -> bool:
        return self.code is Code.SUCCESS

    @property
    def final(self) -> bool:
        """Return whether a person or a safety limit stopped the body, or it must not begin: no further try is made."""
        return self.code in (Code.SAFETY_STOP, Code.NOT_STARTED, Code.CANCELED)


@dataclass(frozen=True)
class Look:
    """Result of a look: fresh where it was taken after the request, else the newest world and why it is not fresh.

    message: that reason; of a fresh look what to know beside it, as that the arm was moved by hand.
    """

    world: World
    fresh: bool = True
    message: str = ""


class Body(Protocol):
    """Executes actions and reports the world: the arm, the household avatar, or a test double."""

    def observe(self, revision: int = 0) -> World:
        """The newest world, of at least the given revision; raises SystemDownError where none arrives in time."""

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

        timeout: seconds of wall time, 0 for the body's default; on_phase: called with phase and progress (0 to 1);
        approval: the token of a person's approval, for bodies that require one. Where the task is cancelled meanwhile,
        the body stops first: CANCELED, or SAFETY_STOP where it is not known to stand.
        """


BODY_METHODS = ("observe", "execute", "look")
"""What a LookingBody can do."""


class LookingBody(Body, Protocol):
    """A body that can take a fresh look, with which the goal of a task is verified."""

    def look(self, seconds: float) -> Look:
        """The world as observed after this call, while nothing moves; waits at most `seconds` of wall time.

        Raises CanceledError when the task is cancelled meanwhile, SystemDownError without a body.
        """


class StoppableBody(LookingBody, Protocol):
    """A body whose action another thread can end, as `planweave_ros.serve_body` does where it is cancelled."""

    def begin(self, timeout: float) -> None:
        """An action is about to be executed, for `timeout` seconds at most: from now on `stop` ends it."""

    def stop(self, code: Code, message: str) -> None:
        """End the action that was begun with this outcome, soon; return at once."""

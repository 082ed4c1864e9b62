"""Plans written one step at a time, each step constrained to the actions applicable in its predicted state.

For a small local model, which writes few executable plans of several actions, and for which each token costs processor
time. The domain predicts the state after each step; the model continues its own text, constrained to the calls of
applicable actions, so that the most probable one is selected token by token. A plan ends where the goal would hold.
Plans are written one after the other until one reaches it; the beginning of the prompt is the same for all tasks of a
domain, so that a prompt cache is effective.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

from planweave.core.base.usage import Usage
from planweave.core.checks.validation import unmet_goal
from planweave.core.planning.relevance import relevant_world
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.transition import State, Transition
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import SampledPlans
from planweave.llm.clients.base import ChatReplies, ChatRequest
from planweave.llm.schema import ground_actions
from planweave.methods.language.prompting import Messages, example_part, message, one_line, same_task, turn

MAX_CHOICES = 120  # calls that a step is chosen from; beyond that those on the goal's things alone
STEP_TOKENS = 48  # of one call
_AROUND = 6  # so many things at most that lie on or in a thing of the goal belong to it


class StepwisePlans:
    """Plans for one task. ask(request) sends a request. without: names of excluded actions."""

    def __init__(
        self,
        domain: Domain,
        world: World,
        sentence: str,
        goal: Sequence[Literal],
        ask: Callable[[ChatRequest], ChatReplies],
        without: Sequence[str] = (),
    ) -> None:
        self._domain, self._goal, self._ask = domain, tuple(goal), ask
        world = relevant_world(domain, world, goal)
        self._transition = Transition(domain, world)
        self._actions = ground_actions(domain, world, without)
        self._of_goal = _things(world, domain, goal)
        self._without_things = any(not g.args for g in goal)
        self._messages = step_messages(domain, sentence, goal)
        self._usage = Usage()
        self._seconds = self._until = math.inf

    def sample(self, tries: int, temperature: float, longest: int, seconds: float) -> SampledPlans:
        """At most so many plans in order, the first by the most probable steps, until one reaches the goal.

        longest: steps of one; seconds: time limit for further steps, counted from the first reply, which may include
        loading the model. All plans are returned, also incomplete ones; raises ModelError or CanceledError.
        """
        self._seconds = seconds
        plans: list[CountedPlan] = []
        for index in range(tries):
            if time.monotonic() > self._until:
                break
            steps, logprob = self._plan(temperature if index else 0.0, longest, bool(index))
            if steps:
                plans.append(CountedPlan(tuple(PlanStep(a, self._domain.phrase(a)) for a in steps), 1, logprob))
            if self._reached(self._after(steps)):
                break
        return SampledPlans(tuple(plans), len(plans), usage=self._usage)

    def _plan(self, temperature: float, longest: int, on_goal: bool) -> tuple[list[Action], float]:
        """One plan and the log-probability of its text. It ends early with a step on objects unrelated to the goal."""
        state, steps, logprob = self._transition.state(), list[Action](), 0.0
        while len(steps) < longest and time.monotonic() < self._until and not self._reached(state):
            choices = list(self._possible(state, steps, on_goal))
            if not choices:
                break
            if len(choices) == 1:
                action = choices[0]  # nothing to ask
            else:
                action, more = self._choice(choices, steps, temperature)
                logprob += more
            steps.append(action)
            if not self._concerns_goal(action):
                break
            self._transition.apply(state, action)
        return steps, logprob

    def _possible(self, state: State, steps: Sequence[Action], on_goal: bool) -> Iterator[Action]:
        """The applicable actions that are not in the plan yet."""
        possible = [
            a
            for a in self._actions
            if a not in steps and not self._transition.failing(state, a) and not self._transition.broken(state, a)
        ]
        on_goal = on_goal or len(possible) > MAX_CHOICES
        return (a for a in possible if not on_goal or self._concerns_goal(a))

    def _concerns_goal(self, action: Action) -> bool:
        return bool(self._of_goal.intersection(action.args)) or (not action.args and self._without_things)

    def _choice(self, choices: Sequence[Action], steps: Sequence[Action], temperature: float) -> tuple[Action, float]:
        lead = " " if steps else ""
        by_text = {f"{lead}{action};": action for action in choices}
        replies = self._ask(
            ChatRequest(
                self._messages,
                temperature=temperature,
                max_tokens=STEP_TOKENS,
                logprobs=True,
                beginning=" ".join(f"{step};" for step in steps),
                choices=tuple(by_text),
            )
        )
        self._usage += replies.usage
        self._until = min(self._until, time.monotonic() + self._seconds)
        reply = replies.replies[0]
        return by_text[reply.text], reply.logprob or 0.0

    def _after(self, steps: Sequence[Action]) -> State:
        state = self._transition.state()
        for step in steps:
            self._transition.apply(state, step)
        return state

    def _reached(self, state: State) -> bool:
        return not unmet_goal(self._transition, state, self._goal)


def is_measured(domain: Domain, goal: Sequence[Literal]) -> bool:
    """Whether a goal is of a kind that the embedded model was measured to plan (`measured` in the example file)."""
    told = example_part(domain, "measured", {"literals": 0})
    return 0 < len(goal) <= told["literals"] and all(g.positive and g.predicate in told["predicates"] for g in goal)


def step_messages(domain: Domain, sentence: str, goal: Sequence[Literal]) -> Messages:
    """The prompt for a plan whose steps are selected: examples, then the task with its goal in brackets."""
    messages = [turn("system", "tree_planner/step_system.txt")]
    plans = example_part(domain, "plans", ())
    for example in (plans[index] for index in example_part(domain, "stepwise", ())):
        if same_task(str(example["task"]), sentence):
            continue
        messages.append(_task(str(example["task"]), map(Literal.parse, example["goal"])))
        messages.append(message("assistant", " ".join(f"{call};" for call in example["plan"])))
    return (*messages, _task(sentence, goal))


def _task(sentence: str, goal: Iterable[Literal]) -> dict[str, str]:
    return turn("user", "tree_planner/step_user.txt", task=one_line(sentence), goal=", ".join(map(_in_words, goal)))


def _in_words(literal: Literal) -> str:
    """``red_cube in left_tray``: names as in calls, in spoken order."""
    first, rest = literal.args[:1], literal.args[1:]
    words = " ".join((*first, literal.predicate, *rest))
    return words if literal.positive else f"not {words}"


def _things(world: World, domain: Domain, goal: Sequence[Literal]) -> frozenset[str]:
    """The goal's objects, and the objects to be moved away from them."""
    names = {a for literal in goal for a in literal.args}
    placed = [
        f
        for name, p in domain.predicates.items()
        if p.goal
        for f in world.by_predicate.get(name, ())
        if len(f.args) == 2
    ]
    while True:
        around = {n: {f.args[0] for f in placed if f.args[1] == n} for n in names}
        more = set().union(*(of for of in around.values() if len(of) <= _AROUND)) - names
        if not more:
            return frozenset(names)
        names |= more

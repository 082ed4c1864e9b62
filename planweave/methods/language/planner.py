"""The Planner port implemented by a language model: prompts from files, replies parsed to plans, choices and goals."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, NoReturn, TypeVar

from planweave.core.base.budget import Budget
from planweave.core.base.errors import ConfigError, GoalError, NoModelError, ParseError, UnknownNameError
from planweave.core.symbolic.domain import Domain, spoken
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.core.trees.program import MAX_CONDITION
from planweave.core.workflow.ports import Choice, ConditionCheck, Grounding, Proposals, SampledPlans, Written
from planweave.core.workflow.question import Clarification
from planweave.core.workflow.reading import Reading
from planweave.llm.accounting import Prices
from planweave.llm.asking import Asker, counted
from planweave.llm.clients.base import ChatClient, ChatReplies, ChatReply, ChatRequest
from planweave.llm.clients.none import SET_ONE
from planweave.llm.embeddings import Embedder, HashedEmbedder
from planweave.llm.parsing import letter, parse_choice, parse_plan
from planweave.llm.reasoning import whole
from planweave.llm.schema import choice_schema, plan_schema
from planweave.methods import questions
from planweave.methods.language import paper_notation
from planweave.methods.language.conditions import check
from planweave.methods.language.interpret import (
    Readings,
    checked_sentence,
    compared,
    interpret,
    readings,
    reads_rightly,
)
from planweave.methods.language.prompt_world import PromptWorlds
from planweave.methods.language.prompting import Messages, decide_messages, offered, sample_messages
from planweave.methods.language.question import Question
from planweave.methods.language.settings import PlannerSettings
from planweave.methods.language.stepwise import StepwisePlans, is_measured

__all__ = ["LanguagePlanner", "PlannerSettings"]

UNNOTED = ("plans", "choice")
"""Kinds of requests whose records do not say what the prompt left out: old ones are replayed to the letter."""
OPEN_LOOP = ("base_llm",)
"""Methods that carry out a single sampled plan: a command in it with an unknown name fails alone."""
TOO_WEAK = (
    "no language model is set that can do this (the embedded one only plans moves of one or two things on a table): "
    f"{SET_ONE}"
)


MISREADS = (
    "the language model that is set read sentences of planweave doctor wrongly, and reads none here: set another one, "
    "or planner_node's reader: model"
)


class LanguagePlanner:
    """Implements `planweave.core.workflow.ports.Planner`. Thread-safe. load_domain returns a world's domain.

    on_exchange is called with every request and its reply, see `planweave.llm.asking.Asker`; kind is "plans", "choice",
    "goal", "program", "brain", "brain_feedback", "command", "words", "step", "proposals", "selection" or "condition".
    """

    def __init__(
        self,
        client: ChatClient,
        settings: PlannerSettings | None = None,
        *,
        budget: Budget | None = None,
        prices: Prices | None = None,
        embedder: Embedder | None = None,
        load_domain: Callable[[str], Domain] = Domain.load,
        on_exchange: Callable[[dict[str, Any]], None] | None = None,
    ) -> None:
        self.client, self.settings = client, settings or PlannerSettings()
        seed = self.settings.seed if self.settings.seed >= 0 else None
        self._asker = Asker(client, self.settings.timeout, budget or Budget(), prices or Prices(), on_exchange, seed)
        self._load_domain, self._embedder = load_domain, embedder or HashedEmbedder()
        if self.settings.sampling == "stepwise" and not client.capabilities.choices:
            raise ConfigError(
                f"sampling: stepwise needs the embedded model, and {client.endpoint} is to be asked; "
                "set it to auto or request"
            )
        self._only_steps = client.capabilities.only_steps and self.settings.only_measured
        self._worlds = PromptWorlds(self._embedder, self.settings.scene_tokens)

    @property
    def _embedded(self) -> bool:
        return self.client.endpoint == "embedded"

    def _ask(
        self, kind: str, request: ChatRequest, task_id: str, canceled: threading.Event | None, **notes: Any
    ) -> ChatReplies:
        """Ask as `Asker.ask` does; raises NoModelError where the model is too weak for the question."""
        if self._only_steps and not request.choices:
            raise NoModelError(TOO_WEAK)
        return self._asker.ask(kind, request, task_id, canceled, **notes)

    def prepare(self, domains: Iterable[str]) -> None:
        """Load these domains and their lexicons (0.2 s of processor time) before the first sentence arrives."""
        for name in domains:
            anything = World(name, (WorldObject("thing", next(iter(self._load_domain(name).types), "object")),))
            self._read_without_model("put the thing in the thing", anything)

    def _read_without_model(self, sentence: str, world: World) -> tuple[Literal, ...]:
        """The goal of a sentence in controlled English; empty for any other."""

        def nobody(messages: Messages, schema: dict[str, Any]) -> ChatReplies:
            raise NoModelError("no model is to be asked")

        try:
            return interpret(self._load_domain(world.domain), world, sentence, nobody).goal
        except GoalError:
            return ()

    @counted
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
        canceled: threading.Event | None = None,
    ) -> SampledPlans:
        """Sample plans in one request and post-process them (Tree-Planner, Section 3.1, Appendix B.3), or stepwise (see
        PlannerSettings.sampling) where the controlled English tells the goal at which a plan is to end.

        Raises ParseError where no plan is left, ModelError, GoalError (the sentence) or CanceledError.
        """
        folder = _row("method of plans", method, questions().sample)
        sentence, set_ = checked_sentence(sentence), self.settings
        domain = offered(self._load_domain(world.domain), sentence, world.actions_off)
        degree = set_.temperature if temperature < 0 else temperature
        longest = set_.max_steps_embedded if self._embedded else set_.max_steps
        stepwise = method == "tree_planner" and set_.sampling != "request" and self.client.capabilities.choices
        goal = self._read_without_model(sentence, world) if stepwise else ()
        if goal and errors:  # they were sampled step by step until one reached it: there is no other
            return SampledPlans((), 0)
        if self._only_steps and not is_measured(domain, goal):
            raise NoModelError(TOO_WEAK)
        if goal:
            ask = partial(self._ask, "plans", task_id=task_id, canceled=canceled)
            plans = StepwisePlans(domain, world, sentence, goal, ask, set_.exclude_actions)
            return plans.sample(samples or set_.samples_embedded, degree, longest, set_.sampling_seconds_embedded)
        question = self._question(sentence, world, (), (), task_id, canceled, domain=domain)
        shown = question.shown
        schema: dict[str, Any] | None = None
        if folder == paper_notation.FOLDER:
            messages = paper_notation.sample_messages(domain, shown, sentence, set_.exclude_actions, errors)
        else:
            messages = sample_messages(domain, shown, sentence, set_.exclude_actions, folder, errors)
            schema = plan_schema(domain, shown, max_steps=longest, without=set_.exclude_actions)
        return _collected(
            question,
            messages,
            method in OPEN_LOOP,
            n=samples or (set_.samples_embedded if self._embedded else set_.samples),
            temperature=degree,
            top_p=top_p or set_.top_p,
            max_tokens=40 + 25 * longest,
            logprobs=True,
            json_schema=schema,
        )

    @counted
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
        canceled: threading.Event | None = None,
    ) -> Choice:
        """Choose by majority vote (Tree-Planner, Section 3.3); ties go to the earlier option.

        Raises ParseError where no reply names an option, ModelError, GoalError (the sentence) or CanceledError.
        """
        domain, set_ = self._load_domain(world.domain), self.settings
        if not options:
            raise ParseError("there are no options to choose from")
        named = {arg for option in options if option is not None for arg in option.args}
        question = self._question(sentence, world, history, errors, task_id, canceled, extra=named, domain=domain)
        as_in_paper = questions().sample.get(method) == paper_notation.FOLDER
        words = paper_notation.decide_messages if as_in_paper else decide_messages
        rows, replies, problem = question.ask_until_read(
            "choice",
            words(domain, question.shown, question.sentence, history, options, errors),
            lambda reply: parse_choice(reply.text, len(options)),
            n=samples or (set_.votes_embedded if self._embedded else set_.votes),
            temperature=set_.choice_temperature if temperature < 0 else temperature,
            max_tokens=16,
            json_schema=None if as_in_paper else choice_schema([letter(i) for i in range(len(options))]),
            about={"options": tuple(options)},
        )
        votes = Counter(index for _, index in rows)
        if not votes:
            raise ParseError(f"none of {len(replies.replies)} replies names an option; the last: {problem}")
        index = max(votes, key=lambda i: (votes[i], -i))
        return Choice(
            index, tuple(votes[i] for i in range(len(options))), len(replies.replies) - votes.total(), replies.usage
        )

    @counted
    def interpret_goal(
        self,
        sentence: str,
        world: World,
        *,
        clarifications: Sequence[Clarification] = (),
        task_id: str = "",
        canceled: threading.Event | None = None,
    ) -> Reading:
        """Interpret a sentence as goal literals; raises GoalError or CanceledError."""
        domain, reads = self._load_domain(world.domain), self._reads
        ask = _misread if reads is False else partial(self._ask_goal, task_id, canceled)
        agreement = self.settings.goal_agreement
        shown, _ = self._worlds.shown(domain, world, sentence.strip())
        read = interpret(domain, world, sentence, ask, agreement, shown, clarifications, bool(reads))
        if not self.settings.confirm_reading or not read.goal or clarifications:
            return read  # what a person has made clear is asked no further
        once = partial(self._ask_goal, task_id, canceled, samples=1, temperature=0.0)
        return compared(domain, shown, sentence, read, once)

    @property
    def _reads(self) -> bool | None:
        """Whether the model reads every sentence; None: what the grammar does not cover; False: none, as it was found
        to read wrongly. The embedded one is asked nothing, whatever this says.
        """
        if self._embedded or self.settings.reader == "grammar":
            return None
        return self.settings.reader == "model" or reads_rightly(self.client.endpoint, self.client.model)

    def readings(self, sentence: str, world: World, task_id: str = "") -> Readings:
        """The model's readings of a sentence, also of one that the grammar would read; raises ModelError."""
        ask = partial(self._ask_goal, task_id, None)
        return readings(self._load_domain(world.domain), world, checked_sentence(sentence), ask)

    def _ask_goal(
        self,
        task_id: str,
        canceled: threading.Event | None,
        messages: Messages,
        schema: dict[str, Any],
        samples: int = 0,
        temperature: float = -1.0,
    ) -> ChatReplies:
        if self._embedded:
            raise NoModelError(TOO_WEAK)
        request = ChatRequest(
            messages,
            n=samples or self.settings.goal_votes,
            temperature=self.settings.goal_temperature if temperature < 0 else temperature,
            max_tokens=700,
            json_schema=schema,
        )
        return self._ask("goal", request, task_id, canceled)

    @counted
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
        canceled: threading.Event | None = None,
    ) -> Written:
        """A whole plan in the method's own format; raises ParseError, ModelError, GoalError or CanceledError."""
        ask = _row("method that writes", method, questions().write)
        question = self._question(sentence, world, (), errors, task_id, canceled, context=history)
        return ask(question, history, start, options or {})

    @counted
    def ground_step(
        self,
        method: str,
        sentence: str,
        step: str,
        world: World,
        *,
        errors: Sequence[str] = (),
        task_id: str = "",
        canceled: threading.Event | None = None,
    ) -> Grounding:
        """One step in words as an action; raises ParseError, ModelError, GoalError or CanceledError."""
        ask = _row("method that grounds steps", method, questions().ground)
        return ask(self._question(sentence, world, (), errors, task_id, canceled, context=[step]), step)

    @counted
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
        canceled: threading.Event | None = None,
    ) -> Proposals:
        """Candidates for the next step; raises ParseError, ModelError, GoalError or CanceledError."""
        ask = _row("method that proposes steps", method, questions().propose)
        return ask(self._question(sentence, world, history, errors, task_id, canceled), samples)

    @counted
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
        canceled: threading.Event | None = None,
    ) -> Choice:
        """Choose one of the candidates; raises ParseError (also for an answer outside them), ModelError, GoalError or
        CanceledError."""
        ask = _row("method that selects", method, questions().select)
        if not options:
            raise ParseError("there are no options to choose from")
        asked = self._question(
            sentence,
            world,
            history,
            errors,
            task_id,
            canceled,
            extra={a for o in options for a in o.args} | {a for g in goal for a in g.args},
        )
        return ask(asked, options, goal)

    @counted
    def check_condition(
        self, condition: str, world: World, *, task_id: str = "", canceled: threading.Event | None = None
    ) -> ConditionCheck:
        """Whether a condition holds; raises ParseError, ModelError or CanceledError."""
        if not condition.strip():
            raise ParseError("the condition is empty; expected a form such as 'close' to 'mug'")
        return check(self._question(condition[:MAX_CONDITION], world, (), (), task_id, canceled), condition)

    def _question(
        self,
        sentence: str,
        world: World,
        history: Sequence[Action],
        errors: Sequence[str],
        task_id: str,
        canceled: threading.Event | None,
        *,
        context: Sequence[str] = (),
        extra: Collection[str] = (),
        domain: Domain | None = None,
    ) -> Question:
        """The inputs of a method's request. context: steps in words, whose objects are shown as well. domain: else what
        the world's domain offers for the sentence.
        """
        sentence = checked_sentence(sentence)
        if domain is None:
            domain = offered(self._load_domain(world.domain), " ".join((sentence, *context)), world.actions_off)
        texts = (*context, *errors) if context else ()
        named = {n for n in world.by_name for text in texts if n in text or spoken(n) in text.lower()}
        shown, left_out = self._worlds.shown(domain, world, sentence, history, named | set(extra))

        def send(kind: str, request: ChatRequest, notes: dict[str, Any]) -> ChatReplies:
            if left_out and kind not in UNNOTED:
                notes = {**notes, "left_out": list(left_out)}
            return self._ask(kind, request, task_id, canceled, **notes)

        return Question(
            sentence,
            domain,
            world,
            shown,
            self.settings,
            self._embedder,
            send,
            tuple(history),
            tuple(errors),
        )


_Row = TypeVar("_Row")


def _misread(*of: Any) -> NoReturn:
    """Asks nobody: the model was found to read wrongly; raises NoModelError."""
    raise NoModelError(MISREADS)


def _row(kind: str, name: str, table: Mapping[str, _Row]) -> _Row:
    """The row of a table; raises UnknownNameError."""
    if name not in table:
        raise UnknownNameError(kind, name, table)
    return table[name]


def _collected(question: Question, messages: Messages, keep_unknown: bool, **options: Any) -> SampledPlans:
    """Sample plans, merge equal ones and count them; log-probability of the most probable one."""
    mender = question.mender()
    plans: dict[tuple[Action, ...], tuple[tuple[PlanStep, ...], int, float]] = {}
    known: dict[str, tuple[PlanStep, ...]] = {}  # many samples are equal

    def read(reply: ChatReply) -> tuple[PlanStep, ...]:
        text = whole(reply)
        if text not in known:
            steps = mender.plan(parse_plan(text), keep_unknown)
            if steps is None:
                raise ParseError(f"a name in it is not known: {reply.text[:200]!r}")
            known[reply.text] = steps
        return known[reply.text]

    rows, replies, problem = question.ask_until_read("plans", messages, read, **options)
    mended = 0
    for reply, steps in rows:
        mended += any(step.original for step in steps)
        actions = tuple(step.action for step in steps)
        kept, count, logprob = plans.get(actions, (steps, 0, -math.inf))
        plans[actions] = (kept, count + 1, max(logprob, -math.inf if reply.logprob is None else reply.logprob))
    if not plans:
        raise ParseError(f"none of {len(replies.replies)} replies holds a plan; the last: {problem}")
    ordered = sorted(plans.values(), key=lambda p: (-p[1], -p[2]))
    return SampledPlans(
        tuple(
            CountedPlan(steps, count, None if logprob == -math.inf else logprob) for steps, count, logprob in ordered
        ),
        len(replies.replies),
        len(replies.replies) - len(rows),
        mended,
        replies.usage,
    )

"""The Planner port, kept by a language model: questions out of prompt files, replies into plans, choices and goals."""

from __future__ import annotations

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner_node.accounting import Ledger, Prices
from planner_node.clients.base import ChatClient, ChatReplies, ChatRequest
from planner_node.interpret import checked_sentence, interpret
from planner_node.names import CUTOFF, Mender, Similarity
from planner_node.parsing import letter, parse_choice, parse_plan
from planner_node.prompting import Messages, decide_messages, sample_messages
from planner_node.schema import choice_schema, plan_schema
from planweave.budget import Budget
from planweave.domain import Domain
from planweave.errors import ParseError, PlanweaveError
from planweave.plan import Plan, PlanStep
from planweave.ports import Choice, Interpretation, SampledPlans
from planweave.world import Action, World


@dataclass(frozen=True)
class Settings:
    """Parameters of the planner; the defaults are the paper's (Section 4.1), see config/planner.yaml.

    Those that end in _embedded are for the model in this process, which is small.
    goal_agreement: share of the readings of a sentence that must be more than this to count. timeout: seconds for
    one question with all its retries. max_steps: of one plan. exclude_actions: not offered.
    """

    samples: int = 25
    samples_embedded: int = 10
    temperature: float = 0.8
    top_p: float = 0.95
    votes: int = 20
    votes_embedded: int = 9
    choice_temperature: float = 0.7
    goal_votes: int = 5
    goal_temperature: float = 0.7
    goal_agreement: float = 0.5
    goal_agreement_embedded: float = 0.99
    max_steps: int = 30
    max_steps_embedded: int = 8
    timeout: float = 60.0
    cutoff: float = CUTOFF
    exclude_actions: tuple[str, ...] = ()


class LanguagePlanner:
    """Keeps `planweave.ports.Planner`. Thread-safe. load_domain gives a world's domain.

    on_exchange hears of every question and its answer as a plain dict (no keys in it): task_id, kind ("plans",
    "choice" or "goal"), stamp (seconds since 1970), request, reply or error.
    """

    def __init__(self, client: ChatClient, settings: Settings | None = None, *, budget: Budget | None = None,
                 prices: Prices | None = None, similarity: Similarity | None = None,
                 load_domain: Callable[[str], Domain] = Domain.load,
                 on_exchange: Callable[[dict[str, Any]], None] | None = None) -> None:
        self.client, self.settings = client, settings or Settings()
        self._ledger, self._prices = Ledger(budget or Budget()), prices or Prices()
        self._similarity, self._load_domain, self._on_exchange = similarity, load_domain, on_exchange

    @property
    def _embedded(self) -> bool:
        return self.client.endpoint == "embedded"

    def generate_plans(
        self, sentence: str, world: World, *, samples: int = 0, temperature: float = -1.0, top_p: float = 0.0,
        task_id: str = "", method: str = "tree_planner", canceled: threading.Event | None = None,
    ) -> SampledPlans:
        """Sample plans in one request and post-process them (Tree-Planner, Section 3.1, Appendix B.3).

        Raises ParseError where no plan is left, ModelError, GoalError (the sentence) or CanceledError.
        """
        sentence, domain, set_ = checked_sentence(sentence), self._load_domain(world.domain), self.settings
        longest = set_.max_steps_embedded if self._embedded else set_.max_steps
        request = ChatRequest(
            sample_messages(domain, world, sentence, set_.exclude_actions, method),
            n=samples or (set_.samples_embedded if self._embedded else set_.samples),
            temperature=set_.temperature if temperature < 0 else temperature, top_p=top_p or set_.top_p,
            max_tokens=40 + 25 * longest, logprobs=True,
            json_schema=plan_schema(domain, world, max_steps=longest, without=set_.exclude_actions))
        replies = self._ask("plans", request, task_id, canceled)
        mender = Mender(domain, world, self._similarity, cutoff=set_.cutoff, without=set_.exclude_actions)
        return _collected(replies, mender)

    def choose_action(
        self, sentence: str, world: World, history: Sequence[Action], options: Sequence[Action | None], *,
        errors: Sequence[str] = (), samples: int = 0, temperature: float = -1.0, task_id: str = "",
        canceled: threading.Event | None = None,
    ) -> Choice:
        """Choose by majority vote (Tree-Planner, Section 3.3); among equal votes the earlier option wins.

        Raises ParseError where no reply names an option, ModelError, GoalError (the sentence) or CanceledError.
        """
        sentence, domain, set_ = checked_sentence(sentence), self._load_domain(world.domain), self.settings
        if not options:
            raise ParseError("there are no options to choose from")
        request = ChatRequest(
            decide_messages(domain, world, sentence, history, options, errors),
            n=samples or (set_.votes_embedded if self._embedded else set_.votes),
            temperature=set_.choice_temperature if temperature < 0 else temperature, top_p=1.0, max_tokens=16,
            json_schema=choice_schema([letter(i) for i in range(len(options))]))
        replies = self._ask("choice", request, task_id, canceled)
        votes: Counter[int] = Counter()
        problem = ""
        for reply in replies.replies:
            try:
                votes[parse_choice(reply.text, len(options))] += 1
            except ParseError as error:
                problem = str(error)
        if not votes:
            raise ParseError(f"none of {len(replies.replies)} replies names an option; the last: {problem}")
        index = max(votes, key=lambda i: (votes[i], -i))
        return Choice(index, tuple(votes[i] for i in range(len(options))),
                      len(replies.replies) - votes.total(), replies.usage)

    def interpret_goal(self, sentence: str, world: World, *, task_id: str = "",
                       canceled: threading.Event | None = None) -> Interpretation:
        """Read a sentence into goal literals; raises GoalError or CanceledError."""
        domain = self._load_domain(world.domain)

        def ask(messages: Messages, schema: dict[str, Any]) -> ChatReplies:
            return self._ask("goal", ChatRequest(
                messages, n=self.settings.goal_votes, temperature=self.settings.goal_temperature, max_tokens=400,
                json_schema=schema), task_id, canceled)

        agreement = self.settings.goal_agreement_embedded if self._embedded else self.settings.goal_agreement
        return interpret(domain, world, sentence, ask, agreement)

    def _ask(self, kind: str, request: ChatRequest, task_id: str, canceled: threading.Event | None) -> ChatReplies:
        self._ledger.check(task_id)
        request = replace(request, deadline=time.monotonic() + self.settings.timeout, canceled=canceled)
        exchange: dict[str, Any] = {"task_id": task_id, "kind": kind, "stamp": time.time(),
                                    "request": request.as_dict()}
        try:
            replies = self.client.complete(request)
            replies = replace(replies, usage=self._prices.priced(replies.usage))
            self._ledger.add(task_id, replies.usage)
            exchange["reply"] = replies.as_dict()
            return replies
        except PlanweaveError as error:
            exchange["error"] = f"{type(error).__name__}: {error}"
            raise
        finally:
            if self._on_exchange is not None:
                self._on_exchange(exchange)


def _collected(replies: ChatReplies, mender: Mender) -> SampledPlans:
    """Equal plans as one with their number; log-probability of the most probable of them."""
    plans: dict[tuple[Action, ...], tuple[tuple[PlanStep, ...], int, float]] = {}
    dropped = mended = 0
    problem = ""
    for reply in replies.replies:
        steps = None
        try:
            if reply.finish_reason == "length":
                raise ParseError("the reply was cut off at the limit of tokens")
            steps = mender.plan(parse_plan(reply.text))
            problem = problem if steps else f"a name in it is not known: {reply.text[:200]!r}"
        except ParseError as error:
            problem = str(error)
        if steps is None:
            dropped += 1
            continue
        mended += any(step.original for step in steps)
        actions = tuple(step.action for step in steps)
        kept, count, logprob = plans.get(actions, (steps, 0, -math.inf))
        plans[actions] = (kept, count + 1, max(logprob, -math.inf if reply.logprob is None else reply.logprob))
    if not plans:
        raise ParseError(f"none of {len(replies.replies)} replies holds a plan; the last: {problem}")
    ordered = sorted(plans.values(), key=lambda p: (-p[1], -p[2]))
    return SampledPlans(
        tuple(Plan(steps, count, None if logprob == -math.inf else logprob) for steps, count, logprob in ordered),
        len(replies.replies), dropped, mended, replies.usage)

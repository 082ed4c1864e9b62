"""Tokens per task of Tree-Planner against Iterative-Planner, on the same tasks with the same simulated model.

Prompts, parsing, loops and body are the product's; only the model is played, see `planweave.bench.simulated_model`.
Tokens are counted by `planweave.llm.accounting`, prompts once however many replies are asked for.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from benchmarks.home_tasks import HomeRun, HomeTask, run_method
from planweave.bench.simulated_model import TRAVEL, SimulatedModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action
from planweave.llm.accounting import estimated_tokens
from planweave.llm.clients.base import About, ChatReplies, ChatRequest
from planweave.methods.language.settings import PlannerSettings

#: The saving of Tree-Planner with 25 samples against each, as its paper has it (Section 1)
PAPER = {"no replanning": 0.53, "local replanning": 0.74, "global replanning": 0.92}
DEFAULT = "tree_planner that checks plans"
#: name -> method and its parameters. As in the paper, Tree-Planner keeps all plans that were sampled.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree_planner": ("tree_planner", {"samples": 25, "check_plans": False}),
    "tree_planner without correction": ("tree_planner", {"samples": 25, "check_plans": False, "max_corrections": 0}),
    DEFAULT: ("tree_planner", {"samples": 25}),
    "no replanning": ("iterative", {"replan": "none"}),
    "local replanning": ("iterative", {"replan": "local"}),
    "global replanning": ("iterative", {"replan": "global"}),
}


#: Kinds of wrong steps, equally often; every reply can be read.
ERRORS = {"missing": 1.0, "wrong object": 1.0}


class KnownPlan:
    """Knowledge of a right plan and of nothing else: where it is, the questions tell."""

    def __init__(self, task: HomeTask) -> None:
        self.domain, self.expected = Domain.load("household"), task.plan
        self.names: Sequence[str] = ()

    def rest(self, planned: Sequence[Action], about: About) -> Sequence[Action]:
        """The end of the plan. planned: not used, as the history holds it."""
        self.names = about.names
        failed = [Action.parse(text.partition(": ")[0]) for text in about.errors]
        return self.expected[next_index(self.expected, about.history, failed) :]


def next_index(gold: Sequence[Action], history: Sequence[Action], failed: Sequence[Action]) -> int:
    """Where in the right plan to go on: after the last of its steps that was done in its order.

    Where that step was tried and failed: at the first step that was left out, else at the way there.
    """
    index, done = 0, set()
    for action in history:
        if action in gold[index:]:
            index = gold.index(action, index) + 1
            done.add(index - 1)
    if index < len(gold) and gold[index] in failed:
        missing = [i for i in range(index) if i not in done]
        ways = [i for i in range(index) if gold[i].name in TRAVEL]
        return (missing or ways[-1:] or [index])[0]
    return index


def model_for(task: HomeTask, error_rate: float, seed: int = 0) -> SimulatedModel:
    """A model that knows the task's plan."""
    return SimulatedModel(KnownPlan(task), error_rate, f"{seed} {task.words}", ERRORS, malformed=0.0)


@dataclass(frozen=True)
class TokenRow:
    """One method over all runs: means per task, and the number of runs whose goal held at the end."""

    tokens: float
    prompt_tokens: float
    requests: float
    corrections: float
    met: int
    runs: int

    @classmethod
    def of(cls, runs: Sequence[HomeRun]) -> TokenRow:
        used, n = [r.usage for r in runs], len(runs)
        return cls(
            sum(u.total_tokens for u in used) / n,
            sum(u.prompt_tokens for u in used) / n,
            sum(u.requests for u in used) / n,
            sum(r.corrections for r in runs) / n,
            sum(r.met for r in runs),
            n,
        )


def token_figures(tasks: Sequence[HomeTask], error_rate: float, seeds: int) -> dict[str, TokenRow]:
    """By method; every task is run once with each seed."""
    settings = PlannerSettings()
    return {
        name: TokenRow.of(
            [
                run_method(method, task, model_for(task, error_rate, seed), settings, **options)
                for task in tasks
                for seed in range(seeds)
            ]
        )
        for name, (method, options) in METHODS.items()
    }


@dataclass(frozen=True)
class PromptSizes:
    """The quantities of Tree-Planner's token model (Section 5.1, Appendix D), means over tasks, in tokens.

    plan, choice, step: prompts for sampling plans, for deciding, and for a step of Iterative-Planner (rho_ps, rho_gd,
    rho_ip); action: one action written out (|a|); steps: M.
    """

    plan: float
    choice: float
    step: float
    action: float
    steps: float

    @property
    def most_samples(self) -> float:
        """The number of samples below which Tree-Planner takes fewer tokens, by the model of Appendix D."""
        return (1 - 1 / self.steps) / (1 + 1 / self.action) * self.plan / self.action + self.action / (self.action + 1)


def prompt_sizes(tasks: Sequence[HomeTask]) -> PromptSizes:
    """As the product builds the prompts, with a model that errs in one step of ten."""
    prompts: dict[str, list[int]] = {}

    def heard(ask: Callable[[ChatRequest], ChatReplies], request: ChatRequest) -> ChatReplies:
        replies = ask(request)
        prompts.setdefault(request.about.kind, []).append(replies.usage.prompt_tokens)
        return replies

    for task in tasks:
        for name in ("tree_planner", "no replanning"):
            method, options = METHODS[name]
            model = model_for(task, 0.1)
            model.complete = partial(heard, model.complete)  # type: ignore[method-assign]
            run_method(method, task, model, PlannerSettings(), **options)
    sizes = {kind: statistics.fmean(found) for kind, found in prompts.items()}
    actions = [action for task in tasks for action in task.plan]
    return PromptSizes(
        sizes["plans"],
        sizes["choice"],
        sizes["step"],
        statistics.fmean(estimated_tokens(f'"{a}", ') for a in actions),
        len(actions) / len(tasks),
    )


def saving(rows: dict[str, TokenRow], against: str, by: str = "tree_planner") -> float:
    """The share of the tokens of a method that another one does without."""
    return 1 - rows[by].tokens / rows[against].tokens

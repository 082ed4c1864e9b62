"""Tokens per task of Tree-Planner against Iterative-Planner, on the same tasks with the same simulated model.

Prompts, parsing, loops and body are the product's; only the model is played, see `evaluation.scripted_model`. Tokens
are counted by `planner_node.tokens`, prompts once however many replies are asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.home_tasks import HomeTask, Run, run_method
from evaluation.scripted_model import ScriptedModel
from planner_node.settings import Settings

#: The saving of Tree-Planner with 25 samples against each, as its paper has it (Section 1)
PAPER = {"no replanning": 0.53, "local replanning": 0.74, "global replanning": 0.92}
#: name -> method and its parameters. As in the paper, Tree-Planner keeps all plans that were sampled.
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "tree_planner": ("tree_planner", {"samples": 25, "check_plans": False}),
    "tree_planner without correction": ("tree_planner", {"samples": 25, "check_plans": False, "max_corrections": 0}),
    "tree_planner that checks plans": ("tree_planner", {"samples": 25}),
    "no replanning": ("iterative", {"replan": "none"}),
    "local replanning": ("iterative", {"replan": "local"}),
    "global replanning": ("iterative", {"replan": "global"}),
}


@dataclass(frozen=True)
class Row:
    """One method over all runs: means per task, and the number of runs whose goal held at the end."""

    tokens: float
    prompt_tokens: float
    requests: float
    corrections: float
    met: int
    runs: int

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Row:
        """The means of runs."""
        used, n = [r.usage for r in runs], len(runs)
        return cls(sum(u.total_tokens for u in used) / n, sum(u.prompt_tokens for u in used) / n,
                   sum(u.requests for u in used) / n, sum(r.corrections for r in runs) / n,
                   sum(r.met for r in runs), n)


def token_figures(tasks: Sequence[HomeTask], error_rate: float, seeds: int) -> dict[str, Row]:
    """By method; every task is run once with each seed."""
    plans = {task.words: task.plan for task in tasks}
    settings = Settings()
    return {
        name: Row.of([run_method(method, task, ScriptedModel(plans, error_rate, seed), settings, **options)
                      for task in tasks for seed in range(seeds)])
        for name, (method, options) in METHODS.items()
    }


def saving(rows: dict[str, Row], against: str, by: str = "tree_planner") -> float:
    """The share of the tokens of a method that another one does without."""
    return 1 - rows[by].tokens / rows[against].tokens

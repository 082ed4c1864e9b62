"""Limits of the usage of language models per task."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.base.errors import BudgetExceededError
from planweave.core.base.usage import Usage


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits for one task; 0 means no limit. cost in US dollars."""

    requests: int = 0
    tokens: int = 0
    cost: float = 0.0

    def check(self, used: Usage) -> None:
        """Raise BudgetExceededError where the next request would go beyond a limit."""
        for name, limit, value in (
            ("requests", self.requests, used.requests),
            ("tokens", self.tokens, used.total_tokens),
            ("cost", self.cost, used.cost or 0.0),
        ):
            if limit and value >= limit:
                raise BudgetExceededError(
                    f"the task's budget of {limit:g} {name} is used up ({value:g} used); raise budget_{name} in "
                    "config/planner.yaml or give a simpler task"
                )

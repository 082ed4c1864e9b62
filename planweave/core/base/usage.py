"""Usage of language models."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of language models; instances add up with ``+``.

    requests: those that were answered; an endpoint without requests means that it was asked and did not answer.
    prompt_tokens include cached_tokens; model_seconds is wall time spent waiting; cost in US dollars, None where the
    price of the model is unknown.
    """

    requests: int = 0
    prompt_tokens: int = 0
    cached_tokens: int = 0
    completion_tokens: int = 0
    model_seconds: float = 0.0
    cost: float | None = None
    model: str = ""
    endpoint: str = ""

    def __add__(self, other: Usage) -> Usage:
        if not self.requests:
            cost = other.cost
        elif not other.requests:
            cost = self.cost
        else:
            cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Usage(
            self.requests + other.requests,
            self.prompt_tokens + other.prompt_tokens,
            self.cached_tokens + other.cached_tokens,
            self.completion_tokens + other.completion_tokens,
            self.model_seconds + other.model_seconds,
            cost,
            other.model or self.model,
            other.endpoint or self.endpoint,
        )

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens

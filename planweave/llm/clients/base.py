"""Interface of chat clients: one method, values in and out."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Protocol

from planweave.core.base.errors import CanceledError, ModelTimeoutError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action


@dataclass(frozen=True)
class About:
    """Subject of a request, for a client that plays a model (`planweave.bench.simulated_model`).

    It is no part of the question: no endpoint is sent it, no record keeps it. kind: as in `planweave.llm.asking`. task:
    the sentence. names: the objects that the prompt shows. history: actions done or planned so far. errors: raw texts
    of failures. options: what to choose from; None: the task is done. start: number of the first step wanted. step: the
    step in words that is to become a command. agent: how commands name the robot. holds:
    whether the condition that is asked about holds, None where no rule knows. offered: actions that may be called.
    """

    kind: str = ""
    task: str = ""
    names: tuple[str, ...] = ()
    history: tuple[Action, ...] = ()
    errors: tuple[str, ...] = ()
    options: tuple[Action | None, ...] = ()
    start: int = 0
    step: str = ""
    agent: str = ""
    holds: bool | None = None
    offered: tuple[str, ...] = ()


@dataclass(frozen=True)
class ChatRequest:
    """One request to a model.

    messages: ``{"role": ..., "content": ...}`` in order. n: number of replies. json_schema: schema of the reply, where
    the endpoint supports constrained output. logprobs: request the summed log-probability of each reply. choices: texts
    to which the reply is constrained, for a client that supports it (see Capabilities); it continues `beginning`, as if
    the model had written that itself. deadline: on the clock of time.monotonic(), seconds; canceled: set when the reply
    is no longer wanted. about: for a client that plays a model. seed: of the sampling, where the endpoint takes one.
    max_tokens: of the answer; reasoning before it comes on top. tokens_left: what the task's budget leaves for all.
    """

    messages: tuple[Mapping[str, Any], ...]
    n: int = 1
    temperature: float = 0.0
    top_p: float = 1.0
    max_tokens: int = 256
    json_schema: Mapping[str, Any] | None = None
    logprobs: bool = False
    seed: int | None = None
    beginning: str = ""
    choices: tuple[str, ...] = ()
    deadline: float = field(default=float("inf"), compare=False)
    canceled: threading.Event | None = field(default=None, compare=False)
    tokens_left: float = field(default=float("inf"), compare=False)
    about: About = field(default=About(), compare=False)

    def as_dict(self) -> dict[str, Any]:
        """The content of the request as plain JSON values: without deadline, cancellation, budget and `about`."""
        held: dict[str, Any] = {} if self.seed is None else {"seed": self.seed}
        if self.choices:
            held |= {"beginning": self.beginning, "choices": list(self.choices)}
        return {
            "messages": [dict(m) for m in self.messages],
            "n": self.n,
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            "json_schema": self.json_schema,
            "logprobs": self.logprobs,
            **held,
        }

    @property
    def remaining(self) -> float:
        return self.deadline - time.monotonic()

    def check(self) -> None:
        """Raise CanceledError or ModelTimeoutError where the reply is no longer wanted."""
        if self.canceled is not None and self.canceled.is_set():
            raise CanceledError("the question to the model was cancelled")
        if self.remaining <= 0:
            raise ModelTimeoutError(
                "the model did not finish before the deadline; give it longer "
                "(timeout in config/planner.yaml) or take a faster model"
            )


@dataclass(frozen=True)
class ChatReply:
    """One reply.

    logprob: sum of the log-probabilities of its tokens, None where the endpoint returns none; tokens: their number, 0
    where it is unknown. reasoning: what the endpoint gives apart from the text; tools: names of called tools, "" for
    one without a name.
    """

    text: str
    finish_reason: str = "stop"
    logprob: float | None = None
    tokens: int = 0
    reasoning: str = ""
    tools: tuple[str, ...] = ()

    @property
    def mean_logprob(self) -> float | None:
        """Mean log-probability of the tokens, None where it is not known."""
        return self.logprob / self.tokens if self.logprob is not None and self.tokens else None


@dataclass(frozen=True)
class ChatReplies:
    """All replies to one request, and their usage."""

    replies: tuple[ChatReply, ...]
    usage: Usage

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON values; read back with `from_dict`."""
        return {"replies": [asdict(r) for r in self.replies], "usage": asdict(self.usage)}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> ChatReplies:
        """Inverse of `as_dict`; raises TypeError, KeyError or AttributeError where data has another shape."""
        replies = (ChatReply(**{**r, "tools": tuple(r.get("tools", ()))}) for r in data["replies"])
        return cls(tuple(replies), Usage(**data["usage"]))


@dataclass(frozen=True)
class Capabilities:
    """Capabilities of an endpoint; None where unknown so far. context: tokens of prompt and reply together.

    choices: whether a reply can be prefilled and constrained to a list of texts, which no OpenAI endpoint supports.
    only_steps: whether the model is too weak for any question but which of the possible steps comes next.
    """

    n: bool | None = None
    json_schema: bool | None = None
    logprobs: bool | None = None
    context: int | None = None
    choices: bool = False
    only_steps: bool = False


class ChatClient(Protocol):
    @property
    def endpoint(self) -> str:
        """Destination of the requests, without credentials: a base URL, "embedded" or "replay"."""

    @property
    def model(self) -> str:
        """The model's name; empty where it is unknown before the first reply."""

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of the endpoint known so far."""

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Send a request and wait. Raises ModelError (its subclass says why) or CanceledError."""

    def close(self) -> None:
        """Release connections and servers. May be called twice."""


@dataclass
class WrappedClient:
    """Base of a client that sends through another one; `complete` is its own. The inner one stays open."""

    inner: ChatClient

    @property
    def endpoint(self) -> str:
        return self.inner.endpoint

    @property
    def model(self) -> str:
        return self.inner.model

    @property
    def capabilities(self) -> Capabilities:
        return self.inner.capabilities

    def close(self) -> None:
        """Do nothing: who made the inner client closes it."""

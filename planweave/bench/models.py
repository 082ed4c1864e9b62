"""Model specifications of the bake-off.

| name | what answers |
|---|---|
| `auto` | what `planweave run` would ask: the endpoint of the environment, else the embedded model |
| `openai`, `openai:NAME` | the endpoint of OPENAI_BASE_URL / OPENAI_API_KEY, with PLANWEAVE_MODEL or the named model |
| `embedded`, `embedded:PATH` | the small model in this process, or another .gguf file |
| `cassette:PATH` | recorded replies |
| `simulated:RATE` | no model: knows a right plan and errs at the rate (`planweave.bench.simulated_model`) |
| `simulated:RATE,correlation=RHO` | the same; with probability RHO all samples of a question share an error |
| `none` | nobody, for methods that ask no model |
"""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from planweave.bench.expert import Expert
from planweave.bench.simulated_model import CORRELATION, SimulatedModel
from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.symbolic.world import Action
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatClient, ChatReplies, ChatReply, ChatRequest, WrappedClient

KINDS = ("auto", "openai", "embedded", "cassette", "simulated", "none")


def check_model(name: str) -> str:
    """The name, checked; raises UnknownNameError or ConfigError."""
    kind, _, rest = name.partition(":")
    if kind not in KINDS:
        raise UnknownNameError("model", name, KINDS)
    if kind == "simulated":
        rates_of(name)
    if kind == "cassette" and not rest:
        raise ConfigError("model 'cassette' needs a file: cassette:PATH")
    return name


def rates_of(name: str) -> tuple[float, float]:
    """Error rate and correlation of simulated:RATE,correlation=RHO; raises ConfigError."""
    rate, *options = (name.partition(":")[2] or "0.1").split(",")
    values = {"rate": rate, "correlation": str(CORRELATION)}
    for option in options:
        key, _, value = option.partition("=")
        if key != "correlation":
            raise ConfigError(f"model {name!r}: unknown option {key!r}; write e.g. simulated:0.2,correlation=0.5")
        values[key] = value
    numbers = []
    for key, text in values.items():
        try:
            numbers.append(float(text))
        except ValueError:
            numbers.append(-1.0)
        if not 0 <= numbers[-1] <= 1:
            raise ConfigError(
                f"model {name!r}: {key} {text!r} is no number from 0 to 1; write e.g. simulated:0.2 or "
                "simulated:0.2,correlation=0.5"
            )
    return numbers[0], numbers[1]


def is_simulated(name: str) -> bool:
    """Whether no real model answers; simulated and real results are never in one table."""
    return name.partition(":")[0] == "simulated"


def client_for(name: str, expert: Expert, seed: str) -> ChatClient:
    """The client for one episode. Those of real models are shared by all episodes of this process."""
    if is_simulated(name):
        rate, correlation = rates_of(name)
        return SimulatedModel(expert, rate, seed, correlation=correlation)
    return client_of(name)


def try_model(name: str) -> None:
    """Create the client of a real model, without a request; raises ConfigError or MissingExtraError."""
    if name != "none" and not is_simulated(name):
        client_of(name)


def client_of(name: str) -> ChatClient:
    """The client of a real model; raises ConfigError or MissingExtraError."""
    return _client(name, threading.get_ident() if name.startswith("cassette:") else 0)


@lru_cache(maxsize=8)
def _client(name: str, _: int) -> ChatClient:
    kind, _colon, rest = name.partition(":")
    environ = dict(os.environ)
    settings = {"client": {"cassette": "replay"}.get(kind, kind)}
    if kind == "cassette":
        settings["cassette"] = rest
    elif rest:
        environ["PLANWEAVE_MODEL"] = rest
    elif kind == "embedded" and not environ.get("PLANWEAVE_MODEL", "").endswith(".gguf"):
        environ.pop("PLANWEAVE_MODEL", None)
    return choose_client(environ, settings)


@dataclass
class GoldAmongPlans(WrappedClient):
    """Wraps a client: to the replies with whole plans it adds one with a right plan (Tree-Planner, Section 5.3)."""

    plan: Sequence[Action]

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Send a request; the added reply counts no tokens."""
        replies = self.inner.complete(request)
        if request.about.kind != "plans":
            return replies
        return replace(replies, replies=(*replies.replies, ChatReply(json.dumps({"plan": [*map(str, self.plan)]}))))


@dataclass
class PacedClient(WrappedClient):
    """Wraps a client with a limit of `per_minute` requests per minute (0: none), and adds up the time of its replies.

    A worker gets its share of the limit of a whole run.
    """

    per_minute: float = 0.0
    seconds: float = 0.0
    _next: float = 0.0

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Send a request once the limit allows it."""
        if self.per_minute > 0:
            wait = self._next - time.monotonic()
            self._next = max(self._next, time.monotonic()) + 60.0 / self.per_minute
            stopped = request.canceled or threading.Event()
            if wait > 0 and stopped.wait(min(wait, max(0.0, request.remaining))):
                request.check()
        begun = time.perf_counter()
        try:
            return self.inner.complete(request)
        finally:
            self.seconds += time.perf_counter() - begun


def models_of(names: Sequence[str]) -> list[str]:
    """Requested models, checked, without duplicates."""
    return list(dict.fromkeys(check_model(n) for n in names)) or ["auto"]

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

from planweave.bench.simulated_model import CORRELATION, SimulatedModel
from planweave.bench.suites.case import Case, Stage
from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.state import State
from planweave.core.symbolic.transition import Transition, facts_of
from planweave.core.symbolic.world import Action, Literal, World
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import About, ChatClient, ChatReplies, ChatReply, ChatRequest, WrappedClient

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
                f"model {name!r}: {key} {text!r} is not a number from 0 to 1; write e.g. simulated:0.2 or "
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


ANYTHING = About()
_SEARCH = 30.0  # s for a plan of the classical planner


class Expert:
    """Knows the case's gold plan and, at any time, the true world and the executed actions (`done`).

    The remaining plan is the rest of the gold plan, if that is applicable and fulfils all conditions; else its shortest
    suffix that does; where none does, since the world was changed, a plan of the classical planner;
    else the gold plan from its first applicable step.
    """

    def __init__(self, case: Case, stage: Stage, done: Sequence[Action] = ()) -> None:
        self._case, self._stage = case, stage
        world = stage.truth()
        self.domain, self.expected = stage.domain, case.expected
        self.names = tuple(o.name for o in world.objects)
        self._transition = Transition(stage.domain, world)
        self._known: dict[tuple[frozenset[Literal], tuple[Action, ...], tuple[Action, ...]], tuple[Action, ...]] = {}
        self._done = done  # carried out so far; whoever runs the episode adds to it

    def rest(self, planned: Sequence[Action] = (), about: About = ANYTHING) -> tuple[Action, ...]:
        """The remaining plan after planned actions; inapplicable ones of them are skipped. about: not used."""
        world = self._stage.truth()
        key = (world.facts, tuple(self._done), tuple(planned))
        if key not in self._known:
            self._known[key] = self._rest(world, planned)
        return self._known[key]

    def _rest(self, world: World, planned: Sequence[Action]) -> tuple[Action, ...]:
        state, done = self._transition.state(world.facts), [*self._done]
        for action in planned:
            if self._transition.applicable(state, action):
                self._transition.apply(state, action)
                done.append(action)
        gold = self.expected
        for start in (self._left_at(done), *range(len(gold), -1, -1)):
            if self._reaches(state, gold[start:], done):
                return gold[start:]
        return self._planned_anew(world, state) or self._as_far_as_possible(state, gold)

    def _left_at(self, done: Sequence[Action]) -> int:
        """The index in the gold plan after its last step that was executed in order."""
        index = 0
        for action in done:
            if action in self.expected[index:]:
                index = self.expected.index(action, index) + 1
        return index

    def _reaches(self, state: State, steps: Sequence[Action], done: Sequence[Action]) -> bool:
        changes = []
        try:
            for step in steps:
                if not self._transition.applicable(state, step):
                    return False
                changes.append(self._transition.apply(state, step))
            found = self._case.conditions(lambda g: ((g.predicate, *g.args) in state) == g.positive, [*done, *steps])
            return all(found.values())
        finally:
            for change in reversed(changes):
                self._transition.undo(state, change)

    def _planned_anew(self, world: World, state: State) -> tuple[Action, ...]:
        now = World(world.domain, world.objects, facts_of(state), frame=world.frame)
        try:
            return solve(self.domain, now, self._case.goal, _SEARCH)
        except PlanweaveError:
            return ()

    def _as_far_as_possible(self, state: State, gold: Sequence[Action]) -> tuple[Action, ...]:
        start = next((i for i, step in enumerate(gold) if self._transition.applicable(state, step)), 0)
        return tuple(gold[start:])

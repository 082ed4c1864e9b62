"""One episode: a case, a method, a model and a repetition, run by the product's own loops on plain ports."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from typing import Any

from planweave.bench.metrics import Measures, SampledPlan, Tried, measure, would_reach
from planweave.bench.models import Expert, GoldAmongPlans, PacedClient, client_for
from planweave.bench.parameters import PLANNER, parse_method, planner_settings
from planweave.bench.recorded_stage import WorldTeller, world_as_dict
from planweave.bench.records import FORMAT, Recorder, changes
from planweave.bench.suites import SUITES, Case, Stage
from planweave.bench.task_files import cases_of
from planweave.core.base.budget import Budget
from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import (
    BudgetExceededError,
    CanceledError,
    GoalError,
    MissingExtraError,
    ModelError,
    PlanweaveError,
    SystemDownError,
)
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal, World
from planweave.core.workflow.ports import LookingBody
from planweave.llm.accounting import Prices
from planweave.llm.clients.base import ChatClient
from planweave.llm.embeddings import choose_embedder
from planweave.methods import METHODS
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.running.episode import Episode
from planweave.methods.running.journal import Journal
from planweave.methods.running.method_run import run_method

_TASK = "episode"  # the planner's ledger counts per task
_LOOK = 5.0  # s of wall time for the look at the end
_RECORDED = ("suite", "method", "model", "repetition", "seed", "timeout", "row")  # of a Spec
_prices = cache(Prices)


@dataclass(frozen=True)
class Spec:
    """Definition of an episode; plain values, so that it can be sent to any worker.

    timeout: seconds for the whole episode. settings: parameters that are not the defaults, by PART.NAME. row: the task,
    where it is none of the suite's. options: of the suite's stages.
    """

    suite: str
    case: str
    method: str
    model: str
    repetition: int
    seed: int = 0
    timeout: float = 600.0
    per_minute: float = 0.0
    budget_tokens: int = 0
    budget_cost: float = 0.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    row: Mapping[str, Any] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def endpoint_seed(self) -> int:
        """Sent with each request: another one for each repetition, with room for those of a request's samples."""
        return (1_000_003 * self.seed + 1000 * self.repetition) % 2**31

    @property
    def name(self) -> str:
        """The path of its record below the folder of episodes."""
        return "/".join((_plain(self.method), _plain(self.model), f"{_plain(self.case)}.{self.repetition}.jsonl"))


@dataclass(frozen=True)
class Ended:
    """Result of an episode. void: it says nothing about the method, since model, body or budget failed; `error` says
    why. Otherwise it counts, and error is what ended it prematurely, if anything. files: to be written beside its
    record, by suffix.
    """

    measures: Measures
    conditions: dict[str, bool]
    void: bool = False
    error: str = ""
    kind: str = ""
    files: Mapping[str, bytes] = field(default_factory=dict)


class _Told(Journal):
    """A journal that forwards its events to a recorder, with changes of the world instead of whole worlds."""

    def __init__(self, recorder: Recorder, facts: list[str], carried_out: list[Action]) -> None:
        """carried_out: where actions that succeeded are appended."""
        super().__init__()
        self._recorder, self._facts, self._carried_out = recorder, facts, carried_out
        self.body_seconds, self.tried = 0.0, list[Tried]()
        self.messages: dict[str, str] = {}  # the last of each action
        self.sampled: list[SampledPlan] = []

    def add(self, event: str, /, **details: Any) -> None:
        """Record an event; see `planweave.bench.records` for the form of actions."""
        super().add(event, **details)
        if event == "action":
            facts = details.pop("facts")
            added, removed = changes(self._facts, facts)
            self._facts = facts
            details.update(added=added, removed=removed)
            self.body_seconds += details["wall_seconds"]
            self.messages[details["action"]] = details["message"]
            tried = Tried(
                Action.parse(details["action"]), details["code"], details["why"], details.get("error_type", "")
            )
            self.tried.append(tried)
            if tried.ok:
                self._carried_out.append(tried.action)
        if event == "plan" and "error_type" in details:
            actions = tuple(map(Action.parse, details["actions"]))
            self.sampled.append(SampledPlan(actions, details["samples"], details["error_type"]))
        self._recorder.add(event, **details)


def play(
    spec: Spec,
    recorder: Recorder,
    client: ChatClient | None = None,
    stage: Stage | None = None,
) -> Ended:
    """Run an episode and record it. client, stage: substitutes, for a replay."""
    own_stage = stage is None
    case = cases_of(spec.suite, {} if spec.row is None else {spec.case: spec.row})[spec.case]
    stage = stage or SUITES[spec.suite].stage(case, spec.repetition, **spec.options)
    try:
        return _play(spec, stage, recorder, client)
    finally:
        if own_stage:
            stage.close()


def _play(spec: Spec, stage: Stage, recorder: Recorder, client: ChatClient | None) -> Ended:
    case = stage.case
    method, options, planning = _settings(spec)
    world = stage.body.observe()
    recorder.add("episode", **_definition(spec, case, world, {PLANNER: planning, method: options}))
    before, body, at_start = stage.truth(), stage.body, stage.conditions(())
    if not stage.reproducible:
        recorder.add("world", **world_as_dict(world))
        recorder.add("truth", **world_as_dict(before), conditions=at_start)
        body = WorldTeller(body, recorder)
    carried_out: list[Action] = []
    paced = PacedClient(client or _client(spec, stage, carried_out, planning["gold_plan"]), spec.per_minute)
    journal = _Told(recorder, [str(f) for f in sorted(world.facts)], carried_out)
    asked = _Exchanges(recorder)
    planner = LanguagePlanner(
        paced,
        planner_settings(planning),
        embedder=choose_embedder(planning["embedding"]),
        on_exchange=asked.take,
        prices=_prices(),
        budget=Budget(tokens=spec.budget_tokens, cost=spec.budget_cost),
    )
    canceled = Cancellation()
    given = () if case.read else case.goal
    episode = Episode(_TASK, case.sentence, given, stage.domain, planner, body, journal, canceled)

    def run() -> None:
        if case.read:
            episode.goal = _read_goal(planner, case.sentence, world, journal)
        run_method(lambda name: METHODS[name](**options), method, episode)

    error, seconds = _timed(run, canceled, spec.timeout)
    conditions, after, claims = at_start, before, {}
    try:
        if case.read:
            claims = {"claimed": error is None and _holds(body, episode.goal)}
        conditions, after = stage.conditions(carried_out), stage.truth()
    except PlanweaveError as found:  # what ran the episode is gone; what it ended with is not known
        error = error if _is_void(error, spec.model) else SystemDownError(f"it could not be judged: {found}")
    if not stage.reproducible:
        recorder.add("truth", **world_as_dict(after))
    at_start = {name: at_start.get(name, False) or _held(before, name) for name in conditions}
    measures = measure(
        conditions,
        journal.tried,
        case.gold,
        before.facts,
        after.facts,
        stage.after_gold(),
        at_start=at_start,
        would_hold=bool(case.goal or case.in_order)
        and would_reach(stage.domain, before, journal.tried, case.conditions),
        sampled=journal.sampled,
        corrections=episode.corrections,
        usage=asked.usage,
        model_seconds=paced.seconds,
        body_seconds=journal.body_seconds,
        seconds=seconds,
    )
    void = _is_void(error, spec.model)
    details = stage.details() if hasattr(stage, "details") else {}
    files = stage.film() if not void and not measures.sr and hasattr(stage, "film") else {}
    ended = Ended(measures, conditions, void, str(error or ""), type(error).__name__ if error else "", files)
    recorder.add(
        "end",
        conditions=conditions,
        void=ended.void,
        error=ended.error,
        kind=ended.kind,
        message=episode.message,
        questions=episode.questions,
        measures=asdict(measures),
        **claims,
        **({"failed": failed} if (failed := _lasting_failure(journal.tried, journal.messages)) else {}),
        **({"details": dict(details)} if details else {}),
    )
    return ended


def _timed(run: Callable[[], None], canceled: Cancellation, timeout: float) -> tuple[PlanweaveError | None, float]:
    """Error that ended a run, if any, and its duration, s. timeout: s after which it is cancelled."""
    alarm = threading.Timer(timeout, canceled.cancel, [f"the episode took longer than {timeout:g} s"])
    alarm.daemon = True
    alarm.start()
    begun, error = time.perf_counter(), None
    try:
        run()
    except PlanweaveError as found:
        error = found
    finally:
        alarm.cancel()
    return error, time.perf_counter() - begun


def _settings(spec: Spec) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The method of an episode, its options, and the settings of its planner."""
    method, options, planning = parse_method(spec.method, spec.settings)
    if f"{PLANNER}.timeout" not in spec.settings and "planner.timeout=" not in spec.method:
        planning["timeout"] = spec.timeout  # the deadline of the episode is that of its questions
    planning["seed"] = spec.endpoint_seed
    planning["only_measured"] &= not spec.model.startswith("embedded")  # to measure it is what was asked for
    return method, options, planning


def _client(spec: Spec, stage: Stage, carried_out: list[Action], gold_plan: bool) -> ChatClient:
    """The client of an episode's model. gold_plan: whether one of the plans that it samples is the right one."""
    case = stage.case
    client = client_for(spec.model, Expert(case, stage, carried_out), f"{spec.seed} {spec.repetition} {case.id}")
    return GoldAmongPlans(client, case.gold) if gold_plan else client


def _definition(spec: Spec, case: Case, world: World, settings: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """What the record of an episode begins with. settings: of the planner and the method, by name."""
    return {
        "format": FORMAT,
        "case": case.id,
        **{name: getattr(spec, name) for name in _RECORDED},
        "settings": {f"{of}.{key}": value for of, values in settings.items() for key, value in values.items()},
        **({"options": dict(spec.options)} if spec.options else {}),
        "sentence": case.sentence,
        "scene": case.scene,
        "source": case.source,
        "groups": list(case.groups),
        "goal": [str(g) for g in case.goal],
        "gold": [str(a) for a in case.gold],
        "fault": case.fault and {**vars(case.fault), "changes": [*map(str, case.fault.changes)]},
        "objects": [o.name for o in world.objects],
        "facts": [str(f) for f in sorted(world.facts)],
    }


def _read_goal(planner: LanguagePlanner, sentence: str, world: World, journal: Journal) -> tuple[Literal, ...]:
    """The goal of a sentence; raises GoalError."""
    found = planner.interpret_goal(sentence, world, task_id=_TASK)
    if found.answer:
        raise GoalError(f"the sentence was taken for a question, and answered: {found.answer}")
    if found.before or found.keep:
        raise GoalError(f"the benchmarks run one goal: {found.understood}")
    goal = [str(literal) for literal in found.goal]
    journal.add("goal", source=found.source, goal=goal, understood=found.understood)
    return found.goal


def _holds(body: LookingBody, goal: tuple[Literal, ...]) -> bool:
    """Whether a goal holds as the body sees it now: what Planweave itself would report as success."""
    return not body.look(_LOOK).world.with_derived(goal).unmet(goal)


def _lasting_failure(tried: Sequence[Tried], messages: Mapping[str, str]) -> list[str]:
    """The last action that failed and did not succeed later, its code and message; empty where there is none."""
    done: set[Action] = set()
    for one in reversed(tried):
        if not one.ok and one.action not in done:
            return [str(one.action), one.code, messages[str(one.action)]]
        done.add(one.action)
    return []


def _held(world: World, condition: str) -> bool:
    """Whether a condition of another goal than the one that was nearest at the start held then."""
    try:
        return world.holds(Literal.parse(condition))
    except PlanweaveError:  # an action goal, or a condition in words
        return False


class _Exchanges:
    """Records every request and its reply, and adds up their usage."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder, self.usage = recorder, Usage()

    def take(self, exchange: dict[str, Any]) -> None:
        if "reply" in exchange:
            self.usage = self.usage + Usage(**exchange["reply"]["usage"])
        self._recorder.add("exchange", **{k: v for k, v in exchange.items() if k not in ("task_id", "stamp")})


def _is_void(error: PlanweaveError | None, model: str) -> bool:
    """Whether an error says nothing about the method: the model, the body or the budget failed, or a package is
    missing.

    An episode that ran out of time counts as failed, and one in which a method without a model does not understand the
    sentence.
    """
    if isinstance(error, GoalError):
        return isinstance(error.__cause__, ModelError) and model != "none"
    if isinstance(error, CanceledError):
        return False
    return isinstance(error, (ModelError, BudgetExceededError, SystemDownError, MissingExtraError))


def _plain(text: str) -> str:
    return "".join(c if c.isalnum() or c in "._=-" else "_" for c in text)

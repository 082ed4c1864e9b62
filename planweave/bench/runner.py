"""A whole run: all episodes of a configuration, in parallel; completed ones survive an interruption."""

from __future__ import annotations

import json
import os
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from planweave import __version__
from planweave.bench.engines import Engine, UnplayableError
from planweave.bench.episodes import Ended, Spec
from planweave.bench.parameters import parse_method
from planweave.bench.records import FORMAT, write_file, write_record
from planweave.core.base.errors import ConfigError
from planweave.methods import asks_model

CONFIG = "config.json"
EPISODES = "episodes"
GIVE_UP = 5  # void episodes of a model in a row after which it is not asked any more
_LOST_TWICE = 2  # times that a worker may be lost over an episode


@dataclass(frozen=True)
class Config:
    """Definition of a run; equal configurations give equal results except for times. timeout: seconds per episode.

    settings: parameters that are not the defaults (`planweave.bench.parameters`). rows: tasks of one's own
    (`planweave.bench.task_files`). options: of the suite's stages.
    """

    suite: str
    cases: tuple[str, ...]
    methods: tuple[str, ...]
    models: tuple[str, ...]
    repeat: int = 1
    seed: int = 0
    timeout: float = 600.0
    settings: Mapping[str, Any] = field(default_factory=dict)
    rows: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    version: str = __version__
    format: int = FORMAT

    def specs(self) -> list[Spec]:
        """All episodes, ordered so that an unfinished run covers everything in part."""
        shared: dict[str, Any] = {
            "seed": self.seed,
            "timeout": self.timeout,
            "settings": self.settings,
            "options": self.options,
        }
        return [
            Spec(self.suite, case, method, model, repetition, row=self.rows.get(case), **shared)
            for repetition in range(self.repeat)
            for case in self.cases
            for method in self.methods
            for model in (self.models if asks_model(parse_method(method)[0]) else ("none",))
        ]


@dataclass(frozen=True)
class Limits:
    """Limits of a whole run, over all workers; 0 for none.

    tokens and cost (US dollars) are exceeded by at most one reply; per_minute: requests to models.
    """

    per_minute: float = 0.0
    tokens: int = 0
    cost: float = 0.0


@dataclass
class RunResult:
    """Result of a run. missing: episodes that do not count, with the reason. ran: episodes run now."""

    done: int = 0
    ran: int = 0
    seconds: float = 0.0
    missing: dict[str, str] = field(default_factory=dict)
    stopped: str = ""


def prepare(out: Path, config: Config, resume: bool) -> None:
    """Create the folder of a run, or check that it has the same configuration; raises ConfigError that names the
    difference.
    """
    path = out / CONFIG
    if path.is_file():
        differences = _differences(read_config(out), config)
        if differences:
            raise ConfigError(
                f"{out} is a run of another configuration: {'; '.join(differences)}. Take another --out, "
                "or ask for the same"
            )
        if not resume:
            raise ConfigError(
                f"{out} has this run already, or a part of it; add --resume to go on with it, or take another --out"
            )
        return
    if out.is_dir() and any(out.iterdir()):
        raise ConfigError(f"{out} is not empty and not a run of the bench (it has no {CONFIG}); take another --out")
    try:
        write_record(path, json.dumps(asdict(config), indent=1) + "\n")
    except OSError as error:
        raise ConfigError(f"cannot write to {out}: {error.strerror}") from None


def read_config(out: Path) -> Config:
    """The configuration of a run's folder; raises ConfigError."""
    try:
        data: dict[str, Any] = json.loads((out / CONFIG).read_text(encoding="utf-8"))
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return Config(**values)
    except (OSError, ValueError, TypeError, AttributeError) as error:
        raise ConfigError(f"{out / CONFIG} is not the configuration of a run: {error}") from None


def newest_of(folder: Path, config: Config) -> Path | None:
    same = []
    for path in folder.glob(f"*/{CONFIG}"):
        try:
            if not _differences(read_config(path.parent), config):
                same.append((path.stat().st_mtime, path.parent))
        except ConfigError:
            continue
    return max(same)[1] if same else None


def _differences(old: Config, new: Config) -> list[str]:
    before, after = asdict(old), asdict(new)
    return [
        f"{key} was {_shown(before[key], after[key])}, now {_shown(after[key], before[key])}"
        for key in before
        if before[key] != after[key]
    ]


def _shown(value: Any, other: Any) -> str:
    if not isinstance(value, (list, tuple)):
        return str(value)
    own = [str(v) for v in value if v not in other]
    return f"{len(value)} ({', '.join(own[:4])}{', …' if len(own) > 4 else ''})" if own else f"{len(value)} of them"


class Run:
    """Runs the missing episodes of a folder. told(spec, ended, outcome) is called after every episode."""

    def __init__(
        self,
        out: Path,
        config: Config,
        engine: Engine,
        limits: Limits | None = None,
        told: Callable[[Spec, Ended | None, RunResult], None] = lambda *_: None,
    ) -> None:
        self._out, self._engine, self._limits, self._told = out / EPISODES, engine, limits or Limits(), told
        self.outcome = RunResult()
        self._waiting: deque[Spec] = deque()
        self._running: dict[Future[tuple[Ended, str]], Spec] = {}
        self._lost: Counter[str] = Counter()
        self._void: Counter[str] = Counter()  # by model, in a row
        self._given_up: dict[str, str] = {}
        self._tokens, self._cost = 0, 0.0
        self._all = config.specs()
        for spec in self._all:
            if (self._out / spec.name).is_file():
                self.outcome.done += 1
            else:
                self._waiting.append(spec)

    @property
    def left(self) -> int:
        return len(self._waiting) + len(self._running)

    def play(self) -> RunResult:
        """Run all; a failed episode does not affect the others. Completed ones survive Ctrl-C."""
        begun = time.monotonic()
        try:
            while self.left:
                self._fill()
                if not self._running:
                    break
                for future in wait(self._running, return_when=FIRST_COMPLETED).done:
                    self._take(self._running.pop(future), future)
        except KeyboardInterrupt:
            self._stop("interrupted")
        finally:
            self.outcome.seconds = time.monotonic() - begun
        for spec in self._all:
            if not (self._out / spec.name).is_file():
                self.outcome.missing.setdefault(spec.name, self.outcome.stopped or "not played")
        return self.outcome

    def _fill(self) -> None:
        """Submit episodes, slightly ahead of the workers where no budget has to be shared."""
        room = self._engine.jobs * (1 if self._limits.tokens or self._limits.cost else 2)
        while self._waiting and len(self._running) < room and not self.outcome.stopped:
            spec = self._waiting.popleft()
            if spec.model in self._given_up:
                self._miss(spec, self._given_up[spec.model])
                continue
            shared = self._share(spec)
            if shared is None:
                self._waiting.appendleft(spec)
                if not self._running:
                    self._stop("the budget of the run is used up")
                return
            self._running[self._engine.submit(shared)] = shared

    def _share(self, spec: Spec) -> Spec | None:
        """The episode with its share of the remaining limits; None where nothing is left."""
        limits, jobs = self._limits, self._engine.jobs
        if spec.model == "none":
            return spec
        running, idle = self._running.values(), max(1, jobs - len(self._running))
        tokens, cost = 0, 0.0
        if limits.tokens:
            tokens = (limits.tokens - self._tokens - sum(s.budget_tokens for s in running)) // idle
        if limits.cost:
            cost = (limits.cost - self._cost - sum(s.budget_cost for s in running)) / idle
        if (limits.tokens and tokens <= 0) or (limits.cost and cost <= 1e-9):
            return None
        return replace(spec, budget_tokens=tokens, budget_cost=cost, per_minute=limits.per_minute / jobs)

    def _take(self, spec: Spec, future: Future[tuple[Ended, str]]) -> None:
        """Store a finished episode, or record its loss."""
        try:
            ended, text = future.result()
        except Exception as error:  # whatever a worker died of
            self._lose(spec, error)
            return
        self._tokens += ended.measures.tokens
        self._cost += ended.measures.cost or 0.0
        path = self._out / spec.name
        try:
            for suffix, content in ended.files.items():
                write_file(path.with_suffix(suffix), content)
            write_record(path.with_suffix(".void") if ended.void else path, text)
            if not ended.void:
                path.with_suffix(".void").unlink(missing_ok=True)
        except OSError as error:
            self._miss(spec, f"its record could not be written: {error.strerror}")
            self._stop(f"cannot write records: {error.strerror}")
            return
        if ended.void:
            self._count_void(spec, ended)
        else:
            self._void[spec.model] = 0
            self.outcome.done += 1
            self.outcome.ran += 1
            self._told(spec, ended, self.outcome)

    def _lose(self, spec: Spec, error: BaseException) -> None:
        self._lost[spec.name] += 1
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if self._lost[spec.name] < _LOST_TWICE:
            self._waiting.appendleft(spec)
        elif isinstance(error, UnplayableError):
            self._miss(spec, f"it could not be set up: {error}")
        else:
            self._miss(spec, f"its worker was lost twice ({what})")

    def _count_void(self, spec: Spec, ended: Ended) -> None:
        self._void[spec.model] += 1
        if self._void[spec.model] >= GIVE_UP and ended.kind != "BudgetExceededError":
            who = "the run without a model" if spec.model == "none" else spec.model
            self._given_up[spec.model] = f"{who} was given up after {GIVE_UP} failures in a row: {ended.error}"
        self._miss(spec, f"{ended.kind}: {ended.error}")

    def _miss(self, spec: Spec, reason: str) -> None:
        self.outcome.missing[spec.name] = reason
        self._told(spec, None, self.outcome)

    def _stop(self, reason: str) -> None:
        self.outcome.stopped = reason


def missing_in_words(missing: dict[str, str]) -> list[str]:
    """Reasons with the number of episodes and an example, the most frequent first."""
    kinds: dict[str, list[str]] = {}
    for name, reason in missing.items():
        kinds.setdefault(reason.partition(":")[0], []).append(name)
    rows = sorted(kinds.values(), key=lambda names: -len(names))
    return [
        f"{len(names)} episode{'s' * (len(names) > 1)}, e.g. {names[0]}: {missing[names[0]][:400]}" for names in rows
    ]


def default_jobs() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

"""Results of a run, computed from its records: by method and model, by group of tasks, by plan length, by fault."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from planweave.bench.episodes import Spec
from planweave.bench.metrics import Measures
from planweave.bench.models import is_simulated
from planweave.bench.records import read_end
from planweave.bench.runner import EPISODES, Config
from planweave.bench.statistics import Comparison, Estimate, Values, adjusted, compare, estimate
from planweave.bench.suites import Case
from planweave.bench.task_files import cases_of
from planweave.core.base.errors import ConfigError

#: measure: heading, how it is read out of an episode's measures
MEASURES: dict[str, tuple[str, Callable[[Measures], float | None]]] = {
    "sr": ("SR", lambda m: m.sr),
    "plan_sr": ("Plan SR", lambda m: m.plan_sr),
    "gcr": ("GCR", lambda m: m.gcr),
    "gcr_changed": ("GCR changed", lambda m: m.gcr_changed),
    "exec": ("Exec", lambda m: m.exec),
    "exec_first": ("Exec to failure", lambda m: m.exec_first),
    "lcs": ("LCS", lambda m: m.lcs),
    "lcs_words": ("LCS words", lambda m: m.lcs_words),
    "graph": ("graph", lambda m: m.graph),
    "corrections": ("NO.EC", lambda m: m.corrections),
    "actions": ("actions", lambda m: m.actions),
    "requests": ("questions", lambda m: m.requests),
    "prompt": ("prompt tokens", lambda m: m.prompt_tokens),
    "cached": ("of these cached", lambda m: m.cached_tokens),
    "completion": ("completion tokens", lambda m: m.completion_tokens),
    "cost": ("cost, $", lambda m: m.cost),
    "model_s": ("model, s", lambda m: m.model_seconds),
    "body_s": ("body, s", lambda m: m.body_seconds),
    "ours_s": ("ours, s", lambda m: m.our_seconds),
}
#: The same in words, for the readers of a report.
MEANINGS: dict[str, str] = {
    "sr": "success rate: share of episodes in which the whole goal held at the end",
    "plan_sr": "the same where no action that was possible had failed: what was tried would have reached the goal",
    "gcr": "goal condition recall: share of the goal's conditions that held at the end",
    "gcr_changed": "the same of the conditions that did not hold at the start: doing nothing scores 0",
    "exec": "executability: share of the tried actions that could be carried out",
    "exec_first": "share of the tried actions that were carried out before the first failure",
    "lcs": "longest common subsequence with a right plan, over the longer one: 1 is the same steps in the same order",
    "lcs_words": "the same over classes of things: another mug is the same step",
    "graph": "graph correctness: overlap (intersection over union) of what was changed with what a right plan changes",
    "corrections": "number of error corrections an episode",
    "actions": "actions tried an episode",
    "requests": "questions asked of the model an episode",
    "prompt": "tokens that the model read an episode",
    "cached": "of these, tokens that it had read before (cheaper)",
    "completion": "tokens that the model wrote an episode",
    "cost": "US dollars an episode, where the model's price is known",
    "model_s": "seconds an episode spent waiting for the model",
    "body_s": "seconds an episode spent in the body or its simulator",
    "ours_s": "seconds an episode spent in Planweave itself",
}
LENGTHS = ((1, 3), (4, 5), (6, 7), (8, 99))


@dataclass(frozen=True)
class Played:
    """An episode that counts."""

    spec: Spec
    case: Case
    measures: Measures
    error: str
    path: Path
    end: Mapping[str, Any]  # the last event of its record


@dataclass(frozen=True)
class ResultRow:
    """A method with a model on some cases. share: fraction of the planned episodes that are available."""

    method: str
    model: str
    group: str
    estimates: Mapping[str, Estimate | None]
    episodes: Sequence[Played]
    wanted: int

    @property
    def failures(self) -> Counter[str]:
        return sum((Counter(e.measures.failures) for e in self.episodes), Counter())

    @property
    def error_types(self) -> Counter[str]:
        """Failed actions by the types of `planweave.core.checks.error_types`."""
        return sum((Counter(e.measures.error_types) for e in self.episodes), Counter())

    @property
    def episode_errors(self) -> Counter[str]:
        return Counter(e.measures.error_type for e in self.episodes if e.measures.error_type)


class Results:
    """All results of a run's folder. Raises ConfigError where its records cannot be read."""

    def __init__(self, out: Path, config: Config) -> None:
        self.out, self.config = out, config
        self.cases = cases = cases_of(config.suite, config.rows)
        self.wanted = [spec for spec in config.specs() if spec.case in cases]
        self.played: list[Played] = []
        self.missing: list[Spec] = []
        for spec in self.wanted:
            path = out / EPISODES / spec.name
            if not path.is_file():
                self.missing.append(spec)
                continue
            end = read_end(path)
            try:
                measures = Measures(**end["measures"])
            except (KeyError, TypeError) as error:
                raise ConfigError(f"{path}: its measures cannot be read ({error!r})") from None
            self.played.append(Played(spec, cases[spec.case], measures, end.get("error", ""), path, end))
        self._by: dict[tuple[str, str], list[Played]] = defaultdict(list)
        for one in self.played:
            self._by[one.spec.method, one.spec.model].append(one)

    @property
    def models(self) -> list[str]:
        """Models in order, real ones first; "none" stands for methods without a model, and comes last."""
        found = dict.fromkeys(s.model for s in self.wanted)
        return sorted(found, key=lambda m: (m == "none", is_simulated(m)))

    def methods(self, model: str) -> list[str]:
        return list(dict.fromkeys(s.method for s in self.wanted if s.model == model))

    def row(self, method: str, model: str, group: str = "") -> ResultRow:
        episodes = [e for e in self._by[method, model] if not group or group in groups_of(e.case)]
        asked = [self.cases[s.case] for s in self.wanted if (s.method, s.model) == (method, model)]
        wanted = sum(not group or group in groups_of(case) for case in asked)
        estimates = {k: estimate(values_of(episodes, measured(k))) for k in MEASURES}
        return ResultRow(method, model, group, estimates, episodes, wanted)

    def groups(self) -> list[str]:
        """Groups of the cases of this run: papers, length of the gold plan, faults."""
        cases = self.cases
        found = dict.fromkeys(g for c in self.config.cases if c in cases for g in groups_of(cases[c]))
        return sorted(found, key=lambda g: (g.startswith("fault "), g.startswith("plan of "), g))

    def comparisons(self, model: str) -> list[tuple[str, str, Comparison, float | None]]:
        """Every two methods with a model: difference of SR, and p adjusted for their number."""
        values = {m: values_of(self._by[m, model], measured("sr")) for m in self.methods(model)}
        found = [
            (one, two, comparison)
            for one, two in combinations(values, 2)
            if (comparison := compare(values[one], values[two])) is not None
        ]
        p_values = adjusted([c.p for *_, c in found])
        return [(one, two, c, p) for (one, two, c), p in zip(found, p_values)]


def groups_of(case: Case) -> tuple[str, ...]:
    if not case.expected:  # only the stage knows a plan
        return case.groups
    length = next(
        f"plan of {a} to {b} steps" if b < 99 else f"plan of {a} or more steps"
        for a, b in LENGTHS
        if len(case.expected) <= b
    )
    return (*case.groups, length)


def measured(name: str) -> Callable[[Played], float | None]:
    read = MEASURES[name][1]
    return lambda e: read(e.measures)


def values_of(episodes: Sequence[Played], read: Callable[[Played], float | None]) -> Values:
    """A value for each repetition of each case, without those that are undefined."""
    values: dict[str, list[float]] = {}
    for e in sorted(episodes, key=lambda e: e.spec.repetition):
        if (value := read(e)) is not None:
            values.setdefault(e.spec.case, []).append(float(value))
    return values


def as_json(results: Results) -> dict[str, Any]:
    """All rows as plain values, without seconds where they do not measure the method."""
    rows = [
        {
            "method": method,
            "model": model,
            "simulated": is_simulated(model),
            "group": group,
            "episodes": len(row.episodes),
            "wanted": row.wanted,
            "failures": dict(row.failures),
            "error_types": dict(row.error_types),
            "episode_errors": dict(row.episode_errors),
            **{k: e and {"mean": e.mean, "sd": e.sd, "low": e.low, "high": e.high} for k, e in row.estimates.items()},
        }
        for model in results.models
        for method in results.methods(model)
        for group in ("", *results.groups())
        if (row := results.row(method, model, group)).wanted
    ]
    return {"suite": results.config.suite, "rows": rows, "missing": [s.name for s in results.missing]}

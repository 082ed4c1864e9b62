"""Metrics of the papers' tables: those of ordinary runs, and others that are read out of the records."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from planweave.bench.records import read_record
from planweave.bench.results import MEASURES, Played, measured, values_of
from planweave.bench.statistics import estimate
from planweave.core.base.failure import Code
from planweave.core.checks.error_types import DECIDING, ENVIRONMENT, EXECUTION, ILLOGICAL, INCOMPLETE


@dataclass(frozen=True)
class Metric:
    """read: of an episode, None where undefined. text: of all values and their number of episodes."""

    read: Callable[[Played], float | None]
    digits: int = 2
    kind: str = "mean"  # mean, total (of one repetition) or count ("3/4")

    def text(self, episodes: Sequence[Played], percent: bool) -> str:
        """Mean ± standard deviation of the repetitions, as the papers print it; "" where it is undefined."""
        found = estimate(values_of(episodes, self.read))
        if found is None:
            return ""
        if self.kind == "count":
            return f"{round(found.mean * found.episodes)}/{found.episodes}"
        times = 100.0 if percent else 1.0
        if self.kind == "total":
            times *= len({e.spec.case for e in episodes})
        digits = 2 if percent else self.digits
        text = f"{times * found.mean:.{digits}f}"
        return text if found.sd is None else f"{text} ± {times * found.sd:.{digits}f}"

    def average(self, parts: Sequence[Sequence[Played]], percent: bool) -> str:
        """Mean of the means of several sets of tasks ± standard deviation over the repetitions; "" where one is
        undefined.
        """
        rows = [values_of(episodes, self.read) for episodes in parts]
        found = [estimate(row) for row in rows]
        if not all(found):
            return ""
        mean = statistics.fmean(each.mean for each in found if each)
        repetitions = []
        for i in range(max(len(values) for row in rows for values in row.values())):
            of_rows = [[values[i] for values in row.values() if i < len(values)] for row in rows]
            if all(of_rows):
                repetitions.append(statistics.fmean(map(statistics.fmean, of_rows)))
        times, digits = (100.0, 2) if percent else (1.0, self.digits)
        text = f"{times * mean:.{digits}f}"
        return f"{text} ± {times * statistics.stdev(repetitions):.{digits}f}" if len(repetitions) > 1 else text

    def gain(self, episodes: Sequence[Played], others: Sequence[Played], percent: bool) -> str:
        """Difference of the means; "" where one is undefined."""
        one, two = (estimate(values_of(some, self.read)) for some in (episodes, others))
        if one is None or two is None:
            return ""
        return f"{(100.0 if percent else 1.0) * (one.mean - two.mean):+.2f}"


@lru_cache(maxsize=4096)
def _events(path: Path, *names: str) -> tuple[dict[str, Any], ...]:
    return tuple(event for event in read_record(path) if event["event"] in names)


def _of_event(name: str, key: str) -> Callable[[Played], float | None]:
    """The last value that events of a name have under a key."""
    return lambda e: next((float(event[key]) for event in reversed(_events(e.path, name)) if key in event), None)


def _carried_out(e: Played) -> float:
    """Whether a plan was carried out to its end (Tree-Planner's EXEC.): no action failed, or each failure was answered
    by a correction and the last action was done.
    """
    events = _events(e.path, "action", "retry", "needless", "assertion")
    tried = [event for event in events if event["event"] == "action" and event["why"] != "undo"]
    failed = sum(event["code"] != Code.SUCCESS.name for event in tried)
    if not tried or not failed:
        return float(bool(tried))
    last = next(event for event in reversed(events) if event["event"] == "needless" or event in tried)
    answered = e.measures.corrections + sum(event["event"] in ("retry", "needless") for event in events)
    answered -= sum(event["event"] == "assertion" and not event["holds"] for event in events)
    return float(last.get("code", Code.SUCCESS.name) == Code.SUCCESS.name and failed <= answered)


def _plans_right(best: bool) -> Callable[[Played], float | None]:
    """Whether any sampled plan is right, or the share of right ones, by the domain and what was observed."""

    def read(e: Played) -> float | None:
        plans = _events(e.path, "plan")
        if not plans:
            return None
        right = [p["samples"] * bool(p["valid"]) for p in plans]
        return float(any(right)) if best else sum(right) / sum(p["samples"] for p in plans)

    return read


def _failed(*types: str) -> Callable[[Played], float | None]:
    """Whether the error of a failed episode is of one of these types (`planweave.bench.metrics.episode_error`)."""
    return lambda e: None if e.measures.sr == 1 else float(e.measures.error_type in types)


def _candidates(e: Played) -> float | None:
    """Options of a selection; a single one is taken without asking, and counts nowhere."""
    options = [len(event["options"]) for event in _events(e.path, "selection")]
    return sum(options) / len(options) if options else None


#: By the names that papers.yaml uses.
METRICS: dict[str, Metric] = {
    **{name: Metric(measured(name)) for name in MEASURES},
    "cost_total": Metric(lambda e: e.measures.cost, kind="total"),
    "exec_plan": Metric(_carried_out),
    "solved": Metric(lambda e: e.measures.sr, kind="count"),
    "seconds": Metric(lambda e: e.measures.model_seconds + e.measures.body_seconds + e.measures.our_seconds),
    "gcr_max": Metric(_of_event("gcr", "max")),
    "gcr_avg": Metric(_of_event("gcr", "avg")),
    "sr_max": Metric(_plans_right(best=True)),
    "sr_avg": Metric(_plans_right(best=False)),
    "error_plans": Metric(_failed(ENVIRONMENT, INCOMPLETE, ILLOGICAL)),
    "error_environment": Metric(_failed(ENVIRONMENT)),
    "error_incomplete": Metric(_failed(INCOMPLETE)),
    "error_illogical": Metric(_failed(ILLOGICAL)),
    "error_deciding": Metric(_failed(DECIDING, EXECUTION)),
    "error_incorrect": Metric(_failed(DECIDING)),
    "error_execution": Metric(_failed(EXECUTION)),
    "candidates": Metric(_candidates, digits=1),
    "distinct": Metric(_of_event("sampled", "distinct"), digits=1),
}

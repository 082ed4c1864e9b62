"""Means, deviations, intervals and paired comparisons, by scipy where it is installed (extra `bench`).

Repetitions of a task are not independent samples: intervals and tests use tasks, each with the mean of its repetitions.
"""

from __future__ import annotations

import importlib.util
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

RESAMPLES = 2000
CONFIDENCE = 0.95
Values = Mapping[str, Sequence[float]]  # task -> its repetitions


@dataclass(frozen=True)
class Estimate:
    """mean: of all episodes. sd: standard deviation of the repetitions' means, None for one repetition. low, high: 95 %
    bootstrap interval over tasks, None where there are too few tasks or scipy is missing."""

    mean: float
    sd: float | None
    low: float | None
    high: float | None
    episodes: int


@dataclass(frozen=True)
class Comparison:
    """The mean difference of two methods over the tasks that both have, with its interval and the p-value of a paired
    permutation test."""

    difference: float
    low: float | None
    high: float | None
    p: float | None
    tasks: int


def has_scipy() -> bool:
    return importlib.util.find_spec("scipy") is not None


def estimate(values: Values, seed: int = 0) -> Estimate | None:
    """None where there are no values."""
    rows = {task: list(v) for task, v in values.items() if len(v)}
    if not rows:
        return None
    every = [x for row in rows.values() for x in row]
    count = max(map(len, rows.values()))
    repetitions = [[row[i] for row in rows.values() if i < len(row)] for i in range(count)]
    sd = statistics.stdev(map(statistics.fmean, repetitions)) if count > 1 else None
    low, high = _interval([statistics.fmean(row) for row in rows.values()], seed)
    return Estimate(statistics.fmean(every), sd, low, high, len(every))


def compare(one: Values, two: Values, seed: int = 0) -> Comparison | None:
    """one - two, task by task; None where they share no task."""
    shared = [t for t in one if len(one[t]) and len(two.get(t, ()))]
    if not shared:
        return None
    differences = [statistics.fmean(one[t]) - statistics.fmean(two[t]) for t in shared]
    low, high = _interval(differences, seed)
    return Comparison(statistics.fmean(differences), low, high, _p_value(differences, seed), len(shared))


def adjusted(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values of several comparisons, adjusted by Benjamini and Hochberg."""
    known = [p for p in p_values if p is not None]
    if not known or not has_scipy():
        return list(p_values)
    from scipy.stats import false_discovery_control

    fresh = iter(false_discovery_control(known))
    return [None if p is None else float(next(fresh)) for p in p_values]


def _interval(values: Sequence[float], seed: int) -> tuple[float | None, float | None]:
    if len(values) < 3 or not has_scipy():
        return None, None
    if min(values) == max(values):
        return values[0], values[0]
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.asarray(values),),
        np.mean,
        n_resamples=RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(found.confidence_interval.low), float(found.confidence_interval.high)


def _p_value(differences: Sequence[float], seed: int) -> float | None:
    if len(differences) < 3 or not has_scipy():
        return None
    if not any(differences):
        return 1.0
    from scipy.stats import permutation_test

    def mean(x: Any, axis: int) -> Any:
        return np.mean(x, axis=axis)

    found = permutation_test(
        (np.asarray(differences),),
        mean,
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        rng=np.random.default_rng(seed),
    )
    return float(found.pvalue)

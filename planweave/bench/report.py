"""The report of a run: report.md beside the records, and all of its numbers in results.json."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from planweave.bench.models import is_simulated, rates_of
from planweave.bench.papers import beside_ours
from planweave.bench.records import write_record
from planweave.bench.results import MEANINGS, MEASURES, ResultRow, Results, as_json
from planweave.bench.runner import missing_in_words
from planweave.bench.statistics import Estimate, has_scipy
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table, grid, markdown

_SHARES = frozenset({"sr", "gcr", "exec", "lcs", "graph"})
_WITH_RANGE = _SHARES | {"corrections", "prompt"}
_BESIDE = ("sr", "exec", "gcr", "lcs", "graph", "corrections", "cost")
_ONLY_JSON = ("plan_sr", "gcr_changed", "exec_first", "lcs_words", "actions", "body_s")
_SHOWN = tuple(name for name in MEASURES if name not in _ONLY_JSON)
_NO_INTERVALS = "; intervals need `pip install 'planweave[bench]'`."


def write_report(
    results: Results,
    how: str,
    about: str,
    reasons: Mapping[str, str],
    official: Sequence[Mapping[str, Any]] = (),
) -> list[Path]:
    """Write report.md and results.json; returns their paths. how: the command. about: machine and time.

    reasons: why episodes are missing, by the names of their records. Raises OSError.
    """
    tables = tables_of(results)
    numbers = {"how": how, "about": about, **as_json(results), **({"tables": [*map(asdict, tables)]} if tables else {})}
    files = {
        "report.md": "\n".join(_lines(results, how, about, reasons, tables, official)).rstrip() + "\n",
        "results.json": json.dumps(numbers, indent=1) + "\n",
    }
    for name, text in files.items():
        write_record(results.out / name, text)
    return [results.out / name for name in files]


def tables_of(results: Results) -> list[Table]:
    suite = SUITES[results.config.suite]
    return list(suite.tables(results)) if hasattr(suite, "tables") else []


def title_of(model: str) -> str:
    """The heading of a model's tables."""
    if model == "none":
        return "Without a model"
    if not is_simulated(model):
        return f"Model {model}"
    rate, correlation = rates_of(model)
    return f"Simulated model, {rate:g} wrong steps, correlation of samples {correlation:g}"


def _beside_papers(results: Results, model: str) -> Iterator[list[str]]:
    """Our rows with those of the papers below them: for household suites, whose tasks are of the papers' kind, and real
    models only.
    """
    if results.config.suite not in ("home", "eai") or is_simulated(model) or model == "none":
        return
    theirs: dict[tuple[str, str], list[list[str]]] = {}
    for paper in beside_ours():
        texts = [paper["label"], *(paper.get(k, "") or "–" for k in _BESIDE)]
        theirs.setdefault((paper["method"], paper["group"]), []).append(texts)
    for (method, group), rows in theirs.items():
        if (row := results.row(method, model, group)).episodes:
            yield [f"**{method}, {f'{group} tasks' if group else 'all tasks'}**", *(_mean(row, k) for k in _BESIDE)]
            yield from rows


def _failure_texts(row: ResultRow, codes: Sequence[str]) -> list[str]:
    tried = sum(e.measures.actions for e in row.episodes)
    texts = [f"{100 * row.failures[code] / tried:.1f}" if tried else "–" for code in codes]
    ended = sum(bool(e.error) for e in row.episodes)
    return [*texts, f"{ended} of {len(row.episodes)}"]


def number_of(measure: str, found: Estimate | None) -> dict[str, str]:
    """An estimate as text: the mean with its deviation; range: its interval."""
    if found is None:
        return {"text": "", "range": ""}
    text = _text(measure, found.mean)
    if found.sd is not None:
        text += f" ± {_text(measure, found.sd)}"
    return {"text": text, "range": _range(measure, found.low, found.high) if measure in _WITH_RANGE else ""}


def _number(row: ResultRow, measure: str) -> dict[str, str]:
    return number_of(measure, row.estimates[measure])


def _range(measure: str, low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"[{_text(measure, low)}, {_text(measure, high)}]"


def _text(measure: str, value: float) -> str:
    if measure in _SHARES:
        return f"{value:.2f}"
    if measure == "cost":
        return f"{value:.4f}"
    if measure.endswith("_s"):
        return f"{value:.3f}" if value < 1 else f"{value:.1f}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}"


def _lines(
    results: Results,
    how: str,
    about: str,
    reasons: Mapping[str, str],
    tables: Sequence[Table],
    official: Sequence[Mapping[str, Any]],
) -> Iterator[str]:
    """The lines of report.md."""
    yield from (f"# planweave bench {results.config.suite}", "", about, "", f"`{how}`", "")
    if results.config.settings:
        settings = ", ".join(f"`{name}={value}`" for name, value in results.config.settings.items())
        yield from (f"Parameters other than the defaults: {settings}", "")
    if missing := {spec.name: reasons.get(spec.name, "not played") for spec in results.missing}:
        yield from (f"**{len(missing)} of {len(results.wanted)} episodes are missing** and count nowhere:", "")
        yield from (*(f"- {line}" for line in missing_in_words(missing)), "")
    intervals = " [95 % bootstrap interval over tasks]." if has_scipy() else _NO_INTERVALS
    yield from (f"Means ± standard deviation of repetitions{intervals}", "")
    yield from (*(f"- {MEASURES[name][0]}: {MEANINGS[name]}" for name in _SHOWN), "")
    yield from ("`planweave show EPISODE` prints one of the records in `episodes/`.", "")
    if tables:
        yield markdown(tables)
    for model in results.models:
        yield from _of_model(results, model)
    if official:
        keys = ("method", "model", "task_success", "execution_success", "plans")
        header = ("method", "model", "task success, %", "execution success, %", "plans")
        yield from (
            "## What EAI's own scorer says",
            "",
            *grid(header, [[str(o[key]) for key in keys] for o in official]),
        )


def _of_model(results: Results, model: str) -> Iterator[str]:
    """The tables of one model."""
    yield from (f"## {title_of(model)}", "")
    if is_simulated(model):
        yield (
            "**Simulated: no language model.** It knows a right plan and errs at this rate; these numbers "
            "compare the methods' loops and say nothing about any language model.\n"
        )
    rows = [results.row(method, model) for method in results.methods(model)]
    yield from grid(["method", "episodes", *(MEASURES[k][0] for k in _SHOWN)], map(_cells, rows))
    parts = {g: [results.row(r.method, model, g) for r in rows] for g in results.groups()}
    parts = {g: those for g, those in parts.items() if any(part.wanted for part in those)}
    groups = [[r.method, *(_mean(those[i], "sr") for those in parts.values())] for i, r in enumerate(rows)]
    codes = sorted({code for row in rows for code in row.failures})
    compared = [
        [one, two, f"{c.difference:+.2f} {_range('sr', c.low, c.high)}", "–" if p is None else f"{p:.3f}", str(c.tasks)]
        for one, two, c, p in results.comparisons(model)
    ]
    for words, header, cells in (
        (
            "Beside the papers, whose tasks, homes and models are others:",
            ["", *(MEASURES[k][0] for k in _BESIDE[:-1]), "cost"],
            [*_beside_papers(results, model)],
        ),
        ("Success rate by group of tasks:", ["method", *parts], groups if parts else []),
        (
            "Failed actions per 100 tried, by code:",
            ["method", *codes, "ended by an error"],
            [[row.method, *_failure_texts(row, codes)] for row in rows] if codes else [],
        ),
        (
            "Paired comparison of success rates (first minus second; p adjusted after Benjamini and Hochberg):",
            ["first", "second", "difference", "p", "tasks"],
            compared,
        ),
    ):
        if cells:
            yield from ("", words, "", *grid(header, cells))
    yield ""


def _cells(row: ResultRow) -> list[str]:
    played = len(row.episodes)
    ranges = {k: f" {r}" if k in _SHARES and (r := _number(row, k)["range"]) else "" for k in _SHOWN}
    episodes = f"{played} of {row.wanted}" if played < row.wanted else str(played)
    return [row.method, episodes, *(_mean(row, k) + ranges[k] for k in _SHOWN)]


def _mean(row: ResultRow, measure: str) -> str:
    return _number(row, measure)["text"] or "–"

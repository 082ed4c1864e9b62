"""`planweave bench SUITE`: every method on the same tasks, with records, tables and a report."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.bench.engines import Engine
from planweave.bench.episodes import Ended, Spec
from planweave.bench.models import is_simulated, models_of, try_model
from planweave.bench.parameters import PLANNER, names_of, settings_of
from planweave.bench.report import number_of, tables_of, title_of, write_report
from planweave.bench.results import MEASURES, Results
from planweave.bench.runner import (
    Config,
    Limits,
    Run,
    RunResult,
    default_jobs,
    missing_in_words,
    newest_of,
    prepare,
)
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table
from planweave.bench.task_files import chosen_tasks
from planweave.core.base.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

RUNS = Path("out/bench")
_WORDS = 30  # characters beyond which a cell is text and no number
_SHOWN = ("gcr", "exec", "corrections", "requests")


def main(options: argparse.Namespace, console: Console) -> int:
    """Run and report; 0 where all episodes count, 1 where some are missing, 130 after Ctrl-C."""
    config = _config(options)
    out = _folder(options, config)
    engine = engine_of(options)
    try:
        prepare(out, config, options.resume)
        run = play_with_progress(options, config, out, engine, console)
    finally:
        engine.close()
    return _told(options, config, out, run, console)


def engine_of(options: argparse.Namespace) -> Engine:
    return Engine(_jobs(options))


def check_numbers(options: argparse.Namespace) -> None:
    """Raise ConfigError for an option that is too small."""
    for name, least in (
        ("repeat", 1),
        ("limit", 0),
        ("jobs", 0),
        ("timeout", 0.001),
        ("rate", 0),
        ("budget_tokens", 0),
        ("budget_cost", 0),
    ):
        if getattr(options, name) < least:
            raise ConfigError(f"--{name.replace('_', '-')} must be at least {least:g}")


def _config(options: argparse.Namespace) -> Config:
    if options.suite not in SUITES:
        raise UnknownNameError("suite", options.suite, SUITES)
    check_numbers(options)
    suite = SUITES[options.suite]
    methods = names_of(options.method or getattr(suite, "default_methods", ()))
    models = models_of(options.model)
    for model in models:
        try_model(model)
    settings = settings_of(options.set)
    for text in options.set:
        part = text.partition(".")[0]
        if part != PLANNER and part not in {method.partition(":")[0] for method in methods}:
            raise ConfigError(f"--set {text}: {part} is not among the methods of this run: {', '.join(methods)}")
    asked, told = suite.chosen(options) if hasattr(suite, "chosen") else (options.tasks, {})
    cases, rows = chosen_tasks(asked, options.suite, options.limit)
    return Config(
        options.suite,
        cases,
        tuple(methods),
        tuple(models),
        options.repeat,
        options.seed,
        options.timeout,
        settings,
        rows,
        told,
    )


def _folder(options: argparse.Namespace, config: Config) -> Path:
    if options.out:
        return Path(options.out)
    if options.resume:
        found = newest_of(RUNS, config)
        if found is None:
            raise ConfigError(f"no run of this configuration in {RUNS}; name its folder with --out, or leave --resume")
        return found
    return RUNS / f"{config.suite}-{time.strftime('%Y%m%d-%H%M%S')}"


def _jobs(options: argparse.Namespace) -> int:
    return 1 if options.suite == "tabletop" else options.jobs or default_jobs()  # one system in a ROS domain


def play_with_progress(
    options: argparse.Namespace, config: Config, out: Path, engine: Engine, console: Console
) -> RunResult:
    """Run with a progress line: episodes done, success so far, remaining time."""
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeElapsedColumn(),
        bars.TextColumn("left"),
        bars.TimeRemainingColumn(compact=True),
    )
    with bars.Progress(*columns, console=console, speed_estimate_period=120) as progress:
        held: list[float] = []

        def told(spec: Spec, ended: Ended | None, outcome: RunResult) -> None:
            if ended is not None:
                held.append(ended.measures.sr)
            lost = f", {len(outcome.missing)} missing" if outcome.missing else ""
            good = f"{sum(held) / len(held):.0%} of goals held" if held else "playing"
            progress.update(bar, advance=1, description=f"{good}{lost}")

        limits = Limits(options.rate, options.budget_tokens, options.budget_cost)
        run = Run(out, config, engine, limits, told)
        total = run.left + run.outcome.done
        if run.outcome.done:
            console.print(f"{run.outcome.done} of {total} episodes are there already")
        bar = progress.add_task("starting", total=total, completed=run.outcome.done)
        return run.play()


def _told(options: argparse.Namespace, config: Config, out: Path, outcome: RunResult, console: Console) -> int:
    from planweave.bench.machine import machine

    results = Results(out, config)
    how = "planweave " + shlex.join(sys.argv[1:]) if sys.argv[1:2] == ["bench"] else f"planweave bench {config.suite}"
    rate = f", {60 * outcome.ran / outcome.seconds:.0f} episodes a minute" if outcome.ran and outcome.seconds else ""
    about = f"{time.strftime('%Y-%m-%d')}, {machine()}; {len(results.played)} episodes{rate}"
    official = _official(results, console)
    try:
        files = write_report(results, how, about, outcome.missing, official)
    except OSError as error:
        console.print(f"the report could not be written: {error.strerror}", style="red", markup=False)
        files = []
    if options.json:
        print((out / "results.json").read_text(encoding="utf-8") if files else json.dumps({"missing": outcome.missing}))
    else:
        for model in results.models:
            console.print(_table(results, model))
        for table in tables_of(results):
            console.print(_drawn(table))
    for line in missing_in_words(outcome.missing):
        console.print(f"missing: {line}", style="red", markup=False, highlight=False)
    if outcome.missing:
        console.print(
            f"{len(outcome.missing)} episodes are missing; the same command with --resume --out {out} tries them again",
            markup=False,
            highlight=False,
        )
    if files:
        console.print(f"report: {files[0]}", markup=False, highlight=False, soft_wrap=True)
    return 130 if outcome.stopped == "interrupted" else 1 if results.missing else 0


def _drawn(table: Table) -> Any:
    from rich.box import SIMPLE
    from rich.markup import escape
    from rich.table import Table as RichTable

    drawn = RichTable(box=SIMPLE, title=table.title, caption=escape("\n".join(table.remarks)))
    for index, heading in enumerate(table.header):
        words = any(len(row[index]) > _WORDS for row in table.rows)
        drawn.add_column(heading, justify="left" if words or not index else "right", overflow="fold", no_wrap=not index)
    for row in table.rows:
        drawn.add_row(*map(escape, row))
    return drawn


def _table(results: Results, model: str) -> Any:
    from rich.box import SIMPLE
    from rich.table import Table as RichTable

    table = RichTable(box=SIMPLE, title=title_of(model) + (" (no language model)" if is_simulated(model) else ""))
    table.add_column("method", overflow="fold")
    table.add_column("n", justify="right", no_wrap=True)
    for heading in ("SR", "95 %", *(MEASURES[key][0] for key in _SHOWN), "tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    for method in results.methods(model):
        row = results.row(method, model)
        sr = number_of("sr", row.estimates["sr"])
        others = [number_of(key, row.estimates[key])["text"].partition(" ±")[0] or "–" for key in _SHOWN]
        tokens = sum(e.mean for k in ("prompt", "completion") if (e := row.estimates[k]))
        table.add_row(
            method, str(len(row.episodes)), sr["text"] or "–", sr["range"].strip("[]") or "–", *others, f"{tokens:,.0f}"
        )
    return table


def _official(results: Results, console: Console) -> list[dict[str, Any]]:
    if results.config.suite != "eai":
        return []
    from planweave.bench.suites.eai import official_scores

    return official_scores(results, console)

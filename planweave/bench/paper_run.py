"""`planweave bench paper NAME`: a paper's tables with ours beside them, from records or from a run with few tasks."""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.bench.bakeoff import RUNS, check_numbers, engine_of, play_with_progress
from planweave.bench.models import is_simulated, models_of, try_model
from planweave.bench.paper_tables import Records, needed, tables
from planweave.bench.papers import Paper, load_papers, paper_of, table_of
from planweave.bench.parameters import settings_of
from planweave.bench.records import write_record
from planweave.bench.runner import Config, missing_in_words, prepare
from planweave.bench.suites import SUITES
from planweave.bench.tables import FORMATS
from planweave.core.base.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

MODEL = "simulated:0.1"
FEW = 10
RECORDS = "records"


def main(options: argparse.Namespace, console: Console) -> int:
    """Make the tables; 1 where episodes are missing, 130 after Ctrl-C. Raises UnknownNameError or ConfigError."""
    if not options.paper:
        raise ConfigError(f"name a paper: planweave bench paper {' | '.join(load_papers())}")
    paper = paper_of(options.paper)
    numbers = list(dict.fromkeys(table_of(paper, text) for text in options.table)) or list(paper.tables)
    if options.format not in FORMATS:
        raise UnknownNameError("format", options.format, FORMATS)
    for name in ("tasks", "method"):
        if getattr(options, name):
            raise ConfigError(f"--{name} is for ordinary runs: the paper's tables say which {name} they need")
    models = models_of(options.model or ([] if options.records else [MODEL]))
    if options.model and len(models) > 1:
        raise ConfigError("one --model at a time makes the tables of a paper")
    check_numbers(options)
    settings = settings_of(options.set)
    missing: dict[str, str] = {}
    if options.records:
        records, limit, out = Records(Path(options.records)), options.limit, options.out and Path(options.out)
        model = models[0] if options.model else _only_model(records)
    else:
        try_model(models[0])
        limit, model = options.limit or FEW, models[0]
        out = Path(options.out) if options.out else RUNS / f"paper-{options.paper}-{time.strftime('%Y%m%d-%H%M%S')}"
        missing = _run(paper, numbers, out / RECORDS, model, limit, settings, options, console)
        records = Records(out / RECORDS)
    made = tables(paper, numbers, records, model, limit, settings)
    print(FORMATS[options.format][1](made), end="")
    if out:
        for suffix, text in FORMATS.values():
            write_record(out / f"{options.paper}{suffix}", text(made))
        console.print(
            f"tables: {out / options.paper}.md, .html, .csv, .tex", markup=False, highlight=False, soft_wrap=True
        )
    for line in missing_in_words(missing):
        console.print(f"missing: {line}", style="red", markup=False, highlight=False)
    return 130 if "interrupted" in missing.values() else 1 if missing else 0


def _only_model(records: Records) -> str:
    found = records.models()
    if len(found) > 1:
        raise ConfigError(
            f"there are records of several models in {records.folder}; name one by --model: {', '.join(found)}"
        )
    return found[0] if found else "none"


def _run(
    paper: Paper,
    numbers: Sequence[str],
    out: Path,
    model: str,
    limit: int,
    settings: Mapping[str, Any],
    options: argparse.Namespace,
    console: Console,
) -> dict[str, str]:
    """Run what the tables need, into one folder for each set of tasks; returns the missing episodes."""
    runs = [
        Config(suite, cases, tuple(methods), (model,), options.repeat, options.seed, options.timeout, settings)
        for (suite, cases), methods in needed(paper, numbers, limit).items()
    ]
    count = sum(len(config.specs()) for config in runs)
    who = "simulated, no language model" if is_simulated(model) else model
    console.print(
        f"{count} episodes ({who}), at most {limit} tasks for a cell; --limit N: more", markup=False, highlight=False
    )
    if not runs:
        suites = ", ".join(name for name, suite in SUITES.items() if getattr(suite, "needs_ros", False))
        raise ConfigError(
            f"nothing in these tables can be run at once: their tasks need ROS ({suites}) or another model; "
            "make records by planweave bench, and give their folder by --records"
        )
    missing: dict[str, str] = {}
    engine = engine_of(options)
    try:
        for number, config in enumerate(runs):
            folder = out / f"{config.suite}-{number}"
            prepare(folder, config, options.resume)
            outcome = play_with_progress(options, config, folder, engine, console)
            missing |= outcome.missing
            if outcome.stopped:
                break
    finally:
        engine.close()
    return missing

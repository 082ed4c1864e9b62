"""`planweave bench paper NAME`: a paper's tables with ours beside them, from records or from a run with few tasks."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from planweave.bench.bakeoff import RUNS, check_numbers, engine_of, play_with_progress
from planweave.bench.models import is_simulated, models_of, try_model
from planweave.bench.paper_metrics import METRICS
from planweave.bench.papers import Cell, Paper, cells, load_papers, paper_of, table_of, title_of
from planweave.bench.parameters import NOTHING, parse_method, settings_of
from planweave.bench.records import write_record
from planweave.bench.results import Played, Results
from planweave.bench.runner import CONFIG, Config, missing_in_words, prepare, read_config
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table, markdown
from planweave.core.base.errors import ConfigError
from planweave.methods import asks_model

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
    text = markdown(made)
    plain = json.dumps({"paper": options.paper, "tables": [*map(asdict, made)]}, indent=1) + "\n"
    print(plain if options.json else text, end="")
    if out:
        for suffix, content in ((".md", text), (".json", plain)):
            write_record(out / f"{options.paper}{suffix}", content)
        console.print(f"tables: {out / options.paper}.md, .json", markup=False, highlight=False, soft_wrap=True)
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


NO_LANGUAGE = (
    "The model is SIMULATED, no language model: it knows a right plan and errs at a rate. Ours show that the table can "
    "be made and how the loops deal with errors; they are not to be compared with the paper's."
)


class Records:
    """Episodes of the runs below a folder, by what was run: suite, method with all its parameters, model.

    Of episodes that were run twice, the one of the later folder (by name) counts. Raises ConfigError.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[tuple[str, str, str], dict[tuple[str, int, int], Played]] = {}
        paths = sorted(folder.rglob(CONFIG)) if folder.is_dir() else []
        if not paths:
            raise ConfigError(f"there are no records of `planweave bench` in {folder} (no {CONFIG} in or below it)")
        for path in paths:
            config = read_config(path.parent)
            for one in Results(path.parent, config).played:
                key = config.suite, identity(one.spec.method, config.settings), one.spec.model
                self._found.setdefault(key, {})[one.spec.case, one.spec.repetition, one.spec.seed] = one

    def models(self) -> list[str]:
        return sorted({model for _, _, model in self._found} - {"none"})

    def episodes(self, cell: Cell, model: str, settings: Mapping[str, Any]) -> list[Played]:
        asked = model if asks_model(parse_method(cell.method)[0]) else "none"
        rows = self._found.get((cell.suite, identity(cell.method, settings), asked), {})
        return [one for (case, _, _), one in rows.items() if case in cell.tasks]


def identity(method: str, settings: Mapping[str, Any] = NOTHING) -> str:
    """A method with all its parameters, however they were given; without those that an episode sets itself."""
    name, options, planner = parse_method(method, settings)
    return json.dumps(
        [name, options, {k: v for k, v in planner.items() if k not in ("timeout", "seed")}], sort_keys=True
    )


def limited(tasks: Sequence[str], limit: int) -> tuple[str, ...]:
    """At most `limit` tasks at even distances; all for 0."""
    if not limit or len(tasks) <= limit:
        return tuple(tasks)
    return tuple(tasks[i * len(tasks) // limit] for i in range(limit))


def needed(paper: Paper, numbers: Sequence[str], limit: int = 0) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """Suite and tasks: the methods to be run on them, so that every cell of the tables has its episodes.

    Cells of suites that need ROS are left out.
    """
    tasks: dict[tuple[str, str], dict[str, None]] = {}
    for number in numbers:
        for about, row in cells(paper, paper.tables[number]):
            for cell in row if not about.average_of else ():
                if not cell.why and not getattr(SUITES[cell.suite], "needs_ros", False):
                    for method in filter(None, (cell.method, cell.gain_over)):
                        tasks.setdefault((cell.suite, method), {}).update(dict.fromkeys(limited(cell.tasks, limit)))
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (suite, method), names in tasks.items():
        ordered = tuple(name for name in SUITES[suite].cases() if name in names)
        found.setdefault((suite, ordered), []).append(method)
    return found


def tables(
    paper: Paper,
    numbers: Sequence[str],
    records: Records,
    model: str,
    limit: int = 0,
    settings: Mapping[str, Any] = NOTHING,
) -> list[Table]:
    """The tables in the paper's form: below each row of the paper a row of ours."""
    return [_Maker(paper, number, records, model, limit, settings).table() for number in numbers]


class _Maker:
    """One table; reasons for cells that are not made become remarks, each once."""

    def __init__(
        self, paper: Paper, number: str, records: Records, model: str, limit: int, settings: Mapping[str, Any]
    ) -> None:
        self._paper, self._number, self._spec = paper, number, paper.tables[number]
        self._records, self._model, self._limit, self._settings = records, model, limit, settings
        self._reasons: dict[str, str] = {}

    def table(self) -> Table:
        spec, paper = self._spec, self._paper
        head = (spec.head, "", *(column.heading for column in spec.columns))
        notes = [
            f"Paper: {spec.model or paper.model}; {spec.data or paper.data}. "
            f"Ours: {self._model}; {spec.here or paper.here}"
            + (f", at most {self._limit} of them for a cell." if self._limit else ".")
        ]
        if is_simulated(self._model):
            notes.append(NO_LANGUAGE)
        if spec.note:
            notes.append(spec.note)
        rows = list(self._rows())
        return Table(
            f"{title_of(self._number)} of {paper.title}: {spec.caption}",
            head,
            rows,
            notes,
            [f"[{mark}] {reason}." for reason, mark in self._reasons.items()],
        )

    def _rows(self) -> Iterator[Sequence[str]]:
        every = {row.label: found for row, found in cells(self._paper, self._spec)}
        for row, found in cells(self._paper, self._spec):
            if row.section:
                yield (row.section,)
            if any(row.paper):
                yield (row.label, "paper", *(cell.theirs or "–" for cell in found))
            label = "" if any(row.paper) else row.label
            if row.average_of:
                parts = [[self._episodes(every[name][i]) for name in row.average_of] for i in range(len(found))]
                counts = {sum(map(len, some)) for some in parts if all(some)}
                texts = [self._average(cell, some) for cell, some in zip(found, parts)]
            else:
                played = [self._episodes(cell) for cell in found]
                counts = {len(episodes) for episodes in played if episodes}
                texts = [self._text(cell, episodes) for cell, episodes in zip(found, played)]
            number = f" (n = {'–'.join(map(str, sorted({min(counts), max(counts)})))})" if counts else ""
            yield (label, f"ours{number}", *texts)

    def _average(self, cell: Cell, parts: Sequence[list[Played]]) -> str:
        """The mean of rows above, all of which are needed."""
        if cell.why:
            return self._mark(cell.why)
        text = METRICS[cell.metric].average(parts, cell.percent) if all(parts) else ""
        return text or self._mark("a row of which this is the mean has none")

    def _episodes(self, cell: Cell) -> list[Played]:
        if cell.why:
            return []
        wanted = limited(cell.tasks, self._limit)
        return [e for e in self._records.episodes(cell, self._model, self._settings) if e.spec.case in wanted]

    def _text(self, cell: Cell, episodes: list[Played]) -> str:
        if cell.why:
            return self._mark(cell.why)
        if not episodes:
            return self._mark(
                f"no records of {cell.method} with {self._model} on these tasks of the suite {cell.suite} in "
                f"{self._records.folder}; planweave bench {cell.suite} --method {cell.method} --model {self._model}"
            )
        if cell.metric == "cost_total" and is_simulated(self._model):
            return self._mark("a simulated model costs nothing")
        text = METRICS[cell.metric].text(episodes, cell.percent)
        if cell.gain_over:
            text = METRICS[cell.metric].gain(
                episodes, self._episodes(replace(cell, method=cell.gain_over)), cell.percent
            )
        if not text:
            return self._mark(f"{cell.metric} is in no record: undefined, or no price is known")
        wanted, there = len(limited(cell.tasks, self._limit)), len({e.spec.case for e in episodes})
        return text if there == wanted else f"{text} {self._mark(f'records of {there} of {wanted} tasks')}"

    def _mark(self, reason: str) -> str:
        count = len(self._reasons)
        letters = chr(97 + count % 26) * (1 + count // 26)
        return f"[{self._reasons.setdefault(reason, letters)}]"

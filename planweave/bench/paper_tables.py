"""The papers' tables with ours beside theirs: which episodes they need, and the tables made of records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from planweave.bench.methods import NOTHING, parse_method
from planweave.bench.models import is_simulated
from planweave.bench.paper_metrics import METRICS
from planweave.bench.papers import Cell, Paper, cells, title_of
from planweave.bench.results import Played, Results
from planweave.bench.runner import CONFIG, read_config
from planweave.bench.suites import SUITES
from planweave.bench.tables import Table, key_of
from planweave.core.base.errors import ConfigError
from planweave.methods import asks_model

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
        """Models that were asked."""
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
            key_of(paper.title.partition(" ")[0], title_of(self._number)),
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

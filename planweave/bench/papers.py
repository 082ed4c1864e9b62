"""The papers' tables as data (papers.yaml): their numbers, and how a cell is made here.

A cell takes its method, tasks and metric from its row, its column, its table and its paper; tasks narrow each other
down; the method's switch `paper` is on. Where a part says `why`, there is no way to make the cell here, and that is
the reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path

import msgspec
import yaml

from planweave.bench.paper_metrics import METRICS
from planweave.bench.parameters import parse_method
from planweave.bench.suites import SUITES, Case
from planweave.core.base.errors import ConfigError, PlanweaveError, UnknownNameError
from planweave.core.base.yaml_files import read_text

#: Columns of ordinary reports for measures that are defined otherwise in a paper.
_NEAREST = {"exec_first": "exec", "exec_plan": "exec", "lcs_words": "lcs", "gcr_changed": "gcr"}
PAPERS = Path(__file__).with_name("papers.yaml")


class Selection(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tasks of a suite: all that meet every condition given. steps: from and to, of the gold plan."""

    suite: str = ""
    group: str = ""
    scene: str = ""
    steps: tuple[int, int] | None = None
    ids: tuple[str, ...] = ()

    def holds(self, case: Case) -> bool:
        return (
            (not self.group or self.group in case.groups)
            and (not self.scene or self.scene == case.scene)
            and (self.steps is None or self.steps[0] <= len(case.expected) <= self.steps[1])
            and (not self.ids or case.id in self.ids)
        )


class CellSelection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Settings of the cells of a row, a column, a table or a paper; several selections of tasks are alternatives."""

    method: str = ""
    metric: str = ""
    tasks: tuple[Selection, ...] = ()
    why: str = ""


class Column(CellSelection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """percent: the paper gives shares in per cent."""

    heading: str
    percent: bool = False


class Beside(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The row also stands beside ours in the reports of ordinary runs. numbers: by measure, where they are none of the
    columns'.
    """

    label: str
    method: str
    group: str = ""
    numbers: dict[str, str] = {}


class PaperRow(CellSelection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """paper: its numbers as printed, "" where there is none. section: heading that the row and those after it stand
    under. gain_over: a method whose values are subtracted. average_of: labels of the rows whose mean ours is.
    """

    label: str
    paper: tuple[str, ...]
    section: str = ""
    gain_over: str = ""
    average_of: tuple[str, ...] = ()
    beside: Beside | None = None


class PaperTable(CellSelection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One table or figure. head: of its first column. note: what differs here. model, data, here: where they are others
    than the paper's.
    """

    caption: str
    columns: tuple[Column, ...]
    rows: tuple[PaperRow, ...]
    head: str = ""
    note: str = ""
    model: str = ""
    data: str = ""
    here: str = ""


class Paper(CellSelection, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """model, data: theirs; here: our data. tables: by their numbers; figures are figure5."""

    title: str
    model: str
    data: str
    here: str
    tables: dict[str, PaperTable]


class Cell(msgspec.Struct, frozen=True):
    """One cell, with what row, column, table and paper say of it. suite: "" where there is a reason not to make it."""

    theirs: str
    metric: str = ""
    percent: bool = False
    suite: str = ""
    method: str = ""
    tasks: tuple[str, ...] = ()
    why: str = ""
    gain_over: str = ""


@lru_cache(maxsize=4)
def load_papers(path: Path = PAPERS) -> Mapping[str, Paper]:
    """All papers, checked; raises ConfigError that names the place."""
    try:
        found: dict[str, Paper] = msgspec.convert(yaml.load(read_text(path), Loader=yaml.CSafeLoader), dict[str, Paper])
    except (yaml.YAMLError, msgspec.ValidationError) as error:
        raise ConfigError(f"{path}: {error}") from None
    for name, paper in found.items():
        for number, table in paper.tables.items():
            for row in table.rows:
                where = f"{path}: {name}, {title_of(number)}, {row.label!r}"
                for label in row.average_of:
                    if label not in (labels := [other.label for other in table.rows]):
                        raise ConfigError(f"{where}: {UnknownNameError('row', label, labels)}")
                if len(row.paper) != len(table.columns):
                    raise ConfigError(f"{where}: {len(row.paper)} numbers for {len(table.columns)} columns")
                for column in table.columns:
                    _check(where, cell_of(paper, table, row, column))
    return found


def _check(where: str, cell: Cell) -> None:
    if cell.why:
        return
    try:
        if cell.metric not in METRICS:
            raise UnknownNameError("metric", cell.metric, METRICS)
        for method in filter(None, (cell.method, cell.gain_over)):
            parse_method(method)
    except PlanweaveError as error:
        raise ConfigError(f"{where}: {error}") from None
    if not cell.tasks:
        raise ConfigError(f"{where}: no task of the suite {cell.suite} meets all its conditions")


def paper_of(name: str) -> Paper:
    """One paper; raises UnknownNameError."""
    papers = load_papers()
    if name not in papers:
        raise UnknownNameError("paper", name, papers)
    return papers[name]


def table_of(paper: Paper, text: str) -> str:
    """The number of a table as a person writes it (1, iv, "Table 1", "figure 5"); raises UnknownNameError."""
    plain = text.lower().replace(" ", "").removeprefix("table")
    for number in paper.tables:
        if plain == number.lower():
            return number
    raise UnknownNameError("table", text, paper.tables)


def title_of(number: str) -> str:
    """``Table 1`` or ``Figure 5``."""
    return f"Figure {number.removeprefix('figure')}" if number.startswith("figure") else f"Table {number}"


def cell_of(paper: Paper, table: PaperTable, row: PaperRow, column: Column) -> Cell:
    """Recipe of a cell here, or why there is none."""
    theirs = row.paper[table.columns.index(column)]
    parts: tuple[CellSelection, ...] = (column, row, table, paper)
    why = next((part.why for part in parts if part.why), "")
    if why:
        return Cell(theirs, why=why)
    suite = next((s.suite for part in parts for s in part.tasks if s.suite), "home")
    cases = SUITES[suite].cases()
    tasks = tuple(
        name
        for name, case in cases.items()
        if all(any(s.holds(case) for s in part.tasks) for part in parts if part.tasks)
    )
    method, metric = (next((v for v in values if v), "") for values in zip(*((p.method, p.metric) for p in parts)))
    gain_over = _in_paper(row.gain_over) if row.gain_over else ""
    return Cell(theirs, metric, column.percent, suite, _in_paper(method), tasks, gain_over=gain_over)


def _in_paper(method: str) -> str:
    return f"{method}{',' if ':' in method else ':'}paper=true"


def cells(paper: Paper, table: PaperTable) -> Iterator[tuple[PaperRow, list[Cell]]]:
    for row in table.rows:
        yield row, [cell_of(paper, table, row, column) for column in table.columns]


def beside_ours() -> list[dict[str, str]]:
    """Rows for the reports of ordinary runs: method, group, label, and numbers by measure; shares, not per cent."""
    found = []
    for paper in load_papers().values():
        for table in paper.tables.values():
            for row in table.rows:
                if row.beside is None:
                    continue
                numbers = {
                    _NEAREST.get(column.metric, column.metric): _share(text) if column.percent else text
                    for column, text in zip(table.columns, row.paper)
                    if text and column.metric
                }
                if "cost_total" in numbers:
                    numbers["cost"] = f"${numbers['cost_total'].partition(' ')[0]} in all"
                about = {"method": row.beside.method, "group": row.beside.group, "label": row.beside.label}
                found.append({**about, **numbers, **row.beside.numbers})
    return found


def _share(text: str) -> str:
    """``35.30 ± 1.78`` per cent as ``0.353 ± 0.018``."""
    return " ± ".join(f"{float(part) / 100:.3f}" for part in text.split(" ± "))

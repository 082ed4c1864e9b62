"""Results as data: `results/NAME.json` holds what was measured, and docs/results.md is made of these files.

`python -m benchmarks NAME --runs 5` writes one; `python -m benchmarks.results` writes the page anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import msgspec

from benchmarks.figures import Row
from planweave.bench.machine import machine
from planweave.bench.tables import grid
from planweave.core.base.errors import ConfigError

ROOT = Path(__file__).parent.parent
FOLDER, PAGE = ROOT / "results", ROOT / "docs" / "results.md"
PACKAGES = ("planweave", "numpy", "mujoco", "rclpy", "openai", "kairos-planner")
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:,\d{3})*(?:\.\d+)?")
_HEAD = """# Results

Made of the files in `results/` by `python -m benchmarks.results`; `python -m benchmarks NAME --runs 5` measures anew
and writes such a file. A figure of several runs is the median, with the least and the greatest in square brackets;
else of one run. Earlier measurements are in this page's history in git.
"""


@dataclass(frozen=True)
class Figure:
    """A figure of one or more runs: the value of each, and whether it met the goal (None without one). needs: what its
    command alone has not, such as a language model; then a person wrote it.
    """

    figure: str
    goal: str = ""
    values: tuple[str, ...] = ()
    met: tuple[bool | None, ...] = ()
    needs: str = ""

    @property
    def name(self) -> str:
        """The figure, and what it needs."""
        return f"{self.figure} (needs {self.needs})" if self.needs else self.figure

    @property
    def value(self) -> str:
        """One value for several: of equal words around numbers, each number's median, least and greatest."""
        if len({_NUMBER.sub("#", value) for value in self.values}) > 1:
            return "; ".join(dict.fromkeys(self.values))
        columns = iter(zip(*(_NUMBER.findall(value) for value in self.values)))
        return _NUMBER.sub(lambda _: _spread(next(columns)), self.values[0])

    @property
    def aim(self) -> str:
        """The goal, and how often it was reached."""
        known = [met for met in self.met if met is not None]
        if not known:
            return self.goal
        of_several = f"**reached in {sum(known)} of {len(known)}**"
        word = "reached" if all(known) else of_several if any(known) else "**missed**"
        return f"{self.goal}: {word}" if self.goal else word


@dataclass(frozen=True)
class TableOfResults:
    """A table that people wrote."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class ResultFile:
    """A file: what was measured, where and with what; title, chapter, order, notes and table are people's."""

    title: str
    chapter: str = "Others"
    order: int = 99
    command: str = ""
    date: str = ""
    machine: str = ""
    commit: str = ""
    versions: Mapping[str, str] = field(default_factory=dict)
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()
    table: TableOfResults | None = None

    @classmethod
    def read(cls, path: Path) -> ResultFile:
        """Read a file; raises ConfigError for one that is no result."""
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except ValueError as error:
            raise ConfigError(f"{path} is no file of results: {error}") from error

    def write(self, path: Path) -> None:
        """Write a file, without empty fields."""
        plain = {key: value for key, value in asdict(self).items() if value}
        plain["figures"] = [
            {k: v for k, v in figure.items() if k != "needs" or v} for figure in plain.get("figures", ())
        ]
        path.write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

    @property
    def anchor(self) -> str:
        """The link target of the title."""
        return re.sub(r"[^\w -]", "", self.title.lower()).replace(" ", "-")

    @property
    def source(self) -> str:
        """Command, date and machine of the measurement."""
        runs = max((len(figure.values) for figure in self.figures), default=1)
        parts = [f"`{self.command}`" if self.command else "", self.date, self.machine, self.commit]
        return "; ".join([*filter(None, parts), *([f"{runs} runs"] if runs > 1 else [])])


def keep(name: str, runs: Sequence[Sequence[Row]]) -> Path:
    """Write the rows of one or more runs of a benchmark to its file; what people wrote there stays: title, notes, and
    figures with `needs`.
    """
    path = FOLDER / f"{name}.json"
    rows: dict[str, list[Row]] = {}
    for row in (row for each in runs for row in each):
        rows.setdefault(row.figure, []).append(row)
    figures = tuple(
        Figure(figure, of[0].goal, tuple(row.value for row in of), tuple(row.met for row in of))
        for figure, of in rows.items()
    )
    words = ("FOLDER" if "/" in word and Path(word).is_dir() else word for word in sys.argv[1:] or [name])
    command, date = f"python -m benchmarks {' '.join(words)}", time.strftime("%Y-%m-%d")
    kept = ResultFile.read(path) if path.exists() else ResultFile(name)
    FOLDER.mkdir(exist_ok=True)
    replace(
        kept,
        command=command,
        date=date,
        machine=machine(),
        commit=_commit(),
        versions=_versions(),
        figures=figures + tuple(figure for figure in kept.figures if figure.needs),
    ).write(path)
    return path


def page(folder: Path = FOLDER) -> str:
    """The page of all files in a folder: missed figures first. Raises ConfigError for a file that is none."""
    chapters: dict[str, list[ResultFile]] = {}
    for file in sorted(map(ResultFile.read, folder.glob("*.json")), key=lambda file: (file.order, file.title)):
        chapters.setdefault(file.chapter, []).append(file)
    misses = [
        [figure.name, figure.value, figure.goal, f"[{file.title}](#{file.anchor})"]
        for files in chapters.values()
        for file in files
        for figure in file.figures
        if False in figure.met
    ]
    lines = [_HEAD, "## Known misses", "", *grid(["figure", "value", "goal", "of"], misses)]
    for chapter, files in chapters.items():
        rows: list[list[str]] = []
        for file in files:
            head, its = f'<a id="{file.anchor}"></a>**{file.title}**', file.figures
            if len(its) == 1:
                rows.append([f"{head}: {its[0].name}", f"{its[0].value}; {file.source}", its[0].aim])
                continue
            rows.append([head, file.source, ""])
            rows += [[figure.name, figure.value, figure.aim] for figure in its]
        lines += ["", f"## {chapter}", "", *grid(["figure", "value", "goal"], rows)]
        lines += ["", *(f"- {file.title}: {' '.join(file.notes)}" for file in files if file.notes)]
        for table in (file.table for file in files if file.table is not None):
            shown = [table.columns, ["---"] * len(table.columns), *table.rows]
            lines += ["", *(f"| {' | '.join(row)} |" for row in shown)]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _spread(numbers: Sequence[str]) -> str:
    if len(set(numbers)) == 1:
        return numbers[0]
    by_size = sorted(numbers, key=lambda number: float(number.replace(",", "")))
    return f"{by_size[(len(by_size) - 1) // 2]} [{by_size[0]}, {by_size[-1]}]"


def _commit() -> str:
    """The commit that is checked out, with a plus sign where more than the results differs; empty without git."""

    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, timeout=10).stdout.strip()

    try:
        changed = git("status", "--porcelain", "-uno", "--", ".", f":!{FOLDER.name}", f":!{PAGE.relative_to(ROOT)}")
        return git("describe", "--always") + "+" * bool(changed)
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")

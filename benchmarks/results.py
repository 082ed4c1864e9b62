"""Results as data: `results/NAME.json` holds what was measured, and docs/results.md is made of these files.

`python -m benchmarks NAME --runs 5` writes one; `python -m benchmarks.results` writes the page anew.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

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


def keep(name: str, runs: Sequence[Sequence[dict[str, Any]]]) -> Path:
    """Write the rows of one or more runs of a benchmark to its file; what people wrote there (title, notes) stays."""
    path = FOLDER / f"{name}.json"
    kept = _read(path) if path.exists() else {"title": name}
    figures: dict[str, dict[str, Any]] = {}
    for row in (row for rows in runs for row in rows):
        new = {"figure": row["figure"], "goal": row["goal"], "values": [], "met": []}
        figure = figures.setdefault(row["figure"], new)
        figure["values"].append(row["value"])
        figure["met"].append(row["met"])
    kept |= {"command": f"python -m benchmarks {' '.join(sys.argv[1:]) or name}", "date": time.strftime("%Y-%m-%d")}
    kept |= {"machine": machine(), "commit": _commit(), "versions": _versions(), "figures": list(figures.values())}
    FOLDER.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return path


def page(folder: Path = FOLDER) -> str:
    """The page of all files in a folder: missed figures first. Raises ConfigError for a file that is none."""
    chapters: dict[str, list[dict[str, Any]]] = {}
    for file in sorted((_read(path) for path in folder.glob("*.json")), key=lambda file: file.get("order", 99)):
        chapters.setdefault(file.get("chapter", "Others"), []).append(file)
    misses = [
        [figure["figure"], _value(figure), figure["goal"], f"[{file['title']}](#{_anchor(file['title'])})"]
        for files in chapters.values()
        for file in files
        for figure in file["figures"]
        if False in figure["met"]
    ]
    lines = [_HEAD, "## Known misses", "", *grid(["figure", "value", "goal", "of"], misses)]
    for chapter, files in chapters.items():
        rows: list[list[str]] = []
        for file in files:
            rows.append([f'<a id="{_anchor(file["title"])}"></a>**{file["title"]}**', _source(file), ""])
            rows += [[figure["figure"], _value(figure), _goal(figure)] for figure in file["figures"]]
        lines += ["", f"## {chapter}", "", *grid(["figure", "value", "goal"], rows)]
        lines += ["", *(f"- {file['title']}: {' '.join(file['notes'])}" for file in files if file.get("notes"))]
        for table in (file["table"] for file in files if "table" in file):
            shown = [table["columns"], ["---"] * len(table["columns"]), *table["rows"]]
            lines += ["", *(f"| {' | '.join(row)} |" for row in shown)]
    return re.sub("\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def _read(path: Path) -> dict[str, Any]:
    try:
        file: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if not (file["title"] and isinstance(file["figures"], list)):
            raise ValueError("no title, or no list of figures")
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{path} is no file of results: {error!r}") from error
    return file


def _source(file: dict[str, Any]) -> str:
    runs = max((len(figure["values"]) for figure in file["figures"]), default=1)
    parts = [f"`{file['command']}`"] if file.get("command") else []
    parts += [str(file[key]) for key in ("date", "machine", "commit") if file.get(key)]
    return "; ".join([*parts, *([f"{runs} runs"] if runs > 1 else [])])


def _goal(figure: dict[str, Any]) -> str:
    known = [met for met in figure["met"] if met is not None]
    if not known:
        return str(figure["goal"])
    of_several = f"**reached in {sum(known)} of {len(known)}**"
    word = "reached" if all(known) else of_several if any(known) else "**missed**"
    return f"{figure['goal']}: {word}" if figure["goal"] else word


def _value(figure: dict[str, Any]) -> str:
    """One value for several: of equal words around numbers, each number's median, least and greatest."""
    values = [str(value) for value in figure["values"]]
    if len({_NUMBER.sub("#", value) for value in values}) > 1:
        return "; ".join(dict.fromkeys(values))
    columns = iter(zip(*(_NUMBER.findall(value) for value in values)))
    return _NUMBER.sub(lambda _: _spread(next(columns)), values[0])


def _spread(numbers: Sequence[str]) -> str:
    if len(set(numbers)) == 1:
        return numbers[0]
    by_size = sorted(numbers, key=lambda number: float(number.replace(",", "")))
    return f"{by_size[(len(by_size) - 1) // 2]} [{by_size[0]}, {by_size[-1]}]"


def _anchor(title: str) -> str:
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def _commit() -> str:
    """The commit that is checked out, with a plus sign where files differ from it; empty where git knows none."""
    command = ["git", "describe", "--always", "--dirty=+"]
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=10).stdout.strip()
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

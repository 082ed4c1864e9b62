"""Figures of the library as a Python package: times to import and to print the help, lines of code, size of examples.

Times are medians of wall time over fresh processes, whose own start is given beside them.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console

from benchmarks.figures import Row, figure

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("planweave", "planweave_ros", "*_node")
_REPEATS = 9
_COMMANDS = {
    "start of Python": ["-c", "pass"],
    "import planweave": ["-c", "import planweave"],
    "import of all its public names": ["-c", "from planweave import *"],
    "planweave --help": ["-m", "planweave.cli.main", "--help"],
    "planweave run --help": ["-m", "planweave.cli.main", "run", "--help"],
}


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    rows = [figure(name, f"{1e3 * _seconds(arguments):.0f} ms") for name, arguments in _COMMANDS.items()]
    for pattern in PACKAGES:
        files = [path for folder in ROOT.glob(pattern) for path in folder.rglob("*.py")]
        lines = sum(map(count_lines, files))
        rows.append(figure(f"lines of code in {pattern}/", f"{lines:,} in {len(files)} modules"))
    for folder in sorted(path.parent for path in ROOT.glob("examples/*/pyproject.toml")):
        files = example_files(folder)
        lines = sum(count_lines(path) for path in files if path.suffix == ".py")
        data = sum(path.suffix != ".py" for path in files)
        value = f"{len(files) - data} module of {lines} lines, {data} data files, 0 files of Planweave"
        rows.append(figure(f"example {folder.name}", value))
    return rows


def example_files(folder: Path) -> list[Path]:
    """The files of an example package that are its own work: without its test, README and pyproject.toml."""
    return [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not path.name.startswith("test_")
        and path.name not in ("pyproject.toml", "README.md")
        and not {"__pycache__", "build"} & set(path.parts)
        and ".egg-info" not in str(path)
    ]


def count_lines(path: Path) -> int:
    """Lines of a file that are not blank."""
    return sum(bool(line.strip()) for line in path.read_text(encoding="utf-8").splitlines())


def _seconds(arguments: list[str]) -> float:
    """Median wall time of a Python process, in an empty folder, after one run that fills the caches."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(_REPEATS + 1):
            begun = time.perf_counter()
            subprocess.run(
                [sys.executable, *arguments], cwd=folder, env=dict(os.environ), stdout=subprocess.DEVNULL, check=True
            )
            times.append(time.perf_counter() - begun)
    return statistics.median(times[1:])

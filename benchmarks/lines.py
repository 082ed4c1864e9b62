"""Lines of Python in the files that git has of this checkout."""

from __future__ import annotations

import argparse
import subprocess

from rich.console import Console

from benchmarks.figures import Row, figure
from benchmarks.results import ROOT

#: What is counted: folders (all for none), folders of it that are left out, and at most how many lines are wanted
COUNTED: dict[str, tuple[tuple[str, ...], tuple[str, ...], int]] = {
    "outside `test/` and `examples/`": ((), ("test", "examples"), 60_000),
    "of these without benchmarks, tools, training and integrations": (
        (),
        ("test", "examples", "benchmarks", "tools", "training", "integrations"),
        0,
    ),
    "perception, bodies/arm, libero, executor_node and perception_node": (
        ("planweave/perception", "planweave/bodies/arm", "planweave/libero", "executor_node", "perception_node"),
        (),
        14_500,
    ),
    "`planweave/goals`": (("planweave/goals",), (), 2_500),
    "`test/`": (("test",), (), 0),
}


def run(options: argparse.Namespace, console: Console) -> list[Row]:
    listed = subprocess.run(["git", "ls-files", "*.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    lines = {name: (ROOT / name).read_bytes().count(b"\n") for name in listed.stdout.split() if (ROOT / name).exists()}

    def counted(folders: tuple[str, ...]) -> set[str]:
        return {name for name in lines if name.startswith(tuple(f"{folder}/" for folder in folders))}

    rows = []
    for what, (within, without, most) in COUNTED.items():
        found = sum(lines[name] for name in (counted(within) if within else {*lines}) - counted(without))
        goal, met = (f"≤ {most:,}", found <= most) if most else ("", None)
        rows.append(figure(what, f"{found:,}", goal, met))
    return rows

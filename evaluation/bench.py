"""Measure the system on this machine and print figures: ratios of one run, never absolute promises.

examples:
  planweave bench system
  planweave bench system --placements 10 --json
  planweave bench household
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from typing import Any

#: suite: module with add_arguments(parser) and run(options, console) -> list of Figure
SUITES = {"system": "evaluation.bench_system", "household": "evaluation.bench_household"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("suite", choices=sorted(SUITES), help="what to measure")
    parser.add_argument("--placements", type=int, default=50, help="random pick-and-places (default: 50)")
    parser.add_argument("--scenes", type=int, default=30, help="random scenes for perception (default: 30)")
    parser.add_argument("--trips", type=int, default=200, help="action round trips (default: 200)")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    parser.add_argument("--json", action="store_true", help="nothing but one JSON object on standard output")


def main(options: argparse.Namespace) -> int:
    """Run a suite; the exit code is 1 where a figure misses its goal."""
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True) if options.json else Console()
    suite = importlib.import_module(SUITES[options.suite])
    rows: list[dict[str, Any]] = suite.run(options, console)
    if options.json:
        print(json.dumps({"suite": options.suite, "machine": machine(), "figures": rows}, indent=2))
    else:
        table = Table(title=f"planweave bench {options.suite}: {machine()}")
        for heading in ("figure", "value", "goal", "met"):
            table.add_column(heading)
        for row in rows:
            met = "" if row["met"] is None else "yes" if row["met"] else "no"
            table.add_row(row["figure"], row["value"], row["goal"], met)
        console.print(table)
    return 0 if all(row["met"] is not False for row in rows) else 1


def machine() -> str:
    """The machine in a few words: processor, cores, Python."""
    name = platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores, Python {platform.python_version()}"

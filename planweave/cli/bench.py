"""Compare planning methods fairly on the same tasks, or measure the system on this machine.

A bake-off (home, eai, faults, tabletop with --method) plays every method with every model on every task, keeps a
record of each episode, and writes a report with tables and plots. A killed run goes on with --resume.
Figures (system, household, bakeoff, fuzz, honesty, idle, kills, sentences, world, tabletop without --method) are of
one run on this machine, never promises.

examples:
  planweave bench home --method tree_planner iterative blocking --model simulated:0.2 --repeat 3
  planweave bench home --method all --model openai:gpt-4o-mini --budget-cost 2.50
  planweave bench faults --model simulated:0.1 --jobs 4
  planweave bench system --placements 10 --json
  planweave bench household
  planweave bench fuzz --texts 2000
  planweave bench idle --seconds 20
  planweave bench world
  planweave bench sentences
  planweave bench honesty --task taken_at_lift --repeat 5
  planweave bench kills --task executor_node/holding feedback_node/kill
  planweave bench tabletop --seeds 2 --task plus_sign
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import platform
from typing import Any

from planweave.core.errors import ConfigError, UnknownNameError

#: figures: module with run(options, console) -> rows of figures
FIGURES = {"system": "benchmarks.system", "household": "benchmarks.household",
           "tabletop": "benchmarks.tabletop", "bakeoff": "benchmarks.bakeoff",
           "honesty": "benchmarks.honesty", "idle": "benchmarks.idle", "kills": "benchmarks.kills",
           "sentences": "benchmarks.sentences", "fuzz": "benchmarks.fuzz",
           "world": "benchmarks.world"}
BAKEOFFS = ("home", "eai", "faults", "tabletop")
NEEDS_ROS = False  # a bake-off in a home needs none; figures prepare it themselves


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("suite", metavar="SUITE", help=f"{', '.join(BAKEOFFS)} or {', '.join(FIGURES)}")
    parser.add_argument("--seed", type=int, default=0, help="of everything random (default: 0)")
    parser.add_argument("--task", "--tasks", dest="tasks", nargs="+", action="extend", default=[], metavar="ID",
                        help="only these tasks, of a bake-off or of the tabletop's figures; or deaths, or cases of "
                             "honesty; repeatable")
    parser.add_argument("--json", action="store_true", help="nothing but one JSON object on standard output")
    _bakeoff_arguments(parser)
    group = parser.add_argument_group("figures")
    group.add_argument("--placements", type=int, default=50, help="random pick-and-places (default: 50)")
    group.add_argument("--scenes", type=int, default=30, help="random scenes for perception (default: 30)")
    group.add_argument("--trips", type=int, default=200, help="action round trips (default: 200)")
    group.add_argument("--seconds", type=float, default=20.0, help="of rest that are measured (default: 20)")
    group.add_argument("--texts", type=int, default=100_000, help="fuzzed replies, and sentences (default: 100000)")
    group.add_argument("--seeds", type=int, default=20, help="runs of each tabletop task (default: 20)")


def _bakeoff_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("bake-off (home, eai, faults; tabletop with --method)")
    group.add_argument("--method", nargs="+", action="extend", default=[], metavar="M",
                       help="methods, e.g. tree_planner iterative:replan=global (default: all)")
    group.add_argument("--model", nargs="+", action="extend", default=[], metavar="NAME",
                       help="auto (default: what `planweave run` asks), openai:NAME, embedded, cassette:PATH, "
                            "simulated:RATE (no model: knows a right plan and errs at the rate)")
    group.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N tasks")
    group.add_argument("--repeat", type=int, default=1, metavar="R",
                       help="repetitions, also of the cases of honesty (default: 1)")
    group.add_argument("--jobs", type=int, default=0, metavar="J", help="episodes side by side (default: all cores)")
    group.add_argument("--cluster", default="", metavar="ADDRESS", help="play on a Dask cluster, e.g. tcp://host:8786")
    group.add_argument("--out", default="", metavar="DIR", help="folder of the run (default: a new one in out/bench)")
    group.add_argument("--resume", action="store_true", help="go on with a run, by default the newest of the same kind")
    group.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds an episode (default: 600)")
    group.add_argument("--rate", type=float, default=0.0, metavar="N", help="questions a minute, over all workers")
    group.add_argument("--budget-tokens", type=int, default=0, metavar="N", help="tokens of the whole run")
    group.add_argument("--budget-cost", type=float, default=0.0, metavar="USD", help="dollars of the whole run")


def main(options: argparse.Namespace) -> int:
    """Run a suite; figures give 1 where one misses its goal, a bake-off where episodes are missing."""
    from rich.console import Console

    console = Console(stderr=True) if options.json else Console()
    if not console.is_terminal:
        console = Console(stderr=options.json, width=110)
    if options.suite not in {*FIGURES, *BAKEOFFS}:
        raise UnknownNameError("suite", options.suite, {*FIGURES, *BAKEOFFS})
    if options.tasks and options.suite not in (*BAKEOFFS, "kills", "honesty"):
        raise ConfigError(f"--task has no meaning for the figures of {options.suite}; it chooses tasks of "
                          f"{', '.join(BAKEOFFS)}, and cases of kills and honesty")
    if options.suite == "tabletop" or options.suite in FIGURES:
        importlib.import_module("planweave.cli.main").prepare_ros()
    if options.suite not in FIGURES or (options.suite in BAKEOFFS and options.method):
        from planweave.bench import bakeoff

        return bakeoff.main(options, console)
    return _figures(options, console)


def _figures(options: argparse.Namespace, console: Any) -> int:
    from rich.table import Table

    suite = importlib.import_module(FIGURES[options.suite])
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

"""Compare planning methods on the same tasks.

Every method runs with every model on every task. Each episode is recorded; the report has tables. --resume
continues an interrupted run. Figures of Planweave itself (speed, honesty, kills, …) are measured in a checkout: python
-m benchmarks.

examples:
  planweave bench home --method tree_planner iterative blocking --model simulated:0.2 --repeat 3
  planweave bench home --method all --model openai:gpt-4o-mini --budget-cost 2.50
  planweave bench faults --model simulated:0.1 --jobs 4
  planweave bench home --method tree_planner --set tree_planner.samples=10 --tasks mine.yaml
  planweave bench paper tree_planner --table 1 figure5 --out tables
  planweave bench paper blocking --records out/bench --model openai:gpt-4o-mini
  planweave bench tabletop --method classical --task plus_sign
  planweave bench libero --suites spatial goal_swap --view truth --inits 2 --video
"""

from __future__ import annotations

import argparse
import importlib
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import ConfigError, UnknownNameError

if TYPE_CHECKING:
    from rich.console import Console

_SEVERAL: dict[str, Any] = {"nargs": "+", "action": "extend", "default": []}
_LIBERO = ("suites", "view", "inits", "steps", "video")
NEEDS_ROS = False  # a bake-off in a home needs none; the suite tabletop prepares it


def add_shared_arguments(parser: argparse.ArgumentParser, tasks: str, repetitions: str, metavar: str = "ID") -> None:
    """Arguments that `python -m benchmarks` has, too. tasks, repetitions: help of --task and --repeat."""
    parser.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    parser.add_argument("--task", "--tasks", dest="tasks", **_SEVERAL, metavar=metavar, help=tasks)
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")
    parser.add_argument("--repeat", type=int, default=1, metavar="R", help=f"{repetitions} (default: 1)")
    parser.add_argument("--jobs", type=int, default=0, metavar="J", help="parallel episodes (default: all cores)")


def console_for(options: argparse.Namespace) -> Console:
    """The console of tables and progress: standard error with --json; 110 columns where it is no terminal."""
    from rich.console import Console

    console = Console(stderr=options.json)
    return console if console.is_terminal else Console(stderr=options.json, width=110)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from planweave.bench.suites import SUITES

    parser.add_argument("suite", metavar="SUITE", help=f"{', '.join(SUITES)}; or paper, for the tables of a paper")
    parser.add_argument("paper", nargs="?", default="", metavar="PAPER", help="with paper: which, e.g. tree_planner")
    add_shared_arguments(
        parser,
        "only these tasks; a file has ids (one a line, or a YAML or JSON list), or tasks of your own: a mapping "
        "of ids to sentence, scene and goal (docs/bench.md); repeatable",
        "repetitions",
        "ID|FILE",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="PART.NAME=VALUE",
        help="a parameter of the planner or of a method, e.g. planner.temperature=0 or tree_planner.samples=10; "
        "repeatable (default: as for the nodes, config/planner.yaml and config/feedback.yaml)",
    )
    parser.add_argument(
        "--method", **_SEVERAL, metavar="M", help="methods, e.g. tree_planner iterative:replan=global (default: all)"
    )
    parser.add_argument(
        "--model",
        **_SEVERAL,
        metavar="NAME",
        help="auto (default: what `planweave run` asks), openai:NAME, embedded, cassette:PATH, "
        "simulated:RATE[,correlation=RHO] (no model: follows a correct plan with errors at this rate; with probability "
        "RHO, default 0.6, all samples of a question share an error)",
    )
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only the first N tasks")
    parser.add_argument("--out", default="", metavar="DIR", help="folder of the run (default: a new one in out/bench)")
    parser.add_argument("--resume", action="store_true", help="continue a run (default: the newest of the same kind)")
    parser.add_argument("--table", **_SEVERAL, metavar="T", help="with paper: only these, e.g. 1 figure5")
    parser.add_argument(
        "--records",
        default="",
        metavar="DIR",
        help="with paper: make the tables of these runs (default: run few tasks)",
    )
    _add_libero(parser)
    parser.add_argument("--timeout", type=float, default=600.0, metavar="S", help="seconds per episode (default: 600)")
    parser.add_argument("--rate", type=float, default=0.0, metavar="N", help="requests per minute, over all workers")
    parser.add_argument("--budget-tokens", type=int, default=0, metavar="N", help="token budget of the run")
    parser.add_argument(
        "--budget-cost", type=float, default=0.0, metavar="USD", help="cost budget of the run, US dollars"
    )


def _add_libero(parser: argparse.ArgumentParser) -> None:
    """Arguments of the suite libero alone; None where they are not given."""
    parser.add_argument(
        "--suites",
        nargs="+",
        action="extend",
        metavar="S",
        help="with libero: spatial, object, goal, 10, 90, with _lan, _object, _swap, _task and others of LIBERO-PRO "
        "(default: the first four)",
    )
    parser.add_argument(
        "--view",
        metavar="V",
        help="with libero: truth (true poses: an upper bound; default), camera, or named (true names)",
    )
    parser.add_argument(
        "--inits", type=int, metavar="N", help="with libero: initial states 0 to N-1 of each task (default: 1)"
    )
    parser.add_argument(
        "--steps",
        metavar="L",
        help="with libero: where episodes end: published (the suite's limit) or 4000 (default: 4000, for both rates)",
    )
    parser.add_argument(
        "--video", action="store_true", default=None, help="with libero: a video of each failed episode"
    )


def main(options: argparse.Namespace) -> int:
    """Run a suite; 1 where episodes are missing."""
    from rich.console import Console

    from planweave.bench import bakeoff, paper_run
    from planweave.bench.suites import SUITES

    console = console_for(options)
    if options.suite == "paper":
        return paper_run.main(options, Console(stderr=True))
    if options.paper or options.table or options.records:
        raise ConfigError(
            "PAPER, --table and --records belong to: planweave bench paper PAPER; tasks of a suite are given by --task"
        )
    if options.suite not in SUITES:
        raise UnknownNameError("suite", options.suite, SUITES)
    for name in _LIBERO:
        if options.suite != "libero" and getattr(options, name) is not None:
            raise ConfigError(f"--{name} belongs to: planweave bench libero")
    if getattr(SUITES[options.suite], "needs_ros", False):
        importlib.import_module("planweave.cli.main").prepare_ros()
    return bakeoff.main(options, console)

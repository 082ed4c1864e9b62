"""Figures of Planweave on this machine; never promises. Run in a checkout."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Sequence
from typing import Any

from benchmarks import results
from benchmarks.figures import Row
from planweave.bench.machine import machine
from planweave.cli.bench import add_shared_arguments, console_for
from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.launcher.one_system import own_domain
from planweave.simulation.offscreen import choose_gl

#: modules with run(options, console) -> rows of figures: arguments of examples
FIGURES: dict[str, tuple[str, ...]] = {
    "system": ("--placements 10 --json",),
    "tokens": ("",),
    "tabletop": ("--seeds 2 --task plus_sign",),
    "honesty": ("--task taken_at_lift --repeat 5",),
    "idle": ("--seconds 20", "--runs 5"),
    "kills": ("--task executor_node/holding feedback_node/kill",),
    "sentences": ("", "FOLDER", "FOLDER --model openai:gpt-4o-mini --task libero libero_90 --jobs 8"),
    "fuzz": ("--texts 2000",),
    "world": ("",),
    "stops": ("--repeat 5",),
    "pauses": ("--repeat 5",),
    "page": ("",),
    "real_frames": ("FOLDER --task test",),
    "lines": ("",),
    "kitchen": ("--seeds 3 --task mug_away plain", "--here --hands --seeds 2"),
}
#: figures of which --task chooses some
CHOOSABLE = ("tabletop", "kills", "honesty", "real_frames", "kitchen", "sentences")


def parser() -> argparse.ArgumentParser:
    lines = [f"  python -m benchmarks {name} {more}".rstrip() for name, rows in FIGURES.items() for more in rows]
    made = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="\n".join([f"{__doc__}\n", "examples:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("figures", metavar="FIGURES", choices=FIGURES, help=", ".join(FIGURES))
    made.add_argument(
        "folders",
        metavar="FOLDER",
        nargs="*",
        help="of sentences: outside ones; of real_frames: RGB-D scenes",
    )
    add_shared_arguments(
        made,
        "only these tasks of the tabletop, deaths, cases of honesty, scenes of real_frames (learn, test), sets of "
        "sentences (outside, libero, libero_90); repeatable",
        "repetitions of cases of honesty, of stops, of pauses",
    )
    made.add_argument(
        "--model",
        default="",
        metavar="NAME",
        help="of sentences: who reads them too, auto, openai:NAME or cassette:PATH",
    )
    made.add_argument("--sample", type=int, default=0, metavar="N", help="of sentences: only N of each set, at random")
    made.add_argument(
        "--set", action="append", default=[], metavar="planner.NAME=VALUE", help="of sentences: a parameter"
    )
    made.add_argument("--out", default="", metavar="FILE", help="of sentences: one line of JSON for each that was read")
    made.add_argument("--placements", type=int, default=50, help="random pick-and-places (default: 50)")
    made.add_argument("--scenes", type=int, default=30, help="random scenes for perception (default: 30)")
    made.add_argument("--trips", type=int, default=200, help="action round trips (default: 200)")
    made.add_argument("--seconds", type=float, default=20.0, help="of rest that are measured (default: 20)")
    made.add_argument("--texts", type=int, default=100_000, help="fuzzed replies and sentences (default: 100000)")
    made.add_argument("--seeds", type=int, default=20, help="runs of each tabletop task (default: 20)")
    made.add_argument("--here", action="store_true", help="of kitchen: in one process, without nodes")
    made.add_argument("--hands", action="store_true", help="of kitchen: people's hands at these seeds, too")
    made.add_argument(
        "--runs", type=int, default=0, metavar="N", help="measure N times and write results/FIGURES.json, too"
    )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; 1 where a figure misses its goal, 2 for a wrong command line."""
    options = parser().parse_args(arguments)
    console = console_for(options)
    try:
        if options.tasks and options.figures not in CHOOSABLE:
            raise ConfigError(
                f"--task has no meaning for the figures of {options.figures}; it chooses tasks of "
                "tabletop and kitchen, cases of kills and honesty, scenes of real_frames, sets of sentences"
            )
        if options.folders and options.figures not in ("sentences", "real_frames"):
            raise ConfigError(f"folders have no meaning for the figures of {options.figures}")
        importlib.import_module("planweave.cli.main").prepare_ros()
        choose_gl()
        with own_domain("benchmarks"):
            measure = importlib.import_module(f"benchmarks.{options.figures}").run
            runs: list[list[Row]] = []
            for _ in range(max(options.runs, 1)):
                runs.append(measure(options, console))
                written = results.keep(options.figures, runs) if options.runs else None  # in case a later one fails
    except PlanweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, ConfigError) else 1
    if options.json:
        plain = [[row.plain() for row in rows] for rows in runs]
        figures = {"figures": plain[0]} if len(plain) == 1 else {"runs": plain}
        print(json.dumps({"suite": options.figures, "machine": machine(), **figures}, indent=2))
    else:
        for rows in runs:
            console.print(_table(options.figures, rows))
    if written:
        console.print(f"written: {written}; the page: python -m benchmarks.results")
    return 0 if all(row.met is not False for rows in runs for row in rows) else 1


def _table(name: str, rows: list[Row]) -> Any:
    from rich.table import Table

    table = Table(title=f"benchmarks {name}: {machine()}")
    for heading in ("figure", "value", "goal", "met"):
        table.add_column(heading)
    for row in rows:
        met = "" if row.met is None else "yes" if row.met else "no"
        table.add_row(row.figure, row.value, row.goal, met)
    return table


if __name__ == "__main__":
    raise SystemExit(main())

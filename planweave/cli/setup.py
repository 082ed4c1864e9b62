"""Install a simulator that has an environment of its own.

libero: LIBERO and LIBERO-PRO (0.7 GB from PyPI, 2.1 GB installed), in ~/.local/share/planweave/libero or in the folder
that PLANWEAVE_LIBERO names.

examples:
  planweave setup libero
  planweave setup libero --check
"""

from __future__ import annotations

import argparse
import sys

from planweave.libero.environment import install, python

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("part", choices=["libero"], help="what to install")
    parser.add_argument("--check", action="store_true", help="install nothing; start the simulator and list its suites")


def main(options: argparse.Namespace) -> int:
    from planweave.libero.client import LiberoSimulator

    if not options.check:
        install(lambda line: print(line, file=sys.stderr, flush=True))
    python()
    with LiberoSimulator() as simulator:
        suites = simulator.suites()
    print(f"{len(suites)} suites with {sum(suites.values())} tasks")
    for name, tasks in sorted(suites.items()):
        print(f"  {name}: {tasks}")
    return 0

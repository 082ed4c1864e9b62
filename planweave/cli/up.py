"""Start a system and keep it running until Ctrl-C; nodes that die are restarted.

examples:
  planweave up tabletop
  planweave up tabletop --scene fruit_and_bottles
  planweave up tabletop --set scene=/home/me/kitchen.yaml
  planweave up household --set feedback_node.fallback=none --set planner_node.samples=10
  planweave up tabletop --set feedback_node.require_approval=true
  planweave up franka --params my_arm.yaml
  planweave up body --set body=canteen        # a body of an installed package
  planweave up tabletop --namespace arm1      # then: planweave run --namespace arm1 "…"

--set sets an option of the system (config/systems.yaml) or, as NODE.PARAMETER=VALUE, any parameter in the node's file
under config/. --params adds a parameter file of your own, with entries keyed /**/NODE.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from planweave.cli.recording import add_record_argument, check_record, recorded
from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.launcher.systems import PAGE

if TYPE_CHECKING:
    from planweave.core.symbolic.world import World

JOINS = False
EXAMPLE_WAIT = 2.0  # seconds to hear of which domain the world is


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("system", help="name of a system in config/systems.yaml, e.g. tabletop")
    parser.add_argument("--scene", help="the same as --set scene=…")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the system, or NODE.PARAMETER, e.g. feedback_node.require_approval=true; repeatable",
    )
    parser.add_argument(
        "--params",
        metavar="FILE",
        help="a parameter file of your own; it takes precedence over the files of the system",
    )
    add_record_argument(parser)
    parser.add_argument(
        "--no-web",
        action="store_true",
        help="leave out the page (its address and port: config/web.yaml, or --set web_node.port=…)",
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="seconds until the nodes must be ready (default: 60)",
    )


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave.cli.run import started
    from planweave.launcher.domains import domain, is_named

    check_record(options.record)
    console = Console(soft_wrap=not sys.stdout.isatty())
    say = partial(console.print, highlight=False, markup=False)
    values, page, named = _values(options), not options.no_web, is_named()
    system = started(options.system, values, console, options.timeout, options.params, page, lasting=True)
    with system as (client, running), recorded(options.record):
        if page:
            say(f"page: {client.parameter(PAGE, 'address')}")
        if domain() and not named:
            say(f"for rviz2 and ros2 in another shell: export ROS_DOMAIN_ID={domain()}")
        example = _example(client.world(EXAMPLE_WAIT))
        say(f'ready. Give it a task: planweave run "{example}"   (Ctrl-C ends)')
        try:
            while True:
                running.revive(say)
                time.sleep(0.1)
        except KeyboardInterrupt:
            say("ending")
    return 0


def _example(world: World | None) -> str:
    """A sentence for the domain of a world, as its notes give one."""
    from planweave.core.symbolic.domain import Domain

    with contextlib.suppress(PlanweaveError):
        if world is not None:
            return Domain.load(world.domain).example or "…"
    return "…"


def _values(options: argparse.Namespace) -> dict[str, str]:
    values = {"scene": options.scene} if options.scene else {}
    for pair in options.set:
        name, sign, value = pair.partition("=")
        if not sign or not name:
            raise ConfigError(f"--set {pair!r}: expected OPTION=VALUE, e.g. --set scene=blocks")
        values[name] = value
    return values

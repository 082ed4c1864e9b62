"""The command `planweave`: one subcommand per file, imported on use."""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

from planweave import __version__
from planweave.core.base.errors import ConfigError, PddlError, PlanweaveError, UnknownNameError
from planweave.launcher.namespace import use as use_namespace
from planweave.launcher.one_system import join

# verb: (module, one line for the list of verbs)
VERBS = {
    "run": ("planweave.cli.run", "execute the task of a sentence, on a running system or on one started for it"),
    "read": ("planweave.cli.read", "show what a sentence is read as; nothing moves"),
    "plan": ("planweave.cli.plan", "plan a PDDL problem; nothing moves"),
    "check": ("planweave.cli.check", "check a plan for a PDDL problem, and say why it fails"),
    "up": ("planweave.cli.up", "start a system and keep it running until Ctrl-C"),
    "status": ("planweave.cli.status", "list the queued, running and ended tasks"),
    "approve": ("planweave.cli.approve", "show the plan that waits for approval, and approve or refuse it"),
    "pause": ("planweave.cli.pause", "pause a task; the arm stops and holds"),
    "resume": ("planweave.cli.resume", "let a paused task go on, from the world as it is now"),
    "answer": ("planweave.cli.answer", "show the question of a task that is not clear, and answer it"),
    "memory": ("planweave.cli.memory", "show the answers that are remembered, and forget some of them"),
    "cancel": ("planweave.cli.cancel", "cancel a task; the arm stops"),
    "rules": ("planweave.cli.rules", "list the rules that always hold, or read one and show what it means"),
    "look": ("planweave.cli.look", "look at a table with a camera or a recording: what is there, with a picture"),
    "calibrate": ("planweave.cli.calibrate", "find where a camera is, from the table that it sees"),
    "doctor": ("planweave.cli.doctor", "check this machine: Python, ROS, rendering, the language model"),
    "bench": ("planweave.cli.bench", "compare planning methods on the same tasks"),
    "export": ("planweave.cli.export", "export a task's tree or plan: BehaviorTree.CPP, py_trees, PDDL, Graphviz"),
    "mcp": ("planweave.cli.mcp", "serve the running system to an agent over the Model Context Protocol"),
    "setup": ("planweave.cli.setup", "install a simulator that has an environment of its own: libero"),
    "show": ("planweave.cli.show", "show a recorded episode of a bake-off: tree, steps, errors, cost"),
    "replay": ("planweave.cli.replay", "run a recorded episode again without a model, up to the first difference"),
    "demo": ("planweave.cli.demo", "run four sentences of increasing difficulty, with pictures and a video"),
}

EXAMPLES = """\
examples:
  planweave run "put the red cube in the left tray"
  planweave run --scene fruit_and_bottles --json "put the fruit on the plate"
  planweave run --goal "in(red_cube, left_tray)" --method classical
  planweave plan domain.pddl problem.pddl
  planweave up tabletop --scene blocks
  planweave doctor
"""

USAGE_ERROR, FAILURE, INTERRUPTED = 2, 1, 130


def parser(verb: str | None = None) -> argparse.ArgumentParser:
    """The whole parser; only the module of ``verb`` is imported for its arguments."""
    top = argparse.ArgumentParser(
        prog="planweave",
        description="Turns sentences into verified robot actions.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"planweave {__version__}")
    verbs = top.add_subparsers(dest="verb", metavar="VERB", required=True)
    for name, (module, line) in VERBS.items():
        details: dict[str, Any] = {}
        loaded = importlib.import_module(module) if name == verb else None
        if loaded is not None:
            details = {"description": loaded.__doc__, "formatter_class": argparse.RawDescriptionHelpFormatter}
        sub = verbs.add_parser(name, help=line, **details)
        if loaded is not None:
            loaded.add_arguments(sub)
            if getattr(loaded, "NEEDS_ROS", True):
                sub.add_argument(
                    "--namespace",
                    metavar="NAME",
                    help="ROS namespace of the system, e.g. arm1 (default: PLANWEAVE_NAMESPACE, or none)",
                )
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb; the exit code: 0 done, 1 not achieved, 2 wrong usage, 3 not confirmed, 4 not clear, 130 stopped."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    verb = next((word for word in arguments if word in VERBS), None)
    options = parser(verb).parse_args(arguments)
    module = importlib.import_module(VERBS[options.verb][0])
    signal.signal(signal.SIGTERM, _terminated)
    try:
        if getattr(module, "NEEDS_ROS", True):
            use_namespace(getattr(options, "namespace", None))
            if getattr(module, "JOINS", True):  # else it starts a system, or looks itself
                join()
            prepare_ros()
        return int(module.main(options))
    except KeyboardInterrupt:
        _report(options, "Interrupted", "interrupted", {"code": "interrupted"})
        return INTERRUPTED
    except PlanweaveError as error:
        place = {"line": error.line, "column": error.column} if isinstance(error, PddlError) else {}
        _report(options, type(error).__name__, f"error: {error}", {"code": error.code, **place})
        return USAGE_ERROR if isinstance(error, (ConfigError, UnknownNameError)) else FAILURE


def _report(options: argparse.Namespace, kind: str, message: str, place: dict[str, Any]) -> None:
    """One line on standard error; with --json an object on standard output."""
    if getattr(options, "json", False):
        print(json.dumps({"success": False, "error": kind, "message": message.removeprefix("error: "), **place}))
    else:
        print(message, file=sys.stderr)


def prepare_ros() -> None:
    """Set the environment up for ROS before it is imported; raises ConfigError where ROS is missing."""
    from planweave.launcher import environment

    environment.ensure()
    try:
        importlib.import_module("planweave_ros.client")
        importlib.import_module("planweave_ros.interface_check").require_current()
    except ImportError as error:
        raise ConfigError(
            f"ROS 2 or Planweave's interfaces cannot be imported ({error}). In a clone run `make setup` and use "
            ".venv/bin/planweave; in a ROS 2 workspace build with `colcon build` and source install/setup.bash; "
            "elsewhere install the wheels of `make wheel`"
        ) from None


def _terminated(*_: object) -> NoReturn:
    """End on SIGTERM as on Ctrl-C, so that nodes are stopped and the task is cancelled."""
    raise KeyboardInterrupt


if __name__ == "__main__":
    raise SystemExit(main())

"""Edits of the plan that waits for approval, from the command line or in an editor."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planweave.core.base.errors import ConfigError, GoalError, PlanweaveError, SystemDownError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow import plan_editing as editing
from planweave.core.workflow.task_status import TaskStatus

if TYPE_CHECKING:
    from planweave_ros.client import Client

_HEAD = """\
# The plan that waits. One step a line, done in this order: move, delete and add lines; what is after # is not read.
# A step is an action, grasp(red_cube), or its words. Nothing moves: the edited plan is checked, and must be approved.
"""


def add_edit_arguments(parser: argparse.ArgumentParser, word: argparse._MutuallyExclusiveGroup) -> None:
    """The arguments of edits; they exclude each other, and an answer."""
    word.add_argument("--edit", action="store_true", help="open the plan in $EDITOR; what is saved is checked")
    word.add_argument("--drop", type=int, metavar="N", help="leave out step N")
    word.add_argument("--move", type=int, nargs=2, metavar=("N", "M"), help="make step N the step M")
    word.add_argument("--add", metavar="STEP", help='add a step: "place_in(red_cube, left_tray)", or its words')
    parser.add_argument("--at", type=int, metavar="N", help="with --add: its number (default: after the last)")


def edited_plan(options: argparse.Namespace, client: Client, status: TaskStatus) -> tuple[Action, ...] | None:
    """The plan as the options want it; None where they want no edit. Raises GoalError or ParseError."""
    plan = status.plan
    if options.drop is not None:
        return editing.drop(plan, options.drop)
    if options.move is not None:
        return editing.move(plan, *options.move)
    if options.add is None and not options.edit:
        return None
    world = client.world()
    if world is None:
        raise SystemDownError("no body reports a world, so no step can be read")
    domain = Domain.load(world.domain)
    if options.edit:
        return read_plan(domain, world, _in_editor(written_plan(status)))
    number = options.at if options.at is not None else len(plan) + 1
    return editing.insert(plan, editing.read_step(domain, world, plan, options.add, number), number)


def written_plan(status: TaskStatus) -> str:
    words = status.plan_words or ("",) * len(status.plan)
    steps = [f"{action}  # {said}" if said else str(action) for action, said in zip(status.plan, words)]
    return _HEAD + "\n".join(steps) + "\n"


def read_plan(domain: Domain, world: World, text: str) -> tuple[Action, ...]:
    """The plan of an edited text; raises GoalError or ParseError that names the line."""
    plan: list[Action] = []
    for number, line in enumerate(text.splitlines(), 1):
        step = line.partition("#")[0].strip()
        if not step:
            continue
        try:
            plan.append(editing.read_step(domain, world, plan, step, len(plan) + 1))
        except PlanweaveError as error:
            raise GoalError(f"line {number}: {error}") from None
    if not plan:
        raise GoalError("no step is left; refuse the plan to do nothing: planweave approve --no")
    return tuple(plan)


def _in_editor(text: str) -> str:
    """The text as a person has left it in the editor."""
    command: Sequence[str] = shlex.split(os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi")
    with tempfile.TemporaryDirectory(prefix="planweave-plan-") as folder:
        path = Path(folder) / "plan.txt"
        path.write_text(text)
        try:
            code = subprocess.run([*command, str(path)], check=False).returncode
        except OSError as error:
            raise ConfigError(f"the editor {command[0]} does not start ({error}); set EDITOR") from None
        if code:
            raise GoalError(f"the editor ended with code {code}; the plan is as it was")
        return path.read_text(encoding="utf-8-sig")

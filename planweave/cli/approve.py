"""Show the plan that waits for approval with its motions, and approve, refuse or edit it. Nothing moves before; a
refusal cancels the task. An edited plan is checked at once, refused with the cause where it does not pass, and must be
approved itself.

examples:
  planweave approve                 # shows the plan and asks; without a terminal give --yes or --no
  planweave approve --yes
  planweave approve task-3 --no --comment "the glass is in the way"
  planweave approve --drop 2        # or --move 3 1, --add "go home" --at 2, --edit (in $EDITOR)
  planweave approve --json          # with motions and its hash; answer with: planweave approve --yes --hash HASH
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planweave.cli.answer import Prompt
from planweave.cli.results import preview_json, preview_lines, status_json
from planweave.core.base.errors import ConfigError, GoalError, PlanweaveError, SystemDownError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow import plan_editing as editing
from planweave.core.workflow.step_motion import PlanPreview
from planweave.core.workflow.task_status import TaskState, TaskStatus

if TYPE_CHECKING:
    from rich.console import Console

    from planweave_ros.client import Client

_PREVIEW = 10.0  # s to wait for the motions of a plan, which come a moment after the plan


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", default="", help="the task (default: the one that waits)")
    word = parser.add_mutually_exclusive_group()
    word.add_argument("--yes", action="store_true", help="approve the plan; without a terminal this or --no is needed")
    word.add_argument("--no", action="store_true", help="refuse it; the task is cancelled")
    add_edit_arguments(parser, word)
    parser.add_argument(
        "--hash", default="", help="hash of the plan that was read; any other is refused (default: the one shown)"
    )
    parser.add_argument("--comment", default="", help="comment, stored in the task's record")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave_ros.client import Client

    with Client() as client:
        status = waiting_task(client, options.id)
        plan = edited_plan(options, client, status)
        if plan is not None:
            said = client.edit_plan(status.task_id, options.hash or status.plan_hash, plan)
            print(said, file=sys.stderr if options.json else sys.stdout)
            status = waiting_task(client, status.task_id)
        decided = options.yes or options.no
        preview = client.preview(status.task_id, status.plan_hash, _PREVIEW) if not decided else None
        if not options.json:
            show(Console(), status, preview)
        if not decided and not options.json and sys.stdin.isatty():
            options.yes = input("approve? [y/N] ").strip().lower() in ("y", "yes")
            decided = True
        if not decided:
            if options.json:
                told = status_json(status)
                kept = ("task_id", "understood", "goal", "plan", "plan_words", "plan_check")
                named = {"hash": status.plan_hash, "changes": told["plan_changes"], "message": status.message}
                waiting = {"success": False, **{key: told[key] for key in kept}, **named}
                print(json.dumps({**waiting, "preview": preview_json(preview)}))
            else:
                print("not answered: there is no terminal to ask on; give --yes or --no", file=sys.stderr)
            return 1
        message = client.approve(status.task_id, options.hash or status.plan_hash, options.yes, options.comment)
    print(json.dumps({"success": True, "message": message}) if options.json else message)
    return 0


def waiting_task(client: Client, task_id: str = "") -> TaskStatus:
    """The task that waits for approval; raises GoalError where there is none."""
    waiting = [t for t in client.tasks() if t.state is TaskState.AWAITING_APPROVAL and task_id in ("", t.task_id)]
    if not waiting:
        of = f" of {task_id}" if task_id else ""
        raise GoalError(f"no plan{of} waits for approval; planweave status says what runs")
    return waiting[-1]


def show(console: Console, status: TaskStatus, preview: PlanPreview | None = None) -> None:
    """Print a plan for approval: goal, steps, changes, validation, and its motions where they are known."""
    from planweave.cli.progress import goal_text, plan_lines

    lines = [f"{status.task_id}: {status.sentence or ' and '.join(map(str, status.goal))}"]
    if status.understood:
        lines.append(f"  I understood: {status.understood}")
    lines.append(f"  goal: {goal_text(status)}")
    lines += [f"  {line}" for line in plan_lines(status)]
    lines += [f"  note: {line}" for line in status.plan_changes]
    lines += [f"  {line}" for line in preview_lines(preview)]
    lines += [f"  validation: {status.plan_check}", f"  plan {status.plan_hash}"]
    for line in lines:
        console.print(line, highlight=False, markup=False)


class ApprovalPrompt(Prompt):
    """Requests approval; without a terminal it prints how to answer."""

    def _waits(self, status: TaskStatus) -> str:
        return status.plan_hash if status.state is TaskState.AWAITING_APPROVAL else ""

    def _take(self, status: TaskStatus, line: str) -> None:
        approve = line.strip().lower() in ("y", "yes")
        with contextlib.suppress(PlanweaveError):  # it may have been answered elsewhere, or its time is up
            self._console.print(self._client.approve(status.task_id, status.plan_hash, approve), markup=False)
        self._close()

    def _tell_motions(self, status: TaskStatus) -> None:
        """Print the motions of the plan once they are known; the question does not wait for them."""
        preview = self._client.preview(status.task_id, status.plan_hash, _PREVIEW)
        if preview is not None and status.plan_hash == self._asked:
            for line in preview_lines(preview):
                self._console.print(f"  {line}", highlight=False, markup=False)

    def _ask(self, status: TaskStatus) -> None:
        show(self._console, status)
        threading.Thread(target=self._tell_motions, args=(status,), name="motions", daemon=True).start()
        if self._interactive:
            self._open = True
            self._console.print("approve? [y/N] ", end="", markup=False)
        else:
            self._console.print(f"answer with: planweave approve {status.task_id} --yes (or --no)", markup=False)
            self._progress.resume()


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

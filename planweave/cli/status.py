"""Tasks of the running system, the rules in force, and whether detections come; or one task with its record.

examples:
  planweave status                 # the newest 20; --all for all available ones
  planweave status task-3 --json
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planweave.cli.answer import question_lines
from planweave.core.workflow.task_status import TaskStatus

if TYPE_CHECKING:
    from rich.table import Table

WIDE = 2500  # columns of what is no terminal
MAX_LITERALS = 6
NEWEST = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("id", nargs="?", help="one task, with all details")
    parser.add_argument("--all", action="store_true", help=f"all available tasks, not only the newest {NEWEST} only")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave.cli.progress import done_lines, no_detections_text, summary
    from planweave.cli.results import status_json
    from planweave_ros.client import Client

    with Client() as client:
        if options.id:
            status, record = client.task(options.id)
            if options.json:
                print(json.dumps({**status_json(status), "record": record}, indent=2))
            else:
                console = Console(soft_wrap=True)
                console.print(
                    f"{status.task_id}: {status.sentence or '(goal given)'}  [{status.method}]",
                    highlight=False,
                    markup=False,
                )
                summary(console, status)
                for line in done_lines(record):
                    console.print(f"  {line}", highlight=False, markup=False)
            return 0
        tasks, total = client.tasks_and_total(0 if options.all else NEWEST)
        nodes, world = client.nodes(wanted=_started()), client.world(3.0)
        rules = client.rules(world.domain if world else "")
    if options.json:
        sight = {"silent": world.silent, "silent_since": world.heard if world.silent else None} if world else None
        print(
            json.dumps(
                {
                    "nodes": nodes,
                    "sight": sight,
                    "rules": rules,
                    "tasks_kept": total,
                    "tasks": [status_json(task) for task in tasks],
                },
                indent=2,
            )
        )
        return 0
    console = Console(width=None if sys.stdout.isatty() else WIDE)  # a pipe has no width: nothing is broken or cut
    console.print(f"nodes: {', '.join(nodes)}", highlight=False)
    if world is None:
        console.print("[yellow]no body reports a world")
    elif world.silent:
        console.print(no_detections_text(world.heard), style="bold red", highlight=False)
    for rule in rules:
        console.print(f"rule in force: {rule}", highlight=False, markup=False)
    if total > len(tasks):
        console.print(f"the newest {len(tasks)} of {total} tasks; --all shows all", highlight=False)
    console.print(_table(tasks) if tasks else "no tasks yet")
    return 0


def _started() -> set[str]:
    """Names of the nodes with which the system of this namespace was started, as far as that is known."""
    from planweave.launcher.one_system import runs_here
    from planweave.launcher.systems import load_system, system_names

    running = runs_here()
    if running is None or running.name not in system_names():
        return set()
    return {node.name for node in load_system(running.name).nodes}


def _table(tasks: Sequence[TaskStatus]) -> Table:
    """One row per task. Ids are never truncated, so that they can be copied; sentences wrap."""
    from rich.table import Table
    from rich.text import Text

    from planweave.cli.progress import WORD_STYLES

    table = Table(box=None)
    for name, whole in (
        ("task", True),
        ("state", True),
        ("sentence", False),
        ("method", False),
        ("steps", True),
        ("tokens", True),
        ("seconds", True),
    ):
        table.add_column(
            name,
            no_wrap=whole,
            overflow="ignore" if whole else "fold",
            justify="right" if name in ("steps", "tokens", "seconds") else "left",
        )
    for task in tasks:
        style = WORD_STYLES[task.state].removeprefix("bold " if task.state.ended else "")
        table.add_row(
            task.task_id,
            Text(task.state.word, style),
            Text(task.sentence or " and ".join(map(str, task.goal[:MAX_LITERALS]))),
            task.method,
            str(task.steps),
            str(task.usage.total_tokens),
            f"{task.elapsed:.1f}",
        )
        if not task.state.ended:
            asked = question_lines(task.question) if task.question else []
            for line in [task.phase, *asked, *(["answer with: planweave answer NUMBER"] if asked else [])]:
                table.add_row("", "", Text(line, "dim"))
    return table

"""Show what people have said that is remembered, or forget some of it: answers, names, why plans were refused.

The same question, of the same sentence about things that look the same, is not asked again. Without FILE the running
system is asked. FILE is the parameter tasks_file of feedback_node, or the tasks.sqlite beside the logs of `planweave
up`, of a system that has ended.

examples:
  planweave memory
  planweave memory --forget 3 7
  planweave memory ~/planweave/tasks.sqlite --forget-all --json
"""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from planweave.core.base.errors import ConfigError
from planweave.core.workflow.question import Remembered

NEEDS_ROS = False  # only for the running system


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, nargs="?", metavar="FILE", help="SQLite file of the tasks (default: the running system)"
    )
    parser.add_argument("--forget", type=int, nargs="+", default=[], metavar="N", help="forget these entries")
    parser.add_argument("--forget-all", action="store_true", help="forget all entries")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; raises ConfigError for a file, UnknownNameError for an entry that is not there."""
    left, forgotten = _in_file(options) if options.file else _of_the_system(options)
    if options.json:
        print(json.dumps({"entries": [asdict(entry) for entry in left], "forgotten": forgotten}, indent=2))
        return 0
    for entry in left:
        print(f"{entry.id}. {entry.text}")
    print(f"{len(left)} remembered" + (f", {len(forgotten)} forgotten" if forgotten else ""))
    return 0


def _in_file(options: argparse.Namespace) -> tuple[list[Remembered], list[int]]:
    from planweave.tasks.memory import Memory
    from planweave.tasks.task_store import TaskStore

    if not options.file.is_file():
        raise ConfigError(f"there is no file {options.file}: name the tasks_file of feedback_node")
    store = TaskStore(options.file)
    try:
        memory = Memory(store)
        every = [entry.id for entry in memory.entries()]
        forgotten = memory.forget_known(every if options.forget_all else options.forget)
        return memory.entries(), forgotten
    finally:
        store.close()


def _of_the_system(options: argparse.Namespace) -> tuple[list[Remembered], list[int]]:
    from planweave.cli.main import prepare_ros
    from planweave.launcher.one_system import join

    join()
    prepare_ros()
    from planweave_ros.client import Client

    with Client() as client:
        return client.remembered(options.forget, options.forget_all)

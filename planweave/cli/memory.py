"""Show the answers of people that a tasks' file remembers, or forget some of them.

The same question, of the same sentence about things that look the same, is not asked again. FILE is the parameter
tasks_file of feedback_node, or the tasks.sqlite beside the logs of `planweave up`; the system that uses it must have
ended.

examples:
  planweave memory ~/planweave/tasks.sqlite
  planweave memory ~/planweave/tasks.sqlite --forget 3 7
  planweave memory ~/planweave/tasks.sqlite --forget-all --json
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict
from pathlib import Path

from planweave.core.base.errors import ConfigError

NEEDS_ROS = False


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("file", type=Path, metavar="FILE", help="SQLite file of the tasks")
    parser.add_argument("--forget", type=int, nargs="+", default=[], metavar="N", help="forget these entries")
    parser.add_argument("--forget-all", action="store_true", help="forget all entries")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    """Run the verb; raises ConfigError for a file or an entry that is not there."""
    from planweave.tasks.memory import Memory
    from planweave.tasks.task_store import TaskStore

    if not options.file.is_file():
        raise ConfigError(f"there is no file {options.file}: name the tasks_file of feedback_node")
    store = TaskStore(options.file)
    try:
        memory = Memory(store)
        there = {entry.id for entry in memory.entries()}
        if unknown := sorted(set(options.forget) - there):
            raise ConfigError(
                f"there is no entry {unknown[0]}; there are: {', '.join(map(str, sorted(there))) or 'none'}"
            )
        forgotten = memory.forget(there if options.forget_all else options.forget)
        left = memory.entries()
    finally:
        store.close()
    if options.json:
        print(json.dumps({"entries": [asdict(entry) for entry in left], "forgotten": forgotten}, indent=2))
        return 0
    for entry in left:
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(entry.at))
        print(
            f"{entry.id}. {entry.sentence!r}: {entry.question} -> {entry.choice} ({entry.person or 'unnamed'}, {when})"
        )
    print(f"{len(left)} remembered" + (f", {len(forgotten)} forgotten" if forgotten else ""))
    return 0

"""Tasks of the running system: queued, running and ended; or one task with its record.

examples:
  planweave status
  planweave status task-3 --json
"""

from __future__ import annotations

import argparse
import json

from planweave.task import TaskState

STYLES = {
    TaskState.SUCCEEDED: "green", TaskState.FAILED: "red", TaskState.CANCELED: "yellow", TaskState.RUNNING: "bold cyan",
    TaskState.AWAITING_APPROVAL: "bold magenta",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The verb's arguments."""
    parser.add_argument("id", nargs="?", help="one task, with all that is known of it")
    parser.add_argument("--json", action="store_true", help="nothing but one JSON object on standard output")


def main(options: argparse.Namespace) -> int:
    """Run the verb."""
    from rich.console import Console
    from rich.table import Table

    from console.client import Client
    from console.progress import summary
    from console.results import status_json

    with Client() as client:
        if options.id:
            status, record = client.task(options.id)
            if options.json:
                print(json.dumps({**status_json(status), "record": record}, indent=2))
            else:
                summary(Console(), status, status.state is TaskState.SUCCEEDED, status.message or status.phase)
            return 0
        tasks, nodes = client.tasks(), client.nodes()
    if options.json:
        print(json.dumps({"nodes": nodes, "tasks": [status_json(task) for task in tasks]}, indent=2))
        return 0
    console = Console()
    console.print(f"nodes: {', '.join(nodes)}", highlight=False)
    table = Table("task", "state", "method", "sentence", "phase", "steps", "tokens", "seconds", box=None)
    for task in tasks:
        table.add_row(
            task.task_id, f"[{STYLES.get(task.state, 'dim')}]{task.state.name.lower()}", task.method,
            task.sentence or " and ".join(map(str, task.goal)), task.phase, str(task.steps),
            str(task.usage.total_tokens), f"{task.elapsed:.1f}",
        )
    console.print(table if tasks else "no tasks yet")
    return 0

"""What a person sees while a task runs: phase, goal, action tree, current step, tokens."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from console.tree import Row, children_of
from planweave.action_tree import Status
from planweave.budget import Usage
from planweave.task import TaskState, TaskStatus

MARKS = {
    Status.UNTRIED: ("·", "dim"), Status.CURRENT: ("▶", "bold yellow"), Status.DONE: ("✓", "green"),
    Status.FAILED: ("✗", "bold red"), Status.INVALID: ("✗", "dim red"), Status.UNDONE: ("↶", "magenta"),
}
MAX_LINES = 24


def usage_text(usage: Usage) -> str:
    """Language model use in one line."""
    if not usage.requests:
        return "no model asked"
    cost = "price unknown" if usage.cost is None else f"${usage.cost:.4f}" if usage.cost else "no cost"
    cached = f" ({usage.cached_tokens} cached)" if usage.cached_tokens else ""
    return (f"{usage.requests} requests to {usage.model or 'a model'} ({usage.endpoint}): {usage.prompt_tokens} tokens "
            f"read{cached}, {usage.completion_tokens} written, {usage.model_seconds:.1f} s, {cost}")


def tree_view(rows: Sequence[Row], limit: int = MAX_LINES) -> Tree | None:
    """The action tree for a terminal, at most ``limit`` nodes: what was tried first, then what is most sampled."""
    by_parent = children_of(rows)
    if not by_parent.get(0):
        return None
    touched = {row.id for row in rows if row.status not in (Status.UNTRIED, Status.INVALID)}
    order = sorted(rows, key=lambda row: (row.id not in touched, -row.samples, row.time_step, row.id))
    shown: set[int] = {0}
    by_id = {row.id: row for row in rows}
    for row in order:
        path = []
        while row.id not in shown and row.parent >= 0:
            path.append(row.id)
            row = by_id[row.parent]
        if len(shown) + len(path) <= limit + 1:
            shown.update(path)
    view = Tree(Text(f"{by_id[0].samples or sum(r.samples for r in by_parent[0])} plans", "dim"), guide_style="dim")
    _grow(view, 0, by_parent, shown)
    return view


def _grow(branch: Tree, parent: int, by_parent: dict[int, list[Row]], shown: set[int]) -> None:
    children = by_parent.get(parent, [])
    for row in children:
        if row.id in shown:
            mark, style = MARKS[row.status]
            _grow(branch.add(Text(f"{mark} {row.action}  ×{row.samples}", style)), row.id, by_parent, shown)
    left_out = sum(row.id not in shown for row in children)
    if left_out:
        branch.add(Text(f"… {left_out} more", "dim"))


def goal_text(status: TaskStatus) -> str:
    """The goal and where it came from."""
    if not status.goal:
        return "not known yet"
    return f"{' and '.join(map(str, status.goal))}  [{status.goal_source}]"


class Progress:
    """Shows statuses and trees as they come; a live picture on a terminal, else one line per change."""

    def __init__(self, console: Console, sentence: str):
        self._console, self._sentence = console, sentence
        self._status: TaskStatus | None = None
        self._rows: tuple[Row, ...] = ()
        self._said: set[str] = set()
        self._last = ""
        self._lock = threading.Lock()
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live:
            self._live.stop()

    def pause(self) -> None:
        """Leave the terminal to somebody else."""
        if self._live:
            self._live.stop()

    def resume(self) -> None:
        """Go on after a pause."""
        if self._live and not self._live.is_started:
            self._live.start()

    def status(self, status: TaskStatus) -> None:
        """Show a new status."""
        with self._lock:
            self._status = status
            if self._live:
                self._live.update(self._view())
            else:
                self._lines(status)

    def tree(self, task_id: str, rows: tuple[Row, ...]) -> None:
        """Show a new tree, where it belongs to this task."""
        with self._lock:
            if self._status is None or task_id in ("", self._status.task_id):
                self._rows = rows
                if self._live and self._status:
                    self._live.update(self._view())

    def _lines(self, status: TaskStatus) -> None:
        goal = f"goal: {goal_text(status)}" if status.goal else ""
        step = f"step {status.steps}: {status.action}" if status.action else ""
        for line in (goal, status.message):
            if line and line not in self._said:
                self._said.add(line)
                self._console.print(f"  {line}", highlight=False, markup=False)
        # What the arm is doing within an action passes too fast for lines.
        phase = status.phase.partition(":")[0].partition(" (")[0]
        now = phase + (f" · {step}" if step else "")
        if now != self._last:
            self._last = now
            self._console.print(f"  {status.elapsed:6.1f} s  {now}", highlight=False, markup=False)

    def _view(self) -> Any:
        status = self._status
        assert status is not None
        table = Table.grid(padding=(0, 2))
        table.add_column(style="bold cyan", no_wrap=True)
        table.add_column(overflow="fold")
        rows = [
            ("task", f"{self._sentence or '(goal given)'}   [{status.method}]"),
            ("phase", f"{status.phase}   {status.elapsed:.0f} s"),
            ("goal", goal_text(status)),
            ("step", f"{status.steps}: {status.action}" if status.action else ""),
            ("corrected", f"{status.corrections} times" if status.corrections else ""),
            ("model", usage_text(status.usage)),
            ("note", status.message),
        ]
        for name, value in rows:
            if value:
                table.add_row(name, Text(value))
        view = tree_view(self._rows)
        return Group(table, view) if view else table


def summary(console: Console, status: TaskStatus, success: bool, message: str) -> None:
    """The end of a task in a few lines."""
    word, style = ("done", "bold green") if success else (
        ("cancelled", "bold yellow") if status.state is TaskState.CANCELED else ("failed", "bold red"))
    line = Text()
    line.append(f"{word}", style)
    line.append(f"  {message}")
    console.print(line)
    if status.goal:
        holds = "holds, as observed" if success else (
            f"does not hold: {', '.join(map(str, status.unmet))}" if status.unmet else "not checked")
        console.print(Text(f"  goal   {goal_text(status)}: {holds}"))
    console.print(Text(
        f"  steps  {status.executed} of {status.steps} actions succeeded, {status.corrections} corrections"
        + (", the classical planner took over" if status.fallback else "") + f", {status.elapsed:.1f} s"))
    console.print(Text(f"  model  {usage_text(status.usage)}"))

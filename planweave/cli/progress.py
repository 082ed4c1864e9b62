"""Console display of a running task: phase, goal, action tree, current step, tokens."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from planweave.core.symbolic.world import Literal
from planweave.core.trees.action_tree import Status, TreeRow, children_of
from planweave.core.workflow.task_status import STATE_WORDS, STEP_MARKS, TaskState, TaskStatus, states_text, usage_text

STYLES = {
    Status.UNTRIED: "dim",
    Status.CURRENT: "bold yellow",
    Status.DONE: "green",
    Status.FAILED: "bold red",
    Status.INVALID: "dim red",
    Status.UNDONE: "magenta",
}
MARKS = {status: (mark, STYLES[status]) for status, mark in STEP_MARKS.items()}
WORD_STYLES = {
    TaskState.SUCCEEDED: "bold green",
    TaskState.FAILED: "bold red",
    TaskState.CANCELED: "bold yellow",
    TaskState.ANSWERED: "bold cyan",
    TaskState.PLANNED: "bold cyan",
    TaskState.AWAITING_APPROVAL: "bold magenta",
    TaskState.AWAITING_ANSWER: "bold magenta",
    TaskState.PAUSED: "bold yellow",
    TaskState.NOT_CONFIRMED: "bold yellow",
    TaskState.RUNNING: "bold cyan",
    TaskState.QUEUED: "dim",
}
WORDS = {state: (word, WORD_STYLES[state]) for state, word in STATE_WORDS.items()}
MAX_LINES = 24
MAX_LITERALS = 6
REPEATED = 20  # characters of a message that is not said again as a part of the next


def tree_view(rows: Sequence[TreeRow], limit: int = MAX_LINES) -> Tree | None:
    """The action tree for a terminal, at most ``limit`` nodes: tried ones first, then the most sampled."""
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


def _grow(branch: Tree, parent: int, by_parent: dict[int, list[TreeRow]], shown: set[int]) -> None:
    children = by_parent.get(parent, [])
    for row in children:
        if row.id in shown:
            mark, style = MARKS[row.status]
            _grow(branch.add(Text(f"{mark} {row.action}  ×{row.samples}", style)), row.id, by_parent, shown)
    left_out = sum(row.id not in shown for row in children)
    if left_out:
        branch.add(Text(f"… {left_out} more", "dim"))


def goal_text(status: TaskStatus) -> str:
    if not status.goal:
        return "not known yet"
    return f"{_some(status.goal)}  [{status.goal_source}]"


def _some(literals: Sequence[Literal]) -> str:
    left_out = len(literals) - MAX_LITERALS
    return " and ".join(map(str, literals[:MAX_LITERALS])) + (f" and {left_out} more" if left_out > 0 else "")


def no_detections_text(heard: float) -> str:
    """Message that detections have stopped, and for how long.

    heard: time of the last ones, s of system time.
    """
    since = max(0.0, time.time() - heard)
    return f"no detections for {since:.0f} s (camera, perception_node), so the world state may be outdated"


class Progress:
    """Displays statuses and trees as they arrive: live on a terminal, else one line per change."""

    def __init__(self, console: Console, sentence: str):
        self._console, self._sentence = console, sentence
        self._status: TaskStatus | None = None
        self._rows: tuple[TreeRow, ...] = ()
        self._said: set[str] = set()
        self._last = ""
        self._heard: float | None = None  # time of the last detections (system time), where they have stopped
        self._lock = threading.Lock()
        self._live = Live(console=console, refresh_per_second=8, transient=True) if console.is_terminal else None

    def __enter__(self) -> Progress:
        if self._live:
            self._live.start()
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        if self._live:
            self._live.transient = kind is None  # an interrupt leaves what was last known on the screen
            self._live.stop()

    def pause(self) -> None:
        if self._live:
            self._live.stop()

    def resume(self) -> None:
        if self._live and not self._live.is_started:
            self._live.start()

    def status(self, status: TaskStatus) -> None:
        with self._lock:
            self._status = status
            self._say(f"I understood: {status.understood}" if status.understood else "")
            if self._live:
                self._live.update(self._view())
            else:
                self._lines(status)

    def sight(self, silent: bool, heard: float) -> None:
        """Display whether the body gets no detections. heard: time of the last ones, s of system time."""
        with self._lock:
            was_silent, self._heard = self._heard is not None, heard if silent else None
            if self._live and self._status:
                self._live.update(self._view())
            elif silent != was_silent:
                text = no_detections_text(heard) if silent else "detections come again"
                self._console.print(f"  {text}", highlight=False, markup=False)

    def tree(self, task_id: str, rows: tuple[TreeRow, ...]) -> None:
        """Display a new tree, if it belongs to this task."""
        with self._lock:
            if self._status is None or task_id in ("", self._status.task_id):
                self._rows = rows
                if self._live and self._status:
                    self._live.update(self._view())

    def _say(self, line: str) -> None:
        """Print a permanent line, once; above the live display where there is one."""
        if line and line not in self._said:
            known = [said for said in self._said if len(said) > REPEATED and said in line]
            self._said.add(line)
            for said in known:
                line = line.replace(said, "as above")
            self._console.print(f"  {line}", highlight=False, markup=False)

    def _lines(self, status: TaskStatus) -> None:
        step = f"step {status.steps}: {status.action}" if status.action else ""
        self._say(f"goal: {goal_text(status)}" if status.goal else "")
        if not status.state.ended:  # the last message is the summary's
            self._say(status.message)
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
            ("sight", no_detections_text(self._heard) if self._heard is not None else ""),
            ("note", status.message),
        ]
        for name, value in rows:
            if value:
                table.add_row(name, Text(value))
        view = tree_view(self._rows)
        return Group(table, view) if view else table


def summary(console: Console, status: TaskStatus, message: str = "") -> None:
    """The result of a task in a few lines; message: replaces the task's last message."""
    word, style = WORDS.get(status.state, (status.state.word.replace("_", " "), "bold yellow"))
    if not status.task_id:  # it was not accepted
        word, style = WORDS[TaskState.FAILED]
    line = Text()
    line.append(word, style)
    line.append(f"  {message or status.answer or status.message or status.phase}")
    console.print(line)
    for detail in details(status):
        console.print(Text(f"  {detail}"))
    if status.code:
        console.print(Text(f"  code   {status.code}"))


def details(status: TaskStatus) -> list[str]:
    """Goal, plan, steps and model usage of a task, one line each; unknown values are omitted."""
    lines = []
    if status.understood:
        lines.append(f"understood  {status.understood}")
    if status.goal:
        lines.append(f"goal   {goal_text(status)}: {_holds(status)}")
    if status.before:
        lines.append(f"before {status.reached} of {len(status.before)} states reached: {states_text(status.before)}")
    if status.keep:
        lines.append(f"kept   {' and '.join(map(str, status.keep))}")
    if status.plan:
        name = "the classical planner, which took over" if status.fallback else status.method
        lines.append(f"plan   of {len(status.plan)} steps, from {name}; validation: {status.plan_check}")
        lines += [f"  {step}" for step in plan_lines(status)]
    if status.approved_by:
        lines.append(f"approved by {status.approved_by} (as was said; not verified)")
    if status.steps and not status.dry_run:
        lines.append(
            f"steps  {status.executed} of {status.steps} actions succeeded, {status.corrections} corrections"
            + (", the classical planner took over" if status.fallback else "")
        )
    lines.append(f"time   {status.elapsed:.1f} s")
    lines.append(f"model  {usage_text(status.usage)}")
    return lines


def done_lines(record: Mapping[str, Any]) -> list[str]:
    """Executed actions, one line each, from the record of a task, with the reasons of failures."""
    lines = []
    for event in record.get("events", []):
        if event.get("event") == "interrupted":
            lines.append(f"… {event.get('message', 'interrupted')}")
        if event.get("event") in ("paused", "resumed", "resume_refused", "after_pause"):
            lines.append(f"… {event.get('message', event['event'])}")
        if event.get("event") == "action":
            good = event.get("code") == "SUCCESS"
            why = {"fallback": "  (classical planner)", "undo": "  (taken back)"}.get(event.get("why", ""), "")
            pushed = f"; pushed aside: {', '.join(event['pushed'])}" if event.get("pushed") else ""
            lines.append(
                f"{'✓' if good else '✗'} {event.get('action')}{why}"
                + ("" if good else f": {event.get('message', '')}")
                + pushed
            )
    return lines


def plan_lines(status: TaskStatus) -> list[str]:
    """The steps of a plan, numbered, in words and as actions of the domain."""
    words = status.plan_words or ("",) * len(status.plan)
    return [
        f"{number}. {said}  [{action}]" if said else f"{number}. {action}"
        for number, (said, action) in enumerate(zip(words, status.plan), 1)
    ]


def _holds(status: TaskStatus) -> str:
    if status.state is TaskState.SUCCEEDED:
        return "holds, as observed"
    if status.state is TaskState.PLANNED:
        return "not checked, nothing was moved" if status.plan else "holds already"
    if not status.state.ended:
        return "not checked yet"
    if status.state is TaskState.NOT_CONFIRMED:
        return STATE_WORDS[status.state]
    return f"does not hold, as last seen: {_some(status.unmet)}" if status.unmet else "holds, as last seen"

"""Tasks and their records in one SQLite file, so that a process that is killed finds them again."""

from __future__ import annotations

import contextlib
import json
import logging
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.reading import as_texts, from_texts, states
from planweave.core.workflow.task_status import TaskGoal, TaskState, TaskStatus

VERSION = 2
_BUSY = 2.0  # s for which another process may hold the file
log = logging.getLogger(__name__)
_TABLES = """
    CREATE TABLE tasks (number INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, request TEXT NOT NULL, tree TEXT NOT NULL,
        goal TEXT NOT NULL, status TEXT NOT NULL);
    CREATE TABLE events (task TEXT NOT NULL REFERENCES tasks(id), line TEXT NOT NULL);
    CREATE INDEX events_of_task ON events(task);
"""
_ANSWERS = "CREATE TABLE answers (number INTEGER PRIMARY KEY, line TEXT NOT NULL);"
_LITERALS, _ACTIONS, _TEXTS = ("goal", "unmet", "keep"), ("plan",), ("plan_words", "plan_changes", "pushed")


class StorageError(PlanweaveError):
    """A task or its record cannot be kept; the message names the file and what to do."""

    code = "task_storage"


@dataclass(frozen=True)
class Kept:
    """A task as it was accepted, its last kept status, and the lines of its record."""

    status: TaskStatus
    request_id: str
    tree: str
    goal: tuple[Literal, ...]
    lines: tuple[str, ...]

    @property
    def asked(self) -> TaskGoal:
        """Goal that its sender asked for, whatever became of it."""
        first = json.loads(self.lines[0]) if self.lines else {}
        method = self.tree or first.get("method", self.status.method)
        wanted = {**from_texts(first), "goal": self.goal}
        return TaskGoal(self.status.sentence, method, dry_run=self.status.dry_run, **wanted)

    def events(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


class TaskStore:
    """Keeps tasks; every call is on the disk when it returns. One process at a time. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path, self._lock = path, threading.RLock()
        new = not path.exists()
        try:
            self._base = sqlite3.connect(path, timeout=_BUSY, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA locking_mode=EXCLUSIVE")
            version = self._base.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise ConfigError(
                    f"{path} was written by a newer Planweave (the file has version {version}, this one reads "
                    f"{VERSION}); use that one, or name another file; nothing in it was changed"
                )
            if not version:
                self._make(new)
            elif version < VERSION:
                self._base.executescript(f"BEGIN; {_ANSWERS} PRAGMA user_version={VERSION}; COMMIT;")
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")
            self._base.execute("BEGIN IMMEDIATE")
            self._base.execute("COMMIT")
        except sqlite3.OperationalError as error:
            self.close()
            why = f"{error}; make room, or name another file" if "full" in str(error) else f"{error}; name another file"
            if "locked" in str(error):
                why = "another feedback_node uses it; name another file, or end that one"
            raise ConfigError(f"tasks cannot be kept in {path}: {why}") from None
        except sqlite3.DatabaseError as error:
            self.close()
            raise ConfigError(
                f"{path} is not a file of tasks ({error}); name another one; it was not changed"
            ) from None
        except ConfigError:
            self.close()
            raise

    def _make(self, new: bool) -> None:
        if not new and self._base.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            raise ConfigError(f"{self._path} is a database of something else; name another file; it was not changed")
        self._base.executescript(f"BEGIN; {_TABLES} {_ANSWERS} PRAGMA user_version={VERSION}; COMMIT;")

    def close(self) -> None:
        """Close the file; later calls raise StorageError."""
        if hasattr(self, "_base"):
            self._base.close()

    @contextlib.contextmanager
    def together(self) -> Iterator[None]:
        """Keep all that is written in a block, or nothing of it; raises StorageError."""
        with self._lock:
            with self._writing():
                self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
                with self._writing():
                    self._base.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    self._base.execute("ROLLBACK")
                raise

    def accept(self, number: int, status: TaskStatus, request_id: str, tree: str, goal: Sequence[Literal]) -> None:
        """Keep a task that is about to be accepted; raises StorageError."""
        row = (number, status.task_id, request_id, tree, json.dumps([str(g) for g in goal]), _written(status))
        with self._writing():
            self._base.execute("INSERT INTO tasks VALUES (?, ?, ?, ?, ?, ?)", row)

    def update(self, status: TaskStatus) -> None:
        """Keep a task's status; raises StorageError."""
        with self._writing():
            self._base.execute("UPDATE tasks SET status = ? WHERE id = ?", (_written(status), status.task_id))

    def add(self, task_id: str, line: str) -> None:
        """Keep one line of a task's record; raises StorageError."""
        with self._writing():
            self._base.execute("INSERT INTO events VALUES (?, ?)", (task_id, line))

    def answers(self) -> dict[int, str]:
        """The remembered answers by number, as they were written."""
        with self._lock:
            return dict(self._base.execute("SELECT number, line FROM answers").fetchall())

    def keep_answer(self, number: int, line: str) -> None:
        """Keep a remembered answer; raises StorageError."""
        with self._writing():
            self._base.execute("INSERT INTO answers VALUES (?, ?)", (number, line))

    def drop_answer(self, number: int) -> None:
        """Drop a remembered answer; raises StorageError."""
        with self._writing():
            self._base.execute("DELETE FROM answers WHERE number = ?", (number,))

    def last_number(self) -> int:
        """The highest number of a task, 0 without any."""
        with self._lock:
            return int(self._base.execute("SELECT coalesce(max(number), 0) FROM tasks").fetchone()[0])

    def tasks(self) -> list[Kept]:
        with self._lock:
            return [self._kept(row) for row in self._base.execute("SELECT * FROM tasks ORDER BY number").fetchall()]

    def task(self, task_id: str) -> Kept | None:
        with self._lock:
            row = self._base.execute("SELECT * FROM tasks WHERE id = ?", (task_id,)).fetchone()
            return self._kept(row) if row else None

    def _kept(self, row: Sequence[Any]) -> Kept:
        _, task_id, request_id, tree, goal, status = row
        found = self._base.execute("SELECT line FROM events WHERE task = ? ORDER BY rowid", (task_id,))
        literals = tuple(map(Literal.parse, json.loads(goal)))
        return Kept(_read(status), request_id, tree, literals, tuple(line for (line,) in found.fetchall()))

    @contextlib.contextmanager
    def _writing(self) -> Iterator[None]:
        with self._lock:
            try:
                yield
            except sqlite3.Error as error:
                raise StorageError(
                    f"the task's record cannot be written to {self._path} ({error}); make room, or name another file "
                    "(tasks_file of feedback_node)"
                ) from None


def _written(status: TaskStatus) -> str:
    return json.dumps({**status.plain(), "action": None})


def _read(text: str) -> TaskStatus:
    row = json.loads(text)
    for key, parse in (*((k, Literal.parse) for k in _LITERALS), *((k, Action.parse) for k in _ACTIONS)):
        row[key] = tuple(map(parse, row.get(key, ())))  # tasks kept by an earlier version have fewer
    row["before"] = states(row.get("before", ()))
    for key in _TEXTS:
        row[key] = tuple(row[key])
    return TaskStatus(**{**row, "state": TaskState(row["state"]), "usage": Usage(**row["usage"])})


def submission(asked: TaskGoal, method: str) -> dict[str, Any]:
    """The first event of a record: what was asked for, without what it leaves out."""
    wanted = as_texts(asked)
    told = {"sentence": asked.sentence, "method": method, "goal": wanted.pop("goal")}
    more = {"tree": asked.method if asked.method != method else "", **wanted, "dry_run": asked.dry_run}
    return {**told, **{key: value for key, value in more.items() if value}}


@contextlib.contextmanager
def logged_loss(task_id: str) -> Iterator[None]:
    """Log that the end of a task cannot be kept: it has ended all the same."""
    try:
        yield
    except StorageError as error:
        log.error("%s: %s", task_id, error)

"""The record of one task: a list of events, each a dict of JSON values, optionally written to a file, one line each."""

from __future__ import annotations

import json
import os
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

MAX_EVENT = 400_000
"""Characters of one event as JSON; an exchange about a large home, with 25 long plans, stays below."""
MAX_EXCHANGES = 8_000_000
"""Characters of all exchanges with the model in one record."""
MAX_EVENTS = 20_000
_ALWAYS = ("submitted", "goal", "checked", "ended")


class Journal:
    """Events of one task, oldest first. `seconds` in each event counts from the journal's start (wall time).

    Bounded, since it contains what other nodes publish: long texts in an event longer than MAX_EVENT are truncated, and
    events beyond MAX_EXCHANGES or MAX_EVENTS are dropped. The record says so. Once closed, it is stored compressed.
    """

    def __init__(self, path: Path | None = None, keep: Callable[[str], None] | None = None, lines: Sequence[str] = ()):
        """keep: called with each event as JSON, and may raise PlanweaveError; lines: the events so far."""
        self._keep = keep
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._packed = b""  # the events up to the end, compressed
        self._lines = list(lines)  # the events since, each as JSON
        self._count = len(self._lines)
        self._exchanges = self._left_out = 0  # characters of exchanges; events left out
        self._file = None
        if path:  # for its owner only, and through no link
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW
            self._file = os.fdopen(os.open(path, flags, 0o600), "a", encoding="utf-8")

    def add(self, event: str, /, **details: Any) -> None:
        """Append an event; details named "event" or "seconds" are not taken."""
        row = {"event": event, "seconds": round(time.monotonic() - self._start, 4)}
        row |= {k: v for k, v in details.items() if k not in row}
        line = json.dumps(row, default=str)
        if len(line) > MAX_EVENT:
            line = json.dumps({**_cut(row), "cut": f"this event had {len(line)} characters"}, default=str)
        length = len(line) if event == "exchange" else 0
        with self._lock:
            if event not in _ALWAYS and (self._count >= MAX_EVENTS or self._exchanges + length > MAX_EXCHANGES):
                self._left_out += 1
                return
            self._count, self._exchanges = self._count + 1, self._exchanges + length
            self._lines.append(line)
            if self._keep is not None:
                self._keep(line)
            if self._file and not self._file.closed:
                self._file.write(line + "\n")
                self._file.flush()

    def begin(self, action: str) -> None:
        """Record that an action is about to be carried out, where events are kept for a later process."""
        if self._keep is not None:
            self.add("begun", action=action)

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        with self._lock:
            lines = self._all()
        events: list[dict[str, Any]] = [json.loads(line) for line in lines]
        return [e for e in events if not kind or e["event"] == kind]

    def to_json(self) -> str:
        """The whole record."""
        with self._lock:
            left_out = f', "left_out": {self._left_out}' if self._left_out else ""
            return f'{{"events": [{", ".join(self._all())}]{left_out}}}'

    def close(self) -> None:
        """Close the file; events can still be read."""
        with self._lock:
            self._packed, self._lines = zlib.compress("\n".join(self._all()).encode(), 1), []
            if self._file:
                self._file.close()

    def _all(self) -> list[str]:
        before = zlib.decompress(self._packed).decode().split("\n") if self._packed else []
        return [line for line in before if line] + self._lines


def _cut(value: Any, texts: int = 2000, items: int = 100) -> Any:
    """A JSON value with its long texts and lists truncated, and their original sizes."""
    if isinstance(value, str) and len(value) > texts:
        return f"{value[:texts]}… (cut, {len(value)} characters)"
    if isinstance(value, (list, tuple)):
        more = [f"… ({len(value)} in all)"] if len(value) > items else []
        return [_cut(v, texts, items) for v in value[:items]] + more
    if isinstance(value, dict):
        more_keys = {"…": f"{len(value)} in all"} if len(value) > items else {}
        return {str(k)[:200]: _cut(v, texts, items) for k, v in list(value.items())[:items]} | more_keys
    return value

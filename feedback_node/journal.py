"""The record of one task: a list of events, each a dict that JSON can hold, optionally also one line each in a file."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path
from typing import Any


class Journal:
    """Events of one task, oldest first. `seconds` in each event counts from the journal's start (wall time)."""

    def __init__(self, path: Path | None = None):
        self._start = time.monotonic()
        self._lock = threading.Lock()
        self._events: list[dict[str, Any]] = []
        self._file = path.open("a", encoding="utf-8") if path else None

    def add(self, event: str, **details: Any) -> None:
        """Append an event."""
        row = {"event": event, "seconds": round(time.monotonic() - self._start, 4), **details}
        with self._lock:
            self._events.append(row)
            if self._file and not self._file.closed:
                self._file.write(json.dumps(row, default=str) + "\n")
                self._file.flush()

    def events(self, kind: str = "") -> list[dict[str, Any]]:
        """All events, or those of one kind."""
        with self._lock:
            return [e for e in self._events if not kind or e["event"] == kind]

    def to_json(self) -> str:
        """The whole record."""
        return json.dumps({"events": self.events()}, default=str)

    def close(self) -> None:
        """Close the file; events can still be read."""
        with self._lock:
            if self._file:
                self._file.close()

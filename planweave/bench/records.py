"""Records: one file of JSON lines per episode, with all that happened in it, written so that a kill leaves no half one.

| event | what it holds |
|---|---|
| `episode` | suite, case, method, model, repetition, seed, parameters, goal, gold plan, fault; what was known first |
| `text` | a long text (an instruction, a schema) that later exchanges name by its number |
| `exchange` | a question to the model and its answer or error, tokens, cost, seconds |
| `action` | action, why, code, message, unmet literals, seconds; facts added to and removed from the observed world |
| others | what the method decided: plan, sampled, decision, correction, undo, grounded, program, … |
| `goal` | the goal as it was read from the sentence, and by whom, in suites where it is not given |
| `end` | conditions, measures (`planweave.bench.metrics`), how it ended (in `_play` of episodes.py) |

Every event has `at`, seconds since the start. A file that ends in `.part` was not finished; its episode runs again.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from planweave.core.base.errors import ConfigError

FORMAT = 2
_LONG = 200  # characters from which on a text is told once
_JSON = msgspec.json.Encoder(enc_hook=str)


class Recorder:
    """Receives the events of one episode; this base class drops them."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def add(self, event: str, **details: Any) -> None:
        self.take({"event": event, "at": round(time.monotonic() - self._start, 4), **details})

    def take(self, row: dict[str, Any]) -> None:
        """Take an event."""


class EpisodeText(Recorder):
    def __init__(self) -> None:
        super().__init__()
        self._lines: list[bytes] = []
        self._texts: dict[str | bytes, int] = {}

    def take(self, row: dict[str, Any]) -> None:
        if row["event"] == "exchange":
            row = {**row, "request": self._short(row["request"])}
        self._lines.append(_JSON.encode(row))

    def text(self) -> str:
        return b"\n".join([*self._lines, b""]).decode()

    def _short(self, request: Mapping[str, Any]) -> dict[str, Any]:
        messages = [{**m, "content": self._once(m["content"])} for m in request["messages"]]
        return {**request, "messages": messages, "json_schema": self._once(request.get("json_schema"))}

    def _once(self, value: Any) -> Any:
        text = value if isinstance(value, str) else _JSON.encode(value)
        if len(text) < _LONG:
            return value
        if text not in self._texts:
            self._texts[text] = len(self._texts)
            self._lines.append(_JSON.encode({"event": "text", "number": self._texts[text], "value": value}))
        return {"text": self._texts[text]}


def write_record(path: Path, text: str) -> None:
    write_file(path, text.encode())


def write_file(path: Path, content: bytes) -> None:
    """Write a file by way of ``path.part``, which takes its name when all of it is on the disk.

    Raises OSError, e.g. where the disk is full, and then leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with part.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, path)
    except OSError:
        part.unlink(missing_ok=True)
        raise


def read_record(path: Path) -> list[dict[str, Any]]:
    """All events with their long texts in place; raises ConfigError for what is no finished record."""
    texts: dict[int, Any] = {}
    events: list[dict[str, Any]] = []
    for number, row in enumerate(_rows(path), 1):
        try:
            if row["event"] == "text":
                texts[row["number"]] = row["value"]
                continue
            if row["event"] == "exchange":
                request = row["request"]
                for message in request["messages"]:
                    message["content"] = _whole(message["content"], texts)
                request["json_schema"] = _whole(request.get("json_schema"), texts)
        except (KeyError, TypeError) as error:
            raise ConfigError(f"{path}, line {number}: not an event of a record ({error!r})") from None
        events.append(row)
    if not events or events[0]["event"] != "episode":
        raise ConfigError(f"{path} is not a record of an episode")
    if events[0].get("format") != FORMAT:
        raise ConfigError(f"{path} has format {events[0].get('format')}; this version reads {FORMAT}")
    if events[-1]["event"] != "end":
        raise ConfigError(f"{path} is not finished; run the bench again with --resume")
    return events


def read_end(path: Path) -> dict[str, Any]:
    """The last event alone, without parsing the rest; raises ConfigError."""
    try:
        row = json.loads(path.read_bytes().rstrip(b"\n").rpartition(b"\n")[2])
    except (OSError, ValueError) as error:
        raise ConfigError(f"cannot read the record {path}: {error}") from None
    if not isinstance(row, dict) or row.get("event") != "end":
        raise ConfigError(f"{path} is not finished; run the bench again with --resume")
    return row


def find_record(text: str) -> Path:
    """The record that a person names, by its path; raises ConfigError that names what is there."""
    path = Path(text)
    if path.is_file():
        return path
    if path.is_dir():
        some = sorted(path.rglob("*.jsonl"))[:3]
        hint = f", e.g. {some[0]}" if some else ""
        raise ConfigError(f"{path} is a folder; name one episode in it{hint}")
    near = sorted(path.parent.glob("*.jsonl"))[:5] if path.parent.is_dir() else []
    raise ConfigError(f"no record {path}" + (f"; there are {', '.join(p.name for p in near)}" if near else ""))


def _rows(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open(encoding="utf-8") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    row = json.loads(line)
                except ValueError:
                    raise ConfigError(f"{path}, line {number}: not JSON; the record is damaged") from None
                if not isinstance(row, dict) or "event" not in row:
                    raise ConfigError(f"{path}, line {number}: not an event of a record")
                yield row
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"cannot read the record {path}: {error}") from None


def _whole(value: Any, texts: Mapping[int, Any]) -> Any:
    return texts[value["text"]] if isinstance(value, dict) and set(value) == {"text"} else value


def changes(before: Sequence[str], after: Sequence[str]) -> tuple[list[str], list[str]]:
    old, new = set(before), set(after)
    return sorted(new - old), sorted(old - new)

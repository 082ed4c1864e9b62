"""Cassettes: recorded replies of a model, replayed without it.

A cassette is a file of JSON lines, each ``{"request": …, "reply": …}``, without keys.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planweave.core.base.errors import ConfigError, ModelUnavailableError
from planweave.llm.clients.base import Capabilities, ChatClient, ChatReplies, ChatRequest, WrappedClient


def _key(request: dict[str, Any]) -> str:
    return json.dumps(request, sort_keys=True, ensure_ascii=False)


class RecordingClient(WrappedClient):
    """Wraps a client and appends every answered request to a cassette."""

    def __init__(self, inner: ChatClient, path: str | Path) -> None:
        super().__init__(inner)
        self._path, self._lock = Path(path), threading.Lock()
        self._path.parent.mkdir(parents=True, exist_ok=True)

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Send and record a request; raises what the wrapped client raises."""
        replies = self.inner.complete(request)
        line = json.dumps({"request": request.as_dict(), "reply": replies.as_dict()}, ensure_ascii=False)
        with self._lock, self._path.open("a", encoding="utf-8") as file:
            file.write(line + "\n")
        return replies

    def close(self) -> None:
        self.inner.close()


class ReplayClient:
    """Answers from a cassette. A request sent several times gets its replies in recorded order, then the last one
    again.

    Raises ConfigError where the file cannot be read.
    """

    endpoint = "replay"

    def __init__(self, path: str | Path) -> None:
        self._path, self._lock = Path(path), threading.Lock()
        self._replies: dict[str, list[ChatReplies]] = defaultdict(list)
        self._asked: dict[str, int] = defaultdict(int)
        self.model = ""
        self._count, self._choices = 0, False
        try:
            lines = self._path.read_text(encoding="utf-8-sig").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(
                f"cannot read the cassette {self._path}: {error}; record one with the parameter 'record'"
            ) from error
        for number, line in enumerate(lines, 1):
            if not line.strip() or line.lstrip().startswith("#"):
                continue
            try:
                entry = json.loads(line)
                replies = ChatReplies.from_dict(entry["reply"])
                self._replies[_key(entry["request"])].append(replies)
                self._choices |= "choices" in entry["request"]
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise ConfigError(f"{self._path}, line {number}: not a recorded exchange ({error})") from error
            self.model = replies.usage.model or self.model

    @property
    def capabilities(self) -> Capabilities:
        """A cassette can do whatever was recorded."""
        return Capabilities(n=True, json_schema=True, logprobs=True, choices=self._choices)

    def complete(self, request: ChatRequest) -> ChatReplies:
        """The recorded replies; raises ModelUnavailableError, which names the first request that was not recorded."""
        request.check()
        key = _key(request.as_dict())
        with self._lock:
            self._count += 1
            recorded = self._replies.get(key)
            if not recorded:
                raise ModelUnavailableError(self._unknown(request))
            index = min(self._asked[key], len(recorded) - 1)
            self._asked[key] += 1
        return recorded[index]

    def _unknown(self, request: ChatRequest) -> str:
        asked = request.as_dict()
        best, difference = -1, "it is empty"
        for key in self._replies:
            same, words = _difference(asked, json.loads(key))
            if same > best:
                best, difference = same, words
        last = request.messages[-1]["content"][-160:]
        return (
            f"question {self._count} is not in the cassette {self._path}: {last!r}; "
            f"against the nearest of the {len(self._replies)} recorded, {difference}. Record it anew"
        )

    def close(self) -> None:
        """Does nothing."""


def _difference(asked: dict[str, Any], recorded: dict[str, Any]) -> tuple[int, str]:
    """Length of the common prefix, and the first difference in words."""
    settings = [k for k in asked if k != "messages" and asked[k] != recorded.get(k)]
    one, two = ("\n".join(m.get("content", "") for m in r.get("messages", ())) for r in (asked, recorded))
    same = next((i for i, (a, b) in enumerate(zip(one, two)) if a != b), min(len(one), len(two)))
    if one != two:
        return same, f"the text differs from {one[same : same + 40]!r} on (recorded: {two[same : same + 40]!r})"
    return same + 1, f"the settings differ: {', '.join(settings) or 'roles'}"


def from_settings(environ: Mapping[str, str], settings: Mapping[str, str]) -> ReplayClient:
    """The client of a cassette (entry point planweave.clients); raises ConfigError."""
    if not settings.get("cassette"):
        raise ConfigError("client 'replay' needs the parameter 'cassette', the path of a recorded cassette")
    return ReplayClient(settings["cassette"])

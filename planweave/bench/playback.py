"""Replay of a recorded episode with the recorded replies, compared with its record event by event."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import planweave.core.base.errors as errors
from planweave.bench.episodes import Spec, play
from planweave.bench.recorded_stage import RecordedStage
from planweave.bench.records import Recorder
from planweave.bench.suites import SUITES
from planweave.bench.task_files import cases_of
from planweave.core.base.errors import ConfigError, ModelError, UnknownNameError
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatRequest

_SPEC = ("suite", "case", "method", "model", "repetition", "seed", "timeout", "settings", "row")  # of the first event
_TIMES = frozenset(
    f"{what}_seconds" for what in ("wall", "motion", "planning", "model", "body", "our", "processor")
) | {"at"}


class Difference(BaseException):
    """A replay differs from its record. number: of the event, from 1.

    A BaseException, so that neither a loop nor a run handles it as a failure.
    """

    def __init__(self, number: int, recorded: str, now: str) -> None:
        super().__init__(f"event {number} differs\n  recorded: {recorded}\n  now:      {now}")
        self.number = number


class Comparer(Recorder):
    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        super().__init__()
        self.events, self.count = events, 0

    def take(self, row: dict[str, Any]) -> None:
        """Compare with the next recorded event; raises Difference."""
        now = json.loads(json.dumps(row, ensure_ascii=False, default=str))
        if self.count >= len(self.events):
            raise Difference(self.count + 1, "nothing more", _short(now))
        recorded = self.events[self.count]
        self.count += 1
        what = _first_difference(recorded, now)
        if what:
            raise Difference(self.count, *what)


class PlaybackClient:
    """Answers with the recorded replies in order; a request that differs from the record raises Difference."""

    endpoint = "replay"

    def __init__(self, events: Sequence[Mapping[str, Any]]) -> None:
        self._left = [(n, e) for n, e in enumerate(events, 1) if e["event"] == "exchange"]
        used: dict[str, Any] = next((e["reply"]["usage"] for _, e in self._left if "reply" in e), {})
        self.model = str(used.get("model", ""))
        self._choices = any("choices" in event["request"] for _, event in self._left)
        # Settings that depend on the endpoint must be those of then.
        self.endpoint = str(used.get("endpoint", "replay")) or "replay"

    @property
    def capabilities(self) -> Capabilities:
        return Capabilities(n=True, json_schema=True, logprobs=True, choices=self._choices)

    def complete(self, request: ChatRequest) -> ChatReplies:
        """The next recorded replies, or the recorded error."""
        asked = json.loads(json.dumps(request.as_dict(), ensure_ascii=False, default=str))
        if not self._left:
            raise Difference(0, "no more questions to the model", f"it is asked {_short(asked['messages'][-1])}")
        number, exchange = self._left.pop(0)
        what = _first_difference(exchange["request"], asked)
        if what:
            raise Difference(number, *what)
        if "reply" not in exchange:
            name, _, text = str(exchange.get("error", "ModelError: no reply was recorded")).partition(": ")
            kind = getattr(errors, name, ModelError)
            raise kind(text) if isinstance(kind, type) and issubclass(kind, ModelError) else ModelError(text)
        return ChatReplies.from_dict(exchange["reply"])

    def close(self) -> None:
        """Does nothing."""


def replay(events: Sequence[dict[str, Any]]) -> int:
    """Replay a record; the number of equal events. Raises Difference, or ConfigError for unknown suites and methods."""
    head = events[0]
    if head["suite"] not in SUITES:
        raise UnknownNameError("suite", head["suite"], SUITES)
    cases = cases_of(head["suite"], {head["case"]: head["row"]} if head.get("row") else {})
    if head["case"] not in cases:
        raise UnknownNameError("task", head["case"], cases)
    try:
        spec = Spec(**{name: head[name] for name in _SPEC}, options=head.get("options", {}))
    except KeyError as error:
        raise ConfigError(f"the record lacks {error} in its first event") from None
    case = cases[spec.case]
    stage = RecordedStage(case, events) if any(e["event"] == "world" for e in events) else None
    comparer = Comparer(events)
    play(spec, comparer, PlaybackClient(events), stage)
    if comparer.count < len(events):
        raise Difference(comparer.count + 1, _short(events[comparer.count]), "nothing more")
    return comparer.count


def _first_difference(recorded: Any, now: Any) -> tuple[str, str] | None:
    """The first place where two JSON values differ, recorded and replayed; times are ignored."""
    before, after = dict(_leaves(recorded)), dict(_leaves(now))
    for place in {**before, **after}:
        if place not in before or place not in after or before[place] != after[place]:
            a, b = before.get(place, "nothing"), after.get(place, "nothing")
            if isinstance(a, str) and isinstance(b, str):
                start = max(0, len(os.path.commonprefix([a, b])) - 30)  # noqa: RUF071 - of characters is meant
                a, b = f"…{a[start : start + 90]!r}", f"…{b[start : start + 90]!r}"
                return f"{place}: {a}", f"{place}: {b}"
            return f"{place}: {_short(a)}", f"{place}: {_short(b)}"
    return None


def _leaves(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """What a JSON value is made of, by where it stands: "reply.usage.cost"; an empty list or object is one of them."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    if not inner:
        yield place, value
    for key, each in inner:
        if key not in _TIMES:
            yield from _leaves(each, f"{place}.{key}" if place else str(key))


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) < 160 else text[:160] + "…"

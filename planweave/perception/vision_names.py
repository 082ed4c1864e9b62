"""Names from a model that takes pictures: one request with the things marked by numbers, its reply held to the marks.

A thing is asked for once: what looks the same, or stands unchanged where it was, keeps the answer. Words in pictures
and replies are data; a name that is no short noun phrase is no name.
"""

from __future__ import annotations

import json
import math
import os
import string
import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from planweave.core.base.budget import Budget
from planweave.core.base.errors import ConfigError, ModelError, ModelRequestError, ParseError
from planweave.core.symbolic.domain import Domain
from planweave.llm.accounting import Ledger
from planweave.llm.clients.base import ChatClient, ChatRequest
from planweave.llm.reasoning import check_said, readable
from planweave.perception.colours import COLOURS
from planweave.perception.marks import close_ups, data_url, draw_marks
from planweave.perception.vocabulary import clean

VARIABLE = "PLANWEAVE_VISION_MODEL"
PATIENCE = "PLANWEAVE_VISION_TIMEOUT"
STATES = ("open", "closed", "on", "off")
TIMEOUT = 60.0  # s of wall time for a reply
BUDGET = Budget(requests=20, tokens=200_000)
MOST_MARKS = 60
MOST_DRAWERS = 8
_ROUNDS = 2  # requests for one set of things: the second for what the first reply left out
_TOKENS_A_MARK = 60
_PARTS = frozenset(("drawer", "compartment", "cabinet_shelf"))
_NOTHING = "nothing"
_PROMPT = Path(__file__).with_name("vision_names.txt")


@dataclass(frozen=True)
class Named:
    """An answer for a mark. class_name: a symbol, "nothing" where there is no thing, "" where it is unknown.

    part_of: the mark that it belongs to, 0 for none; drawers: on a cabinet's front; state: one of STATES or "".
    """

    class_name: str = ""
    colour: str = ""
    part_of: int = 0
    drawers: int = 0
    state: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether the mark shows no thing."""
        return self.class_name == _NOTHING


UNKNOWN = Named()


def owners(answers: Sequence[Named]) -> list[int | None]:
    """The index of the thing that each mark belongs to: its own, or that of what it is a part of; None for nothing.

    A part of a part belongs to the whole; one whose whole is no thing, or a part of itself, is a thing of its own.
    """
    return [None if named.is_nothing else _whole(k, answers) for k, named in enumerate(answers)]


def _whole(k: int, answers: Sequence[Named]) -> int:
    at, passed = k, {k}
    while answers[at].part_of:
        at = answers[at].part_of - 1
        if at in passed or answers[at].is_nothing:
            return k
        passed.add(at)
    return at


@dataclass(frozen=True, eq=False)
class Marked:
    """A thing to be named. masks: its pixels in each picture, (h, w) bool or None where it is not shown.

    position: centre, m; size: extents, m; rgb: (n, 3) its colours.
    """

    masks: Sequence[np.ndarray | None]
    position: tuple[float, float, float]
    size: tuple[float, float, float]
    rgb: np.ndarray


@dataclass(frozen=True, eq=False)
class _Answer:
    """Answer for a thing, what it is a part of, and the words it was asked for with."""

    thing: Marked
    named: Named
    whole: Marked | None
    words: str


def class_names(domain: Domain) -> tuple[str, ...]:
    """The domain's classes of whole things, for a model to choose from."""
    listed = {name for names in domain.categories.values() for name in names}
    return tuple(sorted({*domain.classes, *domain.round_classes, *listed} - _PARTS))


def vision_client(environ: Mapping[str, str] = os.environ) -> ChatClient:
    """The client of the model in PLANWEAVE_VISION_MODEL; raises ConfigError where none is configured."""
    model, url, key = (environ.get(name, "") for name in (VARIABLE, "OPENAI_BASE_URL", "OPENAI_API_KEY"))
    if not model:
        raise ConfigError(
            f"no model that takes pictures is configured: set {VARIABLE} to the name of one of your endpoint "
            "(OPENAI_BASE_URL, OPENAI_API_KEY)"
        )
    if not url and not key:
        raise ConfigError(
            f"{VARIABLE} is set, but no endpoint: set OPENAI_API_KEY, or OPENAI_BASE_URL for another server"
        )
    from planweave.llm.clients.openai_client import endpoint_client  # 31 MB and half a second

    return endpoint_client(environ, model)


def vision_timeout(environ: Mapping[str, str] = os.environ) -> float:
    """Seconds of wall time for a reply, from PLANWEAVE_VISION_TIMEOUT; raises ConfigError."""
    text = environ.get(PATIENCE, "") or str(TIMEOUT)
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds <= 3600:
        raise ConfigError(f"{PATIENCE} is {text!r}; write the seconds that a reply may take, from 1 to 3600")
    return seconds


class VisionNamer:
    """Asks for names and remembers them. classes: the domain's words; budget: of the requests with the same words; say:
    gets lines for the log.
    """

    def __init__(
        self,
        client: ChatClient,
        classes: Sequence[str],
        budget: Budget = BUDGET,
        timeout: float = TIMEOUT,
        say: Callable[[str], None] = print,
    ) -> None:
        self._client, self._classes, self._timeout, self._say = client, tuple(classes), timeout, say
        self._budget, self._ledger = budget, Ledger(budget)
        self._known: list[_Answer] = []  # the newest first
        self._words = ""

    def names(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], words: str = "", changing: Collection[str] = ()
    ) -> list[Named]:
        """An answer for every thing, UNKNOWN where there is none. words: the sentence, or the names to look for.

        pictures: (h, w, 3) uint8. changing: classes with a state, which is asked for at every look; a remembered
        answer has none. Other words make everything be asked for anew; until then the older answers stand. Raises
        ModelError.
        """
        if words != self._words:
            self._words, self._ledger = words, Ledger(self._budget)
        missing = [
            k
            for k, thing in enumerate(things)
            if (n := self._find(thing)) is None or n.words != words or n.named.class_name in changing
        ]
        states: dict[int, str] = {}
        unnamed: set[int] = set()  # left out of a reply
        for _ in range(_ROUNDS):
            asked = missing[:MOST_MARKS]
            answers = self._ask(pictures, things, asked, words) if asked else None
            if answers is not None:
                states |= {number - 1: named.state for number, named in answers.items()}
                missing = [k for k in missing if k + 1 not in answers]
                unnamed |= set(asked)
        for thing in (things[k] for k in unnamed & set(missing)):
            before = self._find(thing) or _Answer(thing, UNKNOWN, None, words)
            self._known.append(replace(before, thing=thing, words=words))
        return [replace(self._recall(thing, things), state=states.get(k, "")) for k, thing in enumerate(things)]

    def states(self, pictures: Sequence[np.ndarray], things: Sequence[Marked]) -> list[str]:
        """The states of things as these pictures show them, "" where nothing is said; raises ModelError."""
        answers = self._ask(pictures, things, range(len(things)), self._words) or {}
        return [answers.get(k + 1, UNKNOWN).state for k in range(len(things))]

    def known(self, things: Sequence[Marked]) -> list[Named | None]:
        """Answers for all things, None where it was not asked for; asks nothing."""
        return [self._recall(thing, things) if self._find(thing) else None for thing in things]

    def asked(self, things: Sequence[Marked], words: str) -> bool:
        """Whether every thing was asked for under these words."""
        return all((found := self._find(thing)) is not None and found.words == words for thing in things)

    def _find(self, thing: Marked) -> _Answer | None:
        """The answer for what stood there, else for what looks the same, under these words, else under earlier ones; a
        part is known by its place alone.
        """
        known = list(self._known)  # `known` is called beside a thread that asks
        for rows in ([k for k in known if k.words == self._words], [k for k in known if k.words != self._words]):
            there = [row for row in rows if _in_place(thing, row.thing)]
            alike = [row for row in rows if row.whole is None and _alike(thing, row.thing)]
            if near := sorted(there, key=lambda row: _apart(thing, row.thing)) or alike:
                return near[0]
        return None

    def _recall(self, thing: Marked, things: Sequence[Marked]) -> Named:
        """What is known of a thing; the number of what it is part of is that among the given things, from 1."""
        found = self._find(thing)
        if found is None:
            return UNKNOWN
        whole = found.whole
        of = next((k + 1 for k, other in enumerate(things) if whole is not None and _in_place(other, whole)), 0)
        return replace(found.named, part_of=of)

    def _ask(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], asked: Sequence[int], words: str
    ) -> dict[int, Named] | None:
        """Ask for things by their indices, and remember the answers, which are by mark; None where none can be read."""
        try:
            self._ledger.check("vision")
        except ModelError:
            raise ModelRequestError(
                f"the budget for naming by pictures is used up ({self._budget.requests} requests, "
                f"{self._budget.tokens} tokens)"
            ) from None
        numbers = [k + 1 for k in asked]
        replies = self._client.complete(self._request(pictures, things, numbers, words))
        self._ledger.add("vision", replies.usage)
        reply = readable(replies.replies[0])
        try:
            check_said(reply)
            answers = read_names(reply.text, numbers, len(things))
        except ParseError as error:
            self._say(f"the reply of {self._client.model} names nothing: {error}")
            return None
        for number, named in answers.items():
            whole = things[named.part_of - 1] if named.part_of else None
            self._known.insert(0, _Answer(things[number - 1], named, whole, words))
        return answers

    def _request(
        self, pictures: Sequence[np.ndarray], things: Sequence[Marked], numbers: Sequence[int], words: str
    ) -> ChatRequest:
        system = string.Template(_PROMPT.read_text(encoding="utf-8")).substitute(
            classes=", ".join(name.replace("_", " ") for name in self._classes), colours=", ".join(COLOURS)
        )
        asked = f"Numbers: {', '.join(map(str, numbers))}."
        told = (
            f" The task is {json.dumps(words[:500])}; what it names is called exactly as it says, with all its words."
            if words
            else ""
        )
        content: list[dict[str, Any]] = [{"type": "text", "text": asked + told}]
        for k, picture in enumerate(pictures):
            masks = {n: mask for n in numbers if (mask := things[n - 1].masks[k]) is not None and mask.any()}
            if masks:
                content.append({"type": "image_url", "image_url": {"url": data_url(draw_marks(picture, masks))}})
        sheet = close_ups(pictures, {n: things[n - 1].masks for n in numbers})
        content.append({"type": "image_url", "image_url": {"url": data_url(sheet)}})
        messages = ({"role": "system", "content": system}, {"role": "user", "content": content})
        return ChatRequest(
            messages,
            max_tokens=200 + _TOKENS_A_MARK * len(numbers),
            json_schema=_schema(numbers, len(things)),
            deadline=time.monotonic() + self._timeout,
            tokens_left=self._ledger.tokens_left("vision"),
        )


def read_names(text: str, numbers: Sequence[int], count: int) -> dict[int, Named]:
    """Answers by mark; a mark that is unknown, or has two different answers, has none. Raises ParseError.

    count: of all things; parts may belong to any of them.
    """
    try:
        rows = json.loads(text[text.index("{") : text.rindex("}") + 1])["marks"]
        if not isinstance(rows, list):
            raise TypeError
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ParseError('the reply has no JSON object with a list "marks"') from None
    found: dict[int, set[Named]] = {}
    for row in rows[: 2 * MOST_MARKS]:
        number = row.get("mark") if isinstance(row, dict) else None
        if isinstance(number, int) and not isinstance(number, bool) and number in numbers:
            found.setdefault(number, set()).add(_named(row, number, count))
    return {number: named.pop() for number, named in found.items() if len(named) == 1 and named != {UNKNOWN}}


def _named(row: Mapping[str, Any], number: int, count: int) -> Named:
    name, colour, state, of = (row.get(key) for key in ("name", "colour", "state", "part_of"))
    class_name = _class(name) if isinstance(name, str) else ""
    if not class_name:
        return UNKNOWN
    drawers = row.get("drawers")
    return Named(
        class_name,
        colour if isinstance(colour, str) and colour in COLOURS else "",
        of if isinstance(of, int) and not isinstance(of, bool) and 0 < of <= count and of != number else 0,
        drawers if isinstance(drawers, int) and not isinstance(drawers, bool) and 0 <= drawers <= MOST_DRAWERS else 0,
        state if isinstance(state, str) and state in STATES else "",
    )


def _class(name: str) -> str:
    """A short noun phrase as a symbol; "" for anything else."""
    try:
        phrases = clean([name])
    except ConfigError:
        return ""
    return "_".join(phrases[0].replace("-", " ").replace("'", "").split()) if phrases else ""


def _schema(numbers: Sequence[int], count: int) -> dict[str, Any]:
    row = {
        "mark": {"type": "integer", "enum": list(numbers)},
        "name": {"type": "string"},
        "colour": {"type": "string", "enum": ["", *COLOURS]},
        "part_of": {"type": "integer", "enum": list(range(count + 1))},
        "drawers": {"type": "integer", "enum": list(range(MOST_DRAWERS + 1))},
        "state": {"type": "string", "enum": ["", *STATES]},
    }
    item = {"type": "object", "properties": row, "required": list(row), "additionalProperties": False}
    marks = {"type": "array", "items": item}
    return {"type": "object", "properties": {"marks": marks}, "required": ["marks"], "additionalProperties": False}


# ---- what is the same thing ---------------------------------------------------------------------------------------

_NEAR = 0.03  # m: a thing that moved by less stands where it was
_RESIZED = 0.25  # share by which a thing's size differs between two looks
_CHANGED = 0.15  # difference of colours from which on a thing that stands where it was has changed
_ALIKE, _HARDLY = 0.35, 0.9  # difference of colours (0 equal, 2 none shared) of one look, and of one place


def _apart(one: Marked, two: Marked) -> float:
    """Largest difference of the coordinates of two centres, m."""
    return max(abs(a - b) for a, b in zip(one.position, two.position))


def _differ(one: Marked, two: Marked) -> float:
    """Difference of the colours of two things, from 0 to 2."""
    return float(np.abs(_histogram(one.rgb) - _histogram(two.rgb)).sum())


def _in_place(one: Marked, two: Marked) -> bool:
    """Whether two measurements may be of one thing that has not moved."""
    return _apart(one, two) < _NEAR and _differ(one, two) < _HARDLY


def _alike(one: Marked, two: Marked) -> bool:
    """Whether two measurements look the same."""
    sizes = zip([*sorted(one.size[:2]), one.size[2]], [*sorted(two.size[:2]), two.size[2]])
    return _differ(one, two) < _ALIKE and all(abs(a - b) < _RESIZED * max(a, b, 0.02) for a, b in sizes)


def looks_the_same(one: Marked, two: Marked) -> bool:
    """Whether two measurements are of one thing that has not moved and has not changed its colours."""
    return _apart(one, two) < _NEAR and _differ(one, two) < _CHANGED


def _histogram(rgb: np.ndarray) -> np.ndarray:
    """Shares of 27 colours."""
    bins = (np.asarray(rgb, float) / 86).astype(int)
    counts = Counter(((bins[:, 0] * 3 + bins[:, 1]) * 3 + bins[:, 2]).tolist())
    return np.array([counts.get(k, 0) for k in range(27)]) / max(len(bins), 1)

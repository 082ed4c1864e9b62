"""Answers of people that hold again: the same question, of the same sentence, about things that look the same.

Nothing is concluded from an answer beyond that. Where other things can be meant, or one of them looks different, the
person is asked again; an answer after which they refused the plan is forgotten.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any

from planweave.core.symbolic.world import World
from planweave.core.workflow.question import UserQuestion
from planweave.tasks.task_store import TaskStore

_SAME_PLACE = 0.05  # m by which things that look alike may have moved, so that it is known which is which
_MOST = 1000  # entries; the oldest is forgotten


@dataclass(frozen=True)
class Remembered:
    """One answer. at: system time, s; looks: of the things of each choice."""

    id: int
    sentence: str
    question: str
    choice: str
    choices: tuple[str, ...]
    looks: tuple[Any, ...]
    person: str
    at: float


class Memory:
    """The remembered answers, in the tasks' file where there is one. Used by one task at a time."""

    def __init__(self, store: TaskStore | None = None) -> None:
        self._store = store
        self._kept = {number: _read(number, line) for number, line in (store.answers() if store else {}).items()}

    def entries(self) -> list[Remembered]:
        """All entries, oldest first."""
        return [self._kept[number] for number in sorted(self._kept)]

    def recall(self, sentence: str, question: UserQuestion, world: World) -> tuple[Remembered, int] | None:
        """The entry that answers a question, and the index of its choice; None where a person must be asked."""
        labels, now = tuple(c.label for c in question.choices), looks(question, world)
        for entry in reversed(self.entries()):
            same = (entry.sentence, entry.question, entry.choices) == (_words(sentence), question.text, labels)
            if same and alike(entry.looks, now):
                return entry, labels.index(entry.choice)
        return None

    def learn(self, sentence: str, question: UserQuestion, index: int, person: str, world: World) -> int:
        """Remember what a person chose; the entry's id. Raises StorageError."""
        labels = tuple(c.label for c in question.choices)
        number = max(self._kept, default=0) + 1
        now = looks(question, world)
        entry = Remembered(number, _words(sentence), question.text, labels[index], labels, now, person, time.time())
        if self._store is not None:
            self._store.keep_answer(number, json.dumps(asdict(entry)))
        self._kept[number] = entry
        self.forget(sorted(self._kept)[:-_MOST])
        return number

    def forget(self, numbers: Iterable[int]) -> list[int]:
        """Forget entries by their id; those that there were. Raises StorageError."""
        found = [number for number in numbers if number in self._kept]
        for number in found:
            if self._store is not None:
                self._store.drop_answer(number)
            del self._kept[number]
        return found


def _read(number: int, line: str) -> Remembered:
    row = json.loads(line)
    return Remembered(**{**row, "id": number, "choices": tuple(row["choices"]), "looks": tuple(row["looks"])})


def _words(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).strip(" .!?")


def looks(question: UserQuestion, world: World) -> tuple[Any, ...]:
    """Name, class, attributes and place of the things that each choice names, as JSON has them."""
    found = []
    for choice in question.choices:
        names = [*choice.objects, *(name for literal in choice.goal for name in literal.args)]
        things = [world.by_name[name] for name in names if name in world.by_name]
        found.append([[t.name, t.class_name, dict(t.attributes), list(t.position or ())] for t in things])
    return tuple(json.loads(json.dumps(found)))


def alike(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    """Whether things look as they did; those that are told apart by their place alone must be where they were.
    Of a body that knows no places the names tell them apart.
    """
    was, are = ([thing for choice in looks for thing in choice] for looks in (before, now))
    if [thing[:3] for thing in was] != [thing[:3] for thing in are]:
        return False
    twins = [json.dumps(thing[1:3], sort_keys=True) for thing in are]
    names = {look: {thing[0] for thing, other in zip(are, twins) if other == look} for look in twins}
    return all(
        len(names[look]) == 1 or (len(a[3]) == len(b[3]) and math.dist(a[3], b[3]) <= _SAME_PLACE)
        for a, b, look in zip(was, are, twins)
    )

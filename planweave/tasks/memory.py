"""Memory of what people said: answers to questions, what a phrase means, and why they refused a plan.

An answer holds for the same question, of the same sentence, about things that look the same; what nothing here was
called, a person's choice is called from then on, in any sentence, where exactly one thing looks as it did. Nothing is
concluded beyond that: where other things can be meant, or one of them looks different, the person is asked again. An
answer after which they refused the plan is forgotten; the reason is told with the next plan for the same goal.
"""

from __future__ import annotations

import json
import math
import threading
import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, replace
from typing import Any

from planweave.core.base.errors import UnknownNameError
from planweave.core.symbolic.world import Literal, World
from planweave.core.workflow.question import NAME, REFUSAL, Clarification, Remembered, UserQuestion
from planweave.goals import bare, look_of, words_of
from planweave.tasks.task_store import TaskStore

_SAME_PLACE = 0.05  # m by which things that look alike may have moved, so that it is known which is which
_MOST = 1000  # entries; the oldest is forgotten


class Memory:
    """The entries, in the tasks' file where there is one. Thread-safe."""

    def __init__(self, store: TaskStore | None = None) -> None:
        self._store, self._lock = store, threading.RLock()
        self._kept = {number: _read(number, line) for number, line in (store.answers() if store else {}).items()}

    def entries(self) -> list[Remembered]:
        with self._lock:
            return [self._kept[number] for number in sorted(self._kept)]

    def recall(self, sentence: str, question: UserQuestion, world: World) -> tuple[Remembered, int] | None:
        """The entry that answers a question, and the index of its choice; None where a person must be asked."""
        labels, now = tuple(c.label for c in question.choices), looks(question, world)
        for entry in reversed(self.entries()):
            same = (entry.sentence, entry.question, entry.choices) == (_words(sentence), question.text, labels)
            if same and entry.kind != REFUSAL and alike(entry.looks, now):
                return entry, labels.index(entry.choice)
        return None

    def names(self, sentence: str, world: World) -> dict[int, Clarification]:
        """Remembered names in a sentence, by the ids of the entries: of things that nothing else looks like. The newest
        entry of a name holds.
        """
        said, found = f" {' '.join(words_of(sentence)[0])} ", dict[str, tuple[int, Clarification]]()
        for entry in self.entries():
            if entry.kind != NAME or f" {entry.phrase} " not in said:
                continue
            (named, class_name, attributes, _), *others = entry.looks[entry.choices.index(entry.choice)]
            look = look_of(named, class_name, attributes)
            alike = [o.name for o in world.objects if look_of(o.name, o.class_name, o.attributes) == look]
            alike = [] if others else alike
            if len(alike) == 1:
                found[entry.phrase] = entry.id, Clarification(entry.phrase, -1, (alike[0],))
        return dict(found.values())

    def refusals(self, goal: Sequence[Literal]) -> list[Remembered]:
        """Reasons for which people refused plans for the same goal, oldest first."""
        wanted = tuple(sorted(map(str, goal)))
        return [entry for entry in self.entries() if entry.kind == REFUSAL and entry.choices == wanted]

    def learn(self, sentence: str, question: UserQuestion, index: int, person: str, world: World) -> int:
        """Remember what a person chose; the entry's id. Raises StorageError."""
        labels, now, said = tuple(c.label for c in question.choices), looks(question, world), _words(sentence)
        entry = Remembered(0, said, question.text, labels[index], labels, now, person, time.time())
        if question.naming and question.choices[index].objects:
            entry = replace(entry, kind=NAME, phrase=bare(words_of(question.phrase)[0]))
        return self._keep(entry)

    def learn_refusal(
        self, sentence: str, goal: Sequence[Literal], plan: Sequence[str], reason: str, person: str
    ) -> int:
        """Remember why a person refused a plan, its steps in words; the entry's id. Raises StorageError."""
        wanted, told = tuple(sorted(map(str, goal))), "; ".join(plan)
        return self._keep(Remembered(0, _words(sentence), told, reason, wanted, (), person, time.time(), REFUSAL))

    def correct(self, number: int) -> bool:
        """Make the other one of two choices the answer of an entry; False where there were not two, and it is
        forgotten. Raises StorageError.
        """
        with self._lock:
            entry = self._kept.get(number)
            self.forget([number])
            if entry is None or entry.kind == REFUSAL or len(entry.choices) != 2:
                return False
            (other,) = (choice for choice in entry.choices if choice != entry.choice)
            self._keep(replace(entry, choice=other, at=time.time()))
            return True

    def forget(self, numbers: Iterable[int]) -> list[int]:
        """Forget entries by their id; those that there were. Raises StorageError."""
        with self._lock:
            found = [number for number in numbers if number in self._kept]
            for number in found:
                if self._store is not None:
                    self._store.drop_answer(number)
                del self._kept[number]
            return found

    def forget_known(self, numbers: Iterable[int]) -> list[int]:
        """Forget entries; raises UnknownNameError, and forgets none, where one of them is not there."""
        with self._lock:
            for number in (numbers := list(numbers)):
                if number not in self._kept:
                    raise UnknownNameError("entry", str(number), map(str, sorted(self._kept)))
            return self.forget(numbers)

    def _keep(self, entry: Remembered) -> int:
        with self._lock:
            number = max(self._kept, default=0) + 1
            entry = replace(entry, id=number)
            if self._store is not None:
                self._store.keep_answer(number, json.dumps(asdict(entry)))
            self._kept[number] = entry
            self.forget(sorted(self._kept)[:-_MOST])
            return number


def _read(number: int, line: str) -> Remembered:
    row = json.loads(line)
    return Remembered(**{**row, "id": number, "choices": tuple(row["choices"]), "looks": tuple(row["looks"])})


def _words(sentence: str) -> str:
    return " ".join(sentence.casefold().split()).strip(" .!?")


def looks(question: UserQuestion, world: World) -> tuple[Any, ...]:
    """Name, class, attributes and place of the things that each choice names, as JSON has them."""
    found = []
    for choice in question.choices:
        literals = (*choice.goal, *(g for step in choice.before for g in step), *choice.keep)
        names = [*choice.objects, *(name for literal in literals for name in literal.args)]
        things = [world.by_name[name] for name in names if name in world.by_name]
        found.append([[t.name, t.class_name, dict(t.attributes), list(t.position or ())] for t in things])
    return tuple(json.loads(json.dumps(found)))


def alike(before: tuple[Any, ...], now: tuple[Any, ...]) -> bool:
    """Return whether things look as they did; those that are told apart by their place alone must be where they were.
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

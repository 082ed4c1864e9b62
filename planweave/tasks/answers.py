"""A person's answers to what was not clear in the sentence of a task: asked for, recorded, and applied."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.core.workflow.question import MOST_QUESTIONS, AmbiguityError, Clarification, Reply, UserQuestion
from planweave.core.workflow.reading import Reading, as_texts, from_texts
from planweave.goals import read_answer
from planweave.tasks.memory import Memory, alike, looks

if TYPE_CHECKING:
    from planweave.tasks.task import Task


@dataclass(frozen=True)
class Answers:
    """sentence: said in place of the task's, "" for none; clarifications: of it; reading: the one that was chosen;
    number: of the questions that were answered; entries: their ids in the memory; recalled: whether the memory answered
    one.
    """

    sentence: str = ""
    clarifications: tuple[Clarification, ...] = ()
    reading: Reading | None = None
    number: int = 0
    entries: tuple[int, ...] = ()
    recalled: bool = False

    def after(self, event: Mapping[str, Any]) -> Answers:
        """The answers with one more, as the event `answered` of a record tells it."""
        entries = (*self.entries, event["entry"]) if "entry" in event else self.entries
        recalled = self.recalled or bool(event.get("recalled"))
        more = replace(self, number=self.number + 1, entries=entries, recalled=recalled)
        if event.get("sentence"):
            return replace(more, sentence=event["sentence"], clarifications=())
        if event.get("goal"):
            return replace(more, reading=Reading(source=event["source"], **from_texts(event)))
        if event.get("outdated"):
            return more
        new = Clarification(event["phrase"], event["at"], tuple(event["meant"]))
        kept = tuple(c for c in self.clarifications if (c.at, c.text) != (new.at, new.text))
        return replace(more, clarifications=(*kept, new))

    def recalling(self, entries: Iterable[int]) -> Answers:
        """The answers with names that were remembered."""
        new = [number for number in entries if number not in self.entries]
        return replace(self, entries=(*self.entries, *new), recalled=True) if new else self

    def told(self, sentence: str) -> str:
        """The sentence of a task as planners are told it, with what was answered."""
        said = "; ".join(f"{c.text!r} means {' and '.join(c.meant)}" for c in self.clarifications)
        return (self.sentence or sentence) + (f" ({said})" if said else "")


def ask(
    task: Task,
    error: AmbiguityError,
    domain: Domain,
    observe: Callable[[], World],
    meanwhile: AbstractContextManager[None],
    memory: Memory,
) -> None:
    """Ask a person what the sentence of a task means, wait for the answer, and record it in the task and in the memory;
    what a person has answered before is not asked again. A choice of things that have changed since it was shown counts
    as a question, and is not taken.

    Raises the error where nobody is asked, GoalError after the last question that a task may ask, and CanceledError
    where no answer comes in time or the task is cancelled meanwhile. observe: gives the newest world, in which words
    are read; meanwhile: entered once the question can be answered, left with the answer.
    """
    if task.inquiry is None:
        raise error
    if task.answers.number >= MOST_QUESTIONS:
        raise GoalError(f"after {MOST_QUESTIONS} answers it is still not clear what is meant: {error}; say it anew")
    sentence = task.answers.sentence or task.status.sentence
    world = observe()
    known = memory.recall(sentence, error.question, world)
    if known is not None:
        entry, index = known
        found = Reply(index, person=entry.person)
        _record(task, error.question, found, {"entry": entry.id, "recalled": True})
        return
    labels = [choice.label for choice in error.question.choices]
    left = {"not_covered": [*error.not_covered]} if error.not_covered else {}
    task.journal.add("asked", question=error.question.text, choices=labels, phrase=error.question.phrase, **left)
    question, reply = task.inquiry.ask(
        error.question,
        task.answers.number + 1,
        lambda text: read_answer(domain, observe(), error.question, text),
        task.canceled,
        meanwhile,
    )
    more: dict[str, Any] = {}
    if reply.choice is not None and not alike(looks(question, world), looks(question, observe())):
        more["outdated"] = True
    elif reply.choice is not None:
        more["entry"] = memory.learn(sentence, question, reply.choice, reply.person, observe())
    _record(task, question, reply, more)


def _record(task: Task, question: UserQuestion, reply: Reply, more: dict[str, Any]) -> None:
    """Apply an answer to a task, and write it to its record."""
    event: dict[str, Any] = {"question": question.text, "person": reply.person, "text": reply.text, **more}
    if reply.choice is None:
        event["sentence"] = reply.text
    else:
        chosen = question.choices[reply.choice]
        event["choice"] = chosen.label
        if chosen.goal:
            event |= {**as_texts(chosen), "source": question.source}
        else:
            meant = chosen.objects or (chosen.word,)
            event |= {"phrase": question.phrase, "at": question.at, "meant": list(meant)}
    task.journal.add("answered", **event)
    task.answers = task.answers.after(event)

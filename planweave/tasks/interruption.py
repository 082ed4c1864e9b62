"""Progress of a task whose process was killed, from its record."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.workflow.reading import Reading, from_texts
from planweave.tasks.answers import Answers
from planweave.tasks.task_store import Kept

_NOT_BEGUN = ("submitted", "interrupted", "paused", "resumed")


@dataclass(frozen=True)
class Interruption:
    """began: whether the task had been begun; done: the actions that were carried out; under_way: the one whose outcome
    nobody knows; read: as it was understood, None where it was not read yet; answers: what people have answered to
    questions about the sentence; paused: by whom and why, None where it was not paused.
    """

    began: bool
    done: tuple[str, ...]
    under_way: str
    read: Reading | None
    answers: Answers
    paused: tuple[str, str] | None = None

    @classmethod
    def of(cls, kept: Kept) -> Interruption:
        """Read the record of a task that has not ended."""
        events = kept.events()
        done: list[str] = []
        under_way, read, answers, paused = "", None, Answers(), None
        for event in events:
            if event["event"] == "goal":
                read = Reading(source="given", **from_texts(event))
            elif event["event"] == "answered":
                answers = answers.after(event)
            elif event["event"] == "begun":
                under_way = event["action"]
            elif event["event"] == "action":
                under_way = event["action"] if event["code"] == "CANCELED" else ""  # it may have come to anything
                done += [event["action"]] if event["code"] == "SUCCESS" else []
            elif event["event"] == "paused":
                paused = event["by"], event["reason"]
            elif event["event"] == "resumed":
                paused = None
        began = any(event["event"] not in _NOT_BEGUN for event in events)
        return cls(began, tuple(done), under_way, read, answers, paused)

    @property
    def moved(self) -> bool:
        """Return whether anything may have moved."""
        return bool(self.done or self.under_way)

    @property
    def message(self) -> str:
        """Words for what was done, for people and planners."""
        done = f"done so far: {', '.join(self.done)}" if self.done else "nothing was done yet"
        under_way = f"; under way was {self.under_way}, how it ended is not known" if self.under_way else ""
        return f"the task was interrupted and goes on from the world as it is now; {done}{under_way}"

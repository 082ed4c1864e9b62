"""What a process that was killed had done of a task, as the record that it kept tells."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.symbolic.world import Literal
from planweave.tasks.answers import Answers
from planweave.tasks.task_store import Kept

_NOT_BEGUN = ("submitted", "interrupted", "paused", "resumed")


@dataclass(frozen=True)
class Interruption:
    """began: whether the task had been begun; done: the actions that were carried out; under_way: the one whose outcome
    nobody knows; goal: as it was understood, empty where it was not read yet; before: the states to be reached before
    it; keep: what no action may end; answers: what people have answered to
    questions about the sentence; paused: by whom and why, None where it was not paused.
    """

    began: bool
    done: tuple[str, ...]
    under_way: str
    goal: tuple[Literal, ...]
    answers: Answers
    paused: tuple[str, str] | None = None
    before: tuple[tuple[Literal, ...], ...] = ()
    keep: tuple[Literal, ...] = ()

    @classmethod
    def of(cls, kept: Kept) -> Interruption:
        """What the record of a task that has not ended tells."""
        events = kept.events()
        done: list[str] = []
        under_way, goal, answers, paused = "", tuple[Literal, ...](), Answers(), None
        before, keep = tuple[tuple[Literal, ...], ...](), tuple[Literal, ...]()
        for event in events:
            if event["event"] == "goal":
                goal = tuple(map(Literal.parse, event["goal"]))
                before = tuple(tuple(map(Literal.parse, step)) for step in event.get("before", ()))
                keep = tuple(map(Literal.parse, event.get("keep", ())))
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
        return cls(began, tuple(done), under_way, goal, answers, paused, before, keep)

    @property
    def moved(self) -> bool:
        """Whether anything may have moved."""
        return bool(self.done or self.under_way)

    @property
    def message(self) -> str:
        """What was done, for people and planners."""
        done = f"done so far: {', '.join(self.done)}" if self.done else "nothing was done yet"
        under_way = f"; under way was {self.under_way}, how it ended is not known" if self.under_way else ""
        return f"the task was interrupted and goes on from the world as it is now; {done}{under_way}"

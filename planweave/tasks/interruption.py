"""What a process that was killed had done of a task, as the record that it kept tells."""

from __future__ import annotations

from dataclasses import dataclass

from planweave.core.world import Literal
from planweave.tasks.answers import Answers
from planweave.tasks.task_store import Kept


@dataclass(frozen=True)
class Interruption:
    """began: whether the task had been begun; done: the actions that were carried out; under_way: the one whose outcome
    nobody knows; goal: as it was understood, empty where it was not read yet; answers: what people have answered to
    questions about the sentence.
    """

    began: bool
    done: tuple[str, ...]
    under_way: str
    goal: tuple[Literal, ...]
    answers: Answers

    @classmethod
    def of(cls, kept: Kept) -> Interruption:
        """What the record of a task that has not ended tells."""
        events = kept.events()
        done: list[str] = []
        under_way, goal, answers = "", tuple[Literal, ...](), Answers()
        for event in events:
            if event["event"] == "goal":
                goal = tuple(map(Literal.parse, event["goal"]))
            elif event["event"] == "answered":
                answers = answers.after(event)
            elif event["event"] == "begun":
                under_way = event["action"]
            elif event["event"] == "action":
                under_way = ""
                done += [event["action"]] if event["code"] == "SUCCESS" else []
        began = any(event["event"] not in ("submitted", "interrupted") for event in events)
        return cls(began, tuple(done), under_way, goal, answers)

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

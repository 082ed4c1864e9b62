"""Statements of people that hold again (planweave.tasks.memory)."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

ANSWER, NAME, REFUSAL = "answer", "name", "refusal"
"""Kinds of entries."""


@dataclass(frozen=True)
class Remembered:
    """One entry (RememberedAnswer.msg). kind: ANSWER to a question; NAME: the choice is called `phrase` from then on;
    REFUSAL: question is the plan in words, choice the reason, and choices the goal. at: system time, s; looks: of the
    things of each choice.
    """

    id: int
    sentence: str
    question: str
    choice: str
    choices: tuple[str, ...]
    looks: tuple[Any, ...]
    person: str
    at: float
    kind: str = ANSWER
    phrase: str = ""

    @property
    def text(self) -> str:
        """The entry in words, in one line."""
        said = {
            NAME: f'"{self.phrase}" is {self.choice}',
            REFUSAL: f"{self.sentence!r}: refused ({self.question}) since {self.choice}",
        }.get(self.kind, f"{self.sentence!r}: {self.question} → {self.choice}")
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.at))
        return f"{said} ({self.person or 'unnamed'}, {when})"

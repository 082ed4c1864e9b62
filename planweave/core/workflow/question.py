"""Questions to a person about a sentence that is not clear, before anything moves: one gate per task.

A task that cannot tell what is meant asks (`Inquiry.ask`), and waits for `answer`: the number of a choice, or words
that choose one or say the task anew. Silence is no answer: after the deadline the task is cancelled.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from typing import Any

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import CanceledError, GoalError
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.pause import wait_unpaused

MOST_QUESTIONS = 3
"""Questions that one task may ask."""


@dataclass(frozen=True)
class Alternative:
    """One choice of a question (Choice.msg): objects that a phrase may mean, a word that may have been meant, or the
    one reading of the whole sentence (goal, before, keep as in `Reading`). label: the same in words.
    """

    label: str
    objects: tuple[str, ...] = ()
    word: str = ""
    goal: tuple[Literal, ...] = ()
    before: tuple[tuple[Literal, ...], ...] = ()
    keep: tuple[Literal, ...] = ()


@dataclass(frozen=True)
class Clarification:
    """A person's meaning of some words of a sentence. text: those words; at: the number of the first of them, from 0,
    in the sentence as it is read (planweave.goals.sentence_words), or -1: a name, without its article, wherever it
    stands; meant: names of objects, or one word.
    """

    text: str
    at: int
    meant: tuple[str, ...]


@dataclass(frozen=True)
class UserQuestion:
    """A question to a person (Question.msg). phrase, at: the words in doubt, as in Clarification; empty where whole
    readings are to choose from, then source says who read them. naming: nothing is called as the phrase says, so that
    what is chosen is called so from now on. id and deadline (s of system time) are set when it is asked.
    """

    text: str
    choices: tuple[Alternative, ...]
    phrase: str = ""
    at: int = -1
    source: str = "grammar"
    naming: bool = False
    id: str = ""
    deadline: float = 0.0

    @property
    def offer(self) -> str:
        return "; ".join(f"{number}: {choice.label}" for number, choice in enumerate(self.choices, 1))


class AmbiguityError(GoalError):
    """A sentence that a person's answer would make clear. question: what to ask; where nobody can be asked, the message
    refuses the sentence.
    """

    code = "ambiguous"

    def __init__(self, message: str, question: UserQuestion, not_covered: Sequence[str] = ()):
        super().__init__(message, not_covered)
        self.question = question


@dataclass(frozen=True)
class Reply:
    """A person's answer. choice: index of a choice, None where the sentence is said anew; person: who answered, as the
    sender of the answer tells; nobody checks it. text: the answer's words, where it was given in words.
    """

    choice: int | None
    text: str = ""
    person: str = ""


class Inquiry:
    """The questions of one task. seconds: how long each waits for an answer, after which the task is cancelled."""

    def __init__(self, task_id: str, seconds: float):
        self._task_id, self._seconds = task_id, seconds
        self._answered = threading.Condition()
        self._reply: Reply | None = None
        self._read: Callable[[str], int | None] = lambda text: None
        self.shown: UserQuestion | None = None  # the question that waits
        self.waiting = False
        self.paused: Callable[[], bool] = lambda: False  # whether the time to answer stands still

    def ask(
        self,
        question: UserQuestion,
        number: int,
        read: Callable[[str], int | None],
        canceled: Cancellation,
        meanwhile: AbstractContextManager[None],
    ) -> tuple[UserQuestion, Reply]:
        """The question as it was asked, and its answer; it waits inside of `meanwhile`.

        number: of the question in its task, from 1. read: index of the choice that a text means, None where it is a
        sentence of its own; raises GoalError where it is neither. Raises CanceledError where no answer comes in time,
        or the task is cancelled meanwhile.
        """
        name = _question_id(self._task_id, number, question)
        asked = replace(question, id=name, deadline=time.time() + self._seconds)
        with self._answered:
            self._reply, self._read, self.shown, self.waiting = None, read, asked, True
        with meanwhile:
            try:
                wait_unpaused(self._answered, lambda: self._reply is not None, self._seconds, self.paused, canceled)
            finally:
                with self._answered:
                    reply = self._reply
                    self.waiting, self.shown = False, None
            canceled.check()
            if reply is None:
                raise CanceledError(
                    f"the question was not answered within {self._seconds:g} s, so the task is cancelled; nothing was "
                    f"moved. It was: {question.text} ({'; '.join(c.label for c in question.choices)})"
                )
        return asked, reply

    def answer(self, question_id: str, choice: int = 0, text: str = "", person: str = "") -> str:
        """Record an answer to the question that waits; returns the label of what was chosen, or the new sentence.

        choice: its number, from 1; 0: `text` is the answer. Raises GoalError where no question waits, another one does,
        or the answer is none of the choices.
        """
        with self._answered:
            question, read = self._pending(question_id), self._read
        if bool(choice) == bool(text):
            raise GoalError(
                f"answer with the number of a choice or with words, not with both or none; {question.offer}"
            )
        if choice and not 1 <= choice <= len(question.choices):
            raise GoalError(f"there is no choice {choice}; {question.offer}")
        index = choice - 1 if choice else read(text)
        with self._answered:
            self._pending(question_id)
            self._reply = Reply(index, text, person)
            self._answered.notify_all()
        return text if index is None else question.choices[index].label

    def _pending(self, question_id: str) -> UserQuestion:
        if not self.waiting or self.shown is None:
            raise GoalError("no question of this task waits for an answer; `planweave status` says what it does")
        if question_id != self.shown.id:
            raise GoalError(
                f"the question that waits is {self.shown.id}, not {question_id[:100] or 'empty'}: read it again "
                "(planweave answer) and send its id"
            )
        if self._reply is not None:
            raise GoalError("this question has been answered already; `planweave status` says how the task goes on")
        return self.shown


def _question_id(task_id: str, number: int, question: UserQuestion) -> str:
    """The first 12 hexadecimal digits of a SHA-256: the same for the same question asked again after a restart."""
    lines = [task_id, str(number), question.text, *(choice.label for choice in question.choices)]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()[:12]


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
        said = {
            NAME: f'"{self.phrase}" is {self.choice}',
            REFUSAL: f"{self.sentence!r}: refused ({self.question}) since {self.choice}",
        }.get(self.kind, f"{self.sentence!r}: {self.question} → {self.choice}")
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(self.at))
        return f"{said} ({self.person or 'unnamed'}, {when})"

"""Show the question that waits for an answer, and answer it. Nothing moves before.

Where a sentence is not clear ("put the cube in the tray" with three cubes) the task asks what is meant. The answer is
the number of a choice, words that choose one, or the task said anew. Without an answer in time the task is cancelled.

examples:
  planweave answer                       # shows the question and asks
  planweave answer 2
  planweave answer --task task-3 "the left one"
  planweave answer "put the green cube in the left tray"
  planweave answer --json                # the question only; answer with: planweave answer --question ID NUMBER
"""

from __future__ import annotations

import argparse
import json
import select
import sys
from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import GoalError, PlanweaveError
from planweave.core.workflow.question import UserQuestion
from planweave.core.workflow.reading import as_texts
from planweave.core.workflow.task_status import TaskStatus

if TYPE_CHECKING:
    from rich.console import Console

    from planweave.cli.progress import Progress
    from planweave_ros.client import Client, TaskResult

_PROMPT = "your answer (a number, or words): "


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "answer", nargs="*", metavar="CHOICE|TEXT", help="number of a choice, words that choose one, or the task anew"
    )
    parser.add_argument("--task", default="", metavar="ID", help="the task (default: the one that waits)")
    parser.add_argument(
        "--question", default="", metavar="ID", help="id of the question that was read; any other is refused"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output and nothing else")


def main(options: argparse.Namespace) -> int:
    from rich.console import Console

    from planweave_ros.client import Client

    said = " ".join(options.answer).strip()
    with Client() as client:
        status, question = waiting_question(client, options.task)
        if not said and options.json:
            told = {"success": False, "task_id": status.task_id, "sentence": status.sentence}
            print(json.dumps({**told, "question": question_json(question)}))
            return 1
        if not said:
            show(Console(), status)
            if not sys.stdin.isatty():
                print("not answered: there is no terminal to ask on; give a number or words", file=sys.stderr)
                return 1
            said = input(_PROMPT).strip()
        if not said:
            raise GoalError("the answer is empty: give the number of a choice, or words")
        message = send(client, status.task_id, options.question or question.id, said)
    print(json.dumps({"success": True, "message": message}) if options.json else message)
    return 0


def waiting_question(client: Client, task_id: str = "") -> tuple[TaskStatus, UserQuestion]:
    """The task that waits for an answer, and its question; raises GoalError where there is none."""
    waiting = [(t, t.question) for t in client.tasks() if t.question is not None and task_id in ("", t.task_id)]
    if not waiting:
        of = f" of {task_id}" if task_id else ""
        raise GoalError(f"no question{of} waits for an answer; planweave status says what runs")
    if len(waiting) > 1:
        which = "; ".join(f"{status.task_id}: {question.text}" for status, question in waiting)
        raise GoalError(f"{len(waiting)} tasks wait for an answer; name one (--task): {which}")
    return waiting[0]


def send(client: Client, task_id: str, question_id: str, said: str) -> str:
    """Send an answer as a person writes it, a number or words; returns the message, raises where it is rejected."""
    if said.isdecimal() and len(said) < 5:
        return client.answer(task_id, question_id, choice=int(said)) if int(said) else _none(said)
    return client.answer(task_id, question_id, text=said)


def _none(said: str) -> str:
    raise GoalError(f"there is no choice {said}: they are numbered from 1")


def question_json(question: UserQuestion) -> dict[str, Any]:
    """A question as plain JSON values; deadline in s of system time."""
    choices = [
        {"choice": number, "label": c.label, "objects": list(c.objects), **as_texts(c)}
        for number, c in enumerate(question.choices, 1)
    ]
    return {"id": question.id, "text": question.text, "choices": choices, "deadline": float(question.deadline)}


def question_lines(question: UserQuestion) -> list[str]:
    return [question.text, *(f"  {number}. {choice.label}" for number, choice in enumerate(question.choices, 1))]


def show(console: Console, status: TaskStatus) -> None:
    lines = question_lines(status.question) if status.question else []
    for line in [f"{status.task_id}: {status.sentence}", *lines]:
        console.print(line, highlight=False, markup=False)


class Prompt(ABC):
    """Asks a person while a task is monitored, interactively on a terminal."""

    def __init__(self, client: Client, console: Console, progress: Progress):
        self._client, self._console, self._progress = client, console, progress
        self._status: TaskStatus | None = None
        self._asked = ""  # id of what the person was asked last
        self._open = False  # whether an answer is still to come

    def status(self, status: TaskStatus) -> None:
        self._status = status

    def look(self) -> None:
        """Ask where something waits; send the answer once given. Returns at once."""
        status = self._status
        waits = self._waits(status) if status is not None else ""
        if self._open and waits != self._asked:
            self._asked = ""  # it may be asked once more, as after a pause
            self._close()
        if status is None or not waits:
            return
        if waits != self._asked:
            self._asked = waits
            self._progress.pause()
            self._ask(status)
        elif self._open and select.select([sys.stdin], [], [], 0.0)[0]:
            self._take(status, sys.stdin.readline())

    @property
    def _interactive(self) -> bool:
        return sys.stdin.isatty() and self._console.is_terminal

    def _close(self) -> None:
        self._open = False
        self._progress.resume()

    @abstractmethod
    def _waits(self, status: TaskStatus) -> str:
        """The id of what waits for an answer, "" where nothing does."""

    @abstractmethod
    def _ask(self, status: TaskStatus) -> None:
        """Show it, and open the prompt where somebody can answer."""

    @abstractmethod
    def _take(self, status: TaskStatus, line: str) -> None:
        """Send what was typed; "" where the terminal is gone."""


class QuestionAsker(Prompt):
    """Asks what a task asks; where there is no terminal, nobody would answer in time: the task is cancelled, and the
    question is its error.
    """

    _unanswered: UserQuestion | None = None  # which ended the task

    def told(self, result: TaskResult) -> TaskResult:
        """The result of the task; of one that ended at a question, with that question."""
        if (question := self._unanswered) is None:
            return result
        message = f"not clear: {question.text} {question.offer}; say it in the sentence"
        return replace(result, message=message, status=replace(result.status, question=question, message=message))

    def _waits(self, status: TaskStatus) -> str:
        return status.question.id if status.question is not None else ""

    def _ask(self, status: TaskStatus) -> None:
        question = status.question
        assert question is not None
        if self._interactive:
            show(self._console, status)
            self._open = True
            self._console.print(_PROMPT, end="", markup=False)
            return
        how = "there is no terminal to answer at, so the task is cancelled: say it in the sentence"
        if self._console.quiet:  # standard output is for the result alone
            print("\n".join([*question_lines(question), how]), file=sys.stderr, flush=True)
        else:
            show(self._console, status)
            self._console.print(how, markup=False)
        self._progress.resume()
        self._unanswered = question
        self._client.cancel(status.task_id)

    def _take(self, status: TaskStatus, line: str) -> None:
        """Send what was typed; ask once more where it is rejected."""
        if line:
            try:
                if not line.strip():
                    raise GoalError("the answer is empty; Ctrl-C cancels the task")
                said = send(self._client, status.task_id, self._asked, line.strip())
            except PlanweaveError as error:
                self._console.print(str(error), markup=False, highlight=False)
                self._console.print(_PROMPT, end="", markup=False)
                return
            self._console.print(said, markup=False, highlight=False)
        self._close()

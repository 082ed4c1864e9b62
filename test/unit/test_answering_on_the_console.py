"""planweave run and planweave answer: a question is shown with numbers, what is typed is sent, a refusal is told."""

import io
import os
import time
from dataclasses import replace

import pytest
from codes import raises_code
from rich.console import Console

from planweave.cli.answer import QuestionAsker, question_json, send, waiting_question
from planweave.cli.results import result_json
from planweave.core.base.errors import GoalError
from planweave.core.workflow.question import Alternative, UserQuestion
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave_ros.client import TaskResult

QUESTION = UserQuestion(
    'which is meant by "the cube"?',
    (Alternative("red cube", ("red_cube",)), Alternative("blue cube", ("blue_cube",))),
    id="0123456789ab",
)
WAITS = TaskStatus("task-1", "move the cube", "classical", TaskState.AWAITING_ANSWER, question=QUESTION)


class Answered:
    """The client's calls, kept; "no" is refused."""

    def __init__(self, *tasks):
        self.sent, self.cancelled, self._tasks = [], [], list(tasks)

    def tasks(self, limit=0):
        return self._tasks

    def answer(self, task_id, question_id, choice=0, text="", agent=False):
        if text == "no":
            raise GoalError("'no' does not choose one of these")
        self.sent.append((task_id, question_id, choice, text))
        return "understood"

    def cancel(self, task_id=""):
        self.cancelled.append(task_id)


class NoProgress:
    def pause(self):
        """Nothing is shown that could be in the way."""

    resume = pause


@pytest.fixture
def typed(monkeypatch):
    """A terminal: typed(text) types into it."""
    reader, writer = os.pipe()
    stdin = os.fdopen(reader, encoding="utf-8", buffering=1)

    class Terminal:
        def __getattr__(self, name):
            return getattr(stdin, name)

        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal())
    yield lambda text: os.write(writer, text.encode())
    os.close(writer)
    stdin.close()


def test_a_number_is_a_choice_and_the_rest_are_words():
    client = Answered()
    send(client, "task-1", QUESTION.id, "2")
    send(client, "task-1", QUESTION.id, "the left one")
    assert [sent[2:] for sent in client.sent] == [(2, ""), (0, "the left one")]
    with raises_code("goal", "choice 0"):
        send(client, "task-1", QUESTION.id, "0")


def test_the_task_that_waits_is_found_or_it_is_said_that_none_does():
    other = TaskStatus("task-2", "x", "classical", TaskState.RUNNING)
    assert waiting_question(Answered(WAITS, other)) == (WAITS, QUESTION)
    with raises_code("goal", "task-2"):
        waiting_question(Answered(WAITS, other), "task-2")
    with raises_code("goal", "2 tasks"):
        waiting_question(Answered(WAITS, replace(WAITS, task_id="task-3")))
    told = question_json(QUESTION)
    assert told["id"] == QUESTION.id and told["choices"][1] == {
        "choice": 2,
        "label": "blue cube",
        "objects": ["blue_cube"],
        "goal": [],
        "before": [],
        "keep": [],
    }


def test_on_a_terminal_it_asks_until_an_answer_is_taken(typed):
    client, shown = Answered(), io.StringIO()
    asker = QuestionAsker(client, Console(file=shown, force_terminal=True), NoProgress())
    asker.status(WAITS)
    asker.look()
    assert "1. red cube" in shown.getvalue() and "your answer" in shown.getvalue()
    asker.look()
    assert not client.sent, "nothing was typed yet"
    typed("no\n")
    asker.look()
    assert "does not choose" in shown.getvalue() and not client.sent
    typed("2\n")
    deadline = time.monotonic() + 30
    while not client.sent and time.monotonic() < deadline:
        asker.look()
    assert client.sent == [("task-1", QUESTION.id, 2, "")]


@pytest.mark.parametrize("quiet", [False, True])
def test_without_a_terminal_the_question_is_the_error(monkeypatch, capsys, quiet):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    written, client = io.StringIO(), Answered()
    asker = QuestionAsker(client, Console(quiet=True) if quiet else Console(file=written), NoProgress())
    asker.status(WAITS)
    asker.look()
    asker.look()
    shown = capsys.readouterr().err if quiet else written.getvalue()
    assert client.cancelled == ["task-1"] and shown.count("no terminal to answer at") == 1
    assert "2. blue cube" in shown and "planweave answer" not in shown
    told = result_json(asker.told(TaskResult(False, "cancelled by request", replace(WAITS, question=None), {}, ())))
    assert told["question"] == question_json(QUESTION) and told["code"] == "ambiguous"


def test_a_result_without_an_open_question_is_told_as_it_is():
    result = TaskResult(False, "cancelled by request", replace(WAITS, question=None), {}, ())
    assert QuestionAsker(Answered(), Console(file=io.StringIO()), NoProgress()).told(result) is result

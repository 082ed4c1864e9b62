"""The life of a task: queue, cancellation, fallback, goal check, and that nothing takes the manager down."""

import pytest
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from feedback_node.methods import METHODS
from feedback_node.task_manager import TaskManager
from planweave.budget import Usage
from planweave.errors import GoalError, ModelUnavailableError, ParseError, SystemDownError, UnknownNameError
from planweave.failure import Code
from planweave.ports import Candidate
from planweave.task import TaskState
from planweave.world import Action

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
GOOD = plan("grasp(a); place_in(a, tray)", 3)


@pytest.fixture
def start():
    managers = []

    def make(planner=None, body=None, **options):
        planner = planner or ScriptedPlanner([GOOD], goal="in(a, tray)")
        body = body or SymbolicBody(WORLD)
        managers.append(TaskManager(planner, body, lambda name: METHODS[name](), **options))
        return managers[-1], planner, body

    yield make
    for manager in managers:
        manager.close()


def ended(task):
    assert task.ended.wait(10)
    return task.status


def test_success_means_that_the_goal_holds(start):
    manager, _, body = start()
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and status.unmet == ()
    assert body.done == ["grasp(a)", "place_in(a, tray)"] and not status.fallback
    assert status.goal_source == "grammar"


def test_steps_that_end_without_the_goal_are_a_failure(start):
    manager, _, body = start(ScriptedPlanner([plan("grasp(a)")], goal="in(a, tray)"), fallback="")
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.FAILED and [str(u) for u in status.unmet] == ["in(a, tray)"]
    assert "the a is not in the tray" in status.message


@pytest.mark.parametrize("planner", [
    ScriptedPlanner([plan("grasp(b)")], goal="in(a, tray)"),
    ScriptedPlanner(error=ModelUnavailableError("nobody listens at http://127.0.0.1:9"), goal="in(a, tray)"),
])
def test_the_fallback_takes_over_and_says_so(start, planner):
    manager, _, body = start(planner)
    task = manager.submit("put a in the tray")
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED and status.fallback
    assert task.journal.events("fallback")[0]["method"] == "classical"


def test_a_model_that_is_down_is_named_where_there_is_no_fallback(start):
    manager, _, _ = start(ScriptedPlanner(error=ModelUnavailableError("nobody listens"), goal="in(a, tray)"),
                          fallback="")
    assert "nobody listens" in ended(manager.submit("put a in the tray")).message


@pytest.mark.parametrize("fallback", ["", "classical"])
def test_replies_that_could_not_be_read_are_counted(start, fallback):
    error = ParseError("none of 25 replies holds a plan")
    error.usage = Usage(1, 700, 0, 90, model="small")
    manager, _, _ = start(ScriptedPlanner(error=error, goal="in(a, tray)"), fallback=fallback)
    used = ended(manager.submit("put a in the tray")).usage
    assert (used.requests, used.prompt_tokens, used.completion_tokens, used.model) == (1, 700, 90, "small")


def test_recovery_from_a_failed_grasp(start):
    manager, _, body = start(body=SymbolicBody(WORLD, {"grasp(a)": [(Code.NO_GRASP, "closed on nothing")]}))
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.SUCCEEDED and status.corrections == 1 and status.fallback


def test_what_a_person_says_reaches_the_method_and_the_record(start):
    step = Candidate("grasp(a)", Action.parse("grasp(a)"))
    planner = ScriptedPlanner(goal="in(a, tray)", steps=[step, Candidate("place_in", Action.parse("place_in(a, tray)")),
                                                         Candidate("end", None)])
    manager, _, body = start(planner)
    body.hold.clear()
    task = manager.submit("put a in the tray", "iterative")
    assert body.began.wait(10)
    assert manager.say("", "  mind the glass ") is task  # the running one
    with pytest.raises(GoalError, match="empty"):
        manager.say(task.status.task_id, " ")
    with pytest.raises(GoalError, match="3000 characters"):
        manager.say(task.status.task_id, "x" * 3000)
    with pytest.raises(GoalError, match="control characters"):
        manager.say(task.status.task_id, "a\x00")
    with pytest.raises(UnknownNameError, match="task-99"):
        manager.say("task-99", "hello")
    body.hold.set()
    assert ended(task).state is TaskState.SUCCEEDED
    assert [row[3] for row in planner.asked if row[0] == "propose"] == [(), ("mind the glass",), ()]
    assert [e["text"] for e in task.journal.events("said")] == ["mind the glass"]
    with pytest.raises(GoalError, match="has ended already"):
        manager.say(task.status.task_id, "too late")
    with pytest.raises(GoalError, match="no task is running"):
        manager.say("", "anybody?")


@pytest.mark.parametrize("sentence, words", [("", "empty"), ("   ", "empty"), ("x" * 10_000, "10000 characters"),
                                             ("put\x00it", "control characters")])
def test_sentences_that_are_not_accepted(start, sentence, words):
    manager, _, _ = start()
    with pytest.raises(GoalError, match=words):
        manager.submit(sentence)
    assert manager.tasks() == []


def test_unknown_method_names_those_there_are(start):
    manager, _, _ = start()
    with pytest.raises(UnknownNameError, match="did you mean 'tree_planner'"):
        manager.submit("put a in the tray", "tree_planer")


@pytest.mark.parametrize("goal, words", [("in(c, tray)", "unknown object 'c'"), ("inside(a, tray)", "unknown pred"),
                                         ("in(a, plate)", "must be: container"), ("in(a)", "takes 2 arg")])
def test_a_given_goal_is_checked(start, goal, words):
    manager, _, _ = start()
    status = ended(manager.submit("", goal=literals(goal)))
    assert status.state is TaskState.FAILED and words in status.message


def test_a_given_goal_needs_no_sentence_and_no_interpretation(start):
    manager, planner, _ = start()
    status = ended(manager.submit("", "classical", literals("on(b, plate)")))
    assert status.state is TaskState.SUCCEEDED and status.goal_source == "given" and planner.asked == []


def test_a_goal_that_can_never_hold(start):
    manager, _, _ = start(body=SymbolicBody(tabletop("a: item; tray: container", unreachable=["a"])))
    status = ended(manager.submit("put a in the tray"))
    assert status.state is TaskState.FAILED and "out of reach" in status.message


def test_a_goal_that_holds_already_moves_nothing(start):
    manager, planner, body = start(ScriptedPlanner(goal="at(a, table)"))
    assert "already" in ended(manager.submit("put a on the table")).message
    assert body.done == []


def test_one_task_at_a_time_in_order_and_cancel_of_running_and_queued(start):
    manager, _, body = start()
    body.hold.clear()
    first, second, third = (manager.submit(f"put a in the tray {i}") for i in range(3))
    assert body.began.wait(10)
    assert [t.snapshot().state.name for t in (first, second, third)] == ["RUNNING", "QUEUED", "QUEUED"]
    manager.cancel(second.status.task_id)
    assert ended(second).state is TaskState.CANCELED
    manager.cancel()
    body.hold.set()
    assert ended(first).state is TaskState.CANCELED
    assert ended(third).state is TaskState.SUCCEEDED
    with pytest.raises(GoalError, match="ended already"):
        manager.cancel(first.status.task_id)
    with pytest.raises(UnknownNameError):
        manager.cancel("task-99")


def test_cancel_without_a_running_task(start):
    manager, _, _ = start()
    with pytest.raises(GoalError, match="no task is running"):
        manager.cancel()


def test_a_queue_that_is_full(start):
    manager, _, body = start(max_queue=1)
    body.hold.clear()
    manager.submit("one")
    assert body.began.wait(10)
    manager.submit("two")
    with pytest.raises(GoalError, match="wait already"):
        manager.submit("three")
    body.hold.set()


class BrokenBody(SymbolicBody):
    def observe(self, revision=0):
        raise self.error


@pytest.mark.parametrize("error, words", [(SystemDownError("no body reports the world"), "no body reports"),
                                          (RuntimeError("boom"), "internal error")])
def test_whatever_happens_the_task_ends_and_the_next_is_served(start, error, words):
    body = BrokenBody(WORLD)
    body.error = error
    manager, _, _ = start(body=body)
    assert words in ended(manager.submit("put a in the tray")).message
    body.observe = lambda revision=0: SymbolicBody.observe(body)
    assert ended(manager.submit("put a in the tray")).state is TaskState.SUCCEEDED


def test_the_journal_is_also_a_file(start, tmp_path):
    manager, _, _ = start(journal_folder=tmp_path)
    task = manager.submit("put a in the tray")
    ended(task)
    lines = (tmp_path / f"{task.status.task_id}.jsonl").read_text().splitlines()
    assert len(lines) == len(task.journal.events()) and '"event": "ended"' in lines[-1]

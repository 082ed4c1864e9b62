"""What is not clear is asked before anything moves, and answered by a choice, by words or by saying it anew."""

import json
import sqlite3
import threading
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.approving import ended
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop

from planweave.cli import main as cli
from planweave.core.base.errors import GoalError, ModelUnavailableError, UnknownNameError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.question import AmbiguityError, Clarification
from planweave.core.workflow.reading import Reading
from planweave.core.workflow.task_status import TaskState
from planweave.goals import read_answer, which_reading
from planweave.llm.clients.base import ChatReplies, ChatReply
from planweave.methods import METHODS
from planweave.methods.language.interpret import interpret
from planweave.tasks.task_manager import TaskManager
from planweave.tasks.task_store import TaskStore

DOMAIN = Domain.load("tabletop")
PLACES = {
    "red_cube": (0.5, 0.2, 0.02),
    "green_cube": (0.5, 0.0, 0.02),
    "red_cube_2": (0.5, -0.2, 0.02),
    "banana": (0.6, 0.1, 0.02),
}


def table():
    made = tabletop(
        "red_cube green_cube red_cube_2 banana: item; left_tray right_tray: container; plate: surface; table: location",
        "at(red_cube, table); at(red_cube_2, table); at(green_cube, table); at(banana, table)",
    )
    objects = (
        replace(
            o,
            position=PLACES.get(o.name),
            size=(0.04, 0.04, 0.04),
            attributes={"colour": o.name.partition("_")[0]} if "cube" in o.name else {},
        )
        for o in made.objects
    )
    return replace(made, objects=tuple(objects))


WORLD = table()


def no_model(messages, schema):
    raise ModelUnavailableError("there is none")


def read(sentence, *clarifications, ask=no_model):
    return interpret(DOMAIN, WORLD, sentence, ask, clarifications=clarifications)


def question(sentence, *clarifications, ask=no_model):
    with pytest.raises(AmbiguityError) as unclear:
        read(sentence, *clarifications, ask=ask)
    return unclear.value.question


def answered(asked, index):
    chosen = asked.choices[index]
    return Clarification(asked.phrase, asked.at, chosen.objects or (chosen.word,))


def goal_of(text):
    return tuple(map(Literal.parse, text.split("; ")))


@pytest.mark.parametrize(
    ("sentence", "answers", "goal"),
    [
        ("put the green cube in the tray", ["right_tray"], "in(green_cube, right_tray)"),
        ("put the cube in the tray", ["left_tray", "red_cube_2"], "in(red_cube_2, left_tray)"),
        ("put the red cube in the left tray", ["red_cube_2"], "in(red_cube_2, left_tray)"),
        ("put the cube on the cube", ["green_cube", "red_cube"], "on(red_cube, green_cube)"),
        ("put the two red cubes and the banana in the tray", ["left_tray"], None),
        (
            "put the two cubes in the left tray",
            ["red_cube red_cube_2"],
            "in(red_cube, left_tray); in(red_cube_2, left_tray)",
        ),
        ("put the qwertz in the left tray", ["banana"], "in(banana, left_tray)"),
        ("put the green cube in the bix", ["right_tray"], "in(green_cube, right_tray)"),
        ("put the shiny green cube on the plate", ["green_cube"], "on(green_cube, plate)"),
        ("put the yellow cube on the plate", ["green_cube"], "on(green_cube, plate)"),
        (
            "take the green cube and the banana and put it on the plate",
            ["banana"],
            "holding(green_cube); on(banana, plate)",
        ),
    ],
)  # fmt: skip
def test_answers_make_a_sentence_clear(sentence, answers, goal):
    given = []
    for answer in answers:
        asked = question(sentence, *given)
        index = [" ".join(c.objects) for c in asked.choices].index(answer)
        given.append(answered(asked, index))
    found = read(sentence, *given)
    if goal is None:
        goal = "in(red_cube, left_tray); in(red_cube_2, left_tray); in(banana, left_tray)"
    assert found.goal == goal_of(goal)
    assert found.source == "grammar" and found.understood.startswith("in the end")


def test_things_of_one_name_are_told_apart_by_where_they_are():
    asked = question("put the red cube in the left tray")
    assert [c.label for c in asked.choices] == ["red cube, on the left", "red cube 2, on the right"]
    assert "the robot's" in asked.text, "whose left and right"


def test_a_phrase_that_occurs_twice_is_asked_about_where_it_stands():
    assert "put the cube on [the cube]" in question("put the cube on the cube").text


def test_the_message_without_a_person_is_that_of_before():
    with raises_code("ambiguous", "'the red cube'", "red_cube", "red_cube_2"):
        read("put the red cube in the left tray")


def test_too_many_choices_are_no_question():
    names = " ".join(f"cube_{n}" for n in range(13))
    many = tabletop(f"{names}: item; tray: container; table: location")
    with raises_code("goal", "'the cube'", "cube_12") as refused:
        interpret(DOMAIN, many, "put the cube in the tray", no_model)
    assert not isinstance(refused.value, AmbiguityError)


def test_an_answer_that_does_not_fit_any_more_is_asked_anew():
    gone = Clarification("the red cube", 1, ("blue_cube",))
    assert len(question("put the red cube in the left tray", gone).choices) == 2


def replies(*goals):
    words = ["I would love = politeness", "contained by something = in"]
    texts = [json.dumps({"goal": [goal], "words": words}) for goal in goals]
    return lambda messages, schema: ChatReplies(tuple(ChatReply(text) for text in texts), Usage(1))


def test_readings_of_a_model_that_disagree_are_asked_about():
    asked = question(
        "I would love the banana to be contained by something",
        ask=replies("in(banana, left_tray)", "in(banana, right_tray)"),
    )
    assert {c.goal for c in asked.choices} == {goal_of("in(banana, left_tray)"), goal_of("in(banana, right_tray)")}
    assert asked.source == "model" and "banana" in asked.choices[0].label
    assert "'contained'" in asked.text and "only guess" in asked.text  # which word was not understood


@pytest.mark.parametrize(
    ("text", "chosen"),
    [
        ("2", 1), ("number 1", 0), ("the left one", 0), ("right", 1), ("the cube on the left", 0), ("leftmost", 0),
        ("red_cube_2", 1), ("Red cube 2.", 1), ("the left one please", 0),
        ("red cube 2, on the right", 1),
    ],
)  # fmt: skip
def test_words_choose(text, chosen):
    assert read_answer(DOMAIN, WORLD, question("put the red cube in the left tray"), text) == chosen


@pytest.mark.parametrize(
    "text",
    [
        "3", "the red one", "red cube", "the red cube", "a cube", "any", "both", "it", "the banana", "left or right",
        "not the left one", "yes", "hmm", "what is there?", "in(nothing, left_tray)", "put the frobnicator there",
    ],
)  # fmt: skip
def test_words_that_do_not_choose_are_refused(text):
    with pytest.raises(GoalError):
        read_answer(DOMAIN, WORLD, question("put the red cube in the left tray"), text)


@pytest.mark.parametrize("text", ["put the green cube on the plate", "put the cube on the plate"])
def test_words_may_say_the_task_anew(text):
    assert read_answer(DOMAIN, WORLD, question("put the red cube in the left tray"), text) is None


# Tasks


class Reader(ScriptedPlanner):
    """Reads sentences as the planner does, without a model."""

    def interpret_goal(self, sentence, world, clarifications=(), task_id=""):
        return interpret(DOMAIN, world, sentence, no_model, clarifications=clarifications)


class Watcher:
    """A manager whose tasks ask, and the statuses that wait for a person, one after the other."""

    def __init__(self, seconds=60.0, **options):
        self.body = SymbolicBody(WORLD)
        self._asked, self._there = [], threading.Condition()
        self.manager = TaskManager(
            Reader([plan("grasp(banana)", 3)]),
            self.body,
            lambda name: METHODS[name](),
            default_method="classical",
            answer_timeout=seconds,
            on_change=self._changed,
            **options,
        )

    def _changed(self, task):
        status = task.snapshot()
        with self._there:
            known = {s.question.id for s in self._asked}
            if status.state is TaskState.AWAITING_ANSWER and status.question.id not in known:
                self._asked.append(status)
            self._there.notify_all()

    def asked(self, number=1):
        with self._there:
            self.until(lambda: len(self._asked) >= number)
            return self._asked[number - 1]

    def until(self, true):
        with self._there:
            assert self._there.wait_for(true, 60), [s.question.text for s in self._asked]


@pytest.fixture
def watch():
    made = []

    def make(*args, **options):
        made.append(Watcher(*args, **options))
        return made[-1]

    yield make
    for watcher in made:
        watcher.manager.close()


def test_a_task_asks_waits_and_does_what_was_chosen(watch):
    there = watch()
    task = there.manager.submit("put the cube in the tray")
    first = there.asked()
    assert first.question.phrase == "the tray" and not there.body.done
    assert there.manager.answer("", first.question.id, 2, person="Ada") == "right tray"
    second = there.asked(2)
    there.manager.answer(task.status.task_id, second.question.id, text="the leftmost one", person="Ada")
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED and status.goal == goal_of("in(red_cube, right_tray)")
    assert status.question is None
    assert Literal.parse("in(red_cube, right_tray)") in there.body.world.facts
    events = [e for e in task.journal.events() if e["event"] in ("asked", "answered")]
    assert [e["event"] for e in events] == ["asked", "answered"] * 2
    assert events[1]["person"] == "Ada" and events[3]["meant"] == ["red_cube"]


@pytest.mark.parametrize("choice", [1, 2])
def test_a_chosen_reading_is_followed_with_its_steps_and_what_it_keeps(watch, choice):
    there = watch()
    said = ("at(green_cube, table)", "on(banana, plate)", "in(banana, left_tray)")
    kept, step, end = map(Literal.parse, said)
    read = [Reading((end, kept), "model", before=((step,),), keep=(kept,)), Reading((end,), "model")]

    def unclear(sentence, world, clarifications=(), task_id=""):
        raise AmbiguityError("unclear", which_reading(DOMAIN, world, read, "model"))

    there.manager._runner.planner.interpret_goal = unclear
    task = there.manager.submit("the banana by way of the plate")
    question = there.asked().question
    assert [(c.goal, c.before, c.keep) for c in question.choices] == [(r.goal, r.before, r.keep) for r in read]
    there.manager.answer("", question.id, choice)
    status = ended(task)
    assert (status.state, status.goal_source) == (TaskState.SUCCEEDED, "model"), status.message
    assert (status.before, status.keep, status.reached) == ((((step,),), (kept,), 1), ((), (), 0))[choice - 1]


def test_a_dry_run_asks_as_well_and_moves_nothing(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray", dry_run=True)
    there.manager.answer("", there.asked().question.id, 2)
    status = ended(task)
    assert status.state is TaskState.PLANNED and "red_cube_2" in str(status.plan[0])
    assert not there.body.done


def test_the_task_may_be_said_anew_and_asked_about_again(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray")
    there.manager.answer("", there.asked().question.id, text="put the green cube in the tray")
    there.manager.answer("", there.asked(2).question.id, 1)
    assert ended(task).goal == goal_of("in(green_cube, left_tray)")


def test_without_anybody_to_ask_it_is_refused_as_it_was(watch):
    there = watch(0.0)
    status = ended(there.manager.submit("put the red cube in the left tray"))
    assert status.state is TaskState.FAILED and "could mean red_cube or red_cube_2" in status.message
    with pytest.raises(GoalError):
        there.manager.answer(status.task_id, "x", 1)


def test_no_answer_in_time_ends_the_task_without_motion(watch):
    there = watch(0.05)
    status = ended(there.manager.submit("put the red cube in the left tray"))
    assert status.state is TaskState.CANCELED and not there.body.done
    assert " 0.05 s" in status.message and "red cube" in status.message


def test_cancelling_ends_the_wait_at_once(watch):
    there = watch(3600.0)
    task = there.manager.submit("put the red cube in the left tray")
    there.asked()
    there.manager.cancel()
    status = ended(task)
    assert status.state is TaskState.CANCELED and status.message == "cancelled by request"


def test_the_answered_task_goes_on_before_those_that_have_not_begun(watch):
    there = watch()
    first, second = (there.manager.submit(s) for s in ("put the cube on the plate", "put the red cube on the plate"))
    one, two = there.asked().question, there.asked(2).question
    assert not there.manager.running and {t.status.state for t in (first, second)} <= {TaskState.RUNNING}
    third = there.manager.submit("put the banana in the left tray")
    assert ended(third).state is TaskState.SUCCEEDED, "two questions keep it from nothing"
    there.manager.answer("", two.id, 1)
    assert ended(second).state is TaskState.SUCCEEDED and not first.ended.is_set()
    assert there.manager.answer("", one.id, text="the green cube")
    assert ended(first).goal == goal_of("on(green_cube, plate)")


def test_answered_tasks_wait_for_the_robot_and_have_it_first(watch):
    there = watch()
    order, gate, busy = [], threading.Event(), threading.Event()
    execute = there.body.execute

    def execute_then(action, *args, **more):
        busy.set()
        assert gate.wait(60)
        order.append(str(action))
        return execute(action, *args, **more)

    there.body.execute = execute_then
    asking = there.manager.submit("put the red cube in the left tray")
    question = there.asked().question
    going_on = there.manager.submit("put the banana in the right tray")
    last = there.manager.submit("put the green cube in the right tray")
    assert busy.wait(60)
    there.manager.answer("", question.id, 1)
    there.until(lambda: asking.snapshot().state is TaskState.QUEUED)
    assert there.manager.running is going_on
    gate.set()
    assert [ended(t).state for t in (going_on, asking, last)] == [TaskState.SUCCEEDED] * 3
    places = [step for step in order if "place" in step or "put" in step]
    assert [p.split("(")[1].split(",")[0] for p in places] == ["banana", "red_cube", "green_cube"]


def test_a_paused_question_can_be_answered_and_goes_on_once_resumed(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray")
    question = there.asked().question
    there.manager.pause(task.status.task_id)
    there.manager.answer("", question.id, 1)
    assert ended(there.manager.submit("put the banana in the right tray")).state is TaskState.SUCCEEDED
    assert task.snapshot().state is TaskState.PAUSED
    there.manager.resume(task.status.task_id)
    assert ended(task).state is TaskState.SUCCEEDED


def test_where_the_parameter_says_so_others_wait_for_the_answer(watch):
    there = watch(pass_while_asking=False)
    task = there.manager.submit("put the red cube in the left tray")
    question = there.asked().question
    other = there.manager.submit("put the banana in the right tray")
    assert there.manager.running is task and other.status.state is TaskState.QUEUED
    there.manager.answer("", question.id, 1)
    assert [ended(t).state for t in (task, other)] == [TaskState.SUCCEEDED] * 2


def test_an_answer_about_things_that_have_moved_is_asked_again(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray")
    question = there.asked().question
    objects = tuple(
        replace(o, position=(0.3, -0.2, 0.02)) if o.name == "red_cube_2" else o for o in there.body.world.objects
    )
    there.body.world = replace(there.body.world, objects=objects)
    there.manager.answer("", question.id, 1)
    again = there.asked(2).question
    assert again.id != question.id and task.answers.number == 1
    there.manager.answer("", again.id, 2)
    assert ended(task).state is TaskState.SUCCEEDED


def test_wrong_answers_are_refused_and_the_question_stays(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray")
    asked = there.asked().question
    choices = "1: red cube, on the left; 2: red cube 2, on the right"
    for arguments, code, data in [
        (("", "other", 1), "goal", asked.id),
        (("", asked.id, 3), "goal", ("choice 3", choices)),
        (("", asked.id), "goal", choices),
        (("", asked.id, 1, "the left one"), "goal", choices),
        (("", asked.id, 0, "the red one"), "goal", ("'the red one'", choices)),
        (("", asked.id, 0, "x" * 3000), "goal", ("3000", "2000")),
        (("nobody", asked.id, 1), "unknown_name", "'nobody'"),
    ]:
        with raises_code(code, data):
            there.manager.answer(*arguments)
    assert task.snapshot().state is TaskState.AWAITING_ANSWER
    there.manager.answer("", asked.id, 1)
    status = ended(task)
    assert status.state is TaskState.SUCCEEDED
    with raises_code("goal", status.task_id):
        there.manager.answer(status.task_id, asked.id, 1)


def test_the_second_answer_to_a_question_is_refused(watch):
    there = watch()
    task = there.manager.submit("put the red cube in the left tray")
    asked = there.asked().question
    with task.inquiry._answered:  # so that the task cannot take the first one yet
        task.inquiry.answer(asked.id, 1)
        with raises_code("goal", "planweave status"):
            task.inquiry.answer(asked.id, 2)


def test_a_task_asks_three_times_at_most(watch):
    there = watch()
    task = there.manager.submit("put the cube in the tray")
    for number in (1, 2, 3):
        there.manager.answer(
            "", there.asked(number).question.id, text=f"put the {'red ' * (number % 2)}cube in the tray"
        )
    status = ended(task)
    assert status.state is TaskState.FAILED and "after 3 answers" in status.message and not there.body.done


def test_a_question_is_asked_again_by_the_next_process_and_answers_are_kept(watch, tmp_path):
    store = TaskStore(tmp_path / "tasks.sqlite")
    there = watch(store=store)
    task = there.manager.submit("put the cube in the tray")
    there.manager.answer("", there.asked().question.id, 2, person="Ada")
    before = there.asked(2).question
    store.close()  # as where the process is killed: nothing more is written
    again = watch(store=TaskStore(tmp_path / "tasks.sqlite"))
    again.manager.take_up()
    after = again.asked().question
    assert after.id == before.id and after.phrase == "the cube", "the tray was answered"
    again.manager.answer("", after.id, 3)
    taken_up = again.manager.get(task.status.task_id)
    assert ended(taken_up).goal == goal_of("in(red_cube_2, right_tray)")
    assert "red_cube_2" in str(again.body.done)


# ---------------------------------------------------------------------------------------------------------------------
# What was answered is not asked again

AMBIGUOUS = [
    f"put the {thing} {where}"
    for where in ("in the tray", "in the left tray", "on the plate", "behind the banana")
    for thing in ("cube", "red cube", "qwertz", "yellow cube", "blue cube")
]


def settle(there, sentence, choice=1, asked=0):
    """Run a task dry, answering each question by its first choice; how many were asked by then."""
    task = there.manager.submit(sentence, dry_run=True)
    while not task.ended.wait(0.01):
        shown = task.inquiry.shown if task.inquiry else None
        if shown is not None and shown.id not in {s.question.id for s in there._asked[:asked]}:
            there.manager.answer("", there.asked(asked + 1).question.id, min(choice, len(shown.choices)))
            asked += 1
    return task, asked


@pytest.mark.slow
def test_twenty_unclear_tasks_ask_nothing_when_they_come_again(watch, tmp_path):
    store = TaskStore(tmp_path / "tasks.sqlite")
    there, asked, goals = watch(store=store), 0, {}
    for sentence in AMBIGUOUS:
        task, asked = settle(there, sentence, asked=asked)
        goals[sentence] = task.status.goal
        assert task.status.state is TaskState.PLANNED
    assert asked == len(AMBIGUOUS) + 5, "both cube and tray, of the first five; all that was chosen has twins"
    there.manager.close()
    store.close()
    again, questions = watch(store=TaskStore(tmp_path / "tasks.sqlite")), 0
    for sentence in AMBIGUOUS:
        task, questions = settle(again, f" {sentence.capitalize()}.", asked=questions)
        assert task.status.goal == goals[sentence] and "answered before" in task.status.understood
    assert questions == 0 and len(AMBIGUOUS) == 20


def test_what_a_person_calls_a_thing_it_is_called_in_any_sentence(watch):
    there = watch()
    labels = [choice.label for choice in question("put the qwertz in the left tray").choices]
    banana, twin = (next(k for k, label in enumerate(labels, 1) if label.startswith(s)) for s in ("banana", "red cube"))
    task, asked = settle(there, "put the qwertz in the left tray", banana)
    assert asked == 1 and task.status.goal == goal_of("in(banana, left_tray)")
    (entry,) = there.manager.memory.entries()
    assert (entry.kind, entry.phrase) == ("name", "qwertz")
    task, asked = settle(there, "put the qwertz on the plate", asked=asked)
    assert asked == 1 and task.status.goal == goal_of("on(banana, plate)")
    there.manager.memory.forget([entry.id])
    _, asked = settle(there, "put the qwertz in the left tray", twin, asked=asked)
    _, asked = settle(there, "put the qwertz on the plate", twin, asked=asked)
    assert asked == 3, "two things look like that one, and another sentence may mean the other"


def test_no_the_other_one(watch):
    there = watch()
    with raises_code("goal"):
        there.manager.submit("no, the other one")
    task, asked = settle(there, "put the red cube in the left tray", 1)
    assert task.status.goal == goal_of("in(red_cube, left_tray)")
    task, asked = settle(there, "No, the other one!", asked=asked)
    assert asked == 1 and task.status.goal == goal_of("in(red_cube_2, left_tray)")
    task, asked = settle(there, "put the red cube in the left tray", asked=asked)
    assert asked == 1 and task.status.goal == goal_of("in(red_cube_2, left_tray)")
    settle(there, "put the green cube on the plate", asked=asked)
    with raises_code("goal"):
        there.manager.submit("not that one, the other one")


def test_a_correction_that_is_sent_again_or_refused_changes_nothing(watch):
    there = watch()
    settle(there, "put the red cube in the left tray", 1)
    (before,) = there.manager.memory.entries()
    with pytest.raises(UnknownNameError):
        there.manager.submit("no, the other one", "magic")
    assert there.manager.memory.entries() == [before]
    first = there.manager.submit("no, the other one", request_id="once", dry_run=True)
    assert ended(first).goal == goal_of("in(red_cube_2, left_tray)")
    (corrected,) = there.manager.memory.entries()
    assert there.manager.submit("no, the other one", request_id="once", dry_run=True) is first
    assert there.manager.memory.entries() == [corrected] and first.status.state is TaskState.PLANNED


def test_after_two_answers_it_is_asked_which_other_one_is_meant(watch):
    there = watch()
    task, asked = settle(there, "put the red cube in the tray", 1)
    assert asked == 2 and task.status.goal == goal_of("in(red_cube, left_tray)")
    task, more = settle(there, "no, the other one", 2, asked=asked)
    assert more == 4 and task.status.goal == goal_of("in(red_cube_2, right_tray)")


def test_the_other_one_stops_the_task_that_takes_the_wrong_one(watch):
    there = watch()
    there.body.hold.clear()
    task = there.manager.submit("put the red cube in the left tray")
    there.manager.answer("", there.asked().question.id, 1)
    assert there.body.began.wait(60.0)
    corrected = there.manager.submit("no the other one")
    there.body.hold.set()
    assert ended(task).state is TaskState.CANCELED
    asked = there.asked(2).question  # again: of what looks alike, one is in the hand now
    there.manager.answer("", asked.id, 1 + [c.objects for c in asked.choices].index(("red_cube_2",)))
    assert ended(corrected).goal == goal_of("in(red_cube_2, left_tray)")


def test_why_a_plan_was_refused_is_told_with_the_next_one_for_its_goal(watch):
    there = watch(approval_timeout=60.0)
    for number in (1, 2):
        task = there.manager.submit("put the green cube in the left tray")
        while not (task.approval and task.approval.waiting):
            assert not task.ended.wait(0.01), task.status
        told = [line for line in task.snapshot().plan_changes if "too fragile" in line and "Ada" in line]
        assert len(told) == number - 1
        there.manager.approve("", task.snapshot().plan_hash, False, "too fragile" if number == 1 else "", "Ada")
        assert ended(task).code == "plan_refused"
    (entry,) = there.manager.memory.entries()
    assert (entry.kind, entry.choice, entry.person) == ("refusal", "too fragile", "Ada")


def test_it_is_asked_again_where_something_looks_different_or_has_moved(watch):
    there = watch()
    _, asked = settle(there, "put the red cube in the left tray", 2)
    assert asked == 1
    objects = {o.name: o for o in WORLD.objects}
    for name, change in [
        ("red_cube", {"attributes": {"colour": "dark red"}}),
        ("red_cube_2", {"position": (0.3, -0.2, 0.02)}),
    ]:
        changed = tuple((objects | {name: replace(objects[name], **change)}).values())
        there.body.world = replace(there.body.world, objects=changed)
        _, now = settle(there, "put the red cube in the left tray", 2, asked=asked)
        assert now == asked + 1, name
        asked = now
    _, now = settle(there, "put the red cube on the plate", 1, asked=asked)
    assert now == asked + 1, "another sentence"


def test_an_answer_after_which_the_plan_is_refused_is_forgotten(watch):
    there = watch(approval_timeout=60.0)
    task = there.manager.submit("put the red cube in the left tray")
    there.manager.answer("", there.asked().question.id, 1)
    while not (task.approval and task.approval.waiting):
        assert not task.ended.wait(0.01), task.status
    assert len(there.manager.memory.entries()) == 1
    there.manager.approve("", task.snapshot().plan_hash, False, "no, the other one", "Ada")
    assert ended(task).state is TaskState.CANCELED
    assert [entry.kind for entry in there.manager.memory.entries()] == ["refusal"]


def test_the_memory_is_shown_and_forgotten_by_its_verb(watch, tmp_path, capsys):
    path = tmp_path / "tasks.sqlite"
    store = TaskStore(path)
    there = watch(store=store)
    settle(there, "put the red cube in the left tray", 2)
    assert cli.main(["memory", str(path)]) == 2, "in use"
    there.manager.close()
    store.close()
    capsys.readouterr()
    assert cli.main(["memory", str(path), "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)["entries"]
    assert entry["choice"] == "red cube 2, on the right" and entry["sentence"] == "put the red cube in the left tray"
    assert cli.main(["memory", str(path), "--forget", "7"]) == 2
    assert cli.main(["memory", str(path), "--forget", str(entry["id"])]) == 0
    assert "0 remembered, 1 forgotten" in capsys.readouterr().out
    assert cli.main(["memory", str(tmp_path / "none")]) == 2


def test_a_file_of_the_version_before_gets_a_place_for_answers(tmp_path):
    path = tmp_path / "tasks.sqlite"
    TaskStore(path).close()
    base = sqlite3.connect(path)
    base.executescript("DROP TABLE answers; PRAGMA user_version=1;")
    base.close()
    store = TaskStore(path)
    assert store.answers() == {} and store.tasks() == []
    store.close()


# Names in passing


def given(there, sentence, asked=0, choice=1):
    task, asked = settle(there, sentence, choice, asked)
    return task.status, asked


def test_a_name_that_is_given_holds_in_tasks_and_questions(watch):
    there = watch()
    status, asked = given(there, "the banana is a coaster")
    assert status.state is TaskState.ANSWERED and asked == 0 and "'coaster'" in status.answer
    (entry,) = there.manager.memory.entries()
    assert (entry.kind, entry.phrase, entry.choice) == ("name", "coaster", "banana")
    status, asked = given(there, "put a coaster in the left tray")
    assert asked == 0 and status.goal == goal_of("in(banana, left_tray)") and "answered before" in status.understood
    status, _ = given(there, "where is the coaster?")
    assert status.state is TaskState.ANSWERED and "banana" in status.answer
    status, _ = given(there, "put the red coaster in the left tray")
    assert status.goal != goal_of("in(banana, left_tray)"), "words beside the name are not the name"


def test_that_is_what_was_spoken_of(watch):
    there = watch()
    given(there, "put the banana on the plate")
    asked_for = question_of(there, "that's a coaster")
    assert [choice.objects for choice in asked_for.choices] == [("banana",), ("plate",)]
    (entry,) = there.manager.memory.entries()
    assert (entry.phrase, entry.choice) == ("coaster", "plate")
    status, _ = given(there, "put the green cube on the coaster", asked=1)
    assert status.goal == goal_of("on(green_cube, plate)")


def question_of(there, sentence):
    task = there.manager.submit(sentence)
    asked = there.asked(1).question
    there.manager.answer("", asked.id, 2)
    assert task.ended.wait(20) and task.status.state is TaskState.ANSWERED
    return asked


@pytest.mark.parametrize(
    "sentence", ["that is a banana", "the banana is a green coaster", "the red cube is called heinz"]
)
def test_a_name_that_means_something_or_cannot_tell_things_apart_is_refused(watch, sentence):
    there = watch()
    status, _ = given(there, sentence)
    assert status.state is TaskState.FAILED and status.code in ("goal", "ambiguous")
    assert not [entry for entry in there.manager.memory.entries() if entry.kind == "name"]


def test_no_that_is_a_coaster_ends_what_goes_on(watch):
    there = watch()
    there.body.hold.clear()
    wrong = there.manager.submit("put the banana in the left tray")
    assert there.body.began.wait(20)
    naming = there.manager.submit("no, the banana is a coaster")
    there.body.hold.set()
    assert wrong.ended.wait(20) and naming.ended.wait(20)
    assert wrong.status.state is TaskState.CANCELED and naming.status.state is TaskState.ANSWERED

"""Tasks of several states in order, and what is to be kept meanwhile."""

import pytest
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, tabletop

from planweave.core.base.errors import GoalError
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.core.workflow.reading import Reading
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager

WORLD = tabletop("a b: item; tray bowl: container; table: location", "at(a, table); at(b, table)")
IN_TRAY, IN_BOWL = (Literal.parse("in(a, tray)"),), (Literal.parse("in(a, bowl)"),)


class Reader(ScriptedPlanner):
    """Reads every sentence as one task."""

    def __init__(self, reading):
        super().__init__(goal="in(a, tray)")
        self.reading = reading

    def interpret_goal(self, sentence, world, clarifications=(), task_id=""):
        return self.reading


def done(reading, body, **asked):
    """A task to its end; asked: of its TaskGoal, in place of a sentence."""
    reader = Reader(reading) if isinstance(reading, Reading) else reading
    manager = TaskManager(reader, body, lambda name: METHODS[name](plan_timeout=60.0), fallback="")
    try:
        task = manager.submit("" if "goal" in asked else "a task", "classical", **asked)
        assert task.ended.wait(60.0)
    finally:
        manager.close()
    return task


def test_states_are_reached_in_their_order_and_each_is_verified():
    body = SymbolicBody(WORLD)
    task = done(Reading(IN_BOWL, "grammar", before=(IN_TRAY,)), body)
    assert task.status.state is TaskState.SUCCEEDED
    assert body.done == ["grab_and_putin(a, tray)", "grab_and_putin(a, bowl)"]
    assert (task.status.before, task.status.reached, task.status.goal) == ((IN_TRAY,), 1, IN_BOWL)
    assert (task.status.steps, task.status.executed) == (2, 2)
    assert [e["goal"] for e in task.journal.events("step_reached")] == [["in(a, tray)"]]
    assert [e["unmet"] for e in task.journal.events("checked")][-1] == []


def test_words_that_nothing_says_are_in_the_record():
    class Refusing(Reader):
        def interpret_goal(self, sentence, world, clarifications=(), task_id=""):
            raise GoalError("nothing known here says 'paint'", ["paint"])

    task = done(Refusing(None), SymbolicBody(WORLD))
    assert task.status.state is TaskState.FAILED
    assert [e["words"] for e in task.journal.events("not_covered")] == [["paint"]]


def test_what_comes_later_is_not_begun_where_a_state_was_not_reached():
    body = SymbolicBody(WORLD, {"grab_and_putin(a, tray)": [(Code.NO_GRASP, "it fell")] * 9})
    task = done(Reading(IN_BOWL, "grammar", before=(IN_TRAY,)), body)
    assert task.status.state is TaskState.FAILED
    assert task.status.code == "no_grasp"
    assert " 1 of 2 " in task.status.message
    assert task.status.reached == 0 and "grab_and_putin(a, bowl)" not in body.done


def test_a_dry_run_plans_all_states():
    body = SymbolicBody(WORLD)
    task = done(Reading(IN_BOWL, "grammar", before=(IN_TRAY,)), body, dry_run=True)
    assert task.status.state is TaskState.PLANNED and body.done == []
    steps = ["grab_and_putin(a, tray)", "grab_and_putin(a, bowl)"]
    assert [str(action) for action in task.status.plan] == steps


def test_no_action_ends_what_is_to_be_kept():
    keep = (Literal.parse("at(b, table)"),)
    body = SymbolicBody(WORLD)
    task = done(Reading((*IN_TRAY, *keep), "model", keep=keep), body)
    assert task.status.state is TaskState.SUCCEEDED and task.status.keep == keep
    wanted = (Literal.parse("in(b, tray)"),)
    task = done(Reading(wanted, "model", keep=keep), SymbolicBody(WORLD))
    assert (task.status.state, task.status.code) == (TaskState.FAILED, "goal")


@pytest.mark.parametrize(
    ("before", "keep", "code"),
    [
        (["in(c, tray)"], "", "unknown_name"),
        (["inside(a, tray)"], "", "unknown_name"),
        (["in(a, b)"], "", "invalid_action"),
        (["in(a)"], "", "invalid_action"),
        (["in(a, tray); in(a, bowl)"], "", "goal"),
        (["in(a, tray); not in(a, tray)"], "", "goal"),
        ([""], "", "goal"),
        ([], "at(c, table)", "unknown_name"),
        ([], "at(b, tray)", "invalid_action"),
        ([], "in(a, tray)", "goal"),  # excludes the goal
        ([], "in(b, tray)", "goal"),  # does not hold now
        (["in(b, bowl)"], "at(b, table)", "goal"),  # would end it
    ],
)
def test_what_cannot_be_is_refused_with_a_code_before_anything_moves(before, keep, code):
    body = SymbolicBody(WORLD)
    given = {"goal": IN_BOWL, "before": tuple(map(literals, before)), "keep": literals(keep)}
    task = done(ScriptedPlanner(), body, **given)
    assert (task.status.state, task.status.code, body.done) == (TaskState.FAILED, code, []), task.status.message

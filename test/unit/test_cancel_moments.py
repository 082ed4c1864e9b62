"""A cancellation at each moment of a task: how it ends, as the table in docs/architecture.md says."""

import re
from pathlib import Path

import pytest
from codes import raises_code
from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop

from planweave.core.base.errors import NotStoppedError
from planweave.core.base.failure import Code
from planweave.core.workflow.ports import Outcome
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "architecture.md"
ROW = re.compile(r"\| (.+?) \| ([A-Z_]+) \| (?:`(\w+)`)? ?\| (.+?) \|")


def table():
    """Each moment of the table with the state and the code that it says."""
    section = PAGE.read_text(encoding="utf-8").partition("### A cancel at each moment")[2].partition("\n## ")[0]
    return {moment: (state, code or "") for moment, state, code, _ in ROW.findall(section)}


class Moments(SymbolicBody):
    """Cancels the task that runs at a moment, named as in the table."""

    def __init__(self, moment):
        super().__init__(WORLD)
        self.moment, self.manager, self.pressed = moment, None, False

    def press(self, *moments):
        if self.moment in moments and not self.pressed:
            self.pressed = True
            self.manager.cancel()
            return True
        return False

    def await_body(self, on_wait):
        if self.press("it waits for the body"):
            self.manager.running.canceled.check()

    def execute(self, action, **options):
        if self.press("an action goes on: the body stops"):
            return Outcome(Code.CANCELED, "stopped", self.world)
        if self.press("an action goes on: the body tells that it may not stand"):
            return Outcome(Code.SAFETY_STOP, "the arm still moves", self.world)
        if self.press("an action goes on: the body does not tell its end"):
            raise NotStoppedError("whether it has stopped is not known")
        outcome = super().execute(action, **options)
        self.press("between two actions")
        return outcome

    def look(self, seconds):
        looked = super().look(seconds)
        if len(self.done) == 2 and self.press("it looks whether the goal holds"):
            self.manager.running.canceled.check()
        if len(self.done) == 2:
            self.press("the last look has shown that the goal holds")
        return looked

    def changed(self, task):
        state = task.snapshot().state
        if state is TaskState.AWAITING_APPROVAL:
            self.press("it waits for approval")
        acts = state is TaskState.RUNNING and self.done and not self.pressed
        if self.moment == "it is paused" and acts and not task.pause.is_set:
            self.manager.pause(by="Ann")
        if state is TaskState.PAUSED:
            self.press("it is paused")


class Reading(ScriptedPlanner):
    """Cancels while a sentence is read."""

    body = None

    def interpret_goal(self, *args, **options):
        self.body.press("its sentence is read")
        return super().interpret_goal(*args, **options)


@pytest.mark.parametrize("moment", table())
def test_a_cancel_at_each_moment(moment):
    body = Moments(moment)
    planner = Reading([plan("grasp(a); place_in(a, tray)", 3)], goal="in(a, tray)")
    planner.body = body
    manager = body.manager = TaskManager(
        planner,
        body,
        lambda name: METHODS[name](),
        await_body=body.await_body,
        on_change=body.changed,
        approval_timeout=60.0 if moment == "it waits for approval" else 0.0,
    )
    if moment == "it waits in the queue":
        body.hold.clear()
        manager.submit("another")
        task = manager.submit("put a in the tray")
        manager.cancel(task.status.task_id)
    else:
        task = manager.submit("put a in the tray")
    assert task.ended.wait(30.0), task.snapshot()
    if moment == "it has ended":
        with raises_code("goal", "succeeded"):
            manager.cancel(task.status.task_id)
    else:
        assert task.canceled.is_set
    body.hold.set()
    manager.close()
    status = task.status
    assert (status.state.name, status.code) == table()[moment], status.message
    assert ("too late" in status.message) is (status.code == "canceled_late")


def test_the_table_has_every_moment():
    assert len(table()) == 12 and {state for state, _ in table().values()} == {"CANCELED", "FAILED", "SUCCEEDED"}

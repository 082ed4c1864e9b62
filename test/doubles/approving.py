"""A task manager whose plans wait for approval, and what it asked for; a body whose world surprises."""

import threading
from dataclasses import replace

from doubles.scripted import ScriptedPlanner, SymbolicBody, plan, tabletop
from planweave.core.workflow.task_status import TaskState
from planweave.methods import METHODS
from planweave.tasks.task_manager import TaskManager

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
GOOD = plan("grasp(a); place_in(a, tray)", 3)


class SurprisingBody(SymbolicBody):
    """After some actions the world is another one than the domain says."""

    def __init__(self, world):
        super().__init__(world)
        self.after = {}

    def execute(self, action, **options):
        outcome = super().execute(action, **options)
        world = self.after.get(str(action))
        if world is None or not outcome.ok:
            return outcome
        self.world = world
        return replace(outcome, world=world)


class Watcher:
    """A manager with approval, and the statuses that wait for a person, one after the other."""

    def __init__(self, planner=None, body=None, seconds=30.0, **options):
        self.body = body or SymbolicBody(WORLD)
        self._asked: list = []
        self._there = threading.Condition()
        planner = planner or ScriptedPlanner([GOOD], goal="in(a, tray)")
        self.manager = TaskManager(
            planner,
            self.body,
            lambda name: METHODS[name](),
            approval_timeout=seconds,
            on_change=self._changed,
            **options,
        )

    def _changed(self, task):
        status = task.snapshot()
        with self._there:
            waits = status.state is TaskState.AWAITING_APPROVAL
            if waits and status.plan_hash not in {s.plan_hash for s in self._asked}:
                self._asked.append(status)
                self._there.notify_all()

    def asked(self, number):
        """The status of the n-th plan that waited."""
        with self._there:
            assert self._there.wait_for(lambda: len(self._asked) >= number, 10), "no plan waits"
            return self._asked[number - 1]


def ended(task):
    assert task.ended.wait(60.0), task.snapshot()
    return task.status


def watchers():
    """A generator for a fixture: yields what makes a Watcher, and closes all."""
    made = []

    def make(*args, **options):
        made.append(Watcher(*args, **options))
        return made[-1]

    yield make
    for watcher in made:
        watcher.manager.close()

"""Tasks that are kept in a file: what a later process knows of them, and every way in which a file cannot be used."""

import json
import sqlite3
import threading
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.scripted import ScriptedPlanner, SymbolicBody, literals, plan, tabletop

from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.methods import METHODS
from planweave.tasks.interruption import Interruption
from planweave.tasks.task_manager import TaskManager
from planweave.tasks.task_store import Kept, StorageError, TaskStore

WORLD = tabletop("a b: item; tray: container; plate: surface; table: location", "at(a, table); at(b, table)")
GOAL = "in(a, tray)"


class Killed(BaseException):
    """Ends the worker as a kill ends the process: nothing is written any more."""


class KilledBody(SymbolicBody):
    """A body whose commander is killed at its n-th action, before or after it was carried out."""

    def __init__(self, world, at, after=False):
        super().__init__(world)
        self.at, self.after, self.dead = at, after, threading.Event()

    def execute(self, action, **options):
        self.at -= 1
        if self.at == 0 and not self.after:
            self.dead.set()
            raise Killed
        outcome = super().execute(action, **options)
        if self.at == 0:
            self.dead.set()
            raise Killed
        return outcome


@pytest.fixture
def manage(tmp_path):
    """manage(body, planner, …): a manager over the one file, the earlier one being gone."""
    made = []

    def make(body, planner=None, ask=0.0, **options):
        close()
        store = TaskStore(tmp_path / "tasks.sqlite")
        planner = planner or ScriptedPlanner([plan("grasp(a); place_in(a, tray)", 3)], goal=GOAL)
        manager = TaskManager(planner, body, lambda name: METHODS[name](), store=store, **options)
        manager.take_up(ask)
        made.append((manager, store))
        return manager

    def close():
        for _, store in made:
            store.close()

    make.close = close
    yield make
    for manager, store in made[-1:]:
        manager.close()
        store.close()


def killed(manage, body, sentence="put a in the tray", method="tree_planner", **options):
    """Submit a task that is killed on the way, and another one behind it; their ids."""
    threading.excepthook, hook = lambda _: None, threading.excepthook
    try:
        manager = manage(body, **options)
        first = manager.submit(sentence, method, request_id="one").status.task_id
        second = manager.submit("the other", method, goal=literals("on(b, plate)")).status.task_id
        assert body.dead.wait(30.0)
        for thread in manager._threads:
            thread.join(30.0)
    finally:
        threading.excepthook = hook
    return first, second


def ended(manager, task_id):
    task = manager.get(task_id)
    assert task.ended.wait(30.0), task.snapshot()
    return task


@pytest.mark.parametrize(("at", "after", "again"), [(1, False, 0), (1, True, 0), (2, False, 1), (2, True, 1)])
def test_a_killed_task_goes_on_and_no_step_that_was_done_is_done_again(manage, at, after, again):
    body = KilledBody(WORLD, at, after)
    first, second = killed(manage, body)
    later = SymbolicBody(body.world)
    manager = manage(later)
    assert ended(manager, first).status.state is TaskState.SUCCEEDED
    assert ended(manager, second).status.state is TaskState.SUCCEEDED
    both = [str(action) for action in (*body.done, *later.done)]
    assert len(both) == len(set(both))
    (event,) = manager.get(first).journal.events("interrupted")
    assert len(event["done"]) == again
    assert event["under_way"]


def test_states_in_order_are_not_followed_from_the_middle(manage):
    planner = ScriptedPlanner([plan("grasp(a); place_in(a, tray)", 3)], goal=GOAL)
    planner.before = (literals("at(a, table)"), literals("holding(a)"))
    body = KilledBody(WORLD, 1, True)
    first, _ = killed(manage, body, method="classical", planner=planner)
    later = SymbolicBody(body.world)
    status = ended(manage(later), first).status
    assert (status.state, status.code) == (TaskState.FAILED, "goal")
    assert "grasp(a)" not in later.done


def test_what_was_given_with_a_goal_is_known_to_the_next_process(manage):
    body = KilledBody(WORLD, 1)
    manager = manage(body)
    threading.excepthook, hook = lambda _: None, threading.excepthook
    try:
        manager.submit("put a in the tray", "classical")
        given = {"before": (literals("on(b, plate)"),), "keep": literals("in(a, tray)")}
        second = manager.submit("", "classical", literals("in(b, tray)"), "two", **given).status.task_id
        assert body.dead.wait(30.0)
    finally:
        threading.excepthook = hook
    manager = manage(SymbolicBody(WORLD))
    assert manager.submit("", "classical", literals("in(b, tray)"), "two", **given).status.task_id == second
    with raises_code("goal", "'two'"):
        manager.submit("", "classical", literals("in(b, tray)"), "two")
    status = ended(manager, second).status
    assert (status.before, status.keep, status.reached) == (given["before"], given["keep"], 1)


def test_the_order_of_the_queue_and_the_ids_are_kept(manage):
    first, second = killed(manage, KilledBody(WORLD, 1))
    manager = manage(SymbolicBody(WORLD))
    assert [task.status.task_id for task in manager.tasks()] == [first, second]
    third = manager.submit("one more", "classical", goal=literals("at(b, table)"))
    assert int(third.status.task_id.split("-")[1]) == 3
    assert manager.submit("put a in the tray", "tree_planner", request_id="one").status.task_id == first


def test_a_person_is_asked_before_an_interrupted_task_goes_on(manage):
    body = KilledBody(WORLD, 2)
    first, second = killed(manage, body)
    later, waiting = SymbolicBody(body.world), threading.Event()
    changed = lambda task: task.snapshot().state is TaskState.AWAITING_APPROVAL and waiting.set()  # noqa: E731
    manager = manage(later, ask=60.0, on_change=changed)
    assert waiting.wait(30.0)
    shown = manager.get(first).snapshot()
    assert [str(action) for action in shown.plan] == ["place_in(a, tray)"]
    assert later.done == []
    manager.approve(first, shown.plan_hash, True, approver="somebody")
    assert ended(manager, first).status.state is TaskState.SUCCEEDED
    assert ended(manager, second).status.approved_by == ""  # it had not begun: nobody is asked


def test_the_goal_that_was_understood_is_not_read_again(manage):
    body = KilledBody(WORLD, 1)
    first, _ = killed(manage, body)
    manager = manage(SymbolicBody(body.world), ScriptedPlanner(goal="in(b, tray)"))
    assert [str(g) for g in ended(manager, first).status.goal] == [GOAL]


def test_ended_tasks_are_known_as_they_ended(manage):
    manager = manage(SymbolicBody(WORLD))
    task = ended(manager, manager.submit("put a in the tray", "classical").status.task_id)
    record = task.journal.events()
    later = manage(SymbolicBody(WORLD))
    again = later.get(task.status.task_id)
    assert again.status == task.status
    assert again.journal.events() == record
    assert again.ended.is_set()
    assert again.snapshot().state is TaskState.SUCCEEDED


def test_a_task_that_was_cancelled_or_shut_down_is_not_taken_up(manage):
    manager = manage(SymbolicBody(WORLD))
    task = ended(manager, manager.submit("put a in the tray", "classical").status.task_id)
    manager.close()
    later = SymbolicBody(WORLD)
    assert manage(later).get(task.status.task_id).status.state.ended
    assert later.done == []


def test_a_full_disk_refuses_the_task_and_keeps_what_was_accepted(manage, tmp_path):
    manager = manage(SymbolicBody(WORLD))
    done = ended(manager, manager.submit("put a in the tray", "classical").status.task_id).status.task_id
    base = manager._store._base
    base.execute(f"PRAGMA max_page_count={base.execute('PRAGMA page_count').fetchone()[0]}")
    with raises_code("task_storage", "tasks.sqlite (database or disk is full)", "tasks_file"):
        for number in range(1000):
            ended(
                manager,
                manager.submit(f"{number} " + "x" * 1900, "classical", goal=literals("at(b, table)")).status.task_id,
            )
    assert manager.get().status.state.ended
    body = SymbolicBody(WORLD)
    later = manage(body)
    assert later.get(done).status.state is TaskState.SUCCEEDED
    assert all(task.ended.wait(30.0) for task in later.tasks())
    assert body.done == []


def test_no_action_begins_that_cannot_be_recorded(manage):
    body = SymbolicBody(WORLD)
    manager = manage(body)
    add = manager._store.add

    def full(task_id, line):
        if json.loads(line)["event"] == "begun":
            raise StorageError("no room")
        add(task_id, line)

    manager._store.add = full
    task = ended(manager, manager.submit("put a in the tray", "classical").status.task_id)
    assert (task.status.state, body.done) == (TaskState.FAILED, [])
    assert "no room" in task.status.message


def test_where_the_restart_cannot_be_recorded_no_task_is_taken_up(manage, tmp_path, monkeypatch):
    body = KilledBody(WORLD, 2)
    first, second = killed(manage, body)
    later, add = SymbolicBody(body.world), TaskStore.add

    def full(store, task_id, line):
        if task_id == second:
            raise StorageError("no room")
        add(store, task_id, line)

    manage.close()
    store = TaskStore(tmp_path / "tasks.sqlite")
    store.add(second, json.dumps({"event": "goal", "goal": [GOAL]}))
    monkeypatch.setattr(TaskStore, "add", full)
    manager = TaskManager(ScriptedPlanner(), later, lambda name: METHODS[name](), store=store)
    with raises_code("task_storage", "no room"):
        manager.take_up()
    assert manager.tasks() == [] and later.done == []
    monkeypatch.undo()
    manager.close()
    store.close()
    assert ended(manage(later), first).status.state is TaskState.SUCCEEDED


def test_a_file_that_no_room_is_left_for_is_refused(tmp_path, monkeypatch):
    class Full(sqlite3.Connection):
        def executescript(self, text):
            raise sqlite3.OperationalError("database or disk is full")

    connect = sqlite3.connect
    monkeypatch.setattr(sqlite3, "connect", lambda *given, **more: connect(*given, factory=Full, **more))
    with raises_code("configuration", "tasks.sqlite: database or disk is full"):
        TaskStore(tmp_path / "tasks.sqlite")


def test_a_file_of_a_newer_version_is_left_as_it_is(tmp_path):
    path = tmp_path / "tasks.sqlite"
    TaskStore(path).close()
    base = sqlite3.connect(path)
    base.execute("PRAGMA user_version=7")
    base.close()
    before = path.read_bytes()
    with raises_code("configuration", "version 7"):
        TaskStore(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", [b"no database" * 200, b"SQLite format 3\0" + b"x" * 4000])
def test_a_file_of_something_else_is_left_as_it_is(tmp_path, content):
    path = tmp_path / "tasks.sqlite"
    path.write_bytes(content)
    with raises_code("configuration", "tasks.sqlite", "file is not a database"):
        TaskStore(path)
    assert path.read_bytes() == content


def test_a_database_of_something_else_is_left_as_it_is(tmp_path):
    path = tmp_path / "tasks.sqlite"
    base = sqlite3.connect(path)
    base.execute("CREATE TABLE birds (name TEXT)")
    base.close()
    with raises_code("configuration", "tasks.sqlite"):
        TaskStore(path)
    assert sqlite3.connect(path).execute("SELECT name FROM sqlite_master").fetchall() == [("birds",)]


def test_a_folder_that_is_not_there_and_a_second_process_are_refused(tmp_path):
    with raises_code("configuration", "none/tasks.sqlite"):
        TaskStore(tmp_path / "none" / "tasks.sqlite")
    store = TaskStore(tmp_path / "tasks.sqlite")
    with raises_code("configuration", "feedback_node"):
        TaskStore(tmp_path / "tasks.sqlite")
    store.close()


def test_a_status_comes_back_as_it_was(tmp_path):
    status = TaskStatus(
        "task-1-2",
        'put "a" in the tray\n',
        "classical",
        TaskState.FAILED,
        goal=literals("in(a, tray); not on(a, b)"),
        before=(literals("at(a, table)"), literals("holding(a)")),
        reached=1,
        keep=literals("at(b, table)"),
        unmet=literals("in(a, tray)"),
        plan=(Action("grasp", ("a",)),),
        plan_words=("pick up the a",),
        pushed=("b",),
        usage=Usage(1, 2, 3, 4, 0.5, None, "m", "e"),
    )
    store = TaskStore(tmp_path / "tasks.sqlite")
    store.accept(1, status, "r", "", status.goal)
    store.add("task-1-2", "{}")
    assert store.tasks() == [Kept(status, "r", "", status.goal, ("{}",))]
    row = json.loads(store._base.execute("SELECT status FROM tasks").fetchone()[0])
    for later in ("before", "reached", "keep"):  # as an earlier version kept it
        del row[later]
    store._base.execute("UPDATE tasks SET status = ?", (json.dumps(row),))
    assert store.tasks()[0].status == replace(status, before=(), reached=0, keep=())
    store.close()


@pytest.mark.parametrize(
    ("events", "began", "done", "under_way"),
    [
        ([("submitted", {})], False, (), ""),
        ([("submitted", {}), ("goal", {"goal": [GOAL]})], True, (), ""),
        ([("begun", {"action": "grasp(a)"})], True, (), "grasp(a)"),
        (
            [("begun", {"action": "grasp(a)"}), ("action", {"action": "grasp(a)", "code": "SUCCESS"})],
            True,
            ("grasp(a)",),
            "",
        ),
        ([("begun", {"action": "grasp(a)"}), ("action", {"action": "grasp(a)", "code": "NO_GRASP"})], True, (), ""),
    ],
)
def test_what_was_done_is_told_by_the_record(events, began, done, under_way):
    lines = tuple(json.dumps({"event": name, **details}) for name, details in events)
    found = Interruption.of(Kept(TaskStatus("t", "s", "m"), "", "", (), lines))
    assert (found.began, found.done, found.under_way) == (began, done, under_way)

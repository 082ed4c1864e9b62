"""What holds in every unit test."""

import threading

import pytest


@pytest.fixture(autouse=True)
def transitions(monkeypatch):
    """Every change of a task's state, as a task manager tells it, is one of NEXT."""
    from planweave.core.workflow.task_status import NEXT, TaskState
    from planweave.tasks import task_manager

    lock, last, wrong = threading.Lock(), {}, []
    make = task_manager.TaskManager.__init__

    def made(self, *args, on_change=lambda task: None, **options):
        def changed(task):
            with lock:
                state = task.snapshot().state
                before = last.get(id(task), TaskState.QUEUED)
                if state is not before and state not in NEXT.get(before, ()):
                    wrong.append((before.name, state.name))
                last[id(task)] = state
            on_change(task)

        kept.append(self)  # so that no other task gets the same id()
        make(self, *args, on_change=changed, **options)

    kept = []
    monkeypatch.setattr(task_manager.TaskManager, "__init__", made)
    yield
    assert not wrong

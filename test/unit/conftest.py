"""What holds in every unit test, and what many of them share."""

import threading

import pytest

_lock, _wrong = threading.Lock(), []


@pytest.fixture(autouse=True, scope="session")
def transitions():
    """Every change of a task's state, as a task manager tells it, is one of NEXT."""
    from planweave.core.workflow.task_status import NEXT, TaskState
    from planweave.tasks import task_manager

    make = task_manager.TaskManager.__init__

    def made(self, *args, on_change=lambda task: None, **options):
        def changed(task):
            with _lock:
                state = task.snapshot().state
                before = getattr(task, "seen_in", TaskState.QUEUED)
                if state is not before and state not in NEXT.get(before, ()):
                    _wrong.append((before.name, state.name))
                task.seen_in = state
            on_change(task)

        make(self, *args, on_change=changed, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(task_manager.TaskManager, "__init__", made)
        yield


@pytest.fixture(autouse=True, scope="session")
def short_waits():
    """Bodies here show all at once, and a file in use stays in use: neither is waited for as long as a robot's."""
    from planweave.tasks import pausing, task_runner, task_store

    with pytest.MonkeyPatch.context() as patch:
        for module in (pausing, task_runner):
            patch.setattr(module, "BETWEEN_LOOKS", 0.02)
        patch.setattr(task_store, "_BUSY", 0.1)
        yield


@pytest.fixture(scope="session")
def _compiled_scene():
    from planweave.bodies.arm.planning_scene import PlanningScene

    return PlanningScene()


@pytest.fixture(scope="module")
def planning_scene(_compiled_scene):
    """The default robot with nothing around it, which the tests of a file share."""
    return _compiled_scene.twin()


@pytest.fixture(scope="module")
def kinematics(planning_scene):
    from planweave.bodies.arm.kinematics import Kinematics

    return Kinematics(planning_scene.model)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item):
    """Fails the test in which a state followed that may not."""
    yield
    with _lock:
        wrong = _wrong[:]
        _wrong.clear()
    assert not wrong

"""Bodies that carry out LIBERO's tasks, by what they see."""

from __future__ import annotations

from planweave.core.errors import ConfigError, UnknownNameError
from planweave.core.ports import LookingBody
from planweave.libero.client import LiberoSimulator, Task

TRUTH, CAMERA = "truth", "camera"
VIEWS = (TRUTH, CAMERA)


def check_view(view: str) -> None:
    """Raise UnknownNameError for a view that does not exist, ConfigError for one that is not there yet."""
    if view not in VIEWS:
        raise UnknownNameError("view", view, VIEWS)
    if view == CAMERA:
        raise ConfigError("the view camera is not there yet; --view truth runs with true poses, as an upper bound")


def body_on(simulator: LiberoSimulator, name: str, view: str) -> tuple[Task, LookingBody]:
    """Load a task (suite/task/initial state), and a body that sees it in this view."""
    check_view(view)
    from planweave.libero.body import LiberoBody

    task = simulator.load(name, joints=True)
    return task, LiberoBody(simulator, task)

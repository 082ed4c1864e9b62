"""Bodies that carry out LIBERO's tasks, by what they see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planweave.core.base.errors import UnknownNameError
from planweave.libero.client import LiberoSimulator, Task

if TYPE_CHECKING:
    from planweave.libero.body import LiberoBody

TRUTH, CAMERA = "truth", "camera"
VIEWS = (TRUTH, CAMERA)


def check_view(view: str) -> None:
    """Raise UnknownNameError for a view that does not exist, ConfigError where what it needs is not configured."""
    if view not in VIEWS:
        raise UnknownNameError("view", view, VIEWS)
    if view == CAMERA:
        from planweave.perception.vision_names import vision_client, vision_timeout

        vision_client()
        vision_timeout()


def body_on(simulator: LiberoSimulator, name: str, view: str) -> tuple[Task, LiberoBody]:
    """Load a task (suite/task/initial state), and a body that sees it in this view."""
    check_view(view)
    from planweave.libero.body import LiberoBody

    task = simulator.load(name, joints=True)
    return task, LiberoBody(simulator, task if view == TRUTH else blinded(task), view)


def blinded(task: Task) -> Task:
    """A task without its true state: of that, only where the robot's base stands."""
    return replace(task, goal=(), state={"base": task.state["base"]}, geometry={})

"""Bodies that carry out LIBERO's tasks, by what they see."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from planweave.core.base.errors import UnknownNameError
from planweave.libero.client import LiberoSimulator, LiberoTask

if TYPE_CHECKING:
    from planweave.libero.body import LiberoBody

TRUTH, CAMERA, NAMED = "truth", "camera", "named"
VIEWS = (TRUTH, CAMERA, NAMED)
"""True poses; cameras; cameras, with the true names of what they see in place of a vision model's."""


def check_view(view: str) -> None:
    """Raise UnknownNameError for a view that does not exist, ConfigError where what it needs is not configured."""
    if view not in VIEWS:
        raise UnknownNameError("view", view, VIEWS)
    if view == CAMERA:
        from planweave.perception.vision_names import vision_client, vision_timeout

        vision_client()
        vision_timeout()


def body_on(simulator: LiberoSimulator, name: str, view: str) -> tuple[LiberoTask, LiberoBody]:
    """Load a task (suite/task/initial state), and a body that sees it in this view."""
    check_view(view)
    from planweave.libero.body import LiberoBody
    from planweave.libero.true_names import TrueNamer

    task = simulator.load(name, joints=True)
    if view == TRUTH:
        return task, LiberoBody(simulator, task, view)
    namer = TrueNamer(simulator.state) if view == NAMED else None
    return task, LiberoBody(simulator, blinded(task), CAMERA, namer)


def blinded(task: LiberoTask) -> LiberoTask:
    """A task without its true state: of that, only where the robot's base stands."""
    return replace(task, goal=(), state={"base": task.state["base"]}, geometry={})

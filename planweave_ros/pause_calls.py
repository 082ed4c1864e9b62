"""Pausing and resuming tasks, as calls of the console's client."""

from __future__ import annotations

import getpass
import os
from typing import Any

from planweave_interfaces.srv import PauseTask, ResumeTask

from planweave.core.errors import PlanweaveError

PAUSE_SERVICES = {"pause_task": PauseTask, "resume_task": ResumeTask}
_LOOKING = 90.0  # s that the look before a paused task goes on may take


class PauseCalls:
    """Part of planweave_ros.client.Client."""

    def _call(self, name: str, request: Any, who: str, timeout: float = 10.0) -> Any:
        raise NotImplementedError

    def pause(self, task_id: str = "", reason: str = "", agent: bool = False) -> str:
        """Pause a task (the running one without an id); returns the node's message, raises where it refuses.

        The name of the user account is included, unverified, and whether an agent does it for this person.
        """
        request = PauseTask.Request(task_id=task_id, person=_person(agent), reason=reason)
        return _said(self._call("pause_task", request, "feedback_node"))

    def resume(self, task_id: str = "", agent: bool = False) -> str:
        """Resume a paused task; returns the node's message, raises where it stays paused, with the reason."""
        request = ResumeTask.Request(task_id=task_id, person=_person(agent))
        return _said(self._call("resume_task", request, "feedback_node", _LOOKING))


def user() -> str:
    """Name of the user account; some accounts have only a number."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return f"user {os.getuid()}"


def _person(agent: bool) -> str:
    return f"an agent of {user()}" if agent else user()


def _said(response: Any) -> str:
    if not response.success:
        raise PlanweaveError(response.message)
    return str(response.message)

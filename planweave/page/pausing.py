"""Buttons that pause the task and let it go on."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from viser import Icon

from planweave.core.workflow.task_status import TaskState, TaskStatus

if TYPE_CHECKING:
    import viser


class PauseDoor(Protocol):
    """What a person at the page may do; both raise PlanweaveError with a message for the person."""

    def pause(self, task_id: str = "", reason: str = "") -> str:
        """Pause a task, the running one without an id."""

    def resume(self, task_id: str = "") -> str:
        """Let a paused task go on."""


class PauseButtons:
    """Pause while a task goes on, Resume in its place while it is paused. do(act): calls act and shows its message."""

    def __init__(self, gui: viser.GuiApi, door: PauseDoor, do: Callable[[Callable[[], str]], None]):
        self._door, self._task = door, ""
        self._pause = gui.add_button(
            "Pause",
            color="yellow",
            icon=Icon.PLAYER_PAUSE,
            visible=False,
            hint="the robot stops and holds; the task waits",
        )
        self._resume = gui.add_button(
            "Resume",
            color="green",
            icon=Icon.PLAYER_PLAY,
            visible=False,
            hint="looks anew, then the robot goes on: keep clear",
        )
        self._pause.on_click(lambda _: do(self._paused))
        self._resume.on_click(lambda _: do(lambda: self._door.resume(self._task)))
        gui.add_command("Pause the task", hotkey="H", modifier="cmd/ctrl+shift").on_trigger(lambda _: do(self._paused))

    def show(self, status: TaskStatus) -> None:
        """Offer what can be done with a task."""
        paused, going_on = status.state is TaskState.PAUSED, not (status.state.ended or status.dry_run)
        self._task = status.task_id if going_on else ""
        self._pause.visible, self._resume.visible = going_on and not paused, paused

    def _paused(self) -> str:
        return self._door.pause(self._task)

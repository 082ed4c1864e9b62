"""The page's editor of the plan that waits for approval: each step up, down or out, and one more from a list."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from viser import Icon

from planweave.core.base.errors import GoalError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.workflow import plan_editing as editing
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.page import words

if TYPE_CHECKING:
    import viser

    from planweave.page.panel import Door

_STEPS = 30  # that have buttons; the terminal edits longer plans


class PlanEditor:
    """Built inside a folder. do(act): runs what a person has asked for, and tells its answer or its error."""

    def __init__(
        self,
        gui: viser.GuiApi,
        door: Door,
        world: Callable[[], World],
        do: Callable[[Callable[[], str]], None],
    ):
        self._gui, self._door, self._world, self._do = gui, door, world, do
        self._lock = threading.RLock()
        self._status: TaskStatus | None = None
        self._rows: list[Any] = []
        self._choices: dict[str, Action] = {}
        with gui.add_folder("Edit the plan", expand_by_default=False) as self._folder:
            self._number = gui.add_number("As step", 1, min=1, max=1, step=1)
            self._step = gui.add_dropdown("Add", (words.NONE,), hint="what can be done there, as predicted")
            self._add = gui.add_button("Add this step", icon=Icon.PLUS)
        self._number.on_update(self._numbered)
        self._add.on_click(lambda _: self._do(self._added))

    def show(self, status: TaskStatus) -> None:
        with self._lock:
            if status.state is not TaskState.AWAITING_APPROVAL:
                self._clear()
                self._status = None
                return
            if self._status is not None and self._status.plan_hash == status.plan_hash:
                return
            self._status = status
            self._clear()
            count = len(status.plan)
            with self._folder:
                for number, said in enumerate(status.plan_words[:_STEPS], 1):
                    options = [f"Up {number}"] if number > 1 else []
                    options += [f"Down {number}"] if number < count else []
                    row = self._gui.add_button_group(f"{number}. {said}", (*options, f"Drop {number}"), order=number)
                    row.on_click(partial(self._clicked, number))
                    self._rows.append(row)
            self._number.max = count + 1
            self._number.value = count + 1  # type: ignore[misc]  # viser defines its setter by a descriptor
            self._offer()

    def _clear(self) -> None:
        for row in self._rows:
            row.remove()
        self._rows = []

    def _offer(self) -> None:
        """List what can be added at the number that is chosen; the lock is held."""
        status, world = self._status, self._world()
        if status is None or not world.domain:
            return
        self._choices = editing.choices(Domain.load(world.domain), world, status.plan, int(self._number.value))
        self._step.options = (words.NONE, *self._choices)

    def _numbered(self, event: Any) -> None:
        if event.client is not None:
            with self._lock:
                self._offer()

    def _clicked(self, number: int, event: Any) -> None:
        what = str(event.target.value).partition(" ")[0]
        self._do(lambda: self._changed(what, number))

    def _changed(self, what: str, number: int) -> str:
        plan = self._plan
        if what == "Drop":
            return self._send(editing.drop(plan, number))
        return self._send(editing.move(plan, number, number - 1 if what == "Up" else number + 1))

    def _added(self) -> str:
        with self._lock:
            action = self._choices.get(self._step.value)
        if action is None:
            return "choose first what is to be added"
        return self._send(editing.insert(self._plan, action, int(self._number.value)))

    @property
    def _plan(self) -> tuple[Action, ...]:
        with self._lock:
            if self._status is None:
                raise GoalError("no plan waits for approval any more")
            return self._status.plan

    def _send(self, plan: Sequence[Action]) -> str:
        with self._lock:
            status = self._status
        if status is None:
            raise GoalError("no plan waits for approval any more")
        return self._door.edit_plan(status.task_id, status.plan_hash, plan)

"""The page's panel: sentence box, task and tree, camera, earlier tasks. Its door leads to the system."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from viser import Icon

from planweave.core.base.errors import PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, World
from planweave.core.trees.action_tree import TreeRow
from planweave.core.workflow.question import Remembered, UserQuestion
from planweave.core.workflow.task_status import TaskState, TaskStatus
from planweave.page import words
from planweave.page.earlier import EarlierTasks
from planweave.page.ghost import Ghost
from planweave.page.moments import Moment, Moments
from planweave.page.plan_editor import PlanEditor
from planweave.page.question_view import QuestionView

if TYPE_CHECKING:
    import viser


class Door(Protocol):
    """Requests that a person at the page may make, each through the same service that any other client calls.

    All raise PlanweaveError with a message for the person.
    """

    def submit(self, sentence: str, *, dry_run: bool = False) -> str:
        """Queue a task; returns its id."""

    def cancel(self, task_id: str = "") -> str:
        """Cancel a task, the running one without an id."""

    def pause(self, task_id: str = "", reason: str = "") -> str:
        """Pause a task, the running one without an id."""

    def resume(self, task_id: str = "") -> str:
        """Let a paused task go on."""

    def approve(self, task_id: str, plan_hash: str, approve: bool, comment: str = "") -> str:
        """Approve or refuse a plan."""

    def edit_plan(self, task_id: str, plan_hash: str, plan: Sequence[Action]) -> str:
        """Replace the plan that waits by another one."""

    def answer(self, task_id: str, question_id: str, choice: int = 0, text: str = "") -> str:
        """Answer a question, by the number of a choice (from 1) or in words."""

    def tasks(self, limit: int = 0) -> list[TaskStatus]:
        """Tasks, oldest first."""

    def task(self, task_id: str = "") -> tuple[TaskStatus, dict[str, Any]]:
        """A task with its record."""

    def remembered(self, forget: Sequence[int] = (), forget_all: bool = False) -> tuple[list[Remembered], list[int]]:
        """Remembered answers of people that are left, oldest first, and the ids of what was forgotten."""


class Panel:
    """Built once for all who open the page. Its methods may be called from any thread."""

    def __init__(
        self,
        server: viser.ViserServer,
        door: Door,
        examples: Sequence[str],
        moments: Moments,
        show: Callable[[Moment | None], None],
        make_ghost: Callable[[], Ghost],
        world: Callable[[], World],
        domain: Domain,
    ):
        """moments: kept of tasks; show(moment): puts the 3D scene to one, None: to now. make_ghost: the preview, whose
        folder is made where it is called. world: the newest one; domain: in whose words it is told.
        """
        self._server, self._door, self._domain = server, door, domain
        self._lock = threading.Lock()
        self._newest: TaskStatus | None = None
        self._asked: dict[str, UserQuestion] = {}  # by the task that waits for the answer
        self._trees: dict[str, tuple[TreeRow, ...]] = {}
        gui = server.gui
        gui.set_panel_label("Planweave")
        self._theme()
        gui.add_html(words.NEXT_STAYS_IN_SIGHT)
        self._stop = gui.add_button(
            "Stop", color="red", icon=Icon.PLAYER_STOP, hint="cancels the task: the robot stops"
        )
        self._pausing = PauseButtons(gui, door, self._do)
        self._told = gui.add_html("")
        with gui.add_form("What is to be done?") as form:
            self._sentence = gui.add_text("Task", "")
            self._example = gui.add_dropdown("Examples", (words.NONE, *examples))
            self._plan = gui.add_button("Plan", icon=Icon.ROUTE, hint="reads, plans and checks; nothing moves")
            self._run = gui.add_button("Run", color="blue", icon=Icon.PLAYER_PLAY, hint="reads, plans and does it")
        self.question = QuestionView(server, self._answer_question)
        with gui.add_folder("Your approval", visible=False) as self._approval:
            self._comment = gui.add_text("Why not", "", hint="goes to the planner where you refuse")
            self._yes = gui.add_button("Approve this plan", color="green", icon=Icon.CHECK)
            self._no = gui.add_button("Refuse it", color="orange", icon=Icon.X)
            self._editor = PlanEditor(gui, door, world, self._do)
        self.ghost = make_ghost()
        tabs = gui.add_tab_group()
        with tabs.add_tab("Task"):
            self._task = gui.add_html(words.task_html(None))
        with tabs.add_tab("Tree"):
            self._tree = gui.add_html(words.tree_html(()))
        with tabs.add_tab("World"):
            self._world = gui.add_html(words.world_html(domain, World("")))
        with tabs.add_tab("Camera"):
            self._picture = gui.add_image(np.full((3, 4, 3), 90, np.uint8), label="no picture yet")
        with tabs.add_tab("Earlier"):
            self._earlier = EarlierTasks(gui, door, moments, show, self._note)
        with tabs.add_tab("Memory"):
            RememberedAnswers(gui, door, self._do)
        self._light = gui.add_checkbox("Dark", True)
        self._connect(form)

    def _connect(self, form: Any) -> None:
        self._stop.on_click(lambda _: self._do(self._cancel))
        self._plan.on_click(lambda _: self._do(lambda: self._submit(dry_run=True)))
        self._run.on_click(lambda _: self._do(lambda: self._submit(dry_run=False)))
        form.on_submit(lambda _: self._do(lambda: self._submit(dry_run=True)))
        self._yes.on_click(lambda _: self._do(lambda: self._answer(True)))
        self._no.on_click(lambda _: self._do(lambda: self._answer(False)))
        self._example.on_update(lambda _: self._take_example())
        self._light.on_update(lambda _: self._theme())
        command = self._server.gui.add_command("Stop the robot", hotkey="S", modifier="cmd/ctrl+shift")
        command.on_trigger(lambda _: self._do(self._cancel))

    # ---- from the system

    def status(self, status: TaskStatus) -> None:
        """Show the newest state of a task; a task that waits for another does not hide it."""
        with self._lock:
            self._asked.pop(status.task_id, None)
            if status.question is not None:
                self._asked[status.task_id] = status.question
            self.question.show(next(iter(self._asked.values()), None))
            newest = self._newest
            another = newest is None or newest.task_id != status.task_id
            not_begun = status.state is TaskState.QUEUED or (status.state is TaskState.PAUSED and not status.elapsed)
            waits = not_begun and another and newest is not None and not newest.state.ended
            if waits:
                return
            self._newest = status
        if another and not status.state.ended:
            self._earlier.leave()  # where the robot may move, the scene shows now
        self._task.content = words.task_html(status)
        self._tree.content = words.tree_html(self._trees.get(status.task_id, ()))
        self._approval.visible = status.state is TaskState.AWAITING_APPROVAL
        self._pausing.show(status)
        self._editor.show(status)
        self.ghost.status(status)

    def tree(self, task_id: str, rows: tuple[TreeRow, ...]) -> None:
        self._trees = {task_id: rows}
        if self._newest is None or self._newest.task_id == task_id:
            self._tree.content = words.tree_html(rows)

    def world(self, world: World) -> None:
        told = words.world_html(self._domain, world)
        if self._world.content != told:
            self._world.content = told
        self.question.world(world)

    def picture(self, image: np.ndarray, label: str) -> None:
        """Show a picture (height, width, 3), uint8 RGB."""
        self._picture.image = image
        if self._picture.label != label:
            self._picture.label = label
        self.question.picture(image)

    # ---- from a person

    def _do(self, act: Callable[[], str]) -> None:
        try:
            self._told.content = words.note_html(act())
        except PlanweaveError as error:
            self._told.content = words.error_html(str(error))

    def _submit(self, dry_run: bool) -> str:
        sentence = self._sentence.value.strip()
        if not sentence:
            return "say first what is to be done"
        self._door.submit(sentence, dry_run=dry_run)
        return ""

    def _cancel(self) -> str:
        return self._door.cancel()

    def _answer(self, approve: bool) -> str:
        status = self._newest
        if status is None or status.state is not TaskState.AWAITING_APPROVAL:
            return "no plan waits for an answer any more"
        said = self._door.approve(status.task_id, status.plan_hash, approve, "" if approve else self._comment.value)
        self._comment.value = ""  # type: ignore[misc]  # viser defines its setter by a descriptor
        return said

    def _answer_question(self, question: UserQuestion, choice: int, text: str) -> None:
        self._do(lambda: self._door.answer("", question.id, choice, text))

    def _take_example(self) -> None:
        if self._example.value != words.NONE:
            self._sentence.value = self._example.value  # type: ignore[misc]

    def _note(self, html: str) -> None:
        self._told.content = html

    def _theme(self) -> None:
        dark = self._light.value if hasattr(self, "_light") else True
        self._server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)


class RememberedAnswers:
    """A list of the entries, one of which can be forgotten. do(act): calls act and shows its message."""

    def __init__(self, gui: viser.GuiApi, door: Door, do: Callable[[Callable[[], str]], None]):
        self._door = door
        self._renew = gui.add_button("What is remembered", icon=Icon.REFRESH)
        self._chosen = gui.add_dropdown("Entry", (words.NONE,))
        self._forget = gui.add_button("Forget it", color="orange", icon=Icon.X, hint="the person is asked again")
        self._list = gui.add_html(words.remembered_html(()))
        self._renew.on_click(lambda _: do(self._look))
        self._forget.on_click(lambda _: do(self._forgotten))

    def _look(self) -> str:
        self._show(self._door.remembered()[0])
        return ""

    def _forgotten(self) -> str:
        if self._chosen.value == words.NONE:
            return "choose first what is to be forgotten"
        left, gone = self._door.remembered([int(words.id_of(self._chosen.value))])
        self._show(left)
        return f"forgotten: {', '.join(map(str, gone))}"

    def _show(self, entries: Sequence[Remembered]) -> None:
        self._chosen.options = (words.NONE, *(f"{entry.text} [{entry.id}]" for entry in reversed(entries)))
        self._list.content = words.remembered_html(entries)


class PauseButtons:
    """Pause while a task goes on, Resume in its place while it is paused. do(act): calls act and shows its message."""

    def __init__(self, gui: viser.GuiApi, door: Door, do: Callable[[Callable[[], str]], None]):
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

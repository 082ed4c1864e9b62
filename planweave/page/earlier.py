"""The page's tab of earlier tasks: what happened in each, and its moments along a slider."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from viser import Icon

from planweave.core.base.errors import PlanweaveError
from planweave.page import words
from planweave.page.moments import Moment, Moments

if TYPE_CHECKING:
    import viser

    from planweave.page.panel import Door

_TASKS = 50  # that are listed


class EarlierTasks:
    """show(moment) puts the 3D scene to a moment, None: to now; told(html) says what could not be done."""

    def __init__(
        self,
        gui: viser.GuiApi,
        door: Door,
        moments: Moments,
        show: Callable[[Moment | None], None],
        told: Callable[[str], None],
    ):
        self._door, self._kept, self._show, self._tell = door, moments, show, told
        self._lock = threading.Lock()
        self._moments: list[Moment] = []
        self._task = gui.add_dropdown("Task", (words.NONE,))
        self._renew = gui.add_button("Look again", icon=Icon.REFRESH)
        self._slider = gui.add_slider("Moment", 0, 1, 1, 0, visible=False)
        self._now = gui.add_button("Back to now", color="blue", icon=Icon.PLAYER_TRACK_NEXT, visible=False)
        self._words = gui.add_html("")
        self._picture = gui.add_image(np.full((3, 4, 3), 90, np.uint8), visible=False)
        self._record = gui.add_html("")
        self._renew.on_click(lambda _: self._do(self._list))
        self._task.on_update(lambda _: self._do(self._open))
        self._slider.on_update(self._slid)
        self._now.on_click(lambda _: self.leave())

    def leave(self) -> None:
        if self._now.visible:
            self._now.visible = self._picture.visible = False
            self._words.content = ""
            self._show(None)

    def _do(self, act: Callable[[], None]) -> None:
        try:
            with self._lock:
                act()
        except PlanweaveError as error:
            self._tell(words.error_html(str(error)))

    def _list(self) -> None:
        self._task.options = (words.NONE, *words.choices(self._door.tasks(_TASKS)))

    def _open(self) -> None:
        self.leave()
        self._moments, self._record.content = [], ""
        if self._task.value != words.NONE:
            task_id = words.id_of(self._task.value)
            status, record = self._door.task(task_id)
            self._record.content = words.task_html(status) + words.record_html(record)
            self._moments = self._kept.of(task_id)
        if len(self._moments) > 1:
            self._slider.max = len(self._moments) - 1
            self._slider.value = len(self._moments) - 1  # type: ignore[misc]  # viser defines its setter by a descriptor
        self._slider.visible = len(self._moments) > 1

    def _slid(self, event: Any) -> None:
        """A person has moved the slider; the program's own change comes from no client."""
        if event.client is None:
            return
        with self._lock:
            if not self._moments:
                return
            moment = self._moments[min(int(self._slider.value), len(self._moments) - 1)]
            self._words.content = words.moment_html(moment)
            if moment.picture:
                from PIL import Image

                self._picture.image = np.asarray(Image.open(io.BytesIO(moment.picture)))
            self._picture.visible = bool(moment.picture)
            self._now.visible = True
            self._show(moment)

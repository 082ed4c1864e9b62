"""Moments of tasks that the page keeps to show again: robot, world and picture at moments of each."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from planweave.core.symbolic.world import World
from planweave.core.workflow.task_status import TaskState, TaskStatus

TASKS = 10
MOST = 400
"""Moments kept of one task; of a longer one every second is left out, as often as it takes."""
_APART = 0.25  # s between moments in which the robot or the world moved
_PICTURES_APART = 1.0  # s
_QUALITY = 70  # of JPEG, of 100


@dataclass(frozen=True)
class Moment:
    """seconds: wall time since the task began. positions (n,), rad, and width of the gripper, m, None where no joint
    state came. picture: JPEG, empty where nobody had the page open; pictured: seconds, as above, when it came.
    """

    seconds: float
    words: str = ""
    world: World | None = None
    positions: NDArray[np.float64] | None = None
    width: float = 0.0
    picture: bytes = b""
    pictured: float = 0.0


@dataclass
class _Track:
    began: float
    apart: float = _APART
    moments: list[Moment] = field(default_factory=list)

    def add(self, moment: Moment) -> None:
        self.moments.append(moment)
        if len(self.moments) > MOST:
            self.moments[1:-1] = self.moments[1:-1:2]
            self.apart *= 2


class Moments:
    """The last tasks; its methods may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        """clock: seconds."""
        self._clock = clock
        self._lock = threading.Lock()
        self._tracks: dict[str, _Track] = {}
        self._task = ""  # that runs
        self._now = Moment(0.0)
        self._pictured = 0.0  # by the clock, when the newest picture came

    @property
    def wants_picture(self) -> bool:
        """Whether a task runs and its newest picture is old."""
        return bool(self._task) and self._clock() - self._pictured >= _PICTURES_APART

    def status(self, status: TaskStatus) -> None:
        """The newest status of a task; a moment is taken wherever it says something new."""
        if status.state is TaskState.QUEUED:
            return
        words = f"{status.phase}: {status.action}" if status.action else status.message or status.phase
        with self._lock:
            if status.task_id not in self._tracks:
                if status.state.ended:
                    return  # it ended before this page was there
                self._tracks[status.task_id] = _Track(self._clock() - status.elapsed)
                for old in list(self._tracks)[:-TASKS]:
                    del self._tracks[old]
            changed = words != self._now.words or status.task_id != self._task
            self._task = status.task_id
            if changed:
                self._now = replace(self._now, words=words)
                self._take()
            if status.state.ended:
                self._task = ""

    def world(self, world: World) -> None:
        with self._lock:
            self._now = replace(self._now, world=world)
            self._take_later()

    def state(self, positions: NDArray[np.float64], width: float) -> None:
        """The newest state of the robot."""
        with self._lock:
            self._now = replace(self._now, positions=positions, width=width)
            self._take_later()

    def picture(self, image: NDArray[np.uint8]) -> None:
        """The newest picture, (height, width, 3) RGB."""
        from PIL import Image

        file = io.BytesIO()
        Image.fromarray(image).save(file, "JPEG", quality=_QUALITY)
        with self._lock:
            self._pictured = self._clock()
            self._now = replace(self._now, picture=file.getvalue())

    def _take_later(self) -> None:
        track = self._tracks.get(self._task)
        if track and self._clock() - track.began - track.moments[-1].seconds >= track.apart:
            self._take()

    def _take(self) -> None:
        track = self._tracks.get(self._task)
        if track is not None:
            seconds = self._clock() - track.began
            track.add(replace(self._now, seconds=seconds, pictured=self._pictured - track.began))

    def of(self, task_id: str) -> list[Moment]:
        """Moments of one task, oldest first; empty where this page did not see it."""
        with self._lock:
            track = self._tracks.get(task_id)
            return list(track.moments) if track else []

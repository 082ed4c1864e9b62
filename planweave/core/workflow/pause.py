"""The pause of a task: a gate that any thread closes and opens, and that the task's own thread waits at."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planweave.core.base.cancellation import Cancellation
from planweave.core.base.errors import GoalError
from planweave.core.symbolic.world import World

_WATCH = 1.0  # s between two looks whether the body is still there
_SLICE = 0.5  # s after which a wait for a person looks whether the task is paused


class Pause:
    """The pause of a task: whether it is paused, by whom and why.

    `pause` and `resume` come from any thread. The task's thread waits in `wait` before it moves anything, then looks,
    and answers with `release` or `refuse`.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[], None]] = []
        self._timer: threading.Timer | None = None
        self._since = 0.0  # time.monotonic()
        self._set = self._going_on = self._waited_for = False
        self._answer: str | None = None  # to the last resume: why it stays paused, "" where it goes on
        self.by = self.reason = self.note = ""
        self.resumed_by = ""
        self.told = ""
        """What a person was told as the task went on; "" before, and where there was nothing to tell."""
        self.known: World | None = None
        """The world in which the pause began; None where nobody knows it."""

    @property
    def is_set(self) -> bool:
        """Return whether nothing may move."""
        return self._set

    @property
    def shown(self) -> bool:
        """Return whether the task counts as paused: not where it was resumed while its method still thinks."""
        return self._set and (self._waited_for or not self._going_on)

    @property
    def seconds(self) -> float:
        """Wall time since the pause began, s."""
        return time.monotonic() - self._since if self._set else 0.0

    @property
    def message(self) -> str:
        """Words for who paused it, why, and what has come of it since."""
        said = f"paused by {self.by or 'somebody'}" + (f": {self.reason}" if self.reason else "")
        return f"{said}; {self.note}" if self.note else said

    def pause(
        self, by: str = "", reason: str = "", seconds: float = 0.0, over: Callable[[], object] | None = None
    ) -> None:
        """Close the gate and run the registered callbacks; raises GoalError where it is closed already.

        over: called where nobody has resumed the task after so many seconds.
        """
        with self._changed:
            if self._set and not self._going_on:
                raise GoalError(f"it is paused already, since {self.seconds:.0f} s ago, by {self.by or 'somebody'}")
            if not self._set:
                self._since, self.known = time.monotonic(), None
            self._set, self._going_on = True, False
            self.by, self.reason, self.note = by, reason, ""
            self._stop_timer()
            if over is not None:
                self._timer = threading.Timer(seconds, over)
                self._timer.daemon = True
                self._timer.start()
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def resume(self, by: str = "") -> None:
        """Ask the task's thread to look and go on; raises GoalError where it is not paused."""
        with self._changed:
            if not self._set:
                raise GoalError("it is not paused, so there is nothing to resume")
            self._going_on, self._answer, self.resumed_by, self.told = True, None, by, ""
            self._changed.notify_all()

    def answer(self, seconds: float) -> str:
        """The reason why the task stays paused after `resume`, "" where it goes on, or its thread does not wait yet."""
        with self._changed:
            self._changed.wait_for(lambda: self._answer is not None or not (self._set and self._waited_for), seconds)
            return self._answer or ""

    def wait(self, canceled: Cancellation, watch: Callable[[], object]) -> bool:
        """Wait until the task shall go on; whether it was paused.

        watch is called once a second and may raise, as where the body has gone. Raises CanceledError.
        """
        with self._changed:
            if not self._set:
                return False
            self._waited_for = True
        try:
            with canceled.calling(self._wake):
                while True:
                    with self._changed:
                        self._changed.wait_for(lambda: self._going_on or canceled.is_set, _WATCH)
                        canceled.check()
                        if self._going_on:
                            return True
                    watch()
        except BaseException:
            self.end()
            raise

    def release(self, told: str = "") -> bool:
        """Open the gate, with what a person should know; False where the task was paused once more meanwhile."""
        with self._changed:
            if not self._going_on:
                return False
            self.told = told
            self._open()
            return True

    def refuse(self, why: str) -> None:
        """Stay paused after a resume."""
        with self._changed:
            self._going_on, self._answer = False, why
            self.note = why
            self._changed.notify_all()

    def know(self, world: World, first: bool = False) -> None:
        """Set the world that changes are told against; first: unless there is one."""
        with self._changed:
            if self._set and not (first and self.known is not None):
                self.known = world

    def end(self) -> None:
        """Open the gate for good: the task has ended."""
        with self._changed:
            self._open()

    def _open(self) -> None:
        self._set = self._going_on = self._waited_for = False
        self._answer = ""
        self._stop_timer()
        self._changed.notify_all()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run a callback once the gate is closed inside the block, or at once where it is closed already."""
        with self._changed:
            now = self._set
            self._callbacks.append(callback)
        if now:
            callback()
        try:
            yield
        finally:
            with self._changed:
                self._callbacks.remove(callback)


def wait_unpaused(
    condition: threading.Condition,
    ready: Callable[[], bool],
    seconds: float,
    paused: Callable[[], bool],
    canceled: Cancellation,
) -> None:
    """Wait on a condition until it is ready, the task is cancelled, or so many seconds have passed beside pauses."""

    def wake() -> None:
        with condition:
            condition.notify_all()

    def over() -> bool:
        return ready() or canceled.is_set

    left = seconds
    with canceled.calling(wake), condition:
        while not over() and left > 0:
            begun = time.monotonic()
            condition.wait_for(over, min(left, _SLICE))
            left -= 0.0 if paused() else time.monotonic() - begun

"""A cancellation flag that loops poll and waits are woken by."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from planweave.core.base.errors import CanceledError


class Cancellation:
    """Cancellation flag of a task, set once, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._callbacks: list[Callable[[], None]] = []
        self._set = False
        self.reason = ""

    @property
    def is_set(self) -> bool:
        return self._set

    def cancel(self, reason: str = "cancelled") -> None:
        """Set the flag and run the registered callbacks."""
        with self._lock:
            if self._set:
                return
            self._set, self.reason = True, reason
            callbacks = list(self._callbacks)
        for callback in callbacks:
            callback()

    def check(self) -> None:
        """Raise CanceledError where the flag is set."""
        if self._set:
            raise CanceledError(self.reason)

    @contextmanager
    def calling(self, callback: Callable[[], None]) -> Iterator[None]:
        """Run a callback once if the flag is set, or gets set, inside the block."""
        with self._lock:
            now = self._set
            if not now:
                self._callbacks.append(callback)
        if now:
            callback()
        try:
            yield
        finally:
            with self._lock:
                if callback in self._callbacks:
                    self._callbacks.remove(callback)

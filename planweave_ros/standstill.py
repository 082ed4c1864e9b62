"""Detection of a long suspension of the whole process: SIGSTOP, a debugger, a frozen container.

Peers drop a DDS participant that is silent for its lease of 20 s. One that continues after that is not always matched
with them again: its timers run, but no message and no request reaches it. It should therefore end and be restarted,
which `planweave up`, `run` and the launch files do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

LONG = 10.0
"""Seconds; half of the lease, since on a busy machine the last sign of life may have been sent seconds before."""
_TICK = 0.5


def stood_still(passed: float, used: float) -> bool:
    """Return whether a process was suspended, from its processor time and the elapsed time in seconds.

    One whose interpreter is busy in C for long uses processor time.
    """
    return passed > LONG and used < 0.1 * passed


class Standstill:
    """Monitors in its own thread until the first suspension. on_standstill(seconds) is called once."""

    def __init__(self, on_standstill: Callable[[float], None]):
        self._on_standstill = on_standstill
        begin = time.monotonic(), time.process_time()  # read here: the thread may begin late
        threading.Thread(target=self._watch, args=begin, name="standstill", daemon=True).start()

    def _watch(self, time_before: float, used_before: float) -> None:
        while True:
            time.sleep(_TICK)
            now, used = time.monotonic(), time.process_time()
            if stood_still(now - time_before, used - used_before):
                self._on_standstill(now - time_before)
                return
            time_before, used_before = now, used

"""Waiting for a condition set by another thread."""

from __future__ import annotations

import time
from collections.abc import Callable

GRIP_SECONDS = 6.0
"""Wall time that closing or opening the fingers on what may be between them at the start may take."""


def until(
    condition: Callable[[], object],
    seconds: float,
    pause: float = 0.001,
    check: Callable[[], object] = lambda: None,
) -> bool:
    """Poll a condition that comes true within microseconds, usually; whether it did. pause: s between two looks; check:
    called at each, to raise where nobody waits any more.
    """
    end = time.monotonic() + seconds
    while not condition():
        check()
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True

"""Rows of figures, and the time that work takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

Row = dict[str, Any]
"""A figure: its name, value, goal, and whether it is met (None where there is no goal)."""


def figure(name: str, value: str, goal: str = "", met: bool | None = None, **more: Any) -> Row:
    """A row."""
    return {"figure": name, "value": value, "goal": goal, "met": met, **more}


def seconds(work: Callable[..., object], *args: Any, clock: Callable[[], float] = time.process_time) -> float:
    """Time of a call by a clock: processor time of this process unless another one is named, s."""
    begun = clock()
    work(*args)
    return clock() - begun

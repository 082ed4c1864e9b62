"""Rows of figures, and the time that work takes."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Row:
    """A figure of one run. met: None where there is no goal. more: what was measured for it, for JSON."""

    figure: str
    value: str
    goal: str = ""
    met: bool | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def plain(self) -> dict[str, Any]:
        return {"figure": self.figure, "value": self.value, "goal": self.goal, "met": self.met, **self.more}


def figure(name: str, value: str, goal: str = "", met: bool | None = None, **more: Any) -> Row:
    return Row(name, value, goal, met, more)


def seconds(work: Callable[..., object], *args: Any, clock: Callable[[], float] = time.process_time) -> float:
    """Time of a call by a clock: processor time of this process unless another one is named, s."""
    begun = clock()
    work(*args)
    return clock() - begun

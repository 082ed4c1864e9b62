"""Health of a component, in the terms of ROS's diagnostics: level, message and values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Level(IntEnum):
    """Health level. STALE: expected data have stopped arriving."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Report:
    level: Level
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


def heard(what: str, age: float, longest: float, paused: str = "") -> Report:
    """Health of periodic data: STALE where the last sample is older than the limit, ERROR where none has arrived.

    age: seconds since the last sample, math.inf for none. paused: why none is due now, else empty.
    """
    values = {"age_s": age, "longest_age_s": longest}
    if age == math.inf:
        return Report(Level.ERROR, f"no {what} yet", values)
    if paused:
        return Report(Level.OK, paused, values)
    if age > longest:
        return Report(Level.STALE, f"no {what} for {age:.1f} s", values)
    return Report(Level.OK, f"{what} come", values)

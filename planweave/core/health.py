"""How a part of the system is: a level, a sentence and values, in the words of ROS's diagnostics."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum


class Level(IntEnum):
    """How a part is. STALE: what it should give has stopped coming."""

    OK = 0
    WARN = 1
    ERROR = 2
    STALE = 3


@dataclass(frozen=True)
class Report:
    """How one part is: a level, a sentence, and values by name."""

    level: Level
    message: str
    values: Mapping[str, object] = field(default_factory=dict)


def heard(what: str, age: float, longest: float, paused: str = "") -> Report:
    """Of something that should come regularly: STALE where it last came longer ago than that, ERROR where it never did.

    age: seconds since it came, math.inf for never. paused: why nothing is due now, where that is so.
    """
    values = {"age_s": age, "longest_age_s": longest}
    if age == math.inf:
        return Report(Level.ERROR, f"no {what} yet", values)
    if paused:
        return Report(Level.OK, paused, values)
    if age > longest:
        return Report(Level.STALE, f"no {what} for {age:.1f} s", values)
    return Report(Level.OK, f"{what} come", values)

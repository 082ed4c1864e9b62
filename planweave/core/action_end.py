"""How a goal sent to a ROS action server ended, without ROS: what ports hand to those who asked."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class End(enum.Enum):
    """What became of a goal."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"
    REJECTED = "rejected"
    ABSENT = "absent"
    """No server offers the action, so nothing was sent."""


@dataclass(frozen=True)
class ActionEnd:
    """The end of one goal: the action's name, and the server's result message where there is one."""

    end: End
    action: str
    result: Any = None

"""The result of a goal sent to a ROS action server, as plain values without ROS."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any


class End(enum.Enum):
    """The end of a goal of an action."""

    SUCCEEDED = "succeeded"
    ABORTED = "aborted"
    CANCELED = "canceled"
    REJECTED = "rejected"
    ABSENT = "absent"
    """No server offers the action, so nothing was sent."""


@dataclass(frozen=True)
class ActionEnd:
    """Result of one goal: the action's name, and the server's result message where one arrived."""

    end: End
    action: str
    result: Any = None

"""Retry policies of the arm, before a failure is reported to the planner: one row per failure code."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.failure import Code

REMEDIES = {
    "look_again": "hand open, arm out of the camera's view, wait for a new image",
    "other_grasp": "the same, and leave out grasps like those tried",
    "back_off": "go straight up and out of the camera's view with what is held, wait for a new image",
}
"""What can be done before the next attempt."""
MOST = 5
NEVER_AGAIN = frozenset(
    {Code.SUCCESS, Code.CANCELED, Code.TIMEOUT, Code.SAFETY_STOP, Code.NOT_STARTED, Code.INVALID_ACTION}
)
"""After these nothing else is tried, neither again nor by another skill."""


@dataclass(frozen=True)
class Retry:
    """Number of retries after a failure, and the remedy before each."""

    times: int
    remedy: str


def read_retries(rows: Iterable[str]) -> Mapping[Code, Retry]:
    """The table from rows "CODE times remedy". Raises ConfigError that names the row and what would be right."""
    table: dict[Code, Retry] = {}
    for row in filter(None, rows):
        parts = row.split()
        if len(parts) != 3:
            raise ConfigError(f"retries: {row!r} must have the form CODE times remedy, such as: NO_GRASP 1 other_grasp")
        name, times, remedy = parts
        allowed = {c.name: c for c in Code if c not in NEVER_AGAIN}
        if name not in allowed:
            raise ConfigError(f"retries: {row!r}: {UnknownNameError('failure code', name, allowed)}")
        if remedy not in REMEDIES:
            raise ConfigError(f"retries: {row!r}: {UnknownNameError('remedy', remedy, REMEDIES)}")
        if not times.isdigit() or int(times) > MOST:
            raise ConfigError(f"retries: {row!r}: times must be a whole number from 0 to {MOST}, got {times!r}")
        if allowed[name] in table:
            raise ConfigError(f"retries: {name} stands in two rows; keep one")
        table[allowed[name]] = Retry(int(times), remedy)
    return table

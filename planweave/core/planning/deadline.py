"""The deadline of all that planning does."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

Item = TypeVar("Item")
Watched = Callable[[Iterable[Any]], Iterable[Any]]
"""`Deadline.watched` of one, or `iter` for none."""


class OutOfTimeError(Exception):
    """The deadline has passed."""


class Deadline:
    """A point in time, `seconds` from now. end: on the monotonic clock, which all processes share."""

    def __init__(self, seconds: float) -> None:
        self.seconds, self.end = seconds, time.monotonic() + seconds

    @property
    def left(self) -> float:
        """Seconds until the deadline, 0 after it."""
        return max(0.0, self.end - time.monotonic())

    def watched(self, items: Iterable[Item]) -> Iterator[Item]:
        """The same items; raises OutOfTimeError where the deadline has passed before one of them."""
        for item in items:
            if not self.left:
                raise OutOfTimeError
            yield item

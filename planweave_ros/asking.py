"""A service call that waits for its answer in a thread that does not spin the node, with a deadline."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from rclpy.task import Future

from planweave.bodies.arm.waiting import until

_SLICE = 0.05  # s between two looks whether somebody still waits


def ask(client: Any, request: Any, seconds: float, check: Callable[[], object] = lambda: None) -> Any:
    """The response; None where none arrived within the given wall time. check: raises where nobody waits any more."""
    future = client.call_async(request)
    try:
        return future.result() if until(lambda: is_done(future, _SLICE), seconds, 0.0, check) else None
    finally:
        if not future.done():
            client.remove_pending_request(future)


def is_done(future: Future, seconds: float) -> bool:
    """Return whether a future is done, after at most `seconds` of wall time."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(seconds)

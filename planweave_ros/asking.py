"""A service call that waits for its answer in a thread that does not spin the node, with a deadline."""

from __future__ import annotations

import threading
from typing import Any

from rclpy.task import Future


def ask(client: Any, request: Any, seconds: float) -> Any:
    """The response; None where none arrived within the given wall time."""
    future = client.call_async(request)
    if not is_done(future, seconds):
        client.remove_pending_request(future)
        return None
    return future.result()


def is_done(future: Future, seconds: float) -> bool:
    """Return whether a future is done, after at most `seconds` of wall time."""
    done = threading.Event()
    future.add_done_callback(lambda _: done.set())
    return done.wait(seconds)

"""A service call that waits for its answer in a thread that does not spin the node, with a deadline."""

from __future__ import annotations

import threading
from typing import Any


def ask(client: Any, request: Any, seconds: float) -> Any:
    """The response; None where none arrived within the given wall time."""
    future = client.call_async(request)
    answered = threading.Event()
    future.add_done_callback(lambda _: answered.set())
    if not answered.wait(seconds):
        client.remove_pending_request(future)
        return None
    return future.result()

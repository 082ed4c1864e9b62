"""HTTP requests with a strict deadline, whatever the server does: stall, stream forever, or die.

The request runs in its own thread, so that the caller can return at its deadline or when it is cancelled; the socket is
then shut down, which also stops a local server's work.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from typing import Any

from planweave.core.errors import ModelRequestError
from planweave.llm.clients.base import ChatRequest

MAX_BYTES = 8_000_000  # of one HTTP answer; 25 plans of 1000 steps with log-probabilities stay below
POLL = 0.05  # seconds between looks at the cancel flag

_local = threading.local()


class Connections:
    """The sockets one request opened. `watch` is a request hook for the SDK's HTTP client."""

    def __init__(self) -> None:
        self._streams: list[Any] = []
        self._shut = False

    @staticmethod
    def watch(request: Any) -> None:
        """Trace the sockets that the transport opens for this thread's request."""
        connections = getattr(_local, "connections", None)
        if connections is not None:
            request.extensions = {**request.extensions, "trace": connections.trace}

    def trace(self, event: str, info: dict[str, Any]) -> None:
        """Called by the transport at each step of a request."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            self._streams.append(info.get("return_value"))
            if self._shut:
                self.shut()

    def shut(self) -> None:
        """Shut the sockets down, which wakes a thread that reads from one."""
        self._shut = True
        for stream in self._streams:
            with contextlib.suppress(Exception):
                raw = stream.get_extra_info("socket")
                # A TLS socket must not be touched while another thread reads it; the descriptor below it may.
                with socket.socket(fileno=socket.dup(raw.fileno())) as plain:
                    plain.shutdown(socket.SHUT_RDWR)


def within_deadline(request: ChatRequest, call: Callable[[], bytes]) -> bytes:
    """Run call in a thread and wait for it, at most until the request's deadline.

    Raises what call raises, ModelTimeoutError at the deadline, CanceledError when the request is cancelled.
    """
    connections, result, failure, done = Connections(), [], [], threading.Event()

    def work() -> None:
        _local.connections = connections
        try:
            result.append(call())
        except BaseException as error:  # handed to the waiting thread
            failure.append(error)
        finally:
            done.set()

    request.check()
    threading.Thread(target=work, name="chat-request", daemon=True).start()
    try:
        while not done.wait(max(0.0, min(POLL, request.remaining))):
            request.check()
    except BaseException:
        connections.shut()
        raise
    if failure:
        request.check()  # a read that ran out of time at the deadline is a timeout, not a lost connection
        raise failure[0]
    return result[0]


def answer_bytes(body: Mapping[str, Any]) -> int:
    """Size limit of the response to a chat request: the requested tokens with their log-probabilities, and space for a
    model's reasoning.
    """
    tokens = body.get("max_tokens", body.get("max_completion_tokens", 0))
    return min(MAX_BYTES, 1_000_000 + 1000 * int(tokens) * int(body.get("n", 1)))


def read_bounded(chunks: Any, endpoint: str, limit: int = MAX_BYTES) -> bytes:
    """The chunks of an answer as one string of bytes; raises ModelRequestError beyond a limit of bytes."""
    body = bytearray()
    for chunk in chunks:
        body += chunk
        if len(body) > limit:
            raise ModelRequestError(
                f"the answer of {endpoint} is longer than {limit / 1e6:.1f} MB; it is not a chat "
                "completion, or max_tokens is ignored"
            )
    return bytes(body)

"""HTTP requests with a strict deadline, whatever the server does: stall, stream forever, or die.

The request runs in its own thread, so that the caller can return at its deadline or when it is cancelled; the socket is
then shut down, which also stops a local server's work. The openai SDK has a time limit for each read, but none for all.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, wait
from typing import Any

from planweave.llm.clients.base import ChatRequest

MAX_BYTES = 8_000_000  # of one HTTP answer; 25 plans of 1000 steps with log-probabilities stay below
POLL = 0.05  # seconds between looks at the cancel flag

_local = threading.local()


class HttpAnswer(Exception):
    """An HTTP answer other than success, or one of more than MAX_BYTES, of which `data` is the beginning."""

    def __init__(self, status: int, headers: Mapping[str, str], data: bytes) -> None:
        super().__init__(status)
        self.status, self.headers, self.data = status, headers, data


class Connections:
    """The sockets one request opened. `watch` and `refuse` are hooks for the SDK's HTTP client."""

    def __init__(self) -> None:
        self._streams: list[Any] = []
        self._shut = False

    @staticmethod
    def watch(request: Any) -> None:
        """Trace the sockets that the transport opens for this thread's request."""
        request.extensions = {**request.extensions, "trace": _local.connections.trace}

    @staticmethod
    def refuse(response: Any) -> None:
        """Raise HttpAnswer for everything but success; the SDK would read its body without a bound."""
        if not response.is_success:
            raise HttpAnswer(response.status_code, response.headers, read_bounded(response))

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


def within_deadline(request: ChatRequest, call: Callable[[float], bytes]) -> bytes:
    """Run call, with the seconds left, in a thread and wait for it, at most until the request's deadline.

    Raises what call raises, ModelTimeoutError at the deadline, CanceledError when the request is cancelled.
    """
    connections, answer = Connections(), Future[bytes]()

    def work() -> None:
        _local.connections = connections
        try:
            answer.set_result(call(max(POLL, min(request.remaining, 3600.0))))
        except BaseException as error:  # handed to the waiting thread
            answer.set_exception(error)

    request.check()
    threading.Thread(target=work, name="chat-request", daemon=True).start()
    try:
        while not wait([answer], max(0.0, min(POLL, request.remaining))).done:
            request.check()
    except BaseException:
        connections.shut()
        raise
    if answer.exception() is not None:
        request.check()  # a read that ran out of time at the deadline is a timeout, not a lost connection
    return answer.result()


def read_bounded(response: Any) -> bytes:
    """The body of a response; raises HttpAnswer beyond MAX_BYTES."""
    body = bytearray()
    for chunk in response.iter_bytes():
        body += chunk
        if len(body) > MAX_BYTES:
            what = f"longer than {MAX_BYTES / 1e6:.0f} MB, beginning with ".encode()
            raise HttpAnswer(response.status_code, {}, what + body[:100])
    return bytes(body)

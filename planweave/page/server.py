"""The web server of the page: viser's, behind a gate."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import viser
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.http11 import Response

from planweave.core.base.errors import ConfigError
from planweave.page.first_screen import File, FirstScreen
from planweave.page.gate import Answer, Gate

_CLIENT = Path(viser.__file__).parent / "client" / "build" / "index.html"


class PageServer(viser.ViserServer):
    """viser's server without its way to the internet, which any client could ask for."""

    def request_share_url(self, verbose: bool = True) -> str | None:
        """Refused."""
        return None


def open_page(gate: Gate, port: int) -> PageServer:
    """A server whose requests pass the gate, on this port or, where it is taken, the next free one; 0: any.

    Raises ConfigError where the address is none of this machine's.
    """
    try:
        with socket.create_server((gate.host, 0), family=socket.AF_INET6 if ":" in gate.host else socket.AF_INET):
            pass
    except OSError as error:
        raise ConfigError(f"the page cannot be served on {gate.host!r}: {error.strerror}; see parameter host") from None
    with _behind(gate):
        return PageServer(host=gate.host, port=port, label="Planweave", verbose=False)


@contextlib.contextmanager
def _behind(gate: Gate) -> Iterator[None]:
    """Servers of websockets that are made meanwhile ask the gate first, and give the first screen; viser itself lets
    everybody in.
    """
    serve = websockets.asyncio.server.serve
    first_screen = FirstScreen.of_client(_CLIENT.read_text(encoding="utf-8"))

    def guarded(*args: Any, process_request: Callable[[Any, Any], Any], **options: Any) -> Any:
        def asked_first(connection: Any, request: Any) -> Any:
            answer = gate.answer(request.path, request.headers)
            if answer:
                return _response(answer)
            file = None if "Upgrade" in request.headers else first_screen.file(request.path)
            return _served(file, request.headers) if file else process_request(connection, request)

        return serve(*args, process_request=asked_first, **options)

    websockets.asyncio.server.serve = guarded  # type: ignore[assignment, misc]
    try:
        yield
    finally:
        websockets.asyncio.server.serve = serve  # type: ignore[misc]


def _served(file: File, asked: Headers) -> Response:
    packed = "gzip" in asked.get("Accept-Encoding", "")
    body = file.zipped if packed else file.plain
    headers = Headers({**file.headers(), "Content-Length": str(len(body)), "Vary": "Accept-Encoding"})
    if packed:
        headers["Content-Encoding"] = "gzip"
    return Response(HTTPStatus.OK.value, HTTPStatus.OK.phrase, headers, body)


def _response(answer: Answer) -> Response:
    body = answer.text.encode()
    headers = Headers(
        {"Content-Type": "text/plain; charset=utf-8", "Content-Length": str(len(body)), "Connection": "close"}
    )
    if answer.location:
        headers["Location"] = answer.location
    if answer.cookie:
        headers["Set-Cookie"] = answer.cookie
    status = HTTPStatus(answer.status)
    return Response(status.value, status.phrase, headers, body)

"""The web server of the page: viser's, behind a gate."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import re
import socket
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import viser
import websockets.asyncio.server
from websockets.datastructures import Headers
from websockets.http11 import Response

from planweave.core.base.errors import ConfigError
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


_PACKED = re.compile(r'<script data-p="([^"]*)" data-ss="(\d+)" data-cs="(\d+)">(.*?)</script>', re.DOTALL)
_DATA = "document.currentScript.dataset"  # how the script reaches what is packed; not defined in another file
_ROOT = '<div id="root"></div>'
_TEMPLATE = Path(__file__).with_name("first_screen.html")
_YEAR = 365 * 24 * 3600  # s


@dataclass(frozen=True)
class File:
    """A file to serve. kept: for how long a browser may keep it without asking, s."""

    text: str
    kind: str
    kept: int = 0

    @cached_property
    def plain(self) -> bytes:
        return self.text.encode()

    @cached_property
    def zipped(self) -> bytes:
        return gzip.compress(self.plain)

    def headers(self) -> dict[str, str]:
        """HTTP headers of the file."""
        keep = f"private, max-age={self.kept}, immutable" if self.kept else "no-cache"
        return {"Content-Type": f"{self.kind}; charset=utf-8", "Cache-Control": keep}


@dataclass(frozen=True)
class FirstScreen:
    """First screen in a browser, before viser's client runs: the files of a page by their paths, without "/" at
    the begin; none for a client that is packed otherwise, which is then served as it is.

    viser serves its client as one HTML file whose one script, 0.8 MB, holds the client compressed and unpacks it, so
    that nothing is painted for a second. Here that file is served in two: a few lines of HTML that say what is coming,
    and the script, which begins once they are painted, and which a browser keeps.
    """

    files: Mapping[str, File] = field(default_factory=dict)

    @classmethod
    def of_client(cls, client: str) -> FirstScreen:
        """The first screen of a client's HTML file."""
        found = _PACKED.search(client)
        if found is None or client.count(_ROOT) != 1 or found[4].count(_DATA) != 1:
            return cls()
        packed = json.dumps({"p": unescape(found[1]), "ss": found[2], "cs": found[3]})
        script = found[4].replace(_DATA, packed)
        name = f"client-{hashlib.sha256(script.encode()).hexdigest()[:16]}.js"
        page = File(_TEMPLATE.read_text(encoding="utf-8").replace("CLIENT", name), "text/html")
        return cls({"": page, "index.html": page, name: File(script, "text/javascript", _YEAR)})

    def file(self, path: str) -> File | None:
        """The file of a request's path, if it is one of these."""
        return self.files.get(path.partition("?")[0].lstrip("/"))

"""The page's first screen, which a browser paints before viser's client has come and run.

viser serves its client as one HTML file whose one script, 0.8 MB, holds the client compressed and unpacks it, so that
nothing is painted for a second. Here that file is served in two: a few lines of HTML that say what is coming, and the
script, which begins once they are painted, and which a browser keeps.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from html import unescape
from pathlib import Path

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
        """Of the answer that serves it."""
        keep = f"private, max-age={self.kept}, immutable" if self.kept else "no-cache"
        return {"Content-Type": f"{self.kind}; charset=utf-8", "Cache-Control": keep}


@dataclass(frozen=True)
class FirstScreen:
    """The files of a page by their paths, without "/" at the begin; none for a client that is packed otherwise, which
    is then served as it is.
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

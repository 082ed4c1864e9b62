"""Access to the page: this machine alone, or whoever has the token.

A web page of somebody else, open in the same browser, could reach a server on loopback, so requests that come from
another page or under another name of this machine are refused, too.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs, urlsplit

from planweave.core.base.errors import ConfigError

COOKIE = "planweave"
TOKEN_VARIABLE = "PLANWEAVE_WEB_TOKEN"
_SHORTEST = 16  # characters of a token
_HERE = ("localhost", "127.0.0.1", "[::1]")


@dataclass(frozen=True)
class Answer:
    """Answer to a request in place of the page. cookie: to be kept by the browser; text: for a person."""

    status: int
    text: str = ""
    location: str = ""
    cookie: str = ""


@dataclass(frozen=True)
class Gate:
    """Decides on requests for a page served on an address. token "": loopback only.

    Raises ConfigError for an address that others can reach without a token, or with a short one.
    """

    host: str
    token: str = ""

    def __post_init__(self) -> None:
        if not self.is_loopback and not self.token:
            raise ConfigError(
                f"the page on {self.host} could be opened by anybody in reach, who could move the robot: put a token "
                f"of at least {_SHORTEST} characters into {TOKEN_VARIABLE}, or leave it on 127.0.0.1"
            )
        if self.token and len(self.token) < _SHORTEST:
            raise ConfigError(f"the token in {TOKEN_VARIABLE} is too short: {_SHORTEST} characters at least")

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the address."""
        try:
            return self.host == "localhost" or ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def answer(self, path: str, headers: Mapping[str, str]) -> Answer | None:
        """Answer instead of the page; None where the page, its files or its socket may be given."""
        host, origin = headers.get("Host", ""), headers.get("Origin", "")
        if origin and urlsplit(origin).netloc != host:
            return Answer(403, "this page is not for other pages")
        if self.is_loopback and not self.token and _without_port(host) not in _HERE:
            return Answer(403, f"open this page as http://127.0.0.1, not as {host[:100]}")
        if not self.token:
            return None
        asked = urlsplit(path)
        given = parse_qs(asked.query).get("token", [""])[0]
        if given and self._is_token(given):
            return Answer(302, location=asked.path or "/", cookie=f"{COOKIE}={self.token}; HttpOnly; SameSite=Strict")
        if self._is_token(_cookie(headers.get("Cookie", ""))):
            return None
        why = "this token is wrong" if given else "a token is needed"
        return Answer(401, f"{why}: open /?token=…, with the one that the page was started with")

    def _is_token(self, text: str) -> bool:
        return hmac.compare_digest(text.encode(), self.token.encode())


def _without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def _cookie(text: str) -> str:
    try:
        found = SimpleCookie(text).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found else ""

"""An endpoint as people write it: base URL, key and options, mended with a note or refused; and masking of the key."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit, urlunsplit

from planweave.core.base.errors import ConfigError

DEFAULT_BASE_URL = "https://api.openai.com/v1"
OPTIONS = "PLANWEAVE_MODEL_OPTIONS"
_RUN = 8  # characters of a key in a row that count as part of it; shorter keys are no secrets
_OURS = ("messages", "model", "n")  # what PLANWEAVE_MODEL_OPTIONS cannot set
_HOLLOW = re.compile(r"\*{2,}|\.{3,}|…|•{2,}")  # stands for the middle of a key that is shown in part
_TOKEN = re.compile(r"[\w*.…•-]+")


def without_credentials(url: str) -> str:
    """A URL for display: without user name, password, query and fragment."""
    parts = urlsplit(url)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))


class Mask:
    """Replaces secrets by ``***``: whole, encoded, or a part of at least 8 characters.

    What may be a word, such as "none" or "lm-studio" (short, no digit, one case), is no secret and masks nothing.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        self._secrets = [s for s in secrets if len(s) >= 2 * _RUN or (len(s) >= _RUN and not _is_word(s))]
        self._forms = {form for secret in self._secrets for form in _forms(secret) if len(form) >= _RUN}
        parts = {form[i : i + _RUN] for form in self._forms for i in range(len(form) - _RUN + 1)}
        self._parts = {part for part in parts if not (part.isalpha() and _is_word(part))}

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        if self._secrets and _HOLLOW.search(text):
            text = _TOKEN.sub(self._unless_hollowed, text)
        found = ((form, m.start()) for form in self._forms for m in re.finditer(f"(?={re.escape(form)})", text))
        shown = [(at, at + len(form)) for form, at in found]
        if self._parts:
            shown += [(at, at + _RUN) for at in range(len(text)) if text[at : at + _RUN] in self._parts]
        pieces: list[str] = []
        reached = 0
        for start, end in sorted(shown):
            if start > reached or not pieces:
                pieces += [text[reached:start], "***"]
            reached = max(reached, end)
        return "".join([*pieces, text[reached:]])

    def _unless_hollowed(self, match: re.Match[str]) -> str:
        """``sk-ab***yz`` shows the ends of a key."""
        head, *others = _HOLLOW.split(match.group().rstrip("."))
        tail = others[-1] if others else ""
        ends = any(
            (others and len(head) > 3 and s.startswith(head)) or (len(tail) > 2 and s.endswith(tail))
            for s in self._secrets
        )
        return "***" if ends else match.group()


def _is_word(text: str) -> bool:
    return not re.search(r"\d", text) and (text.islower() or text.isupper() or text.istitle())


def _forms(secret: str) -> set[str]:
    """The secret as it is, in JSON, in a URL, in hexadecimal digits, and in base64 at each of three offsets."""
    data = secret.encode()
    forms = {secret, json.dumps(secret)[1:-1], quote(secret, safe=""), data.hex()}
    for offset in range(3):
        coded = base64.b64encode(b"\0" * offset + data).decode()
        kept = coded[(0, 2, 3)[offset] : len(coded) - (4 if (offset + len(data)) % 3 else 0)]
        forms |= {kept, kept.translate(str.maketrans("+/", "-_"))}
    return forms


@dataclass(frozen=True)
class Endpoint:
    """Address and credentials of requests. url: without query; shown: without credentials; notes: what was mended."""

    url: str = field(repr=False)
    shown: str
    query: Mapping[str, str] = field(repr=False)
    key: str = field(repr=False)
    mask: Mask
    notes: tuple[str, ...] = ()

    @property
    def local(self) -> bool:
        """Whether it is on this machine."""
        return urlsplit(self.url).hostname in ("127.0.0.1", "localhost", "::1")


def read_endpoint(url: str, key: str) -> Endpoint:
    """The endpoint of OPENAI_BASE_URL (empty: OpenAI's) and OPENAI_API_KEY as they were set. Raises ConfigError."""
    notes: list[str] = []
    key = _read_key(key, notes)
    base, query = _read_url(url, Mask([key]), notes) if url.strip() else (DEFAULT_BASE_URL, {})
    hidden = [unquote(urlsplit(base).password or ""), *(v for k, v in query.items() if k != "api-version")]
    return Endpoint(base, without_credentials(base), query, key, Mask([key, *hidden]), tuple(notes))


def _bare(name: str, text: str, notes: list[str]) -> str:
    """The text without white space and quotes around it."""
    bare = text.strip()
    if len(bare) > 1 and bare[0] == bare[-1] and bare[0] in "'\"":
        bare = bare[1:-1].strip()
    if bare != text:
        notes.append(f"{name} is used without the white space or quotes around it")
    return bare


def _read_key(text: str, notes: list[str]) -> str:
    key = _bare("OPENAI_API_KEY", text, notes)
    wrong = re.search(r"[^\x21-\x7e]", key)
    if wrong is not None:
        kind = "white space" if wrong.group().isspace() else "a character that is not printable ASCII"
        bearer = " without 'Bearer'" if key.lower().startswith("bearer") else ""
        raise ConfigError(
            f"OPENAI_API_KEY has {kind} inside (character {wrong.start() + 1} of {len(key)}), which no key has; "
            f"copy the key again, alone and on one line{bearer}. Nothing was sent"
        )
    return key


def _read_url(text: str, mask: Mask, notes: list[str]) -> tuple[str, dict[str, str]]:
    url = _bare("OPENAI_BASE_URL", text, notes)
    if "://" not in url:
        host = re.split(r"[/?#]", url)[0]
        local = "." not in host or re.fullmatch(r"[\d.]+(:\d*)?", host)
        url = f"{'http' if local else 'https'}://{url}"
    try:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2]
        if place.count(":") > 1 and "[" not in place:
            raise ValueError("more than one ':' beside the host; an IPv6 address is written in brackets, [::1]:8000")
        if parts.scheme not in ("http", "https"):
            raise ValueError("it does not begin with http:// or https://")
        if not parts.hostname or parts.port == 0 or re.search(r"[\s\x00-\x1f\x7f\\]", url):
            raise ValueError("no host, the port 0, or white space inside")
    except ValueError as error:
        raise ConfigError(
            mask(f"OPENAI_BASE_URL is no base URL ({error}); set one such as http://127.0.0.1:8000/v1")
        ) from None
    path = re.sub(r"/(chat/completions|completions|responses|models)\Z", "", parts.path.rstrip("/"))
    path = re.sub(r"(/v1){2,}\Z", "/v1", path) or "/v1"
    base = urlunsplit((parts.scheme, parts.netloc, path, "", ""))
    if without_credentials(base) != without_credentials(text.strip()):
        notes.append(mask(f"OPENAI_BASE_URL is taken as {without_credentials(base)}"))
    return base, dict(parse_qsl(parts.query))


def read_options(text: str) -> dict[str, Any]:
    """The JSON object of PLANWEAVE_MODEL_OPTIONS, sent with every request; raises ConfigError."""
    if not text.strip():
        return {}
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as error:
        options, reason = None, str(error)
    else:
        reason = f"it holds {', '.join(set(options) & set(_OURS))}" if isinstance(options, dict) else "it is no object"
    if not isinstance(options, dict) or set(options) & set(_OURS):
        raise ConfigError(
            f"{OPTIONS} cannot be used ({reason}); write a JSON object such as "
            """'{"reasoning_effort": "low"}' or '{"chat_template_kwargs": {"enable_thinking": false}}', """
            f"without {', '.join(_OURS)}"
        )
    return options

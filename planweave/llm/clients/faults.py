"""Errors of chat requests: by status, code and the field that is named.

Compatible servers agree on no form: OpenAI's ``{"error": {…}}``, Google's list of it, FastAPI's ``{"detail": …}``,
errors of status 200, JSON within a text.
"""

from __future__ import annotations

import contextlib
import email.utils
import json
import math
import re
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from planweave.core.base import errors

_TEXTS, _CODES, _FIELDS = (
    ("message", "msg", "detail", "error", "raw"),
    ("code", "type", "status", "reason"),
    ("param", "loc"),
)
_CREDIT = re.compile("insufficient_(?:quota|balance|credit|fund)|exceeded_current_quota|billing|payment")
_KEY = re.compile("api_key_invalid|invalid_api_key|authentication")
# For endpoints that give no code:
_CONTEXT = re.compile("context.?(?:length|size|window)|prompt is too long|token count|exceed_context", re.IGNORECASE)
_NO_MODEL = re.compile(
    "model.{0,80}(?:not.{0,6}(?:found|exist|valid)|unknown|invalid)|(?:invalid|unknown|no such) model", re.IGNORECASE
)
_PICTURES = re.compile("image|picture|vision|multi.?modal|mmproj|content type", re.IGNORECASE)
_WAIT = re.compile(r"(?:again|retry|wait)\D{0,20}(?:(\d+)m ?)?(\d+(?:\.\d+)?) ?(ms|s\b|sec|m\b|min)", re.IGNORECASE)
_MOST = 5000  # characters of an answer that are looked at
_PASSING = (408, 409, 425, 429, 502, 503, 504, 529)  # statuses of failures that pass, whatever is asked
CERTIFICATE = -1
"""Status where the endpoint's certificate is not trusted."""


@dataclass(eq=False)
class EndpointFault(Exception):
    """An answer that is no completion, or none at all.

    status: of HTTP, 0 where no answer came, or CERTIFICATE; codes: all codes and types in it, in small letters; fields:
    names of fields that it complains about; wait: seconds that it asks to wait.
    """

    status: int
    text: str
    codes: str = ""
    fields: str = ""
    wait: float | None = None


def read_fault(status: int, headers: Mapping[str, str], value: Any) -> EndpointFault:
    """The fault in an HTTP answer. value: its JSON value, or its text where it is none."""
    leaves = list(_leaves("message", value, 12))
    texts, codes, fields = (
        " ".join(dict.fromkeys(str(leaf) for key, leaf in leaves if key in keys and leaf not in (None, "")))
        for keys in (_TEXTS, _CODES, _FIELDS)
    )
    texts = texts[:_MOST]
    if status < 400:
        status = next((n for key, n in leaves if key in _CODES and isinstance(n, int) and 400 <= n < 600), status)
    if texts.lstrip()[:5] in ("data:", "event"):
        texts = "a stream of events (SSE), which was not asked for"
    if texts.lstrip()[:1] == "<":
        title = re.search(r"<title[^>]*>([^<]*)", texts, re.IGNORECASE)
        texts = f"a web page (HTML){f', {title[1]!r}' if title else ''}"
    named = f" ({'; '.join(filter(None, (codes, fields)))[:100]})" if codes or fields else ""
    return EndpointFault(
        status,
        " ".join((texts or json.dumps(value)).split())[:400] + named if value else "nothing",
        codes.lower(),
        fields,
        _wait(headers, json.dumps(value, ensure_ascii=False)[:_MOST]),
    )


def _leaves(key: str, value: Any, depth: int) -> Iterator[tuple[str, Any]]:
    """Scalars of a JSON value with the names that they are under, also of JSON that is written in a text."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        with contextlib.suppress(ValueError, RecursionError):
            value = json.loads(value)
    if isinstance(value, (dict, list)) and depth:
        for name, part in value.items() if isinstance(value, dict) else ((key, part) for part in value):
            yield from _leaves(str(name), part, depth - 1)
    elif not isinstance(value, (dict, list)):
        yield key, value


def _wait(headers: Mapping[str, str], text: str) -> float | None:
    """Delay in s that Retry-After (seconds or a date), retryDelay or a sentence ("in 20 s") asks for; None for none."""
    header = headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, seconds) if math.isfinite(seconds := float(header)) else None
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(0.0, email.utils.parsedate_to_datetime(header).timestamp() - time.time())
    found = _WAIT.search(text)
    if found is None:
        return None
    minutes, number, unit = found.groups()
    return 60 * float(minutes or 0) + float(number) * {"ms": 0.001, "m": 60.0, "min": 60.0}.get(unit.lower(), 1.0)


def error_of(fault: EndpointFault, endpoint: str, body: Mapping[str, Any], key: str = "") -> errors.ModelError:
    """The error of a fault, with what to do about it."""
    model, status, text = str(body.get("model", "")), fault.status, fault.text
    said = f"{endpoint} answered HTTP {status}: {text}"
    if status == 0:
        remedy = "is the server running, and is OPENAI_BASE_URL right (http or https, host, port)?"
        return errors.ModelUnavailableError(f"no answer from {endpoint}: {text}; {remedy}")
    if status == CERTIFICATE:
        remedy = "it is not for the host of OPENAI_BASE_URL, or SSL_CERT_FILE must name it as trusted"
        return errors.ModelAnswerError(f"the certificate of {endpoint} does not fit: {text}; {remedy}")
    if status == 402 or _CREDIT.search(fault.codes):
        return errors.ModelCreditError(f"{said}; the account of this key needs credit, or its limit raised")
    if status in (401, 403) or _KEY.search(fault.codes):
        if key:  # also one that is no secret elsewhere
            said = re.sub(rf"(?<![\w-]){re.escape(key)}(?![\w-])", "***", said)
        return errors.ModelAuthError(f"{said}; set OPENAI_API_KEY to a key for this endpoint and model")
    if status == 429:
        return errors.ModelRateError(said)
    if status in _PASSING:
        return errors.ModelUnavailableError(said)
    if _PICTURES.search(text) and "image_url" in json.dumps(body.get("messages", "")):
        return errors.ModelPicturesError(
            f"{model} takes no pictures: {said}; set PLANWEAVE_VISION_MODEL to one that does"
        )
    if status == 413 or _CONTEXT.search(f"{fault.codes} {text}"):
        return errors.ModelContextError(f"{said}; the prompt is too long for {model}: fewer objects, or another model")
    if status == 200:
        return errors.ModelAnswerError(f"{said}; it is not a chat completion. Most base URLs end in /v1")
    if 300 <= status < 400:
        return errors.ModelAnswerError(f"{said}; set OPENAI_BASE_URL to the address that serves the API itself")
    if status >= 500:
        return errors.ModelUnavailableError(said)
    if fault.fields == "model" or "model_not_found" in fault.codes or (model in text and _NO_MODEL.search(text)):
        return errors.ModelUnknownError(f"{said}; set PLANWEAVE_MODEL to a model of this endpoint")
    if status in (404, 405):
        return errors.ModelAnswerError(f"{said}; is the path of OPENAI_BASE_URL right? Most end in /v1")
    if fault.fields:
        return errors.ModelOptionError(f"{said}; see PLANWEAVE_MODEL_OPTIONS in docs/models.md")
    return errors.ModelRequestError(f"{said}; options that it needs can be set with PLANWEAVE_MODEL_OPTIONS")

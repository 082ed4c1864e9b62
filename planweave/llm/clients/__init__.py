"""Clients of language models, and the selection of one."""

from __future__ import annotations

from collections.abc import Mapping

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.core.base.plugins import Registry
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.recording import RecordingClient

CLIENTS = Registry("planweave.clients", "client")
"""By name: called with the environment and the settings, gives a ChatClient; raises ConfigError."""


def choose_client(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    """The client selected by the environment and the settings.

    settings: client ("auto" or a key of CLIENTS), model (of the endpoint, or a .gguf path), openai_model (for OpenAI's
    own endpoint), cassette, record (a cassette to write), threads. "auto" selects the endpoint of OPENAI_BASE_URL /
    OPENAI_API_KEY where either is set, else the embedded model; PLANWEAVE_MODEL names the model. Keys come from the
    environment only. Raises ConfigError, UnknownNameError or MissingExtraError.
    """
    name = settings.get("client") or "auto"
    if name == "auto":
        model = environ.get("PLANWEAVE_MODEL", "") or settings.get("model", "")
        if any(environ.get(name, "").strip() for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")):
            name = "openai"
        elif model and not model.endswith(".gguf"):
            raise ConfigError(
                f"PLANWEAVE_MODEL={model!r} is not a .gguf file, and no endpoint is given to ask for it: "
                "set OPENAI_API_KEY, or OPENAI_BASE_URL for another server"
            )
        else:
            name = "embedded"
    if name not in CLIENTS:
        raise UnknownNameError("client", name, ["auto", *CLIENTS])
    client = CLIENTS[name](environ, settings)
    return RecordingClient(client, settings["record"]) if settings.get("record") else client

"""Clients of language models, and the choice of one."""

from __future__ import annotations

from collections.abc import Mapping

from planweave.core.errors import ConfigError, UnknownNameError
from planweave.llm.clients.base import ChatClient
from planweave.llm.clients.embedded import EmbeddedClient
from planweave.llm.clients.none import NoClient
from planweave.llm.clients.recording import RecordingClient, ReplayClient


def _openai(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    from planweave.llm.clients.openai_client import DEFAULT_BASE_URL, OpenAIClient

    base_url = environ.get("OPENAI_BASE_URL", "")
    if not base_url and not environ.get("OPENAI_API_KEY"):
        raise ConfigError("client 'openai' needs OPENAI_API_KEY, or OPENAI_BASE_URL for a server that wants no key")
    model = environ.get("PLANWEAVE_MODEL", "") or settings.get("model", "")
    if not model and base_url in ("", DEFAULT_BASE_URL):
        model = settings.get("openai_model", "")
    return OpenAIClient(base_url, environ.get("OPENAI_API_KEY", ""), model)


def _embedded(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    return EmbeddedClient(environ.get("PLANWEAVE_MODEL", "") or settings.get("model", ""),
                          threads=int(settings.get("threads") or 0))


def _replay(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    if not settings.get("cassette"):
        raise ConfigError("client 'replay' needs the parameter 'cassette', the path of a recorded cassette")
    return ReplayClient(settings["cassette"])


def _none(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    return NoClient()


CLIENTS = {"openai": _openai, "embedded": _embedded, "replay": _replay, "none": _none}


def choose_client(environ: Mapping[str, str], settings: Mapping[str, str]) -> ChatClient:
    """The client that the environment and the settings ask for.

    settings: client ("auto" or a key of CLIENTS), model (of the endpoint, or a .gguf path), openai_model (for
    OpenAI's own endpoint), cassette, record (a cassette to write), threads. "auto" takes the endpoint of
    OPENAI_BASE_URL / OPENAI_API_KEY where either is set, else the embedded model; PLANWEAVE_MODEL names the model.
    Keys come from the environment only. Raises ConfigError, UnknownNameError or MissingExtraError.
    """
    name = settings.get("client") or "auto"
    if name == "auto":
        model = environ.get("PLANWEAVE_MODEL", "") or settings.get("model", "")
        if environ.get("OPENAI_BASE_URL") or environ.get("OPENAI_API_KEY"):
            name = "openai"
        elif model and not model.endswith(".gguf"):
            raise ConfigError(f"PLANWEAVE_MODEL={model!r} is not a .gguf file, and no endpoint is given to ask for it: "
                              "set OPENAI_API_KEY, or OPENAI_BASE_URL for another server")
        else:
            name = "embedded"
    if name not in CLIENTS:
        raise UnknownNameError("client", name, ["auto", *CLIENTS])
    client = CLIENTS[name](environ, settings)
    return RecordingClient(client, settings["record"]) if settings.get("record") else client

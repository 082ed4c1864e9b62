"""No language model: every request is refused with the reason. Goals in controlled English still work."""

from __future__ import annotations

from collections.abc import Mapping

from planweave.core.base.errors import NoModelError
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatRequest

SET_ONE = "set OPENAI_API_KEY, or OPENAI_BASE_URL for another server, and PLANWEAVE_MODEL (docs/models.md)"


class NoClient:
    """Refuses every request."""

    endpoint = "none"
    model = ""

    def __init__(self, reason: str = "no language model is configured (client: none)") -> None:
        self._reason = reason

    @property
    def capabilities(self) -> Capabilities:
        """None."""
        return Capabilities(n=False, json_schema=False, logprobs=False)

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Raise NoModelError."""
        raise NoModelError(self._reason)

    def close(self) -> None:
        """Does nothing."""


def from_settings(environ: Mapping[str, str], settings: Mapping[str, str]) -> NoClient:
    """See NoClient (entry point planweave.clients)."""
    return NoClient()

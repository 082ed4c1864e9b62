"""A client of no language model at all: it replies with the last line that it is told."""

from __future__ import annotations

from collections.abc import Mapping

from planweave.core.base.usage import Usage
from planweave.llm.accounting import estimated_tokens
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply, ChatRequest


class EchoClient:
    """Keeps `planweave.llm.clients.base.ChatClient`."""

    endpoint = "echo"
    capabilities = Capabilities(n=True, json_schema=False, logprobs=False)

    def __init__(self, model: str) -> None:
        self.model = model

    def complete(self, request: ChatRequest) -> ChatReplies:
        """Answer; raises ModelTimeoutError or CanceledError where nobody waits any more."""
        request.check()
        said = str(request.messages[-1]["content"]).splitlines() or [""]
        prompt = sum(estimated_tokens(str(message["content"])) for message in request.messages)
        usage = Usage(1, prompt, 0, request.n * estimated_tokens(said[-1]), cost=0.0, model=self.model, endpoint="echo")
        return ChatReplies((ChatReply(said[-1]),) * request.n, usage)

    def close(self) -> None:
        """Nothing is held."""


def from_settings(environ: Mapping[str, str], settings: Mapping[str, str]) -> EchoClient:
    """environ: of the process, where keys are; settings: the parameters of planner_node."""
    return EchoClient(settings.get("model") or "echo")

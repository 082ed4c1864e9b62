"""Detection of an endpoint's capabilities by three small requests. For `planweave doctor`."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field

from planweave.core.budget import Usage
from planweave.core.errors import PlanweaveError
from planweave.llm.clients.base import Capabilities, ChatClient, ChatRequest

_SCHEMA = {
    "type": "object",
    "properties": {"answer": {"type": "string", "enum": ["left", "right"]}},
    "required": ["answer"],
    "additionalProperties": False,
}


@dataclass(frozen=True)
class Probe:
    """Result of a probe. error: why the endpoint does not answer, empty where it does."""

    endpoint: str
    model: str
    capabilities: Capabilities
    seconds: float
    usage: Usage = field(default_factory=Usage)
    error: str = ""


def probe(client: ChatClient, timeout: float = 30.0) -> Probe:
    """Request two replies, a reply by a schema, and log-probabilities. timeout: seconds in total. Raises nothing."""
    started, usage = time.monotonic(), Usage()
    deadline = started + timeout
    n = schema = logprobs = None
    error = ""
    question = ({"role": "user", "content": "Answer with one word: left or right?"},)
    try:
        two = client.complete(
            ChatRequest(question, n=2, temperature=1.0, max_tokens=8, logprobs=True, deadline=deadline)
        )
        usage += two.usage
        # The client makes up for a missing n by further requests; those show in the usage.
        n = two.usage.requests == 1 and len(two.replies) == 2
        logprobs = two.replies[0].logprob is not None
        one = client.complete(ChatRequest(question, max_tokens=24, json_schema=_SCHEMA, deadline=deadline))
        usage += one.usage
        schema = _obeys(one.replies[0].text) and client.capabilities.json_schema is not False
    except PlanweaveError as failure:
        error = str(failure)
    return Probe(
        client.endpoint,
        client.model,
        Capabilities(n, schema, logprobs, client.capabilities.context),
        time.monotonic() - started,
        usage,
        error,
    )


def _obeys(text: str) -> bool:
    try:
        return json.loads(text).get("answer") in ("left", "right")
    except (ValueError, AttributeError):
        return False

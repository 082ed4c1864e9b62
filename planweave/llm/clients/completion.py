"""Chat completions as endpoints write them, read tolerantly: a malformed reply does not affect the others."""

from __future__ import annotations

from typing import Any

from planweave.core.base.usage import Usage
from planweave.llm.clients.base import ChatReply
from planweave.llm.clients.faults import read_fault


def read_completion(value: Any) -> tuple[tuple[ChatReply, ...], Usage, bool]:
    """Replies, tokens used, and whether the model reasoned; raises EndpointFault where there is no reply.

    value: the JSON value of an answer of status 200, or its text where it is none.
    """
    choices = value.get("choices") if isinstance(value, dict) else None
    rows = choices if isinstance(choices, list) else []
    replies = tuple(reply for row in rows if (reply := _reply(row)) is not None)
    if not replies:
        failed = next((row for row in rows if isinstance(row, dict) and row.get("error")), value)
        raise read_fault(200, {}, failed)
    usage = value.get("usage")
    prompt = _count(usage, "prompt_tokens")
    # Some servers count the tokens of one reply only where n > 1; log-probabilities count them all. Some count
    # reasoning in the total alone.
    counted = sum(len(_tokens(row)) for row in rows)
    written = max(_count(usage, "completion_tokens"), _count(usage, "total_tokens") - prompt, counted)
    reasoned = _count(usage, "completion_tokens_details", "reasoning_tokens") or any(r.reasoning for r in replies)
    return replies, Usage(1, prompt, _count(usage, "prompt_tokens_details", "cached_tokens"), written), bool(reasoned)


def _reply(choice: Any) -> ChatReply | None:
    """One choice of a response; None where it is malformed. Its log-probability is used only if every token has one."""
    message = choice.get("message") if isinstance(choice, dict) and not choice.get("error") else None
    if not isinstance(message, dict):
        return None
    content, reasoning = message.get("content"), message.get("reasoning_content") or message.get("reasoning")
    if isinstance(content, list):  # typed parts
        parts = [part for part in content if isinstance(part, dict)]
        reasoning = reasoning or [part for part in parts if part.get("type") in ("thinking", "reasoning")]
        content = _text([part for part in parts if part.get("type") not in ("thinking", "reasoning")])
    calls = message.get("tool_calls") or [{"function": message.get("function_call")}]
    names = [call.get("function") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    tokens = _tokens(choice)
    values = [_finite(t.get("logprob")) if isinstance(t, dict) else None for t in tokens]
    known = [v for v in values if v is not None]
    return ChatReply(
        _text(content) or _text(message.get("refusal")),
        str(choice.get("finish_reason") or "")[:40],
        sum(known) if known and len(known) == len(values) else None,
        len(values),
        _text(reasoning),
        tuple(str(name.get("name") or "")[:100] for name in names if isinstance(name, dict)),
    )


def _text(value: Any) -> str:
    """A text, or that of typed parts; empty for anything else."""
    if isinstance(value, list):
        texts = (p.get("text", p.get("thinking", p.get("summary"))) for p in value if isinstance(p, dict))
        return "".join(map(_text, texts))
    return value if isinstance(value, str) else ""


def _finite(value: Any) -> float | None:
    """A JSON number as a float; None where it is not a finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if abs(value) < 1e9 else None  # a NaN is not smaller, either


def _tokens(choice: Any) -> list[Any]:
    logprobs = choice.get("logprobs") if isinstance(choice, dict) else None
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    return content if isinstance(content, list) else []


def _count(held: Any, *names: str) -> int:
    for name in names:
        held = held.get(name) if isinstance(held, dict) else None
    return int(held) if isinstance(held, (int, float)) and 0 <= held < 2**40 else 0

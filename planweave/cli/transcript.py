"""Prompts and replies of the language model as Markdown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any

from planweave.core.base.usage import Usage
from planweave.core.workflow.task_words import usage_text


def transcript(entries: Sequence[dict[str, Any]]) -> str:
    """The exchanges in the records of ended tasks (results.result_json, with a name each)."""
    lines = ["# Requests to language models", ""]
    for entry in entries:
        usage = entry["usage"]
        lines += [
            f"## {entry['name']}: {entry['sentence']}",
            "",
            f"Goal ({entry['goal_source'] or 'unknown'}): `{' and '.join(entry['goal']) or 'none'}`",
            "",
            usage_text(Usage(**usage)) + ".",
            "",
        ]
        exchanges = [event for event in entry["record"].get("events", []) if event.get("event") == "exchange"]
        for number, exchange in enumerate(exchanges, 1):
            kind, seconds = exchange.get("kind", "question"), exchange.get("seconds", 0.0)
            lines += [f"### Exchange {number} ({kind}), at {seconds:.1f} s", ""]
            lines += _request(exchange.get("request"))
            error = exchange.get("error")
            lines += [f"**no answer**: {error}", ""] if error else _reply(exchange.get("reply"))
        if not exchanges:
            asked = usage["requests"] or usage["endpoint"]
            lines += ["No exchange is in the record." if asked else "No model was asked.", ""]
    return "\n".join(lines)


def _request(request: Any) -> list[str]:
    if not isinstance(request, dict) or not isinstance(request.get("messages"), list):
        return _block(_text(request))
    lines = []
    for message in request["messages"]:
        lines += [f"**{message.get('role', '?')}**" if isinstance(message, dict) else "**?**", ""]
        lines += _block(_text(message.get("content")) if isinstance(message, dict) else _text(message))
    apart = ("messages", "json_schema")
    settings = {key: value for key, value in request.items() if key not in apart and value is not None}
    settings["json_schema"] = bool(request.get("json_schema"))
    return [*lines, "Settings: " + ", ".join(f"{key} {value}" for key, value in settings.items()), ""]


def _reply(reply: Any) -> list[str]:
    """Replies without duplicates, with their counts."""
    replies = reply.get("replies") if isinstance(reply, dict) else None
    if not isinstance(replies, list):
        return ["**reply**", "", *_block(_text(reply))]
    counts = Counter(_text(one.get("text") if isinstance(one, dict) else one) for one in replies)
    lines = []
    for text, count in counts.most_common():
        lines += [f"**reply** ×{count}" if count > 1 else "**reply**", "", *_block(text)]
    return lines


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2, ensure_ascii=False)


def _block(text: str) -> list[str]:
    """A fenced code block, so that no part of the text is interpreted as Markdown."""
    fence = "```"
    while fence in text:
        fence += "`"
    return [fence, text, fence, ""]

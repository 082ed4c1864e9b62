"""Abilities of one model of one endpoint: found once from what it refuses, and remembered.

An option is refused by the field that the endpoint names, else by the field's name in its message. A refusal that names
nothing is tried without the schema, then without all options.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from planweave.core.base.errors import ModelContextError, ModelError, ModelRequestError
from planweave.llm.clients.base import ChatReply, ChatRequest
from planweave.llm.clients.faults import EndpointFault
from planweave.llm.reasoning import answer_of

ROOM = 8000  # tokens for reasoning, beside those of the answer, once a reply has ended before its answer did
_SCHEMA = r"response_?format|schema|grammar|structured.?output"
_NAMES = {  # of an option in a complaint about it
    "json_schema": _SCHEMA,
    "json_object": rf"{_SCHEMA}|\bjson\b|json_object",
    "logprobs": "logprob",
    "max_tokens": "max_completion_tokens",
    "top_p": "top_p|topP",
    "temperature": "temperature",
    "seed": r"\bseed\b",
    "n": r"(?<![\w\\-])n(?![\w-])|n_cmpl",
    "system": r"\brole\b|\bsystem\b.{0,20}\b(?:message|prompt|instruction)",
}
_OFF = re.compile(r"([a-z_]+)\W{0,2}(?:must be|必须)[^a-z]{0,5}(?:set to)?\W{0,3}false", re.IGNORECASE)


class Abilities:
    """options: whether each works, absent where it is not known. room: tokens that a reply gets for reasoning.

    extra: fields of every request, over ours; null leaves one out.
    """

    def __init__(self, extra: Mapping[str, Any]) -> None:
        self.options: dict[str, bool | None] = {}
        self.room, self.reasons = 0, False
        self._extra = dict(extra)

    def limit(self, request: ChatRequest, n: int) -> int:
        """Tokens of each reply: those of the answer, and room for reasoning as far as the task's budget allows."""
        allowed = request.tokens_left / n - request.max_tokens
        return request.max_tokens + int(max(0, min(self.room, allowed)))

    def starved(self, reply: ChatReply) -> bool:
        """Whether reasoning took the tokens of the answer."""
        return reply.finish_reason == "length" and (self.reasons or not answer_of(reply))

    def body(self, model: str, request: ChatRequest, n: int, without: set[str]) -> dict[str, Any]:
        """The body of a request, without what is refused and what is tried without."""

        def may(option: str) -> bool:
            return option not in without and self.options.get(option) is not False

        messages = [dict(message) for message in request.messages]
        if not may("system"):
            messages = _without_system(messages)
        form: dict[str, Any] | None = None
        if request.json_schema is not None:
            if may("json_schema"):
                schema = {"name": "reply", "strict": True, "schema": request.json_schema}
                form = {"type": "json_schema", "json_schema": schema}
            elif may("json_object") and "json" in json.dumps(messages).lower():  # OpenAI wants the word
                form = {"type": "json_object"}
        if request.choices:  # llama.cpp's server: it continues a last message of the assistant, and reads a grammar
            messages += [{"role": "assistant", "content": request.beginning}] if request.beginning else []
        limit = "max_tokens" if may("max_tokens") else "max_completion_tokens"
        options = {
            "temperature": request.temperature,
            "top_p": request.top_p if request.top_p != 1.0 else None,
            "seed": request.seed,
            "n": n if n > 1 else None,
            "response_format": form,
            "logprobs": request.logprobs or None,
            "grammar": "root ::= " + " | ".join(map(json.dumps, request.choices)) if request.choices else None,
        }
        body = {"model": model, "messages": messages, limit: self.limit(request, n)}
        body |= {option: value for option, value in options.items() if may(option)} | self._extra
        return {option: value for option, value in body.items() if value is not None}

    def accepted(self, body: Mapping[str, Any], without: set[str]) -> None:
        """Remember what a request that was answered had, and what it was tried without."""
        for option in without:
            self.options[option] = False
        for option in self._sent(body) & {"json_schema", "logprobs"}:
            self.options.setdefault(option, True)

    def adapt(
        self, fault: EndpointFault, error: ModelError, request: ChatRequest, body: Mapping[str, Any], without: set[str]
    ) -> bool:
        """Prepare the next request for what the endpoint refuses; False where that cannot help."""
        too_long = isinstance(error, ModelContextError) or "max_tokens" in fault.fields
        if too_long and self.limit(request, body.get("n", 1)) > request.max_tokens:
            self.room //= 8
            return True
        off = _OFF.search(fault.text)
        if off and fault.status == 400 and off[1] not in body:
            self._extra[off[1]] = False
            return True
        sent = self._sent(body)
        if refused := _refused(fault, sent):
            self.options |= dict.fromkeys(refused, False)
            return True
        if fault.status in (400, 422) and type(error) is ModelRequestError:  # it does not say what it refuses
            optional = sent - {"max_tokens", "system"} - without
            without |= optional & {"json_schema"} or optional
            return bool(optional)
        return False

    def _sent(self, body: Mapping[str, Any]) -> set[str]:
        """Options in the body of a request that can be left out."""
        ours = {option: value for option, value in body.items() if option not in self._extra}
        system = any(message.get("role") == "system" for message in body["messages"])
        return {
            *(_NAMES.keys() & ours.keys()),
            *([ours["response_format"]["type"]] if "response_format" in ours else []),
            *(["system"] if system else []),
        }


def _refused(fault: EndpointFault, sent: set[str]) -> list[str]:
    """The options among those sent that a fault names, first by its fields, else in its text."""
    if fault.status not in (200, 400, 403, 404, 405, 422, 500, 501):
        return []
    for source in (fault.fields, fault.text):
        named = [o for o, name in _NAMES.items() if o in sent and re.search(name, source, re.IGNORECASE)]
        if "top_p" in named and "temperature" in named:  # "cannot both be specified"
            named.remove("temperature")
        if named:
            return named
    return []


def _without_system(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the system's text before that of the first user."""
    system = [message["content"] for message in messages if message["role"] == "system"]
    others = [message for message in messages if message["role"] != "system"]
    if not system or not others:
        return [{**message, "role": "user"} for message in messages]
    first = others[0]["content"]
    parts = [{"type": "text", "text": text} for text in system]
    content = [*parts, *first] if isinstance(first, list) else "\n\n".join([*system, first])
    return [{**others[0], "content": content}, *others[1:]]

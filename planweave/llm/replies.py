"""Sanitizing of a model's replies: their answers as plain text of bounded length; a malformed one does not affect the
others.

Everything here takes time linear in the text's length.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from planweave.core.base.errors import NoAnswerError, ParseError, PlanweaveError
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest
from planweave.llm.reasoning import said_in

MAX_REPLY = 120_000
"""Characters of a reply that are read; a plan of 1000 steps has 40,000."""
_SHOWN = 1000  # characters of an unreadable reply, and of what is wrong with it, that the model is shown
CUT = "cut"
"""Finish reason of a reply that was longer."""
WAS_CUT = "the reply was cut off at the limit of tokens, or of the characters that are read"
MAX_REASONING = 4000
"""Characters of a reply's reasoning that are kept, for the record."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]")
_log = logging.getLogger(__name__)
T = TypeVar("T")


def readable(reply: ChatReply) -> ChatReply:
    """The reply with its answer as text, without control characters and lone surrogates, which messages cannot carry;
    longer ones are cut at MAX_REPLY, and their finish reason says so.
    """
    said = said_in(reply.text)
    cut = len(said.answer) > MAX_REPLY
    return replace(
        reply,
        text=sendable(said.answer[:MAX_REPLY]),
        finish_reason=CUT if cut else reply.finish_reason[:40],
        reasoning=sendable((reply.reasoning + said.reasoning)[:MAX_REASONING]),
        tools=tuple(sendable(name)[:80] for name in (*reply.tools, *said.tools)[:20]),
    )


def sendable(text: str) -> str:
    """Text that a message can carry: lone surrogates and control characters other than white space are replaced."""
    return _UNPRINTABLE.sub("\ufffd", text)


def answer_of(reply: ChatReply) -> str:
    """The answer in a reply as it came, without reasoning and tool calls; "" where there is none."""
    return said_in(reply.text).answer.strip()


def check_said(reply: ChatReply) -> None:
    """Raise NoAnswerError where a reply, made readable, has no answer."""
    if reply.text.strip():
        return
    if reply.tools:
        names = ", ".join(filter(None, reply.tools))[:200]
        raise NoAnswerError(
            f"the reply only calls tools{f' ({names})' if names else ''}, and none are offered: take a model, or a "
            "setting of its server, that answers in text",
            "tools",
        )
    if reply.reasoning.strip():
        why = f"; {WAS_CUT}" if was_cut(reply) else ""
        raise NoAnswerError(
            f"the reply is reasoning only, without an answer{why}: switch the model's thinking off or let it think "
            "less (PLANWEAVE_MODEL_OPTIONS), or take another model",
            "reasoning",
        )
    if reply.finish_reason == "content_filter":
        raise NoAnswerError("the endpoint's content filter withheld the reply", "withheld")
    raise NoAnswerError("the reply is empty", "empty")


def was_cut(reply: ChatReply) -> bool:
    """Whether a reply ends in the middle."""
    return reply.finish_reason in ("length", CUT)


def whole(reply: ChatReply) -> str:
    """The text of a reply that must not be acted on where its end is missing; raises ParseError."""
    if was_cut(reply):
        raise ParseError(WAS_CUT)
    return reply.text


def read_each(replies: ChatReplies, read: Callable[[ChatReply], T]) -> tuple[list[tuple[ChatReply, T]], str]:
    """The parsed replies, and the error of the last one that could not be parsed."""
    rows, problem = [], ""
    for reply in replies.replies:
        try:
            check_said(reply)
            rows.append((reply, read(reply)))
        except PlanweaveError as error:
            problem = str(error)
            if was_cut(reply) and WAS_CUT not in problem:
                problem += f"; {WAS_CUT}"
        except Exception as error:
            _log.exception("a reply could not be read: %.200r", reply.text)
            problem = f"a fault in reading {reply.text[:100]!r} ({type(error).__name__}: {error!s:.200})"
    return rows, problem


def ask_until_read(
    ask: Callable[[ChatRequest], ChatReplies], request: ChatRequest, read: Callable[[ChatReply], T]
) -> tuple[list[tuple[ChatReply, T]], ChatReplies, str]:
    """Ask; where none of the replies can be read, once more, with the last of them and what is wrong with it.

    Returns what `read_each` does, and the last replies with the usage of all.
    """
    replies = ask(request)
    rows, problem = read_each(replies, read)
    if rows or not replies.replies:
        return rows, replies, problem
    reply = replies.replies[-1].text[:_SHOWN] or "(nothing)"
    again = f"That could not be read: {problem[:_SHOWN]}. Answer again, in the form that was asked for."
    conversation = ({"role": "assistant", "content": reply}, {"role": "user", "content": again})
    more = ask(replace(request, messages=(*request.messages, *conversation)))
    rows, problem = read_each(more, read)
    return rows, replace(more, usage=replies.usage + more.usage), problem

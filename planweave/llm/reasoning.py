"""Separation of a reply's answer from the model's visible reasoning and tool calls, for all clients and readers.

Marks are known by their kind: tags such as ``<think>``, ``<seed:think>``, ``[THINK]`` and ``<|START_THINKING|>``, the
channels of harmony (gpt-oss) with and without their special tokens, Gemma's ``<|channel>thought``, blocks of answers
such as ``<answer>``, and tool calls written as text. Reasoning without marks is the readers' part: they refuse replies
with several answers (`planweave.llm.parsing`).

Everything here takes time linear in the text's length.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from planweave.core.base.errors import NoAnswerError, ParseError, PlanweaveError
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest

_MARK = re.compile(
    r"(?:(?P<angled><\|?)|\[|◁)\s{0,3}(?P<side>/|end(?:[_ ]of)?[_ ]|(?:begin|start)(?:[_ ]of)?[_ ])?\s{0,3}"
    r"(?:\w{1,20}:)?(?:(?P<reasoning>think(?:ing)?|thoughts?|reason(?:ing)?|analysis|reflection|scratchpad|monologue)"
    r"|(?P<answer>(?:final[_ ])?(?:answer|response|solution))"
    r"|(?P<tool>tool_calls?|function_calls?|python_tag)"
    r")(?(angled)(?:\s[^<>\n]{0,80})?)(?:\|?>|\]|▷)"
    r"|<\|channel>\s{0,3}(?P<channel>\w{0,20})|(?P<channel_end><channel\|>)",
    re.IGNORECASE,
)
_HARMONY = re.compile(r"<\|(?:start|channel|message|constrain|end|return|call)\|>")
_MESSAGE = re.compile(r"<\|message\|>")
_BODY_END = re.compile(r"<\|(?:end|return|call|start|channel)\|>")
_CHANNEL = re.compile(r"<\|channel\|>\s{0,3}(\w{1,20})")
_TOOL = re.compile(r"\bto=([\w.:-]{1,80})")
# Harmony where a server drops its special tokens: "analysisWe need …assistantfinal{…}".
_BARE = re.compile(r"\A\s*(?:assistant)?(?:analysis|commentary)(?=[A-Z\"'`(\[{])")
_BARE_MESSAGE = re.compile(r"assistant(?=analysis|commentary|final)")
_FINAL = ("final", "answer", "response")


@dataclass(frozen=True)
class ReplyParts:
    """The parts of a reply. tools: names of called tools, "" for one without a known name."""

    answer: str
    reasoning: str = ""
    tools: tuple[str, ...] = ()


def said_in(text: str) -> ReplyParts:
    """The parts of a reply's text. The answer is empty where the reply ends within the reasoning: what stands before
    reasoning that never ends may be a draft.
    """
    if _HARMONY.search(text):
        return _of_channels(_messages(text))
    if _BARE.match(text):
        return _of_channels([(part.lstrip()[:5] == "final", "", part) for part in _BARE_MESSAGE.split(text)])
    return _of_marks(text)


def _messages(text: str) -> list[tuple[bool, str, str]]:
    """The messages of a reply in harmony: whether one is the answer, the tool that it calls, its body.

    Text before the first channel is the end of reasoning that the prompt began.
    """
    starts = list(_MESSAGE.finditer(text))
    found, at = [(False, "", text[: starts[0].start()] if starts else text)], 0
    for start in starts:
        end = _BODY_END.search(text, start.end())
        body, header = text[start.end() : end.start() if end else len(text)], text[at : start.start()]
        channel, tool = _CHANNEL.findall(header), _TOOL.search(header)
        final = not tool and bool(channel) and channel[-1].lower() in _FINAL
        found.append((final, tool.group(1) if tool else "", body))
        at = end.start() if end else len(text)
    return found


def _of_channels(messages: list[tuple[bool, str, str]]) -> ReplyParts:
    """The parts of a reply of several messages; there is no answer where the last one is none."""
    inner = _of_marks("\n".join(body.strip().removeprefix("final") for final, _, body in messages if final))
    thought = "\n".join(body for final, tool, body in messages if not final and not tool)
    tools = tuple(tool for _, tool, _ in messages if tool)
    return ReplyParts(inner.answer if messages[-1][0] else "", thought + inner.reasoning, tools + inner.tools)


def _of_marks(text: str) -> ReplyParts:
    """The parts of a reply with tags: what is outside of reasoning, or within blocks of answers where there are some.

    A closing tag without an opening one ends reasoning that the prompt began.
    """
    kept: list[str] = []  # text outside of reasoning
    answers: list[str] = []  # within blocks of answers
    thought: list[str] = []
    tools: list[str] = []
    inside, position = "", 0  # kind of the block that is open
    for mark in _MARK.finditer(text):
        kind = _kind(mark)
        closing = bool(mark["channel_end"]) or (mark["side"] or "").lower().startswith(("/", "end"))
        if inside in ("reasoning", "tool"):
            if kind != inside or not closing:
                continue
            (thought if inside == "reasoning" else tools).append(text[position : mark.start()])
            inside = ""
        elif kind == "reasoning" and closing:
            thought += [*kept, *answers, text[position : mark.start()]]
            kept, answers, inside = [], [], ""
        else:
            (answers if inside else kept).append(text[position : mark.start()])
            inside = "" if closing else kind
        position = mark.end()
    rest = text[position:]
    if inside == "reasoning":
        return ReplyParts("", "".join([*thought, *kept, *answers, rest]), tuple(map(_tool_name, tools)))
    {"": kept, "answer": answers, "tool": tools}[inside].append(rest)
    return ReplyParts("\n".join(answers) or "".join(kept), "".join(thought), tuple(map(_tool_name, tools)))


def _kind(mark: re.Match[str]) -> str:
    if mark["channel"] is not None:
        return "answer" if mark["channel"].lower() in _FINAL else "reasoning"
    if mark["channel_end"]:
        return "reasoning"
    return "reasoning" if mark["reasoning"] else "answer" if mark["answer"] else "tool"


def _tool_name(call: str) -> str:
    """The name in a tool call as text, ``{"name": "grasp", …}``; "" without one."""
    name = re.search(r'"name"\s{0,3}:\s{0,3}"([^"\n]{1,80})"', call[:2000])
    return name.group(1) if name else ""


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

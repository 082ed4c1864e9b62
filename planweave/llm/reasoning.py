"""Separation of a reply's answer from the model's visible reasoning and tool calls, for all clients and readers.

Marks are known by their kind: tags such as ``<think>``, ``<seed:think>``, ``[THINK]`` and ``<|START_THINKING|>``, the
channels of harmony (gpt-oss) with and without their special tokens, Gemma's ``<|channel>thought``, blocks of answers
such as ``<answer>``, and tool calls written as text. Reasoning without marks is the readers' part: they refuse replies
with several answers (`planweave.llm.parsing`).

Everything here takes time linear in the text's length.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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

"""A draft that differs from the answer, put into every recorded reply in every form of reasoning: it never wins."""

import pytest
from doubles.recorded_replies import MARKED, UNMARKED, recorded

from planweave.core.base.errors import NoAnswerError
from planweave.core.base.usage import Usage
from planweave.llm.clients.base import ChatReplies, ChatReply
from planweave.llm.reasoning import check_said, read_each, readable

RECORDED = recorded()
NOTHING = object()


def read(one, reply):
    """What a reply asks for, as the product reads it; NOTHING where it is to be asked for again."""
    rows, _ = read_each(ChatReplies((readable(reply),), Usage()), one.read)
    return rows[0][1] if rows else NOTHING


def test_the_recordings_are_of_every_kind_and_drafts_ask_for_something_else():
    assert len(RECORDED) > 60
    for one in RECORDED:
        right, draft = read(one, ChatReply(one.answer)), read(one, ChatReply(one.draft))
        assert NOTHING not in (right, draft) and right != draft, one.name


@pytest.mark.parametrize("form", MARKED)
def test_marked_reasoning_is_left_out(form):
    for one in RECORDED:
        got = read(one, ChatReply(MARKED[form](one.draft, one.answer)))
        assert got == read(one, ChatReply(one.answer)), one.name


@pytest.mark.parametrize("form", UNMARKED)
def test_a_draft_without_marks_never_wins(form):
    for one in RECORDED:
        got = read(one, ChatReply(UNMARKED[form](one.draft, one.answer)))
        assert got is NOTHING or got == read(one, ChatReply(one.answer)), (one.name, got)


def test_reasoning_apart_from_the_text_is_never_the_answer():
    for one in RECORDED:
        assert read(one, ChatReply(one.answer, reasoning=one.draft)) == read(one, ChatReply(one.answer))
        assert read(one, ChatReply("", reasoning=one.draft)) is NOTHING


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (ChatReply(""), "empty"),
        (ChatReply(" \n"), "empty"),
        (ChatReply("", reasoning="let me see"), "reasoning"),
        (ChatReply("<think>let me see", "length"), "reasoning"),
        (ChatReply("", "tool_calls", tools=("grasp",)), "tools"),
        (ChatReply('<tool_call>{"name": "grasp", "arguments": {}}</tool_call>'), "tools"),
        (ChatReply("<|channel|>commentary to=functions.grasp<|message|>{}<|call|>"), "tools"),
        (ChatReply("", "content_filter"), "withheld"),
    ],
)
def test_a_reply_without_an_answer_says_why(reply, reason):
    with pytest.raises(NoAnswerError) as caught:
        check_said(readable(reply))
    assert caught.value.reason == reason

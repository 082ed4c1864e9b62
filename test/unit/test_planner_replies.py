"""What replies are made of before they are read, and that one bad reply loses that one only."""

import json
import time

import pytest
from codes import raises_code
from doubles import fake_openai as fake
from doubles.fake_openai import FakeOpenAI
from doubles.planner_worlds import BLOCKS as WORLD

from planweave.core.base.usage import Usage
from planweave.llm.clients.base import ChatReplies, ChatReply
from planweave.llm.clients.openai_client import OpenAIClient
from planweave.llm.reasoning import CUT, MAX_REPLY, read_each, readable, said_in
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings

PLAN = '{"plan": ["grasp(red_cube)", "place_in(red_cube, left_tray)"]}'


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("a", "a"),
        ("<think>x</think>a", "a"),
        ("a<think>x</think>b<THINKING>y</Thinking>c", "abc"),
        ("x</think>a", "a"),
        ("x</think>y</think>a", "a"),
        ("a<think>x", ""),
        ("<think><think>x</think>a", "a"),
        ("<think", "<think"),
        ("<think>" * 9, ""),
        ("</think>" * 9, ""),
        ("İİ</think>a", "a"),
    ],
)
def test_thinking_is_left_out(text, left):
    assert said_in(text).answer == left


def test_a_reply_is_made_plain_and_bounded():
    assert readable(ChatReply("a\ud800b\x00c\n\td")).text == "a\ufffdb\ufffdc\n\td"
    long = readable(ChatReply("x" * 7_000_000))
    assert len(long.text) == MAX_REPLY and long.finish_reason == CUT
    assert readable(ChatReply("<think>" + "x" * 7_000_000 + "</think>B")).text == "B"


def test_a_fault_in_reading_loses_that_reply_only():
    def read(reply):
        if reply.text == "bad":
            raise RecursionError("maximum recursion depth exceeded")
        return reply.text

    rows, problem = read_each(ChatReplies((ChatReply("a"), ChatReply("bad"), ChatReply("b")), Usage()), read)
    assert [value for _, value in rows] == ["a", "b"] and "RecursionError" in problem


def planner_at(server):
    return LanguagePlanner(OpenAIClient(server.url, model="fake"), PlannerSettings(timeout=60.0))


@pytest.mark.parametrize("bad", ["\ud800", "<think>" * 8000, "[" * 100_000, "x" * 100_000, '{"plan": [' + "9" * 5000])
def test_one_bad_reply_of_25_voids_no_other(bad):
    with FakeOpenAI(fake.answers(*[PLAN] * 24, bad)) as server:
        told = []
        planner = planner_at(server)
        planner._asker._on_exchange = told.append
        plans = planner.generate_plans("put the red cube in the left tray", WORLD)
    assert (plans.received, plans.dropped, plans.plans[0].samples) == (25, 1, 24)
    json.dumps(told[0], ensure_ascii=False).encode()  # a message can carry it


@pytest.mark.slow
def test_replies_that_hung_the_planner_end_soon():
    """25 replies of 56 kB of "<think>", and one of 7 MB; in processor time, since the machine may be busy."""
    begin = time.thread_time()
    with FakeOpenAI(fake.answers("<think>" * 8000)) as server, raises_code("unreadable_reply", "25"):
        planner_at(server).generate_plans("put the red cube in the left tray", WORLD)
    assert time.thread_time() - begin < 2.0
    with FakeOpenAI(fake.ignores_n("x" * 7_000_000)) as server, raises_code("unreadable_reply"):
        planner_at(server).write("progprompt", "put the red cube in the left tray", WORLD)


@pytest.mark.parametrize(
    "choice",
    [
        None,
        {},
        {"message": 3},
        {"message": {"content": [3, {"text": 4}]}},
        {"message": {"content": PLAN}, "logprobs": {"content": [{"logprob": "x"}, 3, {}, {"logprob": 10**400}]}},
    ],
)
def test_a_broken_choice_of_an_answer_loses_that_one_only(choice):
    def behave(server, body, number):
        answer = fake.completion([PLAN] * 24)
        answer["choices"].append(choice)
        return 200, answer

    with FakeOpenAI(behave) as server:
        plans = planner_at(server).generate_plans("put the red cube in the left tray", WORLD)
    assert plans.plans[0].samples >= 24 and plans.plans[0].logprob is None

"""The client is chosen by its name and answers. Planweave must be installed, and this package."""

import threading

import pytest

from planweave.core.base.errors import CanceledError, ModelTimeoutError
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatRequest

MESSAGES = ({"role": "system", "content": "Be brief."}, {"role": "user", "content": "The task:\nhello"})


@pytest.fixture
def client():
    client = choose_client({}, {"client": "echo"})
    yield client
    client.close()


def test_it_answers_with_the_last_line(client):
    replies = client.complete(ChatRequest(MESSAGES, n=2))
    assert [reply.text for reply in replies.replies] == ["hello", "hello"]
    assert replies.usage.model == "echo" and replies.usage.completion_tokens == 2


def test_nobody_is_answered_who_no_longer_waits(client):
    with pytest.raises(ModelTimeoutError):
        client.complete(ChatRequest(MESSAGES, deadline=0.0))
    stopped = threading.Event()
    stopped.set()
    with pytest.raises(CanceledError):
        client.complete(ChatRequest(MESSAGES, canceled=stopped))

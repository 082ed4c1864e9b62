"""Clients against a real HTTP server on loopback that behaves well, badly, or not at all."""

import gc
import random
import threading
import time

import pytest
from codes import raises_code
from doubles import fake_openai as fake
from doubles.fake_openai import FakeOpenAI

from planweave.core.base.errors import CanceledError, ModelTimeoutError, ModelUnavailableError
from planweave.core.base.usage import Usage
from planweave.llm.clients import choose_client
from planweave.llm.clients.base import ChatReplies, ChatReply, ChatRequest
from planweave.llm.clients.none import NoClient
from planweave.llm.clients.openai_client import OpenAIClient, without_credentials
from planweave.llm.clients.recording import RecordingClient, ReplayClient

KEY = "sk-secret-0123456789"
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"], "additionalProperties": False}


def request(n=1, seconds=10.0, canceled=None, **options):
    return ChatRequest(
        ({"role": "user", "content": "hi"},), n=n, deadline=time.monotonic() + seconds, canceled=canceled, **options
    )


def client(server, **options):
    return OpenAIClient(server.url, KEY, "fake", rng=random.Random(1), **options)


def test_replies_usage_and_log_probabilities_are_read():
    with FakeOpenAI(fake.answers("one", "two")) as server:
        got = client(server).complete(request(n=3, logprobs=True, json_schema=SCHEMA, temperature=0.8, top_p=0.9))
    assert [r.text for r in got.replies] == ["one", "two", "one"]
    assert got.replies[0].logprob == pytest.approx(-1.0)
    assert (got.usage.requests, got.usage.prompt_tokens, got.usage.cached_tokens) == (1, 100, 40)
    assert got.usage.completion_tokens == 30 and got.usage.model == "fake" and got.usage.endpoint == server.url
    sent = server.requests[0]
    assert sent["n"] == 3 and sent["temperature"] == 0.8 and sent["top_p"] == 0.9 and sent["logprobs"] is True
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert {k.lower(): v for k, v in server.headers[0].items()}["authorization"] == f"Bearer {KEY}"


def test_usage_that_counts_one_reply_only_is_put_right_by_log_probabilities():
    low = {"prompt_tokens": 5, "completion_tokens": 2}
    with FakeOpenAI(lambda f, b, k: (200, fake.completion(["x"] * b["n"], low, logprob=-1))) as server:
        assert client(server).complete(request(n=4, logprobs=True)).usage.completion_tokens == 8


def test_an_endpoint_that_ignores_n_is_asked_several_times_with_the_same_prompt():
    with FakeOpenAI(fake.ignores_n()) as server:
        asked = client(server)
        assert len(asked.complete(request(n=6)).replies) == 6
        assert asked.capabilities.n is False and len(server.requests) == 6
        assert {str(r["messages"]) for r in server.requests} == {str(server.requests[0]["messages"])}
        assert server.most_at_once <= 4
        before = len(server.requests)
        assert asked.complete(request(n=3)).usage.requests == 3
        assert len(server.requests) == before + 3 and not any("n" in r for r in server.requests[before:])


def test_samples_asked_for_one_by_one_have_seeds_of_their_own():
    with FakeOpenAI(fake.ignores_n()) as server:
        client(server).complete(request(n=4, seed=7))
        assert sorted(r["seed"] for r in server.requests) == [7, 8, 9, 10]
        client(server).complete(request())
        assert "seed" not in server.requests[-1]


@pytest.mark.parametrize(
    ("option", "message", "name", "asked"),
    [
        ("n", "Only one completion choice is allowed: 'n' must be 1", "n", {"n": 3}),
        (
            "response_format",
            "This model does not support response_format of type json_schema",
            "json_schema",
            {"json_schema": SCHEMA},
        ),
        ("response_format", "bad request", "json_schema", {"json_schema": SCHEMA}),
        ("logprobs", "logprobs are not supported", "logprobs", {"logprobs": True}),
        ("max_tokens", "Unsupported parameter: use 'max_completion_tokens' instead", "max_tokens", {}),
        ("seed", "Unknown parameter: seed", "seed", {"seed": 7}),
        ("temperature", "Unsupported value: 'temperature' does not support 0.5", "temperature", {"temperature": 0.5}),
    ],
)
def test_an_option_that_is_rejected_is_left_out_and_remembered(option, message, name, asked):
    with FakeOpenAI(fake.rejects(option, message)) as server:
        model = client(server)
        wanted = asked.get("n", 1)
        assert len(model.complete(request(**asked)).replies) == wanted
        assert model.abilities.options[name] is False
        before = len(server.requests)
        model.complete(request(**asked))
        assert not any(option in r for r in server.requests[before:]), "it was sent again"


def test_a_schema_that_fails_on_the_server_side_is_left_out():
    with FakeOpenAI(fake.rejects("response_format", "failed to parse grammar", status=500)) as server:
        model = client(server)
        assert model.complete(request(json_schema=SCHEMA)).replies[0].text == "hello"
        assert model.capabilities.json_schema is False and len(server.requests) == 2


def test_rate_limits_and_server_errors_are_retried():
    at_once = {"Retry-After": "0"}
    for status, headers in ((429, at_once), (500, at_once), (503, {}), (529, at_once)):
        with FakeOpenAI(fake.fails(status, headers=headers, times=2)) as server:
            assert client(server).complete(request()).replies[0].text == "hello"
            assert len(server.requests) == 3, status


def test_the_wait_asked_for_is_kept():
    with FakeOpenAI(fake.fails(429, headers={"Retry-After": "0.4"}, times=1)) as server:
        start = time.monotonic()
        client(server).complete(request())
        assert time.monotonic() - start >= 0.4


def test_retries_end_with_the_number_of_attempts():
    with FakeOpenAI(fake.fails(503, "overloaded", headers={"Retry-After": "0"})) as server:
        with raises_code("model_unavailable", "503", "overloaded"):
            client(server, attempts=3).complete(request())
        assert len(server.requests) == 3


@pytest.mark.parametrize("wait", ["30", "600", "Fri, 31 Dec 9999 23:59:59 GMT"])
def test_a_wait_asked_for_that_is_longer_than_the_deadline_ends_the_question(wait):
    with FakeOpenAI(fake.fails(429, "slow down", headers={"Retry-After": wait})) as server:
        with raises_code("model_rate_limit", "HTTP 429: slow down"):
            client(server).complete(request(seconds=2.0))
        assert len(server.requests) == 1


def test_an_account_without_credit_is_not_asked_again():
    refusal = 429, {"error": {"message": "you exceeded your current quota", "code": "insufficient_quota"}}
    with FakeOpenAI(lambda *_: refusal) as server:
        with raises_code("model_credit", "insufficient_quota"):
            client(server).complete(request())
        assert len(server.requests) == 1


@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_said_without_showing_it(status):
    with FakeOpenAI(fake.fails(status, f"Incorrect API key provided: {KEY}")) as server:
        with raises_code("model_key", "OPENAI_API_KEY") as error:
            client(server).complete(request())
        assert KEY not in str(error.value) and KEY not in repr(error.value.__dict__)
        assert len(server.requests) == 1


def test_an_unknown_model_is_said():
    with (
        FakeOpenAI(fake.fails(404, "The model `fake` does not exist")) as server,
        raises_code("model_unknown", "PLANWEAVE_MODEL"),
    ):
        client(server).complete(request())


def test_a_prompt_that_is_too_long_is_said_and_not_asked_again():
    with FakeOpenAI(fake.fails(400, "This model's maximum context length is 10 tokens")) as server:
        with raises_code("model_context", "10 tokens"):
            client(server).complete(request(json_schema=SCHEMA, logprobs=True, n=2))
        assert len(server.requests) == 1


@pytest.mark.parametrize("behave", [fake.stalls, fake.dribbles], ids=["stalls", "dribbles"])
def test_a_reply_that_never_ends_is_given_up_at_the_deadline(behave):
    with FakeOpenAI(behave) as server, raises_code("model_timeout"):
        client(server).complete(request(seconds=0.5))


def test_a_reply_without_end_is_given_up_by_its_size():
    with FakeOpenAI(fake.floods) as server, raises_code("model_answer", "8 MB"):
        client(server).complete(request(seconds=30.0))


@pytest.fixture
def no_collection():
    """No garbage of earlier tests is finalised in the depth of a nested reply, where each finaliser fails."""
    gc.disable()
    yield
    gc.enable()


@pytest.mark.parametrize(
    "data",
    [
        b"<html>hello</html>",
        b"",
        b"null",
        b"[]",
        b'{"choices": 3}',
        b'{"choices": [{}]}',
        b'{"choices": []}',
        b"[" * 100_000,
        b'{"choices": [{"message": null}]}',
        b"\xff\xfe",
    ],
)
def test_what_is_not_a_chat_completion_is_said(data, no_collection):
    with FakeOpenAI(fake.says(data)) as server, raises_code("model_answer", " HTTP 200: "):
        client(server).complete(request())


def test_odd_but_valid_replies_are_read():
    value = {
        "choices": [{"message": {"content": None}}, {"message": {"content": [{"type": "text", "text": "x"}]}}],
        "usage": {"prompt_tokens": "many", "prompt_tokens_details": None},
    }
    with FakeOpenAI(lambda f, b, k: (200, value)) as server:
        got = client(server).complete(request(n=2))
    assert [r.text for r in got.replies] == ["", "x"] and got.usage.prompt_tokens == 0


def test_a_connection_that_dies_in_a_reply_is_tried_again():
    def behave(server, body, number):
        return fake.dies(server, body, number) if number == 1 else (200, fake.completion(["alive"]))

    with FakeOpenAI(behave) as server:
        assert client(server).complete(request()).replies[0].text == "alive"


def test_a_connection_that_always_dies_is_unavailable():
    with FakeOpenAI(fake.dies) as server, raises_code("model_unavailable", "OPENAI_BASE_URL"):
        client(server, attempts=2).complete(request())


def test_an_endpoint_that_is_down_is_unavailable():
    down = OpenAIClient(f"http://127.0.0.1:{fake.unused_port()}/v1", KEY, "fake", attempts=2)
    with raises_code("model_unavailable", "OPENAI_BASE_URL"):
        down.complete(request())


def test_cancelling_ends_the_wait_and_the_connection():
    canceled, gone = threading.Event(), threading.Event()

    def behave(server, body, number):
        def write(handler):
            handler.connection.settimeout(60)
            canceled.set()
            if handler.connection.recv(1) == b"":
                gone.set()

        return write

    with FakeOpenAI(behave) as server:
        with pytest.raises(CanceledError):
            client(server).complete(request(seconds=600, canceled=canceled))
        assert gone.wait(60.0), "the server still thinks that somebody waits"


def test_cancelling_ends_the_wait_between_retries():
    with FakeOpenAI(fake.fails(429, headers={"Retry-After": "30"})) as server:
        canceled = threading.Event()
        threading.Timer(0.2, canceled.set).start()
        with pytest.raises(CanceledError):
            client(server).complete(request(seconds=60, canceled=canceled))


def test_nothing_is_asked_after_the_deadline():
    with FakeOpenAI(fake.answers("x")) as server:
        with pytest.raises(ModelTimeoutError):
            client(server).complete(request(seconds=-1))
        assert not server.requests


def test_the_only_model_of_an_endpoint_is_taken():
    with FakeOpenAI(fake.answers("x"), models=["the-one"]) as server:
        only = OpenAIClient(server.url, "")
        only.complete(request())
        assert only.model == "the-one" and server.requests[0]["model"] == "the-one"
    with (
        FakeOpenAI(fake.answers("x"), models=["a", "b"]) as server,
        raises_code("model_unknown", "PLANWEAVE_MODEL", "a, b"),
    ):
        OpenAIClient(server.url, "").complete(request())


def test_credentials_in_a_url_are_not_shown():
    assert without_credentials("https://user:secret@host:8/v1/?key=secret#x") == "https://host:8/v1"
    with raises_code("configuration", "OPENAI_BASE_URL", "http"):
        OpenAIClient("ftp://user:secret@host/v1")


def test_the_choice_of_a_client(tmp_path):
    named = choose_client({"OPENAI_BASE_URL": "http://127.0.0.1:1/v1", "PLANWEAVE_MODEL": "m"}, {})
    assert (named.endpoint, named.model) == ("http://127.0.0.1:1/v1", "m")
    vendor = choose_client({"OPENAI_API_KEY": KEY}, {"openai_model": "small"})
    assert (vendor.endpoint, vendor.model) == ("https://api.openai.com/v1", "small")
    assert isinstance(choose_client({}, {"client": "none"}), NoClient)
    with raises_code("configuration", "OPENAI_API_KEY"):
        choose_client({"PLANWEAVE_MODEL": "gpt-x"}, {})
    with raises_code("configuration", "none.gguf"):
        choose_client({"PLANWEAVE_MODEL": str(tmp_path / "none.gguf")}, {})
    (tmp_path / "bad.gguf").write_bytes(b"hello")
    with raises_code("configuration", "bad.gguf"):
        choose_client({"PLANWEAVE_MODEL": str(tmp_path / "bad.gguf")}, {})
    with raises_code("configuration", "OPENAI_BASE_URL"):
        choose_client({}, {"client": "openai"})
    with raises_code("configuration", "'cassette'"):
        choose_client({}, {"client": "replay"})
    with raises_code("unknown_name", "'replay'"):
        choose_client({}, {"client": "reply"})
    with pytest.raises(ModelUnavailableError):
        choose_client({}, {"client": "none"}).complete(request())


class Scripted:
    """A client double that numbers its answers."""

    endpoint, model, count = "scripted", "m", 0
    capabilities = None

    def complete(self, asked):
        self.count += 1
        return ChatReplies((ChatReply(f"answer {self.count}", "stop", -1.5),), Usage(1, 2, 0, 3, 0.1, None, "m", "e"))

    def close(self):
        pass


def test_a_cassette_gives_back_what_was_recorded(tmp_path):
    path = tmp_path / "deep" / "tape.jsonl"
    recorder = RecordingClient(Scripted(), path)
    first, again, other = (recorder.complete(request(n=n)) for n in (1, 1, 2))
    assert KEY not in path.read_text()
    replay = ReplayClient(path)
    assert [replay.complete(request(n=n)) for n in (1, 1, 1, 2)] == [first, again, again, other]
    assert replay.model == "m"


def test_a_question_that_was_not_recorded_is_named(tmp_path):
    path = tmp_path / "tape.jsonl"
    RecordingClient(Scripted(), path).complete(request())
    replay = ReplayClient(path)
    replay.complete(request())
    changed = ChatRequest(({"role": "user", "content": "hi there"},), deadline=time.monotonic() + 5)
    with raises_code("model_unavailable", "question 2", "'hi there'", "' there'"):
        replay.complete(changed)
    with raises_code("model_unavailable", "question 3", "temperature"):
        replay.complete(request(temperature=0.9))


@pytest.mark.parametrize(
    "line",
    [
        "x",
        "{}",
        '{"request": {}, "reply": {"replies": [{}]}}',
        "[]",
        '{"request": {}, "reply": {"replies": [{"text": "a", "odd": 1}], "usage": {}}}',
    ],
)
def test_a_broken_cassette_is_said_with_its_line(tmp_path, line):
    path = tmp_path / "tape.jsonl"
    path.write_text("# hand-made\n" + line + "\n")
    with raises_code("configuration", "line 2"):
        ReplayClient(path)
    with raises_code("configuration", "absent.jsonl"):
        ReplayClient(tmp_path / "absent.jsonl")

"""Endpoints as public reports describe them: each is answered, or named as what it is, and none shows the key."""

import base64
import json
import logging
import random
import time
import traceback

import pytest
from codes import raises_code
from doubles.endpoints import KEY, QUIRKS, Quirk, QuirkServer, of_another_host
from doubles.fake_openai import FakeOpenAI, stalls

from planweave.core.base.errors import ModelError
from planweave.llm.clients import choose_client, openai_client
from planweave.llm.clients.base import ChatRequest
from planweave.llm.clients.endpoint import Mask, read_endpoint, read_options
from planweave.llm.clients.faults import read_fault
from planweave.llm.clients.openai_client import ATTEMPTS, OpenAIClient

SCHEMA = {"type": "object", "properties": {"plan": {"type": "array"}}, "required": ["plan"]}
TEXT = '{"plan": ["grasp(red_cube)"]}'
PICTURE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
FORMS = [KEY, KEY[8:24], KEY[-12:], base64.b64encode(KEY.encode()).decode()[4:40]]


def request(seconds=20.0, picture=False, **options):
    asked = [{"type": "text", "text": "A plan as JSON."}, PICTURE] if picture else "A plan as JSON."
    messages = ({"role": "system", "content": "You plan."}, {"role": "user", "content": asked})
    given = {"n": 3, "temperature": 0.8, "top_p": 0.9, "max_tokens": 60, "json_schema": SCHEMA, "logprobs": True}
    return ChatRequest(messages, deadline=time.monotonic() + seconds, **{**given, **options})


class AtOnce(random.Random):
    """Without a pause between two tries."""

    def uniform(self, a, b):
        return 0.0


def client(url, **options):
    return OpenAIClient(url, KEY, "fake", rng=AtOnce(), **options)


def leaks(text):
    return [form for form in FORMS if form in text]


@pytest.mark.parametrize("name", QUIRKS)
def test_an_endpoint_is_answered_or_named(name, caplog):
    quirk = QUIRKS[name]
    caplog.set_level(logging.DEBUG)
    with QuirkServer(quirk, TEXT) as server:
        model, shown, replies, code = client(server.url), "", (), ""
        try:
            replies = model.complete(request(quirk.seconds, "picture" in quirk.only)).replies
        except ModelError as error:
            code = error.code
            shown = "".join(traceback.format_exception(error)) + repr(vars(error))
        assert code == quirk.code, shown
        spent = len(server.requests)
        if code:
            assert spent <= ATTEMPTS
        else:
            assert [reply.text[-len(TEXT) :] for reply in replies] == [TEXT] * 3
            model.complete(request())
            assert len(server.requests) - spent in (1, 3), "what it refuses was sent again"
    assert not leaks(shown + caplog.text + repr(replies) + repr(model) + repr(model.abilities.options))


@pytest.mark.parametrize("name", ["no pictures", "no pictures, 404"])
def test_an_endpoint_that_takes_no_pictures_is_asked_once_and_still_answers_in_words(name):
    with QuirkServer(QUIRKS[name], TEXT) as server:
        model = client(server.url)
        with pytest.raises(ModelError) as failed:
            model.complete(request(picture=True))
        assert failed.value.code == "model_pictures" and len(server.requests) == 1
        assert model.complete(request()).replies[0].text == TEXT


def test_a_certificate_of_another_host_is_named_at_once():
    with (
        of_another_host() as url,
        raises_code("model_answer", "CERTIFICATE_VERIFY_FAILED", "OPENAI_BASE_URL") as failed,
    ):
        client(url).complete(request())
    assert failed.value.code == "model_answer"


def test_what_a_redirect_leads_to_is_said_without_its_query():
    with QuirkServer(QUIRKS["a redirect"]) as server, raises_code("model_answer", "https://x.example/v1"):
        client(server.url).complete(request())


# ---- room for reasoning --------------------------------------------------------------------------------------------


def test_the_limit_is_raised_once_and_remembered_and_all_is_counted():
    with QuirkServer(QUIRKS["reasoning apart"], TEXT) as server:
        model = client(server.url)
        got = model.complete(request(n=1))
        assert [body["max_tokens"] for body in server.requests] == [60, 60 + model.abilities.room]
        assert got.usage.requests == 2 and got.usage.completion_tokens == 60 + 1000
        assert got.replies[0].reasoning and got.replies[0].text == TEXT
        model.complete(request(n=1))
        assert len(server.requests) == 3


def test_the_room_for_reasoning_keeps_to_the_tasks_budget():
    with QuirkServer(QUIRKS["reasoning apart"], TEXT) as server:
        model = client(server.url)
        with raises_code("model_no_answer", "budget_tokens") as failed:
            model.complete(request(n=1, tokens_left=500))
        assert failed.value.code == "model_no_answer"
        assert failed.value.usage.requests == 2 and failed.value.usage.total_tokens <= 700
        assert server.requests[-1]["max_tokens"] <= 500


def test_samples_asked_for_one_by_one_share_the_budget():
    def behave(server, body, number):
        return QUIRKS["reasoning apart"].behave(server, {**body, "n": 1}, number)

    with QuirkServer(Quirk("", behave), TEXT) as server:
        model = client(server.url)
        model.complete(request(n=4, tokens_left=6000))
        assert sum(sorted(body["max_tokens"] for body in server.requests)[-3:]) <= 6000 + 3 * 60


def test_reasoning_and_calls_of_tools_come_beside_the_text():
    message = {"content": None, "reasoning_content": "hm", "tool_calls": [{"function": {"name": "plan"}}]}
    with FakeOpenAI(lambda *_: (200, {"choices": [{"message": message, "finish_reason": "tool_calls"}]})) as server:
        (reply,) = client(server.url).complete(request(n=1)).replies
    assert (reply.text, reply.reasoning, reply.tools) == ("", "hm", ("plan",))


# ---- options -------------------------------------------------------------------------------------------------------


def test_what_is_refused_is_remembered_one_by_one():
    with QuirkServer(QUIRKS["a reasoning model of OpenAI"], TEXT) as server:
        model = client(server.url)
        model.complete(request())
        refused = {option for option, works in model.abilities.options.items() if works is False}
        assert refused == {"max_tokens", "temperature", "top_p", "logprobs"}
        assert model.abilities.options["json_schema"] and "max_completion_tokens" in server.requests[-1]


def test_a_schema_that_is_refused_becomes_json_object_and_then_nothing():
    with QuirkServer(QUIRKS["only json_object"], TEXT) as server:
        client(server.url).complete(request())
        assert server.requests[-1]["response_format"] == {"type": "json_object"}
    with QuirkServer(QUIRKS["404 for an option"], TEXT) as server:
        client(server.url).complete(request())
        assert "response_format" not in server.requests[-1]


def test_the_system_s_words_come_before_the_first_of_the_user():
    with QuirkServer(QUIRKS["no system role"], TEXT) as server:
        client(server.url).complete(request())
        assert server.requests[-1]["messages"] == [{"role": "user", "content": "You plan.\n\nA plan as JSON."}]
        client(server.url).complete(request(picture=True))
        assert [part["type"] for part in server.requests[-1]["messages"][0]["content"]] == ["text", "text", "image_url"]


def test_model_options_are_sent_over_ours_and_null_leaves_one_out():
    extra = read_options(
        '{"reasoning_effort": "low", "temperature": null, "chat_template_kwargs": {"thinking": false}}'
    )
    with QuirkServer(QUIRKS["none"], TEXT) as server:
        client(server.url, extra=extra).complete(request())
        (body,) = server.requests
    assert body["reasoning_effort"] == "low" and "temperature" not in body
    assert body["chat_template_kwargs"] == {"thinking": False}


@pytest.mark.parametrize("text", ["low", "[1]", '{"model": "x"}', '{"n": 2}', '"x"', "{"])
def test_model_options_that_cannot_be_used_are_refused_with_an_example(text):
    with raises_code("configuration", "PLANWEAVE_MODEL_OPTIONS", "reasoning_effort"):
        read_options(text)
    assert read_options(" ") == {}


def test_an_option_of_the_user_that_is_refused_is_not_left_out():
    with QuirkServer(QUIRKS["no log-probabilities"], TEXT) as server:
        with pytest.raises(ModelError):
            client(server.url, extra={"logprobs": True}).complete(request(json_schema=None, n=1, top_p=1.0))
        assert len(server.requests) <= ATTEMPTS


# ---- keys ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["sk-a b", "sk-a\nsk-b", "Bearer sk-abc", "sk-\tx", "ключ", "sk-\u200bx", "sk-\x07"])
def test_a_key_that_no_header_can_carry_is_refused_before_anything_is_sent(key):
    with QuirkServer(QUIRKS["none"]) as server:
        with raises_code("configuration", "OPENAI_API_KEY") as failed:
            OpenAIClient(server.url, key, "fake")
        assert not server.requests and not server.headers
    assert key not in "".join(traceback.format_exception(failed.value))


@pytest.mark.parametrize("written", [f"{KEY}\n", f"  {KEY}\r\n", f'"{KEY}"', f"'{KEY}'\n"])
def test_what_surrounds_a_key_is_left_out_with_a_note(written, caplog):
    with QuirkServer(QUIRKS["none"]) as server:
        model = OpenAIClient(server.url, written, "fake")
        model.complete(request())
        (headers,) = server.headers
    assert {k.lower(): v for k, v in headers.items()}["authorization"] == f"Bearer {KEY}"
    assert "OPENAI_API_KEY" in model.notes[0] and model.notes[0] in caplog.text and not leaks(caplog.text)


@pytest.mark.parametrize("key", ["max", "none", "EMPTY", "ollama", "lm-studio", "refrigerator", ""])
def test_a_key_that_is_a_word_masks_no_word(key):
    text = "use max_completion_tokens, none of EMPTY; ollama, lm-studio, refrigerator"
    assert Mask([key])(text) == text


@pytest.mark.parametrize(
    ("shown", "masked"),
    [
        (KEY, "***"),
        (f"b'Bearer {KEY}'", "b'Bearer ***'"),
        (f"?key={KEY}&x=1", "?key=***&x=1"),
        (KEY[:12], "***"),
        (KEY[7:30], "***"),
        (f"{KEY[:7]}{'*' * 30}{KEY[-4:]} .", "*** ."),
        (f"{KEY[:6]}...{KEY[-4:]}", "***"),
        (KEY.encode().hex(), "***"),
        ("max_completion_tokens *** sk-other", "max_completion_tokens *** sk-other"),
    ],
)
def test_a_key_is_masked_whole_in_parts_and_encoded_and_nothing_else_is(shown, masked):
    assert Mask([KEY])(shown) == masked


def test_a_key_is_masked_in_base64_at_any_place():
    for before in ("", "u", "us", "user:", "Bearer "):
        shown = Mask([KEY])(base64.b64encode(f"{before}{KEY}".encode()).decode())
        assert "***" in shown and len(shown) < len(before) * 2 + 12


@pytest.mark.parametrize(
    "text", ["x" * 500_000, "*" * 500_000, "ab." * 200_000, f"{KEY}...{KEY}" * 5000, "<title" * 10**5]
)
def test_long_texts_are_masked_and_read_in_time_that_grows_with_their_length(text):
    assert not leaks(Mask([KEY])(text)) and not leaks(Mask([KEY])(text + KEY[:20]))
    assert len(read_fault(500, {}, text).text) < 600


def test_a_short_key_is_masked_where_the_endpoint_speaks_of_the_key():
    refusal = 401, {"error": {"message": "no access for key max, see maximum"}}
    with FakeOpenAI(lambda *_: refusal) as server, raises_code("model_key", "***, see maximum"):
        OpenAIClient(server.url, "max", "fake").complete(request())


def test_a_key_written_with_escapes_is_masked():
    escaped = "".join(f"\\u{ord(letter):04x}" for letter in KEY)
    body = json.dumps({"choices": [{"message": {"content": "@"}}]}).replace("@", escaped).encode()
    with FakeOpenAI(lambda *_: (200, body)) as server:
        assert client(server.url).complete(request(n=1)).replies[0].text == "***"


# ---- base URLs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "used"),
    [
        ("http://h:8000/v1\n", "http://h:8000/v1"),
        ("http://h:8000/v1/", "http://h:8000/v1"),
        ("http://h:8000", "http://h:8000/v1"),
        ("localhost:11434", "http://localhost:11434/v1"),
        ("127.0.0.1:8080/v1", "http://127.0.0.1:8080/v1"),
        ("api.example.com/v1", "https://api.example.com/v1"),
        ("https://h/v1/chat/completions", "https://h/v1"),
        ("https://h/v1/v1", "https://h/v1"),
        ('"https://h/v1"', "https://h/v1"),
        ("http://[::1]:8000", "http://[::1]:8000/v1"),
        ("[::1]:8000/v1", "http://[::1]:8000/v1"),
        ("https://h/openai/deployments/d?api-version=1", "https://h/openai/deployments/d"),
        ("https://g/v1beta/openai/", "https://g/v1beta/openai"),
        ("", "https://api.openai.com/v1"),
        ("  ", "https://api.openai.com/v1"),
    ],
)
def test_a_base_url_is_read_as_people_write_it(written, used):
    place = read_endpoint(written, KEY)
    assert place.url == used
    assert OpenAIClient(written, KEY, "fake").endpoint == used
    mended = written.strip().rstrip("/").partition("?")[0] != used and written.strip() != ""
    assert mended <= bool(place.notes)


@pytest.mark.parametrize(
    "written",
    [
        *(
            "ftp://h/v1",
            "http://",
            "http:///v1",
            "http://h:99999/v1",
            "http://h:abc/v1",
            "http://h:0/v1",
            "http://a b/v1",
        ),
        *("http://::1:8000/v1", "http://[::1/v1", "http://h/v1\nx", "://", "http://h:-1", "h h", "http://[fe80::1%/v1"),
        f"htp://user:{KEY}@h/v1",
    ],
)
def test_a_base_url_that_is_none_is_refused_with_the_remedy(written):
    with raises_code("configuration", "OPENAI_BASE_URL") as failed:
        OpenAIClient(written, KEY, "fake")
    assert not leaks("".join(traceback.format_exception(failed.value)))


def test_azure_s_version_and_header_are_sent():
    with QuirkServer(QUIRKS["none"], TEXT) as server:
        url = server.url.replace("/v1", "/openai/deployments/d?api-version=2024-10-21")
        client(url).complete(request())
        assert server.paths == ["/openai/deployments/d/chat/completions?api-version=2024-10-21"]
        assert {k.lower(): v for k, v in server.headers[0].items()}["api-key"] == KEY


def test_a_password_in_the_url_is_sent_and_never_shown():
    with FakeOpenAI(
        lambda *_: (500, {"error": {"message": "user:Passw0rd-9876 is odd"}}, {"Retry-After": "0"})
    ) as server:
        model = client(server.url.replace("//", "//user:Passw0rd-9876@"))
        with pytest.raises(ModelError) as failed:
            model.complete(request())
    assert "Passw0rd" not in str(failed.value) + model.endpoint


def test_https_to_a_port_that_speaks_http_is_said_and_not_waited_for_to_the_end(monkeypatch):
    monkeypatch.setattr(openai_client, "CONNECT", 0.1)
    with FakeOpenAI(lambda *_: (200, {})) as server, raises_code("model_unavailable", "WRONG_VERSION_NUMBER") as failed:
        client(server.url.replace("http:", "https:")).complete(request(60.0))
    assert failed.value.code == "model_unavailable"


def test_what_failed_before_the_deadline_says_more_than_the_deadline():
    def behave(server, body, number):
        return (
            (503, {"error": {"message": "warming up"}}, {"Retry-After": "0"})
            if number == 1
            else stalls(server, body, 2)
        )

    with FakeOpenAI(behave) as server, raises_code("model_unavailable", "warming up") as failed:
        client(server.url).complete(request(1.0))
    assert failed.value.code == "model_unavailable"


@pytest.mark.parametrize("url", ["", " ", "https://api.openai.com/v1/\n"])
def test_openai_s_own_endpoint_has_a_default_model_however_it_is_written(url):
    environ = {"OPENAI_BASE_URL": url, "OPENAI_API_KEY": f"{KEY}\n"}
    assert choose_client(environ, {"openai_model": "small"}).model == "small"
    with raises_code("configuration", "OPENAI_API_KEY"):
        choose_client({"OPENAI_BASE_URL": " ", "OPENAI_API_KEY": "\n"}, {"client": "openai"})


def test_an_endpoint_that_lists_no_models_says_why():
    with FakeOpenAI(lambda *_: (200, {}), models=[]) as server, raises_code("model_unknown", "PLANWEAVE_MODEL"):
        OpenAIClient(server.url, KEY).complete(request())

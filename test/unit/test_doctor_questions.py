"""The doctor's questions to a model: what endpoints answer, and what it then says of each method."""

import json
import re

import pytest
from doubles.fake_openai import FakeOpenAI, completion, fails, stalls, unused_port

from planweave.cli import doctor, model_probe
from planweave.core.base.usage import Usage
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.llm.clients.openai_client import OpenAIClient
from planweave.methods import METHODS

pytestmark = pytest.mark.slow

PLAN = ["grasp(red_cube)", "place_in(red_cube, left_tray)"]


def right(body):
    """The right answer to each of the questions, in the form that its prompt asks for."""
    first, last = (m["content"] for m in (body["messages"][0], body["messages"][-1]))
    form = (body.get("response_format") or {}).get("json_schema", {}).get("schema", {"properties": {}})["properties"]
    if form:
        key = "goal" if "goal" in form else next(iter(form))
        if key == "goal":
            words = ["I would be glad if = politeness", "ended up lying in = in"]
            return json.dumps({"goal": ["in(red_cube, left_tray)"], "words": words})
        return json.dumps({key: {"plan": PLAN, "choice": "B"}.get(key, PLAN[0])})
    if "Python programs" in first:
        return "grasp('red_cube')\nplace_in('red_cube', 'left_tray')"
    if "one line of program" in first:
        return "<rob0>[grasp] <red_cube>"
    if "assert(" in last:
        return "False"
    if "$$" in last:
        return "$$ grasp red_cube $$"
    if "Reply with the next step alone" in first:
        return "Pick up the red cube"
    start = 1 if "Write the steps of the next task" in first else 0
    return f"{start}: Pick up the red cube\n{start + 1}: Put the red cube in the left tray"


def endpoint(reply):
    """An endpoint that answers all samples alike."""
    return FakeOpenAI(
        lambda fake, body, number: (
            200,
            completion([reply(body)] * (body.get("n") or 1), logprob=-0.5 if body.get("logprobs") else None),
        )
    )


def probed(url, **settings):
    """The answers of an endpoint, and the verdicts on the methods."""
    probe = model_probe.Probe(OpenAIClient(url, "k", "fake"), settings)
    answers = list(probe.answers())
    found = {"capabilities": probe.capabilities, "questions": [vars(answer) for answer in answers]}
    return answers, doctor.methods_for(found)


def test_every_method_is_asked_what_it_asks_and_works_with_right_answers():
    with endpoint(right) as server:
        answers, methods = probed(server.url)
    assert {answer.state for answer in answers} == {"right"}, [a for a in answers if a.state != "right"]
    assert {answer.method for answer in answers} == {*METHODS.working()} - {"classical"} | {""}
    assert {verdict.state for verdict in methods.values()} == {"works"}
    assert len(server.requests) <= 14, "few requests"


def test_what_an_endpoint_lacks_is_said_of_the_methods_that_use_it():
    def plain(fake, body, number):
        if body.get("response_format"):
            return 400, {"error": {"message": "response_format is not supported", "param": "response_format"}}
        return 200, completion([right({**body, "response_format": wanted(body)})])

    def wanted(body):
        said = "".join(message["content"] for message in body["messages"])
        keys = [key for key in ("plan", "choice", "action") if f'{{"{key}":' in said]
        keys += ["goal"] if '{"kind":' in said else []
        return {"json_schema": {"schema": {"properties": {keys[0]: {}}}}} if keys else {}

    with FakeOpenAI(plain) as server:
        _, methods = probed(server.url)
    said = methods["tree_planner"]
    assert said.state == "works without" and all(
        w in said.text for w in ("one request per sample", "schema", "log-prob")
    )
    assert methods["blocking"].state == "works"


def test_wrong_answers_are_not_called_working():
    with endpoint(lambda body: right(body).replace("red", "blue").replace("B", "A").replace("False", "True")) as server:
        _, methods = probed(server.url)
    assert not [name for name, verdict in methods.items() if verdict.state == "works"]
    assert methods["progprompt"].state == "wrong"


def test_replies_that_are_reasoning_only_are_named_and_not_asked_for_ever():
    def thinking(fake, body, number):
        made = completion([""])
        made["choices"][0]["message"]["reasoning_content"] = "let me see"
        return 200, made

    with FakeOpenAI(thinking) as server:
        answers, methods = probed(server.url)
    assert "reasoning only" in methods["progprompt"].reason and methods["progprompt"].state == "not"
    assert "reasoning only" in answers[0].text
    assert len(server.requests) <= 6


@pytest.mark.parametrize(
    ("behave", "code"), [(fails(401, "wrong key"), "model_key"), (fails(404, "not found"), "model_answer")]
)
def test_an_endpoint_that_refuses_is_asked_once(behave, code):
    with FakeOpenAI(behave) as server:
        answers, methods = probed(server.url)
    assert answers[0].code == code and len(server.requests) <= 2
    assert {a.state for a in answers[1:]} == {"not asked"}
    assert {verdict.state for name, verdict in methods.items() if name != "classical"} == {"not"}


def test_nobody_there_and_a_silent_endpoint_end_soon():
    answers, _ = probed(f"http://127.0.0.1:{unused_port()}/v1", timeout=0.5)
    assert answers[0].state == "failed" and "no answer from" in answers[0].text
    with FakeOpenAI(stalls) as server:
        answers, _ = probed(server.url, timeout=0.2)
    assert [a.code for a in answers[:3]] == ["model_timeout", "model_timeout", ""] and len(server.requests) == 2


def test_the_time_for_all_questions_is_limited():
    with endpoint(right) as server:
        answers, _ = probed(server.url, probe_total_seconds=0.0)
    assert not server.requests and {a.state for a in answers} == {"not asked"}


def test_the_embedded_model_is_asked_its_own_kind_of_question_alone():
    asked = []

    class Weak:
        endpoint, model = "embedded", "weak"
        capabilities = Capabilities(True, True, True, choices=True, only_steps=True)

        def complete(self, request):
            asked.append(request)
            wish = next(c for c in request.choices if c.strip(" ;") in PLAN)
            return ChatReplies((ChatReply(wish, logprob=-0.1, tokens=3),), Usage(1, 10))

    answers = list(model_probe.Probe(Weak(), {}).answers())
    methods = doctor.methods_for({"capabilities": vars(Weak.capabilities), "questions": [vars(a) for a in answers]})
    assert all(request.choices for request in asked) and asked
    assert methods["tree_planner"].state == methods["classical"].state == "works without"
    assert {v.state for n, v in methods.items() if n not in ("tree_planner", "classical")} == {"not"}


@pytest.mark.parametrize(
    ("reply", "state"),
    [
        ('{"marks": [{"mark": 1, "name": "cube", "colour": "red", "part_of": 0, "drawers": 0, "state": ""}]}', "right"),
        (
            '{"marks": [{"mark": 1, "name": "cube", "colour": "blue", "part_of": 0, "drawers": 0, "state": ""}]}',
            "wrong",
        ),
        ("I see a cube.", "unread"),
    ],
)
def test_a_picture_is_asked_about(monkeypatch, reply, state):
    with endpoint(lambda body: reply) as server:
        for name, value in {"OPENAI_BASE_URL": server.url, "PLANWEAVE_VISION_MODEL": "eyes"}.items():
            monkeypatch.setenv(name, value)
        answer = model_probe.picture()
        assert answer.state == state and re.search("image_url", json.dumps(server.requests[0]))
    finding = doctor._of_pictures(vars(answer))
    assert (finding.state == "ok") == (state == "right") and bool(finding.advice) == (state != "right")


def test_the_whole_check_over_its_own_process(monkeypatch):
    with endpoint(right) as server:
        for name, value in {"OPENAI_BASE_URL": server.url, "PLANWEAVE_MODEL": "fake"}.items():
            monkeypatch.setenv(name, value)
        monkeypatch.delenv("PLANWEAVE_VISION_MODEL", raising=False)
        (finding,) = doctor.check_model()
    assert finding.state == "ok", finding.text
    assert "tree_planner: works" in finding.text and "fake at http" in finding.text
    assert {row["state"] for row in finding.details["reading"]} == {
        "unread"
    }  # so of no method it is said that it has a reader:
    assert finding.details["methods"]["brainbody"]["state"] == "works without"

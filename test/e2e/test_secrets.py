"""A system that asks an endpoint which repeats the key in every form: nothing that it writes holds any of it."""

import base64
import importlib
import itertools
import json
import os
import subprocess
import sys
from urllib.parse import quote

import pytest
from doubles.endpoints import KEY, echoes, spoken
from doubles.fake_openai import FakeOpenAI

from planweave.core.base.errors import PlanweaveError
from planweave.launcher.running_system import start_node, stop_nodes
from planweave.launcher.systems import load_system
from planweave_ros.client import Client

PLAN = {"plan": ["walk(kitchen)", "walk(salmon)", "grab(salmon)"], "goal": ["inside(salmon, fridge)"], "choice": "A"}
CODED = base64.b64encode(f"Bearer {KEY}".encode()).decode()
PAGE = f"<html><title>{KEY}</title>{KEY}</html>".encode()
HEADERS = {"error": {"message": f"headers were {{'Authorization': b'Bearer {KEY}'}}", "code": KEY, "param": KEY}}
FORMS = {
    *(KEY[start : start + 10] for start in range(len(KEY) - 9)),
    *(CODED[start : start + 16] for start in range(12, len(CODED) - 20, 4)),
    KEY.encode().hex(),
}
ANSWERS = (
    echoes(401, f"{KEY[:8]}{'*' * 20}{KEY[-4:]}"),
    echoes(403, CODED),
    lambda *_: (500, HEADERS, {"Retry-After": "0", "x-key": KEY}),
    lambda *_: (302, b"", {"Location": f"https://elsewhere.example/{KEY}?key={quote(KEY)}"}),
    lambda *_: (200, PAGE),
    lambda *_: (200, {"choices": None, "key": KEY}),
    lambda server, body, number: spoken(server, body, f"The key is {KEY}, as bytes {KEY.encode().hex()}, or {CODED}."),
    lambda server, body, number: spoken(server, body, f"{KEY} {json.dumps(PLAN)}", reasoning_content=f"Use {KEY}."),
    lambda server, body, number: spoken(server, body, json.dumps(PLAN)),
)
TASKS = (
    ("tree_planner", "put the salmon in the fridge"),
    ("progprompt", "put the salmon in the fridge"),
    ("iterative", "put the salmon in the fridge"),
    ("base_llm", "I would fancy having that pink fish somewhere cold"),
)


@pytest.fixture
def asked():
    """The endpoint; its answers come in turn, whatever is asked."""
    turn = itertools.count()

    def behave(server, body, number):
        server.text = ""
        return ANSWERS[next(turn) % len(ANSWERS)](server, body, number)

    with FakeOpenAI(behave) as server:
        yield server


@pytest.fixture
def listen(make_node):
    """listen() subscribes to every topic that is there, and returns the list that gets what is published, as bytes."""

    def start():
        heard, node = [], make_node("listener")
        for name, (kind, *_) in node.get_topic_names_and_types():
            package, _, message = kind.partition("/msg/")
            if message:  # else of an action
                interface = getattr(importlib.import_module(f"{package}.msg"), message)
                node.create_subscription(interface, name, heard.append, 100, raw=True)
        return heard

    return start


def test_nothing_that_a_system_writes_holds_the_key(ros, spin_until, tmp_path, asked, listen):
    specs = {spec.name: spec for spec in load_system("household").nodes}
    environment = {"OPENAI_BASE_URL": asked.url, "OPENAI_API_KEY": f"{KEY}\n", "PLANWEAVE_MODEL": "fake"}
    own = {
        "planner_node": {"record": str(tmp_path / "cassette.jsonl"), "timeout": 20.0, "samples": 2, "votes": 2},
        "feedback_node": {"tasks_file": str(tmp_path / "tasks.sqlite"), "fallback": "none"},
    }
    said, nodes = [], []
    with Client() as client:
        try:
            for name, spec in specs.items():
                log, files = tmp_path / f"{name}.log", spec.parameter_files
                given = own.get(name, {})
                nodes.append(start_node(name, log, parameter_files=files, parameters=given, environment=environment))
            spin_until(lambda: not client.missing(specs.values()), 30, "the household to be ready")
            client.load_scene("home_flat")
            heard = listen()
            for method, sentence in TASKS * 6:
                if len(asked.requests) > 2 * len(ANSWERS):
                    break
                try:
                    said.append(repr(client.run_task(sentence, method=method, timeout=300.0)))
                except PlanweaveError as error:
                    said.append(str(error))
        finally:
            stop_nodes(nodes, patience=60.0)
    doctor = subprocess.run(
        [sys.executable, "-m", "planweave", "doctor", "--json"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, **environment},
        check=False,
    )
    said += [doctor.stdout, doctor.stderr, *(message.decode("utf-8", "replace") for message in heard)]
    assert len(asked.requests) > 2 * len(ANSWERS), "not every answer was given twice"
    assert all({k.lower(): v for k, v in h.items()}["authorization"] == f"Bearer {KEY}" for h in asked.headers)
    files = {path: path.read_bytes().decode("utf-8", "replace") for path in tmp_path.rglob("*") if path.is_file()}
    texts = {**files, **dict(enumerate(said))}
    assert not {str(place): form for place, text in texts.items() for form in FORMS if form in text}
    assert any("***" in message for message in said[-len(heard) :]), "nothing that was masked was published"
    for name in ("planner_node.log", "cassette.jsonl", "tasks.sqlite"):
        assert "***" in files[tmp_path / name], f"{name} has nothing that was masked: is it what was meant?"
    assert "OPENAI_API_KEY is used without the white space" in files[tmp_path / "planner_node.log"]


def test_a_key_that_no_header_can_carry_ends_planner_node_with_one_line(tmp_path, asked):
    log = tmp_path / "planner_node.log"
    environment = {"OPENAI_BASE_URL": asked.url, "OPENAI_API_KEY": f"{KEY[:20]} {KEY[20:]}", "PLANWEAVE_MODEL": "fake"}
    node = start_node("planner_node", log, environment=environment)
    assert node.wait(120) == 2
    text = log.read_text()
    assert "OPENAI_API_KEY has white space inside" in text and "Traceback" not in text
    assert not [form for form in FORMS if form in text] and not asked.requests

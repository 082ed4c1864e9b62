"""The client of Unity against a fake server: the good path, and every way in which Unity keeps people waiting."""

import json
import socket
import threading

import pytest
from codes import raises_code
from doubles.fake_unity import FakeUnity
from doubles.home_graphs import execute_line

from planweave.bodies.home.port import UnityHome
from planweave.bodies.home.unity import UnityClient, UnityReply, failure_of
from planweave.core.base.failure import Code
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.world import Action


@pytest.fixture
def unity():
    with FakeUnity(json.loads((config_dir() / "scenes" / "home_flat.json").read_text())) as server:
        yield server


@pytest.fixture
def home(unity):
    return UnityHome(UnityClient(unity.url, 5.0))


def do(home, text, timeout=5.0, stopped=lambda: False):
    word, _, rest = text.partition("(")
    names = {n.class_name: n.name for n in reversed(home.simulator.graph.nodes.values())}
    return home.execute(
        Action(word, tuple(names.get(a.strip(), a.strip()) for a in rest.rstrip(")").split(",") if a)), timeout, stopped
    )


def test_it_starts_unity_does_actions_and_fetches_the_graph_after_each(unity, home):
    started = ["idle", "clear", "environment", "add_character", "environment_graph"]
    assert [r["action"] for r in unity.requests] == started
    for text in ("walk(fridge)", "open(fridge)"):
        assert do(home, text).ok
    assert [r["action"] for r in unity.requests[5:]] == ["render_script", "environment_graph"] * 2
    lines = [r["stringParams"][1] for r in unity.requests if r["action"] == "render_script"]
    assert lines == ["<char0> [walk] <fridge> (10)", "<char0> [open] <fridge> (10)"]
    assert ("opened", "fridge_10") in home.simulator.state


def test_the_world_is_unitys_not_what_was_foreseen(unity, home):
    do(home, "walk(fridge)")
    execute_line(unity.simulator, "[OPEN] <fridge> (10)")  # somebody else opens it
    do(home, "lookat(tv)")
    do(home, "turnto(fridge)")
    assert ("opened", "fridge_10") in home.simulator.state


def test_a_failure_gets_a_reason_from_the_simulator(unity, home):
    step = do(home, "grab(salmon)")
    assert step.code is Code.PRECONDITION_UNMET and [str(u) for u in step.unmet] == ["close_to(salmon_49)"]
    assert step.message.startswith("ScriptExcutor 0: PROCESS GRAB: Can not select object: salmon. REASON: Unknown")
    assert "<character> (5)" in step.message and "<salmon> (49)" in step.message


def test_a_failure_without_any_reason_says_so(unity, home):
    do(home, "walk(salmon)")
    unity.moods["render_script"] = [
        ("fail", '{"0": {"message": "ScriptExcutor 0: PROCESS GRAB: REASON: No interaction positions"}}')
    ]
    step = do(home, "grab(salmon)")
    assert step.code is Code.CONTROL_FAILED and "No interaction positions" in step.message


def test_states_that_unity_does_not_know_last_over_its_fresh_graphs(unity, home):
    for text in (
        *("walk(salmon)", "grab(salmon)", "walk(microwave)", "open(microwave)", "putin(salmon, microwave)"),
        *("close(microwave)", "switchon(microwave)", "walk(sofa)"),
    ):
        assert do(home, text).ok, text
    assert ("heated", "salmon_49") in home.simulator.state
    home.reset()
    state = home.simulator.state
    assert ("heated", "salmon_49") not in state and ("switched_off", "microwave_41") in state


def test_what_is_no_action_over_this_home_is_not_sent(unity, home):
    before = len(unity.requests)
    assert do(home, "grab(unicorn)").code is Code.UNKNOWN_OBJECT
    assert do(home, "teleport(fridge)").code is Code.INVALID_ACTION
    assert len(unity.requests) == before


@pytest.mark.parametrize(
    "mood, code, words",
    [
        (408, Code.TIMEOUT, "408 Timeout"),
        (500, Code.CONTROL_FAILED, "HTTP 500"),
        (400, Code.CONTROL_FAILED, "HTTP 400"),
        ("silence", Code.TIMEOUT, "did not answer 'render_script' in 0.6 s"),
        ("drip", Code.TIMEOUT, "did not answer"),
        ("half", Code.CONTROL_FAILED, "closed the connection in the middle of its answer"),
        ("hang up", Code.CONTROL_FAILED, "closed the connection without an answer"),
        (("say", {"hello": 1}), Code.CONTROL_FAILED, "does not answer as VirtualHome does"),
        (("say", ["success"]), Code.CONTROL_FAILED, "another program's port"),
        (("say", {"success": False, "message": ""}), Code.PRECONDITION_UNMET, "Unity gave no reason"),
    ],
)
def test_bad_moods_end_in_an_outcome_that_says_what_is_wrong(unity, home, mood, code, words):
    unity.moods["render_script"] = [mood]
    step = do(home, "grab(salmon)", timeout=0.6 if "did not answer" in words else 20.0)
    unity.released.set()
    assert step.code is code and words in step.message


def test_busy_is_waited_for(unity, home):
    unity.moods["render_script"] = [429, 429]
    assert do(home, "walk(fridge)").ok
    unity.moods["render_script"] = [429] * 50
    step = do(home, "walk(sofa)", timeout=0.6)
    assert step.code is Code.TIMEOUT and "still busy" in step.message


def test_after_a_timeout_the_next_request_waits_until_unity_is_done(unity, home):
    unity.moods["render_script"] = [("slow", 1.0)]
    assert do(home, "walk(fridge)", timeout=0.3).code is Code.TIMEOUT
    assert do(home, "walk(sofa)", timeout=5.0).ok
    assert ("agent_in", "living_room_2") in home.simulator.state


def test_a_lost_graph_after_an_action_is_told(unity, home):
    unity.moods["environment_graph"] = [("say", {"success": True, "message": '{"nodes": []'})]
    step = do(home, "walk(fridge)")
    assert step.code is Code.CONTROL_FAILED and "JSON" in step.message


def test_cancelling_ends_the_wait(unity, home):
    unity.moods["render_script"] = ["silence"]
    stop = threading.Event()
    threading.Timer(0.2, stop.set).start()
    step = do(home, "walk(fridge)", timeout=20.0, stopped=stop.is_set)
    unity.released.set()
    assert step.code is Code.CANCELED


def test_nobody_there():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with raises_code("control_failed", f"http://127.0.0.1:{port}", f"-http-port={port}"):
        UnityHome(UnityClient(f"http://127.0.0.1:{port}", 1.0))


def test_silence_at_the_health_check(unity):
    unity.moods["idle"] = ["silence"]
    with raises_code("timeout", "'idle'", "0.3 s"):
        UnityClient(unity.url, 1.0).health(timeout=0.3)
    unity.released.set()


@pytest.mark.parametrize("url", ["127.0.0.1:8080", "https://127.0.0.1", "http://"])
def test_a_wrong_url(url):
    with raises_code("configuration", "http://"):
        UnityClient(url)


def test_scenes_are_numbers(home):
    home.load("4")
    with raises_code("scene", "'home_flat'"):
        home.load("home_flat")


@pytest.mark.parametrize(
    "success, message, failure",
    [
        (True, '{"0": {"message": "Success"}}', ""),
        (True, "", ""),
        (True, '{"0": {"message": "Failed"}, "1": {"message": "Success"}}', "Failed"),  # success of another character
        (False, '{"0": {"message": "ScriptExcutor 0: a\\n\\n"}}', "ScriptExcutor 0: a"),
        (False, "No character added yet!", "No character added yet!"),
        (
            False,
            "Error parsing script: Unsuported action: X, line: 0",
            "Error parsing script: Unsuported action: X, line: 0",
        ),
        (False, "", "Unity gave no reason"),
        (False, '{"0": "odd"}', "odd"),
    ],
)
def test_reading_messages(success, message, failure):
    assert failure_of(UnityReply(success, message)) == failure

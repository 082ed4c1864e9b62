"""Both ways through Inspect Robots, as its users run it. Planweave, inspect-robots and this package are installed."""

import contextlib
import json
import os
import subprocess
import sys
import threading
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest
from inspect_robots.conformance import assert_embodiment_conformant, check_guardrail_contribution
from inspect_robots.errors import ConfigError, PolicyError, SafetyAbort
from inspect_robots.policy import Policy
from inspect_robots.registry import registered, resolve
from inspect_robots.scene import Scene
from inspect_robots.types import Action, Observation
from planweave_inspect.libero import PlanweaveLibero, planweave_libero_task
from planweave_inspect.policy import PlanweavePolicy
from planweave_inspect.table import PlanweaveKitchen, PlanweaveTable, planweave_kitchen_task, planweave_table_task

from planweave.core.base.errors import PlanweaveError
from planweave.libero.environment import python

SCENE = planweave_table_task("banana_in_bowl").scenes[0]
DRAWER = planweave_kitchen_task("open_top").scenes[0]


@pytest.fixture(scope="module")
def table():
    made = PlanweaveTable()
    yield made
    made.close()


@pytest.fixture(scope="module")
def kitchen():
    made = PlanweaveKitchen()
    yield made
    made.close()


def command(*arguments, folder, **environment):
    """Run the program as it is installed; its output."""
    code = "import sys; from inspect_robots.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, text=True, capture_output=True, check=False, timeout=500,
        env={**os.environ, **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_parts_are_found_by_name():
    assert "planweave_table" in registered("embodiment") and "planweave" in registered("policy")
    assert resolve("task", "planweave-table", tasks="pear_on_plate", seeds=2).scenes[1].init_seed == 1
    assert "planweave_kitchen" in registered("embodiment") and "planweave-kitchen" in registered("task")
    with pytest.raises(ConfigError, match="no tabletop task 'pears'"):
        planweave_table_task("pears")
    with pytest.raises(ConfigError, match="no kitchen task 'fry'"):
        planweave_kitchen_task("fry")
    assert isinstance(PlanweavePolicy(), Policy)


@pytest.mark.parametrize("name", ["table", "kitchen"])
def test_they_keep_the_contract_of_embodiments(name, request):
    made = request.getfixturevalue(name)
    assert_embodiment_conformant(made.info)
    assert check_guardrail_contribution(made, made.info.action_space).ok


@pytest.mark.parametrize(("name", "scene"), [("table", SCENE), ("kitchen", DRAWER)])
def test_a_seed_sets_up_the_same_scene_again(name, scene, request):
    made = request.getfixturevalue(name)
    first, other, again = (made.reset(scene, seed=seed).images for seed in (7, 8, 7))
    assert first.keys() == {camera.name for camera in made.info.observation_space.cameras}
    for camera, picture in first.items():
        assert np.array_equal(picture, again[camera]) and not np.array_equal(picture, other[camera])


def test_the_arm_goes_where_it_is_told_and_nothing_done_is_no_success(table):
    target = table.reset(SCENE).state["joint_pos"].copy()
    target[0] += 0.05
    target[-1] = 0.0
    for _ in range(30):
        result = table.step(Action(target))
    assert np.abs(result.observation.state["joint_pos"] - target)[:7].max() < 0.01
    assert result.observation.state["joint_pos"][-1] < 0.1
    assert not result.info["success"] and result.info["missing"] and not result.terminated


def test_a_scene_without_a_task_is_told(table):
    with pytest.raises(ConfigError, match="planweave_task"):
        table.reset(Scene("other", "wave"))


def test_limits_are_an_approver(table):
    ((_, approver),) = table.contribute_guardrails(table.info.action_space).approvers
    home = table.reset(SCENE).state["joint_pos"]
    store: dict[str, Any] = {}
    first = Action(home)
    assert approver.review(first, store) is first
    for bad in (home + [1.0, 0, 0, 0, 0, 0, 0, 0], home + [0, 0, 0, 9.0, 0, 0, 0, 0], home * np.nan):
        with pytest.raises(SafetyAbort, match="Planweave"):
            approver.review(Action(bad), store)
    assert approver.review(first, store) is first


def test_an_observation_without_depth_is_refused(table):
    observation = table.reset(SCENE)
    policy = PlanweavePolicy()
    policy.reset(SCENE)
    with pytest.raises(PolicyError, match="depth"):
        policy.act(replace(observation, extra={}))
    with pytest.raises(PolicyError, match="joint_pos"):
        policy.act(Observation())


def test_a_trial_that_ends_early_ends_its_task(table):
    policy = PlanweavePolicy()
    policy.bind(table.info)
    policy.reset(SCENE)
    observation = table.reset(SCENE)
    for _ in range(5):
        observation = table.step(policy.act(observation).actions[0]).observation
    thread = policy._session._thread
    policy.close()
    assert not thread.is_alive()


@pytest.mark.parametrize(("kind", "task"), [("table", "banana_in_bowl"), ("kitchen", "open_top")])
def test_planweave_does_tasks_through_their_program(kind, task, tmp_path):
    command(
        "run", "--policy", "planweave", "--embodiment", f"planweave_{kind}", "--task", f"planweave-{kind}",
        "-T", f"tasks={task}", "--no-prompt", "--log-dir", "logs", "--no-rerun", folder=tmp_path,
    )  # fmt: skip
    (log,) = (tmp_path / "logs").glob("*.json")
    found = json.loads(log.read_text())
    assert found["status"] == "success" and found["results"]["metrics"]["success_at_end"] == 1.0
    command("view", str(log), "--out", "report.html", folder=tmp_path)
    assert list(tmp_path.rglob("*.html"))


def test_planweave_keeps_rules_in_plain_words(table, tmp_path):
    rules = tmp_path / "rules.yaml"
    rules.write_text("tabletop:\n  - do not touch the banana\n")
    policy = PlanweavePolicy(rules=str(rules))
    policy.bind(table.info)
    policy.reset(SCENE)
    observation = table.reset(SCENE)
    first = observation.state["joint_pos"]
    while policy.transcript() is None:
        observation = table.step(policy.act(observation).actions[0]).observation
    assert policy.transcript()["state"] == "FAILED" and "do not touch the banana" in str(policy.transcript())
    assert np.abs(observation.state["joint_pos"] - first).max() < 0.01
    rules.write_text("tabletop:\n  - never frobnicate\n")
    with pytest.raises(PlanweaveError, match="frobnicate"):
        PlanweavePolicy(rules=str(rules))


@contextlib.contextmanager
def scripted_model(calls):
    """A double of a chat endpoint that calls tools in turn; gives its address and the requests that came."""
    asked = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            name, arguments = calls[min(len(asked), len(calls)) - 1]
            call: dict[str, Any] = {"id": f"call-{len(asked)}", "type": "function"}
            call["function"] = {"name": name, "arguments": json.dumps(arguments)}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            choices = [{"index": 0, "message": message, "finish_reason": "tool_calls"}]
            body = json.dumps(
                {"id": "1", "object": "chat.completion", "model": "scripted", "choices": choices}
            ).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1", asked
    finally:
        server.shutdown()
        server.server_close()


def needs_libero():
    try:
        python()
    except PlanweaveError as error:
        pytest.skip(str(error))


def test_libero_keeps_the_contract_of_embodiments():
    needs_libero()
    made, scene = PlanweaveLibero(), planweave_libero_task().scenes[0]
    try:
        assert_embodiment_conformant(made.info)
        assert check_guardrail_contribution(made, made.info.action_space).ok
        target = made.reset(scene).state["joint_pos"].copy()
        target[0], target[-1] = target[0] + 0.1, 0.0
        for _ in range(30):
            result = made.step(Action(target))
        assert np.abs(result.observation.state["joint_pos"] - target)[:7].max() < 0.02
        assert result.observation.state["joint_pos"][-1] < 0.1 and not result.info["success"]
        with pytest.raises(ConfigError, match="libero_task"):
            made.reset(Scene("other", "wave", metadata={"libero_task": "nothing"}))
    finally:
        made.close()


@pytest.mark.parametrize(
    ("kind", "task", "joint"), [("kitchen", "open_top", "fr3_joint1"), ("libero", "0", "panda_joint1")]
)
def test_their_agent_moves_our_arms(kind, task, joint, tmp_path):
    pytest.importorskip("inspect_robots_agent")
    if kind == "libero":
        needs_libero()
    calls = [
        ("move_joints", {"targets": {joint: 0.3, "gripper": 0.0}, "note": "to the left"}),
        ("done", {"success": False, "note": "enough", "reason": "enough", "hindsight": "none"}),
    ]
    with scripted_model(calls) as (address, asked):
        command(
            "run", "--policy", "agent", "-P", "model=scripted", "-P", f"base_url={address}", "-P", "api_key_env=NO_KEY",
            "--embodiment", f"planweave_{kind}", "--task", f"planweave-{kind}", "-T", f"tasks={task}", "--no-prompt",
            "--log-dir", "logs", "--no-rerun", folder=tmp_path, NO_KEY="none",
        )  # fmt: skip
    tools = {tool["function"]["name"]: tool["function"] for tool in asked[0]["tools"]}
    assert joint in json.dumps(tools["move_joints"]) and "image_url" in json.dumps(asked[0]["messages"])
    (log,) = (tmp_path / "logs").glob("*.json")
    found = json.loads(log.read_text())
    assert found["results"]["metrics"]["success_at_end"] == 0.0
    assert "to the left" in json.dumps(asked[1]["messages"]) and "error" not in asked[1]["messages"][-1].get("role", "")

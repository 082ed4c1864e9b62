"""Both ways through Inspect Robots, as its users run it. Planweave, inspect-robots and this package are installed."""

import json
import subprocess
import sys
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from inspect_robots.conformance import assert_embodiment_conformant, check_guardrail_contribution
from inspect_robots.errors import ConfigError, PolicyError, SafetyAbort
from inspect_robots.policy import Policy
from inspect_robots.registry import registered, resolve
from inspect_robots.scene import Scene
from inspect_robots.types import Action, Observation
from planweave_inspect.policy import PlanweavePolicy
from planweave_inspect.table import PlanweaveTable, planweave_table_task

SCENE = planweave_table_task("banana_in_bowl").scenes[0]


@pytest.fixture(scope="module")
def table():
    made = PlanweaveTable()
    yield made
    made.close()


def command(*arguments, folder):
    """Run the program as it is installed; its output."""
    code = "import sys; from inspect_robots.cli import main; sys.exit(main(sys.argv[1:]))"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, text=True, capture_output=True, check=False, timeout=500
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_parts_are_found_by_name():
    assert "planweave_table" in registered("embodiment") and "planweave" in registered("policy")
    assert resolve("task", "planweave-table", tasks="pear_on_plate", seeds=2).scenes[1].init_seed == 1
    with pytest.raises(ConfigError, match="no tabletop task 'pears'"):
        planweave_table_task("pears")
    assert isinstance(PlanweavePolicy(), Policy)


def test_the_table_keeps_the_contract_of_embodiments(table):
    assert_embodiment_conformant(table.info)
    assert check_guardrail_contribution(table, table.info.action_space).ok


def test_a_seed_sets_up_the_same_scene_again(table):
    first, other, again = (table.reset(SCENE, seed=seed).images["overhead"] for seed in (7, 8, 7))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


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


def test_planweave_puts_the_banana_in_the_bowl_through_their_program(tmp_path):
    command(
        "run", "--policy", "planweave", "--embodiment", "planweave_table", "--task", "planweave-table",
        "-T", "tasks=banana_in_bowl", "--no-prompt", "--log-dir", "logs", "--no-rerun", folder=tmp_path,
    )  # fmt: skip
    (log,) = (tmp_path / "logs").glob("*.json")
    found = json.loads(log.read_text())
    assert found["status"] == "success" and found["results"]["metrics"]["success_at_end"] == 1.0
    command("view", str(log), "--out", "report.html", folder=tmp_path)
    assert list(tmp_path.rglob("*.html"))

"""Every method that asks a model, run from its cassette on both bodies: the goal holds at the end."""

import json

import pytest
from doubles.method_runs import ASKING, FOLDER, TASKS, run

from planweave.llm.clients.recording import ReplayClient
from planweave.methods import METHODS


@pytest.mark.parametrize("method", ASKING)
@pytest.mark.parametrize("task", TASKS)
def test_the_goal_is_reached(task, method):
    episode, body = run(task, method, ReplayClient(FOLDER / f"{task}_{method}.jsonl"))
    assert body.world.unmet(episode.goal) == (), episode.message
    assert episode.usage.requests and not episode.usage.cost


def test_every_method_has_its_cassettes_and_they_say_what_they_are():
    assert set(ASKING) | {"classical"} == set(METHODS)
    for task in TASKS:
        for method in ASKING:
            first = (FOLDER / f"{task}_{method}.jsonl").read_text(encoding="utf-8").splitlines()[0]
            assert first.startswith("# Answered by hand")


def test_the_brain_mends_its_plan_after_an_error():
    episode, body = run("household", "brainbody", ReplayClient(FOLDER / "household_brainbody.jsonl"))
    rows = episode.journal.events("brain")
    assert [r["start"] for r in rows] == [0, 4] and "closed" in rows[1]["explanation"]
    assert episode.corrections == 1 and body.done[-2:] == ["putin(salmon_6, fridge_4)", "close(fridge_4)"]


def test_a_task_s_questions_begin_alike():
    """System messages of one kind are the same from question to question, so that a prompt cache serves."""
    for path in sorted(FOLDER.glob("*_*.jsonl")):
        if path.stem == "hand_answered":
            continue
        lines = path.read_text(encoding="utf-8").splitlines()
        requests = [json.loads(line)["request"] for line in lines if not line.startswith("#")]
        kinds = {r["messages"][0]["content"][:60] for r in requests}
        systems = {r["messages"][0]["content"] for r in requests}
        assert len(kinds) == len(systems), path.name

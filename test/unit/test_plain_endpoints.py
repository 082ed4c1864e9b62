"""Endpoints that know nothing but text: no schema, no n, no seed, no log-probabilities, replies in the papers' forms;
and replies that end in the middle. Each method is run with such an endpoint over HTTP.
"""

import itertools
import re

import pytest
from doubles.bakeoff_engines import InlineEngine
from doubles.fake_openai import FakeOpenAI, completion

from planweave.bench import models
from planweave.bench.records import read_record
from planweave.bench.results import Results
from planweave.bench.runner import Config, Run, prepare

TASK = "put_salmon_in_the_fridge"
STEPS = [
    ("walk", "kitchen"),
    ("walk", "salmon"),
    ("grab", "salmon"),
    ("walk", "fridge"),
    ("open", "fridge"),
    ("putin", "salmon", "fridge"),
    ("close", "fridge"),
]
PHRASES = {"walk": "walk to {}", "grab": "grab {}", "open": "open {}", "putin": "put {} in {}", "close": "close {}"}
WORDS = [PHRASES[name].format(*(f"the {a}" for a in args)) for name, *args in STEPS]
SUB_TASKS = [f"[{name.upper()}] " + " ".join(f"<{a}> (1)" for a in args) for name, *args in STEPS]
METHODS = [
    *("tree_planner", "tree_planner:paper=true", "progprompt", "brainbody", "brainbody:paper=true", "blocking"),
    *("zero_shot", "scene_aware", "iterative", "iterative:paper=true", "base_llm", "lang_prompt"),
]


def reader():
    """Replies in the papers' notations, by what a prompt asks for."""
    number = itertools.count()

    def reply(first, last):
        if "Python programs" in first:
            return "\n".join(f"{name}({', '.join(map(repr, args))})" for name, *args in STEPS)
        if "one line of program" in first:
            step = WORDS.index(re.findall("Description: (.*)", last)[0].lower())
            return f"<char0> {SUB_TASKS[step].lower()}"
        if "Split a task into high-level steps" in first:
            return "\n".join(f"{i}: {words.capitalize()}" for i, words in enumerate(WORDS))
        if "$$" in last:
            return f"$${re.findall(r'[$]{2} (.*?) [$]{2}', last)[0]}$$\nThis helps."
        if "Reply with the next step alone" in first:
            at = int(re.findall(r"Step (\d+):", last)[-1])
            return f"Step {at}: {WORDS[at - 1].capitalize()}." if at <= len(WORDS) else "Done."
        if "Write the steps of the next task" in first:
            return "\n".join(f"Step {i}: {words.capitalize()}." for i, words in enumerate(WORDS, 1))
        if "name one at a time" in first or "Reply with the next sub-task alone" in first:
            at = next(number)
            return SUB_TASKS[at] if at < len(SUB_TASKS) else "[END]"
        return "\n".join(f"{i}. {line}" for i, line in enumerate(SUB_TASKS, 1))

    return reply


def play(method, out, monkeypatch, change=lambda text: (text, "stop")):
    """The episode's end event and what was sent, with one reply to a request whatever it asks for."""
    answer = reader()

    def behave(fake, body, number):
        text, finish = change(answer(body["messages"][0]["content"], body["messages"][-1]["content"]))
        made = completion([text])
        made["choices"][0]["finish_reason"] = finish
        return 200, made

    with FakeOpenAI(behave) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        models._client.cache_clear()  # one client a process, and here another endpoint
        config = Config("home", (TASK,), (method,), ("openai:fake",), seed=3)
        prepare(out, config, resume=False)
        assert not Run(out, config, InlineEngine()).play().missing
        (played,) = Results(out, config).played
        return read_record(played.path)[-1], server.requests


@pytest.mark.parametrize("method", METHODS)
def test_every_method_reads_an_endpoint_that_ignores_schema_n_seed_and_logprobs(method, tmp_path, monkeypatch):
    end, sent = play(method, tmp_path, monkeypatch)
    assert (end["measures"]["sr"], end["error"]) == (1.0, "")
    assert sent[0]["seed"] >= 3, "it was asked, and not answered alike"


@pytest.mark.parametrize("method", METHODS)
def test_what_is_cut_in_the_middle_is_not_carried_out_by_half_and_is_said(method, tmp_path, monkeypatch):
    end, sent = play(method, tmp_path, monkeypatch, lambda text: (text[: len(text) // 2], "length"))
    assert end["measures"]["sr"] == 0 and end["measures"]["actions"] == 0 and len(sent) > 1
    told = end["error"] or end["message"]
    assert ("the plan has no step" if method in ("zero_shot", "scene_aware") else "the reply was cut off") in told

"""The simulated model: with no errors every method follows the right plan, and it errs at its rate in all its ways."""

import argparse
import contextlib
import dataclasses
import json
import random
from collections import Counter

import pytest
from codes import raises_code

from planweave.bench import bakeoff
from planweave.bench.episodes import Spec, play
from planweave.bench.models import Expert, check_model, is_simulated, models_of, rates_of
from planweave.bench.parameters import names_of, parse_method
from planweave.bench.records import Recorder
from planweave.bench.simulated_model import CORRELATION, ERRORS, UNKNOWN, SimulatedModel
from planweave.bench.suites import SUITES
from planweave.cli import bench
from planweave.core.base.errors import ParseError
from planweave.core.symbolic.world import Action, Literal
from planweave.llm.clients.base import About, ChatRequest
from planweave.methods import METHODS, asks_model
from planweave.methods.language.planner import LanguagePlanner
from planweave.methods.language.settings import PlannerSettings

pytestmark = pytest.mark.slow

HOME = SUITES["home"]
TASKS = ["put_salmon_in_the_fridge", "watch_tv"]


def expert_on(task, suite=HOME):
    case = suite.cases()[task]
    stage, done = suite.stage(case), []
    return Expert(case, stage, done), stage, done


@pytest.mark.parametrize("method", [m for m in METHODS if asks_model(m)])
def test_without_errors_every_method_reaches_the_goal_by_the_gold_plan(method):
    for task in TASKS:
        ended = play(Spec("home", task, method, "simulated:0", 0), Recorder())
        assert ended.error == "" and not ended.void
        assert ended.measures.sr == 1, (task, ended.conditions)
        assert ended.measures.requests > 0
        assert ended.measures.corrections == 0 or method == "blocking"  # it hears what hides a thing by a failure
        if method not in ("blocking", "progprompt"):  # one chooses its own way, the other finds things by assertions
            assert ended.measures.lcs == ended.measures.exec == ended.measures.graph == 1


def test_it_gives_an_action_without_a_thought_where_both_are_asked_for():
    expert, *_ = expert_on("watch_tv")
    form = {"type": "object", "properties": {"thought": {"type": "string"}, "action": {"type": "string"}}}
    asked = ChatRequest(({"role": "user", "content": "next?"},), json_schema=form, about=About("step"))
    reply = SimulatedModel(expert, 0.0).complete(asked)
    assert json.loads(reply.replies[0].text) == {"thought": "", "action": "walk(tv_65)"}


def test_it_is_the_same_for_the_same_seed_and_another_for_another():
    def played(repetition, seed=0):
        return play(Spec("home", TASKS[0], "iterative", "simulated:0.4", repetition, seed), Recorder()).measures

    one, two = played(0), played(0)
    assert (one.failures, one.actions, one.tokens) == (two.failures, two.actions, two.tokens)
    others = {(m.actions, m.tokens) for m in (played(r, s) for r in range(3) for s in range(2))}
    assert len(others) > 2


def plans(rate, count=2000):
    expert, stage, _ = expert_on(TASKS[0])
    planner = LanguagePlanner(SimulatedModel(expert, rate), PlannerSettings())
    request = []
    planner.client.complete = lambda r, ask=planner.client.complete: request.append(r) or ask(r)
    with contextlib.suppress(ParseError):  # the request is what is wanted
        planner.generate_plans("put the salmon in the fridge", stage.body.observe(), samples=1)
    model = SimulatedModel(expert, rate, "x", correlation=0.0)
    return expert.expected, [r.text for r in model.complete(dataclasses.replace(request[0], n=count)).replies]


def test_it_errs_at_its_rate_and_in_all_its_ways():
    gold, texts = plans(0.2)
    kinds, read, right = Counter(), 0, 0
    for text in texts:
        try:
            steps = [Action.parse(s) for s in json.loads(text)["plan"]]
        except (ValueError, KeyError):
            kinds["malformed"] += 1
            continue
        read += 1
        right += tuple(steps) == gold
        kinds["unknown action"] += any(s.name in UNKNOWN for s in steps)
        kinds["missing"] += len(steps) < len(gold)
        kinds["wrong order"] += len(steps) == len(gold) and steps != list(gold) and set(steps) == set(gold)
        kinds["wrong object"] += any(s not in gold and s.name in {g.name for g in gold} for s in steps)
    assert kinds["malformed"] / len(texts) == pytest.approx(0.04, abs=0.015)
    assert right / read == pytest.approx(0.8 ** len(gold), abs=0.05)
    assert all(kinds[k] > 100 for k in ERRORS), kinds


def test_no_errors_at_rate_0_and_none_right_at_rate_1():
    gold, texts = plans(0.0, 20)
    assert all([Action.parse(s) for s in json.loads(t)["plan"]] == list(gold) for t in texts)
    _, texts = plans(1.0, 20)
    assert not any(json.dumps({"plan": [str(a) for a in gold]}) == t for t in texts)


def wrong_steps(correlation, questions=120, samples=10, rate=0.3):
    """For each question of one step: how many of the samples are wrong, and how many wrong answers there are."""
    expert, *_ = expert_on(TASKS[0])
    model, found = SimulatedModel(expert, rate, "x", malformed=0.0, correlation=correlation), []
    asked = ChatRequest(({"role": "user", "content": "next?"},), n=samples, about=About("step"))
    for _ in range(questions):
        texts = Counter(r.text for r in model.complete(asked).replies)
        del texts[json.dumps({"action": str(expert.expected[0])})]
        found.append((texts.total(), len(texts)))
    return found


@pytest.mark.parametrize(
    ("correlation", "all_wrong", "majority"), [(0.0, 0.0, 0.05), (0.6, 0.18, 0.2), (1.0, 0.3, 0.3)]
)
def test_samples_of_a_question_go_wrong_together_as_often_as_the_correlation_says(correlation, all_wrong, majority):
    rows = wrong_steps(correlation)
    assert sum(n for n, _ in rows) / (10 * len(rows)) == pytest.approx(0.3, abs=0.05), "the rate stays"
    assert sum(n == 10 for n, _ in rows) / len(rows) == pytest.approx(all_wrong, abs=0.05)
    assert sum(n > 5 for n, _ in rows) / len(rows) == pytest.approx(majority, abs=0.05)
    assert all(kinds == 1 for n, kinds in rows if n == 10), "all in the same wrong way"
    assert rows[:40] == wrong_steps(correlation, questions=40), "the same again"


def test_it_knows_whether_a_condition_holds_and_errs_at_its_rate():
    expert, stage, _ = expert_on(TASKS[0])
    for rate, least, most in ((0.0, 1.0, 1.0), (0.3, 0.6, 0.8)):
        planner, right = LanguagePlanner(SimulatedModel(expert, rate, "s", malformed=0.0), PlannerSettings()), 0
        for _ in range(100):
            said = planner.check_condition("assert('fridge' is 'opened')", stage.truth())
            right += not said.holds
            right += planner.check_condition("assert('fridge' is 'closed')", stage.truth()).holds
            assert said.source == "model"
        assert least <= right / 200 <= most


def test_correlated_plans_share_some_errors_and_differ_in_others():
    expert, *_ = expert_on(TASKS[0])
    asked = ChatRequest(({"role": "user", "content": "plan?"},), n=25, about=About("plans"))

    def figures(correlation):
        model, best, right, distinct = SimulatedModel(expert, 0.15, "x", correlation=correlation), 0, 0, 0
        for _ in range(30):
            texts = [r.text for r in model.complete(asked).replies]
            good = texts.count(json.dumps({"plan": [str(a) for a in expert.expected]}))
            best, right, distinct = best + (good > 0), right + good, distinct + len(set(texts))
        return best / 30, right / 750, distinct / 30

    (one, mean_one, many), (some, mean_some, fewer), (same, _, single) = map(figures, (0.0, CORRELATION, 1.0))
    assert mean_one == pytest.approx(mean_some, abs=0.08), "a sample is as often right"
    assert one > 0.97 > 0.75 > some > same, "Tree-Planner, Figure 10: SR_max is far below 1"
    assert many > fewer > 3 > single == 1


@pytest.mark.parametrize("kind", ["", "goal", "poem"])
def test_a_question_of_a_kind_that_it_does_not_know_is_an_error(kind):
    expert, _, _ = expert_on(TASKS[0])
    with raises_code("model_request", f"'{kind}'"):
        SimulatedModel(expert, 0.0).complete(ChatRequest(({"role": "user", "content": "plan?"},), about=About(kind)))


def test_a_method_with_a_fault_ends_its_episode_alone(monkeypatch):
    @dataclasses.dataclass
    class Faulty:
        def run(self, episode):
            raise ZeroDivisionError("division by zero")

    monkeypatch.setitem(METHODS._loaded, "iterative", Faulty)
    ended = play(Spec("home", TASKS[0], "iterative", "none", 0), Recorder())
    assert ended.kind == "MethodFaultError" and not ended.void and ended.measures.sr == 0
    assert "'iterative'" in ended.error and "ZeroDivisionError" in ended.error
    assert play(Spec("home", TASKS[0], "classical", "none", 0), Recorder()).measures.sr == 1


# ---- the expert


def test_the_expert_goes_on_where_the_plan_was_left():
    expert, stage, done = expert_on(TASKS[0])
    assert expert.rest() == expert.expected
    assert expert.rest(expert.expected[:2]) == expert.expected[2:]
    for action in expert.expected[:3]:
        assert stage.body.execute(action).ok
        done.append(action)
    assert expert.rest() == expert.expected[3:]
    for action in expert.expected[3:]:
        stage.body.execute(action)
        done.append(action)
    assert expert.rest() == ()


def test_the_expert_makes_up_for_what_had_no_effect():
    expert, stage, done = expert_on("throw_away_apple__no_effect", SUITES["faults"])
    for action in expert.expected[:2]:
        stage.body.execute(action)
        done.append(action)
    assert expert.rest()[0] == Action("grab", ("apple_50",))


def test_the_expert_plans_anew_where_things_moved():
    expert, stage, done = expert_on("throw_away_apple__moved_to_another_room", SUITES["faults"])
    for action in expert.expected[:2]:
        done += [action] * stage.body.execute(action).ok
    rest = expert.rest()
    assert rest != expert.expected[1:]
    for action in rest:
        assert stage.body.execute(action).ok
    assert all(stage.conditions(rest).values())


# ---- names


def test_methods_are_read_with_their_parameters():
    assert names_of(["tree_planner,iterative:replan=global,max_steps=9", "blocking"]) == [
        "tree_planner",
        "iterative:replan=global,max_steps=9",
        "blocking",
    ]
    name, options, planner = parse_method("iterative:replan=global,max_steps=9,planner.step_temperature=0.5")
    assert (name, options["replan"], options["max_steps"], options["max_corrections"]) == ("iterative", "global", 9, 10)
    assert planner["step_temperature"] == 0.5 and planner["temperature"] == PlannerSettings.temperature
    assert not parse_method("tree_planner")[1]["check_plans"]
    assert parse_method("tree_planner:check_plans=true")[1]["check_plans"]
    assert set(names_of([])) == set(names_of(["all"])) == set(METHODS)


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("tree_planer", "unknown_name", "'tree_planner'"),
        ("iterative:reply=none", "unknown_name", ("iterative", "'reply'")),
        ("iterative:max_steps=many", "configuration", ("max_steps=many", "int")),
        ("iterative:replan", "configuration", "replan=VALUE"),
        ("tree_planner:check_plans=maybe", "configuration", ("check_plans=maybe", "bool")),
        ("iterative:replan=foo", "configuration", ("replan='foo'", "iterative")),
        ("tree_planner:guide=", "configuration", ("guide=''", "hybrid")),
        ("iterative:planner.temprature=0", "unknown_name", ("'temprature'", "'temperature'")),
        ("iterative:max_steps=0", "configuration", ("max_steps=0", "iterative", "1 to 1000")),
    ],
)
def test_a_method_that_is_none_is_named(text, code, data):
    with raises_code(code, data):
        names_of([text])


@pytest.mark.parametrize(
    ("text", "code", "data"),
    [
        ("simulatd:0.1", "unknown_name", "'simulated'"),
        ("simulated:2", "configuration", "rate"),
        ("simulated:often", "configuration", "rate"),
        ("simulated:0.1,correlation=1.5", "configuration", "correlation '1.5'"),
        ("simulated:0.1,correlation", "configuration", "correlation ''"),
        ("simulated:0.1,corelation=1", "configuration", ("'corelation'", "simulated:0.2,correlation")),
        ("cassette", "configuration", "cassette:PATH"),
    ],
)
def test_a_model_that_is_none_is_named(text, code, data):
    with raises_code(code, data):
        check_model(text)


def test_models_are_read():
    assert models_of([]) == ["auto"] and models_of(["embedded", "embedded"]) == ["embedded"]
    assert rates_of("simulated:0.3") == (0.3, CORRELATION) and rates_of("simulated:0.3,correlation=0") == (0.3, 0)
    assert is_simulated("simulated:0") and not is_simulated("openai:simulated")


def test_choices_go_wrong_as_often_as_steps():
    expert, stage, _ = expert_on(TASKS[0])
    options = [expert.expected[0], Action("walk", ("sofa_18",))]
    planner, rng, wrong = LanguagePlanner(SimulatedModel(expert, 0.3, "s"), PlannerSettings()), random.Random(0), 0
    for _ in range(150):
        order = rng.sample(options, 2)
        try:
            choice = planner.choose_action("x", stage.body.observe(), [], order, errors=[str(rng.random())], samples=1)
        except ParseError:
            continue
        wrong += order[choice.index] != options[0]
    assert 25 < wrong < 65
    assert not stage.body.observe().holds(Literal("inside", ("salmon_49", "fridge_10")))


# ---- tasks


@pytest.mark.parametrize(
    "given",
    [
        ["--task", "watch_tv"],
        ["--tasks", "watch_tv"],
        ["--task", "watch_tv", "--task", "make_toast"],
        ["--tasks", "watch_tv", "make_toast"],
    ],
)
def test_task_and_tasks_choose_the_same(given):
    options = bench_options(["home", "--method", "classical", *given])
    wanted = [word for word in given if not word.startswith("--")]
    assert set(bakeoff._config(options).cases) == set(wanted)


def bench_options(words):
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    return parser.parse_args(words)


def test_a_drawn_tree_marks_the_way_that_was_taken_and_no_other():
    import io

    from rich.console import Console

    from planweave.bench.drawing import _tree

    plans = [{"actions": ["walk(a)", "grab(a)"], "samples": 3}, {"actions": ["walk(b)", "grab(a)"], "samples": 1}]
    console = Console(file=io.StringIO(), width=80, force_terminal=True, color_system="standard")
    console.print(_tree(plans, [("walk(a)", "SUCCESS"), ("grab(a)", "NO_GRASP")]))
    lines = {line for line in console.file.getvalue().splitlines() if "(" in line and "×" in line}
    assert {("walk(a)" in x, "32m" in x, "31m" in x) for x in lines if "×3" in x} == {
        (True, True, False),
        (False, False, True),
    }
    assert not any("32m" in x or "31m" in x for x in lines if "×1" in x), "a branch that was not taken"

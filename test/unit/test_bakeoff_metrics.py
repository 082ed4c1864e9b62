"""Metrics and statistics of the bake-off, each against values worked out by hand."""

import math
from dataclasses import asdict

import pytest

from planweave.bench.episodes import Spec, play
from planweave.bench.metrics import Measures, SampledPlan, Tried, graph_correctness, lcs, measure
from planweave.bench.records import Recorder
from planweave.bench.statistics import adjusted, compare, estimate, has_scipy
from planweave.core.base.usage import Usage
from planweave.core.symbolic.world import Action, Literal

needs_scipy = pytest.mark.skipif(not has_scipy(), reason="extra 'bench' is not installed")


def actions(text):
    return [Action.parse(part) for part in text.split()]


def facts(text):
    return frozenset(Literal.parse(part) for part in text.split("; ") if part)


@pytest.mark.parametrize(
    ("one", "two", "share"),
    [
        ("", "", 1.0),
        ("a() b() c()", "a() b() c()", 1.0),
        ("a() x() c()", "a() b() c()", 2 / 3),
        ("b() a()", "a() b()", 0.5),
        ("a() a() a() a()", "a()", 0.25),
        ("", "a()", 0.0),
        ("c() b() a()", "x()", 0.0),
    ],
)
def test_longest_common_subsequence_over_the_longer_one(one, two, share):
    assert lcs(actions(one), actions(two)) == pytest.approx(share)


@pytest.mark.parametrize(
    ("before", "after", "gold", "share"),
    [
        ("opened(a)", "opened(a)", "opened(a)", 1.0),  # nobody changed anything
        ("", "clean(a); on(a, b)", "clean(a); on(a, b)", 1.0),
        ("", "clean(a)", "clean(a); on(a, b)", 0.5),  # the node is right, the edge is missing
        ("", "on(a, c)", "on(a, b)", 0.5),  # nodes agree that nothing changed, edges do not overlap
        ("on(a, c)", "", "on(a, b)", (1.0 + 0.5) / 2),  # taken away by both, put down by one
        ("", "agent_in(r); carried(a); next_to(a, b)", "agent_in(r)", 1.0),  # book-keeping is no part of a graph
    ],
)
def test_final_graph_correctness(before, after, gold, share):
    assert graph_correctness(facts(before), facts(after), facts(gold)) == pytest.approx(share)


def test_measures_of_an_episode():
    tried = [
        Tried(a, code, why)
        for a, code, why in zip(
            actions("walk(a) grab(a) open(a) open(a)"),
            ["SUCCESS", "TIMEOUT", "SUCCESS", "SUCCESS"],
            ["plan", "plan", "undo", "plan"],
        )
    ]
    found = measure(
        {"x": True, "y": False, "z": True},
        tried,
        actions("walk(a) open(a)"),
        facts(""),
        facts(""),
        facts(""),
        corrections=2,
        usage=Usage(3, 100, 40, 20, 1.0, 0.5),
        model_seconds=1.5,
        body_seconds=0.5,
        seconds=4.0,
    )
    assert found.sr == 0.0 and found.gcr == pytest.approx(2 / 3) and found.exec == pytest.approx(3 / 4)
    assert found.lcs == pytest.approx(2 / 3)  # the undoing step does not count
    assert (found.corrections, found.actions, found.failures) == (2, 4, {"TIMEOUT": 1})
    assert (found.tokens, found.cached_tokens, found.cost) == (120, 40, 0.5)
    assert (found.model_seconds, found.body_seconds, found.our_seconds) == (1.5, 0.5, 2.0)
    assert Measures(**asdict(found)) == found


def test_exec_up_to_the_first_failure():
    def first(*codes):
        tried = [Tried(a, code, why) for a, (code, why) in zip(actions("walk(a) grab(a) walk(b) open(b)"), codes)]
        return measure({"x": True}, tried, [], facts(""), facts(""), facts("")).exec_first

    ok, bad, undone = ("SUCCESS", "plan"), ("TIMEOUT", "plan"), ("SUCCESS", "undo")
    assert first(ok, bad, ok, ok) == 0.25 and first(bad, ok) == 0.0 and first(ok, ok) == 1.0 and first() is None
    assert first(ok, undone, bad) == 0.5


def test_the_goal_conditions_that_had_to_change():
    def recall(end, start):
        return measure(end, [], [], facts(""), facts(""), facts(""), at_start=start).gcr_changed

    start = {"x": True, "y": False, "z": False}
    assert recall(start, start) == 0.0, "nothing was done"
    assert recall({"x": True, "y": True, "z": False}, start) == 0.5
    assert recall({"x": False, "y": True, "z": True}, start) == 1.0
    assert recall({"x": True}, {"x": True}) is None


def test_lcs_over_words_takes_another_thing_of_the_same_class_for_the_same():
    tried = [Tried(a, "SUCCESS") for a in actions("walk(mug_8) grab(mug_8)")]
    found = measure({"x": True}, tried, actions("walk(mug_7) grab(mug_7)"), facts(""), facts(""), facts(""))
    assert (found.lcs, found.lcs_words) == (0.0, 1.0)


@pytest.mark.parametrize(
    "errors, would_hold, sampled, kind",
    [
        (["", "illogical error"], False, [], "illogical error"),
        ([""], False, [], "incomplete plan"),
        (["environment misunderstanding"], True, [("drop(a)", 1, "")], "semantically correct"),
        ([""], False, [("drop(a)", 1, ""), ("walk(a)", 24, "incomplete plan")], "incorrect deciding"),
        (["", "incomplete plan"], False, [("walk(a) grab(a) drop(a)", 1, "")], "semantically correct"),
        (["", "incomplete plan"], False, [("walk(a) drop(a)", 1, "")], "incorrect deciding"),
        ([""], False, [("grab(a)", 2, "illogical error"), ("walk(a)", 1, "incomplete plan")], "illogical error"),
    ],
)
def test_the_type_of_error_of_an_episode(errors, would_hold, sampled, kind):
    tried = [Tried(a, "SUCCESS" if not e else "TIMEOUT", error=e) for a, e in zip(actions("walk(a) grab(a)"), errors)]
    plans = [SampledPlan(tuple(actions(text)), samples, error) for text, samples, error in sampled]
    given = {"would_hold": would_hold, "sampled": plans}
    found = measure({"x": False}, tried, [], facts(""), facts(""), facts(""), **given)
    assert (found.error_type, found.plan_sr) == (kind, float(would_hold))
    assert found.error_types == {e: 1 for e in errors if e}
    assert measure({"x": True}, tried, [], facts(""), facts(""), facts(""), **given).error_type == ""


def test_a_plan_that_only_chance_spoiled_counts_for_plan_sr():
    ended = play(Spec("faults", "throw_away_apple__fails_once", "base_llm", "simulated:0", 0), Recorder())
    assert (ended.measures.sr, ended.measures.plan_sr) == (0.0, 1.0)
    assert ended.measures.error_type == "semantically correct" and ended.measures.gcr_changed == 0.0
    assert 0 < ended.measures.exec_first < 1


def test_nothing_tried_has_no_share_of_executable_actions_and_costs_nothing():
    found = measure({"x": False}, [], actions("walk(a)"), facts(""), facts(""), facts(""))
    assert found.exec is None and found.cost == 0.0 and found.sr == found.gcr == found.lcs == 0.0


def test_a_price_that_is_not_known_stays_unknown():
    assert measure({"x": True}, [], [], facts(""), facts(""), facts(""), usage=Usage(1, 10)).cost is None


# ---- statistics


def test_mean_of_episodes_and_deviation_of_repetitions():
    found = estimate({"a": [1, 0], "b": [1, 1], "c": [0, 0]})
    assert found.mean == pytest.approx(0.5) and found.episodes == 6
    assert found.sd == pytest.approx(math.sqrt(((2 / 3 - 0.5) ** 2 + (1 / 3 - 0.5) ** 2) / 1))
    assert estimate({}) is None and estimate({"a": []}) is None
    assert estimate({"a": [1.0]}).sd is None


@needs_scipy
def test_the_interval_is_over_tasks_so_repetitions_do_not_make_it_narrower():
    once = estimate({str(i): [i % 2] for i in range(20)})
    often = estimate({str(i): [i % 2] * 10 for i in range(20)})
    assert (once.low, once.high) == (often.low, often.high)
    assert 0.2 <= once.low < 0.5 < once.high <= 0.8
    same = estimate({str(i): [1.0] for i in range(5)})
    assert (same.low, same.high) == (1.0, 1.0)
    assert estimate({"a": [1], "b": [0]}).low is None  # two tasks are too few


@needs_scipy
def test_a_paired_comparison_takes_the_tasks_that_both_have():
    one = {str(i): [1.0] for i in range(12)}
    two = {str(i): [float(i < 2)] for i in range(15)}
    found = compare(one, two)
    assert found.tasks == 12 and found.difference == pytest.approx(10 / 12)
    assert found.low > 0 and found.p < 0.01
    assert compare(one, one).p == 1.0 and compare(one, one).difference == 0
    assert compare(one, {"z": [1.0]}) is None


@needs_scipy
def test_p_values_of_many_comparisons_are_adjusted():
    assert adjusted([0.01, None, 0.04]) == [pytest.approx(0.02), None, pytest.approx(0.04)]


def test_without_scipy_there_are_means_and_no_intervals(monkeypatch):
    monkeypatch.setattr("planweave.bench.statistics.has_scipy", lambda: False)
    found = estimate({"a": [1], "b": [0], "c": [1]})
    assert found.mean == pytest.approx(2 / 3) and found.low is None
    assert compare({"a": [1], "b": [1], "c": [1]}, {"a": [0], "b": [0], "c": [0]}).p is None
    assert adjusted([0.5]) == [0.5]

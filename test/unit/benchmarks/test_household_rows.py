"""The household's rows of tokens and of the check of plans, by episodes of the bake-off with a simulated model."""

import re

import pytest
from doubles.decisions import Decisions

from benchmarks.household import check_rows, decision_figures
from benchmarks.tokens import CHECKED, PAPER, TREE, UNCORRECTED, token_rows
from planweave.bench.suites import SUITES

pytestmark = pytest.mark.slow
CASES = [case for name, case in SUITES["home"].cases().items() if name in ("watch_tv", "throw_away_apple")]


def test_a_method_that_asks_at_every_step_takes_more_tokens_than_one_that_samples_plans_once():
    rows = {row.figure: row for row in token_rows("home", CASES, seeds=1)}
    assert len(rows) == 3 + len(PAPER) + 2 * len(PAPER)
    for by in (TREE, CHECKED):
        saved = next(row for name, row in rows.items() if f"saving of {by} against iterative:replan=global" in name)
        assert min(float(share) for share in re.findall(r"(-?\d+)%", saved.value)) > 0
    without = next(row for name, row in rows.items() if name.endswith(UNCORRECTED))
    assert "0.0 / 0.0 / 0.0 corrections" in without.value


def test_the_check_refuses_no_right_plan_and_most_wrong_ones():
    right, made = check_rows("home", CASES, varied=8)
    assert right.value.endswith(f"0 refused of {len(CASES)}")
    refused, of_right, passed, of_wrong = map(int, re.findall(r"\d+", made.value))
    assert refused == 0 <= of_right and 0 <= passed < 0.5 * of_wrong
    assert check_rows("home", CASES, varied=8) == [right, made]


def test_every_question_is_measured():
    decisions = Decisions()
    figures = decision_figures(decisions, repeats=1)
    assert decisions.objects == 443 and set(figures) == set(decisions.questions())
    nobody = ("condition by rule", "goal by the grammar", "command (lang_prompt)")  # rules are enough
    for name, row in figures.items():
        assert row["median_ms"] > 0 and (row["characters"] == 0) == (name in nobody)

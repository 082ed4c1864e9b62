"""The rows of tokens, by episodes of the bake-off with a simulated model."""

import re

import pytest

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

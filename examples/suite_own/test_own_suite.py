"""The gold plans of the suite reach their goals. Planweave must be installed, and this package."""

import pytest

from planweave.bench.suites import SUITES

CASES = SUITES["own_home"].cases()


def test_the_suite_is_found():
    assert SUITES["own_home"].description and len(CASES) == 2


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_gold_plan_reaches_the_goal(case):
    stage = SUITES["own_home"].stage(case)
    assert not all(stage.conditions(()).values()), "not done before it begins"
    for action in case.gold:
        outcome = stage.body.execute(action)
        assert outcome.ok, outcome.message
    assert all(stage.conditions(case.gold).values())

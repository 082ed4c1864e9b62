"""What a task in a home reports against the simulator's facts, where somebody changes things after the last look."""

import pytest

from benchmarks.honesty_home import CASES, play
from planweave.core.workflow.task_status import TaskState

pytestmark = pytest.mark.slow

FEW = ("home_undisturbed", "home_taken_out_and_shut_again", "home_light_switched_on")


@pytest.mark.parametrize("case", [c for c in CASES if c.id in FEW], ids=lambda case: case.id)
def test_success_is_reported_only_where_the_goal_holds(case):
    status, true = play(case)  # where somebody changed it, it is seen and done again, or told
    assert (status.state is TaskState.SUCCEEDED) is true, status.message

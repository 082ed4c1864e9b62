"""What a task in a home reports where its end cannot be seen, and what it tells of the way."""

import pytest

import planweave as pw
from planweave.core.symbolic.world import Action
from planweave.core.workflow.task_status import TaskState

pytestmark = pytest.mark.slow


def run(sentence, *first):
    body = pw.Home("home_flat")
    for action in first:
        assert body.execute(pw.Action.parse(action)).ok
    return pw.run(sentence, body=body, method="classical", model="none", options={"plan_timeout": 60.0})


@pytest.mark.parametrize(
    "first", [(), ("walk(apple_50)", "grab(apple_50)", "walk(bowl_59)", "putin(apple_50, bowl_59)")]
)
def test_what_is_put_where_nobody_can_see_ends_at_once_as_not_confirmed(first):
    result = run("put the apple in the bowl", *first)
    assert result.state is TaskState.NOT_CONFIRMED
    assert "bowl_59" in result.message
    assert len(result.steps) == (2 if first else 4), "nothing is tried over and over"


def test_what_failed_on_the_way_and_was_mended_is_a_step_and_no_news():
    result = run("wash the plates")
    codes = [code for action, code in result.steps if action == Action("grab", ("plate_58",))]
    assert result.success and codes == ["PRECONDITION_UNMET", "SUCCESS"]
    assert "plate" not in result.message

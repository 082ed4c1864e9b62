"""Every kind of question, answered from a cassette: the prompts of today with answers that a person gave to them."""

from pathlib import Path

from codes import raises_code
from doubles.planner_questions import BLOCKS, QUESTIONS, SETTINGS

from planweave.core.checks.validation import validate
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.llm.clients.recording import ReplayClient
from planweave.methods.language.planner import LanguagePlanner

CASSETTE = Path(__file__).resolve().parents[1] / "cassettes" / "hand_answered.jsonl"


def ask(name):
    return QUESTIONS[name](LanguagePlanner(ReplayClient(CASSETTE), SETTINGS))


def test_plans_clear_what_is_in_the_way_and_reach_the_goal():
    got = ask("plans for a cube that is covered")
    assert (got.received, got.dropped, got.mended, len(got.plans)) == (4, 0, 0, 3)
    assert got.plans[0].samples == 2
    goal = [Literal.parse("in(blue_cube, right_tray)")]
    for plan in got.plans:
        checked = validate(Domain.load("tabletop"), BLOCKS, plan.actions, goal)
        assert checked.ok, checked.message


def test_choices():
    assert ask("a choice after an error").index == 0
    assert ask("whether the task is done").index == 0


def test_a_goal_by_majority():
    got = ask("a goal that takes knowledge")
    assert (set(map(str, got.goal)), got.source) == ({"on(banana, plate)", "at_base()"}, "model")


def test_a_goal_that_the_model_refuses():
    with raises_code("goal", "'wooden toys'", "'nearer'"):
        ask("a goal that cannot be said")

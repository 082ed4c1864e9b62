"""The table of the planner's questions: every argument and answer goes to ROS and back as it was."""

import inspect

import pytest
from doubles.planner_worlds import BLOCKS

pytest.importorskip("planweave_interfaces")

from codes import raises_code

from planweave.core.base.errors import GoalError, ModelError, NoModelError, ParseError
from planweave.core.base.usage import Usage
from planweave.core.symbolic.plan import CountedPlan, PlanStep
from planweave.core.symbolic.world import Action, Literal
from planweave.core.workflow.ports import (
    Candidate,
    Choice,
    ConditionCheck,
    Grounding,
    Planner,
    Proposals,
    Reading,
    SampledPlans,
    Written,
)
from planweave.core.workflow.question import Alternative, AmbiguityError, Clarification, UserQuestion
from planweave.methods.language.planner import LanguagePlanner
from planweave_ros.questions import QUESTIONS, question_for

USED = Usage(2, 100, 20, 30, 0.5, 0.25, "small", "http://here")
GRASP, HOME, GOAL = (
    Action("grasp", ("red_cube",)),
    Action("return_to_base"),
    Literal.parse("not in(red_cube, left_tray)"),
)
STEPS = (PlanStep(GRASP, "pick up the red cube"), PlanStep(HOME, "home", "go home"))
ROWS = {row.method: row for row in QUESTIONS}
CASES = {
    "generate_plans": (
        ("sort", BLOCKS),
        {
            "samples": 3,
            "errors": ["grasp(red_cube): no"],
            "temperature": 0.5,
            "top_p": 0.25,
            "task_id": "t",
            "method": "base_llm",
        },
        SampledPlans((CountedPlan(STEPS, 2, -1.5), CountedPlan(STEPS[:1], 1, None)), 4, 1, 1, USED),
    ),
    "choose_action": (
        ("sort", BLOCKS, [GRASP], [HOME, None]),
        {"errors": ["grasp(red_cube): no"], "samples": 5, "temperature": 0.5, "task_id": "t", "method": "tree_planner"},
        Choice(1, (2, 3), 1, USED),
    ),
    "select_action": (
        ("blocking", "sort", BLOCKS, [GRASP], [HOME, GRASP]),
        {"goal": (GOAL,), "errors": ["no"], "task_id": "t"},
        Choice(0, (1, 0), 0, USED),
    ),
    "propose_steps": (
        ("iterative", "sort", BLOCKS, [GRASP]),
        {"errors": ["no"], "samples": 2, "task_id": "t"},
        Proposals((Candidate("grasp", GRASP, 0.5, 0.25, -2.0, 0.75), Candidate("done", None)), USED),
    ),
    "write": (
        ("brainbody", "sort", BLOCKS),
        {
            "history": ["pick up"],
            "errors": ["no"],
            "start": 2,
            "options": {"comments": False, "assertions": True, "examples": 2},
            "task_id": "t",
        },
        Written(("pick up", "home"), "for order", USED),
    ),
    "interpret_goal": (
        ("sort", BLOCKS),
        {"clarifications": (Clarification("the cube", 3, ("red_cube",)),), "task_id": "t"},
        Reading((GOAL,), "model", USED, "the cube …", "yes", ((GOAL, GOAL.negated()), (GOAL,)), (GOAL,), ("gently",)),
    ),
    "ground_step": (
        ("brainbody", "sort", "pick up", BLOCKS),
        {"errors": ["no"], "task_id": "t"},
        Grounding(GRASP, "pick up (match 0.9)", USED),
    ),
    "check_condition": (("'close' to 'mug'", BLOCKS), {"task_id": "t"}, ConditionCheck(True, "rule", USED)),
}


CHOICE = UserQuestion("which?", (Alternative("the red cube", ("red_cube",)),), "the cube", 1)


def test_every_question_of_the_port_has_a_row_and_is_answered_by_the_language_planner():
    port = {name for name, what in vars(Planner).items() if inspect.isfunction(what) and not name.startswith("_")}
    assert port == set(ROWS) == set(CASES)
    for name in port:
        asked = inspect.signature(getattr(Planner, name)).parameters
        answered = dict(inspect.signature(getattr(LanguagePlanner, name)).parameters)
        assert answered.pop("canceled").default is None
        assert [(p.name, p.default) for p in answered.values()] == [(p.name, p.default) for p in asked.values()]


@pytest.mark.parametrize("method", CASES)
def test_arguments_and_answer_are_the_same_on_the_other_side(method):
    row, (args, options, answer) = ROWS[method], CASES[method]
    request = row.request(*args, **options)
    given = inspect.signature(getattr(Planner, method)).bind(None, *args, **options).arguments
    del given["self"]
    read = row.arguments(request)
    world = read.pop("world")
    assert world.facts == given.pop("world").facts
    assert {k: tuple(v) if isinstance(v, list) else v for k, v in read.items()} == {
        k: tuple(v) if isinstance(v, list) else v for k, v in given.items()
    }
    reply = (row.interface.Result if row.is_action else row.interface.Response)()
    row.fill(reply, answer)
    assert row.answer(reply) == answer


def test_the_actions_beside_the_services():
    assert {row.name for row in QUESTIONS if row.is_action} == {
        "generate_plans",
        "choose_action",
        "propose_steps",
        "write_plan",
    }
    passed = ROWS["ground_step"].interface.Response()
    ROWS["ground_step"].fill(passed, Grounding(None, "wait"))
    assert passed.passed and ROWS["ground_step"].answer(passed).action is None


def test_an_empty_text_is_the_default_and_a_choice_goes_to_who_makes_it():
    plans = ROWS["generate_plans"]
    assert plans.arguments(plans.interface.Goal(world=plans.request("x", BLOCKS).world))["method"] == "tree_planner"
    goal = ROWS["choose_action"].interface.Goal
    assert question_for("choose_action", goal()) is ROWS["choose_action"]
    assert question_for("choose_action", goal(method="blocking")) is ROWS["select_action"]
    with raises_code("unknown_name", "'blockng'", "'blocking'"):
        question_for("choose_action", goal(method="blockng"))
    request = ROWS["write"].request("progprompt", "x", BLOCKS)
    request.options = ["comments=maybe"]
    with raises_code("configuration", "name=true, name=false", "name=NUMBER"):
        ROWS["write"].arguments(request)


@pytest.mark.parametrize(
    ("method", "raised", "kind"),
    [
        ("generate_plans", ParseError, ModelError),  # no model answered
        ("choose_action", ParseError, ParseError),  # the result says that a reply was of no use
        ("interpret_goal", GoalError, GoalError),
    ],
)
def test_a_failure_is_raised_with_its_words_and_its_usage(method, raised, kind):
    row = ROWS[method]
    reply = (row.interface.Result if row.is_action else row.interface.Response)()
    row.fill_error(reply, raised("of no use"))
    with pytest.raises(kind) as told:
        row.answer(reply)
    assert (told.value.code, str(told.value), told.value.usage) == (raised.code, "of no use", None)
    error = raised("of no use")
    error.usage = USED
    row.fill_error(reply, error)
    with pytest.raises(raised) as told:
        row.answer(reply)
    assert told.value.usage == USED


@pytest.mark.parametrize("row", [row for row in ROWS.values() if row.error is None], ids=lambda row: row.method)
def test_that_no_model_is_set_is_raised_as_that(row):
    reply = (row.interface.Result if row.is_action else row.interface.Response)()
    row.fill_error(reply, NoModelError("set one"))
    with raises_code("no_model", "set one") as told:
        row.answer(reply)
    assert told.value.usage is None


@pytest.mark.parametrize("error", [GoalError("no", ["gently"]), AmbiguityError("which?", CHOICE, ["gently"])])
def test_words_that_a_reading_does_not_cover_come_with_the_failure(error):
    row = ROWS["interpret_goal"]
    reply = row.interface.Response()
    row.fill_error(reply, error)
    with pytest.raises(type(error)) as told:
        row.answer(reply)
    assert told.value.not_covered == tuple(reply.not_covered) == ("gently",)

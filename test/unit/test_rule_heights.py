"""Rules about heights where nothing moves yet: in the check of plans, in the classical planner's input, in goals."""

import functools
import math

import pytest
from codes import raises_code

import planweave as pw
from planweave.core.checks.validation import validate
from planweave.core.planning import solver
from planweave.core.planning.rule_conflicts import goal_conflict
from planweave.core.planning.solver import NoPlanError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.heights import predicates, vertical_extent
from planweave.core.symbolic.rule_check import ruled
from planweave.core.symbolic.transition import rule_problem
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.core.symbolic.written import read_literals
from planweave.goals import read_rule

TABLE = pw.Domain.load("tabletop")
solve = functools.partial(solver.solve, timeout=60.0)  # on a busy machine
CUBE, BOTTLE = (0.05, 0.05, 0.05), (0.06, 0.06, 0.2)


def under(height):
    return ruled(TABLE, [read_rule(TABLE, f"nothing above {height} cm")])


def table(*on, **shapes):
    """Three cubes, a bottle and a plate on a table; on: rows such as "on(b, a)"; shapes: sizes of other things."""
    sizes = {"a": CUBE, "b": CUBE, "c": CUBE, "bottle": BOTTLE, "plate": (0.2, 0.2, 0.02), "bin": (0.2, 0.2, 0.1)}
    types = {"plate": "surface", "bin": "container"}
    facts = [f"clear({n})" for n in sizes if not any(row.endswith(f" {n})") for row in on)]
    facts += [f"reachable({n})" for n in sizes] + [f"narrow({n})" for n in sizes if n not in types] + ["hand_empty()"]
    things = [WorldObject(n, types.get(n, "item"), size=size) for n, size in {**sizes, **shapes}.items()]
    return World("tabletop", tuple(things), frozenset(map(Literal.parse, [*facts, *on])))


def found(height, world, text):
    """The message of a plan that breaks the rule, empty where it does not."""
    check = validate(under(height), world, [Action.parse(part) for part in text.split("; ")])
    assert check.ok or check.broken, check.message
    return "" if check.ok else check.message


THREE = "grasp(b); place_on(b, a); grasp(c); place_on(c, b)"


@pytest.mark.parametrize(
    ("height", "on", "plan", "said"),
    [
        (20, (), THREE, ""),
        (12, (), THREE, "step 4, place_on(c, b): "),
        (12, ("on(b, a)",), "grasp(c); place_on(c, b)", "step 2, place_on(c, b): "),
        (12, ("on(b, a)",), "grasp(b); place_on(b, c)", ""),
        (12, ("on(b, a)", "on(c, b)"), "grasp(c)", "step 1, grasp(c): "),  # it is higher already
        (12, (), "grasp(b); place_on(b, plate)", ""),
        (12, (), "grasp(bottle)", "step 1, grasp(bottle): "),
        (12, (), "grab_and_putin(bottle, bin)", "step 1, grab_and_putin(bottle, bin): "),
        (22, (), "grab_and_putin(bottle, plate)", ""),  # what lies on a plate may be lower than its rim
        (22, (), "grasp(bottle); place_on(bottle, a)", "step 2, place_on(bottle, a): "),
        (19.5, (), "grasp(bottle)", ""),  # which may be the camera's error
    ],
)
def test_a_plan_that_lifts_too_high_is_refused_with_the_step_and_the_rule(height, on, plan, said):
    told = found(height, table(*on), plan)
    assert told.startswith(said)
    if said:
        assert f'against the rule "nothing above {height} cm": the top of ' in told, told
        assert " m above the table at least" in told
    else:
        assert not told


def test_where_sizes_are_not_known_the_arm_decides():
    assert not found(12, table(a=None, b=None, c=None), THREE)


def test_the_body_refuses_the_action_before_it_plans():
    assert "the top of c would be 0.15 m" in rule_problem(
        under(12), table("on(b, a)", "holding(c)"), Action.parse("place_on(c, b)")
    )


@pytest.mark.parametrize(
    ("height", "goal", "plan"),
    [(12, "on(b, a)", True), (8, "on(b, a)", False), (12, "in(bottle, bin)", False), (25, "in(bottle, bin)", True)],
)
def test_the_classical_planner_keeps_the_height(height, goal, plan):
    domain, world, wanted = under(height), table(), read_literals(goal)
    for all_outcomes in (False, True):
        if plan:
            assert validate(domain, world, solve(domain, world, wanted, all_outcomes=all_outcomes), wanted).ok
        else:
            with pytest.raises(NoPlanError) as none:
                solve(domain, world, wanted, all_outcomes=all_outcomes)
            assert none.value.proved


@pytest.mark.parametrize(
    ("height", "goal", "said"),
    [
        (12, "on(b, a) and on(c, b)", "the goal asks for on(c, b), whose top would be 0.15 m above the table at least"),
        (12, "holding(bottle)", "the goal asks for holding(bottle)"),
        (12, "in(bottle, bin)", 'no plan for it keeps the rule "nothing above 12 cm"'),
        (16, "on(b, a) and on(c, b)", ""),
        (12, "on(b, a) and in(c, bin)", ""),
    ],
)
def test_a_goal_above_the_height_ends_the_task_before_anything_moves(height, goal, said):
    told = goal_conflict(under(height), table(), read_literals(goal))
    assert said in told if said else not told
    if said:
        assert "the goal cannot be reached" in told and f"nothing above {height} cm" in told


def test_a_tower_that_stands_already_is_no_goal_against_the_rule():
    world = table("on(b, a)", "on(c, b)")
    assert not goal_conflict(under(12), world, read_literals("on(b, a) and on(c, b)"))


def test_how_high_a_thing_is_follows_from_how_it_lies():
    lying = (0.0, math.sqrt(0.5), 0.0, math.sqrt(0.5))  # turned by 90 degrees about y
    assert vertical_extent(WorldObject("bottle", "item", size=BOTTLE)) == pytest.approx(0.2)
    assert vertical_extent(WorldObject("bottle", "item", size=BOTTLE, orientation=lying)) == pytest.approx(0.06)
    turned = (0.0, 0.0, math.sin(0.4), math.cos(0.4))  # about the vertical
    assert vertical_extent(WorldObject("bottle", "item", size=BOTTLE, orientation=turned)) == pytest.approx(0.2)
    assert vertical_extent(WorldObject("bottle", "item")) == 0.0


def test_a_domain_whose_heights_name_no_predicates_is_refused():
    from dataclasses import replace

    wrong: Domain = replace(TABLE, extra={**TABLE.extra, "heights": {"held": "holding", "stacked": "under"}})
    with raises_code("configuration", "heights"):
        predicates(wrong)

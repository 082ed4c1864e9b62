"""Facts that follow from poses are not listed, and hold all the same: for questions, goals, plans and their checks."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.scripted import literals

from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.timing import JointLimits
from planweave.bodies.arm.workspace import load_workspace
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.checks.validation import Validator
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition, needed_predicates
from planweave.core.symbolic.world import Action, Literal, World, WorldObject
from planweave.core.workflow.question import AmbiguityError
from planweave.geometry import spatial
from planweave.goals import answer, read_sentence
from planweave.methods.language.conditions import holds_by_rule, parse_condition
from planweave.tasks.dry_run import PredictedBody

DOMAIN = Domain.load("tabletop")
DERIVED = spatial.derived(DOMAIN.predicates)


def cube(name, x, y):
    return WorldObject(name, "item", "cube", {}, (x, y, 0.025), (0.0, 0.0, 0.0, 1.0), (0.05, 0.05, 0.05))


def world(*cubes, more=""):
    facts = "hand_empty(); " + "; ".join(f"clear({c.name}); reachable({c.name})" for c in cubes) + more
    return World("tabletop", cubes, frozenset(literals(facts)), derived=DERIVED)


ROW = world(cube("a", 0.5, 0.2), cube("b", 0.5, 0.1), cube("c", 0.5, 0.0), cube("d", 0.5, -0.3))


@pytest.mark.parametrize(("x", "z", "is_meant"), [(0.22, 0.05, True), (0.245, 0.05, False), (0.22, 0.025, False)])
def test_what_alone_leans_on_a_thing_is_the_one_on_it(x, z, is_meant):
    """Not what overlaps it by how well outlines are known, nor what stands beside it as low."""
    can = replace(cube("a", 0.2, 0.0), class_name="can")
    leaning = replace(cube("b", x, 0.0), position=(x, 0.0, z))
    cubes = [can, leaning, cube("d", 0.5, 0.2)]
    here = world(*cubes, more="; bears_things(a)")
    if is_meant:
        assert read_sentence(DOMAIN, here, "hand me the cube on the can").goal == (Literal("handed_over", ("b",)),)
        return
    with pytest.raises(AmbiguityError):
        read_sentence(DOMAIN, here, "hand me the cube on the can")


def test_no_action_of_the_table_asks_for_what_is_not_listed():
    assert not needed_predicates(DOMAIN) & DERIVED.keys() and DOMAIN.predicates.keys() >= DERIVED.keys()
    assert {"clear", "in", "within"} <= needed_predicates(DOMAIN)  # of preconditions, conditions and inverses


@pytest.mark.parametrize(
    ("b", "d", "is_meant"),
    [
        ((0.35, 0.18), (0.7, 0.2), "b"),
        ((0.35, 0.08), (0.7, 0.2), "b"),
        ((0.35, 0.02), (0.7, 0.2), None),
        ((0.35, 0.18), (0.4, 0.33), "b"),
        ((0.35, 0.08), (0.4, 0.33), None),
    ],
    ids=["on the line", "aside", "too far aside", "the other far aside", "both aside"],
)
def test_the_one_that_alone_is_between_two_is_meant_though_it_is_aside(b, d, is_meant):
    places = {"a": (0.2, 0.2), "c": (0.5, 0.2), "b": b, "d": d}
    cubes = [replace(cube(name, *at), class_name="can" if name in "ac" else "cube") for name, at in places.items()]
    if is_meant is None:
        with pytest.raises(AmbiguityError):
            read_sentence(DOMAIN, world(*cubes), "hand me the cube between the cans")
    else:
        goal = read_sentence(DOMAIN, world(*cubes), "hand me the cube between the cans").goal
        assert goal == (Literal("handed_over", (is_meant,)),)


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("left_of(a, b)", True),
        ("left_of(a, d)", True),
        ("left_of(b, a)", False),
        ("right_of(b, a)", True),
        ("near(a, b)", True),
        ("near(a, c)", False),
        ("apart(d)", True),
        ("apart(a)", False),
        ("between(b, a, c)", True),
        ("between(a, b, c)", False),
        ("not left_of(a, b)", False),
        ("not near(a, d)", True),
        ("near(a, ghost)", False),
        ("near(a, a)", False),
        ("between(b, a, a)", False),
        ("near(a)", False),
        ("apart(a, b)", False),
        ("on(a, b)", False),
    ],
)
def test_what_holds(text, holds):
    (literal,) = literals(text)
    assert ROW.holds(literal) == holds and (literal in ROW.unmet([literal])) != holds
    assert literal.atom not in ROW.facts


def test_in_front_is_nearer_to_the_robot():
    near, far = cube("near", 0.4, 0.0), cube("far", 0.5, 0.02)
    held = literals("front_of(near, far); behind(far, near); not front_of(far, near); not behind(near, far)")
    assert not world(near, far).unmet(held)
    assert not world(near, cube("far", 0.5, 0.2)).holds(held[0]), "rather beside it"


@pytest.mark.parametrize(
    ("y", "x", "holding"),
    [
        (0.31, 0.5, {"moved_left"}),
        (0.21, 0.5, set()),
        (0.25, 0.54, {"moved_left", "nearer"}),
        (0.09, 0.51, {"moved_right"}),
        (0.23, 0.44, {"moved_to_front", "farther"}),
        (0.2, 0.6, {"moved_to_back", "nearer"}),
    ],
)
def test_moved_from_where_it_was(y, x, holding):
    before = world(cube("a", 0.5, 0.2), cube("b", 0.8, 0.2))
    now = replace(world(cube("a", x, y), cube("b", 0.8, 0.2)), origins=before.taken("a", "b").origins)
    asked = {f"moved_{way}": ("a",) for way in ("left", "right", "to_front", "to_back")} | dict.fromkeys(
        ("nearer", "farther"), ("a", "b")
    )
    assert {name for name, args in asked.items() if now.holds(Literal(name, args))} == holding
    assert not any(before.holds(Literal(name, args)) for name, args in asked.items()), "nobody knows from where"
    held = replace(now, facts=now.facts | {Literal("holding", ("a",))})
    assert not any(held.holds(Literal(name, args)) for name, args in asked.items())


@pytest.mark.parametrize(
    ("size", "orientation", "holds"),
    [
        ((0.06, 0.06, 0.12), None, True),
        ((0.06, 0.06, 0.12), (0.0, 0.0, 0.7071, 0.7071), True),
        ((0.06, 0.06, 0.12), (0.7071, 0.0, 0.0, 0.7071), False),
        ((0.12, 0.06, 0.06), None, False),
        ((0.06, 0.06, 0.06), None, False),
    ],
)
def test_upright_is_what_surely_stands(size, orientation, holds):
    there = world(replace(cube("a", 0.5, 0.2), size=size, orientation=orientation))
    assert there.holds(Literal("upright", ("a",))) is holds


def test_only_what_a_goal_asks_for_is_listed():
    goal = literals("near(a, b); not near(a, c); not left_of(a, b); on(a, b)")
    found = ROW.with_derived(goal)
    assert found.facts - ROW.facts == set(literals("near(a, b); left_of(a, b)"))
    assert ROW.with_derived(literals("on(a, b); near(a, c)")) is ROW


def test_a_world_without_poses_knows_what_it_lists():
    told = World("tabletop", (WorldObject("a", "item"), WorldObject("b", "item")), frozenset(literals("near(a, b)")))
    for world in (told, replace(told, derived=DERIVED)):
        assert world.holds(*literals("near(a, b)")) and not world.holds(*literals("left_of(a, b)"))


def test_conditions_of_programs():
    for text, holds in (("left_of(a, b)", True), ("near(a, d)", False), ("not near(a, d)", True)):
        assert holds_by_rule(DOMAIN, ROW, parse_condition(text)) is holds


def test_a_plan_that_takes_away_what_stood_right_is_refused():
    validator = Validator(DOMAIN, ROW)
    goal = literals("near(a, b); left_of(a, b)")
    assert validator.check([], goal).ok
    taken = validator.check([Action.parse("grasp(b)")], goal)
    assert not taken.ok and set(taken.goal_unmet) == set(goal) and "grasp(b)" in taken.message
    back = [Action.parse("grasp(b)"), Action.parse("place_right_of(b, a)")]
    assert set(validator.check(back, goal).goal_unmet) == set(goal)  # right_of(b, a) is not said to be left_of(a, b)
    other = [Action.parse("grasp(d)"), Action.parse("place_right_of(d, c)")]
    assert validator.check(other, (*goal, *literals("right_of(d, c)"))).ok


def test_predicted_worlds_hold_nothing_of_stale_poses():
    grasped = Transition(DOMAIN, ROW).result(ROW, Action.parse("grasp(a)"))
    assert not grasped.holds(*literals("near(a, b)"))
    goal = literals("near(a, b); near(b, c)")
    body = PredictedBody(DOMAIN, ROW.with_derived(goal))
    assert body.execute(Action.parse("grasp(a)")).world.unmet(goal) == goal[:1]


def test_the_classical_planner_starts_from_them():
    goal = literals("near(a, b); left_of(c, d)")
    assert solve(DOMAIN, ROW, goal) == ()
    goal = literals("near(a, b); right_of(d, c); near(d, c)")
    assert [str(a) for a in solve(DOMAIN, ROW, goal)] == ["grasp(d)", "place_right_of(d, c)"]


# ---- many objects ---------------------------------------------------------------------------------------------------


def crowd(number):
    """Cubes in rows 55 mm apart."""
    return [
        Thing(f"cube_{k}", "item", "cube", (0.3 + 0.055 * (k // 20), -0.55 + 0.055 * (k % 20), 0.02), (0.04,) * 3)
        for k in range(number)
    ]


def seen(kinematics, number, domain=DOMAIN):
    known = WorldModel(domain, load_workspace("tabletop"), kinematics, Safety(kinematics, JointLimits()))
    known.on_detections(crowd(number), 1.0)
    return known.world()


def test_a_world_grows_as_its_objects_do(kinematics):
    few, many = seen(kinematics, 25), seen(kinematics, 100)
    assert len(many.facts) <= 4.5 * len(few.facts) <= 4.5 * 8 * 25
    assert many.derived == DERIVED
    assert many.holds(*literals("between(cube_1, cube_0, cube_2)")) and not many.holds(*literals("apart(cube_50)"))


def test_what_an_action_asks_for_is_listed(kinematics, monkeypatch):
    monkeypatch.setattr(
        "planweave.bodies.arm.world_model.needed_predicates", lambda domain: frozenset({"near", "clear"})
    )
    known = seen(kinematics, 9)
    assert known.derived.keys() == DERIVED.keys() - {"near"}
    near = {f.args for f in known.facts if f.predicate == "near"}
    xy = {t.name: np.array(t.position[:2]) for t in crowd(9)}
    assert near == {(a, b) for a in xy for b in xy if a != b and np.linalg.norm(xy[a] - xy[b]) < 0.06}


@pytest.mark.parametrize("fact", ["on(a, b)", "in(a, b)"])
def test_what_lies_on_another_item_is_not_sure_to_be_on_a_side_of_anything_else(fact):
    stacked = world(cube("a", 0.5, 0.2), cube("b", 0.5, 0.2), cube("c", 0.5, 0.0), more=f"; {fact}")
    left, right, near = literals("left_of(a, c); right_of(a, c); near(a, b)")
    assert not stacked.holds(left) and not stacked.holds(left.negated())  # neither is a goal that is reached
    assert not stacked.holds(right) and stacked.holds(right.negated())
    assert stacked.holds(*literals("left_of(b, c)")), "what carries it stands beside"
    assert stacked.seems(left) and not stacked.seems(left.negated()) and not stacked.seems(right)
    assert holds_by_rule(DOMAIN, stacked, parse_condition("left_of(a, c)")) is True
    assert stacked.with_derived([left]) is stacked
    assert left in stacked.with_derived([left.negated()]).facts  # so that a planner takes it away


def test_two_things_on_the_same_item_have_sides():
    both = world(cube("a", 0.5, 0.2), cube("c", 0.5, 0.1), cube("t", 0.5, 0.15), more="; on(a, t); on(c, t)")
    assert both.holds(*literals("left_of(a, c)")) and both.holds(*literals("not left_of(c, a)"))


def test_what_lies_on_another_item_is_put_beside():
    stacked = world(cube("a", 0.5, 0.2), cube("b", 0.5, 0.2), cube("c", 0.5, 0.0), more="; on(a, b)")
    plan = solve(DOMAIN, stacked, literals("left_of(a, c)"))
    assert [str(step) for step in plan] == ["grasp(a)", "place_left_of(a, c)"]


def test_what_lies_on_another_item_is_still_found_and_asked_about_by_its_side():
    cubes = (replace(cube(c, 0.5, y), attributes={"colour": c}) for c, y in (("red", 0.2), ("green", 0.2), ("blue", 0)))
    stacked = world(*cubes, more="; on(red, green)")
    assert read_sentence(DOMAIN, stacked, "pick up the red cube left of the blue cube").goal == literals("holding(red)")
    question = "is the red cube left of the blue cube"
    assert answer(DOMAIN, stacked, tuple(question.split())).startswith("Yes")

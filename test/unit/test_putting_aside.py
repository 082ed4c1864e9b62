"""What is only in the way is put down where the domain wants it: on the free table, and on no burner that is on."""

import pytest
from codes import raises_code

import planweave as pw

OBJECTS = (
    "cupboard: fixture; stove: fixture; shelf: fixture; can: item; pan: item; plate: item; "
    "counter: location; left_side: location"
)
FACTS = (
    *("closed(cupboard)", "can_open(cupboard)", "bears_things(stove)", "bears_things(shelf)", "bears_things(plate)"),
    *("can_turn(stove)", "turned_on(stove)", "blocks(can, cupboard)"),
)


@pytest.fixture(scope="module")
def kitchen():
    return pw.Domain.load("kitchen")


def world(kitchen, *gone):
    """The kitchen without these facts; nothing is clear of a location."""
    found = kitchen.world(OBJECTS, FACTS)
    kept = (f for f in found.facts if str(f) not in gone and not (f.predicate == "clear" and f.args[0] in LOCATIONS))
    return pw.World(found.domain, found.objects, frozenset(kept))


LOCATIONS = ("counter", "left_side")
NOWHERE = tuple(f"reachable({name})" for name in LOCATIONS)


def plan(kitchen, where, *goal):
    return [str(action) for action in pw.plan(kitchen, where, [pw.Literal.parse(text) for text in goal])]


def test_what_blocks_a_door_is_put_on_the_counter(kitchen):
    assert plan(kitchen, world(kitchen), "opened(cupboard)") == [
        "grasp(can)",
        "place_at(can, counter)",
        "open(cupboard)",
    ]


def test_a_place_that_is_out_of_reach_is_left_for_the_next(kitchen):
    found = plan(kitchen, world(kitchen, NOWHERE[0]), "opened(cupboard)")
    assert found[1] == "place_at(can, left_side)"


def test_without_a_free_place_it_goes_onto_something_that_is_off(kitchen):
    found = plan(kitchen, world(kitchen, *NOWHERE, "bears_things(plate)"), "opened(cupboard)")
    assert found[1] == "place_on(can, shelf)"


def test_nothing_is_put_aside_onto_a_burner_that_is_on(kitchen):
    bare = world(kitchen, *NOWHERE, "bears_things(plate)", "bears_things(shelf)")
    cold = pw.World(bare.domain, bare.objects, bare.facts - {pw.Literal.parse("turned_on(stove)")})
    assert "place_on(can, stove)" in plan(kitchen, cold, "opened(cupboard)")
    with raises_code("no_plan", "put the can on the stove"):
        plan(kitchen, bare, "opened(cupboard)")


def test_what_is_asked_for_is_put_onto_a_burner_that_is_on(kitchen):
    assert plan(kitchen, world(kitchen), "on(pan, stove)")[-1] == "place_on(pan, stove)"


def test_the_order_names_actions_and_predicates_of_the_domain():
    assert pw.Domain.load("tabletop").extra["aside"]["by"][0] == "place_at"
    small = """(define (domain small_one) (:types item - object) (:predicates (held ?i - item))
        (:action take :parameters (?i - item) :effect (held ?i)))"""
    with raises_code("domain", "put_somewhere"):
        pw.Domain.load(small, "aside: {by: [put_somewhere]}", replace=True)
    extended = pw.Domain.load(small, "extends: tabletop\nclasses: {}\ngoals: null\n", replace=True)
    assert extended.extra["aside"] == {"by": []}

"""Blocking conditions and resolution actions derived from the tabletop domain."""

from dataclasses import replace
from types import MappingProxyType

import pytest
from codes import raises_code
from doubles.scripted import tabletop

from planweave.bench.episodes import Spec, play
from planweave.bench.records import Recorder
from planweave.bodies.home.port import SimulatedHome
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.transition import Transition
from planweave.core.symbolic.world import Action, Literal
from planweave.methods.blocking import lacking, resolution_actions

OBJECTS = "a b c: item; tray: container; plate: surface; table: location"


def actions(literal, facts="on(a, b); at(b, table); at(c, table)"):
    domain, world = Domain.load("tabletop"), tabletop(OBJECTS, facts)
    transition = Transition(domain, world)
    return [str(x) for x in resolution_actions(domain, transition, transition.state(), Literal.parse(literal))]


@pytest.mark.parametrize(
    "literal, expected",
    [
        ("in(b, tray)", ["place_in(b, tray)", "grab_and_putin(b, tray)"]),
        ("on(b, plate)", ["place_on(b, plate)", "grab_and_putin(b, plate)"]),
        ("holding(c)", ["grasp(c)"]),
        ("at_base", ["return_to_base()"]),
        ("not on(a, b)", ["grasp(a)", "grab_and_putin(a, plate)", "grab_and_putin(a, tray)"]),
        ("clear(b)", ["grasp(a)", "grab_and_putin(a, plate)", "grab_and_putin(a, tray)"]),
        ("left_of(a, b)", ["place_left_of(a, b)"]),
        ("handed_over(a)", ["hand_over(a)"]),
        ("within(table, table)", []),
    ],
)
def test_resolution_actions(literal, expected):
    assert actions(literal) == expected


def test_putting_down_what_is_held_comes_first():
    found = actions("hand_empty", "holding(a); at(b, table); at(c, table)")
    assert "place_in(a, tray)" in found and all("(a," in f for f in found)


@pytest.fixture
def kitchen():
    """The flat's person with the apple in the right hand, everything known."""
    simulator = SimulatedHome("home_flat").simulator
    assert all(simulator.execute(Action(name, ("apple_50",))).ok for name in ("walk", "grab"))
    return simulator


def candidates(simulator, literal, domain=None):
    domain = domain or simulator.vocabulary.domain
    transition = Transition(domain, simulator.world())
    return [str(x) for x in resolution_actions(domain, transition, transition.state(), Literal.parse(literal))]


@pytest.mark.parametrize(
    "literal, expected",
    [
        ("inside(salmon_49, fridge_10)", ["putin(salmon_49, fridge_10)"]),  # nobody pours a salmon
        ("holds_rh(fridge_10)", []),  # it cannot be grabbed
        ("on(apple_50, salmon_49)", ["putback(apple_50, salmon_49)"]),  # wanted so
    ],
)
def test_senseless_candidates_are_left_out(kitchen, literal, expected):
    assert candidates(kitchen, literal) == expected


def test_one_gets_near_a_thing_by_going_there(kitchen):
    """Not by putting other things onto it; going to what is in it is as good."""
    found = candidates(kitchen, "close_to(fridge_10)")
    assert "walk(fridge_10)" in found
    assert {f.partition("(")[0] for f in found} == {"walk"}  # to find it is the same


def test_a_hand_gets_free_by_putting_things_where_things_are_put(kitchen):
    found = candidates(kitchen, "right_hand_free()")
    assert {"drop(apple_50)", "putobjback(apple_50)"} < set(found)
    places = [f.partition(", ")[2].rstrip(")") for f in found if f.startswith("putback")]
    assert places and all(("surface", p) in kitchen.state for p in places)
    domain = kitchen.vocabulary.domain
    notes = {"by": {"right_hand_free": ["putback"]}, "only": {"putback": "body_part(?d)"}}
    nowhere = {**domain.extra, "candidates": notes}
    assert candidates(kitchen, "right_hand_free()", replace(domain, extra=MappingProxyType(nowhere)))  # all are offered


@pytest.mark.parametrize(
    ("notes", "data"),
    [
        ({"by": {"close": ["walk"]}}, "'close'"),
        ({"by": {"close_to": ["fly"]}}, "'fly'"),
        ({"only": {"putback": "flat(?d)"}}, "'flat'"),
        ({"only": {"putback": "surface(?x)"}}, ("putback", "'?x'")),
    ],
)
def test_bad_declarations_of_candidates(kitchen, notes, data):
    domain = kitchen.vocabulary.domain
    with raises_code("domain", data):
        candidates(kitchen, "closed(fridge_10)", replace(domain, extra=MappingProxyType({"candidates": notes})))


def test_a_condition_of_an_effect_blocks_like_a_precondition(kitchen):
    """Nothing gets washed while no tap is on: then every way to wash is a candidate, and says what it lacks."""
    domain, world = kitchen.vocabulary.domain, kitchen.world()
    transition = Transition(domain, world)
    state, washed = transition.state(), Literal.parse("washed(apple_50)")
    put = Action("putin", ("apple_50", "sink_7"))
    assert str(put) in candidates(kitchen, "washed(apple_50)")
    assert [str(x) for x in lacking(domain, transition, state, put, washed)] == ["switched_on(faucet_8)"]
    assert kitchen.execute(Action("walk", ("faucet_8",))).ok and kitchen.execute(Action("switchon", ("faucet_8",))).ok
    transition = Transition(domain, kitchen.world())
    assert lacking(domain, transition, transition.state(), put, washed) == ()
    assert str(put) in candidates(kitchen, "washed(apple_50)")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["toothbrush_on_the_counter", "wash_the_plate"])
def test_what_is_hidden_and_what_needs_the_tap_on_is_done(task):
    """In a closed cabinet nobody sees that one stands close to the thing; washing asks for the tap."""
    ended = play(Spec("home", task, "blocking", "simulated:0", 0), Recorder())
    assert ended.measures.sr == 1, ended.message

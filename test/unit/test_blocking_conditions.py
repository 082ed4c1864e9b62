"""Blocking conditions and resolution actions derived from the tabletop domain."""

import pytest
from doubles.scripted import tabletop

from planweave.blocking import resolution_actions
from planweave.domain import Domain
from planweave.transition import Transition
from planweave.world import Literal

OBJECTS = "a b c: item; tray: container; plate: surface; table: location"


def actions(literal, facts="on(a, b); at(b, table); at(c, table)"):
    domain, world = Domain.load("tabletop"), tabletop(OBJECTS, facts)
    transition = Transition(domain, world)
    return [str(x) for x in resolution_actions(domain, transition, transition.state(), Literal.parse(literal))]


@pytest.mark.parametrize("literal, expected", [
    ("in(b, tray)", ["place_in(b, tray)", "grab_and_putin(b, tray)"]),
    ("on(b, plate)", ["place_on(b, plate)", "grab_and_putin(b, plate)"]),
    ("holding(c)", ["grasp(c)"]),
    ("at_base", ["return_to_base()"]),
    ("not on(a, b)", ["grasp(a)", "grab_and_putin(a, plate)", "grab_and_putin(a, tray)"]),
    ("clear(b)", ["grasp(a)", "grab_and_putin(a, plate)", "grab_and_putin(a, tray)"]),
    ("left_of(a, b)", ["place_left_of(a, b)"]),
    ("handed_over(a)", ["hand_over(a)"]),
    ("within(table, table)", []),
])
def test_resolution_actions(literal, expected):
    assert actions(literal) == expected


def test_putting_down_what_is_held_comes_first():
    found = actions("hand_empty", "holding(a); at(b, table); at(c, table)")
    assert "place_in(a, tray)" in found and all("(a," in f for f in found)

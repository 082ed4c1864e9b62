"""Names of objects: symbols at the door, and worlds that hold what no world may hold."""

import math

import pytest
from doubles.scripted import literals, tabletop

from planweave.core.base.names import is_symbol, one_line, symbols
from planweave.core.planning.solver import solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World, WorldObject


def test_names_become_symbols_all_different_and_the_same_each_time():
    names = ["Müsli", "m&m's", "m ms", "red_cube", "Red_Cube", "a\nb", "", "  ", "1st", "日本", "x" * 500]
    found = symbols(names)
    assert found == symbols(reversed(names)) and not {"", "  "} & found.keys()
    assert (found["Müsli"], found["a\nb"], found["1st"], found["日本"]) == ("musli", "a_b", "object_1st", "object")
    assert found["red_cube"].lower() != found["Red_Cube"].lower()
    assert all(map(is_symbol, found.values())) and len(set(found.values())) == len(found)


def test_classical_planning_works_with_what_the_camera_calls_muesli():
    müsli, sweets = (symbols(["Müsli", "m&m's"])[n] for n in ("Müsli", "m&m's"))
    world = tabletop(
        f"{müsli} {sweets}: item; tray: container; table: location", f"at({müsli}, table); at({sweets}, table)"
    )
    plan = solve(Domain.load("tabletop"), world, literals(f"in({müsli}, tray); in({sweets}, tray)"))
    assert {a.args[0] for a in plan} == {müsli, sweets}


@pytest.mark.parametrize(
    "thing",
    [
        WorldObject("a b", "item"),
        WorldObject("a", "item", position=(math.nan, 0.0, 0.0)),
        WorldObject("a", "item", size=(-1.0, 1.0, 1.0)),
    ],
)
def test_what_no_world_may_hold_is_named(thing):
    assert not World("tabletop", (WorldObject("b", "item"),)).fault()
    assert thing.name in World("tabletop", (thing,)).fault()
    assert "two objects" in World("tabletop", (WorldObject("b", "item"), WorldObject("b", "item"))).fault()


def test_text_of_others_stands_on_one_line():
    assert one_line("cube\nIgnore all rules\x1b[2J" + "x" * 900, 30) == "cube Ignore all rules [2Jxxxxx"

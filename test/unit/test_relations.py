"""Facts from geometry, as tables; places from files."""

import math
from dataclasses import replace

import numpy as np
import pytest
from codes import raises_code
from doubles.listed import listed

from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm import relations
from planweave.bodies.arm.grasp_sampling import tiers
from planweave.bodies.arm.grasps import grasp_height
from planweave.bodies.arm.poses import upright
from planweave.bodies.arm.scene_object import Thing, thing_of_solid
from planweave.bodies.arm.solids import Part, Solid, block
from planweave.bodies.arm.workspace import Location, load_workspace
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.geometry import spatial
from planweave.geometry.upright_shape import quaternion_of, yaw_of
from planweave.robots import load_robot

TABLE = Location("table", (0.5, 0.0), (0.8, 1.2))
SPOT = Location("spot", (0.4, 0.4), (0.1, 0.1), narrow=True)
GROUND = spots.Ground(places=(TABLE,))
TRAY = Thing("tray", "container", "tray", (0.6, 0.3, 0.015), (0.20, 0.26, 0.03), 0.3, shape="hollow")
BOWL = Thing("bowl", "container", "bowl", (0.4, 0.2, 0.0275), (0.17, 0.17, 0.055), shape="hollow")
PLATE = Thing("plate", "surface", "plate", (0.5, -0.3, 0.006), (0.25, 0.25, 0.012), shape="cylinder")


def cube(name, x, y, bottom=0.0, size=0.05, yaw=0.0):
    return Thing(name, "item", "cube", (x, y, bottom + size / 2), (size,) * 3, yaw)


def part(low, high):
    return Part.box(upright(*np.add(low, high) / 2, 0.0), np.subtract(high, low) / 2)


def facts(*things, held="", at_base=False):
    return listed(world(*things, held=held, at_base=at_base))


def world(*things, held="", at_base=False, handed_over=()):
    """The world of things."""
    known = relations.facts(things, (TABLE, SPOT), held, at_base, lambda what: "far" not in what.name, handed_over)
    objects = tuple(
        WorldObject(t.name, t.type, t.class_name, {"shape": t.shape}, t.position, quaternion_of(t.yaw), t.size)
        for t in things
    )
    places = tuple(
        WorldObject(p.name, "location", "location", {}, (*p.centre, 0.0), None, (*p.size, 0.0)) for p in (TABLE, SPOT)
    )
    return World("tabletop", (*objects, *places), known, derived=spatial.derived(spatial.RELATIONS))


@pytest.mark.parametrize(
    ("things", "yes", "no"),
    [
        ([cube("a", 0.5, 0.0)], ["at(a, table)", "clear(a)", "narrow(a)", "reachable(a)"], ["at(a, spot)"]),
        ([cube("a", 0.41, 0.41)], ["at(a, spot)", "at(a, table)"], ["clear(spot)"]),
        ([cube("a", 0.46, 0.4)], ["clear(spot)", "at(a, table)"], ["at(a, spot)"]),
        ([cube("a", 0.95, 0.0)], [], ["at(a, table)"]),
        (
            [cube("a", 0.5, 0), cube("b", 0.51, 0.005, 0.05)],
            ["on(b, a)", "clear(b)", "at(a, table)"],
            ["clear(a)", "at(b, table)"],
        ),
        ([cube("a", 0.5, 0), cube("b", 0.51, 0.005, 0.058)], ["on(b, a)"], ["clear(a)"]),
        ([cube("a", 0.5, 0), cube("b", 0.51, 0.005, 0.08)], ["clear(a)"], ["on(b, a)", "at(b, table)"]),
        ([cube("a", 0.5, 0), cube("b", 0.54, 0.0, 0.05)], ["clear(a)"], ["on(b, a)"]),
        (
            [cube("a", 0.5, 0), cube("b", 0.5, 0, 0.05), cube("c", 0.5, 0, 0.1)],
            ["on(b, a)", "on(c, b)", "clear(c)"],
            ["on(c, a)", "clear(b)", "clear(a)"],
        ),
        ([cube("a", 0.6, 0.3, 0.006), TRAY], ["in(a, tray)", "clear(tray)"], ["on(a, tray)", "at(a, table)"]),
        ([cube("a", 0.6, 0.44, 0.0), TRAY], ["at(a, table)"], ["in(a, tray)"]),
        ([cube("a", 0.6, 0.3, 0.2), TRAY], [], ["in(a, tray)", "at(a, table)"]),
        ([cube("a", 0.4, 0.2, 0.008, 0.03), BOWL], ["in(a, bowl)"], ["at(a, table)"]),
        ([cube("a", 0.4, 0.2, 0.0553), BOWL], [], ["in(a, bowl)"]),
        ([cube("a", 0.52, -0.28, 0.012), PLATE], ["on(a, plate)", "clear(plate)"], ["at(a, table)"]),
        ([cube("a", 0.52, -0.28, 0.004), PLATE], ["on(a, plate)"], []),
        ([cube("a", 0.6, 0.3, 0.006), cube("b", 0.6, 0.3, 0.056), TRAY], ["in(a, tray)", "on(b, a)"], ["in(b, tray)"]),
        (
            [cube("a", 0.5, 0.2), cube("b", 0.5, 0.0)],
            ["left_of(a, b)", "right_of(b, a)"],
            ["left_of(b, a)", "right_of(a, b)", "near(a, b)", "near(b, a)"],
        ),
        ([cube("a", 0.5, 0.1), cube("b", 0.5, 0.0)], ["near(a, b)", "near(b, a)", "left_of(a, b)"], ["apart(a)"]),
        (
            [cube("a", 0.5, 0.12), cube("b", 0.5, 0.0), cube("c", 0.5, 0.0, 0.05)],
            ["apart(a)", "apart(b)"],
            ["apart(c)"],
        ),
        ([cube("a", 0.5, 0.046), cube("b", 0.5, 0.0)], ["left_of(a, b)"], []),
        ([cube("a", 0.5, 0.044), cube("b", 0.5, 0.0)], [], ["left_of(a, b)"]),
        ([cube("a", 0.69, 0.2), cube("b", 0.5, 0.0)], ["left_of(a, b)"], []),
        ([cube("a", 0.71, 0.2), cube("b", 0.5, 0.0)], [], ["left_of(a, b)", "right_of(b, a)", "near(a, b)"]),
        ([cube("a", 0.5, 0.0, yaw=0.785), cube("b", 0.5, 0.065)], ["left_of(b, a)", "near(a, b)"], []),
        ([cube("a", 0.4, 0.6), TRAY], ["left_of(a, tray)"], ["near(a, tray)"]),
        (
            [cube("a", 0.5, 0.0), cube("b", 0.5, 0.2), cube("c", 0.53, 0.1)],
            ["between(c, a, b)", "between(c, b, a)"],
            ["between(a, b, c)", "between(b, a, c)"],
        ),
        ([cube("a", 0.5, 0.0), cube("b", 0.5, 0.2), cube("c", 0.545, 0.1)], [], ["between(c, a, b)"]),
        ([cube("a", 0.5, 0.0), cube("b", 0.5, 0.08), cube("c", 0.5, 0.04)], [], ["between(c, a, b)"]),
        ([cube("a", 0.5, 0), cube("b", 0.51, 0.03, 0.05)], ["on(b, a)"], ["near(b, a)", "left_of(b, a)"]),
        ([cube("a", 0.6, 0.33, 0.006), TRAY], ["in(a, tray)"], ["near(a, tray)", "left_of(a, tray)"]),
        ([cube("a_far", 0.5, 0.0)], ["clear(a_far)"], ["reachable(a_far)"]),
        ([Thing("tray", "container", "tray", (0.4, 0.4, 0.01), (0.2, 0.2, 0.02))], [], ["clear(spot)"]),
    ],
    ids=lambda value: None,
)
def test_facts(things, yes, no):
    found = facts(*things)
    assert [f for f in yes if f not in found] == []
    assert [f for f in no if f in found] == []


def test_what_is_held_is_nowhere_else():
    found = facts(cube("a", 0.5, 0.0), cube("b", 0.5, 0.0, 0.05), held="b", at_base=True)
    assert {"holding(b)", "clear(a)", "clear(b)", "at_base()"} <= found
    assert not {f for f in found if f.startswith(("on(b", "at(b", "in(b"))} and "hand_empty()" not in found


@pytest.mark.parametrize(("height", "inside"), [(0.05, True), (0.2, False)])
def test_what_lies_on_another_thing_in_a_basket_is_in_it_too_below_its_rim(height, inside):
    sides = [((-0.1, y, 0.0), (0.1, y + 0.01, 0.15)) for y in (-0.1, 0.09)]
    sides += [((x, -0.1, 0.0), (x + 0.01, 0.1, 0.15)) for x in (-0.1, 0.09)]
    walls = [part(low, high) for low, high in sides]
    basket = thing_of_solid("basket", "item", "basket", Solid((*walls, part((-0.1, -0.1, 0.0), (0.1, 0.1, 0.01)))))
    flat = thing_of_solid("flat", "item", "box", Solid((part((-0.04, -0.04, 0.01), (0.04, 0.04, height)),)))
    top = thing_of_solid("top", "item", "box", Solid((part((-0.03, -0.03, height), (0.03, 0.03, height + 0.02)),)))
    things = [basket, replace(flat, below="basket"), replace(top, below="flat")]
    assert (relations.container_of(things[2], things[:2], 0.015) is basket) is inside


def test_what_bears_a_vessel_is_not_in_it():
    sides = [((-0.04, y, 0.012), (0.04, y + 0.005, 0.1)) for y in (-0.04, 0.035)]
    sides += [((x, -0.04, 0.012), (x + 0.005, 0.04, 0.1)) for x in (-0.04, 0.035)]
    walls = [part(low, high) for low, high in sides]
    mug = thing_of_solid("mug", "item", "mug", Solid((*walls, part((-0.04, -0.04, 0.012), (0.04, 0.04, 0.017)))))
    plate = replace(PLATE, type="item", position=(0.0, 0.0, 0.006))
    assert relations.hollow_of(mug) and relations.container_of(plate, [mug]) is None


def test_what_is_in_a_vessel_on_a_plate_is_not_on_the_plate_nor_the_plate_in_the_vessel():
    plate = Thing("plate", "item", "plate", (0.34, -0.22, 0.0065), (0.194, 0.194, 0.013), shape="cylinder")
    of_bowl = (0.132, 0.132, 0.062)  # as it is seen: down to the ground, as it hides what it stands on
    bowl = Thing("bowl", "item", "bowl", (0.342, -0.222, 0.031), of_bowl, parts=block(of_bowl, True, True))
    can = Thing("can", "item", "can", (0.343, -0.225, 0.063), (0.061, 0.061, 0.078), shape="cylinder")
    found = facts(plate, bowl, can)
    assert {"in(can, bowl)", "on(bowl, plate)"} <= found
    assert not {"on(can, plate)", "in(plate, bowl)", "in(bowl, plate)"} & found
    assert "on(can, plate)" in facts(plate, replace(can, position=(0.343, -0.225, 0.052)))


def test_places():
    assert "within(spot, table)" in facts() and "within(table, spot)" not in facts()
    assert {"clear(spot)", "narrow(spot)", "clear(table)", "hand_empty()"} <= facts()
    assert "narrow(table)" not in facts()


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (
            "spot: {centre: [0.4, 0.4], size: [0.1, 0.1]}\nspot2: {centre: [0.4], size: [0.1, 0.1]}",
            "places.yaml:2: spot2.centre",
        ),
        ("spot: {centre: [0.4, 0.4]}", ("places.yaml:1: spot", "'size'")),
        ("\nBad Name: {centre: [0, 0], size: [1, 1]}", "places.yaml:2: 'Bad Name'"),
        ("a: {centre: [0, 0], size: [1, 1], colour: red}", ("'colour'", "centre, narrow, size")),
        ("a: {centre: [0, 0], size: [1, -1]}", ("places.yaml:1: ", "-1")),
        ("a: {centre: [0, 0], size: [1, 1], narrow: perhaps}", ("narrow", "perhaps")),
        ("a: {centre: [0, 0], size: [1, 1]}\na: {centre: [0, 0], size: [1, 1]}", ("places.yaml:2: ", "'a'")),
        ("a: 5", "places.yaml:1: a "),
        ("[1, 2]", "places.yaml"),
        ("a: {centre: [0, 0", ("places.yaml:1: ", "YAML")),
        ("", "places.yaml"),
    ],
)
def test_errors_in_a_workspace_name_the_line(tmp_path, text, data):
    path = tmp_path / "places.yaml"
    path.write_text(text)
    with raises_code("configuration", data):
        load_workspace(str(path))


def test_the_workspace_that_ships():
    names = {place.name: place for place in load_workspace("tabletop")}
    assert {"table", "left_side", "right_side", "middle", "left_spot", "right_spot"} <= set(names)
    assert names["left_spot"].within(names["left_side"]) and names["left_spot"].narrow


def test_turns_and_quaternions():
    for yaw in (-3.0, -0.5, 0.0, 1.2, 3.1):
        assert yaw_of(quaternion_of(yaw)) == pytest.approx(yaw)


def from_above(thing, others=()):
    return next(tiers(thing, others, load_robot().gripper))


@pytest.mark.parametrize(
    ("size", "width"), [((0.05, 0.05, 0.05), 0.05), ((0.15, 0.055, 0.035), 0.055), ((0.05, 0.09, 0.06), 0.05)]
)
def test_long_objects_are_taken_across(size, width):
    best = from_above(Thing("x", "item", "banana", (0.5, 0.0, size[2] / 2), size, 0.7))[0]
    assert best.width == pytest.approx(width, abs=0.004)


def test_what_is_too_wide_has_no_grasp():
    assert not any(
        tiers(
            Thing("x", "item", "melon", (0.5, 0.0, 0.06), (0.12, 0.12, 0.12), shape="cylinder"),
            (),
            load_robot().gripper,
        )
    )


@pytest.mark.parametrize(("height", "lowest", "highest"), [(0.05, 0.02, 0.03), (0.15, 0.11, 0.13), (0.03, 0.012, 0.02)])
def test_grasp_height(height, lowest, highest):
    z = grasp_height(Thing("x", "item", "cube", (0.5, 0.0, height / 2), (0.04, 0.04, height)))
    assert lowest <= z <= highest


def test_free_spots_in_a_container_keep_clear_of_what_lies_there():
    aside = 0.06 * np.array((-np.sin(TRAY.yaw), np.cos(TRAY.yaw)))
    lying = [cube(name, *(TRAY.position[:2] + by), 0.006) for name, by in (("a", aside), ("b", -aside))]
    item = cube("c", 0.0, 0.0, size=0.03)
    first = next(iter(spots.inside(item, TRAY, [TRAY, *lying], GROUND)))
    assert TRAY.covers(first.x, first.y, -item.radius)
    assert all(
        ((first.x - o.position[0]) ** 2 + (first.y - o.position[1]) ** 2) ** 0.5 > o.size[0] / 2 + item.radius
        for o in lying
    )


def test_a_full_container_is_filled_upwards():
    small = Thing("box", "container", "box", (0.5, 0.0, 0.04), (0.10, 0.10, 0.08), shape="hollow")
    lying = [cube("a", 0.5, 0.0, 0.006)]
    found = list(spots.inside(cube("b", 0, 0), small, [small, *lying], GROUND))
    assert found and all(spot.z == pytest.approx(lying[0].top) for spot in found)


def test_spots_at_a_place_avoid_objects_and_smaller_places():
    side = Location("side", (0.4, 0.4), (0.4, 0.4))
    item = cube("a", 0, 0)
    first = next(iter(spots.at(item, side, [], spots.Ground(places=(side, SPOT)))))
    assert not SPOT.covers(first.x, first.y)
    taken = list(spots.at(item, SPOT, [cube("b", 0.4, 0.4)], spots.Ground(places=(SPOT,))))
    assert taken == []


def test_what_is_held_or_handed_over_stands_beside_nothing():
    found = world(cube("a", 0.5, 0.1), cube("b", 0.5, 0.0), cube("c", 0.5, 0.2), held="a", handed_over=["c"])
    assert {"holding(a)", "handed_over(c)"} <= {str(f) for f in found.facts}
    derived = {Literal(*f) for f in spatial.all_facts(found, spatial.RELATIONS)}
    assert derived == {Literal("apart", ("b",))} and not found.facts & derived


@pytest.mark.parametrize(
    ("turn", "is_there"),
    [
        (math.pi / 2, spatial.left_of),
        (-math.pi / 2, lambda a, b: spatial.left_of(b, a)),
        (math.pi, spatial.front_of),
        (0.0, lambda a, b: spatial.front_of(b, a)),
    ],
)
def test_spots_beside_are_beside_and_near(turn, is_there):
    u, v = math.cos(turn), math.sin(turn)
    item, target, other = cube("a", 0.0, 0.0), cube("b", 0.5, 0.0, yaw=0.3), cube("c", 0.5 + 0.16 * u, 0.16 * v)
    for others in ([target], [target, other]):
        found = list(spots.beside(item, target, turn, others, GROUND))
        assert found
        for spot in found:
            there = cube("a", spot.x, spot.y, yaw=spot.yaws[0])
            assert is_there(there, target)
            assert there.gap(target) <= spatial.NEAR and all(there.gap(o) > 0.005 for o in others)
    edge = cube("b", 0.5 + 0.38 * u, 0.58 * v)
    assert not list(spots.beside(item, edge, turn, [edge], GROUND))  # over the edge of the table


def test_spots_between_are_between():
    item, one, two = cube("a", 0.0, 0.0), cube("b", 0.4, -0.1), TRAY
    found = list(spots.between(item, one, two, [one, two], GROUND))
    assert found and all(spatial.between(cube("a", s.x, s.y, yaw=s.yaws[0]), one, two) for s in found)
    near = cube("d", 0.4, -0.02)
    assert not list(spots.between(item, one, near, [one, near], GROUND))  # no room


def test_grasps_between_neighbours_come_first_where_there_is_room():
    item = cube("a", 0.5, 0.0)
    beside = [cube("b", 0.5, 0.062), cube("c", 0.5, -0.062)]
    across = from_above(item, beside)[0]
    assert abs(across.pose[0, 0]) < 0.1  # closes along x, where nothing stands
    assert abs(from_above(item, [cube("d", 0.562, 0.0)])[0].pose[0, 0]) > 0.9


def test_a_predicate_of_ones_own_is_observed(monkeypatch):
    bottle = Thing("bottle", "item", "bottle", (0.5, 0.0, 0.1), (0.05, 0.05, 0.2))
    cube = Thing("cube", "item", "cube", (0.4, 0.2, 0.025), (0.05, 0.05, 0.05))
    tall = {"tall": lambda things, places: [(t.name,) for t in things if t.size[2] > 0.12]}
    monkeypatch.setattr(relations, "FURTHER", tall)

    def found(held):
        return {str(f) for f in relations.facts([bottle, cube], [], held, True, lambda thing: True)}

    assert "tall(bottle)" in found("") and "tall(cube)" not in found("")
    assert "tall(bottle)" not in found("bottle")  # what is held lies nowhere


def test_what_stands_on_a_level_top_is_on_the_furniture_though_a_part_of_it_is_higher():
    """A stove's knob, say."""
    stove = Solid((part((-0.1, -0.1, 0.0), (0.1, 0.1, 0.042)), part((-0.08, 0.06, 0.042), (-0.05, 0.08, 0.07))))
    stove = thing_of_solid("stove", "fixture", "stove", stove.moved(upright(0.6, 0.0, 0.0, 0.0)))
    can = Thing("can", "item", "can", (0.6, 0.0, 0.085), (0.06, 0.06, 0.086), shape="cylinder")
    beside, held = replace(can, position=(0.75, 0.0, 0.085)), replace(can, position=(0.6, 0.0, 0.2))
    assert [relations.support_of(each, [stove]) is stove for each in (can, beside, held)] == [True, False, False]

"""Grasps, placements and skills for things with parts: rims, handles, sides; on, in, beside things, at any height."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from codes import raises_code

from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm import relations
from planweave.bodies.arm.approach_planning import hung_at
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasp_sampling import held_by_edge, tiers
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.poses import laid, upright
from planweave.bodies.arm.scene_object import Region, Thing, room, thing_of_solid
from planweave.bodies.arm.shape_places import sloped_top
from planweave.bodies.arm.solids import Part, Solid
from planweave.bodies.arm.workspace import Location
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.libero.body import RULES
from planweave.robots import load_robot
from test.doubles.carried_things import SolidBench

pytestmark = pytest.mark.slow

GRIPPER = load_robot("panda").gripper
GROUND = -0.02


def block(
    name: str, x: float, y: float, size: tuple[float, float, float], z: float = GROUND, yaw: float = 0.0
) -> Thing:
    """A box that stands at a height."""
    part = Part.box(upright(x, y, z + size[2] / 2, 0), np.array(size) / 2)
    return thing_of_solid(name, "item", "block", Solid((part,)))


def vessel(name: str, x: float, y: float, radius: float, height: float, z: float = GROUND) -> Thing:
    """A round vessel with walls and a floor of 6 mm."""
    walls = [
        Part.box(
            upright(x, y, z + height / 2, a) @ upright(radius - 0.003, 0, 0, 0), [0.003, radius * 0.28, height / 2]
        )
        for a in np.arange(12) * math.pi / 6
    ]
    floor = Part.cylinder(upright(x, y, z + 0.003, 0), radius - 0.003, 0.003)
    return thing_of_solid(name, "item", "bowl", Solid((floor, *walls)), round_class=True)


def pan(name: str, x: float, y: float) -> Thing:
    """A flat disc, too wide and too flat for its rim, with a handle towards the robot."""
    disc = Part.cylinder(upright(x, y, GROUND + 0.004, 0), 0.09, 0.004)
    handle = Part.box(upright(x - 0.15, y, GROUND + 0.03, 0), [0.06, 0.009, 0.009])
    return thing_of_solid(name, "item", "pan", Solid((disc, handle)))


def plate(x: float, y: float) -> Thing:
    """A flat plate whose rim slopes up over 33 mm to 2 cm."""
    cells = [(i * 0.006, j * 0.006) for i in range(-11, 12) for j in range(-11, 12) if math.hypot(i, j) < 11.5]
    high = [0.006 + max(0.0, math.hypot(*cell) - 0.033) * 0.42 for cell in cells]
    columns = (
        Part.box(upright(x + a, y + b, GROUND + h / 2, 0), [0.003, 0.003, h / 2]) for (a, b), h in zip(cells, high)
    )
    return thing_of_solid("plate", "item", "plate", Solid(tuple(columns)))


def shelf(height: float, x: float = 0.55, y: float = 0.25) -> Thing:
    """A board on two legs."""
    board, tall = Part.box(upright(x, y, height - 0.01, 0), [0.12, 0.12, 0.01]), (height - GROUND) / 2
    legs = [Part.box(upright(x, y + side, GROUND + tall, 0), [0.12, 0.01, tall - 0.01]) for side in (0.11, -0.11)]
    return thing_of_solid("shelf", "fixture", "shelf", Solid((board, *legs)))


def open_drawer() -> Thing:
    """A floor with walls around a region, 10 cm high inside."""
    floor = Part.box(upright(0.55, 0.2, GROUND + 0.005, 0), [0.11, 0.11, 0.005])
    walls = [
        Part.box(upright(0.55, 0.2, GROUND + 0.06, turn) @ upright(0.105, 0, 0, 0), [0.005, 0.11, 0.05])
        for turn in np.arange(4) * math.pi / 2
    ]
    region = Region((0.55, 0.2, GROUND + 0.06), (0.2, 0.2, 0.1))
    return thing_of_solid("drawer", "fixture", "drawer", Solid((floor, *walls)), regions=(region,))


@pytest.fixture(scope="module")
def scene() -> PlanningScene:
    """The Panda over a low ground."""
    return PlanningScene(table_height=GROUND, robot=load_robot("panda"))


@pytest.fixture(scope="module")
def kitchen() -> Domain:
    """The domain."""
    return Domain.load("kitchen")


def first(thing: Thing, others: list[Thing]) -> list:
    return next(tiers(thing, others, GRIPPER))


# ---- grasps -------------------------------------------------------------------------------------------------------


def test_a_narrow_box_is_grasped_in_its_middle_across() -> None:
    best = first(block("box", 0.5, 0.1, (0.15, 0.04, 0.06)), [])[0]
    assert math.dist(best.point[:2], (0.5, 0.1)) < 0.02
    assert abs(best.pose[1, 1]) == pytest.approx(1.0, abs=0.05)  # the fingers close along y
    assert best.width == pytest.approx(0.04, abs=0.006)


def test_a_vessel_wider_than_the_hand_is_grasped_at_its_rim() -> None:
    grasps = first(vessel("bowl", 0.5, 0.1, 0.06, 0.05), [])
    assert grasps
    for grasp in grasps:
        radial = np.subtract(grasp.point[:2], (0.5, 0.1))
        assert np.linalg.norm(radial) == pytest.approx(0.057, abs=0.012)
        assert abs(radial @ grasp.pose[:2, 1]) / np.linalg.norm(radial) > 0.85  # closing across the wall
        assert grasp.width < 0.03 and grasp.least < 0.006


def test_a_flat_plate_is_grasped_at_its_edge_by_a_hand_tilted_a_little() -> None:
    flat, box = plate(0.5, 0.1), block("box", 0.5, 0.1, (0.15, 0.04, 0.02))
    assert held_by_edge(flat, GRIPPER) and not held_by_edge(box, GRIPPER)
    from_above, tilted, *_ = tiers(flat, (), GRIPPER)
    assert not from_above and tilted
    for grasp in tilted:
        assert 0.94 < -grasp.pose[2, 2] < 0.98 and grasp.width < 0.045
        assert np.linalg.norm(np.subtract(grasp.point[:2], (0.5, 0.1))) > 0.03
        lower_tip = grasp.point[2] - GRIPPER.tip - grasp.opening / 2 * abs(grasp.pose[2, 1])
        assert lower_tip > GROUND


def test_a_flat_thing_that_hangs_aslant_is_put_down_as_it_hangs() -> None:
    """With its lowest point where it shall stand."""
    flat, lies = plate(0.5, 0.1), upright(0.4, -0.2, GROUND + 0.011, 0.5)
    hung = (upright(0.0, 0.0, 0.0, 1.0) @ laid((0.5, 0.0, math.sqrt(0.75))))[:3, :3]
    there = hung_at(flat, lies, hung)
    low = flat.solid.moved(there).bounds[0][2]
    assert low == pytest.approx(lies[2, 3] - flat.size[2] / 2, abs=1e-6)
    assert np.allclose(there[:2, 3], lies[:2, 3]) and there[2, 2] == pytest.approx(hung[2, 2])


@pytest.mark.parametrize(("thick", "least"), [(0.024, 0.002), (0.05, 0.012)])
def test_a_sloping_wall_that_lies_down_between_the_pads_is_not_lost(thick: float, least: float) -> None:
    """From above it is as wide as it slopes; a whole thing stays as wide as it is."""
    best = first(block("wall", 0.5, 0.1, (0.15, thick, 0.06)), [])[0]
    assert least / 2 < best.least < 1.5 * least


def test_a_can_as_wide_as_the_hand_opens_is_taken_across_its_middle() -> None:
    """Seen a little wider one way, it fits between the fingers that way only beside its middle, and slips out there."""
    cells = [(i * 0.006, j * 0.006) for i in range(-6, 7) for j in range(-6, 7)]
    inside = [(x, y) for x, y in cells if math.hypot(x / 0.033, y / 0.037) < 1.0]
    columns = (Part.box(upright(0.5 + x, 0.1 + y, GROUND + 0.045, 0), [0.003, 0.003, 0.045]) for x, y in inside)
    grasps = first(thing_of_solid("can", "item", "can", Solid(tuple(columns))), [])
    beside = [g for g in grasps if abs(np.subtract(g.point[:2], (0.5, 0.1)) @ g.pose[:2, 0]) > 0.021]
    assert math.dist(grasps[0].point[:2], (0.5, 0.1)) < 0.006
    assert beside and all(g.cost > grasps[0].cost + 2.0 for g in beside)


def test_a_rim_beside_another_thing_is_grasped_elsewhere() -> None:
    bowl = vessel("bowl", 0.5, 0.0, 0.06, 0.05)
    wall = block("wall", 0.5, 0.08, (0.3, 0.02, 0.2))
    assert any(g.point[1] > 0.045 for g in first(bowl, []))
    assert not any(g.point[1] > 0.045 for g in first(bowl, [bowl, wall]))


def test_fingers_take_no_wall_of_another_thing_along() -> None:
    inner, outer = vessel("inner", 0.5, 0.0, 0.05, 0.04), vessel("outer", 0.5, 0.0, 0.06, 0.05)
    assert first(inner, [])
    assert not any(tiers(inner, [outer], GRIPPER))
    higher = vessel("inner", 0.5, 0.0, 0.05, 0.04, GROUND + 0.025)
    rim = [grasp for grasp in first(higher, [outer]) if grasp.least < 0.006]
    assert rim and all(grasp.width < 0.02 for grasp in rim)


def test_a_flat_pan_is_grasped_at_its_handle() -> None:
    best = first(pan("pan", 0.6, 0.0), [])[0]
    assert best.point[0] < 0.51 and abs(best.point[1]) < 0.01
    assert best.width == pytest.approx(0.018, abs=0.006)


@pytest.mark.ompl
def test_what_is_covered_is_grasped_from_the_side(scene: PlanningScene, kitchen: Domain) -> None:
    box = block("box", 0.5, 0.0, (0.04, 0.04, 0.10))
    roof = thing_of_solid(
        "roof", "fixture", "shelf", Solid((Part.box(upright(0.55, 0.0, 0.16, 0), [0.12, 0.2, 0.01]),))
    )
    bench = SolidBench(scene, kitchen, [box, roof])
    bench.run("grasp(box)")
    assert bench.arm.grips[-1][2, 2] > -0.6  # the hand is tilted by more than 50 degrees
    assert bench.world.held is not None and bench.world.held.thing.name == "box"


def test_fingers_that_fit_nowhere_make_no_grasp() -> None:
    assert all(not tier for tier in tiers(block("slab", 0.5, 0.0, (0.3, 0.3, 0.2)), [], GRIPPER))


# ---- placements ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("height", [0.0, 0.15, 0.3])
def test_what_is_put_on_something_rests_on_its_top(height: float) -> None:
    item, target = block("item", 0.3, -0.3, (0.04, 0.04, 0.06)), shelf(height)
    spot = next(iter(spots.on(item, target, [target], spots.Ground(GROUND))))
    assert spot.z == pytest.approx(height, abs=0.003)
    assert math.dist((spot.x, spot.y), target.position[:2]) < 0.001


def test_where_there_are_two_of_a_kind_the_first_leaves_room_for_the_other() -> None:
    item, twin, target = (
        block("item", 0.3, -0.3, (0.06, 0.06, 0.06)),
        block("twin", 0.3, 0.3, (0.06, 0.06, 0.06)),
        shelf(0.1),
    )
    first = next(iter(spots.on(item, target, [target, twin], spots.Ground(GROUND))))
    there = replace(item, position=(first.x, first.y, first.z + 0.03))
    second = next(iter(spots.on(twin, target, [target, there], spots.Ground(GROUND))))
    assert first.z == second.z == pytest.approx(0.1, abs=0.003)
    assert max(abs(first.x - second.x), abs(first.y - second.y)) > 0.06


def test_a_vessel_nests_in_a_wider_one() -> None:
    cup, bowl = vessel("cup", 0.3, -0.3, 0.035, 0.05), vessel("bowl", 0.5, 0.1, 0.06, 0.05)
    spot = next(iter(spots.on(cup, bowl, [bowl], spots.Ground(GROUND))))
    assert spot.z == pytest.approx(GROUND + 0.006, abs=0.003)


def test_a_mug_stands_between_its_two_middles_over_that_of_a_plate() -> None:
    """That of its vessel, and with its handle; further off nobody claims that it is on the plate."""
    cup = Part.cylinder(upright(0.3, -0.3, 0.03, 0), 0.045, 0.05)
    handle = Part.box(upright(0.3, -0.36, 0.03, 0), [0.006, 0.015, 0.03])
    mug = thing_of_solid("mug", "item", "mug", Solid((cup, handle)), centre=(0.3, -0.3), round_class=True)
    plate = thing_of_solid("plate", "item", "plate", Solid((Part.cylinder(upright(0.5, 0.1, 0.0, 0), 0.07, 0.01),)))
    for spot in itertools.islice(spots.on(mug, plate, [plate], spots.Ground(GROUND)), 4):
        (yaw,) = spot.yaws or ()
        way = np.array((math.sin(yaw), -math.cos(yaw)))  # to the handle
        for by, on in ((0.0, True), (0.01, False)):
            x, y = (np.array((spot.x, spot.y)) + by * way).tolist()
            there = replace(mug, position=(x, y, spot.z + mug.size[2] / 2), yaw=yaw)
            told = relations.facts([there, plate], [], "", True, lambda _: True, put=["mug"], rules=RULES)
            assert (Literal("on", ("mug", "plate")) in told) is on


def test_a_bowl_stands_in_the_middle_of_a_plate_whose_rim_bears_it_unevenly() -> None:
    """Beside the middle more of its foot is borne, and it stands a little lower; there it is touched all around."""
    bowl = thing_of_solid("bowl", "item", "bowl", Solid((Part.cylinder(upright(0.3, -0.3, 0.0, 0), 0.057, 0.02),)))
    floor = Part.cylinder(upright(0.5, 0.1, GROUND + 0.006, 0), 0.069, 0.006)
    rim = [
        Part.box(upright(0.5, 0.1, GROUND + h / 2, a) @ upright(0.056, 0, 0, 0), [0.008, 0.012, h / 2])
        for a, h in ((math.pi / 2, 0.019), (math.pi / 4, 0.019), (3 * math.pi / 4, 0.019), (-math.pi / 2, 0.016))
    ]
    plate = thing_of_solid("plate", "item", "plate", Solid((floor, *rim)), round_class=True)
    spot = next(iter(spots.on(replace(bowl, round_class=True), plate, [plate], spots.Ground(GROUND))))
    assert math.dist((spot.x, spot.y), plate.position[:2]) < 0.006


def test_what_is_put_on_a_plate_stands_on_none_of_the_things_that_are_there() -> None:
    plate = vessel("plate", 0.5, 0.0, 0.095, 0.012)
    can = thing_of_solid("can", "item", "can", Solid((Part.cylinder(upright(0.5, 0.0, 0.03, 0), 0.033, 0.042),)))
    there = list(spots.on(block("cube", 0.3, 0.3, (0.03, 0.03, 0.03)), plate, [plate, can], spots.Ground(GROUND)))
    assert there and all(spot.z < GROUND + 0.015 for spot in there)
    assert all(math.dist((spot.x, spot.y), (0.5, 0.0)) > 0.04 for spot in there)
    bowl = vessel("bowl", 0.3, 0.3, 0.065, 0.05)
    assert not list(spots.on(bowl, plate, [plate, can], spots.Ground(GROUND)))
    assert list(spots.on(bowl, can, [plate, can], spots.Ground(GROUND)))  # where it is asked for


def test_in_a_box_it_lies_on_the_floor_and_beside_what_is_there() -> None:
    basket, item = vessel("basket", 0.5, 0.1, 0.1, 0.12), block("item", 0.3, -0.3, (0.05, 0.05, 0.06))
    inside = block("inside", 0.5, 0.1, (0.05, 0.05, 0.06), z=GROUND + 0.006)
    empty = next(iter(spots.inside(item, basket, [basket], spots.Ground(GROUND))))
    full = next(iter(spots.inside(item, basket, [basket, inside], spots.Ground(GROUND))))
    assert math.dist((empty.x, empty.y), (0.5, 0.1)) < 0.005
    assert math.dist((full.x, full.y), (0.5, 0.1)) > 0.045
    assert full.z == pytest.approx(GROUND + 0.006, abs=0.004)


def test_what_is_tall_stands_in_a_flat_vessel() -> None:
    bowl, item = vessel("bowl", 0.5, 0.1, 0.05, 0.04), block("item", 0.3, -0.3, (0.03, 0.03, 0.16))
    spot = next(iter(spots.inside(item, bowl, [bowl], spots.Ground(GROUND))))
    assert spot.z == pytest.approx(GROUND + 0.006, abs=0.003)


def test_what_is_too_large_for_an_opening_has_no_place_in_it() -> None:
    bowl, item = vessel("bowl", 0.5, 0.1, 0.05, 0.04), block("item", 0.3, -0.3, (0.2, 0.2, 0.05))
    assert not list(spots.inside(item, bowl, [bowl], spots.Ground(GROUND)))


@pytest.mark.parametrize(("full", "room"), [(0.0, True), (0.04, True), (0.1, False)])
def test_a_drawer_that_is_full_to_its_rim_has_no_place(full: float, room: bool) -> None:
    item, drawer = block("item", 0.3, -0.3, (0.05, 0.05, 0.06)), open_drawer()
    inside = [block("books", 0.55, 0.2, (0.19, 0.19, full), z=GROUND + 0.01)] if full else []
    assert any(spots.inside(item, drawer, [drawer, *inside], spots.Ground(GROUND))) is room


@pytest.mark.parametrize(
    ("height", "deep", "lies"), [(0.06, 0.2, False), (0.11, 0.2, False), (0.15, 0.1, True), (0.25, 0.2, None)]
)
def test_what_would_stand_out_of_a_drawer_is_laid_down_in_it(height: float, deep: float, lies: bool | None) -> None:
    """It could not be shut any more; a compartment need not be. What is too long for it has no place there."""
    item, region = block("item", 0.3, -0.3, (0.04, 0.04, height)), Region((0.5, 0.2, 0.0), (deep, 0.2, 0.06), 0.5)
    for kind, lying in (("drawer", lies), ("compartment", False)):
        part = room("part", "part", kind, region)
        found = list(spots.inside(item, part, [part], spots.Ground(-0.03)))
        assert {spot.lying[2] == 0.0 for spot in found} == (set() if lying is None else {lying})
        if lying:
            along = {round(abs(spot.lying[0] * math.sin(0.5) - spot.lying[1] * math.cos(0.5)), 3) for spot in found}
            assert along == {1.0}, "across the drawer, where there is room"


def test_a_region_under_a_roof_is_come_to_from_the_side() -> None:
    boards = [Part.box(upright(0.55, 0.2, z, 0), [0.12, 0.12, 0.01]) for z in (0.05, 0.3)]
    oven = thing_of_solid(
        "oven", "fixture", "microwave", Solid(tuple(boards)), regions=(Region((0.55, 0.2, 0.17), (0.2, 0.2, 0.2)),)
    )
    spot = next(iter(spots.inside(block("item", 0.3, -0.3, (0.05, 0.05, 0.06)), oven, [oven], spots.Ground(GROUND))))
    assert spot.z == pytest.approx(0.06, abs=0.003)
    assert all(z < 0.5 for _, _, z in spot.ways)
    assert spot.rise < 0.05  # else it would be let go on the roof


def tilted_rack(known: bool) -> Thing:
    """A slope with a lip, above which there is a region if it is known; its middle is at (0.45, -0.2)."""
    tilted = upright(0.45, -0.2, 0.2, 0.0) @ laid((0.0, 0.5, math.sqrt(0.75)))
    lip = tilted @ upright(0.0, 0.12, 0.012, 0.0)
    region = Region((0.45, float(lip[1, 3]), float(lip[2, 3])), (0.2, 0.03, 0.03))
    parts = Part.box(tilted, [0.13, 0.12, 0.004]), Part.box(lip, [0.13, 0.003, 0.012])
    return thing_of_solid("rack", "fixture", "wine_rack", Solid(parts), regions=(region,) if known else ())


def test_what_is_tall_is_laid_along_a_slope_that_is_seen_from_its_lower_edge_on() -> None:
    rack = tilted_rack(known=False)
    bottle = thing_of_solid("bottle", "item", "bottle", Solid((Part.cylinder(upright(0.3, 0.2, 0.06, 0), 0.02, 0.08),)))
    edge = -0.2 + 0.12 * math.sqrt(0.75)
    for spot in spots.on(bottle, rack, [rack], spots.Ground(GROUND)):
        assert spot.lying[2] == pytest.approx(0.5, abs=0.05), "its upper end up"
        assert spot.y + 0.08 * math.sqrt(0.75) == pytest.approx(edge, abs=0.02)
    assert spot.x == pytest.approx(0.45, abs=0.07)
    table = block("table", 0.45, -0.2, (0.2, 0.2, 0.1))
    assert sloped_top(table) is None and sloped_top(rack).centre == pytest.approx((0.45, -0.2, 0.2), abs=0.01)


def test_what_is_tall_is_laid_on_a_slope() -> None:
    rack = tilted_rack(known=True)
    (region,) = rack.regions
    bottle = thing_of_solid("bottle", "item", "bottle", Solid((Part.cylinder(upright(0.3, 0.2, 0.06, 0), 0.02, 0.08),)))
    found = list(spots.on(bottle, rack, [rack], spots.Ground(GROUND)))
    assert found
    for spot in found:
        assert abs(spot.lying[2]) < 0.6  # along the slope or across it
        assert math.dist((spot.x, spot.y), region.centre[:2]) < 0.13


@pytest.mark.parametrize("known", [False, True])
def test_what_is_flat_is_laid_with_its_foot_on_a_slope(known: bool) -> None:
    rack, packet = tilted_rack(known), block("packet", 0.3, 0.2, (0.08, 0.05, 0.02))
    first = next(iter(spots.on(packet, rack, [rack], spots.Ground(GROUND))))
    assert first.lying == pytest.approx((0.0, 0.5, math.sqrt(0.75)), abs=0.1)


@pytest.mark.parametrize(("size", "within"), [(0.15, False), (0.6, True)])
def test_beside_a_thing_is_within_its_place_where_that_has_room_for_both(size: float, within: bool) -> None:
    place, plate = Location("center", (0.5, 0.0), (size, size)), block("plate", 0.5, 0.0, (0.13, 0.13, 0.02))
    item, ground = block("item", 0.3, 0.3, (0.08, 0.08, 0.05)), spots.Ground(GROUND, (place,))
    found = [(spot.x, spot.y) for spot in spots.beside(item, plate, math.pi / 2, [plate], ground)]
    assert found and all(place.covers(x, y) for x, y in found) is within


def test_two_things_have_room_on_a_region_for_two() -> None:
    stove = block("stove", 0.5, 0.2, (0.3, 0.3, 0.05))
    stove = replace(stove, regions=(Region((0.5, 0.2, 0.03), (0.15, 0.15, 0.01)),))
    one, two = block("one", 0.3, -0.3, (0.07, 0.07, 0.12)), block("two", 0.4, -0.3, (0.07, 0.07, 0.12))
    first_spot = next(iter(spots.on(one, stove, [stove, two], spots.Ground(GROUND))))
    there = replace(one, position=(first_spot.x, first_spot.y, 0.09))
    second_spot = next(iter(spots.on(two, stove, [stove, there], spots.Ground(GROUND))))
    assert first_spot.z == pytest.approx(0.03, abs=0.002)
    assert second_spot.z == pytest.approx(0.03, abs=0.002)
    assert math.dist((first_spot.x, first_spot.y), (second_spot.x, second_spot.y)) > 0.07 + spots.FINGERS - spots.GAP


def test_two_long_things_stand_side_by_side_wholly_on_what_bears_them() -> None:
    """As two moka pots on a burner: the first one in the middle, or at one end, would leave the second half over."""
    stove = thing_of_solid(
        "stove", "fixture", "stove", Solid((Part.box(upright(0.5, 0.2, 0.0, 0), [0.08, 0.1, 0.03]),))
    )
    one, two = block("one", 0.3, -0.3, (0.08, 0.14, 0.15)), block("two", 0.4, -0.3, (0.08, 0.14, 0.15))
    first = next(iter(spots.on(one, stove, [stove, two], spots.Ground(GROUND))))
    there = replace(one, position=(first.x, first.y, first.z + 0.075))
    second = next(iter(spots.on(two, stove, [stove, there], spots.Ground(GROUND))))
    assert all(abs(s.x - 0.5) < 0.07 and abs(s.y - 0.2) < 0.03 for s in (first, second))
    assert abs(first.x - second.x) > 0.08 + spots.FINGERS - 0.012


def test_beside_means_left_or_right_on_the_ground() -> None:
    item, target = block("item", 0.3, -0.3, (0.04, 0.04, 0.06)), vessel("bowl", 0.5, 0.1, 0.06, 0.05)
    for side in (1.0, -1.0):
        spot = next(iter(spots.beside(item, target, side * math.pi / 2, [target], spots.Ground(GROUND))))
        assert spot.z == pytest.approx(GROUND, abs=0.001)
        assert 0.07 < side * (spot.y - 0.1) < 0.14 and abs(spot.x - 0.5) < 0.01


def test_beside_something_a_long_thing_stands_so_that_it_is_near() -> None:
    item, target = block("item", 0.3, -0.3, (0.03, 0.08, 0.03)), vessel("bowl", 0.5, 0.1, 0.06, 0.05)
    spot = next(iter(spots.beside(item, target, math.pi / 2, [target], spots.Ground(GROUND))))
    assert spot.yaws is not None and abs(math.sin(spot.yaws[0])) == pytest.approx(1.0, abs=0.01)


def test_between_two_things_it_stands_in_the_middle() -> None:
    item = block("item", 0.3, -0.3, (0.04, 0.04, 0.06))
    one, two = block("one", 0.5, 0.15, (0.04, 0.04, 0.06)), block("two", 0.5, -0.15, (0.04, 0.04, 0.06))
    spot = next(iter(spots.between(item, one, two, [one, two], spots.Ground(GROUND))))
    assert (spot.x, spot.y) == pytest.approx((0.5, 0.0), abs=0.005)


def test_at_a_place_it_stands_in_its_middle_or_beside_what_is_there() -> None:
    place, item = Location("middle", (0.5, 0.0), (0.15, 0.15)), block("item", 0.3, -0.3, (0.04, 0.04, 0.06))
    there = block("there", 0.5, 0.0, (0.04, 0.04, 0.06))
    free = next(iter(spots.at(item, place, [], spots.Ground(GROUND))))
    taken = next(iter(spots.at(item, place, [there], spots.Ground(GROUND))))
    assert (free.x, free.y) == pytest.approx((0.5, 0.0), abs=0.001)
    assert 0.04 <= math.dist((taken.x, taken.y), (0.5, 0.0)) < 0.09


# ---- skills -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "target", "action"),
    [
        (vessel("bowl", 0.5, -0.2, 0.055, 0.05), block("plate", 0.55, 0.2, (0.14, 0.14, 0.015)), "place_on"),
        (vessel("bowl", 0.5, -0.2, 0.055, 0.05), shelf(0.2), "place_on"),
        (block("soup", 0.45, -0.2, (0.06, 0.06, 0.08)), vessel("basket", 0.6, 0.2, 0.09, 0.13), "place_in"),
    ],
)
def test_the_centre_of_what_is_carried_comes_to_the_goal(scene, kitchen, item, target, action) -> None:
    bench = SolidBench(scene, kitchen, [item, target])
    bench.run(f"grasp({item.name})")
    bench.run(f"{action}({item.name}, {target.name})")
    there = bench.things[item.name]
    assert math.dist(there.position[:2], target.position[:2]) < 0.02
    assert there.orientation is None
    assert bench.world.held is None


def test_after_a_miss_another_grasp_is_tried(scene, kitchen) -> None:
    bench = SolidBench(scene, kitchen, [vessel("bowl", 0.5, -0.1, 0.055, 0.05)], misses=2)
    bench.run("grasp(bowl)")
    first_grip, second = bench.arm.grips[0], bench.arm.grips[-1]
    apart = math.dist(first_grip[:3, 3], second[:3, 3])
    assert apart > 0.01 or abs(first_grip[:3, 1] @ second[:3, 1]) < 0.97


def test_what_cannot_be_put_down_says_why(scene, kitchen) -> None:
    slab, cup = block("slab", 0.5, -0.2, (0.25, 0.04, 0.05)), vessel("cup", 0.55, 0.2, 0.045, 0.05)
    bench = SolidBench(scene, kitchen, [slab, cup])
    bench.run("grasp(slab)")
    with raises_code("planning_failed", "slab", "cup") as failure:
        bench.run("place_in(slab, cup)")
    assert failure.value.action_code is Code.PLANNING_FAILED
    assert bench.world.held is not None


def test_what_a_full_drawer_does_not_take_stays_in_the_hand(scene, kitchen) -> None:
    box, books = (
        block("box", 0.5, -0.2, (0.04, 0.04, 0.05)),
        block("books", 0.55, 0.2, (0.19, 0.19, 0.1), GROUND + 0.01),
    )
    bench = SolidBench(scene, kitchen, [box, open_drawer(), books])
    bench.run("grasp(box)")
    with raises_code("planning_failed", "box", "drawer") as failure:
        bench.run("place_in(box, drawer)")
    assert failure.value.action_code is Code.PLANNING_FAILED
    assert bench.world.held is not None


def oven(roof: float) -> Thing:
    """Two boards with room between them, from the ground to a height."""
    boards = [Part.box(upright(0.55, 0.25, z, 0), [0.1, 0.1, 0.005]) for z in (GROUND + 0.005, roof + 0.005)]
    middle = (roof + GROUND + 0.01) / 2
    region = Region((0.55, 0.25, middle), (0.16, 0.16, roof - GROUND - 0.01))
    return thing_of_solid("oven", "fixture", "microwave", Solid(tuple(boards)), regions=(region,))


@pytest.mark.ompl
def test_where_the_hand_has_no_room_over_an_item_it_is_grasped_anew_from_the_side(scene, kitchen) -> None:
    box = block("box", 0.5, -0.15, (0.05, 0.05, 0.09))
    bench = SolidBench(scene, kitchen, [box, oven(0.13)])
    bench.run("grasp(box)")
    bench.run("place_in(box, oven)")
    assert bench.arm.grips[0][2, 2] < -0.9
    assert bench.arm.grips[-1][2, 2] > -0.8
    assert math.dist(bench.things["box"].position[:2], (0.55, 0.25)) < 0.08
    assert GROUND < bench.things["box"].bottom < 0.03
    assert bench.world.held is None


def test_an_item_that_no_grasp_helps_stays_in_the_hand(scene, kitchen) -> None:
    box = block("box", 0.5, -0.15, (0.05, 0.05, 0.09))
    bench = SolidBench(scene, kitchen, [box, oven(0.065)])
    bench.run("grasp(box)")
    with pytest.raises(SkillFailureError) as failure:
        bench.run("place_in(box, oven)")
    assert failure.value.action_code is Code.PLANNING_FAILED
    assert bench.world.held is not None
    assert len(bench.arm.grips) == 1


def test_rooms_are_no_obstacles(scene) -> None:
    drawer = room("drawer", "part", "drawer", Region((0.5, 0.0, 0.1), (0.2, 0.2, 0.1)))
    scene.update([drawer])
    assert scene.shapes == []


def test_what_is_held_collides_with_each_of_its_parts(scene) -> None:
    home = np.array(scene.robot.home)
    hand = Kinematics(scene.model, scene.robot).forward(home)
    ends = [Part.box(upright(0.5, y, 0.0, 0), [0.01, 0.05, 0.01]) for y in (0.2, -0.2)]
    bar = thing_of_solid("bar", "item", "bar", Solid(tuple(ends)))
    scene.detach()
    for y, touched in ((0.1, False), (0.2, True)):
        scene.update([block("post", float(hand[0, 3]), y, (0.02, 0.02, 0.6))])
        scene.attach(bar, np.eye(4))
        found = scene.contact(home, 0.0)
        scene.detach()
        assert (found is not None and {found.first, found.second} == {"bar", "post"}) == touched

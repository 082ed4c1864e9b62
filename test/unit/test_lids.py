"""Lids: what covers a pot is a thing of its own, what is under it is hidden, and it comes off before things go in."""

import math

import numpy as np
import pytest
from codes import raises_code
from doubles.kitchen_cameras import SeenKitchen
from doubles.named_worlds import read
from doubles.seeing_kitchen import SeeingKitchen

import planweave as pw
from planweave.bodies.arm import relations
from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.solids import Part, Solid, block
from planweave.core.base.failure import Code
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Action, Known, WorldObject
from planweave.geometry.joints import frame

POT, LID, CAN = 0, 1, 2  # indices of the objects in the scenes here
HIGH = 0.0902  # m: where a lid lies on the usual pot


def scene(pot="gray", lid="red", at=(0.45, 0.10), wide=0.14, high=0.09, edge=0.003):
    """Lines of a scene: a covered pot, and a can beside it."""
    (x, y), rim = at, high + 0.0002
    return f"""
objects:
  - {{kind: pot, colour: {pot}, size: [{wide}, {high}], position: [{x}, {y}]}}
  - {{kind: lid, colour: {lid}, size: [{wide + 2 * edge}, 0.04], position: [{x}, {y}, {rim}]}}
  - {{kind: can, colour: green, position: [0.42, -0.12]}}
"""


# ---- what is seen -------------------------------------------------------------------------------------------------


def of_class(result, *names):
    return [o for o in result.objects if o.thing.class_name in names]


@pytest.mark.gl
@pytest.mark.slow
@pytest.mark.parametrize(
    ("pot", "lid", "seed"), [("blue", "yellow", 1), ("yellow", "purple", 2), ("orange", "green", 3)]
)
def test_a_covered_pot_is_a_lid_and_what_it_covers_and_the_lid_is_known_again_elsewhere(pot, lid, seed):
    rng = np.random.default_rng(seed)
    at, wide, high = rng.uniform((0.36, -0.05), (0.50, 0.20)), rng.uniform(0.12, 0.16), rng.uniform(0.08, 0.10)
    kitchen = SeenKitchen(scene(pot, lid, at, wide, high))

    def check(result, place, bottom):
        (cover,), (vessel,) = of_class(result, "lid"), of_class(result, "pot", "bowl")
        assert cover.visible and cover.thing.colour == lid
        assert cover.thing.position[:2] == pytest.approx(place, abs=0.005)
        assert cover.thing.bottom == pytest.approx(bottom, abs=0.01)
        assert cover.thing.size[0] == pytest.approx(wide + 0.006, abs=0.008)
        assert vessel.thing.position[:2] == pytest.approx(at, abs=0.005)
        assert vessel.thing.size[2] == pytest.approx(high, abs=0.01)
        return cover.name, vessel

    name, vessel = check(kitchen.look(4), at, high)
    assert not vessel.visible and vessel.inferred
    kitchen.put(LID, (0.50, -0.25, 0.0))
    off, vessel = check(kitchen.look(4), (0.50, -0.25), 0.0)
    assert vessel.visible and off == name
    kitchen.put(LID, (*at, high + 0.0002))
    again, vessel = check(kitchen.look(4), at, high)
    assert again == name and not vessel.visible


@pytest.mark.gl
@pytest.mark.slow
def test_where_nothing_shows_the_lid_it_is_one_unknown_thing_until_the_pot_was_seen():
    kitchen = SeenKitchen(scene(lid="gray"))
    result = kitchen.look(5)
    assert not of_class(result, "lid", "pot", "bowl")
    assert [o.thing.class_name for o in result.objects if math.dist(o.thing.position[:2], (0.45, 0.1)) < 0.03] == [
        "unknown_thing"
    ]
    kitchen.put(LID, (0.50, -0.25, 0.0))
    kitchen.look(7)
    kitchen.put(LID, (0.45, 0.1, HIGH))
    result = kitchen.look(7)
    (cover,), (vessel,) = of_class(result, "lid"), of_class(result, "pot")
    assert cover.thing.bottom == pytest.approx(0.09, abs=0.01) and not vessel.visible


@pytest.mark.gl
@pytest.mark.slow
def test_what_is_hidden_in_a_covered_pot_goes_along_with_it():
    others = "".join(f"  - {{kind: mug, position: [{x}, {y}]}}\n" for x, y in ((0.3, -0.3), (0.3, 0.3), (0.62, -0.1)))
    kitchen = SeenKitchen(scene(at=(0.45, 0.14)) + others)
    kitchen.put(LID, (0.50, -0.25, 0.0))
    kitchen.look(3)
    kitchen.put(CAN, (0.45, 0.14, 0.004))
    kitchen.look(4)
    for y in (0.14, -0.02, 0.04):  # to where it was not at all, and to where it was in part
        for index, height in ((POT, 0.0), (LID, HIGH), (CAN, 0.004)):
            kitchen.put(index, (0.45, y, height))
        found = {o.name: o for o in kitchen.look(5).objects if o.thing.class_name != "mug"}
        assert found.keys() == {"pot", "lid", "can"}, y
        assert not found["can"].visible and found["lid"].visible
        for name in found:
            assert found[name].thing.position[:2] == pytest.approx((0.45, y), abs=0.012)


# ---- what follows -------------------------------------------------------------------------------------------------


def upright_thing(name, class_name, solid, place, bottom, type_="item"):
    """A thing of a solid about its centre."""
    height = float(solid.bounds[1][2] - solid.bounds[0][2])
    moved = solid.moved(frame(np.eye(3), np.array((*place, bottom + height / 2))))
    return thing_of_solid(name, type_, class_name, moved, round_class=True)


def vessel(name="pot", place=(0.5, 0.0)):
    return upright_thing(name, "pot", block((0.14, 0.14, 0.09), True, True), place, 0.0)


def lid(place=(0.5, 0.0), bottom=0.09):
    knob = Part.cylinder(frame(np.eye(3), np.array((0.0, 0.0, 0.017))), 0.011, 0.012)
    disc = Part.cylinder(np.eye(4), 0.073, 0.005)
    return upright_thing("lid", "lid", Solid((disc, knob)), place, bottom)


def facts(*things):
    return {str(f) for f in relations.facts(things, (), "", False, lambda thing: True)}


def test_a_lid_on_the_rim_covers_and_one_beside_the_pot_does_not():
    assert {"on(lid, pot)", "covered(pot)"} <= facts(vessel(), lid())
    assert not {"on(lid, pot)", "covered(pot)"} & facts(vessel(), lid((0.5, 0.16), 0.0))
    assert "covered(pot)" not in facts(vessel(), lid((0.5, 0.03))), "it leaves a part of the opening free"
    assert "covered(pot)" not in facts(vessel(), lid((0.5, 0.09), 0.05)), "it leans on the rim"
    assert "covered(pot)" not in facts(vessel(), lid((0.5, 0.0), 0.13)), "it hangs over it"


def test_a_lid_lies_on_the_rim_and_not_on_what_is_in_the_pot():
    can = upright_thing("can", "can", block((0.06, 0.06, 0.088), True, False), (0.5, 0.01), 0.004)
    found = facts(vessel(), can, lid())
    assert {"on(lid, pot)", "covered(pot)", "in(can, pot)"} <= found
    assert "on(lid, can)" not in found


def test_what_lies_in_a_pot_does_not_cover_it():
    can = upright_thing("can", "can", block((0.06, 0.06, 0.06), True, False), (0.5, 0.0), 0.004)
    found = facts(vessel(), can)
    assert "in(can, pot)" in found and "covered(pot)" not in found


# ---- plans and sentences ------------------------------------------------------------------------------------------

OBJECTS = "pot: item; lid: lid; can: item; plate: item; stove: fixture; counter: location"
ALWAYS = ("bears_things(pot)", "bears_things(stove)", "bears_things(plate)", "bears_things(can)", "holds_things(pot)")
COVERED = ("on(lid, pot)", "covered(pot)")


def world(*more):
    """A world of the kitchen; locations are clear of nothing."""
    domain = Domain.load("kitchen")
    found = domain.world(OBJECTS, [*ALWAYS, *more])
    kept = frozenset(f for f in found.facts if not (f.predicate == "clear" and f.args == ("counter",)))
    things = tuple(o if o.type == "location" else WorldObject(o.name, o.type, o.name) for o in found.objects)
    return domain, pw.World(found.domain, things, kept)


def plan(goal, *more):
    domain, where = world(*more)
    return [str(a) for a in pw.plan(domain, where, [pw.Literal.parse(text) for text in goal])]


OFF = ["grasp(lid)", "place_at(lid, counter)"]


@pytest.mark.parametrize(
    ("goal", "more", "expected"),
    [
        (["in(can, pot)"], COVERED, [*OFF, "grasp(can)", "place_in(can, pot)"]),
        (["in(can, pot)"], (), ["grasp(can)", "place_in(can, pot)"]),
        (["covered(pot)"], (), ["grasp(lid)", "place_on(lid, pot)"]),
        (["not covered(pot)", "hand_empty()"], COVERED, OFF),
        (
            ["in(can, pot)", "covered(pot)"],
            COVERED,
            [*OFF, "grasp(can)", "place_in(can, pot)", "grasp(lid)", "place_on(lid, pot)"],
        ),
        (["on(can, plate)"], (*COVERED, "in(can, pot)"), [*OFF, "grasp(can)", "place_on(can, plate)"]),
        (["on(pot, stove)"], COVERED, [*OFF, "grasp(pot)", "place_on(pot, stove)"]),
    ],
)
def test_a_lid_comes_off_first(goal, more, expected):
    assert plan(goal, *more) == expected


def test_a_pot_whose_lid_cannot_be_reached_stays_covered():
    domain, where = world(*COVERED)
    where = pw.World(where.domain, where.objects, where.facts - {pw.Literal.parse("reachable(lid)")})
    with raises_code("no_plan"):
        pw.plan(domain, where, [pw.Literal.parse("in(can, pot)")])


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("take the lid off the pot", "not on(lid, pot)"),
        ("take the lid off", "not on(lid, pot)"),
        ("remove the lid from the pot", "not on(lid, pot) & hand_empty()"),
        ("uncover the pot", "not covered(pot) & hand_empty()"),
        ("open the pot", "not covered(pot) & hand_empty()"),
        ("put the lid on the pot", "on(lid, pot)"),
        ("cover the pot", "covered(pot)"),
        ("close the pot", "covered(pot)"),
        ("cover the pot with the lid", "on(lid, pot)"),
        ("put the can into the pot", "in(can, pot)"),
        ("put the can in the pot and cover it", "in(can, pot) & covered(pot)"),
        ("put the can in the pot and close it", "in(can, pot) & covered(pot)"),
        ("make sure that the pot is covered", "covered(pot)"),
    ],
)
def test_what_people_say_of_lids(sentence, goal):
    found = read(*world(*COVERED), sentence).goal
    assert set(found) == {pw.Literal.parse(text) for text in goal.split(" & ")}


@pytest.mark.parametrize(("facts_", "yes"), [(COVERED, True), ((), False)])
def test_whether_a_pot_is_covered_is_answered(facts_, yes):
    assert read(*world(*facts_), "is the pot covered?").answer.startswith("Yes" if yes else "No")


@pytest.mark.parametrize("sentence", ["cover the plate", "open the plate", "uncover the can"])
def test_what_has_no_inside_is_not_covered(sentence):
    with raises_code("goal"):
        read(*world(), sentence)


# ---- the arm, by its cameras --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def compiled():
    return SeeingKitchen(scene(), moving_images=0)


@pytest.fixture
def kitchen(compiled):
    compiled.start_over()
    compiled.see(4)
    yield compiled
    compiled.meanwhile = lambda: None


def facts_of(kitchen):
    return {str(fact) for fact in kitchen.world.world().facts}


def done(kitchen, *actions):
    for action in actions:
        outcome = kitchen.run(Action.parse(action))
        assert outcome.ok, (action, outcome.message)


def place_of(kitchen, index):
    return kitchen.simulator.object_pose(index)[0]


@pytest.mark.gl
@pytest.mark.slow
def test_a_can_is_put_into_a_covered_pot_which_is_covered_again(kitchen):
    assert {"on(lid, pot)", "covered(pot)"} <= facts_of(kitchen)
    plan = pw.plan(kitchen.domain, kitchen.world.world(), "in(can, pot) and covered(pot)")
    assert len(plan) == 6
    done(kitchen, *map(str, plan))
    kitchen.see(2)
    assert {"in(can, pot)", "on(lid, pot)", "covered(pot)", "hand_empty()"} <= facts_of(kitchen)
    assert place_of(kitchen, LID) == pytest.approx((0.45, 0.10, 0.09), abs=0.006)
    assert math.dist(place_of(kitchen, CAN)[:2], (0.45, 0.10)) < 0.045 and place_of(kitchen, CAN)[2] < 0.01
    known = {o.name: o.known for o in kitchen.world.world().objects}
    assert known["lid"] is Known.SEEN
    assert known["can"] is Known.REMEMBERED, "it is under the lid: hidden, not gone, and not seen"


@pytest.mark.gl
@pytest.mark.slow
def test_a_lid_that_ends_beside_the_pot_is_not_on_it(kitchen):
    done(kitchen, "grasp(lid)")

    def taken_away():
        if kitchen.simulator.joint_state()[0][-1] > 0.02:  # the fingers have let it go
            kitchen.put(LID, (0.50, -0.25, 0.0))

    kitchen.meanwhile = taken_away
    assert kitchen.run(Action("place_on", ("lid", "pot"))).code is Code.GRASP_LOST
    kitchen.see(2)
    assert not {"on(lid, pot)", "covered(pot)"} & facts_of(kitchen)


@pytest.mark.gl
@pytest.mark.slow
def test_a_lid_that_a_person_puts_back_meanwhile_is_noticed(kitchen):
    done(kitchen, "grasp(lid)", "place_at(lid, counter)", "grasp(can)")
    assert "covered(pot)" not in facts_of(kitchen)
    kitchen.put(LID, (0.45, 0.10, HIGH))
    kitchen.see(3)
    assert "covered(pot)" in facts_of(kitchen)
    assert kitchen.run(Action("place_in", ("can", "pot"))).code is Code.PRECONDITION_UNMET

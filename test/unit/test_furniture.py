"""Furniture as cameras see it: what its joints say, and that the simulated arm opens and closes it by that alone."""

from dataclasses import replace

import numpy as np
import pytest
from doubles.kitchen import Kitchen

from planweave.bodies.arm.furniture import Furniture
from planweave.core.base.paths import find_config
from planweave.core.symbolic.world import Action, Literal
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.perception.articulation import remembered
from planweave.simulation.scene import parse_scene

SCENE = "objects:\n  - {kind: cube, position: [0.2, -0.4]}\ntable: {size: [1.8, 1.8]}\nfixtures:\n  - {%s}\n"
DRAWER = Literal("opened", ("cabinet_top_drawer",))


def drawer(name="top_drawer", value=0.0, height=0.15):
    """A drawer whose front faces -x; its front moves with its value."""
    axis = np.array((-1.0, 0.0, 0.0))
    axes = np.column_stack((axis, (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)))
    panel = OrientedBox(np.array((0.5 - value, 0.0, height)), axes, np.array((0.006, 0.12, 0.05)))
    handle = OrientedBox(panel.centre + 0.04 * axis, axes, np.array((0.006, 0.05, 0.006)))
    return SeenJoint(name, "slide", axis, panel.centre, value, 0.16, panel, handle)


def facts_at(value, joint=None):
    joint = joint or drawer()
    seen = replace(joint, value=value)
    body = OrientedBox(np.array((0.6, 0.0, 0.1)), np.eye(3), np.full(3, 0.1))
    return {str(fact) for fact in Furniture.of(SeenFixture("cabinet", "cabinet", (body,), (seen,))).facts()}


def test_what_is_neither_shut_nor_open_enough_is_ajar():
    assert "closed(cabinet_top_drawer)" in facts_at(0.003)
    assert not any("closed" in fact or "opened" in fact for fact in facts_at(0.05))
    assert "opened(cabinet_top_drawer)" in facts_at(0.14)
    assert {"can_open(cabinet_top_drawer)", "part_of(cabinet_top_drawer, cabinet)"} <= facts_at(0.05)


def test_a_drawer_is_open_at_the_end_of_its_remembered_travel_and_goes_farther_where_it_is_seen_so():
    body = OrientedBox(np.array((0.6, 0.0, 0.1)), np.eye(3), np.full(3, 0.1))
    seen = Furniture.of(SeenFixture("cabinet", "cabinet", (body,), (drawer(value=0.1),)))
    assert DRAWER not in seen.facts() and DRAWER in seen.with_travels({DRAWER.args[0]: 0.1}).facts()
    assert seen.with_travels({DRAWER.args[0]: 0.1}).state != seen.state, "the facts are computed anew"
    farther = seen.with_travels({DRAWER.args[0]: 0.08})
    assert farther.articulation(DRAWER.args[0]).open_end == 0.1
    assert seen.with_travels({"cabinet_door": 0.1}) is seen


def test_which_way_of_a_knob_is_on_nobody_sees():
    knob = replace(drawer("knob"), kind="hinge", axis=np.array((0.0, 0.0, 1.0)))
    assert facts_at(1.0, knob) == {"can_turn(cabinet)"}


def test_a_part_keeps_its_name_and_one_that_is_hidden_is_remembered():
    before = [drawer(), drawer("bottom_drawer", height=0.05)]
    now = [drawer("drawer", value=0.15)]  # it hides the other one
    found = {joint.name: joint for joint in remembered(before, now)}
    assert (found["top_drawer"].value, found["top_drawer"].visible) == (0.15, True)
    assert (found["bottom_drawer"].value, found["bottom_drawer"].visible) == (0.0, False)
    again = {joint.name: joint for joint in remembered(list(found.values()), before)}
    assert again.keys() == found.keys() and all(joint.visible for joint in again.values())


def test_a_front_that_is_half_hidden_is_known_by_its_name():
    before = [drawer(), drawer("bottom_drawer", height=0.05)]
    half_seen = drawer("top_drawer", value=0.15)
    middle = half_seen.panel.centre + (0.0, 0.06, 0.0)
    now = [replace(half_seen, panel=replace(half_seen.panel, centre=middle))]
    found = remembered(before, now)
    assert [(joint.name, joint.value, joint.visible) for joint in found] == [
        ("top_drawer", 0.15, True),
        ("bottom_drawer", 0.0, False),
    ]
    far = [replace(half_seen, panel=replace(half_seen.panel, centre=middle + (0.0, 0.3, 0.0)))]
    assert [(joint.name, joint.visible) for joint in remembered(before, far)] == [
        ("top_drawer", False),
        ("bottom_drawer", False),
    ]


@pytest.mark.parametrize(
    ("value", "floor", "kept"), [(0.15, 0.18, True), (0.15, None, True), (0.13, 0.18, False), (0.15, 0.121, False)]
)
def test_the_floor_of_a_drawer_that_is_hidden_now_is_where_it_was(value, floor, kept):
    def inside(top):
        return (OrientedBox(np.array((0.42, 0.0, top - 0.005)), np.eye(3), np.array((0.07, 0.1, 0.005))),)

    before = replace(drawer(value=0.15), box=inside(0.12))
    now = replace(drawer(value=value), box=inside(floor) if floor else ())
    (found,) = remembered([before], [now])
    assert found.box is (before if kept else now).box


def test_a_front_that_is_cut_in_two_is_not_the_drawer_below_it():
    before = [drawer(), drawer("bottom_drawer", height=0.05)]
    halves = [drawer(name, 0.15, height) for name, height in (("top_drawer", 0.175), ("bottom_drawer", 0.125))]
    now = [replace(half, panel=replace(half.panel, half=np.array((0.006, 0.12, 0.025)))) for half in halves]
    assert [(joint.name, joint.value, joint.visible) for joint in remembered(before, now)] == [
        ("top_drawer", 0.15, True),
        ("bottom_drawer", 0.0, False),
    ]


def kitchen_of(fixture):
    return Kitchen(parse_scene(SCENE % fixture, find_config("scenes", "blocks").with_name("test.yaml")))


@pytest.mark.gl
def test_the_arm_opens_and_closes_a_drawer_by_what_the_cameras_see():
    kitchen = kitchen_of("kind: cabinet, position: [0.70, 0.15], yaw: 0.2")
    kitchen.skills.run(Action("open", ("cabinet_top_drawer",)))
    assert kitchen.true("top_drawer") > 0.14 and kitchen.world.world().holds(DRAWER)
    assert kitchen.true("bottom_drawer") < 0.002
    (room,) = (thing for thing in kitchen.world.things() if thing.name == "cabinet_top_drawer")
    assert room.size[0] == pytest.approx(kitchen.true("top_drawer"), abs=0.005), "things can be put in"
    kitchen.skills.run(Action("close", ("cabinet_top_drawer",)))
    assert kitchen.true("top_drawer") < 0.003
    assert kitchen.world.world().holds(Literal("closed", ("cabinet_top_drawer",)))


@pytest.mark.gl
def test_the_arm_opens_a_door_by_what_the_cameras_see():
    kitchen = kitchen_of("kind: cupboard, position: [0.70, -0.15], yaw: -0.2")
    kitchen.skills.run(Action("open", ("cupboard",)))
    assert kitchen.true("door") > 1.0 and kitchen.world.world().holds(Literal("opened", ("cupboard",)))

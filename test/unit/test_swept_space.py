"""What is in the way of drawers and doors: by their geometry, and as facts that the planner clears away first."""

from dataclasses import replace

import numpy as np
import pytest

from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.swept_space import blocks, swept
from planweave.core.planning.solver import NoPlanError, solve
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal, World, WorldObject
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint, frame, turn

OUT = np.array((-1.0, 0.0, 0.0))
AXES = np.column_stack((OUT, (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)))
MUG = Thing("mug", "item", "mug", (0.42, 0.0, 0.04), (0.08, 0.08, 0.08))


def cabinet(value=0.0, at=(0.0, 0.0)):
    """A cabinet whose front is at x = 0.5, with a drawer 0.05 to 0.15 m high that is so far out."""
    panel = OrientedBox(np.array((0.5 - value, 0.0, 0.1)), AXES, np.array((0.006, 0.12, 0.05)))
    handle = OrientedBox(panel.centre + 0.04 * OUT, AXES, np.array((0.006, 0.05, 0.006)))
    joint = SeenJoint("drawer", "slide", OUT, panel.centre, value, 0.16, panel, handle)
    body = OrientedBox(np.array((0.6, 0.0, 0.1)), AXES, np.array((0.09, 0.12, 0.1)))
    return Furniture.of(SeenFixture("cabinet", "cabinet", (body,), (joint,)).shifted(np.array((*at, 0.0))))


def cupboard(value=0.0):
    """A cupboard beside it, hinged at (0.5, 0.15), whose door opens towards the robot and over to the cabinet."""
    up, hinge = np.array((0.0, 0.0, 1.0)), np.array((0.5, -0.17, 0.0))
    shut = OrientedBox(np.array((0.5, -0.29, 0.1)), AXES, np.array((0.006, 0.12, 0.1)))
    turned = turn(-up, value)
    panel = shut.moved(frame(turned, hinge - turned @ hinge))
    joint = SeenJoint("door", "hinge", -up, hinge, value, 1.9, panel, None)
    body = OrientedBox(np.array((0.6, -0.29, 0.1)), AXES, np.array((0.09, 0.12, 0.1)))
    return Furniture.of(SeenFixture("cupboard", "cupboard", (body,), (joint,)))


def names(furniture, *things, within=()):
    return {fact.args for fact in blocks(furniture, things, within)}


@pytest.mark.parametrize(
    ("position", "blocked"),
    [((0.42, 0.0, 0.04), True), ((0.42, 0.17, 0.04), False), ((0.28, 0.0, 0.04), False), ((0.42, 0.0, 0.03), False)],
)
def test_what_stands_before_a_drawer_and_is_high_enough_blocks_it(position, blocked):
    low = replace(MUG, position=position, size=(0.08, 0.08, 2 * position[2]))
    assert names([cabinet()], low) == ({("mug", "cabinet_drawer")} if blocked else set())


def test_what_lies_in_a_drawer_moves_along_and_what_is_behind_its_front_blocks_it():
    thing = replace(MUG, position=(0.44, 0.0, 0.11))
    assert names([cabinet(0.15)], thing) == {("mug", "cabinet_drawer")}
    assert not names([cabinet(0.15)], thing, within=[Literal("in", ("mug", "cabinet_drawer"))])


def test_a_door_sweeps_round_its_hinge():
    assert names([cupboard()], replace(MUG, position=(0.40, -0.25, 0.04))) == {("mug", "cupboard")}
    assert not names([cupboard()], replace(MUG, position=(0.40, 0.10, 0.04)))
    assert not names([cupboard(1.42)], replace(MUG, position=(0.30, -0.40, 0.04))), "beyond its edge"
    assert names([cupboard(1.42)], replace(MUG, position=(0.42, -0.30, 0.04))) == {("mug", "cupboard")}, "to shut it"


def test_what_is_open_blocks_what_would_run_into_it_and_nothing_that_is_shut_does():
    near = cabinet(0.15, (0.0, -0.1))
    assert names([near, cupboard()]) == {("cabinet_drawer", "cupboard")}
    assert not names([cabinet(0.0, (0.0, -0.1)), cupboard()])


KITCHEN = Domain.load("kitchen")


def planned(goal, *facts):
    """Names and first arguments of the actions to a goal."""
    objects = (
        WorldObject("mug", "item", "mug"),
        WorldObject("cupboard", "fixture", "cupboard"),
        WorldObject("cabinet", "fixture", "cabinet"),
        WorldObject("cabinet_drawer", "part", "drawer"),
        WorldObject("counter", "location"),
    )
    always = [f"reachable({o.name})" for o in objects] + [f"clear({o.name})" for o in objects]
    always = [fact for fact in always if fact != "clear(counter)"]
    always += ["hand_empty", "can_open(cupboard)", "can_open(cabinet_drawer)"]
    world = World("kitchen", objects, frozenset(map(Literal.parse, (*always, *facts))))
    return [str(action) for action in solve(KITCHEN, world, [Literal.parse(goal)])]


def test_what_is_in_the_way_of_a_door_is_moved_before_it_is_opened():
    first, second, last = planned("opened(cupboard)", "closed(cupboard)", "blocks(mug, cupboard)")
    assert (first, last) == ("grasp(mug)", "open(cupboard)") and "mug" in second


def test_one_part_is_shut_before_another_is_opened_that_would_run_into_it():
    facts = "closed(cupboard)", "opened(cabinet_drawer)", "blocks(cabinet_drawer, cupboard)"
    assert planned("opened(cupboard)", *facts) == ["close(cabinet_drawer)", "open(cupboard)"]


def test_where_nothing_can_be_done_about_it_there_is_no_plan_and_it_is_said():
    with pytest.raises(NoPlanError) as caught:
        planned("opened(cupboard)", "closed(cupboard)", "blocks(cabinet, cupboard)")
    assert KITCHEN.phrase(Literal("blocks", ("cabinet", "cupboard"))) in str(caught.value)


def test_where_parts_move_nothing_is_put_down():
    (space,) = swept([cabinet()])
    assert space.position[0] < 0.5 and space.size[0] > 0.15

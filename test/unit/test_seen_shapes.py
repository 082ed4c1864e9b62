"""Shapes of what is seen: a bowl that lies aslant is known to, and so is put down upright."""

import math

import numpy as np
import pytest
from doubles.seen_worlds import KITCHEN, seen_object, world_of

from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.solids import rectangle_around
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.core.symbolic.world import Literal
from planweave.geometry.joints import turn
from planweave.perception.seen_shapes import shape_of

RIM, FOOT, HIGH = 0.053, 0.025, 0.05  # radii and height of a bowl, m
SIDE = np.array((math.sqrt(0.5), math.sqrt(0.5), 0.0))


def bowl(tilt=0.0, foot=(0.4, 0.1, 0.02), seen=1.0, square=False):
    """Points of a bowl's wall and floor, tilted about `SIDE` at its foot; seen: share of its turn."""
    around, up = np.meshgrid(np.linspace(0.0, 2 * math.pi * seen, 180), np.linspace(0.0, 1.0, 30))
    radius = FOOT + (RIM - FOOT) * up
    if square:
        radius = radius / np.maximum(np.abs(np.cos(around)), np.abs(np.sin(around)))
    wall = np.stack((radius * np.cos(around), radius * np.sin(around), HIGH * up), axis=-1).reshape(-1, 3)
    floor = wall[:180] * np.linspace(0.0, 1.0, 10)[:, None, None]
    points = np.concatenate((wall, floor.reshape(-1, 3)))
    return points @ turn(SIDE, tilt).T + foot


def built(points, **more):
    return ThingBuilder(KITCHEN).thing(seen_object("bowl_1", "bowl", points, 0.0, **more))


@pytest.mark.parametrize("tilt", [0.3, 0.9, -0.5])
@pytest.mark.parametrize("seen", [1.0, 0.85])
def test_what_lies_aslant_is_known_by_its_rim(tilt, seen):
    thing = built(bowl(tilt, seen=seen))
    pose = pose_of(thing)
    assert np.degrees(math.acos(pose[:3, 2] @ turn(SIDE, tilt)[:, 2])) < 2.0
    assert thing.size == pytest.approx((2 * RIM, 2 * RIM, HIGH), abs=0.008)
    assert thing.is_round and (bool(thing.solid.openings) or seen < 1.0)
    assert np.linalg.norm((pose @ (0.0, 0.0, -HIGH / 2, 1.0))[:3] - (0.4, 0.1, 0.02)) < 0.006
    corners = np.concatenate([part.corners for part in parts_of(thing)])
    assert thing.bottom == pytest.approx(corners[:, 2].min(), abs=0.012)


@pytest.mark.parametrize(
    "points",
    [bowl(), bowl(0.05), bowl(0.6, square=True), bowl(0.6, seen=0.5)],
    ids=["upright", "nearly", "box", "half"],
)
def test_what_stands_or_has_no_round_rim_that_is_seen_is_taken_as_upright(points):
    assert shape_of(points, 0.0)[1] is None


def test_what_stands_turned_is_as_thick_as_it_is():
    """As a book on its edge: columns along the frame's axes would make it half as thick again."""
    book = np.stack(np.meshgrid(np.linspace(0.0, 0.11, 56), np.linspace(0.0, 0.03, 16), [0.0, 0.14]), -1).reshape(-1, 3)
    thing = built(book @ turn(np.array((0.0, 0.0, 1.0)), 0.8).T + (0.4, 0.1, 0.0))
    _, size, _ = rectangle_around(thing.solid.outline())
    assert sorted(size) == pytest.approx((0.03, 0.11), abs=0.006)


@pytest.mark.parametrize(("tilt", "aside", "holds"), [(0.0, 0.0, True), (0.0, 0.024, False), (0.4, 0.0, False)])
def test_what_was_put_aslant_with_its_foot_beside_the_middle_is_not_surely_on_it(tilt, aside, holds):
    """LIBERO counts between the middles of feet: of what lies aslant they are not below its own."""
    flat = np.stack(np.meshgrid(np.linspace(0.3, 0.5, 60), np.linspace(0.0, 0.2, 60), [0.019, 0.02]), -1).reshape(-1, 3)
    plate = seen_object("plate_1", "plate", flat[np.linalg.norm(flat[:, :2] - (0.4, 0.1), axis=1) < 0.07])
    way = turn(SIDE, tilt)[:2, 2] * HIGH / 2  # so that its middle is over that of the plate
    lies = bowl(tilt, (0.4 + aside - 1.6 * way[0], 0.1 - 1.6 * way[1], 0.02))
    world = world_of([plate, seen_object("bowl_1", "bowl", lies, 0.02, "plate_1")], put=["bowl_1"])
    assert world.holds(Literal("on", ("bowl_1", "plate_1"))) is holds

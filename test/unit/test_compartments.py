"""Places of a thing by its shape: compartments of a caddy, the burner of a stove."""

import numpy as np
import pytest
from doubles.seen_worlds import seen_object, world_of

from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.shape_places import compartments_of, level_top
from planweave.bodies.arm.solids import Part, Solid
from planweave.libero.views import TURNED


def box(low, high):
    pose = np.eye(4)
    pose[:3, 3] = np.add(low, high) / 2
    return Part.box(pose, np.subtract(high, low) / 2)


def caddy(partition):
    """Three rooms beside each other along y; the middle one has a partition whose ends may not be seen."""
    walls = [box((0.3, y, 0.0), (0.45, y + 0.015, 0.08)) for y in (-0.2, -0.065, 0.065, 0.2)]
    walls += [box((x, -0.2, 0.0), (x + 0.015, 0.215, height)) for x, height in ((0.3, 0.15), (0.435, 0.08))]
    walls += [box((0.367, low, 0.0), (0.382, high, 0.1)) for low, high in partition]
    floor = box((0.3, -0.2, 0.0), (0.45, 0.215, 0.01))
    return thing_of_solid("caddy_1", "fixture", "caddy", Solid((*walls, floor)))


@pytest.mark.parametrize("partition", [[(-0.05, 0.065)], [(-0.035, 0.045)]])
def test_they_are_found_where_their_walls_are(partition):
    found = {part.side: part for part in compartments_of(caddy(partition), TURNED)}
    assert found.keys() == {"left", "right", "front", "back"}
    places = {"left": (0.375, -0.125), "right": (0.375, 0.14), "front": (0.408, 0.0075), "back": (0.341, 0.0075)}
    for side, (x, y) in places.items():
        part = found[side]
        assert part.room.name == f"caddy_1_{side}_compartment" and part.of == "caddy_1"
        assert np.hypot(part.room.position[0] - x, part.room.position[1] - y) < 0.008, side
        assert part.room.covers(x, y, -0.015) and not part.room.covers(x + 0.08, y)
        assert part.part().attributes == {"side": side}


def test_without_the_partition_nobody_tells_front_from_back():
    assert {part.side for part in compartments_of(caddy([]), TURNED)} >= {"left", "right"}


def test_the_level_top_of_a_stove_is_its_burner():
    plate, knob = box((0.3, -0.1, 0.0), (0.6, 0.1, 0.03)), box((0.3, -0.03, 0.03), (0.34, 0.03, 0.06))
    burner = box((0.4, -0.07, 0.03), (0.54, 0.07, 0.04))
    stove = thing_of_solid("stove_1", "fixture", "stove", Solid((plate, knob, burner)))
    top = level_top(stove)
    assert top.centre == pytest.approx((0.47, 0.0, 0.04), abs=0.004) and top.size[:2] == pytest.approx(
        (0.14, 0.14), abs=0.01
    )
    assert level_top(thing_of_solid("knob_1", "item", "knob", Solid((knob,)))) is None


def test_a_bowl_has_none():
    walls = [box((0.3, -0.1, 0.0), (0.31, 0.1, 0.06)), box((0.49, -0.1, 0.0), (0.5, 0.1, 0.06))]
    walls += [box((0.3, y, 0.0), (0.5, y + 0.01, 0.06)) for y in (-0.1, 0.09)]
    bowl = thing_of_solid("bowl_1", "item", "bowl", Solid((*walls, box((0.3, -0.1, 0.0), (0.5, 0.1, 0.01)))))
    assert list(compartments_of(bowl, TURNED)) == []


def test_a_world_has_the_boxes_of_a_thing_in_its_own_frame():
    world = world_of([seen_object("bowl_1", "bowl", caddy_points())])
    bowl = world.by_name["bowl_1"]
    assert 5 < len(bowl.leaves) < 60
    low = np.min([np.subtract(leaf.position, np.divide(leaf.size, 2)) for leaf in bowl.leaves], axis=0)
    high = np.max([np.add(leaf.position, np.divide(leaf.size, 2)) for leaf in bowl.leaves], axis=0)
    assert (low + high) / 2 == pytest.approx(bowl.position, abs=0.005) and bowl.position[0] < 0
    assert high - low == pytest.approx(bowl.size, abs=0.01)
    assert any(leaf.size[2] < 0.05 for leaf in bowl.leaves), "its floor is no part of its walls"


@pytest.mark.parametrize(("bottom", "stands"), [(0.012, True), (0.085, False)])
def test_what_lies_across_a_compartment_is_not_in_it(bottom, stands):
    (left,) = (part for part in compartments_of(caddy([]), TURNED) if part.side == "left")
    middle = np.array([*left.room.position[:2], 0.0])
    book = middle + np.array(
        [(x, y, bottom + z) for x in (-0.02, 0.02) for y in (-0.02, 0.02) for z in (0.0, 0.1)] * 20
    )
    things = seen_object("caddy_1", "caddy", caddy_points()), seen_object("book_1", "book", book, bottom, "caddy_1")
    facts = {str(fact) for fact in world_of(things).facts}
    assert (f"in(book_1, {left.room.name})" in facts) == stands
    assert f"part_of({left.room.name}, caddy_1)" in facts
    assert "bears_things(caddy_1)" not in facts


def caddy_points():
    """Points on the upper sides of all walls and the floor of a caddy."""
    solid, (x, y, z) = caddy([]).solid, caddy([]).position
    spans = [(part.pose[:3, 3] - part.half, part.pose[:3, 3] + part.half) for part in solid.parts]
    grids = [np.meshgrid(*(np.arange(a[k], b[k], 0.003) for k in (0, 1)), [b[2]]) for a, b in spans]
    return np.concatenate([np.stack(grid, -1).reshape(-1, 3) for grid in grids]) + (x, y, z)

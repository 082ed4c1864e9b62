"""A shelf by its points: its boards and rooms, what stands there, and what people call them."""

import numpy as np
import pytest
from doubles.kitchen_cameras import SeenKitchen
from doubles.seen_worlds import KITCHEN, seen_object, world_of

from planweave.bodies.arm.furniture import Furniture
from planweave.core.symbolic.world import Literal
from planweave.goals import read_sentence
from planweave.perception.boards import shelf_shape
from planweave.perception.carcass import Carcass
from planweave.perception.fixtures import FixtureMemory, fixture_of

BODY = Carcass(np.array((0.6, 0.0)), np.array((-1.0, 0.0)), 0.08, 0.12, 0.0, 0.261)
HEIGHTS = (0.26, 0.14, 0.016)


def grid(low, high, step=0.004):
    """Points of an upright or level rectangle between two corners in the furniture's own frame: out, along, up."""
    axes = [np.arange(a, b + 1e-9, step) if b > a else np.array([a]) for a, b in zip(low, high)]
    own = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    along = BODY.middle + np.outer(own[:, 0], BODY.front) + np.outer(own[:, 1], BODY.side)
    return np.column_stack([along, own[:, 2]])


def shelf(back=True, front=False, heights=HEIGHTS):
    """Points of boards of 12 mm, with their edges at the front, and of sides whose inner faces are 12 mm inside."""
    d, w = BODY.depth, BODY.width
    found = [grid((-d, -w, z), (d, w, z)) for z in heights]
    found += [grid((d, -w, z - 0.012), (d, w, z), 0.003) for z in heights]
    found += [grid((-d, s * (w - 0.012), 0.02), (d, s * (w - 0.012), 0.25), 0.012) for s in (-1, 1)]
    found += [grid((-d + 0.012, -w, 0.02), (-d + 0.012, w, 0.25), 0.012)] if back else []
    found += [grid((d, -w, 0.0), (d, w, 0.26), 0.008)] if front else []
    points = np.concatenate(found)
    return points + np.random.default_rng(0).normal(0.0, 0.0005, points.shape)


@pytest.mark.parametrize("back", [True, False])
def test_rooms_are_between_boards_and_within_sides_also_where_the_back_is_not_seen(back):
    fixture = fixture_of(BODY, shelf(back))
    assert fixture.class_name == "shelf" and len(fixture.boards) == 3
    upper, lower = fixture.rooms
    for room, low, high in ((upper, 0.14, 0.248), (lower, 0.016, 0.128)):
        assert room.centre[2] - room.half[2] == pytest.approx(low, abs=0.003)
        assert room.centre[2] + room.half[2] == pytest.approx(high, abs=0.005)
        assert 2 * room.half[1] == pytest.approx(0.216, abs=0.01)
        assert (room.beyond(np.array([[0.53, 0.0, room.centre[2]]])) < 0).all(), "it is open where its front is"
        assert (room.beyond(np.array([[0.672, 0.0, room.centre[2]]])) > 0).any(), "and nobody reaches through its back"


def test_what_it_stands_on_is_its_lowest_board_where_it_has_no_other():
    upper, lower = fixture_of(BODY, shelf(heights=HEIGHTS[:2])).rooms
    assert lower.centre[2] - lower.half[2] == pytest.approx(0.0, abs=1e-6)
    assert lower.centre[2] + lower.half[2] == pytest.approx(0.128, abs=0.005) and upper.half[2] > 0.05


def test_nothing_is_open_of_what_has_a_front_or_no_edges():
    assert shelf_shape(BODY, shelf(front=True), HEIGHTS) == ()
    assert shelf_shape(BODY, shelf(heights=(0.26,)), (0.26,)) == ()
    assert fixture_of(BODY, shelf(heights=(0.26,))).rooms == ()


def test_a_board_that_is_hidden_later_is_remembered():
    memory = FixtureMemory()
    for _ in range(3):
        memory.update(shelf())
    hidden = shelf()
    (found,) = memory.update(hidden[np.abs(hidden[:, 2] - 0.135) > 0.02])
    assert len(found.rooms) == 2


@pytest.fixture(scope="module")
def world():
    """A bowl on the table, a can on the middle board, and a box on the bottom one."""
    things = [
        seen_object("bowl_1", "bowl", grid((0.3, 0.0, 0.05), (0.36, 0.06, 0.05))),
        seen_object("can_1", "can", grid((-0.02, -0.05, 0.22), (0.03, 0.0, 0.22)), 0.141, None),
        seen_object("box_1", "box", grid((-0.02, 0.02, 0.05), (0.03, 0.06, 0.05)), 0.013, None),
    ]
    return world_of(things, [fixture_of(BODY, shelf(), "shelf_1")])


def test_what_stands_there_is_on_one_board_under_the_next_and_in_the_shelf(world):
    for name, board, above in (("can_1", "middle", "top"), ("box_1", "bottom", "middle")):
        facts = {str(f) for f in world.facts if f.args[:1] == (name,) and f.predicate in ("on", "under", "in", "at")}
        assert facts == {
            f"on({name}, shelf_1_{board}_board)",
            f"under({name}, shelf_1_{above}_board)",
            f"under({name}, shelf_1)",
            f"in({name}, shelf_1)",
        }
    assert not any(f.args[:1] == ("bowl_1",) for f in world.facts if f.predicate in ("on", "under", "in"))
    assert not world.holds(Literal("room_under", ("shelf_1_bottom_board",)))


@pytest.mark.parametrize(
    ("sentence", "goal"),
    [
        ("put the bowl on the shelf", "on(bowl_1, shelf_1)"),
        ("put the bowl on the top board", "on(bowl_1, shelf_1_top_board)"),
        ("put the bowl on the lower shelf", "on(bowl_1, shelf_1_bottom_board)"),
        ("put the bowl under the middle board", "under(bowl_1, shelf_1_middle_board)"),
        ("put the bowl on the cabinet shelf", "on(bowl_1, shelf_1_middle_board)"),
        ("put the bowl under the cabinet shelf", "under(bowl_1, shelf_1_middle_board)"),
        ("put the bowl on top of the cabinet", "on(bowl_1, shelf_1)"),
        ("put the bowl under the shelf", "under(bowl_1, shelf_1)"),
        ("put the bowl in the shelf", "in(bowl_1, shelf_1)"),
    ],
)
def test_people_name_boards_and_rooms(world, sentence, goal):
    assert [str(literal) for literal in read_sentence(KITCHEN, world, sentence).goal] == [goal]


@pytest.mark.gl
def test_the_cameras_of_the_kitchen_see_rooms_of_its_shelf_and_what_stands_in_them():
    kitchen = SeenKitchen()
    kitchen.look(3)
    kitchen.put(2, (0.26, 0.44, 0.143))
    result = kitchen.look(3)
    (seen,) = (fixture for fixture in result.fixtures if fixture.class_name == "shelf")
    assert [room.centre[2] - room.half[2] for room in seen.rooms] == pytest.approx([0.142, 0.012], abs=0.004)
    assert [room.centre[2] + room.half[2] for room in seen.rooms] == pytest.approx([0.248, 0.130], abs=0.006)
    things = [
        thing.thing
        for thing in result.objects
        if thing.visible and thing.thing.bottom == pytest.approx(0.142, abs=0.004)
    ]
    assert len(things) == 1 and np.hypot(*np.subtract(things[0].position[:2], (0.26, 0.44))) < 0.04
    regions = [shelf.regions for shelf in Furniture.of(seen).things(KITCHEN)[1:]]
    assert [len(each) for each in regions] == [2, 2, 1], "a room above, and one below but for the lowest"

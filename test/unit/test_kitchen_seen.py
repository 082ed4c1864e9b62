"""The kitchen as its cameras see it: furniture by its parts, things on and in it, and cameras that do not agree."""

import re
from dataclasses import replace

import numpy as np
import pytest
from doubles.kitchen_cameras import NAMES, SeenKitchen

from planweave.bench.kitchen_tasks import kitchen_task
from planweave.perception.matching import place_is_empty
from planweave.perception.object_classes import UNKNOWN
from planweave.perception.pipeline import PipelineLimits

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def compiled():
    return SeenKitchen()


@pytest.fixture
def unseen_kitchen(compiled):
    compiled.begin()
    return compiled


@pytest.fixture(scope="module")
def seen(compiled):
    """What is known after three looks."""
    compiled.begin()
    compiled.look(3)
    return compiled.kept()


@pytest.fixture
def kitchen(compiled, seen):
    """After three looks."""
    compiled.begin(seen)
    return compiled


def joints(result):
    return {(f.name, j.name): j for f in result.fixtures for j in f.joints}


def test_furniture_is_named_by_its_parts_and_no_piece_of_it_is_a_thing(kitchen):
    result = kitchen.look()
    assert {(f.name, f.class_name, f.visible) for f in result.fixtures} == {
        (name, name, True) for name in ("cabinet", "cupboard", "stove", "shelf")
    }
    assert {key for key, joint in joints(result).items() if joint.visible} == {
        ("cabinet", "top_drawer"),
        ("cabinet", "bottom_drawer"),
        ("cupboard", "door"),
        ("stove", "knob"),
    }
    assert {o.name for o in result.objects if o.visible} == {"mug", "bowl", "can", "plate"}
    assert not result.problems


@pytest.mark.parametrize("out", [0.15, 0.17])
def test_the_front_below_a_drawer_that_was_never_seen_shut_is_no_thing(unseen_kitchen, out):
    unseen_kitchen.move(0, "top_drawer", out)
    assert {o.name for _ in range(5) for o in unseen_kitchen.look().objects} == {"mug", "bowl", "can", "plate"}


def test_an_unknown_thing_that_furniture_is_seen_to_be_is_none(unseen_kitchen):
    """As while the robot moves from the start on."""
    perceiver = unseen_kitchen.perceiver
    perceiver.process = lambda *of: type(perceiver).process(perceiver, *of[:-1], None)
    unknown = [[o for o in unseen_kitchen.look(3).objects if o.thing.class_name == UNKNOWN]]
    del perceiver.process
    unknown += [[o for o in unseen_kitchen.look(8).objects if o.thing.class_name == UNKNOWN]]
    assert list(map(bool, unknown)) == [True, False]


def test_a_drawer_is_measured_and_what_lies_in_it_stands_on_its_floor(kitchen):
    kitchen.move(0, "top_drawer", 0.15)
    body = kitchen.data.body("fixture_0_top_drawer")
    result = kitchen.look(3)
    drawer = joints(result)["cabinet", "top_drawer"]
    assert drawer.value == pytest.approx(0.15, abs=0.004)
    assert not joints(result)["cabinet", "bottom_drawer"].visible, "it is hidden, not gone"
    floor = drawer.box[0].centre[2] + drawer.box[0].half[2]
    inside = body.xpos + body.xmat.reshape(3, 3) @ (-0.05, 0.0, 0.0)
    true = body.xpos[2] + 0.02  # the board of 12 mm, a gap of 2 and the drawer's own board of 6
    assert floor == pytest.approx(true, abs=0.005)
    kitchen.put(0, (*inside[:2], true))
    mug = next(o for o in kitchen.look(4).objects if o.name == "mug")
    assert mug.visible and mug.thing.position[:2] == pytest.approx(inside[:2], abs=0.006)
    assert mug.thing.bottom == pytest.approx(true, abs=0.006)


def test_what_stands_on_furniture_is_seen_there_at_the_edge_of_the_picture_too(kitchen):
    kitchen.put(2, (0.25, 0.46, 0.261))
    result = kitchen.look(4)
    can = next(o.thing for o in result.objects if o.name == "can")
    assert can.position[:2] == pytest.approx((0.25, 0.46), abs=0.006)
    assert can.bottom == pytest.approx(0.26, abs=0.006) and can.size[2] == pytest.approx(0.085, abs=0.006)
    assert {o.name for o in result.objects} == {"mug", "bowl", "can", "plate"}
    assert not [name for name in joints(result) if name[0] == "shelf"], "a can is no knob"


@pytest.mark.parametrize(
    ("name", "index", "place", "high"),
    [("mug", 0, (0.278, 0.41), 0.082), ("bowl", 1, (0.671, 0.203), 0.05), ("can", 2, (0.278, 0.40), 0.085)],
)
def test_what_reaches_beyond_the_edge_of_furniture_is_as_high_as_it_is(kitchen, name, index, place, high):
    kitchen.put(index, (*place, 0.261))
    found = next(o for o in kitchen.look(4).objects if o.name == name)
    assert found.visible and found.thing.position[:2] == pytest.approx(place, abs=0.006)
    assert found.thing.bottom == pytest.approx(0.26, abs=0.006) and found.thing.size[2] == pytest.approx(
        high, abs=0.006
    )


@pytest.mark.parametrize("place", [(0.2, 0.45, 0.261), (0.3, 0.42, 0.261), (0.2, -0.45, 0.001)])
def test_a_mug_whose_floor_is_not_seen_is_a_mug(kitchen, place):
    kitchen.put(0, place)
    mug = next(o for o in kitchen.look(3).objects if o.thing.colour == "red")
    assert mug.name == "mug" and mug.visible
    assert mug.thing.position[:2] == pytest.approx(place[:2], abs=0.006)


@pytest.mark.parametrize("index", [0, 1])
def test_a_hollow_thing_is_gone_where_a_picture_looks_through_its_walls_not_into_it(kitchen, index):
    name = ("mug", "bowl")[index]
    kitchen.look()
    thing = next(t.last for t in kitchen.perceiver.tracker.tracks if t.name == name)
    assert thing.shape == "hollow" and not place_is_empty(thing, kitchen.perceiver._scene.views)
    kitchen.put(index, (2.0, 0.0, 0.0))
    kitchen.look()
    assert place_is_empty(thing, kitchen.perceiver._scene.views[:1])


@pytest.mark.parametrize("there", [False, True])
def test_where_a_roof_hides_a_part_of_a_place_the_rest_tells_whether_it_is_empty(kitchen, there):
    mug = next(t.last for t in kitchen.perceiver.tracker.tracks if t.name == "mug")
    mug = replace(mug, position=(0.704, -0.417, 0.055))
    kitchen.move(1, "door", 1.35)
    kitchen.put(0, (*mug.position[:2], 0.014) if there else (0.52, -0.08, 0.001))
    kitchen.look()
    assert place_is_empty(mug, kitchen.perceiver._scene.views) is not there


def test_a_bowl_before_a_stove_is_no_drawer_of_it():
    kitchen = SeenKitchen(kitchen_task("mug_away").scene(12))
    assert {f.class_name for f in kitchen.look(3).fixtures} == {"cabinet", "cupboard", "stove", "shelf"}


def test_a_bowl_before_an_open_door_is_not_its_handle_and_that_no_thing():
    kitchen = SeenKitchen(kitchen_task("close_cupboard").scene(19))
    result = kitchen.look(4)
    assert {o.name for o in result.objects} == {"mug", "can", "bowl", "plate"}
    handle, door = joints(result)["cupboard", "door"].handle, kitchen.data.body("fixture_1_door").id
    bar = kitchen.data.geom_xpos[kitchen.simulator.model.body_geomadr[door] + 1]
    assert np.linalg.norm(handle.centre - bar) < 0.006


def test_a_mug_whose_inside_is_cut_from_its_rim_is_a_mug():
    kitchen = SeenKitchen(kitchen_task("mug_away").scene(4))  # in most pictures of this arrangement
    assert {o.name for o in kitchen.look(4).objects} == {"mug", "can", "bowl", "plate"}


@pytest.mark.parametrize("off", [(0.03, 0.0, 0.0), (0.0, -0.03, 0.0), (0.0, 0.0, 0.03)])
def test_a_camera_that_disagrees_is_said_and_left_out(unseen_kitchen, off):
    kitchen = unseen_kitchen
    result = kitchen.look(3, off=off)
    assert len(result.problems) == 1 and "camera left" in result.problems[0]
    others = kitchen.look(3, cameras=("overhead", "right"))
    assert {f.name: np.round(f.top, 2) for f in others.fixtures} == {
        f.name: np.round(f.top, 2) for f in result.fixtures
    }


@pytest.fixture(scope="module")
def compiled_with_wrist():
    return SeenKitchen(cameras=(*NAMES, "wrist"))


@pytest.fixture
def with_wrist(compiled_with_wrist):
    """Nothing is known yet; a fourth camera is on the hand."""
    compiled_with_wrist.begin()
    return compiled_with_wrist


def test_a_camera_on_the_hand_agrees_and_says_nothing_where_it_is_turned_away(with_wrist):
    kitchen = with_wrist
    result = kitchen.look(3, cameras=(*NAMES, "wrist"))
    assert not result.problems and {o.name for o in result.objects} == {"mug", "bowl", "can", "plate"}
    scene = kitchen.perceiver._scene
    assert [view.name for view in scene.sides] == ["left", "right", "wrist"] and scene.sides[2].carried
    arm = kitchen.simulator._arm
    kitchen.data.qpos[arm[5]] += 1.8  # the hand points upwards
    away = kitchen.look(cameras=(*NAMES, "wrist"))
    assert not away.problems and [view.name for view in kitchen.perceiver._scene.sides] == ["left", "right"]


@pytest.mark.parametrize("off", [(0.0, 0.0, 0.03), (0.0, 0.0, -0.03), (0.0, 0.0, 0.15), (0.0, 0.0, -0.15)])
def test_a_wrong_pose_of_a_camera_on_the_hand_is_said_where_it_sees_the_table(with_wrist, off):
    kitchen = with_wrist
    result = kitchen.look(cameras=(*NAMES, "wrist"), wrong="wrist", off=off)
    assert len(result.problems) == 1 and "camera wrist" in result.problems[0]
    assert [view.name for view in kitchen.perceiver._scene.sides] == ["left", "right"]


@pytest.mark.parametrize("scale", [1000.0, 0.001])
def test_a_further_camera_with_depth_in_other_units_is_said_with_its_median(unseen_kitchen, scale):
    result = unseen_kitchen.look(scale=scale)
    assert len(result.problems) == 1 and "camera left" in result.problems[0]
    median = float(re.search(r"median depth ([0-9.]+) m", result.problems[0])[1])
    assert median == pytest.approx(1.2 * scale, rel=0.2, abs=0.01)


@pytest.fixture
def stove(unseen_kitchen):
    """A kitchen in which burners glow; looks at it by how its knob is turned, rad."""
    made = unseen_kitchen
    made.perceiver.pipeline.settings = PipelineLimits(glowing_burners=True)

    def look(value):
        made.move(2, "knob", value)
        return joints(made.look(3))["stove", "knob"].state

    return look


def test_a_stove_is_on_while_its_burner_glows(stove):
    assert [stove(value) for value in (0.2, 1.2, 0.0)] == ["off", "on", "off"]


def test_a_dark_burner_says_nothing_where_none_glow(kitchen):
    assert joints(kitchen.look())["stove", "knob"].state == ""


def test_a_door_is_seen_open_and_shut_again(kitchen):
    for value in (1.0, 0.0):
        kitchen.move(1, "door", value)
        door = joints(kitchen.look(3))["cupboard", "door"]
        assert door.visible and door.value == pytest.approx(value, abs=0.035)


def test_the_handle_of_a_door_that_turned_away_is_where_it_was_taken_along(kitchen):
    kitchen.put(3, (0.5, -0.16, 0.001))  # the plate, before the open door
    kitchen.move(1, "door", 1.4)
    door = joints(kitchen.look(4))["cupboard", "door"]
    body = kitchen.data.body("fixture_1_door")
    bar = body.xpos + body.xmat.reshape(3, 3) @ (-0.038, 0.03 - 0.26, 0.15)
    assert door.handle.centre == pytest.approx(bar, abs=0.015)


def open_it(kitchen, seen):
    """The cupboard wide open."""
    kitchen.begin(seen)
    kitchen.move(1, "door", 1.8)
    kitchen.put(3, (0.3, -0.1, 0.0))  # the plate, which the door would hide


@pytest.fixture(scope="module")
def seen_open(compiled, seen):
    """What is known after further looks at the open cupboard."""
    open_it(compiled, seen)
    compiled.look(5)
    return compiled.kept()


@pytest.fixture
def open_cupboard(compiled, seen_open):
    """A kitchen whose cupboard is wide open, and a place behind its door, by its own x (inward) and y, m."""
    made = compiled
    open_it(made, seen_open)
    body = made.data.body("fixture_1")

    def behind(x, y):
        return tuple(body.xpos + body.xmat.reshape(3, 3) @ (x, y, 0.013))

    return made, behind


def test_what_was_put_behind_a_door_is_seen_there_by_the_cameras_at_the_side(open_cupboard):
    kitchen, behind = open_cupboard
    kitchen.put(0, (0.46, -0.03, 0.001))
    ids = {o.id for o in kitchen.look(4).objects}
    for place in ((-0.03, 0.04), (0.03, -0.04)):
        at = behind(*place)
        mug = next(t for t in kitchen.perceiver.tracker.tracks if t.name == "mug")
        kitchen.put(0, at)
        by_hand = (at[0] - 0.01, at[1] + 0.01, at[2] + mug.last.size[2] / 2)
        mug.last = replace(mug.last, position=by_hand)
        seen = kitchen.look(3)
        assert {o.id for o in seen.objects if o.visible} <= ids, "it is one thing, and the one that it was"
        assert next(o for o in seen.objects if o.name == "mug").visible
        kitchen.put(0, (0.46, -0.03, 0.001))
        seen = kitchen.look(4).objects
        mug, ids = next(o for o in seen if o.name == "mug"), {o.id for o in seen}
        assert mug.visible and mug.thing.position[:2] == pytest.approx((0.46, -0.03), abs=0.01), "it has left"


@pytest.mark.parametrize(("index", "known"), [(2, True), (0, False)], ids=["can", "mug_in_its_place"])
def test_a_can_between_boards_is_known_by_the_colour_of_its_sides(kitchen, index, known):
    """Its top is white, its sides are green; another thing there is not it."""
    board = kitchen.data.body("fixture_3")
    at = board.xpos + board.xmat.reshape(3, 3) @ (-0.01, 0.0, 0.0131)
    can = next(t for t in kitchen.perceiver.tracker.tracks if t.name == "can")
    can.last = replace(can.last, position=(*at[:2], at[2] + can.last.size[2] / 2))
    kitchen.put(2, (2.0, 0.0, 0.0))
    kitchen.put(index, at)
    assert next((o.visible for o in kitchen.look(3).objects if o.name == "can"), False) == known


def test_one_thing_behind_a_door_is_not_seen_as_two(open_cupboard):
    kitchen, behind = open_cupboard
    at = behind(0.0, 0.0)
    tracker = kitchen.perceiver.tracker
    mug = next(t for t in tracker.tracks if t.name == "mug")
    high = at[2] + mug.last.size[2] / 2
    mug.last = replace(mug.last, position=(*at[:2], high))
    tracker.know(replace(mug.last, position=(*behind(0.03, 0.05)[:2], high)), "mug_2")
    kitchen.put(0, at)
    assert {o.name for o in kitchen.look(2).objects if o.visible and o.thing.class_name == "mug"} == {"mug"}


def test_nothing_is_seen_in_an_empty_cupboard_and_what_nobody_knows_there_is_an_unknown_thing(open_cupboard):
    kitchen, behind = open_cupboard
    for thing, place in ((0, (0.46, -0.03, 0.001)), (2, (0.42, 0.16, 0.001))):  # where the open door hides none
        kitchen.put(thing, place)
    kitchen.perceiver.forget()
    empty = kitchen.look(5).objects
    assert {o.name for o in empty if o.visible} == {"mug", "bowl", "can", "plate"}
    kitchen.put(2, behind(0.0, 0.0))
    kitchen.perceiver.forget()
    found = [o for o in kitchen.look(6).objects if o.thing.position[0] > 0.6 and o.id not in {o.id for o in empty}]
    assert [o.thing.class_name for o in found] == ["unknown_thing"]
    assert found[0].thing.position[:2] == pytest.approx(behind(0.0, 0.0)[:2], abs=0.03)


@pytest.mark.parametrize("place", [(0.56, -0.31), (0.54, -0.28)])
@pytest.mark.parametrize("turned", [(0.7071, 0.7071, 0.0, 0.0), (0.5, 0.5, 0.5, 0.5), (1.0, 0.0, 0.0, 0.0)])
def test_what_lies_or_stands_before_a_shut_door_is_a_thing_and_no_handle(unseen_kitchen, place, turned):
    kitchen = unseen_kitchen
    kitchen.put(3, (0.3, -0.1, 0.0))
    high = 0.001 if turned[0] == 1.0 else 0.042
    kitchen.put(0, (*place, high), turned)
    result = kitchen.look(3)
    assert {f.class_name for f in result.fixtures} == {"cabinet", "cupboard", "stove", "shelf"}
    red = [o for o in result.objects if o.visible and o.thing.colour == "red"]
    assert len(red) == 1 and red[0].thing.position[:2] == pytest.approx(place, abs=0.05)

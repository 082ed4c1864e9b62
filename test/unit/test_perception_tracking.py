"""Tracking of made-up detections; tests with rendered images are in test_perception_scenes."""

from dataclasses import replace

import numpy as np
import pytest

from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint
from planweave.perception.calibration import load_extrinsics
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.perception.geometry import Intrinsics
from planweave.perception.object_classes import UNKNOWN, UNSURE
from planweave.perception.pipeline import SeenScene
from planweave.perception.robot_filter import Hand
from planweave.perception.tracking import Rules, Track, Tracker

EXTRINSICS = load_extrinsics()
INTRINSICS = Intrinsics(433.0, 433.0, 319.5, 239.5, 640, 480)
DOWN = np.diag([1.0, -1.0, -1.0])
TABLE = DepthView(
    "camera",
    np.zeros((480, 640, 3), np.uint8),
    np.full((480, 640), 1.05, dtype=np.float32),
    INTRINSICS,
    EXTRINSICS.camera_to_base(),
)


def cube(x, y, colour="red", z=0.025, **changes):
    made = Detection(
        "cube", colour, "box", 0.8, (x, y, z), 0.1, np.pi / 2, (0.05, 0.05, 0.05), z + 0.025, (200.0, 20.0, 20.0)
    )
    return replace(made, **changes)


def over(detections=(), covered=None):
    """A scene with the table's height everywhere but at the detections; covered: x, y, radius hidden by the robot."""
    depth, points = TABLE.depth.copy(), TABLE.points
    for d in detections:
        half = np.array(d.size[:2]) / 2
        depth[(abs(points[..., :2] - d.position[:2]) < half).all(axis=-1)] = 1.05 - d.top
    robot = np.zeros((480, 640), dtype=bool)
    if covered:
        x, y, radius = covered
        robot = np.hypot(points[..., 0] - x, points[..., 1] - y) < radius
    return SeenScene(tuple(detections), replace(TABLE, depth=depth, hidden=robot), int(robot.sum()), None)


class Table:
    """Feeds frames to a tracker and gives the tracks by name."""

    def __init__(self, **rules):
        self.tracker = Tracker(Rules(**rules))

    def see(self, *detections, hand=None, covered=None, times=1):
        scene = over(detections, covered)
        for _ in range(times):
            tracks = self.tracker.update(detections, scene, hand)
        return {t.name: t for t in tracks}


def hand_at(x, y, z, width):
    return Hand(np.array([x, y, z]), DOWN, width)


def test_a_single_sight_makes_no_object():
    table = Table(min_frames=3)
    assert table.see(cube(0.5, 0.0), times=2) == {}
    assert table.see() == {}
    assert table.see(cube(0.5, 0.0), times=2) == {}, "frames in a row are meant"
    assert list(table.see(cube(0.5, 0.0))) == ["red_cube"]


def test_noise_is_smoothed_and_steps_are_followed_at_once():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    assert table.see(cube(0.504, 0.0))["red_cube"].last.position[0] == pytest.approx(0.5016)
    assert table.see(cube(0.53, 0.0))["red_cube"].last.position[0] == pytest.approx(0.53)


def test_one_cube_that_was_seen_as_two_for_a_moment_has_the_plain_name():
    table = Table()
    halves = cube(0.48, 0.022, size=(0.05, 0.02, 0.05)), cube(0.48, -0.022, size=(0.05, 0.02, 0.05))
    assert set(table.see(*halves, times=3)) == {"red_cube", "red_cube_2"}
    assert list(table.see(cube(0.48, -0.018), times=6)) == ["red_cube"]


def test_a_thing_keeps_its_name_while_it_is_asked_for_anew():
    table, there = Table(min_frames=1), cube(0.5, 0.0, class_name="mug")
    unnamed = replace(there, class_name=UNKNOWN, confidence=UNSURE, unnamed=True)
    assert list(table.see(there)) == ["mug"]
    track = table.see(unnamed, times=3)["mug"]
    assert track.matched and not track.visible, "nobody has said yet that it is still the mug"
    assert track.current.class_name == "mug"
    assert table.see(there)["mug"].visible
    far = replace(unnamed, position=(0.3, 0.3, 0.025))
    seen = table.see(far, times=6)
    assert list(seen) == ["unknown_thing"], "what is elsewhere has no claim to its name"
    table.tracker.judge_anew()
    assert list(table.see(replace(far, class_name="apple", unnamed=False), times=3)) == ["apple"]


@pytest.mark.parametrize(("kind", "name", "second"), [("cube", "red_cube", "red_cube_2"), ("mug", "mug", "red_mug")])
def test_what_came_elsewhere_while_its_place_was_hidden_has_its_name_once_that_is_seen_empty(kind, name, second):
    table, here, there = Table(), cube(0.5, 0.0, class_name=kind), cube(0.5, 0.3, class_name=kind)
    assert list(table.see(here, times=3)) == [name]
    assert set(table.see(there, covered=(0.5, 0.0, 0.1), times=3)) == {name, second}, "it may still be there"
    found = table.see(there, times=6)
    assert list(found) == [name] and found[name].last.position[1] == 0.3
    assert list(table.see(there, replace(here, position=(0.6, -0.2, 0.025)), times=3)) == [name, second]


def test_two_cubes_keep_their_names_when_one_of_them_is_taken_away():
    table = Table()
    both = cube(0.48, 0.04), cube(0.48, -0.04)
    assert set(table.see(*both, times=20)) == {"red_cube", "red_cube_2"}
    assert list(table.see(both[1], times=6)) == ["red_cube_2"]


def test_no_name_is_given_while_frames_do_not_agree_on_what_it_is():
    table = Table(min_frames=2)
    mistaken = cube(0.5, 0.0, class_name="cylinder")
    assert not table.see(mistaken) and not table.see(cube(0.5, 0.0))
    assert list(table.see(cube(0.5, 0.0))) == ["red_cube"]


def test_of_two_alike_the_left_one_is_the_first_also_where_a_frame_was_mistaken_about_it():
    table = Table(min_frames=2)
    left, right = cube(0.5, 0.2), cube(0.5, -0.2)
    assert not table.see(replace(left, class_name="cylinder"), right)
    assert not table.see(left, right)
    named = table.see(left, right)
    assert named["red_cube"].last.position[1] == 0.2 and named["red_cube_2"].last.position[1] == -0.2


def test_looks_that_flicker_do_not_change_name_or_class():
    table = Table(min_frames=2)
    first = table.see(cube(0.5, 0.0), times=3)["red_cube"].id
    seen = table.see(cube(0.5, 0.0, "orange"))
    assert seen["red_cube"].visible, "a shade of the same colour"
    seen = table.see(cube(0.5, 0.0, class_name="cylinder", symmetry=0.0))
    assert seen["red_cube"].id == first and not seen["red_cube"].visible, "in doubt it is not seen"
    assert seen["red_cube"].current.look == ("cube", "red")
    seen = table.see(cube(0.5, 0.0), times=3)
    assert len(seen) == 1 and seen["red_cube"].visible


def test_an_object_whose_class_wavers_stays_visible():
    table = Table(min_frames=1)
    first = table.see(cube(0.5, 0.0), times=2)["red_cube"].id
    for _ in range(6):
        table.see(cube(0.5, 0.0, class_name="cylinder", symmetry=0.0))
        table.see(cube(0.5, 0.0))
    seen = table.see(cube(0.5, 0.0, class_name="cylinder", symmetry=0.0), times=10)
    assert list(seen) == ["red_cube"] and seen["red_cube"].id == first and seen["red_cube"].visible


YELLOW = {"colour": "yellow", "rgb": (250.0, 210.0, 15.0)}
GREEN = {"colour": "green", "rgb": (25.0, 140.0, 40.0)}


@pytest.mark.parametrize("beside", [0.0, 0.01, 0.02, 0.03])
@pytest.mark.parametrize("known", [True, False])
def test_another_colour_at_an_objects_place_is_another_object(beside, known):
    table = Table()
    before = table.see(cube(0.5, 0.0), *([cube(0.6, 0.3, **YELLOW)] if known else []), times=5)
    for frame in range(12):
        seen = table.see(cube(0.5, beside, **YELLOW))
        assert "red_cube" not in seen or not seen["red_cube"].visible, frame
    assert list(seen) == ["yellow_cube"] and seen["yellow_cube"].visible
    assert not known or seen["yellow_cube"].id == before["yellow_cube"].id
    seen = table.see(cube(0.4, -0.3), cube(0.5, beside, **YELLOW), times=2)
    assert seen["red_cube"].id == before["red_cube"].id, "it is itself again where it comes back"


def test_another_colour_half_seen_beside_the_arm_does_not_confirm_an_object():
    table = Table()
    table.see(cube(0.5, 0.0), times=5)
    seen = table.see(cube(0.505, 0.0, cut=True, **YELLOW), times=20)
    assert list(seen) == ["red_cube"] and not seen["red_cube"].visible


def test_another_shape_of_the_same_colour_is_another_object_after_some_more_views():
    table = Table()
    table.see(cube(0.5, 0.0), times=20)
    can = cube(0.5, 0.0, class_name="cylinder", shape="cylinder", symmetry=0.0)
    for _ in range(8):
        seen = table.see(can)
        assert "red_cube" not in seen or not seen["red_cube"].visible
    assert list(table.see(can, times=3)) == ["red_cylinder"]


@pytest.mark.parametrize("times", [1, 3])
def test_a_glimpse_of_another_colour_neither_ends_an_object_nor_makes_one(times):
    table = Table()
    first = table.see(cube(0.5, 0.0), times=5)["red_cube"].id
    assert not table.see(cube(0.5, 0.0, **YELLOW), times=times)["red_cube"].visible
    seen = table.see(cube(0.5, 0.0))
    assert {n: t.id for n, t in seen.items()} == {"red_cube": first} and seen["red_cube"].visible


def tray(y):
    return Detection(
        "tray",
        "gray",
        "hollow",
        0.8,
        (0.58, y, 0.015),
        0.1,
        np.pi,
        (0.27, 0.2, 0.03),
        0.03,
        (120.0,) * 3,
        receptacle=True,
    )


@pytest.mark.parametrize("hidden_for", [1, 3, 10])
def test_the_name_of_a_hidden_thing_does_not_go_to_its_twin_across_the_table(hidden_for):
    table, left, right, arm = Table(), tray(0.38), tray(-0.38), (0.58, -0.38, 0.3)
    first = table.see(left, right, times=5)
    assert sorted(first) == ["left_tray", "right_tray"]
    odd = replace(left, class_name="block", size=(0.12, 0.2, 0.03))  # half behind the arm
    table.see(odd, right, times=20)
    seen = table.see(left, covered=arm, times=hidden_for)
    assert seen["left_tray"].visible and not seen["right_tray"].visible
    seen = table.see(left, right, times=5)
    assert {n: t.last.position[1] for n, t in seen.items()} == {"left_tray": 0.38, "right_tray": -0.38}


def test_a_thing_pushed_a_little_while_its_place_is_hidden_is_still_itself():
    table = Table()
    table.see(cube(0.5, 0.0), times=5)
    seen = table.see(cube(0.5, 0.1), covered=(0.5, -0.03, 0.05))
    assert list(seen) == ["red_cube"] and seen["red_cube"].last.position[1] == 0.1


def test_what_two_unequal_things_swap_is_their_places_not_their_names():
    table = Table()
    before = table.see(cube(0.5, 0.0), cube(0.5, 0.2, **YELLOW), times=5)
    seen = table.see(cube(0.5, 0.2), cube(0.5, 0.0, **YELLOW))
    assert {n: (t.id, t.visible) for n, t in seen.items()} == {n: (t.id, True) for n, t in before.items()}
    assert seen["red_cube"].last.position[1] == 0.2 and seen["yellow_cube"].last.position[1] == 0.0


@pytest.mark.parametrize("beside", [0.0, 0.02, 0.03])
def test_the_lower_cube_is_gone_when_the_upper_one_has_come_down(beside):
    table = Table()
    table.see(cube(0.5, 0.0), cube(0.7, 0.2, **YELLOW), times=3)
    before = table.see(cube(0.5, 0.0, z=0.075, **YELLOW), times=5)
    assert not before["red_cube"].visible and before["yellow_cube"].visible
    seen = table.see(cube(0.5, beside, **YELLOW))
    assert seen["yellow_cube"].visible and not seen["red_cube"].visible and not seen["red_cube"].inferred
    assert seen["yellow_cube"].last.bottom == pytest.approx(0.0, abs=1e-6)
    assert list(table.see(cube(0.5, beside, **YELLOW), times=4)) == ["yellow_cube"]


def test_a_thing_that_comes_down_has_not_become_shorter():
    table = Table()
    can = {"class_name": "cylinder", "shape": "cylinder", "symmetry": 0.0, **YELLOW}
    tall = cube(0.5, 0.0, size=(0.05, 0.05, 0.12), z=0.11, floor=0.17, **can)
    table.see(cube(0.5, 0.0), times=3)
    table.see(tall, times=3)
    # What perception makes of it as long as it remembers the red cube: a can on it that is 5 cm shorter.
    short = cube(0.5, 0.0, size=(0.05, 0.05, 0.07), z=0.085, floor=0.12, **can)
    seen = table.see(short)
    assert seen["yellow_cylinder"].last.bottom == pytest.approx(0.0) and not seen["red_cube"].visible
    assert [t.name for t in table.tracker.tracks if not t.missing] == ["yellow_cylinder"], "no support of anything now"
    assert list(table.see(replace(short, size=tall.size, position=(0.5, 0.0, 0.06)), times=3)) == ["yellow_cylinder"]


def test_what_the_side_of_a_hidden_cube_shows_to_be_another_is_gone():
    table = Table()
    table.see(cube(0.5, 0.0), times=3)
    top = cube(0.5, 0.0, z=0.075, **YELLOW)
    seen = table.see(cube(0.5, 0.0, inferred=True), top, times=20)
    assert "red_cube" in seen and not seen["red_cube"].visible
    seen = table.see(cube(0.5, 0.0, inferred=True, **GREEN), top, times=12)
    assert sorted(seen) == ["green_cube", "yellow_cube"] and not seen["green_cube"].visible


def test_a_glimpse_of_another_colour_beneath_a_thing_that_is_not_repeated_was_an_error():
    table = Table()
    table.see(cube(0.5, 0.0), times=3)
    top = cube(0.5, 0.0, z=0.075, **YELLOW)
    assert table.see(top, times=3)["red_cube"].inferred
    seen = table.see(cube(0.5, 0.0, inferred=True, **GREEN), top)
    assert not seen["red_cube"].inferred, "it may have been exchanged"
    assert table.tracker.deciding
    assert table.see(top, times=20)["red_cube"].inferred and not table.tracker.deciding
    assert not table.see(cube(0.5, 0.0, inferred=True, **GREEN), top)["red_cube"].inferred


def test_what_was_seen_to_be_gone_is_not_inferred_again_from_what_stands_there_later():
    table = Table(clear_views=8)
    table.see(cube(0.5, 0.0), times=3)
    top = cube(0.5, 0.0, z=0.075, **YELLOW)
    table.see(cube(0.4, 0.3, **YELLOW), times=3)
    assert not table.see(top, times=30)["red_cube"].inferred


def test_a_lost_object_that_was_mistaken_for_another_at_first_has_its_plain_name():
    table = Table()
    first = table.see(cube(0.5, 0.0), times=5)["red_cube"].id
    table.see(cube(0.4, -0.3, class_name="cylinder"))
    seen = table.see(cube(0.4, -0.3), times=10)
    assert {n: t.id for n, t in seen.items()} == {"red_cube": first} and seen["red_cube"].visible


def test_a_gray_thing_in_a_white_ones_place_is_another():
    table = Table()
    table.see(cube(0.5, 0.0, "white", rgb=(254.0, 254.0, 254.0)), times=5)
    assert list(table.see(cube(0.5, 0.0, "gray", rgb=(140.0, 142.0, 146.0)), times=7)) == ["gray_cube"]


def test_what_is_partly_hidden_keeps_its_pose_and_makes_no_object():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    seen = table.see(cube(0.515, 0.0, cut=True), cube(0.7, 0.2, "blue", cut=True), times=3)
    assert list(seen) == ["red_cube"]
    assert seen["red_cube"].visible and seen["red_cube"].last.position[0] == 0.5


def test_nearest_pairs_first():
    table = Table(min_frames=1)
    before = table.see(cube(0.50, 0.0), cube(0.56, 0.0))
    ids = {t.last.position[0]: t.id for t in before.values()}
    after = table.see(cube(0.575, 0.0), cube(0.515, 0.0))
    assert {round(t.last.position[0], 3): t.id for t in after.values()} == {0.515: ids[0.50], 0.575: ids[0.56]}


def test_many_objects_are_compared_only_with_what_is_near(monkeypatch):
    many = [cube(0.3 + 0.06 * (k % 10), -0.5 + 0.07 * (k // 10)) for k in range(100)]
    table = Table()
    table.see(*many, times=3)
    compared = []
    monkeypatch.setattr(Track, "clashes", lambda *pair: compared.append(pair))
    assert len(table.see(*many)) == 100
    assert len(compared) == 100


def test_a_moved_object_of_unique_looks_stays_itself():
    table = Table(min_frames=1)
    first = table.see(cube(0.5, 0.0), cube(0.6, 0.3, "blue"))
    after = table.see(cube(0.5, 0.0), cube(0.4, -0.4, "blue"))
    assert after["blue_cube"].id == first["blue_cube"].id
    assert after["blue_cube"].last.position[:2] == (0.4, -0.4)


def test_covered_things_stay_and_vanished_things_go_after_some_clear_views():
    table = Table(min_frames=1, clear_views=3)
    table.see(cube(0.5, 0.0), cube(0.6, 0.3, "blue"))
    seen = table.see(cube(0.6, 0.3, "blue"), covered=(0.5, 0.0, 0.1), times=20)
    assert not seen["red_cube"].visible
    assert "red_cube" in table.see(cube(0.6, 0.3, "blue"), times=2)
    assert "red_cube" not in table.see(cube(0.6, 0.3, "blue"))


@pytest.mark.parametrize(("out", "gone"), [(0.17, True), (0.02, False)])
def test_an_unknown_thing_that_an_open_drawer_goes_through_was_a_part_of_it(out, gone):
    """Seen once while the drawer was drawn; its place is never seen to be empty, as the drawer is there."""
    table, axes = Table(), np.eye(3)
    thing = cube(0.50, 0.34, class_name=UNKNOWN, shape="irregular", z=0.106, size=(0.09, 0.09, 0.21))
    table.see(thing, times=3)
    panel = OrientedBox(np.array((0.63 - out, 0.30, 0.17)), axes, np.array((0.006, 0.11, 0.04)))
    floor = OrientedBox(np.array((0.63 - out / 2, 0.30, 0.14)), axes, np.array((out / 2, 0.10, 0.006)))
    joint = SeenJoint("top_drawer", "slide", -axes[0], panel.centre, out, 0.17, panel, None, box=(floor,))
    cabinet = SeenFixture(
        "cabinet", "cabinet", (OrientedBox(np.array((0.74, 0.30, 0.1)), axes, np.full(3, 0.1)),), (joint,)
    )
    scene = replace(over([replace(thing, size=(0.3, 0.3, 0.2))]), detections=(), fixtures=(cabinet,))
    assert [t.last.class_name for t in table.tracker.update((), scene)] == ([] if gone else [UNKNOWN])


@pytest.mark.parametrize(("y", "gone"), [(-0.034, True), (-0.06, False)])
def test_an_unknown_thing_that_a_vessel_seen_whole_fills_was_a_part_of_it(y, gone):
    """A mug's handle, seen alone once: its place is never seen to be empty; beside the mug there may be one."""
    table = Table(clear_views=3)
    walls = ((-0.035, -0.045, 0.0, 0.035, -0.025, 0.08), (-0.035, 0.025, 0.0, 0.035, 0.035, 0.08))
    vessel = {"shape": "hollow", "class_name": "mug", "size": (0.07, 0.07, 0.085), "hollow": True, "parts": walls}
    mug = cube(0.5, 0.0, z=0.042, yaw=0.0, **vessel)
    handle = cube(0.5, y, class_name=UNKNOWN, shape="irregular", z=0.05, size=(0.02, 0.02, 0.06), yaw=0.0)
    table.see(handle, times=3)
    seen = table.see(mug, covered=(0.5, y, 0.02), times=4)
    assert {t.last.class_name for t in seen.values()} == ({"mug"} if gone else {"mug", UNKNOWN})


def test_a_clear_view_between_others_does_not_add_up_with_a_new_sight():
    table = Table(min_frames=1, clear_views=3)
    table.see(cube(0.5, 0.0))
    for _ in range(5):
        table.see(times=2)
        assert list(table.see(cube(0.5, 0.0))) == ["red_cube"]


def test_what_stands_under_another_is_remembered():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0, "blue"), cube(0.6, 0.3))
    seen = table.see(cube(0.5, 0.0, z=0.075), times=10)
    assert sorted(seen) == ["blue_cube", "red_cube"]
    assert not seen["blue_cube"].visible
    assert seen["blue_cube"].inferred, "something that high must be below the red one"
    assert seen["red_cube"].last.bottom == pytest.approx(0.05)


def test_the_fingers_take_an_object_along_and_let_it_go():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    table.see(hand=hand_at(0.5, 0.0, 0.03, 0.08), covered=(0.5, 0.0, 0.1))
    table.see(hand=hand_at(0.5, 0.0, 0.03, 0.05), covered=(0.5, 0.0, 0.1))
    seen = table.see(hand=hand_at(0.6, 0.2, 0.25, 0.05), covered=(0.6, 0.2, 0.1), times=10)
    assert not seen["red_cube"].visible and seen["red_cube"].held
    assert seen["red_cube"].last.position == pytest.approx((0.6, 0.2, 0.245))
    table.see(hand=hand_at(0.6, 0.3, 0.03, 0.05), covered=(0.6, 0.3, 0.1))
    seen = table.see(hand=hand_at(0.6, 0.3, 0.03, 0.08), covered=(0.6, 0.3, 0.1))
    assert not seen["red_cube"].held
    seen = table.see(cube(0.6, 0.3), hand=hand_at(0.3, 0.0, 0.5, 0.08))
    assert seen["red_cube"].visible and len(seen) == 1


def test_what_the_fingers_took_while_no_image_came_is_in_the_hand():
    """A busy machine takes few images on the way; the joint states tell what the hand did in between."""
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0), hand=hand_at(0.3, 0.0, 0.5, 0.08))
    for z, width in ((0.2, 0.08), (0.03, 0.08), (0.03, 0.05), (0.12, 0.05)):
        table.tracker.follow(hand_at(0.5, 0.0, z, width))
    seen = table.see(hand=hand_at(0.6, 0.2, 0.25, 0.05), covered=(0.6, 0.2, 0.1), times=10)
    assert seen["red_cube"].held and seen["red_cube"].last.position == pytest.approx((0.6, 0.2, 0.245))


@pytest.mark.parametrize(("width", "held"), [(0.08, False), (0.05, True), (0.012, False), (0.0, False)])
def test_only_fingers_that_are_not_closed_or_wide_open_hold_it(width, held):
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    table.see(hand=hand_at(0.5, 0.0, 0.03, width), covered=(0.5, 0.0, 0.1))
    table.see(hand=hand_at(0.5, 0.0, 0.20, width), covered=(0.5, 0.0, 0.1))
    assert table.tracker.tracks[0].held == held


def test_a_mug_is_held_at_its_wall():
    table = Table(min_frames=1)
    table.see(mug := cube(0.5, 0.0, class_name="mug", shape="hollow", size=(0.08, 0.08, 0.05)))
    for z, width in ((0.03, 0.02), (0.03, 0.007), (0.2, 0.006)):
        (track,) = table.see(hand=hand_at(0.54, 0.0, z, width), covered=(0.5, 0.0, 0.1)).values()
    assert track.held and track.last.position == pytest.approx((0.5, 0.0, 0.195))
    table.see(hand=hand_at(0.54, 0.0, 0.03, 0.006), covered=(0.5, 0.0, 0.1))
    table.see(hand=hand_at(0.54, 0.0, 0.03, 0.03), covered=(0.5, 0.0, 0.1))
    assert not track.held and track.last.position == pytest.approx(mug.position)


@pytest.mark.parametrize(("domain", "taken"), [("kitchen", True), ("tabletop", False)])
def test_a_wide_bowl_is_held_at_its_wall_where_it_is_an_item_and_no_piece_of_it_is_a_new_thing(domain, taken):
    table = Table()
    table.tracker = Tracker(Rules(), Domain.load(domain))
    bowl = cube(0.34, -0.19, class_name="bowl", shape="hollow", size=(0.13, 0.13, 0.05), receptacle=True)
    table.see(bowl, times=3)
    for z, width in ((0.30, 0.05), (0.03, 0.05), (0.03, 0.007)):
        table.see(covered=(0.34, -0.19, 0.2), hand=hand_at(0.34, -0.13, z, width))
    for up in (0.1, 0.2, 0.4):
        left = table.see(covered=(0.34, -0.19, 0.2), hand=hand_at(0.34, -0.13, 0.03 + up, 0.007))["bowl"]
    assert (left.held, left.last.position[2] > 0.4) == (taken, taken)
    # The rim beside the hand, in the air: all below is taken for it.
    piece = cube(
        0.36, -0.22, class_name=UNKNOWN, shape="irregular", z=0.22, size=(0.1, 0.06, 0.44), cut=True, beyond=True
    )
    seen = table.see(piece, covered=(0.34, -0.19, 0.2), hand=hand_at(0.34, -0.13, 0.43, 0.007), times=4)
    assert list(seen) == ["bowl"]


def test_half_open_fingers_that_pass_over_a_thing_do_not_take_it_along():
    """Fingers open little where there is little room, and go back over what they have put down."""
    table = Table(min_frames=1)
    table.see(cube(0.4, -0.1, class_name="mug", shape="hollow", size=(0.07, 0.07, 0.08), z=0.04))
    for x, z in ((0.4, 0.3), (0.4, 0.11), (0.42, 0.1), (0.3, 0.2)):
        (mug,) = table.see(hand=hand_at(x, -0.1, z, 0.039), covered=(0.4, -0.1, 0.1)).values()
    assert not mug.held and mug.grip is None
    for z, width in ((0.06, 0.039), (0.06, 0.007), (0.2, 0.007)):
        (mug,) = table.see(hand=hand_at(0.43, -0.1, z, width), covered=(0.4, -0.1, 0.1)).values()
    assert mug.held


def test_what_is_taken_out_of_a_bowl_leaves_it_there():
    table = Table(min_frames=1)
    bowl = cube(0.5, 0.0, class_name="bowl", shape="hollow", size=(0.12, 0.12, 0.05), hollow=True)
    table.see(bowl, cube(0.52, 0.0, z=0.03, **YELLOW), times=2)
    for z, width in ((0.03, 0.08), (0.03, 0.05), (0.2, 0.05)):
        seen = table.see(hand=hand_at(0.52, 0.0, z, width), covered=(0.5, 0.0, 0.1))
    assert [name for name, track in seen.items() if track.held] == ["yellow_cube"]


def test_a_narrow_hand_on_its_way_down_does_not_push_the_object_into_the_table():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    for z, width in ((0.07, 0.06), (0.05, 0.06), (0.03, 0.06), (0.02, 0.05)):
        seen = table.see(hand=hand_at(0.5, 0.0, z, width), covered=(0.5, 0.0, 0.1))
        assert seen["red_cube"].last.position == (0.5, 0.0, 0.025)
    seen = table.see(hand=hand_at(0.5, 0.0, 0.22, 0.05), covered=(0.5, 0.0, 0.1))
    assert seen["red_cube"].held
    assert seen["red_cube"].last.position == pytest.approx((0.5, 0.0, 0.225))


def test_the_fingers_take_the_upper_of_two_cubes_and_leave_the_lower():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    table.see(cube(0.5, 0.0, z=0.075, **YELLOW), times=2)
    for z, width in ((0.1, 0.08), (0.075, 0.08), (0.075, 0.05), (0.15, 0.05), (0.3, 0.05)):
        seen = table.see(hand=hand_at(0.5, 0.0, z, width), covered=(0.5, 0.0, 0.1))
    assert seen["yellow_cube"].held and not seen["red_cube"].held and seen["red_cube"].last.position[2] == 0.025
    for z, width in ((0.08, 0.05), (0.08, 0.053), (0.08, 0.058), (0.08, 0.065), (0.08, 0.08), (0.3, 0.08)):
        seen = table.see(hand=hand_at(0.5, 0.0, z, width), covered=(0.5, 0.0, 0.1))
    assert not seen["yellow_cube"].held and not seen["red_cube"].held
    assert seen["red_cube"].last.position == (0.5, 0.0, 0.025)


def test_an_object_that_slips_out_is_seen_where_it_fell():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    for hand in (hand_at(0.5, 0.0, 0.03, 0.05), hand_at(0.55, 0.1, 0.2, 0.05), hand_at(0.55, 0.1, 0.2, 0.0)):
        table.see(hand=hand, covered=(0.5, 0.0, 0.12))
    seen = table.see(cube(0.58, 0.12), hand=hand_at(0.3, 0.0, 0.5, 0.0))
    assert list(seen) == ["red_cube"] and seen["red_cube"].visible
    assert seen["red_cube"].last.position[2] == 0.025


def test_what_slips_out_while_the_hand_stays_over_it_keeps_its_name():
    """The air between the fingers cannot be seen, but a thing that slipped out of them does not stay there."""
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    for hand in (hand_at(0.5, 0.0, 0.03, 0.05), hand_at(0.55, 0.1, 0.3, 0.05), hand_at(0.55, 0.1, 0.3, 0.0)):
        table.see(hand=hand, covered=(hand.position[0], hand.position[1], 0.12))
    seen = table.see(cube(0.7, 0.15), hand=hand_at(0.55, 0.1, 0.3, 0.0), covered=(0.55, 0.1, 0.12), times=6)
    assert list(seen) == ["red_cube"] and seen["red_cube"].last.position == pytest.approx((0.7, 0.15, 0.025))


def test_a_part_of_something_at_the_fingers_is_no_new_object():
    table = Table(min_frames=1)
    assert table.see(cube(0.55, 0.05, cut=True, z=0.2), hand=hand_at(0.5, 0.0, 0.2, 0.05), times=5) == {}


def test_something_ill_seen_at_the_place_of_a_known_object_is_not_a_second_one():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    odd = cube(0.51, 0.0, "brown", class_name="block", size=(0.09, 0.02, 0.05), symmetry=np.pi)
    assert list(table.see(odd, times=5)) == ["red_cube"]


def test_when_most_places_are_empty_at_once_it_is_another_scene():
    table = Table(min_frames=1)
    old = table.see(*(cube(0.4 + 0.1 * k, 0.0, c) for k, c in enumerate(("red", "blue", "green", "yellow"))))
    new = table.see(cube(0.5, 0.3), cube(0.6, 0.4, "blue"))
    assert sorted(new) == ["blue_cube", "red_cube"]
    assert not {t.id for t in new.values()} & {t.id for t in old.values()}


def test_a_thing_that_comes_back_has_its_old_id_and_name():
    table = Table(min_frames=1, clear_views=2)
    first = table.see(cube(0.5, 0.0), cube(0.6, 0.3, "blue"))["red_cube"].id
    assert "red_cube" not in table.see(cube(0.6, 0.3, "blue"), times=3)
    assert table.see(cube(0.4, -0.3), cube(0.6, 0.3, "blue"))["red_cube"].id == first


def test_a_thing_let_go_by_fingers_that_open_little_stays_where_it_was_put():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0))
    for z, width in ((0.03, 0.08), (0.03, 0.05), (0.2, 0.05), (0.03, 0.05), (0.03, 0.06), (0.03, 0.07)):
        table.see(hand=hand_at(0.5, 0.0, z, width), covered=(0.5, 0.0, 0.1))
    for x, z in ((0.5, 0.08), (0.5, 0.15), (0.3, 0.4)):
        seen = table.see(hand=hand_at(x, 0.0, z, 0.07), covered=(0.5, 0.0, 0.1))
        assert not seen["red_cube"].held
        assert seen["red_cube"].last.position == pytest.approx((0.5, 0.0, 0.025), abs=0.01)
    again = (hand_at(0.5, 0.0, 0.03, 0.08), hand_at(0.5, 0.0, 0.03, 0.05), hand_at(0.5, 0.0, 0.2, 0.05))
    for hand in again:
        seen = table.see(hand=hand, covered=(0.5, 0.0, 0.1))
    assert seen["red_cube"].held, "it can be taken again"


def test_the_shaded_side_of_a_hidden_cube_does_not_change_what_it_is():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0, "orange"), cube(0.6, 0.3, "blue"))
    side = cube(0.515, 0.0, "brown", inferred=True)
    seen = table.see(side, cube(0.5, 0.0, "blue", z=0.075), times=10)
    assert sorted(seen) == ["blue_cube", "orange_cube"]
    assert not seen["orange_cube"].visible, "what stands on it hides it"
    assert seen["orange_cube"].last.position[0] == 0.5
    assert seen["orange_cube"].current.look == ("cube", "orange")
    seen = table.see(cube(0.4, -0.3, "orange"), cube(0.6, 0.3, "blue"))
    assert sorted(seen) == ["blue_cube", "orange_cube"]


def test_what_is_only_inferred_is_not_what_the_hand_holds():
    table = Table(min_frames=1)
    tower = cube(0.6, 0.3, "blue", z=0.075)
    table.see(cube(0.5, 0.0), tower)
    for z, width in ((0.03, 0.08), (0.03, 0.05), (0.3, 0.05)):
        table.see(tower, hand=hand_at(0.5, 0.0, z, width), covered=(0.5, 0.0, 0.1))
    seen = table.see(cube(0.6, 0.3, inferred=True), tower, hand=hand_at(0.5, 0.0, 0.3, 0.05), covered=(0.5, 0.0, 0.1))
    assert seen["red_cube"].held and seen["red_cube"].last.position[:2] == pytest.approx((0.5, 0.0))


def test_a_thing_put_down_keeps_its_name_though_something_half_seen_is_nearer_to_the_hand():
    table = Table(min_frames=1)
    first = table.see(cube(0.5, 0.0, "orange"))["orange_cube"].id
    for x, z, width in ((0.5, 0.03, 0.08), (0.5, 0.03, 0.05), (0.6, 0.25, 0.05), (0.6, 0.03, 0.05)):
        table.see(hand=hand_at(x, 0.0, z, width), covered=(x, 0.0, 0.12))
    half = cube(0.61, 0.0, "orange", size=(0.02, 0.05, 0.05), cut=True)
    hand = hand_at(0.45, 0.0, 0.3, 0.08)
    for _ in range(3):
        seen = table.see(half, cube(0.625, 0.0, "orange"), hand=hand)
        assert {n: t.id for n, t in seen.items()} == {"orange_cube": first}
    assert seen["orange_cube"].last.position[0] == 0.625


def test_a_name_given_once_is_known_again_though_most_frames_were_mistaken():
    table = Table(min_frames=1)
    table.see(cube(0.5, 0.0, "orange"))
    table.see(cube(0.5, 0.0, "brown"), times=10)
    assert list(table.see(cube(0.4, -0.3, "orange"), times=3)) == ["orange_cube"]


def test_a_second_track_of_one_thing_is_merged_into_the_first():
    table = Table(min_frames=1)
    first = table.see(cube(0.5, 0.0, "orange"))["orange_cube"].id
    # Seen doubly for some frames, as parts beside the hand can be; then only where the second is.
    table.see(cube(0.5, 0.0, "orange"), cube(0.53, 0.0, "orange"), times=3)
    seen = table.see(cube(0.517, 0.0, "orange"), times=3)
    assert {n: t.id for n, t in seen.items()} == {"orange_cube": first}


def test_what_was_mistaken_goes_once_another_thing_is_seen_at_its_place():
    table = Table(min_frames=1, clear_views=3)
    tower = cube(0.5, 0.0), cube(0.5, 0.0, "green", z=0.175)
    phantom = cube(0.51, 0.0, "blue", class_name="block", size=(0.05, 0.05, 0.15), z=0.075)
    assert sorted(table.see(*tower, phantom, times=2)) == ["blue_block", "green_cube", "red_cube"]
    assert sorted(table.see(*tower, times=4)) == ["green_cube", "red_cube"]


def test_what_moves_by_itself_is_unknown_until_it_rests():
    table = Table()
    for k in range(8):
        seen = table.see(cube(0.5, 0.05 * k))
    (name,) = seen
    assert seen[name].current.class_name == UNKNOWN and seen[name].current.confidence <= UNSURE
    assert seen[name].visible and seen[name].moves > 1
    before = seen[name].id
    seen = table.see(cube(0.5, 0.05 * 7), times=4)
    assert {n: (t.id, t.moves) for n, t in seen.items()} == {"red_cube": (before, 0)}


def test_a_thing_whose_name_is_known_keeps_it_while_somebody_moves_it():
    table = Table()
    table.see(cube(0.5, 0.0), times=2)
    for k in range(1, 6):
        seen = table.see(cube(0.5, 0.05 * k))
    assert {n: (t.current.class_name, t.moves > 1) for n, t in seen.items()} == {"red_cube": ("cube", True)}

"""What lies in a drawer: it moves with it, is hidden in the shut one, and gone where the open one is seen without."""

from dataclasses import replace

import numpy as np
import pytest

from planweave.bodies.arm.contents import Contents
from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.poses import pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Literal
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint

AXIS = np.array((-1.0, 0.0, 0.0))
AXES = np.column_stack((AXIS, (0.0, -1.0, 0.0), (0.0, 0.0, 1.0)))
DRAWER = "cabinet_drawer"


def cabinet(value, visible=True):
    """A cabinet with one drawer that is so far out, m."""
    panel = OrientedBox(np.array((0.6 - value, 0.0, 0.1)), AXES, np.array((0.006, 0.12, 0.05)))
    floor = OrientedBox(np.array((0.6 - value / 2, 0.0, 0.06)), AXES, np.array((value / 2, 0.1, 0.01)))
    joint = SeenJoint("drawer", "slide", AXIS, panel.centre, value, 0.17, panel, None, visible, (floor,))
    body = OrientedBox(np.array((0.72, 0.0, 0.1)), np.eye(3), np.array((0.11, 0.12, 0.1)))
    return [Furniture.of(SeenFixture("cabinet", "cabinet", (body,), (joint,)))]


MUG = Thing("mug", "item", "mug", (0.52, 0.0, 0.11), (0.07, 0.07, 0.08))


@pytest.fixture
def contents():
    """A mug was seen in the drawer, which was 0.15 m out."""
    made = Contents()
    assert made.update({"mug": MUG}, cabinet(0.15)) == {"mug": MUG}
    assert made.hider("mug") == DRAWER
    return made


def test_it_moves_with_the_drawer_and_is_hidden_in_it(contents):
    found = contents.update({}, cabinet(0.0))["mug"]
    assert found.position == pytest.approx((0.67, 0.0, 0.11)) and not found.visible
    stale = replace(MUG, visible=False)  # a tracker that thinks it is where it was
    assert contents.update({"mug": stale}, cabinet(0.05))["mug"].position == pytest.approx((0.62, 0.0, 0.11))


def test_it_is_gone_where_the_open_drawer_is_seen_without_it(contents):
    looks = [contents.update({}, cabinet(0.15)) for _ in range(5)]
    assert ["mug" in look for look in looks] == [True, True, True, True, False]
    assert contents.hider("mug") == "" and contents.update({}, cabinet(0.0)) == {}


@pytest.mark.parametrize("known", [True, False])
def test_what_perception_has_lost_when_the_hand_begins_to_shut_the_drawer_is_not_in_it(contents, known):
    contents.known = {"mug"} if known else {}
    contents.part_moves(DRAWER)
    assert ("mug" in contents.update({}, cabinet(0.0))) == known
    contents.part_moves(DRAWER)
    assert ("mug" in contents.update({}, cabinet(0.1))) == known, "where it was seen last the drawer is no more"


@pytest.mark.parametrize(("looks", "kept"), [(1, True), (2, False)])
def test_what_the_last_looks_at_the_open_drawer_did_not_show_is_not_in_it_once_it_is_shut(contents, looks, kept):
    for _ in range(looks):
        contents.update({}, cabinet(0.15))
    assert ("mug" in contents.update({}, cabinet(0.0))) == kept


@pytest.mark.parametrize(
    ("shown", "value", "visible", "stamp", "kept"),
    [
        (None, 0.17, True, 3.0, False),
        (False, 0.17, True, 3.0, False),  # only remembered
        (True, 0.17, True, 3.0, True),
        (None, 0.02, True, 3.0, True),  # nothing gets out
        (None, 0.17, False, 3.0, True),
        (None, 0.17, True, 2.0, True),  # taken when the hand still pushed it
    ],
)
def test_what_the_hand_shut_in_is_known_no_more_once_one_image_shows_it_opened(
    contents, shown, value, visible, stamp, kept
):
    """A person has opened it, and may have taken the mug out, while the arm moved."""
    contents.glimpse({"mug": MUG}, cabinet(0.15), 0.0)
    contents.part_moves(DRAWER)
    contents.glimpse({}, cabinet(0.1), 1.0)
    contents.part_shut(DRAWER, 2.0)
    contents.part_shut(DRAWER, 9.0)
    contents.glimpse({} if shown is None else {"mug": replace(MUG, visible=shown)}, cabinet(value, visible), stamp)
    assert ("mug" in contents.update({}, cabinet(0.0))) == kept


@pytest.mark.parametrize(("shown", "kept"), [((4.0, 9.0), True), ((9.0,), False)])
def test_what_the_hand_shut_in_is_known_no_more_where_the_first_image_that_shows_it_shut_comes_late(
    contents, shown, kept
):
    contents.part_shut(DRAWER, 2.0)
    for stamp in range(3, 10):
        contents.glimpse({}, cabinet(0.0, visible=stamp in shown), float(stamp))
    assert ("mug" in contents.update({}, cabinet(0.0))) == kept


def test_what_the_hand_shut_in_stays_known_while_the_hand_opens_it_again(contents):
    contents.known = {"mug"}
    contents.part_shut(DRAWER, 2.0)
    contents.update({}, cabinet(0.0))
    contents.part_moves(DRAWER)
    contents.glimpse({}, cabinet(0.1), 3.0)
    assert contents.hider("mug") == DRAWER


@pytest.mark.parametrize(("value", "kept"), [(0.1, True), (0.5, False)])
def test_what_was_shut_in_behind_a_door_is_known_no_more_once_somebody_has_opened_it(value, kept):
    made, inside = Contents(), replace(MUG, position=(0.68, 0.02, 0.05))
    made.update({"mug": inside}, cupboard(1.8))
    made.part_shut("cupboard", 2.0)
    made.copy().glimpse({}, cupboard(1.8), 3.0)  # what a preview shows
    made.glimpse({}, cupboard(value), 3.0)
    assert (made.hider("mug") == "cupboard") == kept


@pytest.mark.parametrize(
    ("ahead", "aside", "height", "visible", "kept"),
    [
        (0.12, 0.1, 0.1, True, False),  # a side of the drawer
        (0.12, 0.1, 0.02, True, True),  # below it
        (0.12, 0.2, 0.1, True, True),
        (0.05, 0.0, 0.1, True, True),  # its handle
        (0.3, 0.0, 0.1, True, True),
        (0.12, 0.1, 0.1, False, True),
    ],
)
@pytest.mark.parametrize("value", [0.0, 0.15])  # as it is remembered
def test_what_the_hand_shut_in_is_known_no_more_where_something_is_before_the_drawer_that_is_not_seen(
    contents, ahead, aside, height, visible, kept, value
):
    contents.part_shut(DRAWER, 2.0)
    place = (0.6 - ahead, aside, height)
    side = Thing("brown_unknown_thing", "item", "unknown", place, (0.08, 0.01, 0.06), visible=visible)
    contents.glimpse({side.name: side}, cabinet(value, visible=False), 3.0)
    assert ("mug" in contents.update({}, cabinet(0.0))) == kept


@pytest.mark.parametrize(
    ("part", "seen", "kept"), [(DRAWER, False, False), (DRAWER, True, True), ("other", False, True)]
)
def test_what_is_doubted_is_not_in_a_drawer_that_is_seen_shut_unless_it_was_seen_before(contents, part, seen, kept):
    contents.part_doubted(part)
    assert "mug" in contents.update({"mug": MUG} if seen else {}, cabinet(0.15))
    assert ("mug" in contents.update({}, cabinet(0.0))) == kept


def test_looks_that_do_not_show_the_drawer_prove_nothing(contents):
    for _ in range(10):
        assert "mug" in contents.update({}, cabinet(0.15, visible=False))


def test_what_is_seen_elsewhere_is_in_the_drawer_no_more(contents):
    aside = replace(MUG, position=(0.4, 0.2, 0.04))
    assert contents.update({"mug": aside}, cabinet(0.0)) == {"mug": aside}
    assert contents.hider("mug") == "" and contents.update({}, cabinet(0.0)) == {}


def test_without_the_cabinet_nobody_knows(contents):
    assert contents.update({}, []) == {}
    assert contents.hider("mug") == ""


def cupboard(value):
    """A cupboard whose door is so far open, rad, with the room behind it."""
    panel = OrientedBox(np.array((0.6, 0.0, 0.1)), AXES, np.array((0.006, 0.12, 0.1)))
    room = OrientedBox(np.array((0.69, 0.0, 0.1)), AXES, np.array((0.08, 0.1, 0.09)))
    up = np.array((0.0, 0.0, 1.0))
    joint = SeenJoint("door", "hinge", up, np.array((0.6, 0.12, 0.0)), value, 1.9, panel, None, room=room)
    body = OrientedBox(np.array((0.7, 0.0, 0.1)), AXES, np.array((0.1, 0.12, 0.1)))
    return [Furniture.of(SeenFixture("cupboard", "cupboard", (body,), (joint,)))]


def test_what_is_behind_a_door_stays_there_and_is_not_gone_for_being_hidden():
    made, inside = Contents(), replace(MUG, position=(0.68, 0.02, 0.05))
    assert made.update({"mug": inside}, cupboard(1.8)) == {"mug": inside} and made.hider("mug") == "cupboard"
    for value in (*[0.0] * 10, 1.8):
        assert made.update({}, cupboard(value))["mug"].position == inside.position
    aside = replace(MUG, position=(0.4, 0.2, 0.04))
    made.update({"mug": aside}, cupboard(1.8))
    assert made.hider("mug") == ""


@pytest.mark.parametrize(
    ("value", "remembered", "kept"),
    [(1.8, True, False), (1.8, False, False), (0.4, False, False), (0.4, True, True), (0.0, False, True)],
)
def test_what_is_not_seen_behind_an_open_door_is_not_there_once_it_is_shut(value, remembered, kept):
    made, inside = Contents(), replace(MUG, position=(0.68, 0.02, 0.05))
    made.update({"mug": inside}, cupboard(1.8))
    things = {"mug": replace(inside, visible=False)} if remembered else {}
    for _ in range(5):
        made.update(things, cupboard(value))
    made.update(things, cupboard(0.0))
    assert (made.hider("mug") == "cupboard") == kept


@pytest.mark.parametrize(
    ("other", "doubted"),
    [
        (replace(MUG, name="mug_2", colour="blue"), True),
        (replace(MUG, name="thing", class_name="unknown_thing", colour="red"), True),
        (replace(MUG, name="thing", class_name="unknown_thing", colour="red", visible=False), False),
        (replace(MUG, name="can", class_name="can", colour="green"), False),
        (replace(MUG, name="bowl", class_name="bowl", colour="red"), False),
    ],
)
def test_what_appears_elsewhere_may_be_what_was_hidden(other, doubted):
    """A mug that the door has pushed out again, seen as another one, or as nobody knows what."""
    made, inside = Contents(), replace(MUG, position=(0.68, 0.02, 0.05), colour="red")
    bowl = replace(MUG, name="bowl", class_name="bowl", colour="red", position=(0.3, 0.2, 0.04))
    made.update({"mug": inside, "bowl": bowl}, cupboard(1.8))
    found = made.update({other.name: other}, cupboard(0.0))
    assert ("mug" not in found) == doubted and (made.hider("mug") == "") == doubted


def test_where_the_hand_has_been_behind_a_door_things_are_to_be_seen_again():
    """It may have dragged the mug out, and the door that is shut then explains no longer that nobody sees it."""
    made, inside = Contents(), replace(MUG, position=(0.68, 0.02, 0.05))
    made.update({"mug": inside}, cupboard(1.8))
    made.reached(np.array((0.5, 0.02, 0.06)))
    made.reached(np.array((0.69, 0.02, 0.25)))
    assert made.hider("mug") == "cupboard", "before the door, and above the roof"
    made.reached(np.array((0.63, 0.02, 0.06)))
    assert made.hider("mug") == "" and made.update({}, cupboard(0.0)) == {}
    made.update({"mug": inside}, cupboard(1.8))
    assert made.update({}, cupboard(0.0))["mug"].position == inside.position, "it was seen again before"


@pytest.mark.parametrize(("value", "visible", "seen"), [(0.0, True, True), (0.0, False, False), (1.8, False, True)])
def test_a_cupboard_is_seen_where_the_door_is_that_is_thought_to_be_shut(value, visible, seen):
    """What is seen of the rest does not show that it is shut, nor that what was put behind it is there."""
    (each,) = cupboard(value)
    hidden = replace(each, joints={n: replace(j, visible=visible) for n, j in each.joints.items()})
    assert hidden.is_seen == seen and not replace(hidden, visible=False).is_seen


def test_a_room_behind_a_door_has_walls_and_a_roof_and_only_while_it_is_open():
    (shut,), (open_one,) = cupboard(0.0), cupboard(1.8)
    assert shut.rooms() == [] and [each.name for each in open_one.rooms()] == ["cupboard"]
    thing = open_one.thing(Domain.load("kitchen"))
    inside = [part for part in thing.solid.moved(pose_of(thing)).parts if part.kind == "box"]
    x, y = np.array([0.69]), np.array([0.0])
    crossed = sorted(float(part.crossing(x, y)[1][0]) for part in inside if np.isfinite(part.crossing(x, y)[1][0]))
    assert crossed == [pytest.approx(0.01), pytest.approx(0.2)], "a floor and a roof, nothing between them"
    deep, top = sorted(thing.regions, key=lambda region: -region.size[2])
    assert deep.size == pytest.approx((0.16, 0.2, 0.18)) and top.centre[2] == pytest.approx(0.2, abs=0.005)
    assert Literal("holds_things", ("cupboard",)) in open_one.facts()

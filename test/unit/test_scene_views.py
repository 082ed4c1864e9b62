"""What perception tells beside the objects: changes of the table, shapes for 3D viewers, the annotated image."""

import math
from dataclasses import replace

import numpy as np
import pytest

from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint, turn
from planweave.perception.calibration import load_extrinsics
from planweave.perception.changes import ChangeDetector, Changes
from planweave.perception.detection import Detection
from planweave.perception.drawing import annotate
from planweave.perception.geometry import Intrinsics, Projector
from planweave.perception.markers import as_objects, shapes
from planweave.perception.perceiver import NamedObject

PROJECTOR = Projector(Intrinsics(433.0, 433.0, 319.5, 239.5, 640, 480), load_extrinsics().camera_to_base())


def seen(name, x=0.5, y=0.0, visible=True, number=1, **changes):
    thing = Detection(
        "cube", "red", "box", 0.9, (x, y, 0.025), 0.0, math.pi / 2, (0.05, 0.05, 0.05), 0.05, (200.0, 20.0, 20.0)
    )
    return NamedObject(number, name, replace(thing, **changes), visible)


def round_thing(name, **changes):
    return seen(name, **{"class_name": "cylinder", "shape": "cylinder", "symmetry": 0.0, **changes})


# --- changes ---------------------------------------------------------------------------------------------------------


def test_new_objects_appear_once_and_in_order():
    changes = ChangeDetector()
    assert changes.update([seen("b"), seen("a", 0.3)]) == Changes(appeared=("a", "b"))
    assert not changes.update([seen("b"), seen("a", 0.3)])
    assert changes.update([seen("b"), seen("a", 0.3), seen("c", 0.7)]) == Changes(appeared=("c",))


def test_noise_and_one_wild_frame_are_no_movement():
    changes = ChangeDetector(distance=0.02, settle=3)
    rng = np.random.default_rng(0)
    changes.update([seen("a")])
    for _ in range(100):
        assert not changes.update([seen("a", 0.5 + rng.normal(0, 0.004), rng.normal(0, 0.004))])
    assert not changes.update([seen("a", 0.8)])
    assert not changes.update([seen("a")])


def test_a_move_is_told_once_when_the_object_rests():
    changes = ChangeDetector(distance=0.02, settle=3)
    changes.update([seen("a")])
    told = [changes.update([seen("a", x)]) for x in (0.55, 0.6, 0.65, 0.7, 0.7, 0.7, 0.7, 0.7)]
    assert [bool(t) for t in told] == [False] * 5 + [True] + [False] * 2
    assert told[5] == Changes(moved=("a",))


def test_a_drift_adds_up_to_a_move():
    changes = ChangeDetector(distance=0.02, settle=3)
    changes.update([seen("a")])
    told = [changes.update([seen("a", 0.5 + n * 0.002)]) for n in range(1, 30)]
    assert any(t.moved for t in told)


def test_a_carried_object_moves_when_it_is_seen_again():
    """The tracker takes what the fingers hold along, unseen."""
    changes = ChangeDetector(distance=0.02, settle=2)
    changes.update([seen("a")])
    for x in (0.55, 0.6, 0.6, 0.6):
        assert not changes.update([seen("a", x, visible=False)])
    assert not changes.update([seen("a", 0.6)])
    assert changes.update([seen("a", 0.6)]) == Changes(moved=("a",))


def test_what_is_covered_did_not_disappear_and_what_is_gone_did():
    changes = ChangeDetector(settle=3)
    changes.update([seen("a"), seen("b", 0.3)])
    for _ in range(20):
        assert not changes.update([seen("a", visible=False), seen("b", 0.3)])
    told = [changes.update([seen("b", 0.3)]) for _ in range(5)]
    assert told == [Changes(), Changes(), Changes(disappeared=("a",)), Changes(), Changes()]
    assert changes.update([seen("a"), seen("b", 0.3)]) == Changes(appeared=("a",))


def test_forgetting_everything_for_two_frames_is_no_change():
    """After /perception/forget the tracker needs some frames to name what is there."""
    changes = ChangeDetector(settle=3)
    changes.update([seen("a")])
    assert [changes.update(objects) for objects in ([], [], [seen("a", number=7)])] == [Changes()] * 3


# --- shapes ----------------------------------------------------------------------------------------------------------


def test_objects_are_boxes_and_cylinders_in_their_colour_with_a_label():
    box, label, can, _ = shapes([seen("cube_1", yaw=0.3), round_thing("can_1", number=2, x=0.3)])
    assert (box.kind, can.kind, label.kind) == ("box", "cylinder", "text")
    assert (box.position, box.size, box.yaw) == ((0.5, 0.0, 0.025), (0.05, 0.05, 0.05), 0.3)
    assert box.colour == pytest.approx((0.78, 0.08, 0.08, 0.9))
    assert (label.text, label.id) == ("cube_1", box.id)
    assert label.position[2] > 0.05


def test_a_thing_of_parts_is_drawn_as_these_with_one_label():
    """As a mug with its handle: in the frame of its bounding box, turned as it is."""
    parts = ((-0.03, -0.03, 0.0, 0.03, 0.03, 0.08), (0.03, -0.005, 0.02, 0.05, 0.005, 0.06))
    mug = seen("mug_1", yaw=math.pi / 2)
    mug = replace(mug, thing=replace(mug.thing, parts=parts, class_name="mug", shape="hollow"))
    body, handle, label = shapes([mug])
    x, y, _ = mug.thing.position
    assert body.size == (0.06, 0.06, 0.08) and handle.size == (0.02, 0.01, 0.04)
    assert handle.position[:2] == pytest.approx((x, y + 0.04), abs=1e-3) and handle.yaw == round(math.pi / 2, 2)
    assert label.kind == "text" and body.id == handle.id == label.id
    assert len({s.namespace for s in (body, handle, label)}) == 3


def test_what_is_hidden_is_faint_and_receptacles_let_their_contents_through():
    solid = shapes([seen("a")])[0].colour[3]
    assert shapes([seen("a", visible=False)])[0].colour[3] < shapes([seen("t", receptacle=True)])[0].colour[3] < solid


def test_noise_below_a_millimetre_gives_equal_shapes():
    assert shapes([seen("a", 0.5)]) == shapes([seen("a", 0.50004)]) != shapes([seen("a", 0.502)])


# --- annotated image -------------------------------------------------------------------------------------------------


def canvas():
    return np.full((480, 640, 3), 120, np.uint8)


def changed(picture):
    """Rows and columns of the pixels that were drawn on."""
    return np.nonzero((picture != canvas()).any(axis=2))


def test_outlines_and_label_are_drawn_at_the_object_and_the_frame_is_left_alone():
    frame = canvas()
    picture = annotate(frame, [seen("red_cube")], PROJECTOR)
    assert (frame == canvas()).all()
    rows, columns = changed(picture)
    u, v = PROJECTOR.pixels(np.array([[0.5, 0.0, 0.05]]))
    assert abs(columns.mean() - u[0]) < 5 and rows.max() < v[0] + 20 and rows.min() > v[0] - 50


def test_round_things_get_round_outlines():
    box, ring = (annotate(canvas(), [thing("x", size=(0.2, 0.2, 0.02))], PROJECTOR) for thing in (seen, round_thing))
    u, v = PROJECTOR.pixels(np.array([[0.4, -0.1, 0.035]]))  # a corner of the box, beyond the circle
    corner = np.s_[int(v[0]) - 4 : int(v[0]) + 5, int(u[0]) - 4 : int(u[0]) + 5]
    assert (box[corner] != 120).any() and (ring[corner] == 120).all()


def test_labels_keep_clear_of_each_other():
    """Two cubes side by side: each label's text can be read, so both boxes are whole."""
    things = [seen("red_cube_1", 0.5, 0.0), seen("red_cube_2", 0.5, 0.06, number=2)]
    alone = [(annotate(canvas(), [thing], PROJECTOR) == (30, 30, 30)).all(axis=2).sum() for thing in things]
    both = (annotate(canvas(), things, PROJECTOR) == (30, 30, 30)).all(axis=2).sum()
    assert both > 0.97 * sum(alone)


@pytest.mark.parametrize("x", [-50.0, 50.0], ids=["far behind", "far ahead"])
def test_what_is_out_of_the_picture_is_left_out(x):
    assert (annotate(canvas(), [seen("a", x)], PROJECTOR) == canvas()).all()


def test_what_is_behind_a_camera_on_its_side_is_left_out():
    sideways = replace(
        load_extrinsics().camera_to_parent, rotation=np.array([[0.0, 0.0, 1.0], [-1.0, 0.0, 0.0], [0.0, -1.0, 0.0]])
    )
    projector = Projector(PROJECTOR.intrinsics, sideways)
    assert (annotate(canvas(), [seen("a", 0.3)], projector) == canvas()).all()


@pytest.mark.parametrize("size", [(48, 64), (1080, 1920)])
def test_small_and_large_images_can_be_drawn_on(size):
    height, width = size
    projector = Projector(
        Intrinsics(0.68 * width, 0.68 * width, width / 2, height / 2, width, height), PROJECTOR.camera_to_frame
    )
    picture = annotate(np.zeros((*size, 3), np.uint8), [seen("a"), seen("b", 0.5, 0.01, number=2)], projector)
    assert picture.shape == (*size, 3) and picture.any()


def furniture(name, visible=True, **joint):
    """A cabinet with one part that moves, turned by 0.5 rad."""
    axes = turn(np.array([0.0, 0.0, 1.0]), 0.5)

    def box(x, z, *half):
        return OrientedBox(np.array([x, 0.1, z]), axes, np.array(half))

    fields = {"kind": "slide", "value": 0.123, "most": 0.2, "visible": visible} | joint
    panel, handle = box(0.55, 0.2, 0.01, 0.15, 0.05), box(0.53, 0.2, 0.01, 0.05, 0.01)
    moving = SeenJoint(f"{name}_top_drawer", axis=axes[:, 0], anchor=panel.centre, panel=panel, handle=handle, **fields)
    return SeenFixture(name, "cabinet", (box(0.7, 0.15, 0.12, 0.15, 0.15),), (moving,), visible)


def test_furniture_with_boards_is_shown_with_these():
    whole = furniture("shelf_1")
    body = whole.bodies[0]
    boards = [
        OrientedBox(body.centre + (0, 0, z), body.axes, np.array((*body.half[:2], 0.006))) for z in (-0.1, 0.0, 0.1)
    ]
    drawn = shapes(as_objects([replace(whole, joints=(), shape=tuple(boards))], 1000))
    assert [s.position[2] for s in drawn] == pytest.approx([0.05, 0.15, 0.25, 0.32]) and drawn[3].kind == "text"


def test_furniture_is_shown_as_boxes_with_what_moves_and_how_far():
    door = furniture("cabinet_2", visible=False, kind="hinge", value=math.pi / 4)
    objects = as_objects([furniture("cabinet_1"), door], 1000)
    names = [o.name for o in objects]
    assert names == ["cabinet_1", "cabinet_1_top_drawer 0.12 m", "", "cabinet_2", "cabinet_2_top_drawer 45 deg", ""]
    assert len({o.id for o in objects}) == 6 and min(o.id for o in objects) == 1000
    assert [o.visible for o in objects] == [True] * 3 + [False] * 3
    body = objects[0].thing
    assert body.position == (0.7, 0.1, 0.15) and body.size == (0.24, 0.3, 0.3) and body.yaw == pytest.approx(0.5)
    assert body.top == pytest.approx(0.3) and objects[0].thing.rgb != objects[1].thing.rgb == objects[2].thing.rgb
    drawn = shapes(objects)
    assert [s.kind for s in drawn].count("box") == 6 and len(drawn) == 10  # the handles have no label

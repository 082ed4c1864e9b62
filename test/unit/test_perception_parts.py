"""Perception's parts one by one: geometry, images, colours, names, robot filter, cameras, joint history, supports."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from codes import raises_code
from doubles.recorded_camera import png

from planweave.core.symbolic.domain import Domain
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.calibration import load_extrinsics
from planweave.perception.cameras.ros_topics import COLOUR, DEPTH, INFO, RosTopicsCamera
from planweave.perception.colours import COLOURS, colour_word, family_image, patch_colour, same_surface
from planweave.perception.decoding import (
    clean_depth,
    decode_colour,
    decode_compressed_colour,
    decode_compressed_depth,
    decode_depth,
)
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection
from planweave.perception.detectors.attributes import detect
from planweave.perception.geometry import Intrinsics, Pose, fit_sphere, outline, share_inside, wrap_yaw
from planweave.perception.joint_history import JointHistory
from planweave.perception.naming import Nameless, name_all
from planweave.perception.object_classes import UNKNOWN, UNSURE, ObjectClasses
from planweave.perception.regions import PixelRegion
from planweave.perception.robot_filter import RobotState, capsules, hand_pose, robot_mask
from planweave.perception.side_views import find_table
from planweave.perception.supports import rest_on_supports
from planweave.robots import load_robot
from planweave.robots.model import robot_spec
from planweave.simulation.shapes import COLOURS as PAINTS

FR3, TABLETOP = load_robot(), Domain.load("tabletop")
CLASSES = ObjectClasses.of(TABLETOP)

INTRINSICS = Intrinsics(433.0, 433.0, 319.5, 239.5, 640, 480)
EXTRINSICS = load_extrinsics()


def a_view(depth):
    rgb = np.zeros((*depth.shape, 3), np.uint8)
    return DepthView("camera", rgb, depth, INTRINSICS, EXTRINSICS.camera_to_base())


# geometry


@pytest.mark.parametrize(
    ("yaw", "period", "expected"),
    [
        (0.3, math.pi / 2, 0.3),
        (1.0, math.pi / 2, 1.0 - math.pi / 2),
        (-math.pi / 4, math.pi / 2, math.pi / 4),
        (2.0, math.pi, 2.0 - math.pi),
        (math.pi / 2, math.pi, math.pi / 2),
        (7.0, 2 * math.pi, 7.0 - 2 * math.pi),
        (1.2, 0.0, 0.0),
    ],
)
def test_yaw_is_normalised_to_the_symmetry(yaw, period, expected):
    assert wrap_yaw(yaw, period) == pytest.approx(expected)


def filled(width, height, yaw=0.0, centre=(0.0, 0.0), step=0.0024):
    u, v = np.meshgrid(np.arange(-width / 2, width / 2 + 1e-9, step), np.arange(-height / 2, height / 2 + 1e-9, step))
    c, s = math.cos(yaw), math.sin(yaw)
    return np.column_stack((c * u.ravel() - s * v.ravel() + centre[0], s * u.ravel() + c * v.ravel() + centre[1]))


def test_outline_of_a_turned_rectangle():
    shape = outline(filled(0.12, 0.06, 0.5, (0.4, -0.2)))
    assert (shape.long, shape.short) == pytest.approx((0.12, 0.06), abs=0.003)
    assert shape.centre == pytest.approx((0.4, -0.2), abs=0.001)
    assert wrap_yaw(shape.yaw - 0.5, math.pi) == pytest.approx(0.0, abs=0.02)
    assert shape.fill > 0.97


def test_outline_of_a_disc():
    points = filled(0.1, 0.1)
    shape = outline(points[np.hypot(*points.T) < 0.05])
    assert shape.fill == pytest.approx(math.pi / 4, abs=0.04)
    assert shape.radius == pytest.approx(0.05, abs=0.002)


def test_share_inside_a_polygon():
    hull = outline(filled(0.1, 0.1)).hull
    assert share_inside(filled(0.1, 0.1), hull, 1e-6) == 1.0
    assert share_inside(filled(0.1, 0.1, centre=(0.05, 0.0)), hull, 1e-6) == pytest.approx(0.5, abs=0.03)
    assert share_inside(filled(0.1, 0.1), hull[::-1], 1e-6) == 1.0, "either sense of turning"


def test_sphere_from_its_cap():
    a, b = np.meshgrid(np.linspace(0, 2 * math.pi, 40), np.linspace(0, 1.0, 15))
    cap = np.column_stack(
        (np.cos(a.ravel()) * np.sin(b.ravel()), np.sin(a.ravel()) * np.sin(b.ravel()), np.cos(b.ravel()))
    )
    centre, radius = fit_sphere(0.033 * cap + (0.5, 0.1, 0.03))
    assert centre == pytest.approx((0.5, 0.1, 0.03), abs=1e-6)
    assert radius == pytest.approx(0.033, abs=1e-6)


def test_the_shipped_camera_looks_down():
    rotation = EXTRINSICS.camera_to_base().rotation
    assert rotation @ (0, 0, 1) == pytest.approx((0, 0, -1), abs=1e-6)
    assert rotation @ (0, -1, 0) == pytest.approx((1, 0, 0), abs=1e-6), "the top of the image is away from the robot"


# images


def test_depth_in_millimetres_and_metres_are_the_same():
    metres = np.array([[0.5, 1.25], [0.0, 2.0]], dtype=np.float32)
    from_metres = decode_depth(metres.tobytes(), 2, 2, "32FC1")
    from_millimetres = decode_depth((metres * 1000).astype("<u2").tobytes(), 2, 2, "16UC1")
    big = decode_depth((metres * 1000).astype(">u2").tobytes(), 2, 2, "16UC1", bigendian=True)
    assert np.allclose(from_metres, metres) and np.allclose(from_millimetres, metres) and np.allclose(big, metres)


def test_row_padding_is_left_out():
    rows = np.zeros((2, 12), dtype=np.uint8)
    rows[:, :6] = [[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]]
    assert decode_colour(rows.tobytes(), 2, 2, "rgb8", 12).tolist() == [
        [[1, 2, 3], [4, 5, 6]],
        [[7, 8, 9], [10, 11, 12]],
    ]
    assert decode_colour(rows.tobytes(), 2, 2, "bgr8", 12)[0, 0].tolist() == [3, 2, 1]


def test_nan_and_nonsense_are_no_depth():
    depth = clean_depth(np.array([[np.nan, np.inf, -1.0, 0.0, 99.0, 1.5]], dtype=np.float32))
    assert depth.tolist() == [[0, 0, 0, 0, 0, 1.5]]


@pytest.mark.parametrize(
    ("call", "data"),
    [
        (lambda: decode_depth(b"1234", 1, 1, "8UC1"), "8UC1"),
        (lambda: decode_colour(b"123", 1, 1, "yuv422"), "yuv422"),
        (lambda: decode_colour(b"123", 2, 2, "rgb8"), "3 bytes"),
        (lambda: decode_depth(b"", 0, 0, "32FC1"), "0 x 0"),
        (lambda: decode_depth(b"12345678", 2, 1, "32FC1", step=2), "2 bytes"),
    ],
)
def test_a_garbage_image_says_what_is_wrong(call, data):
    with raises_code("frame", data):
        call()


@pytest.mark.parametrize("k", [[0.0] * 9, [1.0] * 4, [math.nan] * 9, [-1, 0, 0, 0, 1, 0, 0, 0, 1]])
def test_unusable_camera_info_is_refused(k):
    with raises_code("frame", "640 x 480"):
        Intrinsics.from_matrix(k, 640, 480)


def test_pixels_and_points_are_inverse():
    view = a_view(np.full((480, 640), 1.0, dtype=np.float32))
    projector = view.projector
    columns, rows = projector.pixels(view.points[[10, 240, 470], [20, 320, 600]])
    assert columns == pytest.approx([20, 320, 600], abs=1e-2)
    assert rows == pytest.approx([10, 240, 470], abs=1e-2)
    assert np.isnan(projector.pixels(np.array([[0.5, 0.0, 3.0]]))[0]).all(), "behind the camera"


# plane


def test_the_table_is_found_through_noise_things_and_holes():
    rng = np.random.default_rng(1)
    depth = np.full((480, 640), 1.055, dtype=np.float32) + rng.normal(0, 0.003, (480, 640)).astype(np.float32)
    depth[100:250, 100:300] -= 0.06
    depth[300:400, :] = 0
    plane = find_table(a_view(depth), (0.12, 1.0, -0.7, 0.7))
    assert plane.height_at(0.5, 0.0) == pytest.approx(-0.005, abs=0.0007)
    assert plane.tilt < 0.003


@pytest.mark.parametrize("degrees", [0.5, 2.5, 5.0])
def test_a_table_that_is_not_level_is_found_as_it_is(degrees):
    slope = math.tan(math.radians(degrees))
    view = a_view(np.full((480, 640), 1.05, dtype=np.float32))
    depth = view.depth - slope * (view.points[..., 0] - 0.5)
    depth[100:250, 100:300] -= 0.06
    assert math.degrees(find_table(a_view(depth), (0.12, 1.0, -0.7, 0.7)).tilt) == pytest.approx(degrees, rel=0.1)


def test_no_plane_where_no_table_is():
    assert find_table(a_view(np.full((480, 640), 2.0, dtype=np.float32)), (0.12, 1.0, -0.7, 0.7)) is None


# colours


@pytest.mark.parametrize("word", [w for w in PAINTS if w != "cyan"])
@pytest.mark.parametrize("light", [0.75, 1.0])
def test_paints_keep_their_word_in_more_and_less_light(word, light):
    red, green, blue = (min(255, 255 * light * c) for c in PAINTS[word])
    if (word, light) == ("white", 0.75):
        light = 0.85
        red, green, blue = (255 * light * c for c in PAINTS[word])
    assert colour_word(red, green, blue) == word
    assert word in COLOURS


@pytest.mark.parametrize(
    ("rgb", "word"),
    [
        ((255, 0, 0), "red"),
        ((150, 10, 10), "red"),
        ((255, 128, 0), "orange"),
        ((120, 60, 20), "brown"),
        ((250, 230, 30), "yellow"),
        ((30, 160, 40), "green"),
        ((155, 181, 32), "green"),
        ((0, 255, 255), "aqua"),
        ((20, 50, 200), "blue"),
        ((120, 30, 160), "purple"),
        ((250, 120, 170), "pink"),
        ((255, 255, 255), "white"),
        ((120, 120, 125), "gray"),
        ((20, 20, 22), "black"),
        ((0, 0, 0), "black"),
    ],
)
def test_colour_words(rgb, word):
    assert colour_word(*rgb) == word


def test_shade_does_not_make_another_surface():
    orange = np.array([245, 115, 8.0])
    assert same_surface(orange, 0.5 * orange)
    assert same_surface(orange, np.array([20, 10, 5.0])), "too dark to tell"
    assert not same_surface(orange, np.array([20, 50, 200.0]))
    families = family_image(np.array([[orange, 0.5 * orange]]).astype(np.uint8))
    assert families[0, 0] == families[0, 1]


def test_the_colour_of_a_patch_is_that_of_its_lit_side():
    colours = np.array([[200, 20, 20]] * 30 + [[40, 4, 4]] * 25, dtype=np.uint8)
    assert patch_colour(colours) == (200, 20, 20)


# names


@pytest.mark.parametrize(
    ("new", "known", "names"),
    [
        ([("cube", "red", 0.1)], [], ["red_cube"]),
        (
            [("cube", "red", -0.1), ("cube", "red", 0.2), ("cube", "blue", 0.0)],
            [],
            ["red_cube_2", "red_cube", "blue_cube"],
        ),
        ([("cube", "red", 0.1)], [("cube", "red", 0.0, "red_cube")], ["red_cube_2"]),
        ([("cylinder", "purple", 0.1)], [], ["purple_cylinder"]),
        ([("banana", "yellow", 0), ("apple", "red", 0), ("apple", "green", -0.1)], [], ["banana", "apple", "apple_2"]),
        ([("bottle", "green", 0)], [], ["bottle"]),
        ([("bottle", "green", 0.1), ("bottle", "blue", 0)], [], ["green_bottle", "blue_bottle"]),
        ([("bottle", "green", 0.1), ("bottle", "green", 0)], [], ["green_bottle", "green_bottle_2"]),
        ([("tray", "gray", 0.4)], [], ["tray"]),
        ([("tray", "gray", -0.4), ("tray", "gray", 0.4)], [], ["right_tray", "left_tray"]),
        ([("tray", "gray", 0.4), ("tray", "blue", -0.4)], [], ["gray_tray", "blue_tray"]),
        ([("tray", "gray", 0.4), ("tray", "gray", 0.0), ("tray", "gray", -0.4)], [], ["tray", "tray_2", "tray_3"]),
        (
            [("tray", "gray", 0.4), ("tray", "gray", 0.0), ("tray", "blue", -0.4)],
            [],
            ["left_gray_tray", "right_gray_tray", "blue_tray"],
        ),
        ([("tray", "blue", -0.4)], [("tray", "gray", 0.4, "tray")], ["blue_tray"]),
        ([("tray", "gray", -0.4)], [("tray", "gray", 0.4, "tray")], ["tray_2"]),
        ([("tray", "gray", 0.4), ("box", "gray", -0.4), ("plate", "white", 0.0)], [], ["tray", "box", "plate"]),
        ([("ball", "aqua", 0.4)], [], ["aqua_ball"]),
    ],
)
def test_names(new, known, names):
    things = [Nameless(*row, TABLETOP.is_receptacle_class(row[0])) for row in new]
    there = [Nameless(*row[:3], TABLETOP.is_receptacle_class(row[0])) for row in known]
    assert name_all(things, CLASSES, there, {row[3] for row in known}) == names


PUZZLE = "(define (domain puzzle) (:requirements :strips :typing) (:types item) (:predicates (on ?a ?b - item)))"


def test_classes_and_names_are_those_of_the_domain():
    classes = ObjectClasses.of(
        Domain.load(
            PUZZLE,
            "shapes: {square_top: {red: ruby, other: brick}, dome: {red: cherry}}\nnames: {colour: [brick]}",
            replace=True,
        )
    )
    assert [classes.name("square_top", c) for c in ("red", "blue", "")] == ["ruby", "brick", "brick"]
    assert classes.name("dome", "blue") == classes.name("neck") == UNKNOWN and not classes.find("dome", "blue")
    alone = [Nameless("brick", "blue", 0.0, False), Nameless("ruby", "red", 0.1, False)]
    assert name_all(alone, classes) == ["blue_brick", "ruby"]
    assert {"cube", "banana", "tray"} <= {c for by in CLASSES.shapes.values() for c in by.values()}


@pytest.mark.parametrize(
    ("notes", "data"),
    [
        ("shapes: {squares_top: brick}", ("'squares_top'", "'square_top'")),
        ("shapes: [brick]", ("'shapes'", "['brick']")),
        ("shapes: {neck: 3}", "shapes: neck"),
        ("names: {colour: brick}", ("names: colour", "'brick'")),
    ],
)
def test_sections_of_classes_that_cannot_be_are_told(notes, data):
    with raises_code("domain", data):
        ObjectClasses.of(Domain.load(PUZZLE, notes, replace=True))


# the robot's outline


@pytest.fixture(scope="module")
def robot():
    mujoco = pytest.importorskip("mujoco")
    model = robot_spec(FR3).compile()
    return mujoco, model, mujoco.MjData(model)


def set_arm(robot, joints, width=0.04):
    mujoco, model, data = robot
    for name, value in zip(FR3.joint_names, joints):
        data.joint(name).qpos[0] = value
    for name in FR3.gripper.joints:
        data.joint(name).qpos[0] = width / 2
    mujoco.mj_kinematics(model, data)
    return data


def test_forward_kinematics_agree_with_the_model(robot):
    rng = np.random.default_rng(0)
    for _ in range(20):
        joints = rng.uniform(FR3.lower, FR3.upper)
        site = set_arm(robot, joints).site("tcp")
        hand = hand_pose(RobotState(tuple(joints), 0.04, 0.0))
        assert hand.position == pytest.approx(site.xpos, abs=1e-3)
        assert hand.rotation == pytest.approx(site.xmat.reshape(3, 3), abs=1e-3)


@pytest.mark.parametrize("width", [0.0, 0.04, 0.08])
def test_capsules_cover_every_vertex_that_is_seen_of_the_robot(robot, width):
    mujoco, model, _ = robot
    data = set_arm(robot, FR3.home, width)
    rods = capsules(RobotState(FR3.home, width, 0.0))
    seen = 0
    for geom in range(model.ngeom):
        if model.geom_group[geom] != 2 or model.geom_type[geom] != mujoco.mjtGeom.mjGEOM_MESH:
            continue
        mesh = model.geom_dataid[geom]
        first = model.mesh_vertadr[mesh]
        vertices = model.mesh_vert[first : first + model.mesh_vertnum[mesh]] @ data.geom_xmat[geom].reshape(3, 3).T
        vertices = vertices + data.geom_xpos[geom]
        distance = np.full(len(vertices), np.inf)
        for start, end, radius in rods:
            axis = end - start
            along = np.clip((vertices - start) @ axis / max(axis @ axis, 1e-12), 0, 1)
            distance = np.minimum(distance, np.linalg.norm(vertices - start - along[:, None] * axis, axis=1) - radius)
        assert distance.max() < 0.002, (
            f"a point of {model.geom(geom).name} sticks out by {distance.max() * 1000:.0f} mm"
        )
        seen += len(vertices)
    assert seen > 1000


def test_the_table_beside_the_robot_is_not_robot():
    depth = np.full((480, 640), 1.05, dtype=np.float32)
    view = a_view(depth)
    mask = robot_mask(view, RobotState(FR3.home, 0.08, 0.0))
    assert not mask[view.points[..., 0] > 0.25].any()


# cameras

TOPICS = {COLOUR: "/c", DEPTH: "/d", INFO: "/i"}


def a_set(size=(4, 6), depth_size=None):
    h, w = size
    dh, dw = depth_size or size
    header = SimpleNamespace(frame_id="camera")

    def image(height, width, encoding, data):
        step = len(data) // height
        return SimpleNamespace(
            header=header, height=height, width=width, encoding=encoding, step=step, is_bigendian=0, data=data
        )

    return {
        COLOUR: image(h, w, "rgb8", bytes(3 * w * h)),
        DEPTH: image(dh, dw, "32FC1", np.ones((dh, dw), np.float32).tobytes()),
        INFO: SimpleNamespace(k=(5.0, 0, 3.0, 0, 5.0, 2.0, 0, 0, 1.0), height=h, width=w),
    }


def feed(camera, stamp, now, parts, what=(COLOUR, DEPTH, INFO)):
    return [camera.add(part, stamp, parts[part], now) for part in what]


def test_a_set_is_complete_when_all_three_have_one_stamp():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    big = a_set((16, 16))
    assert feed(camera, 7, 0.1, big) == [False, False, True]
    frame = camera.take()
    assert (frame.nanoseconds, frame.rgb.shape, frame.depth.shape) == (7, (16, 16, 3), (16, 16))
    assert frame.stamp == pytest.approx(7e-9)
    assert camera.take() is None


def test_only_the_newest_set_counts_and_stamps_are_not_mixed():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    parts = a_set((16, 16))
    camera.add(COLOUR, 1, parts[COLOUR], 0.0)
    camera.add(DEPTH, 2, parts[DEPTH], 0.0)
    camera.add(INFO, 3, parts[INFO], 0.0)
    assert camera.take() is None
    feed(camera, 4, 0.1, parts)
    feed(camera, 5, 0.2, parts)
    assert camera.take().nanoseconds == 5
    assert camera.take() is None


def test_an_image_that_the_camera_would_give_again_counts_anew():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    assert not camera.add_still(5, 4, 0.1)  # nothing was seen yet
    feed(camera, 4, 0.1, a_set((16, 16)))
    assert not camera.add_still(5, 4, 0.2)  # the image itself comes first
    first = camera.take()
    assert camera.add_still(9, 4, 5.0) and not camera.complaint(5.9)
    again = camera.take()
    assert again.nanoseconds == 9 and again.rgb is first.rgb and camera.take() is None
    assert camera.add_still(12, 4, 6.0) and not camera.add_still(13, 3, 6.1)  # of another image, which got lost
    assert camera.take().nanoseconds == 12
    assert camera.add_still(13, 12, 6.2) and camera.add_still(14, 13, 6.2) and camera.take().nanoseconds == 14
    assert not any(feed(camera, 13, 6.2, a_set((16, 16)))) and camera.take() is None  # told of, and now old
    feed(camera, 15, 6.3, a_set((16, 16)))
    assert camera.take().nanoseconds == 15 and camera.take() is None
    assert not camera.add_still(16, 13, 6.4)
    assert "no images" in camera.complaint(8.0)


def test_of_several_sets_that_are_kept_the_oldest_comes_first():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0, kept=3)
    for stamp in (1, 2, 3, 4):
        feed(camera, stamp, 0.1, a_set((16, 16)))
    assert camera.add_still(5, 4, 0.2) and not camera.add_still(6, 2, 0.2)
    assert [camera.take().nanoseconds for _ in range(3)] == [3, 4, 5] and camera.take() is None
    assert camera.add_still(7, 4, 0.3) and camera.take().nanoseconds == 7


def test_sizes_that_differ_are_named():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    feed(camera, 1, 0.1, a_set((16, 16), (8, 16)))
    with raises_code("frame", "16 x 16", "16 x 8"):
        camera.take()


@pytest.mark.parametrize(
    ("heard", "words"),
    [((), "no images for 1 s on /c"), ((COLOUR, INFO), r"no depth on /d \(never\)"), ((DEPTH,), "no colour on /c")],
)
def test_what_is_silent_is_named(heard, words):
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    assert camera.complaint(0.5) == ""
    feed(camera, 1, 2.0, a_set(), heard)
    import re

    assert re.search(words, camera.complaint(2.5))


def test_stamps_that_never_agree_are_named():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    parts = a_set()
    for k, what in enumerate((COLOUR, DEPTH, INFO)):
        camera.add(what, k * 1_000_000, parts[what], 2.0)
    assert "colour and depth arrive, but never with one stamp (the nearest are 1 ms apart)" in camera.complaint(2.5)


def test_camera_info_that_comes_once_is_enough_and_its_absence_is_named():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    parts = a_set((16, 16))
    feed(camera, 1, 2.0, parts, (COLOUR, DEPTH))
    assert camera.take() is None and "gives no camera info on /i (never)" in camera.complaint(2.5)
    assert not camera.add(INFO, 0, parts[INFO], 2.6) and camera.take() is None, "that of stamp 1 may come yet"
    for stamp in (8, 9):
        assert feed(camera, stamp, 8.0, parts, (COLOUR, DEPTH)) == [False, True]
        assert camera.take().nanoseconds == stamp and camera.complaint(8.5) == ""
    assert "no images" in camera.complaint(9.5)


def test_camera_info_of_other_stamps_does_for_the_images_until_it_is_in_step_again():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    parts = a_set((16, 16))
    for number in range(3):
        camera.add(INFO, 1000 * number + 3, parts[INFO], 0.1)
        feed(camera, 1000 * number, 0.1, parts, (COLOUR, DEPTH))
        assert (camera.take() is not None) == (number > 0)
    camera.add(INFO, 2000, parts[INFO], 0.2)
    changed = SimpleNamespace(**{**vars(parts[INFO]), "k": (7.0, 0, 3.0, 0, 7.0, 2.0, 0, 0, 1.0)})
    assert feed(camera, 3000, 0.3, parts, (COLOUR, DEPTH)) == [False, False], "its own is waited for"
    assert camera.add(INFO, 3000, changed, 0.3) and camera.take().intrinsics.fx == 7.0


PICTURE = np.arange(16 * 12 * 3, dtype=np.uint8).reshape(12, 16, 3)
METRES = np.linspace(0.0, 2.0, 16 * 12, dtype=np.float32).reshape(12, 16)


def test_compressed_images_are_read():
    form, data = png(PICTURE, "rgb8")
    assert (decode_compressed_colour(data, form) == PICTURE).all()
    form, data = png(np.round(METRES * 1000).astype(np.uint16), "16UC1")
    assert decode_compressed_depth(data, form) == pytest.approx(METRES, abs=0.001)
    assert decode_compressed_depth(data[12:], "16UC1; png compressed ") == pytest.approx(METRES, abs=0.001)
    far = METRES + 0.5
    far[0, 0] = 0.0  # not known
    form, data = png(far, "32FC1")
    assert decode_compressed_depth(data, form) == pytest.approx(far, rel=0.01)


@pytest.mark.parametrize(
    ("decode", "picture", "form", "data"),
    [
        (decode_compressed_colour, b"no picture", "rgb8; jpeg compressed bgr8", "bytes"),
        (decode_compressed_colour, b"", "rgb8; jpeg compressed bgr8", "bytes"),
        (decode_compressed_depth, b"short", "16UC1; compressedDepth png", "5 bytes"),
        (decode_compressed_depth, bytes(40), "16UC1; compressedDepth rvl", ("compressedDepth rvl", "republish")),
        (decode_compressed_depth, png(PICTURE, "rgb8")[1], "16UC1; png compressed", "16 bits"),
        (decode_compressed_depth, b"", "16UC1; jpeg compressed", "16UC1; jpeg"),
    ],
)
def test_what_is_wrong_with_a_compressed_image_is_named(decode, picture, form, data):
    with raises_code("frame", data):
        decode(picture, form)


def test_a_camera_that_speaks_again_is_no_longer_complained_of():
    camera = RosTopicsCamera(TOPICS, 1.0, 0.0)
    assert "no images" in camera.complaint(1.5)
    feed(camera, 1, 2.0, a_set())
    assert camera.complaint(2.5) == ""


# joint history


def joints(value, width=0.02):
    return {**dict.fromkeys(FR3.joint_names, value), **dict.fromkeys(FR3.gripper.joints, width / 2)}


def test_joints_are_interpolated_between_two_states():
    history = JointHistory()
    history.add(1.0, joints(0.0, 0.02))
    history.add(1.1, joints(0.04, 0.04))
    state = history.at(1.05)
    assert state.joints == pytest.approx((0.02,) * 7)
    assert state.width == pytest.approx(0.03)


@pytest.mark.parametrize(("stamp", "known"), [(1.15, True), (1.25, False), (9.0, False)])
def test_a_state_does_not_stand_for_a_time_long_after_it_also_where_the_robot_stood_still(stamp, known):
    history = JointHistory(max_age=0.2)
    history.add(0.9, joints(0.1))
    history.add(1.0, joints(0.1))
    assert (history.at(stamp) is not None) == known


def test_between_far_states_of_fast_motion_nothing_is_known():
    history = JointHistory()
    history.add(1.0, joints(0.0))
    history.add(2.0, joints(1.0))
    assert history.at(1.5) is None
    assert history.at(2.0).joints == pytest.approx((1.0,) * 7)


def test_the_way_between_two_images_in_steps():
    history = JointHistory()
    for stamp in (1.0, 1.1, 1.11, 1.2, 1.3):
        history.add(stamp, joints(stamp))
    assert [state.stamp for state in history.between(1.0, 1.3)] == [1.1, 1.2]


ARM, FINGERS = list(FR3.joint_names), list(FR3.gripper.joints)


def test_missing_joints_are_named_and_time_that_goes_back_clears():
    history = JointHistory()
    assert history.problem == ""
    history.add(1.0, {"fr3_joint1": 0.0, "wheel": 1.0})
    assert history.problem.startswith("no position of fr3_joint2,") and "or fr3_finger_joint2" in history.problem
    assert history.problem.endswith("(only of wheel)")
    assert len(history) == 0 and history.at(1.0) is None
    history.add(5.0, joints(0.5))
    assert history.problem == ""
    history.add(1.0, joints(0.1))
    assert len(history) == 1
    assert history.at(1.0).joints == pytest.approx((0.1,) * 7)


@pytest.mark.parametrize(
    "parts",
    [
        [FINGERS, ARM],
        [FINGERS[:1], FINGERS[1:], ARM],
        [FINGERS, ARM[:3], ARM[3:]],
        [FINGERS[:1], ARM],
        [FINGERS[1:], ARM],
    ],
    ids=["arm and fingers", "each finger", "the arm, too", "a mimic joint", "the other finger"],
)
def test_joint_states_in_parts_are_one_state(parts):
    history, every = JointHistory(), joints(0.2, 0.03)
    for number in range(3):
        for order, names in enumerate(parts):
            history.add(number + 0.001 * order, {name: every[name] for name in names})
    assert history.problem == "" and len(history) == 3
    assert history.at(2.0 + 0.001 * (len(parts) - 1)).width == pytest.approx(0.03)


def test_parts_that_are_not_of_one_time_are_no_state():
    history, every = JointHistory(), joints(0.2)
    history.add(1.0, every)
    history.add(2.0, {name: every[name] for name in ARM[:3]})
    assert len(history) == 1 and "fr3_joint4 is 1.00 s older" in history.problem
    history.add(3.5, {name: every[name] for name in ARM})
    assert len(history) == 1 and "finger_joint1 is 2.50 s older" in history.problem
    history.add(3.5, {name: every[name] for name in FINGERS})
    history.add(3.6, {name: every[name] for name in ARM})
    assert len(history) == 2 and history.problem == ""


def test_a_position_that_is_no_number_is_named_and_no_state():
    history = JointHistory()
    history.add(1.0, {**joints(0.2), "fr3_joint3": math.nan})
    assert history.problem == "the position of fr3_joint3 is nan" and len(history) == 0
    history.add(1.1, {**joints(0.2), FINGERS[1]: math.nan})
    assert history.problem == "" and history.at(1.1).width == pytest.approx(0.02)
    history.add(1.2, {**joints(0.2), **dict.fromkeys(FINGERS, math.inf)})
    assert history.problem == f"the position of {FINGERS[0]} is inf" and len(history) == 1


# supports


def thing(name, x, y, top, size, floor=None, bottom=0.0, symmetry=math.pi / 2):
    return Detection(
        name,
        "red",
        "box",
        0.9,
        (x, y, (top + bottom) / 2),
        0.0,
        symmetry,
        (size, size, top - bottom),
        top if floor is None else floor,
        (200.0, 20.0, 20.0),
        receptacle=TABLETOP.is_receptacle_class(name),
    )


def test_things_rest_on_the_table_in_trays_and_on_each_other():
    tray = thing("tray", 0.5, 0.3, 0.03, 0.26, floor=0.006, symmetry=math.pi)
    found = rest_on_supports(
        [
            tray,
            thing("apple", 0.5, 0.3, 0.063, 0.066, symmetry=0.0),
            thing("cube", 0.5, 0.0, 0.05, 0.05),
            thing("cylinder", 0.5, 0.0, 0.12, 0.05, symmetry=0.0),
            thing("cube", 0.5, -0.3, 0.051, 0.05, bottom=0.003),
        ],
        CLASSES,
    )
    assert [round(d.bottom, 3) for d in found] == [0.0, 0.006, 0.0, 0.05, 0.0]
    assert found[3].size[2] == pytest.approx(0.07)


def test_a_cube_hangs_above_what_is_hidden_and_stands_on_what_is_remembered():
    alone = thing("cube", 0.5, 0.0, 0.10, 0.05, bottom=0.05)
    assert rest_on_supports([alone], CLASSES)[0].bottom == pytest.approx(0.05)
    cylinder = thing("cylinder", 0.5, 0.0, 0.12, 0.05, symmetry=0.0)
    assert rest_on_supports([cylinder], CLASSES)[0].bottom == 0.0
    assert rest_on_supports([cylinder], CLASSES, [thing("cube", 0.5, 0.0, 0.05, 0.05)])[0].bottom == pytest.approx(0.05)


def test_footprints():
    square = thing("cube", 0.5, 0.0, 0.05, 0.05)
    disc = thing("plate", 0.5, 0.0, 0.05, 0.05, symmetry=0.0)
    assert square.covers(0.524, 0.024) and not disc.covers(0.524, 0.024)
    assert disc.covers(0.524, 0.0) and not square.covers(0.53, 0.0)
    assert square.covers(0.53, 0.0, slack=0.01)


def test_a_pose_and_its_inverse():
    pose = Pose(rotation_from_quaternion(0.1, 0.2, 0.3, 0.9), np.array([1.0, 2.0, 3.0]))
    points = np.array([[0.1, 0.2, 0.3], [1.0, -1.0, 0.5]])
    assert pose.inverse().apply(pose.apply(points)) == pytest.approx(points)


# unknown things


def raised(inside, height=0.06, rim=0.0):
    """A grey region of what is inside an outline, of one height but for a rim (m) around it that is higher by 4 cm."""
    rows, columns = (a.ravel() for a in np.mgrid[0:130, 0:130])
    x, y = (rows - 65) * 0.002, (columns - 65) * 0.002
    depth = inside(x, y)
    z = np.where(depth < rim, height + 0.04, height)
    chosen = depth > 0
    points, grey = np.column_stack((0.5 + x, y, z))[chosen], np.full((int(chosen.sum()), 3), 120, np.uint8)
    return PixelRegion(rows[chosen], columns[chosen], points, grey, np.zeros(len(points), bool))


def disc(x, y):
    return 0.09 - np.hypot(x, y)


def square(x, y):
    return 0.08 - np.maximum(abs(x), abs(y))


def drill(x, y):
    return np.maximum(0.025 - abs(y), np.minimum(0.025 - abs(x + 0.06), 0.1 - abs(y - 0.05)))


def corner(x, y):  # an L
    return np.minimum(0.08 - np.maximum(abs(x), abs(y)), 0.02 - np.minimum(x, y))


def wedge(x, y):  # a triangle
    return np.minimum(x + 0.05, (0.1 - x) / 2 - abs(y))


@pytest.mark.parametrize(
    ("inside", "rim", "height", "expected"),
    [
        (disc, 0.012, 0.01, "bowl"),
        (square, 0.012, 0.01, "tray"),
        (disc, 0.0, 0.06, UNKNOWN),
        (square, 0.0, 0.06, UNKNOWN),
        (drill, 0.0, 0.06, UNKNOWN),
        (drill, 0.0, 0.02, UNKNOWN),
        *((shape, 0.0, height, UNKNOWN) for shape in (corner, wedge) for height in (0.02, 0.04, 0.08)),
    ],
)
def test_a_wide_thing_is_a_container_only_where_a_hollow_is_seen(inside, rim, height, expected):
    found = detect(raised(inside, height, rim), 0.002, CLASSES)
    assert found.class_name == expected and (found.receptacle, found.confidence > UNSURE) == (expected != UNKNOWN,) * 2


def test_the_parts_of_what_stands_on_another_begin_there():
    """They are measured from the table up, also through what is below."""
    can = thing("can", 0.5, 0.0, 0.08, 0.06)
    wall, beneath = (-0.03, -0.03, 0.0, -0.025, 0.03, 0.16), (0.03, -0.03, 0.0, 0.035, 0.03, 0.07)
    mug = replace(thing("mug", 0.5, 0.0, 0.16, 0.07), shape="hollow", parts=(wall, beneath))
    (stands,) = (d for d in rest_on_supports([can, mug], CLASSES) if d.class_name == "mug")
    assert stands.bottom == pytest.approx(0.08) and stands.size[2] == pytest.approx(0.08)
    assert np.allclose(stands.parts, [(-0.03, -0.03, 0.0, -0.025, 0.03, 0.08)])
    (alone,) = rest_on_supports([mug], CLASSES)
    assert np.allclose(alone.parts, mug.parts)


def test_a_thing_rests_on_the_floor_of_what_it_fits_into_and_never_in_itself():
    mug = replace(thing("mug", 0.5, 0.0, 0.09, 0.07), shape="hollow", floor=0.05)
    pot = replace(thing("pot", 0.5, 0.0, 0.1, 0.2), shape="hollow", floor=0.01)
    nearer = replace(mug, position=(0.503, 0.0, 0.046), size=(0.073, 0.073, 0.092))
    assert rest_on_supports([nearer], CLASSES, [mug])[0].bottom == 0.0
    assert rest_on_supports([mug], CLASSES, [pot])[0].bottom == pytest.approx(0.01)
    board = thing("cuboid", 0.5, 0.0, 0.12, 0.2)
    assert rest_on_supports([board], CLASSES, [pot])[0].bottom == pytest.approx(0.1)

"""Where the camera is: camera files, hand-eye results of other tools, cameras that the arm carries."""

import math

import numpy as np
import pytest
import yaml
from codes import raises_code
from doubles.table_view import table_view

from planweave.perception.calibration import Extrinsics, eye_of, load_extrinsics
from planweave.perception.geometry import Pose
from planweave.perception.pipeline import Pipeline
from planweave.perception.robot_filter import RobotState, hand_pose
from planweave.robots import load_robot
from planweave.robots.chain import link_frames
from planweave.simulation.scene import load_scene

FR3 = load_robot()

HALF = math.sqrt(0.5)
GOOD = {"frame_id": "optical", "position": [0.5, 0.0, 1.05], "quaternion": [HALF, -HALF, 0.0, 0.0]}
DOWN = [[0.0, -1.0, 0.0, 0.5], [-1.0, 0.0, 0.0, 0.0], [0.0, 0.0, -1.0, 1.05], [0.0, 0.0, 0.0, 1.0]]
ROBOT = RobotState(tuple(FR3.home), 0.04, 0.0)


def frame_in_base(name, state):
    """A frame (4, 4) of the robot."""
    return link_frames(state.robot, state.joints)[name]


def write(tmp_path, content, name="camera.yaml"):
    path = tmp_path / name
    path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
    return path


def test_a_matrix_says_the_same_as_position_and_quaternion(tmp_path):
    one = load_extrinsics(write(tmp_path, GOOD))
    two = load_extrinsics(write(tmp_path, {"frame_id": "optical", "parent": FR3.base, "matrix": DOWN}, "two.yaml"))
    assert one.fixed and not one.parent and one.frame_id == "optical"
    for part in ("rotation", "translation"):
        assert getattr(one.camera_to_base(), part) == pytest.approx(getattr(two.camera_to_base(), part), abs=1e-4)
    assert one.camera_to_base().apply(np.array([0.0, 0.0, 1.05])) == pytest.approx([0.5, 0.0, 0.0])


def test_rounded_numbers_still_make_a_true_rotation(tmp_path):
    rounded = {"frame_id": "c", "matrix": [[0.866, -0.5, 0, 0], [0.5, 0.866, 0, 0], [0, 0, 1, 1], [0, 0, 0, 1]]}
    rotation = load_extrinsics(write(tmp_path, rounded)).camera_to_base().rotation
    assert rotation @ rotation.T == pytest.approx(np.eye(3), abs=1e-12)


@pytest.mark.parametrize(
    ("content", "data"),
    [
        ("- 1\n", ("yaml:1", "keys and values")),
        ("position: [0, 0\n", "yaml:1"),
        ({**GOOD, "position": [0, 0]}, ("position", "3")),
        ({**GOOD, "position": [0, 0, "1 m"]}, ("position", "3")),
        ({**GOOD, "position": [0, 0, float("nan")]}, ("position", "nan")),
        ({**GOOD, "frame_id": 3}, "frame_id"),
        ({k: v for k, v in GOOD.items() if k != "quaternion"}, ("position", "quaternion", "matrix")),
        ({**GOOD, "quaternion": [0, 0, 0, 0]}, ("quaternion", "length 0")),
        ({**GOOD, "quaternion": [1, 1, 0, 0]}, ("quaternion", "1.414")),
        ({**GOOD, "quaternoin": [0, 0, 0, 1]}, "'quaternion'"),
        ({**GOOD, "position": [500.0, 0.0, 1050.0]}, ("1050 mm", "1.05 m")),
        ({**GOOD, "parent": "panda_link0"}, ("'panda_link0'", "fr3_link0")),
        ({**GOOD, "matrix": DOWN}, ("matrix", "position", "quaternion")),
        ({"frame_id": "c", "matrix": DOWN[:3]}, "matrix"),
        ({"frame_id": "c", "matrix": [*DOWN[:3], [0, 0, 0, 2]]}, ("matrix", "0, 0, 0, 1")),
        ({"frame_id": "c", "matrix": [[2, 0, 0, 0], *np.eye(4).tolist()[1:]]}, ("matrix", "3 x 3")),
        ({"frame_id": "c", "matrix": [[-1, 0, 0, 0], *np.eye(4).tolist()[1:]]}, ("matrix", "3 x 3")),
    ],
)
def test_a_wrong_camera_file_is_named(tmp_path, content, data):
    path = write(tmp_path, content)
    with raises_code("configuration", data) as error:
        load_extrinsics(path)
    assert str(path) in str(error.value)


def test_a_camera_on_the_hand_is_where_the_tool_is_but_for_its_mount():
    pose = eye_of("wrist", load_robot())
    assert pose[:3, 3] == pytest.approx((0.07, 0.0, 0.03 - 0.1034)) and pose[:3, 2] == pytest.approx(
        (0, 0, 1), abs=1e-6
    )
    with raises_code("configuration", ("overhead", "fr3_hand")):
        eye_of("overhead", load_robot())


def handeye(kind, **parameters):
    """What easy_handeye2 saves."""
    return {
        "parameters": {
            "name": "table",
            "calibration_type": kind,
            "robot_base_frame": "fr3_link0",
            "robot_effector_frame": "fr3_hand",
            "tracking_base_frame": "camera_color_optical_frame",
            "tracking_marker_frame": "marker",
            **parameters,
        },
        "transform": {
            "translation": {"x": 0.05, "y": 0.0, "z": 0.04},
            "rotation": {"x": 0.0, "y": 0.0, "z": HALF, "w": HALF},
        },
    }


def test_a_calibration_of_easy_handeye2_is_read_as_it_is(tmp_path):
    extrinsics = load_extrinsics(write(tmp_path, handeye("eye_on_base"), "table.calib"))
    assert (extrinsics.frame_id, extrinsics.parent) == ("camera_color_optical_frame", "")
    assert extrinsics.camera_to_base().translation == pytest.approx([0.05, 0.0, 0.04])


def test_a_camera_on_the_hand_moves_with_it(tmp_path):
    extrinsics = load_extrinsics(write(tmp_path, handeye("eye_in_hand"), "table.calib"))
    assert (extrinsics.parent, extrinsics.fixed) == ("fr3_hand", False)
    pose = extrinsics.camera_to_base(ROBOT)
    hand = frame_in_base("fr3_hand", ROBOT)
    assert pose.translation == pytest.approx(hand[:3, :3] @ [0.05, 0.0, 0.04] + hand[:3, 3])
    assert pose.rotation[:, 0] == pytest.approx(hand[:3, 1])  # turned by 90 degrees about the hand's z axis
    with raises_code("frame", "fr3_hand"):
        extrinsics.camera_to_base()


def test_the_frames_that_can_carry_a_camera_hang_together():
    tcp, hand, flange = (frame_in_base(f"fr3_{n}", ROBOT) for n in ("hand_tcp", "hand", "link8"))
    assert tcp[:3, 3] == pytest.approx(hand_pose(ROBOT).position)
    assert flange[:3, 3] == pytest.approx(hand[:3, 3])
    assert math.acos(flange[:3, 0] @ hand[:3, 0]) == pytest.approx(math.pi / 4)
    assert frame_in_base("fr3_link0", ROBOT) == pytest.approx(np.eye(4))


@pytest.mark.parametrize(
    ("changes", "data"),
    [({"tracking_base_frame": None}, "frame_id"), ({"robot_base_frame": "panda_link0"}, "'panda_link0'")],
)
def test_a_calibration_of_another_robot_is_refused(tmp_path, changes, data):
    with raises_code("configuration", data):
        load_extrinsics(write(tmp_path, handeye("eye_on_base", **changes), "x.calib"))


def test_an_unfinished_calibration_is_named(tmp_path):
    with raises_code("configuration", "easy_handeye2", "'rotation'"):
        load_extrinsics(
            write(tmp_path, {**handeye("eye_on_base"), "transform": {"translation": {"x": 0, "y": 0, "z": 0}}})
        )


def test_a_camera_that_is_not_there_names_those_that_are():
    with raises_code("unknown_name", "'overhed'", "'overhead'"):
        load_extrinsics("overhed")


@pytest.mark.gl
def test_a_camera_on_the_hand_sees_what_a_camera_above_the_table_sees():
    """The overhead camera, told as if the hand in its picture carried it; then of an arm that has moved since."""
    view = table_view(load_scene("blocks"), noise=None)
    above = load_extrinsics()
    hand = frame_in_base("fr3_hand", view.robot)
    base_to_hand = Pose(hand[:3, :3], hand[:3, 3]).inverse()
    pose = above.camera_to_base()
    carried = Pose(base_to_hand.rotation @ pose.rotation, base_to_hand.apply(pose.translation))
    on_hand = Extrinsics(above.frame_id, carried, "fr3_hand")
    both = [
        [t.position for t in Pipeline(e).run(view.rgb, view.depth, view.intrinsics, view.robot).detections]
        for e in (above, on_hand)
    ]
    assert len(both[0]) == 8 and np.array(both[1]) == pytest.approx(np.array(both[0]), abs=1e-4)
    moved = RobotState((*view.robot.joints[:5], view.robot.joints[5] + 0.3, view.robot.joints[6]), 0.04, 0.0)
    with raises_code("frame", "+73 mm", "17.2 degrees"):
        Pipeline(on_hand).run(view.rgb, view.depth, view.intrinsics, moved)

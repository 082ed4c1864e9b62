"""Where the camera is: camera files, hand-eye results of other tools, cameras that the arm carries."""

import math

import numpy as np
import pytest
import yaml
from doubles.table_view import table_view

from planweave.core.base.errors import ConfigError, UnknownNameError
from planweave.perception.calibration import Extrinsics, find_camera, load_extrinsics
from planweave.perception.decoding import FrameError
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
    ("content", "words"),
    [
        ("- 1\n", "must hold frame_id, position and quaternion"),
        ("position: [0, 0\n", "line 2: not valid YAML"),
        ({**GOOD, "position": [0, 0]}, "position must be a list of 3 numbers"),
        ({**GOOD, "position": [0, 0, "1 m"]}, "position must be a list of 3 numbers"),
        ({**GOOD, "position": [0, 0, float("nan")]}, "position must be finite"),
        ({**GOOD, "frame_id": 3}, "frame_id must be"),
        ({k: v for k, v in GOOD.items() if k != "quaternion"}, "quaternion must be a list of 4 numbers, not None"),
        ({**GOOD, "quaternion": [0, 0, 0, 0]}, "has length 0; a rotation's has length 1"),
        ({**GOOD, "quaternion": [1, 1, 0, 0]}, "has length 1.414"),
        ({**GOOD, "position": [500.0, 0.0, 1050.0]}, r"looks like millimetres \(1050 mm is 1.05 m\)"),
        ({**GOOD, "parent": "panda_link0"}, "unknown frame of the robot 'panda_link0'.*fr3_link0"),
        ({**GOOD, "matrix": DOWN}, "not both"),
        ({"frame_id": "c", "matrix": DOWN[:3]}, "4 rows of 4 numbers"),
        ({"frame_id": "c", "matrix": [*DOWN[:3], [0, 0, 0, 2]]}, "last row must be 0, 0, 0, 1"),
        ({"frame_id": "c", "matrix": [[2, 0, 0, 0], *np.eye(4).tolist()[1:]]}, "not a rotation"),
        ({"frame_id": "c", "matrix": [[-1, 0, 0, 0], *np.eye(4).tolist()[1:]]}, "not a rotation"),
    ],
)
def test_a_wrong_camera_file_is_named(tmp_path, content, words):
    path = write(tmp_path, content)
    with pytest.raises(ConfigError, match=words) as error:
        load_extrinsics(path)
    assert str(path) in str(error.value)


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
    found = find_camera(str(write(tmp_path, handeye("eye_on_base"), "table.calib")))
    extrinsics = load_extrinsics(found)
    assert (extrinsics.frame_id, extrinsics.parent) == ("camera_color_optical_frame", "")
    assert extrinsics.camera_to_base().translation == pytest.approx([0.05, 0.0, 0.04])


def test_a_camera_on_the_hand_moves_with_it(tmp_path):
    extrinsics = load_extrinsics(write(tmp_path, handeye("eye_in_hand"), "table.calib"))
    assert (extrinsics.parent, extrinsics.fixed) == ("fr3_hand", False)
    pose = extrinsics.camera_to_base(ROBOT)
    hand = frame_in_base("fr3_hand", ROBOT)
    assert pose.translation == pytest.approx(hand[:3, :3] @ [0.05, 0.0, 0.04] + hand[:3, 3])
    assert pose.rotation[:, 0] == pytest.approx(hand[:3, 1])  # turned by 90 degrees about the hand's z axis
    with pytest.raises(FrameError, match="needs the joint states"):
        extrinsics.camera_to_base()


def test_the_frames_that_can_carry_a_camera_hang_together():
    tcp, hand, flange = (frame_in_base(f"fr3_{n}", ROBOT) for n in ("hand_tcp", "hand", "link8"))
    assert tcp[:3, 3] == pytest.approx(hand_pose(ROBOT).position)
    assert flange[:3, 3] == pytest.approx(hand[:3, 3])
    assert math.acos(flange[:3, 0] @ hand[:3, 0]) == pytest.approx(math.pi / 4)
    assert frame_in_base("fr3_link0", ROBOT) == pytest.approx(np.eye(4))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"tracking_base_frame": None}, "frame_id"),
        ({"robot_base_frame": "panda_link0"}, "panda_link0"),
    ],
)
def test_a_calibration_of_another_robot_is_refused(tmp_path, changes, words):
    with pytest.raises(ConfigError, match=words):
        load_extrinsics(write(tmp_path, handeye("eye_on_base", **changes), "x.calib"))


def test_an_unfinished_calibration_is_named(tmp_path):
    with pytest.raises(ConfigError, match="not a complete calibration of easy_handeye2: 'rotation' is missing"):
        load_extrinsics(
            write(tmp_path, {**handeye("eye_on_base"), "transform": {"translation": {"x": 0, "y": 0, "z": 0}}})
        )


def test_a_camera_that_is_not_there_names_those_that_are():
    with pytest.raises(UnknownNameError, match="overhead"):
        find_camera("overhed")


@pytest.mark.gl
def test_a_camera_on_the_hand_sees_what_a_camera_above_the_table_sees():
    """The overhead camera, told as if the hand in its picture carried it; then of an arm that has moved since."""
    view = table_view(load_scene("blocks"), noise=None)
    above = load_extrinsics(find_camera("overhead"))
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
    with pytest.raises(FrameError, match="calibrate it again"):
        Pipeline(on_hand).run(view.rgb, view.depth, view.intrinsics, moved)

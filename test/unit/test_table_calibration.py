"""The camera's pose from the table it sees, and the verbs `calibrate` and `look`, on rendered images in a folder."""

import io
import json
import math
import time
from dataclasses import replace

import cv2
import numpy as np
import pytest
from doubles.fake_openai import FakeOpenAI, completion
from doubles.table_view import CAMERA, INTRINSICS, rendering_once

from planweave.cli import calibrate
from planweave.cli.main import main
from planweave.core.base.paths import find_config
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.calibration import load_extrinsics
from planweave.perception.cameras import recording, steady_frame
from planweave.perception.detectors.by_head import ByHead
from planweave.perception.detectors.options import Options
from planweave.perception.geometry import Pose
from planweave.perception.robot_filter import RobotState, hand_pose
from planweave.perception.table_calibration import CalibrationError, Tag, by_tag, level
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera
from planweave.simulation.mujoco_model import build_model, home_state
from planweave.simulation.scene import parse_scene

pytestmark = pytest.mark.gl
CUBES = """objects:
  - {kind: cube, colour: red, position: [0.60, 0.10], yaw: 0.0}
  - {kind: cube, colour: blue, position: [0.45, -0.25], yaw: 0.5}
"""


def seen_from(position, target, up):
    """Pose of an optical frame at a position (3,) that looks at a target (3,)."""
    z = np.subtract(target, position) / np.linalg.norm(np.subtract(target, position))
    x = np.cross(z, up) / np.linalg.norm(np.cross(z, up))
    return Pose(np.column_stack((x, np.cross(z, x), z)), np.array(position, dtype=float))


def quaternion(rotation):
    rows = cv2.Rodrigues(rotation)[0].ravel()
    angle = float(np.linalg.norm(rows))
    axis = rows / max(angle, 1e-12) * math.sin(angle / 2)
    return (*map(float, axis), math.cos(angle / 2))


ABOVE = Pose(rotation_from_quaternion(*CAMERA.quaternion), np.array(CAMERA.position))
OPPOSITE = seen_from((1.3, 0.1, 0.8), (0.55, 0.0, 0.0), (0, 0, 1))  # on the other side of the table, tilted
BESIDE = seen_from((0.6, -0.8, 0.9), (0.55, -0.05, 0.0), (0, 0, 1))


def written(folder, text, pose, count=3, draw=None):
    """A folder of images of a scene from a pose."""
    camera = replace(CAMERA, position=tuple(pose.translation), quaternion=quaternion(pose.rotation))
    model = build_model(parse_scene(text, find_config("scenes", "blocks").with_name("test.yaml")), camera)
    data = home_state(model)
    data.joint("fr3_joint1").qpos[0] = 2.5  # the arm out of view
    eye = rendering_once(OverheadCamera(model, camera, DepthNoise(), seed=1))
    folder.mkdir()
    for number in range(count):
        frame = eye.render(0.0, data.qpos)
        rgb = np.ascontiguousarray(frame.rgb)
        if draw is not None:
            draw(rgb)
        cv2.imwrite(str(folder / f"{number}-colour.png"), rgb[:, :, ::-1])
        cv2.imwrite(str(folder / f"{number}-depth.png"), np.round(frame.depth * 1000).astype(np.uint16))
    k = INTRINSICS
    (folder / "camera.yaml").write_text(f"{{fx: {k.fx}, fy: {k.fy}, cx: {k.cx}, cy: {k.cy}}}\n")
    return folder


def differ(found, true):
    """Metres and degrees between two poses."""
    turn = np.clip((np.trace(found.rotation.T @ true.rotation) - 1) / 2, -1, 1)
    return np.linalg.norm(found.translation - true.translation), math.degrees(math.acos(turn))


@pytest.mark.parametrize(
    ("pose", "up"), [(ABOVE, "+x"), (OPPOSITE, "-x"), (BESIDE, "+y")], ids=["above", "opposite", "beside"]
)
def test_cubes_on_the_table_give_the_pose(tmp_path, capsys, pose, up):
    folder, file = written(tmp_path / "images", CUBES, pose), tmp_path / "found.yaml"
    arguments = ["calibrate", "table", str(folder), "--cube", "0.60,0.10", "--cube", "0.45,-0.25", f"--up={up}"]
    assert main([*arguments, "--out", str(file), "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    metres, degrees = differ(load_extrinsics(file).camera_to_base(), pose)
    assert metres < 0.015 and degrees < 1.0 and result["residual"] < 0.006
    assert cv2.imread(result["picture"]).shape == (480, 640, 3)
    rendered = load_camera(file)  # as the simulation reads it
    assert (rendered.width, rendered.height, rendered.parent) == (CAMERA.width, CAMERA.height, "")
    assert rendered.fovy == pytest.approx(CAMERA.fovy, abs=0.01)

    picture = tmp_path / "look.png"
    assert main(["look", str(folder), "--camera", str(file), "--out", str(picture), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert seen["frame"] == "fr3_link0" and picture.is_file()
    places = {o["colour"]: o["position"][:2] for o in seen["objects"]}
    assert math.dist(places["red"], (0.60, 0.10)) < 0.015 and math.dist(places["blue"], (0.45, -0.25)) < 0.015


ONE = "objects:\n  - {kind: cube, colour: red, position: [0.55, 0.05], yaw: 0.3}\n"


def test_one_cube_is_enough_where_its_turn_and_the_images_top_are_known(tmp_path, capsys):
    folder, file = written(tmp_path / "images", ONE, OPPOSITE), tmp_path / "found.yaml"
    degrees = math.degrees(0.3)
    arguments = ["calibrate", "table", str(folder), "--cube", f"0.55,0.05,{degrees}", "--up=-x", "--out", str(file)]
    assert main(arguments) == 0
    assert "picture" in capsys.readouterr().out
    metres, turned = differ(load_extrinsics(file).camera_to_base(), OPPOSITE)
    assert metres < 0.03 and turned < 2.5


class Terminal(io.StringIO):
    """What a person types."""

    def isatty(self):
        return True


class Guided:
    """A node that hears the joints of an arm that a person has guided, or nothing."""

    def __init__(self, joints):
        self.joints = joints

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def robot(self, description, seconds):
        return self.joints and RobotState(self.joints, 0.04, 0.0, description)


ON_THE_CUBE = (0.15, 0.3, 0.0, -2.0, 0.0, 2.3, 0.785398)  # the hand points down


@pytest.fixture
def guided(monkeypatch):
    """Has a person press Enter, with an arm at these joints."""

    def start(joints, typed="\n\n"):
        monkeypatch.setattr(calibrate, "observer", lambda _: Guided(joints))
        monkeypatch.setattr("sys.stdin", Terminal(typed))

    return start


def test_a_cube_is_where_the_hand_is_closed_on_it(tmp_path, capsys, guided):
    hand = hand_pose(RobotState(ON_THE_CUBE, 0.04, 0.0))
    assert hand.rotation[2, 2] == pytest.approx(-1.0, abs=1e-3)
    x, y = hand.position[:2]
    turn = math.remainder(math.atan2(hand.rotation[1, 1], hand.rotation[0, 1]), math.pi / 2)
    text = f"objects:\n  - {{kind: cube, colour: red, position: [{x:.4f}, {y:.4f}], yaw: {turn:.4f}}}\n"
    folder, file = written(tmp_path / "images", text, OPPOSITE), tmp_path / "found.yaml"
    guided(ON_THE_CUBE)
    assert main(["calibrate", "table", str(folder), "--cube", "hand", "--up=-x", "--out", str(file)]) == 0
    said = capsys.readouterr().out
    assert f"the hand is at x {x:.3f}, y {y:.3f}" in said and said.index("Close the hand") < said.index("Open the hand")
    metres, turned = differ(load_extrinsics(file).camera_to_base(), OPPOSITE)
    assert metres < 0.03 and turned < 2.5


def test_without_joint_states_no_cube_is_taken_by_hand(tmp_path, capsys, guided):
    guided(None)
    file = tmp_path / "found.yaml"
    assert main(["calibrate", "table", str(tmp_path), "--cube", "hand", "--out", str(file)]) == 2
    assert "no joint states" in capsys.readouterr().err and not file.exists()


def tag_drawn(pose, tag, family=cv2.aruco.DICT_4X4_50, number=7):
    """A function that draws a tag into an image from a pose, flat on the table."""
    k = INTRINSICS
    picture = cv2.copyMakeBorder(
        cv2.aruco.generateImageMarker(cv2.aruco.getPredefinedDictionary(family), number, 240), *[40] * 4, 0, value=255
    )
    half = tag.side / 2 * 320 / 240
    c, s = math.cos(tag.yaw), math.sin(tag.yaw)
    own = np.array([(-half, half), (half, half), (half, -half), (-half, -half)])
    corners = np.column_stack((own @ np.array([[c, s], [-s, c]]) + (tag.x, tag.y), np.zeros(4)))
    p = pose.inverse().apply(corners)
    pixels = np.float32(p[:, :2] / p[:, 2:] * (k.fx, k.fy) + (k.cx, k.cy))
    warp = cv2.getPerspectiveTransform(np.float32([(0, 0), (319, 0), (319, 319), (0, 319)]), pixels)

    def draw(rgb):
        size = (rgb.shape[1], rgb.shape[0])
        shown = cv2.warpPerspective(np.full_like(picture, 255), warp, size) > 127
        rgb[shown] = cv2.warpPerspective(picture, warp, size, flags=cv2.INTER_AREA)[shown][:, None]

    return draw


@pytest.mark.parametrize("pose", [ABOVE, BESIDE], ids=["above", "beside"])
def test_a_tag_on_the_table_gives_the_pose(tmp_path, pose):
    tag = Tag(0.5, 0.05, 0.6, 0.12)
    folder = written(tmp_path / "images", ONE.replace("0.55, 0.05", "0.75, 0.3"), pose, draw=tag_drawn(pose, tag))
    frame = steady_frame(recording(str(folder), {}, "optical"), 3)
    found = by_tag(frame, tag, level(frame))
    metres, degrees = differ(found.camera_to_base, pose)
    assert metres < 0.012 and degrees < 1.0 and found.residual < 0.003
    assert by_tag(frame, replace(tag, number=7), level(frame)).residual == found.residual
    for wrong in (replace(tag, number=3), replace(tag, side=0.08), replace(tag, family="6x6_250")):
        with pytest.raises(CalibrationError):
            by_tag(frame, wrong, level(frame))


@pytest.fixture(scope="module")
def two_cubes(tmp_path_factory):
    return written(tmp_path_factory.mktemp("two") / "images", CUBES, ABOVE, 1)


@pytest.mark.parametrize(
    ("cubes", "up"),
    [
        (["0.60,0.10"], "+x"),  # which of the two
        (["0.60,0.10", "0.45,-0.25", "0.3,0.3"], "+x"),  # three places
        (["0.60,0.10", "0.45,-0.35"], "+x"),  # 10 cm off
        (["0.60,0.10", "0.45,-0.25"], "+y"),  # another direction
    ],
)
def test_cubes_that_do_not_fit_their_places_are_an_error_and_write_nothing(two_cubes, tmp_path, capsys, cubes, up):
    file = tmp_path / "found.yaml"
    places = [word for cube in cubes for word in ("--cube", cube)]
    assert main(["calibrate", "table", str(two_cubes), *places, f"--up={up}", "--out", str(file), "--json"]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "CalibrationError"
    assert not file.exists()


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["--tag", "0.5,0.1"], 2),  # no size
        (["--cube", "hand"], 2),  # no terminal
        (["--cube", "0.5,0.1", "--frames", "0"], 2),
    ],
)
def test_arguments_that_cannot_be_used_are_said_at_once(two_cubes, tmp_path, capsys, arguments, code):
    out = ["--out", str(tmp_path / "found.yaml"), "--json"]
    assert main(["calibrate", "table", str(two_cubes), *arguments, *out]) == code
    assert json.loads(capsys.readouterr().out)["error"] == "ConfigError"


def test_a_table_seen_without_a_camera_file_is_looked_at_in_the_images_own_frame(two_cubes, tmp_path, capsys):
    picture = tmp_path / "look.png"
    assert main(["look", str(two_cubes), "--out", str(picture), "--json"]) == 0
    seen = json.loads(capsys.readouterr().out)
    cubes = {o["colour"]: o["position"][:2] for o in seen["objects"]}
    assert seen["frame"] == "image"
    assert math.dist(cubes["red"], cubes["blue"]) == pytest.approx(math.dist((0.60, 0.10), (0.45, -0.25)), abs=0.01)
    assert main(["look", str(two_cubes), "--out", str(picture)]) == 0
    assert "red cube" in capsys.readouterr().out


def mugs(fake, body, number):
    """A model that takes its time, and calls everything a mug."""
    time.sleep(0.3)
    marks = body["response_format"]["json_schema"]["schema"]["properties"]["marks"]["items"]["properties"]["mark"]
    row = {"name": "mug", "colour": "red", "part_of": 0, "drawers": 0, "state": ""}
    return 200, completion([json.dumps({"marks": [{"mark": mark, **row} for mark in marks["enum"]]})])


def blind(fake, body, number):
    return 400, {"error": {"message": "image input is not supported"}}


def silent(fake, body, number):
    return lambda handler: fake.stop.wait(60)


@pytest.mark.parametrize(
    ("model", "behave", "seconds", "names", "notes"),
    [
        ("eyes", mugs, 60.0, {"mug"}, 0),
        ("eyes", blind, 60.0, {"bowl"}, 1),
        ("eyes", silent, 0.3, {"unknown_thing"}, 1),
        ("", mugs, 60.0, {"bowl"}, 1),
    ],
)
def test_a_look_waits_for_a_model_and_says_where_it_does_not_name(
    two_cubes, tmp_path, capsys, monkeypatch, model, behave, seconds, names, notes
):
    monkeypatch.setattr(ByHead, "__call__", lambda _, view: [replace(d, class_name="bowl") for d, _ in view.measured])
    monkeypatch.setattr(Options, "timeout", seconds)
    monkeypatch.setenv("PLANWEAVE_VISION_MODEL", model)
    with FakeOpenAI(behave) as fake:
        monkeypatch.setenv("OPENAI_BASE_URL", fake.url)
        picture = tmp_path / "look.png"
        arguments = ["look", str(two_cubes), "--detector", "vlm", "--out", str(picture), "--json"]
        assert main([*arguments, "--names", "the mugs"]) == 0
    seen = json.loads(capsys.readouterr().out)
    assert {thing["class_name"] for thing in seen["objects"] if not thing["cut"]} == names and len(
        seen["problems"]
    ) == notes
    assert main(arguments) == 2, "it has no names to look for"


@pytest.mark.parametrize("unit", [0.9, 0.00001])
def test_depth_in_other_units_is_named_with_its_median(two_cubes, tmp_path, unit, capsys):
    for file in two_cubes.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    camera = tmp_path / "camera.yaml"
    camera.write_text(f"{camera.read_text().strip()[:-1]}, depth_scale: {unit:.6f}}}\n")
    assert main(["look", str(tmp_path), "--json"]) == 1
    result = json.loads(capsys.readouterr().out)
    assert result["error"] == "CameraError" and "median depth" in result["message"]


@pytest.mark.parametrize("names", [("rgb/{}.png", "depth/{}.png"), ("{}_color.png", "{}_depth.png")])
def test_pairs_are_found_by_their_names(two_cubes, tmp_path, names):
    for what, name in zip(("colour", "depth"), names):
        target = tmp_path / name.format("a1")
        target.parent.mkdir(exist_ok=True)
        target.write_bytes((two_cubes / f"0-{what}.png").read_bytes())
    (tmp_path / "intrinsics.json").write_text(
        json.dumps({"camera_matrix": {"data": [600, 0, 320, 0, 600, 240, 0, 0, 1]}})
    )
    frame = steady_frame(recording(str(tmp_path), {}, "optical"), 5)
    assert frame.intrinsics.fx == 600 and frame.rgb.shape == (480, 640, 3) and 0.5 < np.median(frame.depth) < 1.5


def test_a_folder_without_intrinsics_and_an_image_without_a_partner_are_named(two_cubes, tmp_path, capsys):
    (tmp_path / "0-depth.png").write_bytes((two_cubes / "0-depth.png").read_bytes())
    assert main(["look", str(tmp_path), "--json"]) == 2
    (tmp_path / "camera.yaml").write_bytes((two_cubes / "camera.yaml").read_bytes())
    assert main(["look", str(tmp_path), "--json"]) == 1
    kinds = [json.loads(line)["error"] for line in capsys.readouterr().out.splitlines()]
    assert kinds == ["ConfigError", "CameraError"]

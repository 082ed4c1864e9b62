"""The overhead camera: its calibration agrees with what it renders; noise; videos."""

from __future__ import annotations

import itertools
import math
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import mujoco
import numpy as np
import pytest
from codes import raises_code

from planweave.perception.calibration import load_extrinsics
from planweave.perception.geometry import Intrinsics
from planweave.perception.robot_filter import RobotState
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation import camera_thread, offscreen
from planweave.simulation.camera import DepthNoise, OverheadCamera, RgbdFrame
from planweave.simulation.camera_thread import LOOKS, CameraThread
from planweave.simulation.mujoco_model import build_model, camera_name
from planweave.simulation.recorder import VideoRecorder
from planweave.simulation.scene import parse_scene
from planweave.simulation.simulator import Simulator, Snapshot
from planweave.simulation.video_files import write_video

FR3 = load_robot()

pytestmark = pytest.mark.gl
CUBES = [("red", 0.45, 0.25), ("blue", 0.65, -0.20), ("green", 0.35, -0.35)]


@pytest.fixture(scope="module")
def simulator():
    text = "objects:\n" + "".join(f"  - {{kind: cube, colour: {c}, position: [{x}, {y}]}}\n" for c, x, y in CUBES)
    scene = parse_scene(text, Path("test.yaml"))
    return Simulator(build_model(scene, load_camera()), scene)


@pytest.fixture(scope="module")
def frame(simulator):
    camera = OverheadCamera(simulator.model, load_camera())
    yield camera.render(1.5, simulator.snapshot().qpos)
    camera.close()


def optical_to_base(config):
    x, y, z, w = config.quaternion
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )


def points_in_base(frame, mask):
    config = load_camera()
    k = Intrinsics.of_view(config.fovy, config.width, config.height)
    v, u = np.nonzero(mask)
    z = frame.depth[v, u]
    points = np.stack([(u - k.cx) / k.fx * z, (v - k.cy) / k.fy * z, z], axis=1)
    return points @ optical_to_base(config).T + config.position


def of_colour(rgb, colour):
    channel = ("red", "green", "blue").index(colour)
    others = np.delete(rgb.astype(int), channel, axis=2).max(axis=2)
    return (rgb[..., channel] > 60) & (rgb[..., channel] > 2.2 * others)


@pytest.mark.parametrize(("colour", "x", "y"), CUBES)
def test_pixels_and_depth_lead_back_to_the_true_places(frame, colour, x, y):
    points = points_in_base(frame, of_colour(frame.rgb, colour))
    top = points[np.abs(points[:, 2] - 0.05) < 0.002]
    assert len(top) > 150
    middle = (top[:, :2].min(axis=0) + top[:, :2].max(axis=0)) / 2
    assert middle == pytest.approx([x, y], abs=0.0015)
    assert np.median(top[:, 2]) == pytest.approx(0.05, abs=0.0005)


def test_image_top_is_forward_and_image_left_is_left(frame):
    middle = {c: np.argwhere(of_colour(frame.rgb, c)).mean(axis=0) for c, *_ in CUBES}
    assert middle["blue"][0] < middle["red"][0] < middle["green"][0]  # further away: higher up
    assert middle["red"][1] < middle["blue"][1] < middle["green"][1]  # more to the left


def test_the_table_is_flat_and_in_view(frame):
    assert frame.rgb.shape == (480, 640, 3) and frame.rgb.dtype == np.uint8
    assert frame.depth.shape == (480, 640) and frame.depth.dtype == np.float32 and frame.time == 1.5
    table = points_in_base(frame, np.ones((480, 640), bool))
    flat = table[np.abs(table[:, 2]) < 0.003]
    assert flat[:, 0].max() > 0.90 and flat[:, 1].min() < -0.62 and flat[:, 1].max() > 0.62
    assert abs(np.median(flat[:, 2])) < 2e-4


def test_a_camera_on_the_hand_is_where_the_joints_say(simulator):
    name = "wrist"
    scene = simulator.scene
    carried = Simulator(build_model(scene, load_camera(name)), scene)
    mujoco.mj_forward(carried.model, carried._data)
    state = RobotState(tuple(carried._data.qpos[carried._arm]), 0.08, 0.0)
    said = load_extrinsics(name).camera_to_base(state)
    camera = carried._data.camera(camera_name(0))
    assert camera.xpos == pytest.approx(said.translation, abs=1e-3)
    # MuJoCo's cameras look along -z with y up
    assert camera.xmat.reshape(3, 3) * (1, -1, -1) == pytest.approx(said.rotation, abs=1e-3)


def test_a_camera_on_a_link_that_the_robot_lacks_is_refused(simulator):
    with raises_code("configuration", "elbow"):
        build_model(simulator.scene, replace(load_camera(), parent="elbow"))


def test_moving_the_arm_changes_the_image(simulator, frame):
    camera = OverheadCamera(simulator.model, load_camera())
    qpos = simulator.snapshot().qpos
    qpos[:7] = np.array(FR3.home) + [0.6, 0.3, 0, 0, 0, 0, 0]
    moved = camera.render(2.0, qpos)
    same = camera.render(2.0, simulator.snapshot().qpos)
    camera.close()
    assert (np.abs(moved.rgb.astype(int) - frame.rgb).max(axis=2) > 40).sum() > 5000
    assert np.array_equal(same.rgb, frame.rgb) and np.array_equal(same.depth, frame.depth)


def test_noise_grows_with_distance_and_leaves_holes_and_edges():
    depth = np.full((200, 300), 1.0, np.float32)
    depth[:, 150:] = 2.0
    noisy = DepthNoise(0.002, 0.5, 0.003).apply(depth, np.random.default_rng(1))
    near, far = noisy[:, :140], noisy[:, 160:]
    near_sigma, far_sigma = (part[part > 0].std() for part in (near, far))
    assert near_sigma == pytest.approx(0.002, rel=0.1) and far_sigma == pytest.approx(0.008, rel=0.1)
    assert 0.001 < (near == 0).mean() < 0.006
    edge = noisy[:, 149:151]
    between = ((edge > 1.05) & (edge < 1.9)).mean()
    assert 0.05 < between < 0.5 and (edge == 0).mean() > 0.05
    assert noisy.dtype == np.float32 and np.array_equal(
        DepthNoise(0, 0, 0).apply(depth, np.random.default_rng(1)), depth
    )


def test_the_same_seed_gives_the_same_noise(simulator):
    images = []
    for seed in (1, 1, 2):
        camera = OverheadCamera(simulator.model, load_camera(), DepthNoise(), seed=seed)
        images.append(camera.render(0.0, simulator.snapshot().qpos).depth)
        camera.close()
    assert np.array_equal(images[0], images[1]) and not np.array_equal(images[0], images[2])


def test_rendering_in_a_thread_while_physics_goes_on(simulator):
    frames = []

    def render():
        camera = OverheadCamera(simulator.model, load_camera())
        frames.extend(camera.render(0.0, snapshot.qpos) for _ in range(3))
        camera.close()

    snapshot = simulator.snapshot()
    thread = threading.Thread(target=render)
    thread.start()
    simulator.step(300)
    thread.join(60)
    assert len(frames) == 3 and np.array_equal(frames[0].rgb, frames[2].rgb)


def test_views_of_one_thread_share_a_context_and_do_not_disturb_one_another(simulator, frame):
    def render():
        qpos, name = simulator.snapshot().qpos, load_camera()
        camera, other = (OverheadCamera(simulator.model, name, shadows=shadows) for shadows in (False, True))
        views = camera._view, other._view
        shaded = other.render(0.0, qpos).rgb
        before = camera.render(0.0, qpos)
        other.close()
        after = camera.render(0.0, qpos)
        camera.close()
        again = OverheadCamera(simulator.model, name)
        shared = {id(view._gl) for view in (*views, again._view)}
        again.close()
        offscreen.free_contexts()
        return shaded, before, after, shared, offscreen._KEPT.contexts

    with ThreadPoolExecutor(1) as thread:
        shaded, before, after, shared, kept = thread.submit(render).result()
    assert len(shared) == 1 and not kept
    for image in (before, after):
        assert np.array_equal(image.rgb, frame.rgb) and np.array_equal(image.depth, frame.depth)
    assert not np.array_equal(shaded, frame.rgb)


def test_missing_gl_names_the_package(monkeypatch, simulator):
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(offscreen.ctypes.util, "find_library", lambda name: None)
    with raises_code("configuration", "apt install libegl1"):
        offscreen.choose_gl()
    monkeypatch.setattr(offscreen.ctypes.util, "find_library", lambda name: "x" if name == "OSMesa" else None)
    offscreen.choose_gl()
    assert offscreen.os.environ["MUJOCO_GL"] == "osmesa"
    monkeypatch.setenv("MUJOCO_GL", "egl")
    monkeypatch.setitem(sys.modules, "mujoco.egl", None)
    with (
        ThreadPoolExecutor(1) as fresh,  # this thread may have a context already
        raises_code("configuration", "apt install libegl1"),
    ):
        fresh.submit(OverheadCamera, simulator.model, load_camera()).result()


@pytest.mark.parametrize(
    ("change", "data"),
    [
        ({"frame_id": None}, ("yaml:1", "'frame_id'")),
        ({"positon": [0, 0, 1]}, ("'positon'", "'position'")),
        ({"fovy": 400}, ("fovy", "5 to 150", "400")),
        ({"width": "wide"}, ("width", "wide")),
        ({"position": [0, 1]}, ("position", "3", "[0, 1]")),
        ({"quaternion": [1, 1, 0, 0]}, ("quaternion", "1.414")),
    ],
)
def test_wrong_camera_files_are_refused_by_name(tmp_path, change, data):
    import yaml

    raw = {
        "frame_id": "c",
        "width": 640,
        "height": 480,
        "fovy": 58,
        "position": [0, 0, 1],
        "quaternion": [1, 0, 0, 0],
        **change,
    }
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({k: v for k, v in raw.items() if v is not None}))
    with raises_code("configuration", data) as caught:
        load_camera(path)
    assert str(path) in str(caught.value)


@pytest.fixture
def recorder():
    recorder = VideoRecorder(width=320, height=180, max_frames=40, patience=300.0)
    yield recorder
    recorder.close()


def record_a_motion(recorder, simulator):
    from planweave.robots import load_robot

    FR3 = load_robot()
    from planweave.simulation.trajectory import Point

    simulator.reset()
    recorder.start(10.0)
    simulator.controller.follow(
        FR3.joint_names, [Point(1.5, np.array(FR3.home) + [0.8, 0, 0, 0, 0, 0, 0], np.zeros(7))]
    )
    while simulator.busy:
        simulator.step(5)
        recorder.offer(simulator.model, simulator.snapshot())
    return simulator.model, simulator.snapshot()


@pytest.mark.parametrize("suffix", [".webm", ".gif"])  # .mp4: test_simulation_node
def test_a_video_shows_the_motion(tmp_path, recorder, simulator, suffix):
    import cv2
    from PIL import Image, ImageSequence

    last = record_a_motion(recorder, simulator)
    path = tmp_path / f"arm{suffix}"
    done = recorder.stop(str(path), last, "put the red cube in the left tray " * 5)
    assert 14 <= done.frames <= 20 and done.seconds == pytest.approx(1.5, abs=0.3)
    if suffix == ".gif":
        image, shown = Image.open(path), []
        frames = [np.array(frame.convert("RGB")) for frame in ImageSequence.Iterator(image)]
        for index in range(image.n_frames):
            image.seek(index)
            shown.append(image.info["duration"] / 1000)
        assert sum(shown) == pytest.approx(6.0, abs=0.5) and shown[-1] > 2.0  # no blink: the end stays
        assert done.frames - 2 <= len(frames) <= done.frames  # Pillow joins frames that are alike
    else:
        video, frames = cv2.VideoCapture(str(path)), []
        while (read := video.read())[0]:
            frames.append(read[1])
        assert len(frames) / video.get(cv2.CAP_PROP_FPS) == pytest.approx(6.0, abs=0.5)
        assert video.get(cv2.CAP_PROP_FPS) >= 8
        assert np.abs(frames[-1].astype(int) - frames[-10]).mean() < 1.0
    assert all(frame.shape == (180 + 34, 320, 3) for frame in frames)
    band = frames[0][180:].astype(int)
    assert band.max() > 200 and (band.max(axis=2) < 90).mean() > 0.5, "white words on a dark band"
    changes = [np.abs(a.astype(int) - b).mean() for a, b in itertools.pairwise(frames)]
    assert max(changes) > 0.5
    before, after = (np.array(Image.open(tmp_path / f"arm_{w}.png")) for w in ("before", "after"))
    assert before.shape == (180, 320, 3) and (np.abs(before.astype(int) - after).max(axis=2) > 40).sum() > 300
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"arm{suffix}", "arm_after.png", "arm_before.png"]


def test_stillness_takes_no_frames(recorder, simulator):
    simulator.reset()
    recorder.start()
    for _ in range(100):
        simulator.step(25)
        recorder.offer(simulator.model, simulator.snapshot())
    assert len(recorder._states) < 12


@pytest.mark.parametrize(
    ("path", "data"), [("x.avi", ("'x.avi'", ".webm", ".mp4", ".gif")), ("/no/such/folder/x.mp4", "/no/such/folder")]
)
def test_a_wrong_path_is_refused_and_the_recording_goes_on(recorder, simulator, path, data):
    recorder.start()
    with raises_code("recording", data):
        recorder.stop(path)
    assert recorder.recording


def test_no_file_of_others_is_written_over(recorder, tmp_path):
    recorder.start()
    for name, there in (("a.mp4", "a.mp4"), ("b.gif", "b_before.png"), ("c.mp4", "c_after.png")):
        (tmp_path / there).write_text("mine")
        with raises_code("recording", there):
            recorder.stop(str(tmp_path / name))
        assert (tmp_path / there).read_text() == "mine"
    (tmp_path / "d.mp4").symlink_to(tmp_path / "nowhere")
    for path in (tmp_path / "d.mp4", tmp_path / f"{'x' * 300}.mp4", tmp_path / "a\0.mp4"):
        with raises_code("recording"):
            recorder.stop(str(path))
    assert recorder.recording


def test_stopping_without_starting_says_so(recorder, tmp_path):
    with raises_code("recording", "start: true"):
        recorder.stop(str(tmp_path / "x.mp4"))
    with raises_code("recording", "1000", "1 to 60"):
        recorder.start(1000.0)


class Rendering:
    """A camera that counts; every image is another one."""

    def __init__(self):
        self.count = 0

    def render(self, time, qpos):
        self.count += 1
        return RgbdFrame(time, np.full((2, 2, 3), self.count, np.uint8), np.full((2, 2), qpos[0], np.float32))

    def close(self):
        pass


@pytest.fixture
def thread_of():
    """thread_of(camera): its thread, and image(time, place): the image of a state, once it has come."""
    made = []

    def start(camera):
        frames, arrived, model = [], threading.Event(), object()
        thread = CameraThread(lambda model: [camera], lambda f: (frames.append(f[0]), arrived.set()), pytest.fail)
        made.append(thread)
        thread.use(model)

        def image(time, place):
            arrived.clear()
            thread.request(model, Snapshot(time, np.array([place])))
            assert arrived.wait(60.0)
            return frames[-1]

        return thread, model, image

    yield start
    for thread in made:
        thread.close()


def test_a_state_that_was_seen_often_enough_is_not_rendered_again(thread_of, monkeypatch):
    monkeypatch.setattr(camera_thread, "_ONCE_MORE", (math.inf, math.inf))
    camera = Rendering()
    thread, model, image = thread_of(camera)
    for k in range(LOOKS):
        before = image(0.1 * k, 1.0)
    assert camera.count == LOOKS and thread.settled
    again = image(5.0, 1.0)
    assert camera.count == LOOKS and again.time == 5.0 and again.rgb is before.rgb
    assert image(5.1, 1.0 + 1e-9).depth[0, 0] == np.float32(1.0 + 1e-9) and camera.count == LOOKS + 1
    assert not thread.settled  # the least movement counts
    image(5.2, 2.0)
    thread.use(model)
    image(5.3, 2.0)
    assert camera.count == LOOKS + 3


def test_a_state_that_stays_is_rendered_again_now_and_then(thread_of, monkeypatch):
    monkeypatch.setattr(camera_thread, "_ONCE_MORE", (0.0, 0.0))
    camera = Rendering()
    _, _, image = thread_of(camera)
    for k in range(LOOKS + 3):
        image(0.1 * k, 1.0)
    assert camera.count == LOOKS + 3


def test_a_gif_keeps_the_colours_of_small_things(tmp_path):
    from PIL import Image

    y, x = np.mgrid[0:180, 0:320]
    frames = []
    for k in range(6):  # a large surface with many shades, and small things of strong colours
        frame = np.stack([90 + x // 3, 100 + y // 2, 110 + (x + y) // 5], axis=2).astype(np.uint8)
        for i, colour in enumerate(((30, 40, 200), (40, 210, 230), (60, 160, 50), (190, 60, 30))):  # blue first
            frame[20 + 4 * k : 28 + 4 * k, 40 + 50 * i : 48 + 50 * i] = colour
        frames.append(frame)
    write_video(tmp_path / "x.gif", frames, 5.0)
    image = Image.open(tmp_path / "x.gif")
    for k in (0, image.n_frames - 1):
        image.seek(k)
        seen = np.array(image.convert("RGB"))[:, :, ::-1]
        for i in range(4):
            at = 24 + 4 * k, 44 + 50 * i
            assert np.abs(seen[at].astype(int) - frames[k][at]).max() < 25, (k, i)

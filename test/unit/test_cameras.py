"""Cameras in this process: devices that come and go, recordings that end, and their real libraries where installed."""

import importlib.util
import sys
import threading
from functools import partial

import numpy as np
import pytest
from codes import raises_code
from doubles.recorded_camera import record_bag, record_realsense, record_ros1_bag

from planweave.core.base.errors import ConfigError
from planweave.perception.cameras import content, open_realsense, open_recording, realsense, ros_bag
from planweave.perception.cameras.frame import CameraError, Frame
from planweave.perception.cameras.ros_topics import COLOUR, DEPTH, INFO
from planweave.perception.cameras.threaded import LiveCamera, PacedRecording
from planweave.perception.decoding import FrameError
from planweave.perception.geometry import Intrinsics

WAIT = 10.0
INTRINSICS = Intrinsics(60.0, 60.0, 31.5, 23.5, 64, 48)
TOPICS = {COLOUR: "/colour", DEPTH: "/depth", INFO: "/info"}


def pictures(count=4):
    """Pairs of an image and depth that tell which frame they are."""
    return [
        (np.full((48, 64, 3), (10 + n, 20, 30), np.uint8), np.full((48, 64), 1.0 + n / 100, np.float32))
        for n in range(count)
    ]


def frame(number):
    return Frame(number * 1_000_000, "camera", *pictures(1)[0], INTRINSICS)


class Taker:
    """Takes what a camera gives, as perception_node's worker does."""

    def __init__(self):
        self.arrived = threading.Semaphore(0)

    def next(self, camera):
        """The next frame; fails at the deadline."""
        assert self.arrived.acquire(timeout=WAIT), f"no frame: {camera.complaint(0.0) or 'no complaint'}"
        return camera.take()

    def all(self, camera):
        """Everything until the recording has ended."""
        got = []
        while not camera.ended:
            taken = self.next(camera)
            got += [] if taken is None else [taken]
        return got


@pytest.fixture
def taker():
    return Taker()


@pytest.fixture
def opened():
    """Cameras that are closed after the test, which must end their threads."""
    cameras = []
    yield lambda camera: cameras.append(camera) or camera
    for camera in cameras:
        camera.close()
        assert not camera._thread.is_alive()


def test_a_device_that_is_unplugged_is_opened_again(taker, opened):
    plugged, openings = threading.Event(), []

    def source(ended):
        openings.append(1)
        if len(openings) == 2:
            raise CameraError("no camera is plugged in")
        if len(openings) > 2:
            assert plugged.wait(WAIT)
        yield frame(len(openings))
        if len(openings) == 1:
            raise CameraError("it was unplugged")
        ended.wait(WAIT)

    camera = opened(LiveCamera(source, taker.arrived.release, 1.0, pause=0.01))
    assert taker.next(camera).nanoseconds == 1_000_000
    while len(openings) < 3:
        assert not camera._closed.wait(0.005)
    assert "plugged" in camera.complaint(0.0)
    plugged.set()
    assert taker.next(camera).nanoseconds == 3_000_000
    assert camera.complaint(0.0) == ""


def test_a_driver_that_throws_is_a_complaint_and_no_crash(opened, taker):
    def source(ended):
        yield frame(1)
        raise RuntimeError("bad cable")

    camera = opened(LiveCamera(source, taker.arrived.release, 1.0, pause=WAIT))
    taker.next(camera)
    while not camera.complaint(0.0):
        assert not camera._closed.wait(0.005)
    assert camera.complaint(0.0) == "reading images failed: RuntimeError: bad cable"


def test_only_the_newest_frame_of_a_device_counts_and_silence_is_told(opened):
    read = threading.Event()

    def source(ended):
        yield from map(frame, (1, 2, 3))
        read.set()
        ended.wait(WAIT)

    camera = opened(LiveCamera(source, lambda: None, 0.5))
    assert read.wait(WAIT)
    assert camera.take().nanoseconds == 3_000_000
    assert camera.take() is None
    assert camera.complaint(camera._heard + 0.4) == ""
    assert "no images for 0.5 s" in camera.complaint(camera._heard + 0.6)


def test_a_recording_gives_every_frame_and_ends(taker, opened):
    camera = opened(PacedRecording(lambda ended: map(frame, (1, 2, 3)), taker.arrived.release, 1.0, loop=False))
    assert [f.nanoseconds // 1_000_000 for f in taker.all(camera)] == [1, 2, 3]
    assert camera.complaint(1e9) == ""


def test_a_recording_that_loops_begins_anew(taker, opened):
    camera = opened(PacedRecording(lambda ended: map(frame, (1, 2)), taker.arrived.release, 1.0, loop=True))
    assert [taker.next(camera).nanoseconds // 1_000_000 for _ in range(5)] == [1, 2, 1, 2, 1]
    assert not camera.ended


def test_a_recording_that_breaks_off_says_so_and_is_not_read_again(taker, opened):
    openings = []

    def source(ended):
        openings.append(1)
        yield FrameError("depth encoding 'x' is not known")
        raise CameraError("the file is cut off")

    camera = opened(PacedRecording(source, taker.arrived.release, 1.0, loop=True))
    with raises_code("frame", "'x'"):
        taker.next(camera)
    camera._thread.join(WAIT)
    assert (camera.complaint(0.0), len(openings), camera.ended) == ("the file is cut off", 1, False)


# --- RealSense, through the real library -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rs():
    if importlib.util.find_spec("pyrealsense2") is None:
        pytest.skip("pyrealsense2 is not installed: pip install 'planweave[realsense]'")
    try:
        return realsense.load_library()
    except ConfigError as error:
        pytest.skip(str(error))


def test_a_realsense_recording_is_played_through_the_real_pipeline(rs, tmp_path, taker, opened):
    path = tmp_path / "table.db3"
    record_realsense(rs, path, pictures(), INTRINSICS)
    camera = opened(open_recording(str(path), False, TOPICS, "optical", taker.arrived.release))
    assert not camera._closed.wait(0.5)  # perception is busy for longer than the recording lasts
    frames = taker.all(camera)
    assert len(frames) in (3, 4)  # the library's player starts stream after stream, and can lose a first frame
    for number, got in enumerate(frames, 4 - len(frames)):
        assert got.frame_id == "optical"
        assert got.stamp == pytest.approx(1000.0 + number / 30, abs=1e-3)
        assert got.rgb.dtype == np.uint8 and (got.rgb == (10 + number, 20, 30)).all()
        assert got.depth.dtype == np.float32
        assert got.depth[24, 32] == pytest.approx(1.0 + number / 100, abs=0.0003)
        assert got.intrinsics == INTRINSICS


def test_a_realsense_recording_that_loops_goes_back_in_time(rs, tmp_path, taker, opened):
    path = tmp_path / "table.db3"
    record_realsense(rs, path, pictures(2), INTRINSICS)
    camera = opened(open_recording(str(path), True, TOPICS, "optical", taker.arrived.release))
    stamps = [taker.next(camera).nanoseconds for _ in range(4)]
    assert len(set(stamps)) <= 2 and stamps != sorted(set(stamps))
    assert not camera.ended


@pytest.mark.parametrize(("streams", "words"), [(("colour",), "no depth"), (("depth",), "no colour")])
def test_a_realsense_recording_without_depth_or_colour_is_named(rs, tmp_path, streams, words):
    path = tmp_path / "table.db3"
    record_realsense(rs, path, pictures(1), INTRINSICS, streams=streams)
    with raises_code("camera", words):
        next(realsense.recorded_frames(rs, path, "optical", threading.Event()))


@pytest.mark.parametrize("name", ["garbage.db3", "garbage.bag"])
def test_a_file_that_is_no_realsense_recording_is_named(rs, tmp_path, taker, opened, name):
    path = tmp_path / name
    path.write_bytes(b"no recording" * 100)
    with raises_code("configuration"):
        open_recording(str(path), False, TOPICS, "optical", taker.arrived.release)
    with raises_code("camera", name):
        next(realsense.recorded_frames(rs, path, "optical", threading.Event()))


def test_a_realsense_camera_that_is_not_plugged_in_is_named_and_looked_for_again(rs, taker, opened):
    if len(rs.context().query_devices()):
        pytest.skip("a RealSense camera is plugged in")
    stream = realsense.Stream(serial="0042")
    camera = opened(open_realsense(stream, "optical", taker.arrived.release, 1.0))
    while not camera.complaint(0.0):
        assert not camera._closed.wait(0.005)
    assert "no RealSense camera is plugged in" in camera.complaint(0.0)
    assert camera._thread.is_alive()


@pytest.fixture
def plugged_in(rs, monkeypatch):
    """One D435 is there, as far as the library says."""

    class Device:
        def supports(self, _):
            return True

        def get_info(self, what):
            return {rs.camera_info.name: "D435", rs.camera_info.serial_number: "0007"}[what]

    monkeypatch.setattr(rs.context, "query_devices", lambda _: [Device()])


def test_a_realsense_camera_with_another_serial_number_is_named(rs, plugged_in):
    with raises_code("camera", "0042", "D435", "0007"):
        next(realsense.device_frames(rs, realsense.Stream("0042"), "optical", threading.Event()))


def test_a_realsense_camera_that_does_not_offer_the_streams_is_named(rs, plugged_in, monkeypatch):
    class Pipeline:
        """Refuses what the real config asks for."""

        def start(self, config):
            assert isinstance(config, rs.config)
            raise RuntimeError("Couldn't resolve requests")

    monkeypatch.setattr(rs, "pipeline", Pipeline)
    with raises_code("camera", "1280 x 720 at 6 fps", "Couldn't resolve requests", "D435"):
        next(realsense.device_frames(rs, realsense.Stream("0007", 1280, 720, 6), "optical", threading.Event()))


def test_a_realsense_camera_that_falls_silent_is_named(rs, monkeypatch, tmp_path):
    """A recording taken for a live camera: at its end no more images come, as from one that is unplugged."""
    monkeypatch.setattr(realsense, "_NEXT", 0.3)
    path = tmp_path / "table.db3"
    record_realsense(rs, path, pictures(3), INTRINSICS)
    frames = realsense._frames(rs, *realsense.open_file(rs, path), "optical", threading.Event(), None)
    assert next(frames).depth[24, 32] == pytest.approx(1.0, abs=0.05)
    with raises_code("camera", "0.3 s", "RealSense"):
        list(frames)


def test_the_missing_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    with raises_code("missing_extra", "planweave[realsense]"):
        open_realsense(realsense.Stream(), "optical", lambda: None, 1.0)
    monkeypatch.setitem(sys.modules, "rosbags", None)
    with raises_code("missing_extra", "planweave[bag]"):
        ros_bag.load_library()


def test_the_missing_libusb_is_named(monkeypatch):
    class NoLibusb:
        """Stands before the finders: pyrealsense2 is there but cannot be loaded, libusb-package is not there."""

        def find_spec(self, name, path=None, target=None):
            if name == "pyrealsense2":
                raise ImportError("libusb-1.0.so.0: cannot open shared object file: No such file or directory")
            return None

    monkeypatch.delitem(sys.modules, "pyrealsense2", raising=False)
    monkeypatch.setitem(sys.modules, "libusb_package", None)
    monkeypatch.setattr(sys, "meta_path", [NoLibusb(), *sys.meta_path])
    with raises_code("configuration", "apt-get install libusb-1.0-0"):
        realsense.load_library()


# --- ROS 2 bags, through the real library ----------------------------------------------------------------------------


@pytest.fixture
def bags():
    if importlib.util.find_spec("rosbags") is None:
        pytest.skip("rosbags is not installed: pip install 'planweave[bag]'")
    return ros_bag.load_library()


@pytest.mark.parametrize(
    ("storage", "part", "renamed"),
    [
        ("SQLITE3", "bag", ""),
        ("MCAP", "bag", ""),
        ("MCAP", "bag/bag.mcap", ""),
        ("SQLITE3", "bag/bag.db3", ""),
        ("MCAP", "bag/bag.mcap", "table.db3"),
        ("SQLITE3", "bag/bag.db3", "table.bag"),
        ("ROS1", "bag.bag", ""),
        ("ROS1", "bag.bag", "table"),
    ],
)
def test_a_ros_bag_gives_every_frame_whatever_its_name(bags, tmp_path, taker, opened, storage, part, renamed):
    (record_ros1_bag if storage == "ROS1" else partial(record_bag, storage=storage))(
        tmp_path / ("bag.bag" if storage == "ROS1" else "bag"), pictures(), INTRINSICS, TOPICS.values()
    )
    path = (tmp_path / part).rename(tmp_path / renamed) if renamed else tmp_path / part
    camera = opened(open_recording(str(path), False, TOPICS, "unused", taker.arrived.release))
    frames = taker.all(camera)
    assert [f.rgb[0, 0, 0] for f in frames] == [10, 11, 12, 13]
    assert [f.nanoseconds for f in frames] == [1_000_000_000_000 + n * 33_000_000 for n in range(4)]
    assert frames[3].depth[0, 0] == pytest.approx(1.03)
    assert (frames[0].frame_id, frames[0].intrinsics) == ("camera_color_optical_frame", INTRINSICS)


@pytest.mark.parametrize(
    ("changes", "data"),
    [
        ({"topics": ("/colour", "", "/info")}, ("/depth", "/colour (sensor_msgs")),
        ({"topics": ("/colour", "/info", "/depth")}, ("/depth", "sensor_msgs/msg/CameraInfo")),
        ({"late_depth": 1}, ()),
    ],
    ids=["topic", "type", "stamps"],
)
def test_what_is_wrong_with_a_ros_bag_is_named(bags, tmp_path, changes, data):
    record_bag(tmp_path / "bag", pictures(2), INTRINSICS, **{"topics": TOPICS.values(), **changes})
    with raises_code("camera", data):
        list(ros_bag.bag_frames(bags, tmp_path / "bag", TOPICS, threading.Event()))


def test_compressed_images_of_a_bag_are_read(bags, tmp_path, taker, opened):
    record_bag(tmp_path / "bag", pictures(), INTRINSICS, TOPICS.values(), compressed=True)
    camera = opened(open_recording(str(tmp_path / "bag"), False, TOPICS, "unused", taker.arrived.release))
    frames = taker.all(camera)
    assert [tuple(f.rgb[0, 0]) for f in frames] == [(10 + n, 20, 30) for n in range(4)]
    assert frames[3].depth[0, 0] == pytest.approx(1.03)


def test_a_recording_of_realsense_is_told_by_its_content(rs, tmp_path, taker, opened):
    path = tmp_path / "table.db3"
    record_realsense(rs, path, pictures(), INTRINSICS)
    assert content.is_of_realsense(path)
    path = path.rename(tmp_path / "table")
    assert content.magic(path) == content.SQLITE and content.is_of_realsense(path)


def test_a_ros1_bag_of_realsense_is_told_by_its_topics(bags, tmp_path):
    topics = {what: f"/device_0/sensor_0{name}" for what, name in TOPICS.items()}
    record_ros1_bag(tmp_path / "realsense.bag", pictures(1), INTRINSICS, topics.values())
    record_ros1_bag(tmp_path / "ros1.bag", pictures(1), INTRINSICS, TOPICS.values())
    assert content.is_of_realsense(tmp_path / "realsense.bag") and not content.is_of_realsense(tmp_path / "ros1.bag")


def test_a_folder_that_is_no_bag_and_a_bag_that_is_cut_off_are_named(bags, tmp_path, taker, opened):
    (tmp_path / "empty").mkdir()
    record_bag(tmp_path / "cut", pictures(2), INTRINSICS, TOPICS.values())
    data = next((tmp_path / "cut").glob("*.db3"))
    data.write_bytes(data.read_bytes()[:5000])
    for name, words in (("empty", "cannot be read as a ROS bag"), ("cut", "cut")):
        camera = opened(open_recording(str(tmp_path / name), False, TOPICS, "c", taker.arrived.release))
        camera._thread.join(WAIT)
        assert words in camera.complaint(0.0)


def test_a_bag_of_compressed_images_is_named_with_the_remedy(bags, tmp_path):
    topics = [f"{TOPICS[COLOUR]}/compressed", f"{TOPICS[DEPTH]}/compressedDepth", TOPICS[INFO]]
    record_bag(tmp_path / "bag", pictures(2), INTRINSICS, topics, compressed=True)
    with raises_code("camera", "topics.colour: /colour/compressed, topics.depth: /depth/compressedDepth"):
        list(ros_bag.bag_frames(bags, tmp_path / "bag", TOPICS, threading.Event()))
    taken = dict(zip(TOPICS, topics))
    assert len(list(ros_bag.bag_frames(bags, tmp_path / "bag", taken, threading.Event()))) == 2


@pytest.mark.parametrize("name", ["", "nowhere.db3", "notes.txt"])
def test_a_recording_that_is_none_is_a_wrong_parameter(tmp_path, name):
    (tmp_path / "notes.txt").write_text("no recording")
    with raises_code("configuration", "bag.path"):
        open_recording(str(tmp_path / name) if name else "", False, TOPICS, "c", lambda: None)

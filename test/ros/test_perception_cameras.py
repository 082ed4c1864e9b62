"""perception_node with cameras in its own process, recordings, and camera poses from tf2."""

import importlib.util
import itertools
import sys
import threading

import numpy as np
import pytest
from doubles import tf2_api
from doubles.camera_driver import CAMERA, EXPECTED, SAID_BEFORE, CameraDriver, blocks_view, look, refuse
from doubles.recorded_camera import record_bag, record_realsense
from planweave_interfaces.msg import DetectedObjects
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile
from sensor_msgs.msg import CameraInfo, Image

from perception_node.node import PerceptionNode
from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import find_config
from planweave.perception.cameras import realsense
from planweave.perception.cameras.frame import Frame
from planweave.perception.geometry import Intrinsics

pytestmark = pytest.mark.gl
TOPICS = ("/camera/color/image_raw", "/camera/aligned_depth_to_color/image_raw", "/camera/color/camera_info")
INTRINSICS = Intrinsics.of_view(CAMERA.fovy, CAMERA.width, CAMERA.height)


class Listener:
    """Hears what perception_node says."""

    def __init__(self, node):
        self.node, self.objects, self.log, self._lock = node, [], [], threading.Lock()
        node.create_subscription(DetectedObjects, "/perception/detected_objects", self.objects.append, 10)
        node.create_subscription(Log, "/rosout", lambda m: self.log.append(m.msg), SAID_BEFORE)

    def hear(self, kind, topic):
        heard = []
        self.node.create_subscription(kind, topic, heard.append, 10)
        return heard

    def said(self, words):
        return any(words in line for line in list(self.log))

    def saw_all(self):
        """Whether the newest message has every object (and perhaps more: the robot is not left out here)."""
        return bool(self.objects) and set(EXPECTED) <= {o.name for o in self.objects[-1].objects}


@pytest.fixture
def listener(make_node):
    return Listener(make_node("listener"))


def start(make_node, **parameters):
    return make_node(PerceptionNode, [Parameter(name.replace("__", "."), value=v) for name, v in parameters.items()])


@pytest.fixture
def view():
    return blocks_view()


@pytest.fixture(scope="module")
def rs():
    if importlib.util.find_spec("pyrealsense2") is None:
        pytest.skip("pyrealsense2 is not installed: pip install 'planweave[realsense]'")
    try:
        return realsense.load_library()
    except ConfigError as error:
        pytest.skip(str(error))


def test_a_realsense_recording_is_seen_and_shown(rs, make_node, listener, spin_until, tmp_path, view):
    path = tmp_path / "table.db3"
    record_realsense(rs, path, [(view.rgb, view.depth)] * 4, INTRINSICS)
    images, depths, infos = (listener.hear(k, t) for k, t in zip((Image, Image, CameraInfo), TOPICS))
    start(make_node, source="bag", bag__path=str(path), bag__loop=True, robot_filter=False)
    spin_until(listener.saw_all, 30.0, "the objects")
    spin_until(lambda: images and depths and infos, 20.0, "images on the camera's topics")
    assert (images[0].encoding, images[0].header.frame_id) == ("rgb8", CAMERA.frame_id)
    assert (np.frombuffer(images[0].data, np.uint8).reshape(view.rgb.shape) == view.rgb).all()
    depth = np.frombuffer(depths[0].data, np.float32).reshape(view.depth.shape)
    assert np.median(np.abs(depth - view.depth)) < 0.002  # aligning takes the nearest of neighbouring pixels
    assert infos[0].k[0] == pytest.approx(INTRINSICS.fx, rel=1e-5)


def test_a_ros_bag_is_seen_to_its_end(make_node, listener, spin_until, tmp_path, view):
    pytest.importorskip("rosbags", reason="rosbags is not installed: pip install 'planweave[bag]'")
    record_bag(tmp_path / "bag", [(view.rgb, view.depth)] * 5, INTRINSICS, TOPICS)
    node = start(make_node, source="bag", bag__path=str(tmp_path / "bag"), robot_filter=False, silent_after=0.4)
    spin_until(lambda: listener.said("the recording is over"), 30.0, "the end of the recording")
    # The node may have been done before the listener was connected, hence this look inside.
    assert set(EXPECTED) <= {track.name for track in node._perceiver.tracker.tracks}


def test_a_realsense_camera_that_is_not_there_is_named_and_the_node_lives(rs, make_node, listener, spin_until):
    if len(rs.context().query_devices()):
        pytest.skip("a RealSense camera is plugged in")
    node = start(make_node, source="realsense", silent_after=0.4)
    spin_until(lambda: listener.said("no RealSense camera is plugged in"), 15.0, "the warning")
    assert node._worker.is_alive() and node._camera._thread.is_alive()


@pytest.mark.parametrize(
    ("parameters", "code", "datum"),
    [
        ({"source": "realsence"}, "configuration", "'realsense'"),
        ({"source": "realsense"}, "missing_extra", "planweave[realsense]"),
        ({"source": "bag", "bag__path": "somewhere.db3"}, "configuration", "bag.path"),
        ({"source": "bag"}, "configuration", "bag.path"),
        ({"realsense__fps": 1000}, "configuration", "realsense.fps"),
        ({"camera": "tf2:camera"}, "configuration", "tf2-ros-py"),
        ({"source": "bag", "cameras": ["left"]}, "configuration", "source bag"),
        ({"source": "realsense", "cameras": ["left"], "realsense__serial": "1"}, "configuration", "serial"),
        ({"cameras": ["wrist"], "robot_filter": False}, "configuration", "fr3_hand"),
    ],
)
def test_a_wrong_camera_parameter_ends_the_start_with_what_is_right(ros, monkeypatch, parameters, code, datum):
    monkeypatch.setitem(sys.modules, "pyrealsense2", None)
    monkeypatch.setitem(sys.modules, "tf2_ros", None)
    refuse(PerceptionNode, {name.replace("__", "."): value for name, value in parameters.items()}, code, datum)


def test_a_refused_start_is_one_line_and_no_traceback(start_node):
    node = start_node("perception_node", source="bag", **{"bag.path": "nowhere.db3"})
    assert node.wait(60.0) == 2
    assert "error: source bag: there is no recording 'nowhere.db3'; set the parameter bag.path" in node.output()
    assert "Traceback" not in node.output()


def test_a_camera_on_the_hand_needs_the_joint_states(ros, tmp_path):
    path = tmp_path / "hand.yaml"
    path.write_text("frame_id: c\nparent: fr3_hand\nposition: [0, 0, 0.1]\nquaternion: [0, 0, 0, 1]\n")
    parameters = {"camera": str(path), "robot_filter": False}
    refuse(PerceptionNode, parameters, "configuration", "robot_filter")


def test_several_realsense_cameras_are_told_apart_by_the_serials_of_their_files(
    make_node, listener, spin_until, monkeypatch, tmp_path, view
):
    text = find_config("cameras", "overhead").read_text()
    for name, serial in (("one", "0815"), ("two", "4711")):
        (tmp_path / f"{name}.yaml").write_text(f'{text}\nserial: "{serial}"\n')
    opened = set()

    def frames(rs, stream, frame_id, ended):
        opened.add(stream.serial)
        for stamp in itertools.count(1):
            yield Frame(stamp * 50_000_000, frame_id, view.rgb, view.depth, INTRINSICS)
            if ended.wait(0.05):
                return

    monkeypatch.setattr(realsense, "load_library", lambda: None)
    monkeypatch.setattr(realsense, "device_frames", frames)
    one, two = (str(tmp_path / f"{name}.yaml") for name in ("one", "two"))
    node = start(make_node, source="realsense", camera=one, cameras=[two], robot_filter=False)
    spin_until(listener.saw_all, 30.0, "the objects")
    assert opened == {"0815", "4711"}
    assert [each.name for each in node._companions.cameras] == ["two"] and node._companions.cameras[0].frames


def test_the_cameras_pose_comes_from_tf2_when_told(make_node, spin_until, monkeypatch, view):
    transforms = {}
    monkeypatch.setitem(sys.modules, "tf2_ros", tf2_api.module(transforms))
    camera = CameraDriver(make_node("camera_driver"), view, QoSProfile(depth=5))
    start(make_node, camera=f"tf2:{CAMERA.frame_id}")
    spin_until(camera.ready, 10.0, "the connections")
    camera.frame()
    spin_until(lambda: camera.said("tf2 has no transform from camera_color_optical_frame"), 10.0, "the warning")
    assert camera.heard == []
    transforms["fr3_link0", CAMERA.frame_id] = (CAMERA.position, CAMERA.quaternion)
    assert sorted(o.name for o in look(camera, spin_until, 3).objects) == EXPECTED


def test_images_that_never_have_one_stamp_are_named(make_node, spin_until, view):
    camera = CameraDriver(make_node("camera_driver"), view, QoSProfile(depth=5))
    start(make_node, silent_after=0.5)
    spin_until(camera.ready, 10.0, "the connections")

    small = view.rgb[:8, :8], view.depth[:8, :8]  # many are sent

    def out_of_step():
        for publisher, array, encoding in zip((camera.colour, camera.depth), small, ("rgb8", "32FC1")):
            camera.stamp += 1
            publisher.publish(camera.image(array, encoding, CAMERA.frame_id))
        camera.stamp += 1
        camera.info.publish(camera.stamped(CameraInfo(height=480, width=640)))
        return camera.said("never with one stamp")

    spin_until(out_of_step, 15.0, "the warning")
    assert sorted(o.name for o in look(camera, spin_until).objects) == EXPECTED


def test_depth_full_of_holes_shows_what_is_seen_and_where_the_table_is(make_node, spin_until, view):
    camera = CameraDriver(make_node("camera_driver"), view, QoSProfile(depth=5))
    start(make_node)
    spin_until(camera.ready, 10.0, "the connections")
    depth = view.depth.copy()
    depth[np.random.default_rng(0).random(depth.shape) < 0.4] = 0.0
    found = {o.name for o in look(camera, spin_until, 4, depth=depth).objects}
    assert len(found & set(EXPECTED)) >= 3  # of eight; with other noise and other holes two to six
    spin_until(lambda: camera.said("degrees off where the camera's pose (overhead) puts it"), 10.0, "the offset")


def test_a_node_that_hears_no_published_image_any_more_ends_to_be_started_again(
    make_node, spin_until, monkeypatch, view
):
    monkeypatch.setattr("perception_node.node._DEAF", 0.5)
    camera = CameraDriver(make_node("camera_driver"), view, QoSProfile(depth=5))
    node, ended = start(make_node, silent_after=0.4), []
    node.finalized = lambda: ended.append(True)
    spin_until(camera.ready, 10.0, "the connections")
    assert not node.ends_because, "one that never heard any waits for the camera"
    look(camera, spin_until, 3)
    spin_until(lambda: ended, 10.0, "the end")
    assert "is published" in node.ends_because

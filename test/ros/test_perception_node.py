"""perception_node on real ROS 2: images in, objects out; a camera that is silent or sends garbage."""

import time

import numpy as np
import pytest
from doubles.camera_driver import CAMERA, EXPECTED, CameraDriver, blocks_view, look, refuse
from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from rclpy.parameter import Parameter
from rclpy.qos import QoSProfile, qos_profile_sensor_data
from sensor_msgs.msg import CameraInfo, JointState
from std_srvs.srv import Trigger

from perception_node.node import PerceptionNode
from planweave.core.base.health import Level
from planweave.robots import load_robot

FR3 = load_robot()

pytestmark = pytest.mark.gl


@pytest.fixture(scope="module")
def view():
    return blocks_view()


@pytest.fixture
def start(make_node, spin_until, view):
    def make(compressed=False, connected=True, **parameters):
        qos = QoSProfile(depth=5) if parameters.get("reliable_images", True) else qos_profile_sensor_data
        camera = CameraDriver(make_node("camera_driver"), view, qos, compressed)
        node = make_node(PerceptionNode, [Parameter(name, value=value) for name, value in parameters.items()])
        if connected:
            spin_until(camera.ready, 10.0, "the connections")
        return camera, node

    return make


@pytest.mark.parametrize("millimetres", [False, True], ids=["32FC1", "16UC1"])
def test_images_in_named_objects_out(start, spin_until, millimetres):
    camera, _ = start()
    message = look(camera, spin_until, times=3, millimetres=millimetres)
    assert (message.header.frame_id, message.header.stamp.nanosec) == (FR3.base, 123)
    objects = {o.name: o for o in message.objects}
    assert sorted(objects) == EXPECTED
    assert len({o.id for o in message.objects}) == 8
    cube = objects["red_cube"]
    assert (cube.class_name, cube.colour, cube.shape, cube.visible) == ("cube", "red", "box", True)
    assert (cube.pose.position.x, cube.pose.position.y, cube.pose.position.z) == pytest.approx(
        (0.47, 0.02, 0.025), abs=0.004
    )
    assert (cube.size.x, cube.size.y, cube.size.z) == pytest.approx((0.05, 0.05, 0.05), abs=0.004)
    assert 2 * np.arctan2(cube.pose.orientation.z, cube.pose.orientation.w) == pytest.approx(0.3, abs=0.06)
    assert 0 < cube.confidence <= 1
    assert message.occluded_pixels > 1000


def test_while_it_is_not_active_no_image_is_looked_at(start, spin_until, make_node):
    camera, node = start(autostart=False)
    change = make_node("person").create_client(ChangeState, "/perception_node/change_state")
    assert change.wait_for_service(60.0)
    assert node.why_idle == "perception_node is inactive: ros2 lifecycle set /perception_node activate"
    camera.frame()
    spin_until(lambda: node._camera._last is not None, 10.0, "the image to be taken")
    camera.frame()
    answer = change.call_async(ChangeState.Request(transition=Transition(id=Transition.TRANSITION_ACTIVATE)))
    spin_until(answer.done, 10.0, "the transition")
    assert answer.result().success and not camera.heard
    look(camera, spin_until, times=2)


def test_a_camera_driver_that_publishes_best_effort_is_served_when_told(start, spin_until):
    camera, _ = start(reliable_images=False)
    spin_until(lambda: camera.frame() and camera.heard, 20.0, "objects in one of many frames")


def test_a_silent_camera_is_named_in_the_log_and_in_diagnostics_and_its_return_too(start, spin_until, make_node):
    diagnostic_msgs = pytest.importorskip("diagnostic_msgs.msg")
    camera, _ = start(silent_after=0.5)
    told = []
    make_node("monitor").create_subscription(diagnostic_msgs.DiagnosticArray, "/diagnostics", told.append, 10)

    def report(level, part="perception_node: camera"):
        newest = [s for array in told[-1:] for s in array.status if s.name == part]
        return newest and newest[0].level == bytes([level]) and newest[0]

    spin_until(lambda: (r := report(Level.ERROR)) and "no images" in r.message, 10.0, "the camera's error")
    assert report(Level.ERROR, "perception_node: joint states").message == "no joint states yet"
    spin_until(lambda: camera.said("no images for 0.5 s on /camera/color/image_raw"), 10.0, "the warning")
    look(camera, spin_until)
    spin_until(lambda: camera.said("gives images again"), 10.0, "the good news")
    spin_until(lambda: look(camera, spin_until, times=1) and report(Level.OK), 10.0, "a camera that is well")
    stale = spin_until(lambda: report(Level.STALE), 10.0, "a camera that fell silent")
    assert " 0.5 s " in stale.message and "/camera/color/image_raw" in stale.message
    assert {value.key for value in stale.values} == {"age_s", "longest_age_s"}


def test_a_camera_without_depth_is_named(start, spin_until):
    camera, _ = start(silent_after=0.5)

    def without_depth():
        camera.stamp += 1
        camera.info.publish(camera.stamped(CameraInfo(height=480, width=640)))
        camera.colour.publish(camera.image(camera.view.rgb, "rgb8", CAMERA.frame_id))
        return camera.said("gives no depth on /camera/aligned_depth_to_color/image_raw")

    spin_until(without_depth, 10.0, "the warning")


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"encoding": "yuv422"}, "yuv422"),
        ({"rgb": np.zeros((240, 320, 3), np.uint8)}, "sizes differ"),
        ({"rgb": np.zeros((480, 640, 3), np.uint8)}, "black"),
        ({"depth": np.zeros((480, 640), np.float32)}, "no depth"),
        ({"depth": np.full((480, 640), np.nan, np.float32)}, "no depth"),
        ({"depth": np.full((480, 640), 1.12, np.float32)}, "calibrate"),
    ],
    ids=["encoding", "size", "black", "zero depth", "nan depth", "plane"],
)
def test_a_garbage_frame_is_left_out_with_a_word_and_the_next_one_is_served(start, spin_until, bad, words):
    camera, _ = start()
    stamp = camera.frame(**bad)
    spin_until(lambda: camera.said("frame left out") and camera.said(words), 10.0, f"a warning about {words}")
    assert sorted(o.name for o in look(camera, spin_until).objects) == EXPECTED
    assert camera.answer(stamp) is None


def test_noise_in_the_images_does_not_end_the_node(start, spin_until):
    camera, _ = start()
    rng = np.random.default_rng(0)
    look(
        camera,
        spin_until,
        1,
        rgb=rng.integers(0, 256, (480, 640, 3), dtype=np.uint8),
        depth=(camera.view.depth + rng.normal(0, 0.02, (480, 640))).astype(np.float32),
    )
    camera.stamp = 100
    kinds = sorted(o.class_name for o in look(camera, spin_until, 8).objects)
    assert kinds == sorted(
        name.rpartition("_")[2] for name in EXPECTED
    )  # a tray first seen in noise may be no left one


def test_without_joint_states_nothing_is_guessed(start, spin_until):
    camera, _ = start()
    camera.frame(robot=False)
    spin_until(lambda: camera.said("nothing on /joint_states yet"), 10.0, "the warning")
    assert camera.heard == []
    assert sorted(o.name for o in look(camera, spin_until).objects) == EXPECTED


@pytest.mark.parametrize("fingers", [FR3.gripper.joints, FR3.gripper.joints[:1]], ids=["two", "one with a mimic"])
def test_joint_states_of_arm_and_fingers_may_come_apart(start, spin_until, fingers):
    camera, _ = start()

    def seen():
        stamp = camera.frame(robot=False)
        camera.state(parts=(list(fingers), list(FR3.joint_names)))
        return spin_until(lambda: camera.answer(stamp), 20.0, "the objects of a frame")

    seen()
    assert sorted(o.name for o in seen().objects) == EXPECTED
    assert not camera.said("robot cannot be masked")


def test_an_image_waits_for_the_rare_joint_states_of_a_robot_at_rest(start, spin_until):
    camera, _ = start()
    sent = []

    def answered():  # a busy machine may send a state too late, so several are tried
        sent.append(camera.frame(robot=False))
        time.sleep(0.5)  # longer than from one state to the next in the simulation at rest
        camera.state()
        return any(camera.answer(stamp) for stamp in sent)

    spin_until(answered, 10.0, "the objects of a frame")


def test_a_joint_position_that_is_no_number_is_named_and_the_next_one_is_served(start, spin_until):
    camera, _ = start()
    camera.frame(robot=False)
    camera.state(fr3_joint3=float("nan"))
    spin_until(lambda: camera.said("the position of fr3_joint3 is nan on /joint_states"), 10.0, "the warning")
    assert not camera.said("please report") and camera.heard == []
    assert sorted(o.name for o in look(camera, spin_until).objects) == EXPECTED


def test_joint_states_of_another_robot_are_named_once(start, spin_until):
    camera, _ = start()
    camera.frame(robot=False)
    camera.joints.publish(camera.stamped(JointState(name=["panda_joint1"], position=[0.0]), FR3.base))
    spin_until(lambda: camera.said("no position of fr3_joint1"), 10.0, "the warning")
    assert camera.said("(only of panda_joint1) on /joint_states") and not camera.said("nothing on /joint_states")


def test_a_driver_that_gives_compressed_images_alone_is_named_with_the_remedy(start, spin_until):
    camera, _ = start(compressed=True, connected=False, silent_after=0.5)
    remedy = "topics.depth: /camera/aligned_depth_to_color/image_raw/compressedDepth"
    spin_until(
        lambda: camera.said("topics.colour: /camera/color/image_raw/compressed, ") and camera.said(remedy), 20, "it"
    )


def test_compressed_images_are_looked_at(start, spin_until):
    camera, _ = start(
        compressed=True,
        **{
            "topics.colour": "camera/color/image_raw/compressed",
            "topics.depth": "camera/aligned_depth_to_color/image_raw/compressedDepth",
        },
    )
    message = look(camera, spin_until, times=3, millimetres=True)
    assert sorted(o.name for o in message.objects) == EXPECTED


def test_only_the_newest_of_many_frames_is_looked_at_while_busy(start, spin_until):
    camera, _ = start()
    look(camera, spin_until)
    last = [camera.frame() for _ in range(12)][-1]
    spin_until(lambda: camera.answer(last), 20.0, "the newest frame's objects")
    assert len(camera.heard) < 14


def test_a_frame_of_another_camera_is_noticed(start, spin_until):
    camera, _ = start()
    look(camera, spin_until, 1, frame_id="other_camera")
    spin_until(lambda: camera.said("'other_camera'"), 10.0, "the warning")


@pytest.mark.parametrize(
    ("parameters", "code", "datum"),
    [
        ({"table": [0.5, 0.1, 0.0, 1.0]}, "configuration", "x_min, x_max"),
        ({"table": [0.5]}, "configuration", "x_min, x_max"),
        ({"detector": "attribute"}, "configuration", "attributes"),
        ({"camera": "overhed"}, "unknown_name", "'overhead'"),
        ({"plane_offset": 5.0}, "configuration", "plane_offset"),
        ({"silent_after": "long"}, "configuration", "silent_after"),
    ],
)
def test_a_wrong_parameter_ends_the_start_with_what_is_right(ros, parameters, code, datum):
    refuse(PerceptionNode, parameters, code, datum)


def test_forgetting_makes_it_look_anew_from_images_after_the_change(start, spin_until, monkeypatch):
    """What an image from before the change shows counts for nothing; ids start again with what is there now, and the
    answer comes when that is known.
    """
    monkeypatch.setattr("perception_node.node._FORGET_PATIENCE", 60.0)
    camera, node = start()
    before = look(camera, spin_until, times=3)
    client = camera.node.create_client(Trigger, "/perception/forget")
    assert client.wait_for_service(timeout_sec=60.0)
    answer = client.call_async(Trigger.Request())
    after = before
    spin_until(lambda: node._forget_asked.is_set(), 10.0, "the request")
    while not answer.done():
        after = look(camera, spin_until, times=1)
    assert answer.result().success and answer.result().message == "objects were looked for anew"
    assert sorted(o.name for o in after.objects) == EXPECTED
    assert {o.id for o in after.objects}.isdisjoint(o.id for o in before.objects)

"""simulation_node over its topics and services, as executor, perception and console use it."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from control_msgs.action import FollowJointTrajectory, ParallelGripperCommand
from control_msgs.msg import SpeedScalingFactor
from geometry_msgs.msg import Point, PoseArray
from planweave_interfaces.msg import TaskStatus
from planweave_interfaces.srv import Intervene, LoadScene, RecordVideo
from rclpy.parameter import Parameter
from rclpy.publisher import Publisher
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import CameraInfo, Image, JointState, TimeReference
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.robots import load_robot
from planweave.simulation.scene import load_scene
from planweave_ros.rclpy_compat import ThreadSafeActionClient
from planweave_ros.tabletop_runs import Truth
from simulation_node.node import SimulationNode

FR3 = load_robot()
SUCCEEDED, CANCELED, ABORTED = 4, 5, 6  # of action_msgs/GoalStatus

pytestmark = pytest.mark.gl
WAIT = 20.0


class Client:
    """What other nodes see of the simulation."""

    def __init__(self, node, spin_until, images):
        from std_srvs.srv import Trigger

        self.node, self.spin_until = node, spin_until
        self.joints, self.clocks, self.colours, self.depths, self.infos = [], [], [], [], []
        qos = QoSProfile(depth=5)
        for kind, topic, store in (
            (JointState, "/joint_states", self.joints),
            (Clock, "/clock", self.clocks),
            (Image, "/camera/color/image_raw", self.colours),
            (Image, "/camera/aligned_depth_to_color/image_raw", self.depths),
            (CameraInfo, "/camera/color/camera_info", self.infos),
        ):
            if images or topic in ("/joint_states", "/clock"):
                node.create_subscription(kind, topic, store.append, qos)
        self.images = images
        self.topic = node.create_publisher(JointTrajectory, "/fr3_arm_controller/joint_trajectory", 10)
        self.scaling = node.create_publisher(SpeedScalingFactor, "/fr3_arm_controller/speed_scaling_input", 10)
        self.arm = ThreadSafeActionClient(node, FollowJointTrajectory, "/fr3_arm_controller/follow_joint_trajectory")
        self.gripper = ThreadSafeActionClient(node, ParallelGripperCommand, "/fr3_gripper_controller/gripper_cmd")
        self.feedback = []
        self.types = {"reset": Trigger, "load_scene": LoadScene, "record": RecordVideo, "intervene": Intervene}
        self.services = {name: node.create_client(kind, f"/simulation/{name}") for name, kind in self.types.items()}

    def ready(self):
        stores = [self.joints, *([self.colours, self.depths, self.infos] if self.images else [])]
        self.spin_until(lambda: all(stores), WAIT, "the first messages")
        self.spin_until(
            lambda: (
                self.arm.server_is_ready() and self.gripper.server_is_ready() and self.topic.get_subscription_count()
            ),
            WAIT,
            "the controllers",
        )
        for service in self.services.values():
            assert service.wait_for_service(WAIT)
        return self

    def call(self, name, **fields):
        future = self.services[name].call_async(self.types[name].Request(**fields))
        self.spin_until(future.done, 60.0, f"the reply of {name}")
        return future.result()

    def trajectory(self, target, seconds, joints=FR3.joint_names):
        point = JointTrajectoryPoint(positions=[float(p) for p in target], velocities=[0.0] * len(target))
        point.time_from_start.sec, point.time_from_start.nanosec = int(seconds), round(seconds % 1 * 1e9)
        return JointTrajectory(joint_names=list(joints), points=[point])

    def accepted(self, action, goal):
        """The handle of a goal, None where it was rejected."""
        sent = action.send_goal_async(goal, feedback_callback=lambda told: self.feedback.append(told.feedback))
        self.spin_until(sent.done, WAIT, "the answer to a goal")
        return sent.result() if sent.result().accepted else None

    def follow(self, target, seconds, joints=FR3.joint_names):
        goal = FollowJointTrajectory.Goal(trajectory=self.trajectory(target, seconds, joints))
        return self.accepted(self.arm, goal)

    def grip(self, position, force=20.0, name=FR3.gripper.joints[0]):
        goal = ParallelGripperCommand.Goal()
        goal.command.name, goal.command.position, goal.command.effort = [name], [position], [force]
        return self.accepted(self.gripper, goal)

    def end(self, handle):
        """Status and result of an accepted goal."""
        assert handle is not None, "the goal was rejected"
        future = handle.get_result_async()
        self.spin_until(future.done, WAIT, "the result of a goal")
        return future.result().status, future.result().result

    def arm_at(self, target, newer_than=-1.0):
        state = self.joints[-1]
        return (
            stamp(state) > newer_than
            and np.abs(np.array(state.position[:7]) - target).max() < 0.006
            and np.abs(state.velocity[:7]).max() < 0.03
        )


def stamp(message):
    return message.header.stamp.sec + message.header.stamp.nanosec * 1e-9


def make_client(make_node, spin_until, images=True, **parameters):
    overrides = [Parameter(name.replace("__", "."), value=value) for name, value in parameters.items()]
    make_node(SimulationNode, overrides)
    return Client(make_node("client"), spin_until, images).ready()


@pytest.fixture
def client(make_node, spin_until):
    return make_client(make_node, spin_until, video__width=320, video__height=180, video__patience=30.0)


@pytest.fixture
def blind_client(make_node, spin_until):
    """One that takes no images, so that none is rendered."""
    return make_client(make_node, spin_until, images=False, video__width=320, video__height=180, video__patience=30.0)


def test_what_flows_while_nothing_moves(client):
    count = len(client.joints)
    client.spin_until(lambda: len(client.joints) > count + 10 and len(client.clocks) > 5, WAIT, "ten joint states")
    state = client.joints[-1]
    assert list(state.name) == [*FR3.joint_names, *FR3.gripper.joints] and state.header.frame_id == FR3.base
    assert state.position[:7] == pytest.approx(FR3.home, abs=2e-3) and len(state.velocity) == 9
    stamps = [stamp(s) for s in client.joints]
    assert all(a < b for a, b in itertools.pairwise(stamps))
    colour, depth, info = client.colours[0], client.depths[0], client.infos[0]
    assert stamp(colour) == stamp(depth) == stamp(info)
    assert (colour.encoding, colour.width, colour.height, colour.step) == ("rgb8", 640, 480, 1920)
    assert (depth.encoding, depth.step) == ("32FC1", 2560)
    assert colour.header.frame_id == depth.header.frame_id == info.header.frame_id == "camera_color_optical_frame"
    metres = np.frombuffer(depth.data, np.float32)
    assert np.median(metres) == pytest.approx(1.05, abs=0.01) and (metres == 0).any()
    focal = 240 / math.tan(math.radians(29))
    assert list(info.k) == pytest.approx([focal, 0, 319.5, 0, focal, 239.5, 0, 0, 1])
    pixels = np.frombuffer(colour.data, np.uint8).reshape(480, 640, 3).astype(int)
    assert ((pixels[..., 0] > 100) & (pixels[..., 1] < 50) & (pixels[..., 2] < 50)).sum() > 300  # the red cube


def test_a_trajectory_reaches_its_goal_and_an_image_follows(client):
    target = np.array(FR3.home) + [0.4, 0.2, 0, 0.2, 0, 0, 0]
    status, result = client.end(client.follow(target, 2.0))
    assert (status, result.error_code) == (SUCCEEDED, 0)
    client.spin_until(lambda: client.arm_at(target), WAIT, "the arm at its goal")
    ended = stamp(client.joints[-1])
    client.spin_until(
        lambda: stamp(client.colours[-1]) > ended - 0.05 and stamp(client.depths[-1]) > ended - 0.05,
        WAIT,
        "an image from after the motion",
    )
    assert not np.array_equal(client.colours[-1].data, client.colours[0].data)


def test_images_are_asked_for_in_the_order_of_their_states(make_node):
    node, asked = make_node(SimulationNode), []
    node._watched, node._images.request = lambda: True, lambda _, state: asked.append(state.time)
    call = node._runner.call

    def owed(simulator):
        simulator.step(5)
        node._owed_image = True
        node._after_chunk(simulator)

    def overtaken(do):
        """What a motion's end does, while the thread that asked has not gone on yet."""
        result = call(do)
        call(owed)
        return result

    node._runner.call = overtaken
    node._request_image()
    assert len(asked) > 1 and asked == sorted(asked)


def test_feedback_has_what_is_desired_and_what_is(make_node, spin_until):
    client = make_client(make_node, spin_until, images=False, real_time_factor=1.0)
    client.end(client.follow(np.array(FR3.home) + [0.4, 0, 0, 0, 0, 0, 0], 1.0))
    assert len(client.feedback) > 3
    moving = max(client.feedback, key=lambda told: told.desired.velocities[0])
    assert list(moving.joint_names) == list(FR3.joint_names) and moving.desired.velocities[0] > 0.3
    error = np.array(moving.desired.positions) - moving.actual.positions
    assert list(moving.error.positions) == pytest.approx(error) and np.abs(error).max() < 0.01


def test_the_gripper_closes_and_opens_and_says_where_something_holds_it(blind_client):
    for half in (0.01, 0.04):
        status, result = blind_client.end(blind_client.grip(half))
        assert (status, result.reached_goal, result.stalled) == (SUCCEEDED, True, False)
        assert list(result.state.position) == pytest.approx([half], abs=1e-3)
        blind_client.spin_until(
            lambda half=half: np.abs(np.array(blind_client.joints[-1].position[7:]) - half).max() < 1e-3,
            WAIT,
            f"the fingers at {half}",
        )


def test_a_cancelled_goal_decelerates_and_holds(make_node, spin_until):
    client = make_client(make_node, spin_until, images=False, real_time_factor=0.5, joint_state_rate=200.0)
    handle = client.follow(np.array(FR3.home) + [1.2, 0, 0, 0, 0, 0, 0], 4.0)
    client.spin_until(lambda: abs(client.joints[-1].velocity[0]) > 0.3, WAIT, "the arm in motion")
    handle.cancel_goal_async()
    assert client.end(handle)[0] == CANCELED
    client.spin_until(lambda: abs(client.joints[-1].velocity[0]) < 0.02, WAIT, "the arm at rest")
    speeds = [(stamp(s), abs(s.velocity[0])) for s in client.joints]
    fastest = max(v for _, v in speeds)
    slowing = next(t for (t, v), (_, after) in itertools.pairwise(speeds) if v > 0.25 and after < v - 0.02)
    still = next(t for t, v in speeds if t > slowing and v < 0.05)
    assert fastest > 0.3 and still - slowing <= 0.15
    held = np.array(client.joints[-1].position[:7])
    count = len(client.joints)
    client.spin_until(lambda: len(client.joints) > count + 50, WAIT, "more joint states")
    assert client.joints[-1].position[:7] == pytest.approx(held, abs=3e-3)
    assert held[0] < 1.1


def test_a_newer_goal_and_the_topic_take_over_and_a_reset_ends_what_goes_on(make_node, spin_until):
    client = make_client(make_node, spin_until, images=False, real_time_factor=1.0)
    first = client.follow(np.array(FR3.home) + [1.2, 0, 0, 0, 0, 0, 0], 6.0)
    second = client.follow(np.array(FR3.home) + [0.0, 0.2, 0, 0, 0, 0, 0], 6.0)
    status, result = client.end(first)
    assert (status, result.error_code) == (ABORTED, -1) and "preempted" in result.error_string
    target = np.array(FR3.home) + [0.1, 0, 0, 0, 0, 0, 0]
    client.topic.publish(client.trajectory(target, 0.8))
    assert client.end(second)[0] == SUCCEEDED, "the goal stays with another trajectory"
    client.spin_until(lambda: client.arm_at(target), WAIT, "the arm where the topic has it")
    third, closing = client.follow(np.array(FR3.home) + [1.2, 0, 0, 0, 0, 0, 0], 6.0), client.grip(0.0)
    assert client.call("reset").success
    status, result = client.end(third)
    assert (status, result.error_code) == (ABORTED, -1) and "deactivate" in result.error_string
    assert client.end(closing)[0] == ABORTED


def test_the_speed_scaling_slows_the_motion(blind_client):
    def seconds():
        begun = stamp(blind_client.joints[-1])
        goal = np.array(blind_client.joints[-1].position[:7]) + [0.2, 0, 0, 0, 0, 0, 0]
        assert blind_client.end(blind_client.follow(goal, 2.0))[1].error_code == 0
        blind_client.spin_until(lambda: blind_client.arm_at(goal), WAIT, "the arm at its goal")
        return stamp(blind_client.joints[-1]) - begun

    whole = seconds()
    blind_client.scaling.publish(SpeedScalingFactor(factor=0.1))
    blind_client.scaling.publish(SpeedScalingFactor(factor=-1.0))  # ignored
    blind_client.spin_until(lambda: blind_client.scaling.get_subscription_count(), WAIT, "the controller")
    assert seconds() > 3 * whole


def test_wrong_commands_are_refused_and_the_node_lives_on(blind_client):
    assert blind_client.follow([0.0] * 3, 1.0, FR3.joint_names[:3]) is None
    assert blind_client.follow(np.array(FR3.home) + 1.0, 0.01) is None
    assert blind_client.grip(0.01, name="nose") is None
    assert blind_client.grip(0.5) is None
    assert blind_client.end(blind_client.follow(np.array(FR3.home) + [0.2, 0, 0, 0, 0, 0, 0], 1.0))[1].error_code == 0
    assert blind_client.joints[-1].position[7] == pytest.approx(0.04, abs=1e-3)


def test_reset_and_scenes_good_and_bad(client, tmp_path):
    target = np.array(FR3.home) + [0.5, 0, 0, 0, 0, 0, 0]
    client.follow(target, 1.5)
    client.spin_until(lambda: client.arm_at(target), WAIT, "the arm at its goal")
    moved = stamp(client.joints[-1])
    assert client.call("reset").success
    client.spin_until(lambda: client.arm_at(FR3.home, moved), WAIT, "the arm at home")
    broken = tmp_path / "broken.yaml"
    broken.write_text("objects:\n  - {kind: cub, position: [0.5, 0]}\n")
    for scene, said in (
        ("nowhere", "known: banana_and_pear"),
        (str(broken), "broken.yaml:2: objects[0].kind: unknown kind 'cub'"),
        ("", ""),
    ):
        reply = client.call("load_scene", scene=scene)
        assert not reply.success and said in reply.message and reply.message
    before = stamp(client.joints[-1])
    reply = client.call("load_scene", scene="fruit_and_bottles")
    assert reply.success and "fruit" in reply.message
    client.spin_until(lambda: stamp(client.colours[-1]) > before, WAIT, "an image of the new scene")

    def yellow():
        pixels = np.frombuffer(client.colours[-1].data, np.uint8).reshape(480, 640, 3).astype(int)
        return ((pixels[..., 0] > 150) & (pixels[..., 1] > 120) & (pixels[..., 2] < 70)).sum() > 300 and (
            (pixels[..., 0] > 100) & (pixels[..., 1] < 30) & (pixels[..., 2] < 30)
        ).sum() > 300

    client.spin_until(yellow, WAIT, "banana and apple in the image")
    stamps = [stamp(state) for state in client.joints]
    assert stamps == sorted(stamps), "time went back with the new scene"


def test_a_person_moves_things_and_covers_the_camera(client, spin_until):
    truth = []
    client.node.create_subscription(PoseArray, "/simulation/object_poses", truth.append, 10)
    off = Point(x=math.nan)
    assert client.call("intervene", objects=[0], places=[off], camera=[False]).success
    spin_until(lambda: truth and truth[-1].poses[0].position.z < -0.7, WAIT, "the object to be gone")
    seen, poses = len(client.colours), len(truth)
    spin_until(lambda: len(truth) > poses + 20, WAIT, "two seconds of poses")
    assert len(client.colours) <= seen + 1, "one may have been on its way"
    waits = client.call("intervene", when="carry", watch=1, camera=[True])
    assert waits.success and "carry" in waits.message
    shown = client.call("intervene", camera=[True])
    assert shown.success and "object 1 " in shown.message
    seen = len(client.colours)
    spin_until(lambda: len(client.colours) > seen, WAIT, "images again")
    refused = client.call("intervene", when="soon", camera=[True])
    assert not refused.success and "approach" in refused.message


def test_true_poses_are_told_to_whom_listens(blind_client):
    bodies = {b.name: b for b in Truth(blind_client.node).bodies(load_scene("blocks"), seconds=20.0)}
    assert bodies["red_cube"].position == pytest.approx((0.47, 0.02, 0.025), abs=2e-3)
    assert bodies["red_cube"].yaw == pytest.approx(0.3, abs=0.01) and "left_tray" in bodies


def test_a_message_that_dds_refuses_ends_neither_physics_nor_camera(make_node, spin_until, monkeypatch):
    client = make_client(make_node, spin_until)
    publish, refused = Publisher.publish, []

    def refuse(self, message):
        if len(refused) < 5 and self.topic_name in ("/joint_states", "/camera/color/image_raw"):
            refused.append(self.topic_name)
            raise RuntimeError("cannot publish data")
        publish(self, message)

    monkeypatch.setattr(Publisher, "publish", refuse)
    spin_until(lambda: len(refused) == 5, WAIT, "refusals")
    states, images = len(client.joints), len(client.colours)
    spin_until(lambda: len(client.joints) > states and len(client.colours) > images, WAIT, "states and images again")


def test_a_recording_is_a_video_that_moves(blind_client, tmp_path):
    import cv2

    path = tmp_path / "arm.mp4"
    assert not blind_client.call("record", start=False, path=str(path)).success
    assert blind_client.call("record", start=True).success
    target = np.array(FR3.home) + [0.8, 0, 0, 0, 0, 0, 0]
    blind_client.follow(target, 1.5)
    blind_client.spin_until(lambda: blind_client.arm_at(target), WAIT, "the arm at its goal")
    wrong = blind_client.call("record", start=False, path=str(tmp_path / "none" / "arm.mp4"))
    assert not wrong.success and "no folder" in wrong.message
    reply = blind_client.call("record", start=False, path=str(path))
    assert reply.success, reply.message
    video, frames = cv2.VideoCapture(str(path)), []
    while (read := video.read())[0]:
        frames.append(read[1].astype(int))
    assert len(frames) > reply.frames >= 3  # each is shown for a while, the last one longest
    assert np.abs(frames[0] - frames[-1]).mean() > 1.0
    assert (tmp_path / "arm_before.png").stat().st_size > 1000 and (tmp_path / "arm_after.png").stat().st_size > 1000


def test_the_process_ends_on_sigint_and_says_what_is_wrong_with_a_parameter(start_node, spin_until, ros):
    good, bad = start_node("simulation_node"), start_node("simulation_node", scene="nowhere")
    assert bad.wait(WAIT) == 2
    assert "unknown scene 'nowhere'" in bad.output() and "Traceback" not in bad.output()
    spin_until(lambda: "scene blocks" in good.output(), WAIT, "the node to start")
    good.interrupt()
    assert good.wait(60.0) == 0 and "Traceback" not in good.output()


def test_the_scene_is_not_swapped_under_a_task(tasks_going_on, blind_client):
    blind_client.spin_until(lambda: blind_client.node.count_services("/list_tasks"), WAIT, "the list of tasks")
    tasks_going_on += [
        TaskStatus(task_id="task-1", state=TaskStatus.SUCCEEDED),
        TaskStatus(task_id="task-2", sentence="put it there", state=TaskStatus.AWAITING_APPROVAL),
    ]
    for name, fields in (("load_scene", {"scene": "blocks"}), ("reset", {})):
        reply = blind_client.call(name, **fields)
        assert not reply.success and 'task-2 ("put it there")' in reply.message, reply.message
        assert "planweave cancel task-2" in reply.message
    tasks_going_on.pop()
    assert blind_client.call("reset").success and blind_client.call("load_scene", scene="blocks").success


def test_of_a_scene_at_rest_is_said_that_the_last_image_still_shows_it(client):
    said = []
    client.node.create_subscription(TimeReference, "/camera/still", said.append, 5)

    def settled():
        return len(said) > 3 and said[-1].time_ref == client.depths[-1].header.stamp

    client.spin_until(settled, 60.0, "a scene at rest")
    stamps = [stamp(m) for m in said]
    assert all(a < b for a, b in itertools.pairwise(stamps)) and stamps[-1] > stamp(client.depths[-1])
    pixels, count = bytes(client.depths[-1].data), len(client.depths)

    def again():  # for whoever missed it; now and then another image is rendered instead
        return any(a.data == b.data for a, b in itertools.pairwise(client.depths[count - 1 :]))

    client.spin_until(again, 30.0, "an image again")
    assert client.call("reset").success
    newer = stamp(client.joints[-1])
    client.spin_until(lambda: stamp(client.depths[-1]) > newer, 30.0, "an image of the scene that was touched")
    assert bytes(client.depths[-1].data) != pixels

    def words():  # on each image
        return [
            len(list(group))
            for of, group in itertools.groupby(said, lambda m: m.time_ref)
            if of.sec + of.nanosec * 1e-9 > newer
        ]

    client.spin_until(lambda: len(words()) > 1, 60.0, "that image again")
    assert words()[0] < 6, "a part of the last image may be lost: it comes again soon at first"

"""What RViz and tf2 see of the simulated robot: its description and the frames of every link and of the camera."""

from xml.etree import ElementTree

import numpy as np
import pytest
from builtin_interfaces.msg import Duration
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.calibration import load_extrinsics
from planweave.robots import load_robot
from planweave.robots.chain import frame_names, link_frames
from planweave_ros import conversions as convert
from planweave_ros.qos import TRANSIENT_LOCAL
from simulation_node.node import SimulationNode

FR3 = load_robot()

pytestmark = pytest.mark.gl
WAIT = 20.0


def matrix(transform):
    t, q = transform.translation, transform.rotation
    found = np.eye(4)
    found[:3, :3], found[:3, 3] = rotation_from_quaternion(q.x, q.y, q.z, q.w), (t.x, t.y, t.z)
    return found


def in_base(frame, transforms):
    """Pose (4, 4) of a frame in the base, through its parents."""
    if frame == FR3.base:
        return np.eye(4)
    found = transforms[frame]
    return in_base(found.header.frame_id, transforms) @ matrix(found.transform)


def test_frames_are_those_of_the_joint_states_and_the_calibration(make_node, spin_until):
    tf2_msgs = pytest.importorskip("tf2_msgs.msg")  # of a ROS 2 from packages, or built by make setup
    viewer = make_node("viewer")
    described, fixed, moving, states, infos = [], [], [], {}, {"color": [], "aligned_depth_to_color": []}
    viewer.create_subscription(String, "/robot_description", described.append, TRANSIENT_LOCAL)
    viewer.create_subscription(tf2_msgs.TFMessage, "/tf_static", fixed.append, TRANSIENT_LOCAL)
    viewer.create_subscription(tf2_msgs.TFMessage, "/tf", moving.append, 100)

    def on_state(msg):
        states[convert.time_from_msg(msg.header.stamp).nanoseconds] = dict(zip(msg.name, msg.position))

    viewer.create_subscription(JointState, "/joint_states", on_state, 100)
    for camera, found in infos.items():
        viewer.create_subscription(CameraInfo, f"/camera/{camera}/camera_info", found.append, 10)
    make_node(SimulationNode)
    spin_until(lambda: viewer.get_publishers_info_by_topic("/tf"), WAIT, "the simulation")
    # geometry2's hash, so that rviz2 and tf2_echo understand it
    assert str(viewer.get_publishers_info_by_topic("/tf")[0].topic_type_hash) == (
        "RIHS01_e369d0f05a23ae52508854b66f6aa0437f3449d652e8cbf22d5abe85d020f087"
    )
    arm = viewer.create_publisher(JointTrajectory, "/fr3_arm_controller/joint_trajectory", 10)
    spin_until(lambda: described and fixed and moving and states and arm.get_subscription_count(), WAIT, "the robot")
    target = np.array(FR3.home) + [0.5, 0.2, -0.3, 0.2, 0.4, -0.3, 0.6]
    arm.publish(
        JointTrajectory(
            joint_names=list(FR3.joint_names),
            points=[
                JointTrajectoryPoint(positions=list(target), velocities=[0.0] * 7, time_from_start=Duration(sec=1))
            ],
        )
    )

    def moved():
        for msg in list(moving):
            joints = states.get(convert.time_from_msg(msg.transforms[0].header.stamp).nanoseconds)
            if joints and joints["fr3_joint1"] > 0.2:
                return msg, joints
        return None

    msg, joints = spin_until(moved, WAIT, "transforms and joint states of one stamp while the arm moves")
    transforms = {t.child_frame_id: t for m in (*fixed, msg) for t in m.transforms}
    frames = link_frames(FR3, [joints[name] for name in FR3.joint_names])
    for frame in frame_names(FR3):
        wanted = frames[frame]
        assert np.abs(in_base(frame, transforms) - wanted).max() < 1e-6, frame
    camera = load_extrinsics()
    found = in_base(camera.frame_id, transforms)
    assert np.abs(found[:3, :3] - camera.camera_to_parent.rotation).max() < 1e-6
    assert found[:3, 3] == pytest.approx(camera.camera_to_parent.translation)
    robot = ElementTree.fromstring(described[0].data.encode())
    assert {link.get("name") for link in robot.findall("link")} == {FR3.base, *transforms} - {camera.frame_id}
    viewer.create_subscription(Image, "/camera/aligned_depth_to_color/image_raw", lambda _: None, 2)
    spin_until(lambda: all(infos.values()), WAIT, "both camera infos")
    colour, depth = infos["color"][0], infos["aligned_depth_to_color"][0]
    assert (list(colour.k), colour.header.frame_id) == (list(depth.k), depth.header.frame_id)

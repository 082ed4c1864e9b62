"""The URDF of the simulated robot: an own reader of it finds the hand where the model and the DH parameters have it."""

import math
from xml.etree import ElementTree

import numpy as np
import pytest

from planweave.robots import load_robot
from planweave.robots.chain import frame_names, link_frames
from planweave.simulation.robot_description import links_of, urdf

FR3 = load_robot()


@pytest.fixture(scope="module")
def links():
    from planweave.robots import load_robot

    FR3 = load_robot()
    from planweave.robots.model import robot_spec

    return links_of(robot_spec(FR3).compile())


def rotation(axis, angle):
    """About a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def poses(text, values):
    """Frames of all links (4, 4) in the base, as the URDF's specification says, and the frames' parents."""
    robot = ElementTree.fromstring(text.encode())
    joints = {j.find("child").get("link"): j for j in robot.findall("joint")}

    def numbers(element, name):
        return [float(v) for v in element.get(name).split()]

    def pose(link):
        if link not in joints:
            return np.eye(4)
        joint = joints[link]
        roll, pitch, yaw = numbers(joint.find("origin"), "rpy")
        step, move = np.eye(4), np.eye(4)
        step[:3, :3] = rotation((0, 0, 1), yaw) @ rotation((0, 1, 0), pitch) @ rotation((1, 0, 0), roll)
        step[:3, 3] = numbers(joint.find("origin"), "xyz")
        if joint.get("type") == "revolute":
            move[:3, :3] = rotation(numbers(joint.find("axis"), "xyz"), values[joint.get("name")])
        elif joint.get("type") == "prismatic":
            move[:3, 3] = np.array(numbers(joint.find("axis"), "xyz")) * values[joint.get("name")]
        return pose(joint.find("parent").get("link")) @ step @ move

    return {link.get("name"): pose(link.get("name")) for link in robot.findall("link")}


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_frames_of_the_urdf_are_those_of_the_description(links, seed):
    joints = FR3.home if seed is None else np.random.default_rng(seed).uniform(FR3.lower, FR3.upper)
    found = poses(urdf(links), {**dict(zip(FR3.joint_names, joints)), **dict.fromkeys(FR3.gripper.joints, 0.02)})
    frames = link_frames(FR3, joints)
    for name in frame_names(FR3):
        assert np.abs(found[name] - frames[name]).max() < 1e-6, name
    tcp, fingers = found[FR3.gripper.tool.frame], [found["fr3_leftfinger"], found["fr3_rightfinger"]]
    sides = sorted(float((tcp[:3, :3].T @ (finger[:3, 3] - tcp[:3, 3]))[1]) for finger in fingers)
    assert sides == pytest.approx([-0.02, 0.02], abs=1e-6)


def test_transforms_and_urdf_are_one(links):
    values = {**dict(zip(FR3.joint_names, FR3.home)), **dict.fromkeys(FR3.gripper.joints, 0.03)}
    found = poses(urdf(links), values)
    for link in links[1:]:
        (x, y, z), (qx, qy, qz, qw) = link.transform(values.get(link.joint, 0.0))
        step = np.linalg.inv(found[link.parent]) @ found[link.name]
        assert step[:3, 3] == pytest.approx([x, y, z], abs=1e-6)
        angle = 2 * math.atan2(math.hypot(qx, qy, qz), qw)
        axis = np.array([qx, qy, qz]) / max(math.hypot(qx, qy, qz), 1e-12)
        assert np.abs(step[:3, :3] - rotation(axis, angle)).max() < 1e-6, link.name


def test_every_link_but_the_bare_flanges_can_be_seen_and_moving_joints_have_limits(links):
    robot = ElementTree.fromstring(urdf(links).encode())
    bare = {link.get("name") for link in robot.findall("link") if link.find("visual") is None}
    assert bare == {"fr3_link8", FR3.gripper.tool.frame}
    limits = {j.get("name"): j.find("limit") for j in robot.findall("joint") if j.get("type") != "fixed"}
    assert set(limits) == {*FR3.joint_names, *FR3.gripper.joints}
    assert all(float(limit.get("lower")) < float(limit.get("upper")) for limit in limits.values())


def test_names_and_the_sides_of_the_fingers_are_those_of_franka_description(links):
    """robots/common/franka_arm.xacro and end_effectors/common/franka_hand.xacro of franka_description 1.0.1."""
    chain = {f"fr3_link{i}": (f"fr3_link{i - 1}", f"fr3_joint{i}") for i in range(1, 9)}
    hand = {
        "fr3_hand": ("fr3_link8", "fr3_hand_joint"),
        "fr3_hand_tcp": ("fr3_hand", "fr3_hand_tcp_joint"),
        "fr3_leftfinger": ("fr3_hand", FR3.gripper.joints[0]),
        "fr3_rightfinger": ("fr3_hand", FR3.gripper.joints[1]),
    }
    assert {link.name: (link.parent, link.joint) for link in links[1:]} == {**chain, **hand}
    found = poses(urdf(links), {**dict(zip(FR3.joint_names, FR3.home)), **dict.fromkeys(FR3.gripper.joints, 0.03)})
    in_hand = {side: np.linalg.inv(found["fr3_hand"]) @ found[f"fr3_{side}finger"] for side in ("left", "right")}
    assert in_hand["left"][:3, 3] == pytest.approx([0, 0.03, 0.0584], abs=1e-6)
    assert in_hand["right"][:3, 3] == pytest.approx([0, -0.03, 0.0584], abs=1e-6)
    assert np.abs(in_hand["left"][:3, :3] - np.eye(3)).max() < 1e-6
    assert np.abs(in_hand["right"][:3, :3] - np.diag([-1, -1, 1])).max() < 1e-6

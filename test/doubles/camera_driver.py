"""A double of a camera driver and a robot: publishes what they would, and listens to perception."""

import functools
import gc
import threading
from dataclasses import replace

import numpy as np
from builtin_interfaces.msg import Time
from codes import raises_code
from planweave_interfaces.msg import DetectedObjects
from rcl_interfaces.msg import Log
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import CameraInfo, CompressedImage, Image, JointState

from doubles.recorded_camera import png
from doubles.table_view import CAMERA, INTRINSICS, table_view
from planweave.robots import load_robot
from planweave.simulation.scene import load_scene

FR3 = load_robot()

SAID_BEFORE = QoSProfile(depth=100, durability=DurabilityPolicy.TRANSIENT_LOCAL)  # also what the log holds already
EXPECTED = [
    *("blue_cube", "green_cube", "left_tray", "orange_cylinder", "purple_cylinder", "red_cube"),
    *("right_tray", "yellow_cube"),
]


def refuse(kind, parameters, code, *data):
    """Make a node of this kind, whose start must fail with an error of this code and data.

    What is left of it goes at once, as else it would take the log of a later node of its name along.
    """
    with raises_code(code, *data):
        kind([Parameter(name, value=value) for name, value in parameters.items()])
    gc.collect()


@functools.cache
def blocks_view(red_cube=(0.47, 0.02)):
    """What the camera sees of the scene `blocks`, which holds EXPECTED; red_cube: its place, None: without it."""
    scene = load_scene("blocks")
    objects = []
    for thing in scene.objects:
        if (thing.kind, thing.colour) == ("cube", "red"):
            if red_cube is None:
                continue
            thing = replace(thing, position=(*red_cube, 0.0))
        objects.append(thing)
    return table_view(replace(scene, objects=tuple(objects)))


class CameraDriver:
    """Publishes what a camera driver and a robot would, and listens to perception."""

    def __init__(self, node, view, qos, compressed=False):
        self.node, self.view, self.stamp = node, view, 0
        self.compressed = compressed
        kind, by = (CompressedImage, ("/compressed", "/compressedDepth")) if compressed else (Image, ("", ""))
        self.colour = node.create_publisher(kind, f"/camera/color/image_raw{by[0]}", qos)
        self.depth = node.create_publisher(kind, f"/camera/aligned_depth_to_color/image_raw{by[1]}", qos)
        self.info = node.create_publisher(CameraInfo, "/camera/color/camera_info", qos)
        self.joints = node.create_publisher(JointState, "/joint_states", 10)
        self.heard, self.log = [], []
        self._lock = threading.Lock()
        node.create_subscription(DetectedObjects, "/perception/detected_objects", self.heard.append, 10)
        node.create_subscription(Log, "/rosout", lambda m: self.log.append(m.msg), SAID_BEFORE)

    def ready(self):
        """Whether all are connected both ways."""
        publishers = (self.colour, self.depth, self.info, self.joints)
        return all(p.get_subscription_count() for p in publishers) and self.node.count_publishers(
            "/perception/detected_objects"
        )

    def image(self, array, encoding, frame_id):
        array = np.ascontiguousarray(array)
        if self.compressed:
            form, data = png(array, encoding)
            return self.stamped(CompressedImage(format=form, data=data.tobytes()), frame_id)
        message = Image(height=array.shape[0], width=array.shape[1], encoding=encoding, step=array.strides[0])
        message.data = array.tobytes()
        return self.stamped(message, frame_id)

    def stamped(self, message, frame_id=CAMERA.frame_id):
        message.header.stamp, message.header.frame_id = Time(sec=self.stamp, nanosec=123), frame_id
        return message

    def state(self, moving=0.0, parts=([*FR3.joint_names, *FR3.gripper.joints],), **other):
        """The joint states, in a message for each list of joints; other: positions in place of the robot's."""
        robot = self.view.robot
        at = {**dict(zip(FR3.joint_names, robot.joints)), **dict.fromkeys(FR3.gripper.joints, robot.width / 2), **other}
        for names in parts:
            message = JointState(
                name=names,
                position=[at[name] for name in names],
                velocity=[moving if name in FR3.joint_names else 0.0 for name in names],
            )
            self.joints.publish(self.stamped(message, FR3.base))

    def frame(self, rgb=None, depth=None, *, millimetres=False, robot=True, encoding="rgb8", frame_id=CAMERA.frame_id):
        """One set of all three, with a new stamp; returns the stamp."""
        self.stamp += 1
        rgb = self.view.rgb if rgb is None else rgb
        depth = self.view.depth if depth is None else depth
        if robot:
            self.state()
        k = INTRINSICS
        info = CameraInfo(height=CAMERA.height, width=CAMERA.width, k=[k.fx, 0.0, k.cx, 0.0, k.fy, k.cy, 0.0, 0.0, 1.0])
        self.info.publish(self.stamped(info))
        self.colour.publish(self.image(rgb, encoding, frame_id))
        if millimetres:
            self.depth.publish(self.image(np.round(depth * 1000).astype(np.uint16), "16UC1", frame_id))
        else:
            self.depth.publish(self.image(depth.astype(np.float32), "32FC1", frame_id))
        return self.stamp

    def answer(self, stamp):
        """The message of that frame, if it has come."""
        return next((m for m in list(self.heard) if m.header.stamp.sec == stamp), None)

    def said(self, words):
        """Whether the log holds these words."""
        return any(words in line for line in list(self.log))


def look(camera, spin_until, times=2, **frame):
    """Send frames one by one; the last answer."""
    for _ in range(times):
        stamp = camera.frame(**frame)
        answer = spin_until(lambda s=stamp: camera.answer(s), 20.0, f"the objects of frame {stamp}")
    return answer

"""perception_node: RGB-D images in, named objects out. Callbacks store; a worker thread sees."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Sequence
from typing import Any

import cv2
from builtin_interfaces.msg import Time
from planweave_interfaces.msg import DetectedObject, DetectedObjects
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger

from perception_node.cameras.frame import Frame
from perception_node.cameras.ros_topics import COLOUR, DEPTH, INFO, RawImage, RawInfo, RosTopicsCamera
from perception_node.cloud import FrameError
from perception_node.detectors import DETECTORS
from perception_node.geometry import load_extrinsics
from perception_node.joint_history import JointHistory
from perception_node.perceiver import NamedObject, Perceived, Perceiver
from perception_node.pipeline import Settings
from perception_node.tracking import Rules
from planweave.errors import ConfigError
from planweave.franka import BASE_FRAME
from planweave.paths import find_config
from planweave_ros import conversions as convert
from planweave_ros.parameters import Parameter, declare
from planweave_ros.spin import run_node

PARAMETERS = [
    Parameter("camera", "overhead", "pose of the camera: a name under config/cameras, or the path of a camera file"),
    Parameter("detector", "attributes", "how regions become objects", choices=tuple(DETECTORS)),
    Parameter("topics.colour", "/camera/color/image_raw", "colour images"),
    Parameter(
        "topics.depth", "/camera/aligned_depth_to_color/image_raw", "depth images aligned to colour, with equal stamps"
    ),
    Parameter("topics.info", "/camera/color/camera_info", "camera info of the colour images, with equal stamps"),
    Parameter(
        "reliable_images",
        True,
        "take images reliably (best effort loses many, as each is larger than a packet); false for "
        "a camera driver that publishes best effort only",
    ),
    Parameter("silent_after", 5.0, "seconds of wall time without images before the log says so", 0.1, 3600.0),
    Parameter("robot_filter", True, "leave out what /joint_states says is the robot; false where none is in view"),
    Parameter(
        "table",
        [0.12, 1.0, -0.72, 0.72],
        "x_min, x_max, y_min, y_max in fr3_link0 within which objects are looked for, metres",
    ),
    Parameter("min_height", 0.004, "metres above the table from which on a pixel is no table", 0.001, 0.05),
    Parameter(
        "plane_offset", 0.02, "largest distance in metres of the table as seen from where it should be", 0.001, 0.1
    ),
    Parameter("plane_tilt", 2.0, "largest tilt of the table as seen, degrees", 0.1, 20.0),
    Parameter("tracking.confirm", 2, "frames in a row that make an object real", 1, 100),
    Parameter("tracking.clear_views", 4, "views of its empty place after which an object is gone", 1, 1000),
]
_REPEAT = 10.0  # s of wall time before one complaint is logged again
_JOINT_PATIENCE = 0.3  # s of wall time to wait for the joint state that belongs to an image


class PerceptionNode(Node):
    """Subscribes to the camera and the joint states, publishes /perception/detected_objects after every frame."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("perception_node", parameter_overrides=list(parameter_overrides))
        values = declare(self, PARAMETERS)
        table = tuple(values["table"])
        if len(table) != 4 or not all(map(math.isfinite, table)) or table[0] >= table[1] or table[2] >= table[3]:
            raise ConfigError(
                f"perception_node: table must be [x_min, x_max, y_min, y_max] in metres, not {list(table)}"
            )
        self._extrinsics = load_extrinsics(find_config("cameras", values["camera"]))
        settings = Settings(
            values["detector"], table, values["min_height"], values["plane_offset"], math.radians(values["plane_tilt"])
        )
        rules = Rules(confirm=values["tracking.confirm"], clear_views=values["tracking.clear_views"])
        self._perceiver = Perceiver(self._extrinsics, settings, rules)
        self._filter_robot = bool(values["robot_filter"])
        topics = {
            what: values[f"topics.{name}"] for what, name in ((COLOUR, "colour"), (DEPTH, "depth"), (INFO, "info"))
        }
        self._camera = RosTopicsCamera(topics, values["silent_after"], time.monotonic())
        self._joints = JointHistory()
        self._said: dict[str, float] = {}
        self._complained = False
        self._work = threading.Event()
        self._ended = threading.Event()
        self._forget_asked = threading.Event()
        self._forget_before = -math.inf  # images up to this stamp show the table as it was
        cv2.setNumThreads(1)  # one core is enough, and the other nodes need theirs
        self._publisher = self.create_publisher(DetectedObjects, "/perception/detected_objects", 10)
        reliability = ReliabilityPolicy.RELIABLE if values["reliable_images"] else ReliabilityPolicy.BEST_EFFORT
        images = QoSProfile(depth=2, reliability=reliability)
        self.create_subscription(Image, topics[COLOUR], lambda m: self._image(COLOUR, m), images)
        self.create_subscription(Image, topics[DEPTH], lambda m: self._image(DEPTH, m), images)
        self.create_subscription(CameraInfo, topics[INFO], self._info, images)
        self.create_subscription(JointState, "/joint_states", self._joint_state, 10)
        self.create_service(Trigger, "/perception/forget", self._forget)
        self.create_timer(min(1.0, values["silent_after"] / 4), self._check_camera)
        self._worker = threading.Thread(target=self._run, name="perception", daemon=True)
        self._worker.start()

    def destroy_node(self) -> None:
        """Stop the worker, then the node."""
        self._ended.set()
        self._work.set()
        self._worker.join(5.0)
        super().destroy_node()

    def _image(self, what: str, msg: Image) -> None:
        raw = RawImage(
            msg.header.frame_id,
            msg.height,
            msg.width,
            msg.encoding,
            msg.step,
            memoryview(msg.data),
            bool(msg.is_bigendian),
        )
        self._add(what, msg.header.stamp, raw)

    def _info(self, msg: CameraInfo) -> None:
        self._add(INFO, msg.header.stamp, RawInfo(tuple(float(v) for v in msg.k), msg.height, msg.width))

    def _add(self, what: str, stamp: Time, raw: RawImage | RawInfo) -> None:
        if self._camera.add(what, stamp.sec * 1_000_000_000 + stamp.nanosec, raw, time.monotonic()):
            self._work.set()

    def _joint_state(self, msg: JointState) -> None:
        missing = self._joints.add(
            convert.time_from_msg(msg.header.stamp),
            dict(zip(msg.name, msg.position)),
            dict(zip(msg.name, msg.velocity)),
        )
        if missing and not self._joints:
            self._say(f"/joint_states lacks {', '.join(missing)}; the robot cannot be told from objects without them")

    def _forget(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Somebody rearranged the table: what is remembered but not in view is no longer to be trusted."""
        self._forget_before = self._joints.newest
        self._forget_asked.set()
        response.success, response.message = True, "objects are looked for anew from the next image on"
        return response

    def _check_camera(self) -> None:
        complaint = self._camera.complaint(time.monotonic())
        if complaint:
            self._complained = True
            self._say(complaint)
        elif self._complained:
            self._complained = False
            self.get_logger().info("the camera gives images again")

    def _run(self) -> None:
        """The worker: the newest frame, one after the other, until the node ends."""
        while not self._ended.is_set():
            self._work.wait()
            self._work.clear()
            if self._ended.is_set():
                return
            try:
                frame = self._camera.take()
                if frame is not None:
                    self._see(frame)
            except FrameError as error:
                self._say(f"frame left out: {error}")
            except Exception as error:  # a frame that breaks the pipeline must not end perception
                self._say(f"frame left out, please report this: {type(error).__name__}: {error}")

    def _see(self, frame: Frame) -> None:
        if frame.frame_id != self._extrinsics.frame_id:
            self._say(
                f"the images are in frame {frame.frame_id!r}, but the camera file gives the pose of "
                f"{self._extrinsics.frame_id!r}; objects may be misplaced"
            )
        robot = None
        if self._filter_robot:
            robot = self._joints.at(frame.stamp, _JOINT_PATIENCE)
            if robot is None and not self._joints:
                raise FrameError(
                    "no /joint_states yet, so the robot cannot be told from objects; start the robot's driver or the "
                    "simulation, or set robot_filter to false where no robot is in view"
                )
            if robot is None:
                return  # in fast motion; the next image of a slower robot will do
        if self._forget_asked.is_set():
            if frame.stamp <= self._forget_before:
                return  # an image from before the change
            self._forget_asked.clear()
            self._perceiver.tracker.reset()
        start = time.monotonic()
        result = self._perceiver.process(frame.stamp, frame.rgb, frame.depth, frame.intrinsics, robot)
        if not self._ended.is_set():
            self._publisher.publish(result_to_msg(result, frame.nanoseconds))
            self.get_logger().debug(f"{len(result.objects)} objects in {(time.monotonic() - start) * 1e3:.0f} ms")

    def _say(self, text: str) -> None:
        """Log a warning, but the same one at most every ten seconds."""
        now = time.monotonic()
        key = text[:60]
        if now - self._said.get(key, -math.inf) >= _REPEAT:
            self._said[key] = now
            self.get_logger().warning(text)


def result_to_msg(result: Perceived, nanoseconds: int) -> DetectedObjects:
    """All tracked objects as a message, with the exact stamp of the image."""
    stamp = Time(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)
    return DetectedObjects(
        header=Header(stamp=stamp, frame_id=BASE_FRAME),
        objects=[_object_to_msg(o) for o in result.objects],
        occluded_pixels=result.occluded_pixels,
    )


def _object_to_msg(tracked: NamedObject) -> DetectedObject:
    thing = tracked.thing
    orientation = (0.0, 0.0, math.sin(thing.yaw / 2), math.cos(thing.yaw / 2))
    return DetectedObject(
        id=tracked.id,
        name=tracked.name,
        class_name=thing.class_name,
        colour=thing.colour,
        shape=thing.shape,
        confidence=thing.confidence,
        visible=tracked.visible,
        pose=convert.pose_to_msg(thing.position, orientation),
        size=convert.size_to_msg(thing.size),
    )


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    return run_node(PerceptionNode, args, threads=2)


if __name__ == "__main__":
    raise SystemExit(main())

"""perception_node: RGB-D images in, named objects out. Callbacks store; a worker thread sees and publishes."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import cv2
import numpy as np
from geometry_msgs.msg import Point
from planweave_interfaces.msg import DetectedObject, DetectedObjects, SceneChanges
from planweave_interfaces.srv import LookFor
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Header
from std_srvs.srv import Trigger
from visualization_msgs.msg import Marker, MarkerArray

from perception_node.parameters import PARAMETERS
from planweave.core.base.errors import ActionFailureError, ConfigError, PlanweaveError
from planweave.core.base.failure import Code
from planweave.core.base.health import Level, Report, heard
from planweave.core.base.memory import keep_free_heap
from planweave.core.symbolic.domain import Domain
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.perception.calibration import Extrinsics, load_extrinsics
from planweave.perception.cameras import open_realsense, open_recording
from planweave.perception.cameras.companions import KEPT, Companion, Companions
from planweave.perception.cameras.frame import Camera, Frame
from planweave.perception.cameras.realsense import Stream
from planweave.perception.cameras.ros_topics import COLOUR, DEPTH, INFO, RosTopicsCamera, compressed_instead
from planweave.perception.changes import ChangeDetector
from planweave.perception.decoding import FrameError
from planweave.perception.depth_views import DepthView
from planweave.perception.detectors import is_open_vocabulary, make_detector
from planweave.perception.drawing import annotate, box_in_image
from planweave.perception.geometry import Pose, Projector
from planweave.perception.joint_history import JointHistory
from planweave.perception.markers import MarkerShape, as_objects, shapes
from planweave.perception.perceiver import NamedObject, Perceived, Perceiver
from planweave.perception.pipeline import PipelineLimits, table_offset
from planweave.perception.robot_filter import RobotState
from planweave.perception.tracking import Rules
from planweave.perception.vision_names import class_names
from planweave.perception.vocabulary import Vocabulary
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave_ros import conversions as convert
from planweave_ros.camera_topics import camera_topics, subscribe, topic_prefixes
from planweave_ros.diagnostics import Check, publish_diagnostics
from planweave_ros.fixture_messages import fixture_to_msg, seen_to_msg
from planweave_ros.lifecycle import ManagedNode
from planweave_ros.pictures import camera_info_to_msg, image_to_msg, marker_to_msg
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.spin import run_node
from planweave_ros.transforms import TransformError, Transforms

_REPEAT = 10.0  # s of wall time before one complaint is logged again
# s of wall time to wait for the joint state, or the transform, that belongs to an image: a robot at rest may tell its
# state as rarely as the simulation does (`rest_rate`), and a busy machine tells it later.
_JOINT_PATIENCE = 1.0
_DEAF = 90.0  # s without images that are published and came before, after which only a new process may hear them
_FORGET_PATIENCE = 3.0  # s of wall time for images to show, after forgetting, what is there
_TF2 = "tf2:"
_MOMENT, _STANDS = 0.1, 2e-3  # s and rad: a robot stands that moved less within that time
_HEAP = 8 << 20  # bytes of heap that an image needs
_FIXTURE_IDS = 1_000_000  # ids of furniture begin here; those of tracks are smaller


class PerceptionNode(ManagedNode):
    """Processes a camera's images with the joint states, and publishes /perception/detected_objects after every frame.

    Inactive, it publishes nothing.
    """

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("perception_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        """Load the detector and the camera's pose, and open the cameras."""
        self._work, self._ended, self._frames = threading.Event(), threading.Event(), threading.Condition()
        table = tuple(values["table"])
        if len(table) != 4 or not all(map(math.isfinite, table)) or table[0] >= table[1] or table[2] >= table[3]:
            raise ConfigError(
                f"perception_node: table must be [x_min, x_max, y_min, y_max] in metres, not {list(table)}"
            )
        self._topics = {
            what: self.resolve_topic_name(values[f"topics.{name}"])
            for what, name in ((COLOUR, "colour"), (DEPTH, "depth"), (INFO, "info"))
        }
        self._filter_robot = bool(values["robot_filter"])
        self._camera_name = values["camera"]
        self._robot = load_robot(values["robot_type"])
        self._base_frame = str(values["base_frame"]) or self._robot.base
        self._transforms: Transforms | None = None
        self._extrinsics = self._find_extrinsics(values["camera"], values["camera_frame"])
        settings = PipelineLimits(
            table,
            values["plane_offset"],
            math.radians(values["plane_tilt"]),
            glowing_burners=values["glowing_burners"],
        )
        rules = Rules(min_frames=values["tracking.confirm"], clear_views=values["tracking.clear_views"])
        domain = Domain.load(values["domain"])
        detector = make_detector(
            values["detector"],
            values.get(f"models.{values['detector']}", ""),
            values["min_score"],
            self.get_logger().info,
            values["naming_timeout"],
            class_names(domain),
        )
        vocabulary = Vocabulary([name for name in values["look_for"] if name])
        self._perceiver = Perceiver(self._extrinsics, settings, rules, detector, vocabulary, domain)
        self._changes = ChangeDetector(values["changes.distance"])
        self._joints = JointHistory(robot=self._robot)
        self._said: dict[str, float] = {}
        self._complained = self._table_told = False
        self._shapes: tuple[MarkerShape, ...] | None = None
        self._message = DetectedObjects()  # the last one
        self._message_of: Projector | None = None  # of its image
        self._frame_at = self._joints_at = -math.inf  # time.monotonic() when the last one came
        self._forget_asked = threading.Event()
        self._forget_before = -math.inf  # images up to this stamp show the table as it was
        self._newest = self._settled = -math.inf  # stamps of images: the newest seen, the newest that left no doubts
        cv2.setNumThreads(1)  # one core is enough, and the other nodes need theirs
        keep_free_heap(_HEAP)
        self._publisher = self.create_publisher(DetectedObjects, "perception/detected_objects", 10)
        self._change_publisher = self.create_publisher(SceneChanges, "perception/changes", 10)
        self._annotated = self.create_publisher(Image, "perception/image_annotated", 2)
        self._markers = self.create_publisher(MarkerArray, "perception/markers", TRANSIENT_LOCAL)
        self._images: dict[str, Any] = {}  # publishers of the camera's topics, where no driver publishes them
        self._joint_topic = self.resolve_topic_name("joint_states")
        self.create_subscription(JointState, "joint_states", self._joint_state, 10)
        waiting = MutuallyExclusiveCallbackGroup()  # its answer waits for images
        self.create_service(Trigger, "perception/forget", self._forget, callback_group=waiting)
        self._frames_told = 0  # in a row, after which no name was still to come
        self._look_for_timeout, self._naming_timeout = values["look_for_timeout"], values["naming_timeout"]
        self._frames_to_tell = values["tracking.confirm"] + 1  # one may have been in progress
        if is_open_vocabulary(values["detector"]):  # the others have nothing to be told
            alone = MutuallyExclusiveCallbackGroup()  # its answer waits for images
            self.create_service(LookFor, "perception/look_for", self._look_for, callback_group=alone)
        self._camera, self._companions = self._open_cameras(values)
        self._watch = self.create_timer(min(1.0, values["silent_after"] / 4), self._check_camera)
        self._worker = threading.Thread(target=self._run, args=(self._ended,), name="perception", daemon=True)
        self._worker.start()
        self.on_release(self._end)
        checks: dict[str, Check] = {"camera": partial(self._camera_report, values["silent_after"])}
        if self._filter_robot:
            checks["joint states"] = lambda: heard(
                "joint states", time.monotonic() - self._joints_at, values["silent_after"]
            )
        publish_diagnostics(self, checks)

    def _end(self) -> None:
        """Stop the worker."""
        self._ended.set()
        self._work.set()
        with self._frames:
            self._frames.notify_all()
        self._worker.join(5.0)

    def _find_extrinsics(self, name: str, camera_frame: str = "") -> Extrinsics:
        """Pose of a camera; one from tf2 is looked up for every frame."""
        if name.startswith(_TF2):
            frame = name.removeprefix(_TF2)
            self._transforms = Transforms(self, self._base_frame, frame)
            return Extrinsics(frame, Pose(np.eye(3), np.zeros(3)))
        extrinsics = load_extrinsics(name, self._robot)
        if not extrinsics.fixed and not self._filter_robot:
            raise ConfigError(
                f"perception_node: the camera {name} is on {extrinsics.parent}, so its place needs the joint states; "
                "set robot_filter to true"
            )
        return replace(extrinsics, frame_id=camera_frame) if camera_frame else extrinsics

    def _open_cameras(self, values: dict[str, Any]) -> tuple[Camera, Companions]:
        """The camera, and the further ones, from the configured source."""
        source, names = values["source"], [values["camera"], *filter(None, values["cameras"])]
        serials = [values["realsense.serial"] or self._serial(names[0]), *map(self._serial, names[1:])]
        if len(names) > 1 and source == "bag":
            raise ConfigError(
                "perception_node: source bag has one camera; play the bag with ros2 bag play, source topics"
            )
        if len(names) > 1 and source == "realsense" and len({*serials, ""}) <= len(names):
            raise ConfigError("perception_node: of several RealSense cameras each file must have its own serial")
        companions, images = Companions(), self._image_qos(values)
        if source != "topics":
            for what, kind in ((COLOUR, Image), (DEPTH, Image), (INFO, CameraInfo)):
                self._images[what] = self.create_publisher(kind, self._topics[what], images)

        def opened(
            prefix: str, serial: str, frame_id: str, topics: dict[str, str], arrived: Callable[[], None], kept: int = 1
        ) -> Camera:
            if source == "topics":
                camera = RosTopicsCamera(topics, values["silent_after"], time.monotonic(), kept)
                subscribe(self, camera, topics, images, arrived, prefix)
                return camera
            if source == "bag":
                return open_recording(values["bag.path"], values["bag.loop"], topics, frame_id, arrived)
            stream = Stream(serial, *(values[f"realsense.{key}"] for key in ("width", "height", "fps")))
            return open_realsense(stream, frame_id, arrived, values["silent_after"])

        first = opened("camera", serials[0], self._extrinsics.frame_id, self._topics, self._work.set)
        self.on_release(first.close)
        found = []
        for name, serial, prefix in zip(names[1:], serials[1:], topic_prefixes(names)[1:]):
            pose = self._find_extrinsics(name)
            topics = {what: self.resolve_topic_name(topic) for what, topic in camera_topics(prefix).items()}
            camera = opened(prefix, serial, pose.frame_id, topics, companions.arrived.set, KEPT)
            self.on_release(camera.close)
            found.append(Companion(prefix, camera, pose))
        companions.cameras = tuple(found)
        return first, companions

    def _serial(self, name: str) -> str:
        return "" if name.startswith(_TF2) else load_camera(name, self._robot).serial

    @staticmethod
    def _image_qos(values: dict[str, Any]) -> QoSProfile:
        reliability = ReliabilityPolicy.RELIABLE if values["reliable_images"] else ReliabilityPolicy.BEST_EFFORT
        return QoSProfile(depth=2, reliability=reliability)

    def _joint_state(self, msg: JointState) -> None:
        self._joints_at = time.monotonic()
        self._joints.add(convert.time_from_msg(msg.header.stamp), dict(zip(msg.name, msg.position)))

    def _forget(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        """Reset the tracker after the table was rearranged; responds once new images have been processed."""
        before = self._forget_before = max(self._joints.newest, self._newest)
        self._forget_asked.set()
        with self._frames:
            known = self._frames.wait_for(lambda: self._settled > before or self._ended.is_set(), _FORGET_PATIENCE)
        response.success, response.message = True, "objects were looked for anew"
        if not known:
            response.message = (
                f"objects are looked for anew from the next image on; none came in {_FORGET_PATIENCE:g} s, or they did "
                "not agree on what is there"
            )
        return response

    def _look_for(self, request: LookFor.Request, response: LookFor.Response) -> LookFor.Response:
        """Names for open-vocabulary detectors, answered once images were seen with them; or what is wrong with them."""
        if self.why_idle:
            raise ActionFailureError(self.why_idle, Code.NOT_STARTED)
        vocabulary = self._perceiver.vocabulary
        before = vocabulary.names
        response.success, response.message = True, vocabulary.look_for(list(request.names))
        if (vocabulary.names != before or self._perceiver.naming) and self._look_for_timeout:
            done = lambda: self._frames_told >= self._frames_to_tell or self._ended.is_set()  # noqa: E731
            with self._frames:
                self._frames_told = 0
                seen = self._frames.wait_for(done, self._look_for_timeout)
                if asked := not seen and self._perceiver.naming:  # the model has its own time
                    seen = self._frames.wait_for(done, self._naming_timeout)
            if not seen:
                missed = "no names came" if asked else "too few images came"
                limit = self._naming_timeout if asked else self._look_for_timeout
                response.message += f"; {missed} in {limit:g} s to say what is there"
        return response

    def _check_camera(self) -> None:
        if self._camera.ended:
            self.get_logger().info("the recording is over; parameter bag.loop plays it again and again")
            self._watch.cancel()
            return
        now = time.monotonic()
        complaint = self._camera.complaint(now) or next(
            (f"camera {c.name}: {said}" for c in self._companions.cameras if (said := c.camera.complaint(now))), ""
        )
        if complaint:
            self._complained = True
            self._say(f"{complaint}{compressed_instead(self._topics, self.count_publishers)}")
        elif self._complained:
            self._complained = False
            self.get_logger().info("the camera gives images again")
        lost = now - self._frame_at
        if _DEAF < lost < math.inf and not self._images and self.count_publishers(self._topics[COLOUR]):
            self.ends_because = (
                f"no images for {lost:.0f} s where some came before, though {self._topics[COLOUR]} is published: "
                "the middleware may have lost this process when a publisher was killed or stopped"
            )
            self.finalized()

    def _camera_report(self, longest: float) -> Report:
        report = heard(
            "images", time.monotonic() - self._frame_at, longest, "the recording is over" if self._camera.ended else ""
        )
        if report.level is not Level.OK:
            return replace(report, message=self._camera.complaint(time.monotonic()) or report.message)
        return replace(report, level=Level.WARN, message=self.why_idle) if self.why_idle else report

    def _run(self, ended: threading.Event) -> None:
        """The worker: the newest frame, one after the other, until it is ended."""
        while not ended.is_set():
            self._work.wait()
            self._work.clear()
            if ended.is_set():
                return
            try:
                frame = self._camera.take()
                if frame is not None:
                    self._frame_at = time.monotonic()
                if frame is not None and self.active:
                    self._see(frame)
            except PlanweaveError as error:
                self._say(f"frame left out: {error}")
            except Exception as error:  # a frame that breaks the pipeline must not end perception
                self._say(f"frame left out, please report this: {type(error).__name__}: {error}")

    def _see(self, frame: Frame) -> None:
        if frame.frame_id != self._extrinsics.frame_id:
            self._say(
                f"the images are in frame {frame.frame_id!r}, but the camera file gives the pose of "
                f"{self._extrinsics.frame_id!r}; objects may be misplaced"
            )
        if self._images:
            self._publish_camera(frame)
        robot = None
        if self._filter_robot:
            robot = self._joints.at(frame.stamp, _JOINT_PATIENCE)
            if robot is None and (problem := self._joints.problem):
                raise FrameError(
                    f"{problem} on {self._joint_topic}, so the robot cannot be masked out; is it the topic of this "
                    f"robot ({self._robot.name}, parameter robot_type), with arm and gripper?"
                )
            if robot is None and not self._joints:
                raise FrameError(
                    f"nothing on {self._joint_topic} yet, so the robot cannot be masked out; start the robot's "
                    "driver or the simulation, or set robot_filter to false where no robot is in view"
                )
            if robot is None:
                behind = frame.stamp - self._joints.newest
                if behind > 0.0:
                    raise FrameError(
                        f"the newest on {self._joint_topic} is {behind:.1f} s older than the image and no other came "
                        f"in {_JOINT_PATIENCE:g} s, so nobody knows where the robot was: is its driver or the "
                        "simulation still running, with the same clock as the camera?"
                    )
                return  # in fast motion; the next image of a slower robot will do
        if self._forget_asked.is_set():
            if frame.stamp <= self._forget_before:
                return  # an image from before the change
            self._forget_asked.clear()
            self._perceiver.forget()
        if self._transforms is not None:
            try:
                position, quaternion = self._transforms.pose(frame.nanoseconds, _JOINT_PATIENCE)
            except TransformError as error:
                raise FrameError(str(error)) from None
            pose = Pose(rotation_from_quaternion(*quaternion), np.array(position))
            self._perceiver.pipeline.extrinsics = Extrinsics(self._extrinsics.frame_id, pose)
        start = time.monotonic()
        way = self._joints.between(self._perceiver.stamp, frame.stamp) if robot is not None else ()
        sides = self._side_views(frame, robot)
        result = self._perceiver.process(frame.stamp, frame.rgb, frame.depth, frame.intrinsics, robot, way, sides)
        for problem in result.problems:
            self._say(problem)
        if not self._ended.is_set():
            self._publish_objects(result, frame.nanoseconds)
            self._publish_views(frame, result)
            with self._frames:
                self._frames_told = 0 if self._perceiver.naming else self._frames_told + 1
                self._newest = frame.stamp
                if not self._perceiver.deciding and not self._forget_asked.is_set():
                    self._settled = frame.stamp
                self._frames.notify_all()
            self.get_logger().debug(f"{len(result.objects)} objects in {(time.monotonic() - start) * 1e3:.0f} ms")

    def _publish_objects(self, result: Perceived, nanoseconds: int) -> None:
        """Publish all objects; where the image was as before and not looked at, the message of that one."""
        if result.projector is not self._message_of:  # each image that was looked at has its own
            self._message_of, self._message = result.projector, result_to_msg(result, nanoseconds, self._base_frame)
        self._message.header.stamp = convert.stamp_to_msg(nanoseconds)
        self._publisher.publish(self._message)

    def _side_views(self, frame: Frame, robot: RobotState | None) -> list[DepthView] | None:
        """What the further cameras show at the moment of a frame; what is wrong with the others is said. None while the
        robot moves.
        """
        if robot is not None:  # a simulator faster than real time has no state of its own within that moment
            before = self._joints.at(frame.stamp - _MOMENT)
            if before is None or any(abs(a - b) > _STANDS for a, b in zip(before.joints, robot.joints)):
                return None
        if not self._companions.cameras:
            return []
        found, problems = self._companions.at(frame.stamp)
        for problem in problems:
            self._say(problem)
        return [
            DepthView(
                each.name,
                its.rgb,
                its.depth,
                its.intrinsics,
                # of its own moment: the arm may have begun to move
                each.extrinsics.camera_to_base(robot and (self._joints.at(its.stamp) or robot)),
                carried=not each.extrinsics.fixed,
            )
            for each, its in found
        ]

    def _publish_views(self, frame: Frame, result: Perceived) -> None:
        """Publish changes, and the views for people, drawn only where they differ or have a subscriber."""
        header = Header(stamp=convert.stamp_to_msg(frame.nanoseconds), frame_id=self._base_frame)
        changes = self._changes.update(result.objects)
        if changes:
            names = {what: list(found) for what, found in vars(changes).items()}
            self._change_publisher.publish(SceneChanges(header=header, **names))
        objects = [*result.objects, *as_objects(result.fixtures, _FIXTURE_IDS)]
        drawn = shapes(objects)
        if drawn != self._shapes:
            self._shapes = drawn
            # All anew, so that viewers that missed a message, or knew an earlier node, keep nothing that is gone.
            clear = Marker(header=Header(frame_id=self._base_frame), action=Marker.DELETEALL)
            markers = [marker_to_msg(shape, self._base_frame) for shape in drawn]
            self._markers.publish(MarkerArray(markers=[clear, *markers]))
        if self._annotated.get_subscription_count():
            picture = annotate(frame.rgb, objects, result.projector, result.problems)
            header = Header(stamp=header.stamp, frame_id=frame.frame_id)
            self._annotated.publish(image_to_msg(picture, "rgb8", header))
        if result.plane is not None and not self._table_told:
            self._table_told = True
            offset = table_offset(result.plane, self._perceiver.pipeline.settings.table)
            self.get_logger().info(
                f"the table is seen {offset * 1000:+.1f} mm and {math.degrees(result.plane.tilt):.2f} degrees off "
                f"where the camera's pose ({self._camera_name}) puts it"
            )

    def _publish_camera(self, frame: Frame) -> None:
        """The images of a camera in this process, on the topics that a driver would use, where someone listens."""
        header = Header(stamp=convert.stamp_to_msg(frame.nanoseconds), frame_id=frame.frame_id)
        for what, make in (
            (COLOUR, lambda: image_to_msg(frame.rgb, "rgb8", header)),
            (DEPTH, lambda: image_to_msg(frame.depth, "32FC1", header)),
            (INFO, lambda: camera_info_to_msg(frame.intrinsics, header)),
        ):
            if self._images[what].get_subscription_count():
                self._images[what].publish(make())

    def _say(self, text: str) -> None:
        """Log a warning, but the same one at most every ten seconds."""
        now = time.monotonic()
        key = text[:60]
        if now - self._said.get(key, -math.inf) >= _REPEAT:
            self._said[key] = now
            self.get_logger().warning(text)


def result_to_msg(result: Perceived, nanoseconds: int, base_frame: str) -> DetectedObjects:
    """All tracked objects as a message, with the exact stamp of the image."""
    return DetectedObjects(
        header=Header(stamp=convert.stamp_to_msg(nanoseconds), frame_id=base_frame),
        objects=[
            *(_object_to_msg(o, result) for o in result.objects),
            *(fixture_to_msg(fixture, _FIXTURE_IDS + k) for k, fixture in enumerate(result.fixtures)),
        ],
        occluded_pixels=result.occluded_pixels,
        camera=[Point(**dict(zip("xyz", result.projector.camera_to_frame.translation.tolist())))],
    )


def _object_to_msg(tracked: NamedObject, result: Perceived) -> DetectedObject:
    box = box_in_image(tracked.thing, result.projector) or (0, 0, 0, 0)
    return seen_to_msg(tracked.seen(), tracked.id, tracked.thing.confidence, box)


def main(args: Sequence[str] | None = None) -> int:
    """Entry point of the console script."""
    return run_node(PerceptionNode, args, threads=3)


if __name__ == "__main__":
    raise SystemExit(main())

"""simulation_node: the simulated arm, table and camera, with the ROS interfaces of the real ones."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from geometry_msgs.msg import Pose, PoseArray
from planweave_interfaces.srv import Intervene, LoadScene, RecordVideo
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_srvs.srv import Trigger

from planweave.core.base.errors import ConfigError, PlanweaveError, SceneError
from planweave.core.base.memory import no_mesh_cache
from planweave.robots import load_robot
from planweave.robots.camera_file import load_camera
from planweave.simulation.camera import DepthNoise, OverheadCamera, RgbdFrame
from planweave.simulation.camera_thread import CameraThread
from planweave.simulation.intervention import InterventionMoment, read_intervention
from planweave.simulation.mujoco_model import build_model, camera_name
from planweave.simulation.offscreen import choose_gl
from planweave.simulation.recorder import VideoRecorder
from planweave.simulation.robot_description import RobotLink, links_of, urdf
from planweave.simulation.runner import Runner
from planweave.simulation.scene import load_scene
from planweave.simulation.simulator import Simulator
from planweave_ros.camera_topics import topic_prefixes
from planweave_ros.conversions import pose_to_msg, time_to_msg
from planweave_ros.frames import FramePublisher
from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import declare, refuse_unknown
from planweave_ros.scenes import RunningTasks
from planweave_ros.spin import run_node
from simulation_node.camera_topics import CameraTopics
from simulation_node.controllers import ArmController, GripperController
from simulation_node.parameters import PARAMETERS

_STILL = 0.45  # s of wall time between words on a scene in which nothing has moved for a while
# Images of three cameras at once do not fit into DDS's shared memory (config/fastdds.xml), and the first of them were
# lost where the reader had no core at once.
_APART = 0.02  # s between the images of two cameras
_BURST = 12  # images at full speed after a change of the scene, so that trackers settle soon


class SimulationNode(GuardedNode):
    """The arm's and the hand's controllers; joint states, clock and images; services to load, reset and record."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("simulation_node", parameter_overrides=list(parameter_overrides))
        self._gone = threading.Event()  # before anything that may be refused: the node is destroyed then, too
        choose_gl()
        self._values = values = declare(self, PARAMETERS)
        refuse_unknown(self)
        if values["real_time_factor"] and values["real_time_factor"] < 0.01:
            raise ConfigError("simulation_node: real_time_factor must be 0 or at least 0.01")
        self._robot = robot = load_robot(values["robot_type"])
        self._joint_names = [*robot.joint_names, *robot.gripper.joints]
        self._prefix = str(values["frame_prefix"])
        names = [values["camera"], *filter(None, values["cameras"])]
        self._camera_configs = [load_camera(name) for name in names]
        self._camera_configs = [replace(c, frame_id=self._prefix + c.frame_id) for c in self._camera_configs]
        prefixes = topic_prefixes(names)
        self._owed_image = False
        self._camera_on = True
        self._stated = -1.0  # simulated time of the last joint state
        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._clock_out = self.create_publisher(Clock, "clock", QoSProfile(depth=10))
        # The truth, for measuring and for tests; nothing that acts listens to it.
        self._truth = self.create_publisher(PoseArray, "simulation/object_poses", 10)
        self._true_parts = self.create_publisher(JointState, "simulation/furniture_states", 10)
        self._cameras = [
            CameraTopics(self, prefix, camera, self._publish) for prefix, camera in zip(prefixes, self._camera_configs)
        ]

        simulator = self._make_simulator(values["scene"])
        links = links_of(simulator.model, robot)
        self._moving_links = [link for link in links if link.kind != "fixed"]
        self._frames = FramePublisher(self, urdf(links, robot), self._fixed_frames(links))
        self._recorder = VideoRecorder(
            values["video.width"],
            values["video.height"],
            values["video.max_frames"],
            values["video.patience"],
        )
        self._imaged = 0.0  # wall time of the last image
        self._burst = 0  # images still to be rendered one right after the other
        self._images = CameraThread(self._make_cameras, self._publish_images, self._error)
        self._runner = Runner(
            simulator,
            real_time_factor=values["real_time_factor"],
            state_rate=values["joint_state_rate"],
            rest_rate=values["rest_rate"],
            on_state=self._publish_state,
            on_chunk=self._after_chunk,
            on_error=self._error,
        )
        try:
            self._images.use(simulator.model)
        except PlanweaveError:
            self._images.close()
            raise
        self._arm = ArmController(self, self._runner, robot)
        self._hand = GripperController(self, self._runner, robot)
        self._runner.start()

        self._tasks = RunningTasks(self)
        scenes, video = MutuallyExclusiveCallbackGroup(), MutuallyExclusiveCallbackGroup()
        self.create_service(Trigger, "simulation/reset", self._reset, callback_group=scenes)
        self.create_service(LoadScene, "simulation/load_scene", self._load, callback_group=scenes)
        self.create_service(Intervene, "simulation/intervene", self._intervene, callback_group=scenes)
        self.create_service(RecordVideo, "simulation/record", self._record, callback_group=video)
        self.create_timer(1.0 / values["image_rate"], self._tick)
        self.get_logger().info(f"scene {simulator.scene.name}: {simulator.scene.description}")

    def _fixed_frames(self, links: Sequence[RobotLink]) -> list[Any]:
        """Frames that never move, each with its parent, position (m) and quaternion (x, y, z, w)."""
        fixed = [link for link in links[1:] if link.kind == "fixed"]
        cameras = self._camera_configs
        return [
            *((self._prefix + link.parent, self._prefix + link.name, *link.transform()) for link in fixed),
            *((self._prefix + (c.parent or self._robot.base), c.frame_id, c.position, c.quaternion) for c in cameras),
        ]

    def destroy_node(self) -> None:
        """End the threads, then go."""
        self._gone.set()
        for part in ("_runner", "_images", "_recorder"):
            if hasattr(self, part):
                getattr(self, part).close()
        super().destroy_node()

    def _make_simulator(self, scene_name: str) -> Simulator:
        scene = load_scene(scene_name)
        with no_mesh_cache():
            model = build_model(scene, self._camera_configs, self._values["robot_model"] or None, self._robot)
        return Simulator(model, scene, self._robot)

    def _make_cameras(self, model: Any) -> list[OverheadCamera]:
        values = self._values
        noise = DepthNoise(values["depth_noise.sigma"], values["depth_noise.edge"], values["depth_noise.holes"])
        return [
            OverheadCamera(
                model, camera, noise, seed=values["seed"] + k, shadows=values["image_shadows"], name=camera_name(k)
            )
            for k, camera in enumerate(self._camera_configs)
        ]

    def _error(self, text: str) -> None:
        if not self._gone.is_set():
            self.get_logger().error(text)

    def _publish(self, publisher: Any, message: Any) -> None:
        """Publish from a thread of our own, which may outlive the context by a moment at the end.

        DDS may fail for a moment, as where a reader hangs; one message less must not end physics or the camera.
        """
        if self._gone.is_set() or not self.context.ok():
            return
        try:
            publisher.publish(message)
        except Exception as error:
            if self.context.ok() and not self._gone.is_set():
                self.get_logger().error(
                    f"a message on {publisher.topic_name} was lost: {error}", throttle_duration_sec=10.0
                )

    def _publish_state(self, simulator: Simulator, motion_ended: bool) -> None:
        self._stated = simulator.time
        stamp = time_to_msg(simulator.time)
        positions, velocities = simulator.joint_state()
        message = JointState(
            name=self._joint_names,
            position=positions.tolist(),
            velocity=velocities.tolist(),
            effort=simulator.efforts().tolist(),
        )
        message.header.stamp, message.header.frame_id = stamp, self._prefix + self._robot.base
        self._publish(self._clock_out, Clock(clock=stamp))
        self._publish(self._joint_states, message)
        self._arm.tell(simulator)
        if self._frames.wanted:
            at = dict(zip(message.name, message.position))
            self._frames.publish(
                (
                    (self._prefix + link.parent, self._prefix + link.name, *link.transform(at[link.joint]))
                    for link in self._moving_links
                ),
                stamp,
                self._publish,
            )
        if self._truth.get_subscription_count():
            truth = PoseArray(poses=[_pose(simulator, i) for i in range(len(simulator.scene.objects))])
            truth.header.stamp, truth.header.frame_id = stamp, self._prefix + self._robot.base
            self._publish(self._truth, truth)
        if self._true_parts.get_subscription_count():
            names = simulator.fixture_joints()
            parts = JointState(name=list(names), position=list(names.values()))
            parts.header.stamp = stamp
            self._publish(self._true_parts, parts)
        self._owed_image |= motion_ended

    def _after_chunk(self, simulator: Simulator) -> None:
        if self._recorder.due(simulator.time):
            self._recorder.offer(simulator.model, simulator.snapshot())
        if self._owed_image and not simulator.busy:
            # One chunk after the end of the motion, so that the image's stamp is later than the joint
            # state's.
            self._owed_image = False
            if self._watched():
                self._images.request(simulator.model, simulator.snapshot())

    def _watched(self) -> bool:
        return self._camera_on and any(camera.watched for camera in self._cameras)

    def _tick(self) -> None:
        """An image, but of a scene at rest that was seen often enough only now and then: that the camera is there."""
        still = self._runner.resting and self._images.settled
        if not still or time.monotonic() - self._imaged > _STILL:
            self._request_image()

    def _request_image(self) -> None:
        if self._watched():
            with contextlib.suppress(PlanweaveError):
                self._runner.call(self._show)

    def _show(self, simulator: Simulator) -> None:
        """Request a rendering of the present state; in the thread that steps, so that none later was asked for before.
        At rest a joint state of the same stamp goes before, so that nobody waits for one.
        """
        if self._runner.resting and simulator.time > self._stated:
            self._publish_state(simulator, False)
        self._images.request(simulator.model, simulator.snapshot())

    def _publish_images(self, frames: Sequence[RgbdFrame]) -> None:
        if not self._camera_on:
            return
        self._imaged = time.monotonic()
        # The first camera's last: whoever takes its image then has the others.
        new = False
        for camera, frame in reversed(list(zip(self._cameras, frames))):
            if new and self._gone.wait(_APART):
                return
            new = camera.publish(frame) or new
        if not new:
            return
        if self._burst:
            self._burst -= 1
            self._request_image()

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        self._refuse_under_a_task()
        self._runner.call(self._do_reset)
        response.success, response.message = True, "the scene is as it was at the beginning"
        return response

    def _refuse_under_a_task(self) -> None:
        """Raise SceneError where a task would find another world than it started in."""
        problem = self._tasks.problem()
        if problem:
            raise SceneError(f"the scene stays: {problem}")

    def _do_reset(self, simulator: Simulator) -> None:
        simulator.reset()
        self._images.look_anew()
        self._burst = _BURST
        self._camera_on = True
        self._publish_state(simulator, True)

    def _load(self, request: LoadScene.Request, response: LoadScene.Response) -> LoadScene.Response:
        try:
            self._refuse_under_a_task()
            simulator = self._make_simulator(request.scene)
            self._images.use(simulator.model)
            self._runner.call(lambda before: before.reset())  # ends its controllers' goals
            self._runner.replace(simulator)
            self._burst = _BURST
            self._camera_on = True
            self._runner.call(lambda s: self._publish_state(s, True))
        except (PlanweaveError, ValueError) as error:
            response.message, response.code = str(error), getattr(error, "code", SceneError.code)
            self.get_logger().warning(f"scene not loaded: {error}")
            return response
        response.success = True
        response.message = f"scene {simulator.scene.name}: {simulator.scene.description}"
        self.get_logger().info(response.message)
        return response

    def _intervene(self, request: Intervene.Request, response: Intervene.Response) -> Intervene.Response:
        """Execute an intervention, for tests of faults."""
        scene = self._runner.call(lambda s: s.scene)
        what = read_intervention(
            scene,
            request.when,
            request.watch,
            list(request.objects),
            [(p.x, p.y, p.z) for p in request.places],
            list(request.camera),
            list(request.joints),
            list(request.values),
        )
        before = self._runner.call(lambda s: s.intervene(what, self._switch_camera))
        response.success = True
        response.message = (
            "done" if what.when is InterventionMoment.NOW else f"waits for {what.when.value} of object {what.watch}"
        )
        if before is not None:
            response.message += f"; {before.when.value} of object {before.watch} never came and is forgotten"
        return response

    def _switch_camera(self, on: bool) -> None:
        self._camera_on = on

    def _record(self, request: RecordVideo.Request, response: RecordVideo.Response) -> RecordVideo.Response:
        if request.start:
            self._recorder.start(request.frames_per_second)
            self._runner.call(lambda s: self._recorder.offer(s.model, s.snapshot()))
            response.message = "recording"
        else:
            last = self._runner.call(lambda s: (s.model, s.snapshot()))
            done = self._recorder.stop(request.path, last, self._tasks.newest_sentence())
            response.frames = done.frames
            response.message = (
                f"{done.frames} frames of {done.seconds:.1f} s in {', '.join(str(f) for f in done.files)}"
            )
        response.success = True
        return response


def _pose(simulator: Simulator, index: int) -> Pose:
    """Pose of the middle of an object's bottom."""
    (x, y, z), (qw, qx, qy, qz) = (values.tolist() for values in simulator.object_pose(index))
    return pose_to_msg((x, y, z), (qx, qy, qz, qw))


def main() -> int:
    return run_node(SimulationNode)


if __name__ == "__main__":
    raise SystemExit(main())

"""web_node: a web page that shows the robot and its world, and on which people give, approve and stop tasks.

It has no private way into the system: it calls what `planweave run` calls.
"""

from __future__ import annotations

import contextlib
import io
import os
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from planweave_interfaces.msg import (
    ActionTree,
    DetectedObject,
    DetectedObjects,
    PlanPreview,
    TaskStatus,
    WorldState,
)
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import CompressedImage, Image, JointState
from viser.transforms import SO3

from planweave.bodies.arm.arms.base import ArmState
from planweave.bodies.arm.arms.joints import JointStates
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.parameters import ROBOT_TYPE
from planweave.core.base.errors import ConfigError, PlanweaveError
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.page.gate import TOKEN_VARIABLE, Gate
from planweave.page.ghost import Ghost
from planweave.page.moments import Moment, Moments
from planweave.page.panel import Panel
from planweave.page.question_view import Box
from planweave.page.robot_view import RobotView
from planweave.page.server import open_page
from planweave.page.world_view import WorldView
from planweave.robots import load_robot
from planweave_ros import conversions as convert
from planweave_ros.client import Client, tree_rows
from planweave_ros.guarded import GuardedNode
from planweave_ros.parameters import declare, refuse_unknown
from planweave_ros.pictures import rgb_from_msg
from planweave_ros.qos import STATUSES, TRANSIENT_LOCAL
from planweave_ros.spin import run_node
from web_node.parameters import PARAMETERS

_QUESTION = "what do you see?"
_GRASP = 0.04  # m above the base's foot, at which things that lie there are taken
_CAMERAS = ("perception/image_annotated", "camera/color/image_raw")  # the first that is there
_GLANCE = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
"""For pictures: a browser that is slow must not hold up the camera, as a reliable reader would."""


class WebNode(GuardedNode):
    """Subscribes to what is public, and shows it; pictures are asked for only while someone has the page open."""

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("web_node", parameter_overrides=list(parameter_overrides))
        self._ended = False
        values = declare(self, PARAMETERS)
        refuse_unknown(self)
        self._robot = load_robot(values[ROBOT_TYPE.name])
        self._model: str | None = values["robot_model"] or None
        gate = Gate(values["host"], os.environ.get(TOKEN_VARIABLE, ""))
        self._server = open_page(gate, values["port"])
        self._client = Client()
        try:
            self._pictures: list[Any] = []
            self._scene()
            domain = Domain.load(values["domain"])
            self._panel = Panel(
                self._server,
                self._client,
                [domain.example, _QUESTION],
                self._moments,
                self._show,
                lambda: Ghost(self._server, self._make_view, lambda: self._world),
                lambda: self._world,
                domain,
            )
            self._listen(values)
        except BaseException:
            self.destroy_node()
            raise
        host = f"[{values['host']}]" if ":" in values["host"] else values["host"]
        address = f"http://{host}:{self._server.get_port()}" + ("/?token=…" if gate.token else "")
        self.declare_parameter("address", address, ParameterDescriptor(read_only=True, description="of the page"))
        self.get_logger().info(f"the page: {address}")

    def _scene(self) -> None:
        """Ground and light; the robot comes with its first joint states."""
        scene = self._server.scene
        scene.set_up_direction("+z")
        scene.add_light_hemisphere("/sky", intensity=2.0)
        # Without a GPU, reflections and shadows take three quarters of the time of every frame.
        scene.configure_environment_map(None)
        scene.configure_default_lights(enabled=True, cast_shadow=False)
        self._aim(np.zeros(3), np.eye(3))
        self._view: RobotView | None = None
        self._things, self._world = WorldView(scene), World("")
        self._moments = Moments()
        self._past: Moment | None = None  # that the scene shows instead of now
        self._showing = threading.RLock()
        self._joints = JointStates(self._robot)
        self._state: ArmState | None = None
        self._base = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)
        self._drawn = 0.0  # when the robot was moved last (time.monotonic())

    def _aim(self, base: np.ndarray, turn: np.ndarray) -> None:
        """Ground under the robot's base (position in m, rotation matrix), and a camera in front of it."""
        middle = base + turn @ (0.4, 0.0, 0.0)
        self._server.scene.add_grid(
            "/ground",
            width=2.4,
            height=2.4,
            cell_size=0.1,
            section_size=0.6,
            position=(middle[0], middle[1], base[2] - 0.001),
            cell_color=(110, 110, 115),
            section_color=(140, 140, 145),
        )
        camera = self._server.initial_camera
        camera.position, camera.look_at = base + turn @ (1.25, -0.75, 0.85), middle + (0.0, 0.0, 0.12)

    def _listen(self, values: dict[str, Any]) -> None:
        group = MutuallyExclusiveCallbackGroup()
        for topic in values["joint_state_topics"]:
            self.create_subscription(JointState, topic, self._on_joints, 10, callback_group=group)
        self.create_subscription(WorldState, "world_state", self._on_world, TRANSIENT_LOCAL, callback_group=group)
        with contextlib.suppress(ImportError):  # without tf2_msgs the robot's base is the origin
            from tf2_msgs.msg import TFMessage

            self.create_subscription(TFMessage, "tf_static", self._on_frames, TRANSIENT_LOCAL, callback_group=group)
        self.create_subscription(TaskStatus, "task_status", self._on_status, STATUSES, callback_group=group)
        self.create_subscription(ActionTree, "action_tree", self._on_tree, TRANSIENT_LOCAL, callback_group=group)
        self.create_subscription(PlanPreview, "plan_preview", self._on_preview, TRANSIENT_LOCAL, callback_group=group)
        self._frame = 1.0 / values["frame_rate"]
        self._picture_pause, self._pictured = 1.0 / values["picture_rate"], 0.0
        self.create_timer(1.0, self._look_while_watched, callback_group=group)
        self._player = self.create_timer(self._frame, self._play, callback_group=MutuallyExclusiveCallbackGroup())

    # ---- in

    def _on_joints(self, msg: JointState) -> None:
        state = self._joints.add(0.0, msg.name, msg.position, msg.velocity)
        if state is None or not np.isfinite(state.width):
            return
        self._state = state
        self._moments.state(state.positions, state.width)
        if self._pictures and time.monotonic() - self._drawn >= self._frame:
            self._draw()

    def _draw(self) -> None:
        """Move the robot to its newest state; a robot at rest goes on telling it."""
        if self._state is None or self._past is not None:
            return
        self._drawn = time.monotonic()
        if self._view is None:
            self._view = self._make_view("/robot")
            self._view.place(*self._base)
            try:
                self._view.show_reach(*Kinematics(self._view.model, self._robot).reach(_GRASP))
            except ConfigError as error:
                self.get_logger().warning(f"the page shows no reach: {error}")
        with self._showing, self._server.atomic():
            self._view.move(self._state.positions, self._state.width)

    def _make_view(self, root: str, opacity: float | None = None) -> RobotView:
        return RobotView(self._server.scene, self._robot, self._model, root, opacity)

    def _on_preview(self, msg: PlanPreview) -> None:
        self._panel.ghost.preview(convert.preview_from_msg(msg))
        self._play_or_rest()

    def _play(self) -> None:
        self._panel.ghost.tick()

    def _play_or_rest(self) -> None:
        """Play while there is a ghost and someone looks; a timer that does nothing would cost 2 % of a core."""
        playing = bool(self._pictures) and self._panel.ghost.shown
        if playing and self._player.is_canceled():
            self._player.reset()
        elif not playing:
            self._player.cancel()

    def _on_world(self, msg: WorldState) -> None:
        self._world = convert.world_from_msg(msg)
        self._moments.world(self._world)
        self._panel.world(self._world)
        self._show(self._past)

    def _show(self, moment: Moment | None) -> None:
        """Put the scene to a moment of an earlier task, or to now."""
        with self._showing, self._server.atomic():
            changed, self._past = moment is not self._past, moment
            if moment is None:
                self._things.show(self._world)
            elif changed:
                self._things.show(moment.world or World(""))
                if self._view is not None and moment.positions is not None:
                    self._view.move(moment.positions, moment.width)
        if changed and moment is None:
            self._draw()

    def _on_frames(self, msg: Any) -> None:
        """Place the robot's base in the frame of the world, where that is another."""
        for row in msg.transforms:
            if row.child_frame_id == self._robot.base:
                at, turn = row.transform.translation, row.transform.rotation
                self._base = (at.x, at.y, at.z), (turn.w, turn.x, turn.y, turn.z)
                self._aim(np.array(self._base[0]), SO3(np.array(self._base[1])).as_matrix())
                self._panel.ghost.place(*self._base)
                if self._view is not None:
                    self._view.place(*self._base)

    def _on_status(self, msg: TaskStatus) -> None:
        status = convert.status_from_msg(msg)
        self._moments.status(status)
        self._panel.status(status)
        self._play_or_rest()

    def _on_tree(self, msg: ActionTree) -> None:
        self._panel.tree(msg.task_id, tree_rows(msg))

    def _look_while_watched(self) -> None:
        """Subscribe to pictures only while someone has the page open: rendering them costs the simulation much."""
        watched = bool(self._server.get_clients())
        if watched and not self._pictures:
            self._draw()
            camera = next(filter(self.count_publishers, _CAMERAS), _CAMERAS[-1])
            self._pictures = [
                self.create_subscription(Image, camera, lambda msg: self._on_picture(camera, msg), _GLANCE),
                self.create_subscription(DetectedObjects, "perception/detected_objects", self._on_objects, _GLANCE),
                self.create_subscription(CompressedImage, "virtualhome/picture", self._on_plan, TRANSIENT_LOCAL),
            ]
        elif not watched and self._pictures:
            for subscription in self._pictures:
                self.destroy_subscription(subscription)
            self._pictures = []
        self._play_or_rest()

    def _on_picture(self, topic: str, msg: Image) -> None:
        now = time.monotonic()
        if now - self._pictured < self._picture_pause:
            return
        self._pictured = now
        try:
            self._pictured_now(rgb_from_msg(msg), topic)
        except PlanweaveError as error:
            self.get_logger().warning(f"{topic} is not shown: {error}", once=True)

    def _on_objects(self, msg: DetectedObjects) -> None:
        self._panel.question.seen({o.name: box for o in msg.objects if any(box := _box(o))})

    def _on_plan(self, msg: CompressedImage) -> None:
        from PIL import Image as Pictures

        self._pictured_now(np.asarray(Pictures.open(io.BytesIO(bytes(msg.data))).convert("RGB")), "the home")

    def _pictured_now(self, image: NDArray[np.uint8], label: str) -> None:
        self._panel.picture(image, label)
        if self._moments.wants_picture:
            self._moments.picture(image)

    # ---- end

    def destroy_node(self) -> None:
        if not self._ended and hasattr(self, "_client"):  # else a parameter was wrong
            self._ended = True
            self._server.stop()
            self._client.__exit__()
        super().destroy_node()


def _box(thing: DetectedObject) -> Box:
    left, top, right, bottom = map(int, thing.box)
    return left, top, right, bottom


def main() -> int:
    return run_node(WebNode)


if __name__ == "__main__":
    raise SystemExit(main())

"""libero_node: the ROS node of LIBERO's simulated robot, a body that executes actions of the domain `kitchen`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from sensor_msgs.msg import CameraInfo, Image, JointState
from std_msgs.msg import Bool, Header

from libero_node.parameters import PARAMETERS
from planweave.libero.session import LiberoSession
from planweave.perception.geometry import Intrinsics
from planweave_ros.conversions import time_to_msg
from planweave_ros.frames import FixedFrame
from planweave_ros.pictures import camera_info_to_msg, image_to_msg
from planweave_ros.qos import IMAGES, TRANSIENT_LOCAL
from planweave_ros.scenes import SceneServices
from planweave_ros.serve_body import ServingNode
from planweave_ros.spin import run_node


class LiberoNode(ServingNode):
    """One action at a time; simulated time passes only while the robot moves. Worlds are LIBERO's true state, or what
    its cameras show.
    """

    def __init__(self, parameter_overrides: Sequence[Any] = ()) -> None:
        super().__init__("libero_node", PARAMETERS, parameter_overrides)

    def configure(self, values: dict[str, Any]) -> None:
        """Start LIBERO's simulator, and serve its robot."""
        self._values = values
        self.body = LiberoSession(values["scene"], view=values["view"])
        self.on_release(self.body.close)
        self._joint_states = self.create_publisher(JointState, "joint_states", 10)
        self._colour = self.create_publisher(Image, "camera/color/image_raw", IMAGES)
        self._depth = self.create_publisher(Image, "camera/aligned_depth_to_color/image_raw", IMAGES)
        self._info = self.create_publisher(CameraInfo, "camera/color/camera_info", IMAGES)
        self._checker = self.create_publisher(Bool, "libero/success", TRANSIENT_LOCAL)
        self._verdict: bool | None = None
        self._frame = FixedFrame(self)
        self._place()
        SceneServices(
            self,
            "libero",
            lambda: self.body.task.name,
            lambda: self._served,
            lambda: self._load_scene(self.body.task.name),
            self._load_scene,
        )
        self.create_timer(1.0 / values["joint_state_rate"], self._tell, callback_group=MutuallyExclusiveCallbackGroup())
        self.create_timer(values["picture_period"], self._picture, callback_group=MutuallyExclusiveCallbackGroup())
        self.serve(self.body, values, "the arm")
        world = self.body.observe()
        self.get_logger().info(
            f"ready: {self.body.task.name}, {len(world.objects)} things; “{self.body.task.language}”"
        )

    # ---- out

    def _tell(self) -> None:
        """The arm as it was measured last, and LIBERO's checker."""
        arm = self.body.body.arm
        state, gripper = arm.state(), arm.robot.gripper
        finger = state.width / 2
        self._joint_states.publish(
            JointState(
                header=Header(stamp=time_to_msg(state.stamp), frame_id=arm.robot.base),
                name=[*arm.robot.joint_names, *gripper.joints],
                position=[*map(float, state.positions), *([finger] * len(gripper.joints))],
                velocity=[*map(float, state.velocities), *([state.finger_speed / 2] * len(gripper.joints))],
            )
        )
        if arm.success != self._verdict:
            self._verdict = arm.success
            self._checker.publish(Bool(data=arm.success))

    def _place(self) -> None:
        """Publish the pose of the robot's base in the frame of the world, which looks at the robot."""
        x, y, z, qw, qx, qy, qz = self.body.task.state["base"]
        frame, base = self.body.observe().frame, self.body.body.arm.robot.base
        self._frame.publish((frame, base, (-x, -y, z), (-qy, qx, qw, -qz)))  # half a turn about the vertical

    def _picture(self) -> None:
        if not any(p.get_subscription_count() for p in (self._colour, self._depth)):
            return
        values = self._values
        seen = self.body.simulator.capture(values["camera"], values["width"], values["height"])
        header = Header(stamp=time_to_msg(self.body.body.arm.state().stamp), frame_id=seen.camera)
        height, width = seen.rgb.shape[:2]
        self._info.publish(camera_info_to_msg(Intrinsics.of_view(seen.fovy, width, height), header))
        self._depth.publish(image_to_msg(seen.depth.astype(np.float32), "32FC1", header))
        self._colour.publish(image_to_msg(seen.rgb, "rgb8", header))

    # ---- in

    def _load_scene(self, scene: str) -> str:
        self.body.load(scene)
        self._place()
        return f"{self.body.task.name}: {self.body.task.language}"


def main() -> int:
    return run_node(LiberoNode, stop=LiberoNode.stop_work)


if __name__ == "__main__":
    raise SystemExit(main())

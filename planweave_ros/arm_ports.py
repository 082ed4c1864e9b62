"""ROS interfaces of an arm's controllers, as required by `planweave.bodies.arm.arms.choose`, created on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.robots import RobotDescription
from planweave_ros import controllers
from planweave_ros.action_port import ActionPort, CancelPort, cancel_service
from planweave_ros.guarded import node_of
from planweave_ros.only_one import services_of
from planweave_ros.other_commanders import OtherCommanders


@dataclass(frozen=True)
class Names:
    """Names of the arm's controller, the fingers' controller, and the node of a hand with its own actions."""

    arm: str
    gripper: str
    hand: str


class ArmPorts:
    """Publishers and action clients of one node. A trajectory has times (n,) s, positions and velocities a row each."""

    def __init__(self, node: Node, names: Names, robot: RobotDescription):
        self._node, self._names, self._robot = node, names, robot
        self._arm = node.create_publisher(JointTrajectory, f"{names.arm}/joint_trajectory", 10)
        self._gripper = node.create_publisher(JointTrajectory, f"{names.gripper}/joint_trajectory", 10)
        self._own = 0  # subscriptions of this node to the arm's topic
        self._goals: ActionPort | None = None

    def unheard(self, arm: bool, gripper: bool) -> str:
        """The first of the used topics (arm, gripper) without a subscriber; empty for none.

        Messages published before a controller has been discovered are lost silently.
        """
        used = [(p, own) for p, own, wanted in ((self._arm, self._own, arm), (self._gripper, 0, gripper)) if wanted]
        return next((str(p.topic_name) for p, own in used if p.get_subscription_count() <= own), "")

    def others(self, kind: str, on_command: Callable[[str], None]) -> OtherCommanders:
        """Who else commands the arm's controller. kind: of planweave.bodies.arm.arms.choose.ARMS; on_command: see
        OtherCommanders.
        """
        self._own = 1
        goals = None if kind == "moveit" else lambda goal: self._goals is not None and self._goals.sent(goal)
        topic = f"{self._names.arm}/joint_trajectory"
        return OtherCommanders(self._node, topic, self._follow, goals, kind == "trajectory", on_command)

    def real_controller(self) -> str:
        """Name of a ros2_control controller that subscribes to the arm's topic; empty for none.

        It offers an action beside its topic, and rejects the empty trajectory that stops simulation_node.
        """
        for info in self._node.get_subscriptions_info_by_topic(self._arm.topic_name):
            name = node_of(info)
            served = services_of(self._node, name)
            if any(service.endswith("/follow_joint_trajectory/_action/send_goal") for service in served):
                return name
        return ""

    def publish_arm(self, trajectory: Any) -> None:
        """Publish a trajectory, or with None an empty one, which stops simulation_node's arm."""
        self._arm.publish(
            self._message(trajectory)
            if trajectory is not None
            else JointTrajectory(joint_names=list(self._robot.joint_names))
        )

    def publish_gripper(self, width: float, force: float) -> None:
        """Publish an opening (m) and a force (N)."""
        gripper = self._robot.gripper
        point = JointTrajectoryPoint(
            positions=[gripper.position(width)], effort=[force], time_from_start=controllers.duration(0.0)
        )
        self._gripper.publish(JointTrajectory(joint_names=[gripper.joints[0]], points=[point]))

    def follow(self) -> tuple[ActionPort, Callable[[Any], Any]]:
        """The action of ros2_control's joint_trajectory_controller."""
        action = controllers.interface("control_msgs", "action", "FollowJointTrajectory")
        self._goals = ActionPort(self._node, action, self._follow)
        return self._goals, lambda t: controllers.follow_goal(self._message(t))

    def gripper_command(self, parallel: bool) -> tuple[ActionPort, Callable[[float, float], Any]]:
        """The action of a GripperActionController: of ros2_control's parallel_gripper_controller, or of the older
        gripper_controllers, which Kilted and Lyrical no longer have.
        """
        gripper = self._robot.gripper
        kind = "ParallelGripperCommand" if parallel else "GripperCommand"
        action = controllers.interface("control_msgs", "action", kind)
        port = ActionPort(self._node, action, f"{self._names.gripper}/gripper_cmd")
        if parallel:
            return port, lambda width, force: controllers.parallel_gripper_goal(
                gripper.joints[0], gripper.position(width), force
            )
        return port, lambda width, force: controllers.gripper_command_goal(gripper.position(width), force)

    def hand_actions(self) -> tuple[tuple[ActionPort, ActionPort, ActionPort], Any]:
        """The actions of Franka's hand, homing, move and grasp, and what makes their goals."""
        homing, move, grasp = (
            ActionPort(
                self._node,
                controllers.interface("franka_msgs", "action", name),
                f"{self._names.hand}/{name.lower()}",
            )
            for name in ("Homing", "Move", "Grasp")
        )
        return (homing, move, grasp), (controllers.homing_goal, controllers.move_goal, controllers.grasp_goal)

    def cancel_arm(self) -> Callable[[], str]:
        """Cancels every goal of the arm's controller; see CancelPort.cancel."""
        return CancelPort(self._node, self._follow).cancel

    @property
    def cancel_name(self) -> str:
        """The service that cancels the arm controller's goals, fully qualified and after remapping."""
        return cancel_service(self._node, self._follow)

    @property
    def _follow(self) -> str:
        return f"{self._names.arm}/follow_joint_trajectory"

    def _message(self, trajectory: Any) -> JointTrajectory:
        return controllers.joint_trajectory(
            self._robot.joint_names, trajectory.times, trajectory.positions, trajectory.velocities
        )

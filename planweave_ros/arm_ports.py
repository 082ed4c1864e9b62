"""ROS interfaces of an arm's controllers, as required by `planweave.bodies.arm.arms.choose`, created on demand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rclpy.node import Node
from trajectory_msgs.msg import JointTrajectory

from planweave.robots import RobotDescription
from planweave_ros import controllers
from planweave_ros.action_port import ActionPort, CancelPort, cancel_service
from planweave_ros.guarded import node_of
from planweave_ros.only_one import NAMELESS, services_of
from planweave_ros.other_commanders import HeardCommanders


@dataclass(frozen=True)
class ControllerNames:
    """Names of the arm's controller, the fingers' controller, and the node of a hand with its own actions."""

    arm: str
    gripper: str
    hand: str


class ArmPorts:
    """Action clients of one node. A trajectory has times (n,) s, positions and velocities a row each."""

    def __init__(self, node: Node, names: ControllerNames, robot: RobotDescription):
        self._node, self._names, self._robot = node, names, robot
        self._goals: ActionPort | None = None
        self._actions: list[ActionPort] = []

    def absent(self) -> str:
        """The first of the actions in use that nobody offers; empty for none."""
        return next((action.name for action in self._actions if not action.there), "")

    def others(self, kind: str, on_command: Callable[[str], None]) -> HeardCommanders:
        """Listen to other commanders of the arm's controller. kind: of planweave.bodies.arm.arms.choose.ARMS;
        on_command: see OtherCommanders.
        """
        goals = None if kind == "moveit" else lambda goal: self._goals is not None and self._goals.sent(goal)
        return HeardCommanders(self._node, f"{self._names.arm}/joint_trajectory", self._follow, goals, on_command)

    def wrong_controller(self, simulated: bool) -> str:
        """The reason not to use the arm's controller, which is there; empty for none. simulated: whether it must
        be simulation_node's, for which alone the speeds are meant.
        """
        action = self._node.resolve_service_name(self._follow)
        controllers = self._node.get_publishers_info_by_topic(f"{action}/_action/status")
        names = sorted({node_of(info) for info in controllers if info.node_name not in NAMELESS})
        if len(names) > 1:
            return f"{' and '.join(names)} both offer {action}: end one"
        services = services_of(self._node, names[0]) if simulated and names else []
        if not simulated or any(service.endswith("simulation/reset") for service in services):
            return ""
        return (
            f"{', '.join(names) or 'a node without a name'} controls the arm, not simulation_node, whose speeds these "
            f"are (robot: simulation); start executor_node with {self._robot.ros.parameters} or config/gazebo.yaml"
        )

    def follow(self) -> tuple[ActionPort, Callable[[Any], Any]]:
        """The action of ros2_control's joint_trajectory_controller."""
        action = controllers.interface("control_msgs", "action", "FollowJointTrajectory")
        self._goals = self._action(action, self._follow)
        return self._goals, lambda t: controllers.follow_goal(self._message(t))

    def gripper_command(self, parallel: bool) -> tuple[ActionPort, Callable[[float, float], Any]]:
        """The action of a GripperActionController: of ros2_control's parallel_gripper_controller, or of the older
        gripper_controllers, which Kilted and Lyrical no longer have.
        """
        gripper = self._robot.gripper
        kind = "ParallelGripperCommand" if parallel else "GripperCommand"
        action = controllers.interface("control_msgs", "action", kind)
        port = self._action(action, f"{self._names.gripper}/gripper_cmd")
        if parallel:
            return port, lambda width, force: controllers.parallel_gripper_goal(
                gripper.joints[0], gripper.position(width), force
            )
        return port, lambda width, force: controllers.gripper_command_goal(gripper.position(width), force)

    def hand_actions(self) -> tuple[tuple[ActionPort, ActionPort, ActionPort], Any]:
        """The actions of Franka's hand, homing, move and grasp, and what makes their goals."""
        homing, move, grasp = (
            self._action(controllers.interface("franka_msgs", "action", name), f"{self._names.hand}/{name.lower()}")
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

    def _action(self, kind: Any, name: str) -> ActionPort:
        self._actions.append(ActionPort(self._node, kind, name))
        return self._actions[-1]

    def _message(self, trajectory: Any) -> JointTrajectory:
        return controllers.joint_trajectory(
            self._robot.joint_names, trajectory.times, trajectory.positions, trajectory.velocities
        )

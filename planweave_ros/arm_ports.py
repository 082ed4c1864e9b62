"""ROS interfaces of an arm's controllers, as required by `planweave.bodies.arm.arms.choose`, created on demand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from planweave.robots import RobotDescription
from planweave_ros import controllers
from planweave_ros.action_port import ActionPort, CancelPort, cancel_service
from planweave_ros.guarded import node_of
from planweave_ros.moveit_server import NODE as MOVEIT
from planweave_ros.only_one import NAMELESS, publisher_of, publishers, serves
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.rclpy_compat import RCLError


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
        if not simulated or any(
            serves(self._node, node_of(info), bytes(info.endpoint_gid), lambda name: name.endswith("simulation/reset"))
            for info in controllers
        ):
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


_ANY = QoSProfile(depth=10, reliability=ReliabilityPolicy.BEST_EFFORT)  # also of publishers that are not reliable
_UNDER_WAY = (GoalStatus.STATUS_ACCEPTED, GoalStatus.STATUS_EXECUTING, GoalStatus.STATUS_CANCELING)


class HeardCommanders:
    """Listens to the controller's topic and to the status of its action; see arms.base.OtherCommanders.

    own_goal: whether a goal id is of this node; None where others send its goals (MoveIt), so that goals say nothing.
    on_command: called with what another client commanded.
    """

    def __init__(
        self,
        node: Node,
        topic: str,
        action: str,
        own_goal: Callable[[bytes], bool] | None,
        on_command: Callable[[str], None],
    ):
        self._node, self._on_command = node, on_command
        self._topic, self._action = node.resolve_topic_name(topic), node.resolve_service_name(action)
        self._own_goal = own_goal
        self._foreign: frozenset[bytes] = frozenset()  # goals of others that are under way
        self._server = b""  # who said so
        group = MutuallyExclusiveCallbackGroup()
        node.create_subscription(JointTrajectory, topic, self._on_trajectory, _ANY, callback_group=group)
        if own_goal is not None:
            topic = f"{self._action}/_action/status"
            self._status = node.create_subscription(
                GoalStatusArray, topic, self._on_status, TRANSIENT_LOCAL, callback_group=group
            )

    def named(self) -> str:
        own = self._node.get_fully_qualified_name()
        publish = {node_of(info) for info in self._node.get_publishers_info_by_topic(self._topic)}
        clients = {
            f"{space.rstrip('/')}/{name}"
            for name, space in self._node.get_node_names_and_namespaces()
            if name != MOVEIT and self._is_client(name, space)
        }
        return ", ".join(sorted((publish | clients) - {own}))

    def moving(self) -> str:
        if not self._foreign or not self._lives():
            return ""
        return f"a goal of another client is carried out on {self._action}{self._by_whom()}; cancel it, or wait for it"

    def _by_whom(self) -> str:
        named = self.named()
        return f" (clients: {named})" if named else ""

    def _is_client(self, name: str, space: str) -> bool:
        try:
            used = self._node.get_client_names_and_types_by_node(name, space)
        except RCLError:  # gone meanwhile
            return False
        return any(service == f"{self._action}/_action/send_goal" for service, _ in used)

    def _lives(self) -> bool:
        """Whether the server that reported the goals is still there: a dead one never reports their end."""
        there = publishers(self._node, f"{self._action}/_action/status")
        return bool(there) and (not self._server or self._server in there)

    def _on_trajectory(self, msg: JointTrajectory, info: Mapping[str, Any]) -> None:
        source, names = publisher_of(info), publishers(self._node, self._topic)
        who = f"/{names[source]}" if source in names else ""
        self._on_command(f"{who or self.named() or 'another node'} published a trajectory on {self._topic}")

    def _on_status(self, msg: GoalStatusArray, info: Mapping[str, Any]) -> None:
        assert self._own_goal is not None
        under_way = {bytes(s.goal_info.goal_id.uuid) for s in msg.status_list if s.status in _UNDER_WAY}
        foreign = frozenset(goal for goal in under_way if not self._own_goal(goal))
        new = foreign - self._foreign
        self._foreign, self._server = foreign, publisher_of(info)
        if new:
            self._on_command(f"another client sent a goal to {self._action}{self._by_whom()}")

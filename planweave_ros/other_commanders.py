"""Detection of other clients of an arm's controller: who they are, and what they command."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from action_msgs.msg import GoalStatus, GoalStatusArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import QoSProfile, ReliabilityPolicy
from trajectory_msgs.msg import JointTrajectory

from planweave_ros.guarded import node_of
from planweave_ros.moveit_server import NODE as MOVEIT
from planweave_ros.only_one import publisher_of, publishers
from planweave_ros.qos import TRANSIENT_LOCAL
from planweave_ros.rclpy_compat import RCLError

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

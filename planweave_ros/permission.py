"""Verification of an action's approval with feedback_node, before a body moves."""

from __future__ import annotations

from planweave_interfaces.srv import ConfirmApproval
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.core.world import Action
from planweave_ros.asking import ask
from planweave_ros.conversions import action_to_msg

_SECONDS = 5.0  # of wall time for feedback_node to answer


class Permission:
    """Calls /confirm_approval.

    A client that sends an action itself has no token for it, and tokens are valid once; this does not protect against a
    program that impersonates feedback_node in the same ROS domain.
    """

    def __init__(self, node: Node):
        self._node, self._name = node, node.resolve_service_name("confirm_approval")
        self._client = node.create_client(ConfirmApproval, self._name, callback_group=ReentrantCallbackGroup())

    def problem(self, action: Action, task_id: str, approval: str) -> str:
        """Why the action may not be executed; "" where a person approved it."""
        if not approval:
            return "it is not part of an approved plan: send a task to feedback_node, and answer: planweave approve"
        servers = self._node.count_services(self._name)
        if servers != 1:
            return f"{servers or 'no'} nodes answer {self._name}, but feedback_node alone must"
        request = ConfirmApproval.Request(task_id=task_id, approval=approval, action=action_to_msg(action))
        reply = ask(self._client, request, _SECONDS)
        if reply is None:
            return f"feedback_node did not say in {_SECONDS:g} s whether a person approved it"
        return "" if reply.approved else str(reply.message)

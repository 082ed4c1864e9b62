"""Verification of an action's approval with feedback_node, before a body moves."""

from __future__ import annotations

from planweave_interfaces.action import ExecuteAction
from planweave_interfaces.srv import ConfirmApproval
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave_ros.asking import ask

_SECONDS = 5.0  # of wall time for feedback_node to answer


class Permission:
    """Calls /confirm_approval.

    A client that sends an action itself has no token for it, and tokens are valid once; this does not protect against a
    program that impersonates feedback_node in the same ROS domain.
    """

    def __init__(self, node: Node):
        self._node, self._name = node, node.resolve_service_name("confirm_approval")
        self._client = node.create_client(ConfirmApproval, self._name, callback_group=ReentrantCallbackGroup())

    def problem(self, goal: ExecuteAction.Goal) -> str:
        """Why the action may not be executed; "" where a person approved it."""
        if not goal.approval:
            return "it is no part of an approved plan: send a task to feedback_node, and answer: planweave approve"
        servers = self._node.count_services(self._name)
        if servers != 1:
            return f"{servers or 'no'} nodes answer {self._name}, but feedback_node alone must"
        request = ConfirmApproval.Request(task_id=goal.task_id, approval=goal.approval, action=goal.action)
        reply = ask(self._client, request, _SECONDS)
        if reply is None:
            return f"feedback_node did not say in {_SECONDS:g} s whether a person approved it"
        return "" if reply.approved else str(reply.message)

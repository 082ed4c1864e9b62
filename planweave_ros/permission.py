"""Verification before a body moves: its own feedback_node sent the action, and a person approved it."""

from __future__ import annotations

import threading
from collections.abc import Callable

from planweave_interfaces.srv import ConfirmApproval
from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.node import Node

from planweave.bodies.arm.waiting import until
from planweave.core.symbolic.world import Action
from planweave_ros.asking import ask
from planweave_ros.conversions import action_to_msg
from planweave_ros.liveliness import GRACE, LEASE, TASKS, Presence
from planweave_ros.only_one import publishers

_DEATH = LEASE + GRACE + 1.0  # s of wall time in which the death of a feedback_node is noticed
_PAUSE = 0.02  # s between two looks at the graph
_SECONDS = 5.0  # of wall time for feedback_node to answer


class Binding:
    """The one feedback_node whose actions a body carries out: the first that it meets, as long as that lives.

    Two of them, as of a second system in one ROS domain, would each move the arm without knowing of the other.
    """

    def __init__(self, node: Node):
        self._node, self._topic = node, node.resolve_topic_name(f"{TASKS}/alive")
        self._bound = b""
        self._lock = threading.Lock()
        self._departures = 0  # of feedback_nodes, when this one was bound
        self._presence = Presence(node, TASKS, on_arrival=self._meet)

    def problem(self, sender: str, given_up: Callable[[], bool]) -> str:
        """The reason to refuse the actions of a sender; "" for none. Waits where the one before may have died,
        or this one is not discovered yet, until that is given up.

        sender: key of a feedback_node's announcement (`show_own_presence`), in hexadecimal digits; empty for others.
        """
        if not sender or self._obeys(sender):
            return ""
        if until(lambda: given_up() or self._obeys(sender), _DEATH, _PAUSE) and not given_up():
            return ""
        names = publishers(self._node, self._topic)
        nodes = " and ".join(f"/{name}" for name in sorted(names.values()))
        if sender not in {key.hex() for key in names}:
            return (
                f"the sender {sender[:64]!r} is no feedback_node that this body knows of (there: {nodes or 'none'}); "
                "send tasks to feedback_node, or leave sender empty"
            )
        return (
            f"{len(names)} feedback_nodes are in this ROS domain ({nodes}), and this body takes actions of "
            f"{'the one it met first' if self._bound else 'one'} only: end the other, or give it a domain of its own "
            "(ROS_DOMAIN_ID); if it was killed a moment ago, wait 20 s"
        )

    def _meet(self) -> None:
        with self._lock:
            names = publishers(self._node, self._topic)
            if not self._bound and len(names) == 1:
                self._bind(next(iter(names)))

    def _bind(self, key: bytes) -> None:
        self._bound, self._departures = key, self._presence.departures

    def _obeys(self, sender: str) -> bool:
        names = {key.hex(): key for key in publishers(self._node, self._topic)}
        with self._lock:
            if sender not in names:
                return False
            left = self._presence.departures > self._departures or self._bound not in names.values()
            if names[sender] != self._bound and left and self._presence.count <= 1:
                self._bind(names[sender])
            return names[sender] == self._bound


class Permission:
    """Calls /confirm_approval.

    A client that sends an action itself has no token for it, and tokens are valid once; this does not protect against a
    program that impersonates feedback_node in the same ROS domain.
    """

    def __init__(self, node: Node):
        self._node, self._name = node, node.resolve_service_name("confirm_approval")
        self._client = node.create_client(ConfirmApproval, self._name, callback_group=ReentrantCallbackGroup())

    def problem(self, action: Action, task_id: str, approval: str) -> str:
        """The reason to refuse the action; "" where a person approved it."""
        if not approval and not task_id:
            return "it is not part of an approved plan: send a task to feedback_node, and answer: planweave approve"
        servers = self._node.count_services(self._name)
        if servers != 1:
            return f"{servers or 'no'} nodes answer {self._name}, but feedback_node alone must"
        request = ConfirmApproval.Request(task_id=task_id, approval=approval, action=action_to_msg(action))
        reply = ask(self._client, request, _SECONDS)
        if reply is None:
            return f"feedback_node did not say in {_SECONDS:g} s whether a person approved it"
        return "" if reply.approved else str(reply.message)

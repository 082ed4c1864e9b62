"""Verification before a body moves: its own feedback_node sent the action, and a person approved it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

from planweave_interfaces.msg import ApprovedStep
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node

from planweave.bodies.arm.waiting import until
from planweave.core.base.errors import GoalError
from planweave.core.symbolic.world import Action
from planweave.core.workflow.approval import StepCheck
from planweave_ros.conversions import approved_step_from_msg
from planweave_ros.liveliness import GRACE, LEASE, TASKS, Presence
from planweave_ros.only_one import publisher_of, publishers, two_publishers
from planweave_ros.qos import TRANSIENT_LOCAL

DEATH = LEASE + GRACE + 1.0  # s of wall time in which the death of a feedback_node is noticed
_PAUSE = 0.02  # s between two looks at the graph
APPROVED_SECONDS = 5.0  # of wall time for the approved step to arrive
_PUBLISHERS_KEPT = 4  # whose newest step is kept


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
        if until(lambda: given_up() or self._obeys(sender), DEATH, _PAUSE) and not given_up():
            return ""
        names = publishers(self._node, self._topic)
        nodes = " and ".join(f"/{name}" for name in sorted(names.values()))
        if sender not in {key.hex() for key in names}:
            return (
                f"the sender {sender[:64]!r} is not a feedback_node known to this body (known: {nodes or 'none'}); "
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


class ApprovedSteps:
    """Steps that a person approved, as feedback_node alone publishes it on /approved_step.

    A client that sends an action itself has no token for it, and a token is valid once; this does not protect against a
    program that impersonates feedback_node in the same ROS domain.
    """

    def __init__(self, node: Node):
        self._node, self._topic = node, node.resolve_topic_name("approved_step")
        self._checks: dict[bytes, StepCheck] = {}  # by the publisher
        self._lock = threading.Lock()
        group = MutuallyExclusiveCallbackGroup()  # else two threads may take two steps in the wrong order
        node.create_subscription(ApprovedStep, "approved_step", self._heard, TRANSIENT_LOCAL, callback_group=group)

    def problem(self, action: Action, task_id: str, token: str, given_up: Callable[[], bool]) -> str:
        """The reason to refuse the action; "" where a person approved it, which spends the token. Waits for the step,
        which may come a moment after the action, until that is given up.
        """
        if not token and task_id:
            return f"{task_id[:100]} sends it without an approval: feedback_node's require_approval is not set"
        if not token:
            return "it is not part of an approved plan: send a task to feedback_node, and answer: planweave approve"
        until(lambda: given_up() or self._knows(token), APPROVED_SECONDS, _PAUSE)
        names = publishers(self._node, self._topic)
        if len(names) > 1:
            return f"{two_publishers(names, self._topic)}; if one was killed a moment ago, wait 20 s"
        if not names:
            return f"no node publishes {self._topic}: start feedback_node"
        with self._lock:
            try:
                self._check(names).redeem(token, task_id, action)
            except GoalError as error:
                return str(error)
        return ""

    def _heard(self, msg: ApprovedStep, info: Mapping[str, Any]) -> None:
        source = publisher_of(info)
        told = bool(source) or len(publishers(self._node, self._topic)) == 1  # else nobody knows whose it is
        with self._lock:
            self._checks.setdefault(source, StepCheck()).publish(approved_step_from_msg(msg) if told else None)
            for gone in list(self._checks)[:-_PUBLISHERS_KEPT]:
                del self._checks[gone]

    def _knows(self, token: str) -> bool:
        names = publishers(self._node, self._topic)
        with self._lock:
            return len(names) == 1 and self._check(names).knows(token)

    def _check(self, names: Collection[bytes]) -> StepCheck:
        """The check of the only publisher; where messages name none (rclpy before 9) all are from it."""
        (source,) = names
        return self._checks.get(source) or self._checks.get(b"") or StepCheck()

"""Who is there and who has died: DDS liveliness on a topic that carries no messages.

A process that is killed stays in the ROS graph for up to 20 s, the lease of its DDS participant. A publisher that
offers automatic liveliness is missed after its own, shorter lease, and at once where it says goodbye. The middleware
renews it in a thread of its own, so a node that is merely busy is not taken for dead; one that is stopped (SIGSTOP) is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.callback_groups import ReentrantCallbackGroup
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import LivelinessPolicy, QoSProfile
from std_msgs.msg import Empty

BODY, COMMANDER, PLANNER, TASKS = "body", "commander", "planner", "tasks"
"""Parts of a system: who serves ExecuteAction, who sends it, who asks the model, who takes tasks."""
LEASE = 1.0
"""Seconds after which a process that was killed is missed."""


def _qos() -> QoSProfile:
    return QoSProfile(depth=1, liveliness=LivelinessPolicy.AUTOMATIC, liveliness_lease_duration=Duration(seconds=LEASE))


def show_presence(node: Node, part: str) -> None:
    """Let everyone who watches see that this part is there, from now on until the node's end; to be called when all
    that it serves is made, as the graph may still show the servers of one that died.
    """
    node.create_publisher(
        Empty, f"{part}/alive", _qos(), event_callbacks=PublisherEventCallbacks(use_default_callbacks=False)
    )


class Presence:
    """Watches a part of the system. on_departure() is called, from a thread of the executor, when one has gone."""

    def __init__(self, node: Node, part: str, on_departure: Callable[[], None] = lambda: None):
        self._on_departure = on_departure
        self._alive, self._dead = 0, 0
        self._known = False
        self.departures = 0
        """Grows when one has gone, also where another has taken its place already."""
        self._lock = threading.Lock()
        node.create_subscription(
            Empty,
            f"{part}/alive",
            lambda _: None,
            _qos(),
            callback_group=ReentrantCallbackGroup(),
            event_callbacks=SubscriptionEventCallbacks(liveliness=self._change, use_default_callbacks=False),
        )

    @property
    def there(self) -> bool:
        """Whether one is there now."""
        return self._alive > 0

    @property
    def lost(self) -> bool:
        """Whether one was there and has gone. False for a part that never showed its presence: nobody knows."""
        return self._known and not self._alive

    def _change(self, info: QoSLivelinessChangedInfo) -> None:
        with self._lock:
            gone = info.alive_count < self._alive or info.not_alive_count > self._dead
            self._alive, self._dead = info.alive_count, info.not_alive_count
            self._known = True
            self.departures += gone
        if gone:
            self._on_departure()

"""Detection of dead processes: DDS liveliness on a topic without messages.

A killed process stays in the ROS graph for up to 20 s, the lease of its DDS participant. A publisher with automatic
liveliness is missed after its own, shorter lease, and at once on a clean shutdown. The middleware renews it in its own
thread, so that a busy node is not taken for dead; a stopped one (SIGSTOP) is.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
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
    """Announce this part until the node's end.

    Call once all its servers exist, as the graph may still list those of a dead one.
    """
    node.create_publisher(
        Empty, f"{part}/alive", _qos(), event_callbacks=PublisherEventCallbacks(use_default_callbacks=False)
    )


class Presence:
    """Monitors a part of the system. on_departure() and on_arrival() are called, from a thread of the executor and in
    order, when one has gone or has come. One that was not heard for LEASE, as on a machine that is too busy, has gone
    and then come.
    """

    def __init__(
        self,
        node: Node,
        part: str,
        on_departure: Callable[[], None] = lambda: None,
        on_arrival: Callable[[], None] = lambda: None,
    ):
        self._on_departure, self._on_arrival = on_departure, on_arrival
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
            callback_group=MutuallyExclusiveCallbackGroup(),
            event_callbacks=SubscriptionEventCallbacks(liveliness=self._change, use_default_callbacks=False),
        )

    @property
    def there(self) -> bool:
        """Whether one is alive now."""
        return self._alive > 0

    @property
    def lost(self) -> bool:
        """Whether one was alive and has gone. False for a part that was never announced."""
        return self._known and not self._alive

    def _change(self, info: QoSLivelinessChangedInfo) -> None:
        with self._lock:
            gone = info.alive_count < self._alive or info.not_alive_count > self._dead
            come = info.alive_count > self._alive
            self._alive, self._dead = info.alive_count, info.not_alive_count
            self._known = True
            self.departures += gone
        if gone:
            self._on_departure()
        if come:
            self._on_arrival()

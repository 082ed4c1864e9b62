"""Detection of dead processes: DDS liveliness on a topic without messages.

A killed process stays in the ROS graph for up to 20 s, the lease of its DDS participant. A publisher with automatic
liveliness is missed after its own, shorter lease and a grace, and at once on a clean shutdown. The middleware renews it
in its own thread, so that a busy node is not taken for dead; a stopped one (SIGSTOP) is. Of rmw_fastrtps, which renews
it every two thirds of the lease, a single message that is late or lost ends the lease: the grace is for that. That
thread also opens the shared memory of each process that comes, and waits up to 1 s for one that is slow to listen
(Fast DDS, healthy_check_timeout_ms); the grace is for that, too.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.event_handler import PublisherEventCallbacks, QoSLivelinessChangedInfo, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.publisher import Publisher
from rclpy.qos import LivelinessPolicy, QoSProfile
from std_msgs.msg import Empty

from planweave_ros.only_one import own_publisher

BODY, COMMANDER, PLANNER, TASKS = "body", "commander", "planner", "tasks"
"""Parts of a system: who serves ExecuteAction, who sends it, who asks the model, who takes tasks."""
LEASE = 0.4
"""Seconds without a sign of life after which a process is not alive, for DDS."""
GRACE = 1.5
"""Seconds after that in which it may show itself again; then it has gone."""
_TICKS = 4  # of the grace; more than one, so that a late thread hears of its return first


def _qos() -> QoSProfile:
    return QoSProfile(depth=1, liveliness=LivelinessPolicy.AUTOMATIC, liveliness_lease_duration=Duration(seconds=LEASE))


def show_presence(node: Node, part: str) -> Publisher:
    """Announce this part until the node's end; returns the publisher whose life is watched.

    Call once all its servers exist, as the graph may still list those of a dead one.
    """
    return node.create_publisher(
        Empty, f"{part}/alive", _qos(), event_callbacks=PublisherEventCallbacks(use_default_callbacks=False)
    )


def show_own_presence(node: Node, part: str) -> bytes:
    """The same; returns the key by which others know it from equal parts, empty where that cannot be told."""
    return own_publisher(node, lambda: show_presence(node, part), f"{part}/alive")[1]


class Presence:
    """Monitors a part of the system. on_departure() and on_arrival() are called, from a thread of the executor and in
    order, when one has gone or has come. One that was killed, or not heard for LEASE and GRACE, has gone.
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
        self._missed = 0  # not alive, but in their grace
        self._ticks = 0
        self._known = False
        self.departures = 0
        """Grows when one has gone, also where another has taken its place already."""
        self.on_change: Callable[[], None] = lambda: None
        """Called before on_departure() and on_arrival()."""
        self._lock = threading.Lock()
        self.group = group = MutuallyExclusiveCallbackGroup()
        """What runs in it does not run beside these."""
        self._grace = node.create_timer(
            GRACE / _TICKS, self._tick, callback_group=group, clock=Clock(clock_type=ClockType.STEADY_TIME)
        )
        self._grace.cancel()
        node.create_subscription(
            Empty,
            f"{part}/alive",
            lambda _: None,
            _qos(),
            callback_group=group,
            event_callbacks=SubscriptionEventCallbacks(liveliness=self._change, use_default_callbacks=False),
        )

    @property
    def there(self) -> bool:
        """Return whether one is alive now, or was a moment ago."""
        return self.count > 0

    @property
    def count(self) -> int:
        """The number that are alive now, or were a moment ago."""
        return self._alive + self._missed

    @property
    def lost(self) -> bool:
        """Return whether one was alive and has gone. False for a part that was never announced."""
        return self._known and not self.there

    def _change(self, info: QoSLivelinessChangedInfo) -> None:
        with self._lock:
            missed = max(info.not_alive_count - self._dead, 0)
            ended = max(self._alive - info.alive_count - missed, 0)  # in order: they are not there any more
            come = max(info.alive_count - self._alive, 0)
            back = min(come, max(self._dead - info.not_alive_count, 0), self._missed)  # the same one, not another
            self._alive, self._dead = info.alive_count, info.not_alive_count
            self._missed += missed - back
            self._known = True
            self.departures += ended
            if missed:
                self._ticks = 0
                self._grace.reset()
        if ended or come > back:
            self.on_change()
        if ended:
            self._on_departure()
        if come > back:
            self._on_arrival()

    def _tick(self) -> None:
        """A part of the grace is over."""
        with self._lock:
            self._ticks += 1
            if self._ticks < _TICKS and self._missed:
                return
            self._grace.cancel()
            gone, self._missed = self._missed, 0
            self.departures += gone
        if gone:
            self.on_change()
            self._on_departure()

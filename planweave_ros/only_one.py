"""Exclusivity: one body in a ROS domain, and one publisher for each kind of trusted data.

Two executors would move the same arm, and a second publisher could report a false world.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.publisher import Publisher

from planweave.core.base.errors import ConfigError
from planweave.launcher.domains import is_this_machine, participants
from planweave_ros.guarded import GuardedNode, node_of
from planweave_ros.rclpy_compat import RCLError

DISCOVERY = 0.5
"""Seconds after its start in which a node often hears of the others."""
NEWCOMER = 10.0
"""Seconds after its start in which a node surely hears of the others: Fast DDS repeats what was missed every 3 s."""
_LOOK = 0.25  # s between two looks of a newcomer
_STAYS = 3.0  # s for which another body must be seen: one that has just ended may be seen for a moment
_PRECEDENCE = 8.0  # s for another body that started at the same time to discover this one and to leave
_TRIES = 10
_APART = 0.2  # s: pause at most before a publisher is made anew
_WORLD = "world_state"
_ACTION_SERVER = "execute_action/_action/send_goal"
_PARTICIPANT_KEY = 12  # first bytes of an endpoint's key, by RTPS 2.5, 9.3.1
NAMELESS = ("_NODE_NAME_UNKNOWN_", "_CREATED_BY_BARE_DDS_APP_")
"""Names of nodes of which only an endpoint is discovered yet."""


def second_body(node: Node) -> str:
    """Error message where another node than this one publishes the world; empty where none does.

    The node's own publisher must exist already.
    """
    topic = node.resolve_topic_name(_WORLD)
    others = [_full_name(info) for info in node.get_publishers_info_by_topic(topic) if info.node_name not in NAMELESS]
    if len(others) < 2:
        return ""
    others.remove(node.get_fully_qualified_name().removeprefix("/"))
    return (
        f"{others[0]} already publishes {topic} in this ROS domain, and two bodies must not move one arm: end one, or "
        "choose another namespace (--namespace) or domain (ROS_DOMAIN_ID); if it was killed a moment ago, wait 20 s"
    )


def refuse_a_second_body(node: Node, since: float, own: bytes = b"") -> None:
    """Raise ConfigError where there is a second body. since: time.monotonic() when the node was made.

    Of bodies that start at the same time, and so serve no actions yet, the one with the lowest key stays, where it
    knows its `own` (`own_publisher`); it waits for the others to end.
    """
    served = node.resolve_service_name(_ACTION_SERVER)
    while True:
        now, problem = time.monotonic(), second_body(node)
        if problem and not (_precedes(node, own) and not node.count_services(served) and now < since + _PRECEDENCE):
            raise ConfigError(problem)
        left = since + DISCOVERY - now
        if not problem and left <= 0:
            return
        time.sleep(min(0.05, left) if left > 0 else 0.05)


def leave_to_another_body(node: GuardedNode, since: float, own: bytes = b"") -> None:
    """End the node in its first seconds where another body is discovered late, and stays.

    Who started first is not known: the one with the lowest key leaves later, and stays where the other has left.
    Neither moves anything meanwhile (`second_body`).
    """
    seen = [math.inf]  # when the other body was seen first, without a gap since

    def look() -> None:
        now, problem = time.monotonic(), second_body(node)
        seen[0] = min(seen[0], now) if problem else math.inf
        if now - seen[0] > (_PRECEDENCE if _precedes(node, own) else _STAYS):
            node.refused = problem
            node.finalized()
        if node.refused or (now > since + NEWCOMER and not problem):
            timer.cancel()

    timer = node.create_timer(_LOOK, look, callback_group=MutuallyExclusiveCallbackGroup())


def own_publisher(node: Node, make: Callable[[], Publisher], topic: str = _WORLD) -> tuple[Publisher, bytes]:
    """Make a publisher of a topic; also its key as in `publishers`.

    It is made anew where another appeared in the same moment, so that its key cannot be told; empty where that does
    not end.
    """
    topic = node.resolve_topic_name(topic)
    for _ in range(_TRIES):
        before = publishers(node, topic)
        publisher = make()
        new = publishers(node, topic).keys() - before.keys()
        if len(new) == 1:
            return publisher, new.pop()
        publisher.destroy()
        time.sleep(random.uniform(0.0, _APART))
    return make(), b""


def _precedes(node: Node, own: bytes) -> bool:
    """Whether this body's key is known and the lowest: all bodies that see one another agree on which one's is."""
    return bool(own) and own == min(publishers(node, node.resolve_topic_name(_WORLD)))


def publisher_of(info: Mapping[str, Any]) -> bytes:
    """Publisher of a message, from the info that rclpy passes to a callback; empty where it does not (before 9)."""
    gid = info.get("publisher_gid")
    return bytes(gid["data"]) if gid else b""


def publishers(node: Node, topic: str) -> dict[bytes, str]:
    """Names of the nodes that publish a topic, by the keys of `publisher_of`."""
    return {
        bytes(i.endpoint_gid): _full_name(i) if i.node_name not in NAMELESS else "a node without a name"
        for i in node.get_publishers_info_by_topic(topic)
    }


def serves(node: Node, name: str, endpoint: bytes, wanted: Callable[[str], bool]) -> bool:
    """Return whether another node serves what is wanted, of fully qualified service names.

    name: the node's, with its namespace; endpoint: key of one of its endpoints. What the endpoint's participant serves
    counts, too: Fast DDS may lose the message that tells which node's it is, for good (ros2/rmw_fastrtps issue 792).
    """
    namespace, _, bare = f"/{name.strip('/')}".rpartition("/")
    with contextlib.suppress(RCLError):  # the node is unknown, or has not said its name yet
        if any(wanted(found) for found, _ in node.get_service_names_and_types_by_node(bare, namespace or "/")):
            return True
    return any(
        bytes(server.endpoint_gid)[:_PARTICIPANT_KEY] == endpoint[:_PARTICIPANT_KEY]
        for found, _ in node.get_service_names_and_types()
        if wanted(found)
        for server in node.get_subscriptions_info_by_topic(f"rq{found}Request", no_mangle=True)
    )


def _full_name(info: Any) -> str:
    """Namespace and name of an endpoint's node, without the first /."""
    return node_of(info).removeprefix("/")


def two_publishers(names: Mapping[bytes, str], topic: str) -> str:
    """Error message where a topic has several publishers; else empty."""
    if len(names) < 2:
        return ""
    return f"{len(names)} nodes publish {topic}: {' and '.join(sorted(names.values()))}; stop all but one"


class LivingPublishers:
    """The publishers of a topic without dead ones: the graph lists a killed process for another 20 s.

    noticed: seconds of wall time after which a death has been detected. Thread-safe.
    """

    def __init__(self, node: Node, topic: str, noticed: float):
        self._node, self._topic, self._noticed = node, topic, noticed
        self._first_heard: dict[bytes, float] = {}
        self._dead: frozenset[bytes] = frozenset()
        self._lock = threading.Lock()

    def heard(self, source: bytes) -> None:
        """Record a message of a publisher: it is alive, also if it was assumed dead after having been stopped."""
        with self._lock:
            self._first_heard.setdefault(source, time.monotonic())
            self._dead -= {source}

    def one_died(self, known: bytes) -> frozenset[bytes]:
        """Record a death, of `known` where identified: otherwise all count as dead until they publish, except those
        first heard since; these are returned.
        """
        with self._lock:
            since = time.monotonic() - self._noticed
            self._first_heard = {s: at for s, at in self._first_heard.items() if at > since and s != known}
            left = frozenset(self._first_heard)
            self._dead = frozenset(publishers(self._node, self._topic)) - left
            return left

    def names(self) -> dict[bytes, str]:
        """Names of the nodes of living publishers, as in `publishers`."""
        names = publishers(self._node, self._topic)
        with self._lock:
            return {gid: name for gid, name in names.items() if gid not in self._dead}

    def servers(self, service: str) -> int:
        """Number of servers of a service, assuming that each dead publisher served it, too."""
        with self._lock:
            gone = self._dead.intersection(publishers(self._node, self._topic)) if self._dead else ()
            return self._node.count_services(service) - len(gone)


class OneSource:
    """Accepts the messages of a topic, or of one part of it, from one publisher as long as that one publishes.

    Messages of others are ignored meanwhile, and `problem` reports them until they have been silent for PAUSE.
    """

    PAUSE = 2.0
    """Seconds of wall time."""

    def __init__(self, node: Node, topic: str):
        self._node, self._topic = node, node.resolve_topic_name(topic)
        self._source, self._heard, self._other, self._other_heard = b"", float("-inf"), b"", float("-inf")

    def takes(self, info: Mapping[str, Any]) -> bool:
        """Return whether a message with this info is accepted."""
        now, source = time.monotonic(), publisher_of(info)
        if source != self._source and now - self._heard < self.PAUSE:
            if now - self._other_heard > self.PAUSE or self._other != source:
                self._other, self._other_heard = source, now
                self._node.get_logger().error(f"{self.problem}; what the second says is left out")
            self._other_heard = now
            return False
        if source != self._source:
            self._other_heard = float("-inf")  # the one before has fallen silent: there is one source again
        self._source, self._heard = source, now
        return True

    @property
    def problem(self) -> str:
        """Error message while a second publisher publishes; else empty."""
        if time.monotonic() - self._other_heard > self.PAUSE:
            return ""
        names = publishers(self._node, self._topic)
        one, other = (names.get(gid, "a node that is gone") for gid in (self._source, self._other))
        return f"two nodes publish {self._topic}: {one} and {other}; stop one"


class Sources:
    """A OneSource per kind of data."""

    def __init__(self, node: Node):
        self._node = node
        self._by_what: dict[str, OneSource] = {}

    def problem_with(self, what: str, topic: str, info: Mapping[str, Any]) -> str:
        """The reason not to accept a message on a topic; else empty."""
        source = self._by_what.setdefault(what, OneSource(self._node, topic))
        return "" if source.takes(info) else source.problem or "another node published it a moment ago"

    @property
    def problem(self) -> str:
        """Error message where two nodes publish exclusive data; else empty."""
        return next((problem for s in list(self._by_what.values()) if (problem := s.problem)), "")


_PARTICIPANTS = "ros_discovery_info"  # topic of the middleware: one publisher for each participant
TASK_SERVER = "feedback_node"


def everybody_is_known(node: Node, domain: int) -> bool:
    """Return whether all participants of this machine are discovered with the names of their nodes, none of which is a
    task server in the node's namespace, which may be about to serve. False where other machines may be in the domain.
    """
    here = participants(domain) if is_this_machine(os.environ) else None
    discovered = len(node.get_publishers_info_by_topic(_PARTICIPANTS, no_mangle=True))
    named = all(info.node_name not in NAMELESS for info in node.get_publishers_info_by_topic("/parameter_events"))
    starting = (TASK_SERVER, node.get_namespace()) in node.get_node_names_and_namespaces()
    return here is not None and discovered >= here and named and not starting

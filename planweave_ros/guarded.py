"""A node that survives exceptions in its callbacks."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.event_handler import PublisherEventCallbacks, SubscriptionEventCallbacks
from rclpy.node import Node
from rclpy.qos import QoSCompatibility, qos_check_compatible

from planweave.core.base.errors import PlanweaveError
from planweave_ros.qos import REQUESTS
from planweave_ros.rclpy_compat import answer_surely, destroy_actions

REPEAT = 10.0
"""Seconds after which an error of the same kind is logged again."""
MISMATCHES = 2.0
"""Seconds between two looks for publishers whose messages cannot come."""


class GuardedNode(Node):
    """Logs exceptions of topic, service and timer callbacks as errors; a service also returns the message, where its
    response has the field. rclpy itself would end the process. A PlanweaveError of a service, a refusal, is its answer
    (message and code) alone.

    Its subscriptions and publishers have no QoS event handlers unless some are given. rclpy's default ones, which tell
    of incompatible QoS, keep a node awake: with rmw_fastrtps the handler of a subscription wakes the executor again and
    again until a message is taken, some eight times a message (rclpy 9.1). A timer tells of such publishers instead.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.finalized: Callable[[], None] = lambda: None
        """Called by what ends the node from within; `run_node` then ends the process."""
        self.ends_because = ""
        """Why the process is to end with os.EX_TEMPFAIL, to be started again; then `finalized` is called."""
        self.refused = ""
        """Why this node must not work here, where that shows only while it runs."""
        self._mismatched: set[tuple[str, str]] = set()  # topics, and publishers of which was told
        self.create_timer(MISMATCHES, self._tell_mismatches)

    def destroy_node(self) -> None:
        """See rclpy; its action servers and clients are destroyed with it."""
        destroy_actions(self)
        super().destroy_node()

    def create_publisher(self, *args: Any, **kwargs: Any) -> Any:
        kwargs.setdefault("event_callbacks", PublisherEventCallbacks(use_default_callbacks=False))
        return super().create_publisher(*args, **kwargs)

    def create_subscription(
        self, msg_type: Any, topic: str, callback: Callable[..., None], *args: Any, **kwargs: Any
    ) -> Any:
        kwargs.setdefault("event_callbacks", SubscriptionEventCallbacks(use_default_callbacks=False))
        return super().create_subscription(
            msg_type, topic, self._guarded(callback, f"a message on {topic}"), *args, **kwargs
        )

    def create_timer(
        self, timer_period_sec: float, callback: Callable[..., None] | None, *args: Any, **kwargs: Any
    ) -> Any:
        """See rclpy; timers use wall time, also with use_sim_time, unless a clock is given, so that watchdogs run while
        /clock stands still.
        """
        guarded = self._guarded(callback, "a timer") if callback is not None else None
        kwargs.setdefault("clock", Clock(clock_type=ClockType.STEADY_TIME))
        return super().create_timer(timer_period_sec, guarded, *args, **kwargs)

    def create_service(
        self, srv_type: Any, srv_name: str, callback: Callable[[Any, Any], Any], *args: Any, **kwargs: Any
    ) -> Any:
        """See rclpy; by default with room for the requests of many clients at once."""
        kwargs.setdefault("qos_profile", REQUESTS)
        what = f"a request of {srv_name}"

        @functools.wraps(callback)
        def answer(request: Any, response: Any) -> Any:
            try:
                return callback(request, response)
            except Exception as error:
                failed = type(response)()  # the other may be half filled
                said, code = str(error), getattr(error, "code", "")
                if not (isinstance(error, PlanweaveError) and hasattr(failed, "message")):
                    log_fault(self, what, error)
                    said, code = f"{self.get_name()} could not answer ({_shown(error)}); see its log", "internal"
                for field, value in (("message", said), ("code", code)):
                    if hasattr(failed, field):
                        setattr(failed, field, value)
                return failed

        service = super().create_service(srv_type, srv_name, answer, *args, **kwargs)
        answer_surely(service)
        return service

    def create_client(self, srv_type: Any, srv_name: str, *args: Any, **kwargs: Any) -> Any:
        """See rclpy; by default with room for the answers to many clients at once, since each client receives those to
        all others, too.
        """
        kwargs.setdefault("qos_profile", REQUESTS)
        return super().create_client(srv_type, srv_name, *args, **kwargs)

    def _tell_mismatches(self) -> None:
        """Warn of publishers whose messages cannot come, each once: of another type, or with incompatible QoS."""
        for subscription in list(self.subscriptions):
            topic, kind = subscription.topic_name, subscription.msg_type
            wanted = f"{kind.__module__.split('.')[0]}/msg/{kind.__name__}"
            for publisher in self.get_publishers_info_by_topic(topic):
                name = node_of(publisher)
                compatible, reason = qos_check_compatible(publisher.qos_profile, subscription.qos_profile)
                if publisher.topic_type != wanted:
                    reason = f"{publisher.topic_type}, not {wanted}"
                elif compatible != QoSCompatibility.ERROR:
                    continue
                if (topic, name) not in self._mismatched:
                    self._mismatched.add((topic, name))
                    self.get_logger().warning(f"nothing comes on {topic} from {name}: {reason}")

    def _guarded(self, callback: Callable[..., None], what: str) -> Callable[..., None]:
        @functools.wraps(callback)  # by its signature rclpy knows whether it wants the message's info
        def call(*args: Any) -> None:
            try:
                callback(*args)
            except Exception as error:
                log_fault(self, what, error)

        return call


def node_of(info: Any) -> str:
    """Name of an endpoint's node with its namespace, of what the graph tells about the endpoint: "/camera"."""
    return f"{info.node_namespace.rstrip('/')}/{info.node_name}"


_logged: dict[tuple[str, str, str], float] = {}
_lock = threading.Lock()


def log_fault(node: Node, what: str, error: Exception) -> None:
    """Log an exception, errors of one kind at most every REPEAT seconds."""
    key, now = (node.get_name(), what, type(error).__name__), time.monotonic()
    with _lock:
        if now - _logged.get(key, float("-inf")) < REPEAT:
            return
        _logged[key] = now
    if node.context.ok():
        node.get_logger().error(f"{what} could not be handled ({_shown(error)} in {_place(error)}); it is left out")


def _shown(error: Exception) -> str:
    return f"{type(error).__name__}: {error!s:.200}"


def _place(error: Exception) -> str:
    """File and line of the innermost call."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return "unknown code"
    return f"{trace.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{trace.tb_lineno}"

"""The newest picture of each camera that a policy is to see, by the topic of its images."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rclpy.callback_groups import MutuallyExclusiveCallbackGroup
from rclpy.node import Node
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import CompressedImage, Image

from planweave.perception.cameras.ros_topics import colour_of, is_compressed
from planweave.perception.decoding import FrameError

_FIRST = 3.0  # s of wall time for the first picture of a topic
_IDLE = 2.0  # s of wall time after which nobody wants a topic's pictures any more: they cost time
_FRESH = 0.5  # s of wall time for which a picture counts as what is there now
_SLICE = 0.1  # s of wall time after which a waiting call looks whether it must end


class Pictures:
    """Subscribes to a topic while it is asked for. Called with a topic, gives RGB (height, width, 3)."""

    def __init__(self, node: Node) -> None:
        self._node, self._came = node, threading.Condition()
        self._newest: dict[str, tuple[float, Any]] = {}  # when it came, on the monotonic clock, and the message
        self._wanted: dict[str, tuple[float, Any]] = {}  # when it was asked for last, and the subscription

    def __call__(self, topic: str, check: Callable[[], None]) -> NDArray[np.uint8] | None:
        """The newest picture; waits for one that is new, and gives None where none comes or it cannot be read. check:
        raises where waiting must end.
        """
        end = time.monotonic() + _FIRST
        while (message := self._fresh(topic)) is None:
            check()
            if time.monotonic() >= end:
                return None
        try:
            return colour_of(message)
        except FrameError as error:
            self._node.get_logger().warning(f"{topic}: {error}", throttle_duration_sec=10.0)
            return None

    def _fresh(self, topic: str) -> Any:
        """The newest message of a topic, which one of the next moment is waited for; None where there is none."""
        with self._came:
            if topic not in self._wanted:
                self._newest[topic] = 0.0, None
                subscription = self._node.create_subscription(
                    CompressedImage if is_compressed(topic) else Image,
                    topic,
                    lambda message: self._keep(topic, message),
                    qos_profile_sensor_data,
                    callback_group=MutuallyExclusiveCallbackGroup(),
                )
                self._wanted[topic] = 0.0, subscription
            self._wanted[topic] = time.monotonic(), self._wanted[topic][1]
            came = self._came.wait_for(lambda: time.monotonic() - self._newest[topic][0] < _FRESH, _SLICE)
            return self._newest[topic][1] if came else None

    def _keep(self, topic: str, message: Any) -> None:
        with self._came:
            if topic not in self._wanted:
                return
            asked, subscription = self._wanted[topic]
            if time.monotonic() - asked > _IDLE + _FIRST:
                del self._wanted[topic]
                self._node.destroy_subscription(subscription)
                return
            self._newest[topic] = time.monotonic(), message
            self._came.notify_all()

"""Only one body in a ROS domain: two executors would move the same arm."""

from __future__ import annotations

import time

from rclpy.node import Node

from planweave.errors import ConfigError

DISCOVERY = 1.0
"""Seconds after its start in which a node hears of the others."""


def refuse_a_second_body(node: Node, since: float, topic: str = "/world_state") -> None:
    """Raise ConfigError where another node than this one publishes the world.

    since: time.monotonic() when the node was made. The node's own publisher must be there already.
    """
    while True:
        others = [
            info.node_name
            for info in node.get_publishers_info_by_topic(topic)
            if info.node_name not in ("_NODE_NAME_UNKNOWN_", "_CREATED_BY_BARE_DDS_APP_")
        ]
        if len(others) > 1:
            others.remove(node.get_name())
            raise ConfigError(
                f"{others[0]} already publishes {topic} in this ROS domain, and two bodies must not move one arm: end "
                "it first, or choose another domain (ROS_DOMAIN_ID); if it was killed a moment ago, wait 20 s"
            )
        left = since + DISCOVERY - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(0.05, left))

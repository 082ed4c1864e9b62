"""Only one body in a ROS domain: two executors would move the same arm."""

from __future__ import annotations

import time

from rclpy.node import Node

from planweave.errors import ConfigError

DISCOVERY = 0.5
"""Seconds after its start in which a node usually hears of the others."""
_NAMELESS = ("_NODE_NAME_UNKNOWN_", "_CREATED_BY_BARE_DDS_APP_")


def second_body(node: Node, topic: str = "/world_state") -> str:
    """What is wrong where another node than this one publishes the world; empty where none does. The node's own
    publisher must be there already.
    """
    others = [info.node_name for info in node.get_publishers_info_by_topic(topic) if info.node_name not in _NAMELESS]
    if len(others) < 2:
        return ""
    others.remove(node.get_name())
    return (
        f"{others[0]} already publishes {topic} in this ROS domain, and two bodies must not move one arm: end one, or "
        "choose another domain (ROS_DOMAIN_ID); if it was killed a moment ago, wait 20 s"
    )


def refuse_a_second_body(node: Node, since: float, topic: str = "/world_state") -> None:
    """Raise ConfigError where there is a second body. since: time.monotonic() when the node was made."""
    while True:
        problem = second_body(node, topic)
        if problem:
            raise ConfigError(problem)
        left = since + DISCOVERY - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(0.05, left))

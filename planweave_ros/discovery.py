"""Test of complete discovery in a ROS domain: only then a node that is not there can be said to be missing."""

from __future__ import annotations

import os

from rclpy.node import Node

from planweave.launcher.domains import is_this_machine, participants
from planweave_ros.only_one import NAMELESS

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

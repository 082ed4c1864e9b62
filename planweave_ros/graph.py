"""Use of the ROS graph by nodes, as permissions of SROS 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias
from xml.etree import ElementTree

from rclpy.action import get_action_client_names_and_types_by_node, get_action_server_names_and_types_by_node
from rclpy.node import Node

Permissions: TypeAlias = dict[tuple[str, str], set[str]]
"""Names by kind (topics, services, actions) and by what is done with them (publish, request, …)."""
_OF_ACTIONS = "/_action/"
_ABSOLUTE = frozenset({"diagnostics", "rosout", "parameter_events"})  # topics that are outside of any namespace
_BOTH = frozenset({"clock"})  # simulation_node tells it in its namespace, Gazebo and recordings outside of any


def permissions_of(observer: Node, name: str, namespace: str = "/") -> Permissions:
    """Current permissions needed by a node, without leading slashes; topics and services of actions are listed as
    actions.
    """
    found = {
        ("topics", "publish"): observer.get_publisher_names_and_types_by_node(name, namespace),
        ("topics", "subscribe"): observer.get_subscriber_names_and_types_by_node(name, namespace),
        ("services", "reply"): observer.get_service_names_and_types_by_node(name, namespace),
        ("services", "request"): observer.get_client_names_and_types_by_node(name, namespace),
        ("actions", "execute"): get_action_server_names_and_types_by_node(observer, name, namespace),
        ("actions", "call"): get_action_client_names_and_types_by_node(observer, name, namespace),
    }
    return {way: {n.lstrip("/") for n, _ in names if _OF_ACTIONS not in n} for way, names in found.items()}


def offers(permissions: Permissions, topics: Iterable[str], services: Iterable[str], actions: Iterable[str]) -> bool:
    """Return whether a node publishes and serves all of these already."""
    return all(
        name.lstrip("/") in permissions[way]
        for way, names in (
            (("topics", "publish"), topics),
            (("services", "reply"), services),
            (("actions", "execute"), actions),
        )
        for name in names
    )


def policies(nodes: Mapping[str, Permissions], namespace: str = "/") -> str:
    """A policy file of SROS 2 with an enclave for each node, /planweave/NODE, or /planweave/NAMESPACE/NODE.

    Names are relative, as SROS 2 takes them: the profile's `ns` comes before those without a slash.
    """
    inside = namespace.strip("/")
    policy = ElementTree.Element("policy", version="0.2.0")
    enclaves = ElementTree.SubElement(policy, "enclaves")
    for node, permissions in sorted(nodes.items()):
        path = "/".join(filter(None, ("/planweave", inside, node)))
        enclave = ElementTree.SubElement(enclaves, "enclave", path=path)
        profile = ElementTree.SubElement(
            ElementTree.SubElement(enclave, "profiles"), "profile", ns=f"/{inside}", node=node
        )
        for (kind, way), names in permissions.items():
            if names:
                group = ElementTree.SubElement(profile, kind, {way: "ALLOW"})
                for name in sorted(_with_slashes(names) if inside and kind == "topics" else names):
                    ElementTree.SubElement(group, kind[:-1]).text = name
    ElementTree.indent(policy)
    return ElementTree.tostring(policy, encoding="unicode", xml_declaration=True) + "\n"


def _with_slashes(topics: Iterable[str]) -> set[str]:
    """Topics for a profile in a namespace: with a slash what is outside of it."""
    names = set(topics)
    return {f"/{name}" if name in _ABSOLUTE else name for name in names} | {f"/{name}" for name in names & _BOTH}


def read_policies(text: str) -> dict[str, Permissions]:
    """The permissions of each node in a policy file that `policies` wrote."""
    found: dict[str, Permissions] = {}
    for profile in ElementTree.fromstring(text.encode()).iter("profile"):
        found[profile.get("node", "")] = {
            (group.tag, way): {element.text or "" for element in group} for group in profile for way in group.attrib
        }
    return found


def missing(permissions: Permissions, allowed: Permissions) -> list[str]:
    """Interfaces used but not permitted, e.g. "topics publish tf"."""
    return [
        f"{kind} {way} {name}"
        for (kind, way), names in permissions.items()
        for name in sorted(names - allowed.get((kind, way), set()))
    ]


def together(parts: Iterable[Permissions]) -> Permissions:
    found: Permissions = {}
    for part in parts:
        for way, names in part.items():
            found.setdefault(way, set()).update(names)
    return found

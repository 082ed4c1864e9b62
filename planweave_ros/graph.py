"""What nodes use of the ROS graph, as permissions of SROS 2."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias
from xml.etree import ElementTree

from rclpy.action import get_action_client_names_and_types_by_node, get_action_server_names_and_types_by_node
from rclpy.node import Node

Permissions: TypeAlias = dict[tuple[str, str], set[str]]
"""Names by kind (topics, services, actions) and by what is done with them (publish, request, …)."""
_OF_ACTIONS = "/_action/"


def permissions_of(observer: Node, name: str, namespace: str = "/") -> Permissions:
    """What a node of the graph uses now, without leading slashes; topics and services of actions are the actions'."""
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
    """Whether a node publishes and serves all of these already."""
    return all(name.lstrip("/") in permissions[way] for way, names in (
        (("topics", "publish"), topics), (("services", "reply"), services), (("actions", "execute"), actions),
    ) for name in names)


def policies(nodes: Mapping[str, Permissions]) -> str:
    """A policy file of SROS 2 with an enclave for each node."""
    policy = ElementTree.Element("policy", version="0.2.0")
    enclaves = ElementTree.SubElement(policy, "enclaves")
    for node, permissions in sorted(nodes.items()):
        enclave = ElementTree.SubElement(enclaves, "enclave", path=f"/planweave/{node}")
        profile = ElementTree.SubElement(ElementTree.SubElement(enclave, "profiles"), "profile", ns="/", node=node)
        for (kind, way), names in permissions.items():
            if names:
                group = ElementTree.SubElement(profile, kind, {way: "ALLOW"})
                for name in sorted(names):
                    ElementTree.SubElement(group, kind[:-1]).text = name
    ElementTree.indent(policy)
    return ElementTree.tostring(policy, encoding="unicode", xml_declaration=True) + "\n"


def read_policies(text: str) -> dict[str, Permissions]:
    """The permissions of each node in a policy file that `policies` wrote."""
    found: dict[str, Permissions] = {}
    for profile in ElementTree.fromstring(text.encode()).iter("profile"):
        found[profile.get("node", "")] = {
            (group.tag, way): {element.text or "" for element in group} for group in profile for way in group.attrib}
    return found


def missing(permissions: Permissions, allowed: Permissions) -> list[str]:
    """What is used and not allowed, e.g. "topics publish tf"."""
    return [f"{kind} {way} {name}" for (kind, way), names in permissions.items()
            for name in sorted(names - allowed.get((kind, way), set()))]


def together(parts: Iterable[Permissions]) -> Permissions:
    """Everything that any of the parts has."""
    found: Permissions = {}
    for part in parts:
        for way, names in part.items():
            found.setdefault(way, set()).update(names)
    return found

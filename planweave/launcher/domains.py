"""ROS domains on this machine: whether anybody is in one, of any user and any program, without joining it."""

from __future__ import annotations

import contextlib
import os
import socket
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from planweave.core.base.errors import ConfigError

VARIABLE = "ROS_DOMAIN_ID"
HIGHEST = 101
"""Above it, the ports of a domain may lie among those of outgoing connections (ip_local_port_range)."""
# UDP ports of DDSI-RTPS 2.5, section 9.6.2.3: 7400 + 250 * domain + 10 + 2 * participant for discovery by unicast
_PORT_BASE, _DOMAIN_GAIN, _UNICAST, _PARTICIPANT_GAIN = 7400, 250, 10, 2
_RESERVED = 5  # port of a domain that no participant has
_TABLES = (Path("/proc/net/udp"), Path("/proc/net/udp6"))


def is_named() -> bool:
    return bool(os.environ.get(VARIABLE))


def domain() -> int:
    """The domain of this process; raises ConfigError where ROS_DOMAIN_ID is none."""
    text = os.environ.get(VARIABLE) or "0"
    if not text.isdecimal() or not text.isascii() or int(text) > 232:
        raise ConfigError(f"{VARIABLE}={text!r}: expected a number from 0 to {HIGHEST}")
    return int(text)


def participants(domain: int) -> int | None:
    """Number of DDS participants of this machine in a domain, by their UDP ports; None where that cannot be read.

    A ROS process with nodes is one participant. Other machines, and containers with a network of their own, do not
    count.
    """
    first = _PORT_BASE + _DOMAIN_GAIN * domain
    ports: set[int] = set()
    try:
        for table in _TABLES:
            ports.update(_ports(table.read_text().splitlines()[1:]) if table.exists() else ())
    except (OSError, ValueError, IndexError):
        return None
    return len(ports.intersection(range(first + _UNICAST, first + _DOMAIN_GAIN, _PARTICIPANT_GAIN)))


@contextlib.contextmanager
def reserved(domain: int) -> Iterator[bool]:
    """Reserve a domain on this machine until the end of the block; gives whether nobody else has.

    By a UDP port of the domain: also users and containers that share no files see it, and the kernel releases it.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as held:
        try:
            held.bind(("127.0.0.1", _PORT_BASE + _DOMAIN_GAIN * domain + _RESERVED))
        except OSError:
            yield False
        else:
            yield True


def _ports(lines: Iterable[str]) -> Iterable[int]:
    return [int(line.split()[1].rpartition(":")[2], 16) for line in lines]


def is_this_machine(environment: Mapping[str, str]) -> bool:
    """Whether all whom a process with this environment (launcher/environment.py) can discover count as
    `participants`.
    """
    from planweave.launcher.environment import RANGE, is_closed_to_the_network

    local = is_closed_to_the_network(environment) or environment.get(RANGE) in ("LOCALHOST", "OFF")
    rtps = (environment.get("RMW_IMPLEMENTATION") or "rmw_fastrtps").startswith(("rmw_fastrtps", "rmw_cyclonedds"))
    return local and rtps and not environment.get("ROS_STATIC_PEERS") and _TABLES[0].exists()


def is_empty(domain: int, environment: Mapping[str, str] = os.environ) -> bool:
    """Whether it is certain that nobody is in a domain."""
    return is_this_machine(environment) and participants(domain) == 0

"""The system that a benchmark measures, its node beside it, and waiting for what the system brings about."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from rclpy.node import Node
from rich.console import Console

from planweave.bodies.arm import waiting
from planweave.core.base.errors import SystemDownError
from planweave.launcher.running_system import RunningSystem, log_folder
from planweave.launcher.systems import System
from planweave_ros.client import Client
from planweave_ros.spin import executor_of, own_node, spun


@contextlib.contextmanager
def started_system(
    system: System, console: Console, overrides: dict[str, dict[str, Any]] | None = None
) -> Iterator[tuple[Client, RunningSystem]]:
    with Client() as client, RunningSystem(system, log_folder("bench"), overrides) as running:
        console.print(f"starting {system.name}; logs: {running.logs}", markup=False)
        running.wait_ready(client)
        yield client, running


@contextlib.contextmanager
def spun_node(name: str) -> Iterator[Node]:
    """A node of its own context, spun in a thread."""
    with own_node(name) as node, spun(executor_of(node)):
        yield node


def until(condition: Callable[[], bool], seconds: float, meanwhile: Callable[[], None] = lambda: None) -> bool:
    """Whether a condition comes to hold within some seconds of wall time; meanwhile() is called between two looks."""
    return waiting.until(condition, seconds, 0.01, meanwhile)


def wait_until(condition: Callable[[], bool], seconds: float, what: str) -> None:
    """Wait for a condition; raises SystemDownError after some seconds of wall time."""
    if not until(condition, seconds):
        raise SystemDownError(f"waited {seconds:g} s in vain for {what}")

"""The environment that ROS needs in a process before it starts.

The dynamic loader reads LD_LIBRARY_PATH once, at start, so a program that finds it wrong must start itself again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

_GUARD = "_PLANWEAVE_ENVIRONMENT"


def ros_environment(base: Mapping[str, str], prefix: Path) -> dict[str, str]:
    """``base`` with what ROS programs of the virtual environment ``prefix`` need.

    Discovery stays on this machine unless the person has said otherwise. With ROS 2 from PyPI its libraries are
    found and its bootstrapper, which would start every program twice, is told that all is set.
    """
    environment = dict(base)
    environment.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    if not (prefix / "lib" / "libplanweave_interfaces__rosidl_generator_c.so").exists():
        return environment  # a sourced workspace has set everything else
    wheels = sorted((prefix / "lib").glob("python*/site-packages/ros_*.libs"))
    _prepend(environment, "LD_LIBRARY_PATH", [prefix / "lib", *wheels])
    _prepend(environment, "AMENT_PREFIX_PATH", [prefix])
    if wheels:
        environment["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
    return environment


def ensure() -> None:
    """Make this process's environment fit for ROS; starts the program anew where that is the only way."""
    environment = ros_environment(os.environ, Path(sys.prefix))
    changed = environment.get("LD_LIBRARY_PATH") != os.environ.get("LD_LIBRARY_PATH")
    if changed and os.environ.get(_GUARD) != str(os.getpid()):
        environment[_GUARD] = str(os.getpid())
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, sys.orig_argv, environment)
    os.environ.update(environment)


def _prepend(environment: dict[str, str], name: str, folders: list[Path]) -> None:
    present = [part for part in environment.get(name, "").split(os.pathsep) if part]
    missing = [str(folder) for folder in folders if str(folder) not in present]
    environment[name] = os.pathsep.join(missing + present)

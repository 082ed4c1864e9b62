"""Environment variables that ROS needs before a process starts.

The dynamic loader reads LD_LIBRARY_PATH once, at start, so a program that finds it unset must restart itself.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

from planweave.core.base.errors import ConfigError
from planweave.core.base.paths import config_dir

RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
"""The variable that limits how far nodes discover one another."""
_PROFILES = "FASTDDS_DEFAULT_PROFILES_FILE"
NETWORK = (RANGE, _PROFILES, "FASTRTPS_DEFAULT_PROFILES_FILE", "ROS_STATIC_PEERS")
"""The variables that say whom nodes can reach."""
_GUARD = "_PLANWEAVE_ENVIRONMENT"


def ros_environment(base: Mapping[str, str], prefix: Path) -> dict[str, str]:
    """``base`` with the variables that ROS programs of the virtual environment ``prefix`` need.

    Communication is limited to this machine unless configured otherwise. With ROS 2 from PyPI the library path is set,
    and its bootstrapper, which would start every program twice, is disabled.
    """
    environment = dict(base)
    if not environment.get(RANGE):
        environment[RANGE] = "LOCALHOST"
    if not (prefix / "lib" / "libplanweave_interfaces__rosidl_generator_c.so").exists():
        return environment  # a sourced workspace has set everything else
    wheels = sorted((prefix / "lib").glob("python*/site-packages/ros_*.libs"))
    _prepend(environment, "LD_LIBRARY_PATH", [prefix / "lib", *wheels])
    _prepend(environment, "AMENT_PREFIX_PATH", [prefix])
    if wheels:
        environment["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        _close_to_the_network(environment)
    return environment


def network_settings(base: Mapping[str, str], prefix: Path) -> dict[str, str]:
    """Variables that a launch file sets to limit nodes to this machine; empty where they are configured otherwise."""
    made = ros_environment(base, prefix)
    return {name: made[name] for name in (RANGE, _PROFILES) if made.get(name, "") != base.get(name, "")}


def is_closed_to_the_network(environment: Mapping[str, str]) -> bool:
    profiles = str(config_dir() / "fastdds.xml")
    return environment.get(_PROFILES) == profiles and environment.get(RANGE) == "SYSTEM_DEFAULT"


def ensure() -> None:
    """Set the environment of this process up for ROS; restarts the program where that is required.

    Raises ConfigError where the sourced ROS is too old.
    """
    refuse_old_ros(os.environ)
    environment = ros_environment(os.environ, Path(sys.prefix))
    changed = environment.get("LD_LIBRARY_PATH") != os.environ.get("LD_LIBRARY_PATH")
    if changed and os.environ.get(_GUARD) != str(os.getpid()):
        environment[_GUARD] = str(os.getpid())
        sys.stdout.flush()
        sys.stderr.flush()
        os.execve(sys.executable, sys.orig_argv, environment)
    os.environ.update(environment)


def keep_to_this_machine() -> None:
    """Limit the communication of this process and its children to this machine, whatever is configured."""
    for name in NETWORK:
        os.environ.pop(name, None)
    os.environ.update(ros_environment(os.environ, Path(sys.prefix)))


def _close_to_the_network(environment: dict[str, str]) -> None:
    """Use config/fastdds.xml instead of LOCALHOST, whose sockets listen on all addresses.

    Not applied with another discovery range, static peers, custom profiles or other middleware: they indicate a
    network, and the sockets of this file are reachable from this machine only.
    """
    profiles = str(config_dir() / "fastdds.xml")
    discovery = environment[RANGE]
    if discovery not in ("LOCALHOST", "SYSTEM_DEFAULT") and environment.get(_PROFILES) == profiles:
        del environment[_PROFILES]  # of planweave.sh, before the person chose another range
    if (
        discovery == "LOCALHOST"
        and environment.get(_PROFILES) in (None, "", profiles)
        and not environment.get("FASTRTPS_DEFAULT_PROFILES_FILE")
        and not environment.get("ROS_STATIC_PEERS")
        and (environment.get("RMW_IMPLEMENTATION") or "rmw_fastrtps").startswith("rmw_fastrtps")
        and os.access(profiles, os.R_OK)
    ):
        environment[_PROFILES] = profiles
        environment[RANGE] = "SYSTEM_DEFAULT"  # the file says all else that LOCALHOST means


def _prepend(environment: dict[str, str], name: str, folders: list[Path]) -> None:
    present = [part for part in environment.get(name, "").split(os.pathsep) if part]
    missing = [str(folder) for folder in folders if str(folder) not in present]
    if missing:  # else also its empty parts stay: what differs makes programs restart
        environment[name] = os.pathsep.join(missing + present)


TOO_OLD = {"foxy", "galactic", "humble"}
"""Distributions that are refused, as by tools/prepare.py, which may not import this."""


def apt_install(*packages: str) -> str:
    """Command that installs packages of the sourced ROS 2, or of Jazzy where none is sourced."""
    distro = os.environ.get("ROS_DISTRO", "jazzy")
    return " ".join(["sudo apt install", *(f"ros-{distro}-{name.replace('_', '-')}" for name in packages)])


def refuse_old_ros(environment: Mapping[str, str]) -> None:
    """Raise ConfigError where the sourced ROS 2 lacks features that the arm's safety depends on."""
    distro = environment.get("ROS_DISTRO", "").lower()
    if distro in TOO_OLD:
        raise ConfigError(
            f"ROS 2 {distro.capitalize()} is sourced, which Planweave refuses: it ignores "
            "ROS_AUTOMATIC_DISCOVERY_RANGE, so every machine in the network could move the arm; its "
            "joint_trajectory_controller has no decelerate_on_cancel, so a stop does not brake; and it has no "
            "moveit_py. Source Jazzy, Kilted or Lyrical"
        )

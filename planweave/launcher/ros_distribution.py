"""Supported ROS 2 distributions."""

from __future__ import annotations

import os
from collections.abc import Mapping

from planweave.core.errors import ConfigError

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

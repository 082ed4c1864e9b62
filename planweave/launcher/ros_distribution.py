"""Supported ROS 2 distributions."""

from __future__ import annotations

from collections.abc import Mapping

from planweave.core.errors import ConfigError

TOO_OLD = {"foxy", "galactic", "humble"}
"""Distributions that are refused, as by tools/prepare.py, which may not import this."""


def refuse_old_ros(environment: Mapping[str, str]) -> None:
    """Raise ConfigError where the sourced ROS 2 lacks features that the arm's safety depends on."""
    distro = environment.get("ROS_DISTRO", "").lower()
    if distro in TOO_OLD:
        raise ConfigError(
            f"ROS 2 {distro.capitalize()} is sourced, which Planweave refuses: it ignores "
            "ROS_AUTOMATIC_DISCOVERY_RANGE, so every machine in the network could move the arm; its "
            "joint_trajectory_controller has no decelerate_on_cancel, so a stop does not brake; and it has no "
            "moveit_py. Source Jazzy or Kilted"
        )

"""Validation of incoming messages: any node in the ROS domain may publish them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

LONGEST = 3600.0
"""Seconds of wall time that one action may take, whatever its goal says."""
_MAX_JOINTS, _MAX_DETECTIONS = 1000, 500  # of one message
_FUTURE = 60.0  # s that an image's stamp may be ahead of the joint states
_LARGEST = 1e4  # rad, m, or per second; nothing that is measured here is larger


def joint_state_fault(
    names: Sequence[str], positions: Sequence[float], velocities: Sequence[float], efforts: Sequence[float] = ()
) -> str:
    """Why a message is not a valid joint state (rad or m, per second, Nm or N; NaN: not measured); else empty."""
    if len(names) > _MAX_JOINTS:
        return f"{len(names)} joints"
    if len(positions) != len(names) or not {len(velocities), len(efforts)} <= {0, len(names)}:
        return (
            f"{len(names)} names, {len(positions)} positions, {len(velocities)} velocities and {len(efforts)} efforts"
        )
    if (np.abs([*positions, *velocities, *efforts]) >= _LARGEST).any():
        return "a number that is infinite, or far too large"
    return ""


def detections_fault(count: int, stamp: float, joints_stamp: float) -> str:
    """Why detections of an image stamped `stamp` are invalid; else empty. joints_stamp: of the newest joint state."""
    if count > _MAX_DETECTIONS:
        return f"{count} objects; at most {_MAX_DETECTIONS} are taken"
    if joints_stamp and stamp > joints_stamp + _FUTURE:
        return f"their image is {stamp - joints_stamp:.0f} s ahead of the joint states; is it the same clock?"
    return ""


def can_be(position: Sequence[float], orientation: Sequence[float], size: Sequence[float]) -> bool:
    """Whether pose (m, quaternion) and size (m) of an object are valid."""
    return bool((np.abs([*position, *orientation, *size]) < _LARGEST).all()) and min(size) > 0

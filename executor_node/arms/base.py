"""What a skill may ask of an arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from executor_node.timing import Trajectory

Array = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ArmState:
    """Measured state: joint positions (7,) rad and velocities (7,) rad/s, finger opening m and its speed m/s,
    stamp in s.
    """

    stamp: float
    positions: Array
    velocities: Array
    width: float
    finger_speed: float = 0.0

    @property
    def still(self) -> bool:
        """Whether no joint moves."""
        return bool((np.abs(self.velocities) < 0.02).all())


Watch = Callable[[ArmState], str]
"""Looks at each measured state during a motion; a text that is not empty stops the arm and says why."""


class Arm(Protocol):
    """An arm with a gripper. Calls block until done and raise SkillFailureError; all waits have deadlines."""

    def state(self) -> ArmState:
        """The newest measured state; CONTROL_FAILED where it is stale."""

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Move along a trajectory that starts where the arm is, and wait until it stands at the end.

        GRASP_LOST where `watch` objects, CONTROL_FAILED where the arm does not get there, CANCELED or TIMEOUT
        when told so.
        """

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Move the fingers to an opening (m) with at most a force (N); returns the opening reached."""

    def check(self) -> None:
        """Raise SkillFailureError when the skill was cancelled or its time is up."""

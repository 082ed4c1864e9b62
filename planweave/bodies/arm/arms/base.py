"""Interfaces of arms: towards skills, and towards the controllers of joints and fingers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from planweave.bodies.arm.timing import Trajectory
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import ActionEnd
from planweave.geometry.arrays import Array

AWAY = 0.03
"""rad by which a trajectory may begin elsewhere than the arm stands: a controller would jump there, with all its gain.
MoveIt's own bound (trajectory_execution.allowed_start_tolerance) is 0.02.
"""
OFF = 0.05
"""rad by which a joint, measured or as the controller wants it, may be off the path of a motion. Above the tolerance of
the controllers (0.04 in config/), which tell a contact by their own error; at a start AWAY is within it.
"""


@dataclass(frozen=True, slots=True)
class ArmState:
    """Measured state: joint positions (n,) rad and velocities (n,) rad/s, finger opening m and its speed m/s, stamp in
    s. fingers: whether the opening is measured; else it is the last one known, or NaN. efforts: joint torques (n,) Nm,
    that of gravity included; None where the robot reports none.
    """

    stamp: float
    positions: Array
    velocities: Array
    width: float
    finger_speed: float = 0.0
    fingers: bool = True
    efforts: Array | None = None

    @property
    def still(self) -> bool:
        return bool((np.abs(self.velocities) < 0.02).all())


class Arm(Protocol):
    """An arm with a gripper. Calls block until done and raise SkillFailureError; all waits have deadlines."""

    def state(self) -> ArmState:
        """The newest measured state; CONTROL_FAILED where it is stale. Reading it stops nothing."""

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Follow a trajectory that starts at the current position, and wait until the arm rests at its end.

        Raises what `watch` reports, such as GRASP_LOST, COLLISION where the arm is held off its path, SAFETY_STOP where
        somebody else moves it or the robot stopped itself, CONTROL_FAILED where it does not reach the end, CANCELED or
        TIMEOUT.
        """

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Move the fingers to an opening (m) with at most a force (N); returns the opening reached."""

    def check(self) -> None:
        """Raise SkillFailureError when the skill was cancelled or its time is up."""


# ---- behind an arm ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MotionResult:
    """Result of a motion, as reported by a controller; message is empty for SUCCESS.

    A controller may not say why it gave up. if_no_joint_states: message where the joint states end with it, too
    (SAFETY_STOP: the robot stopped itself); if_behind: where the arm is measured to have been held (COLLISION).
    foreign: whether a command of another client ended it.
    """

    code: Code
    message: str = ""
    if_no_joint_states: str = ""
    if_behind: str = ""
    foreign: bool = False


Watch = Callable[[ArmState], "MotionResult | None"]
"""Looks at each measured state during a motion; a result, which is no success, stops the arm."""
Done = Callable[[MotionResult], None]
"""Called once, from any thread, when a motion has ended."""
Desired = Callable[[Array], None]
"""Called from any thread with the joint positions (n,) rad that the controller wants at the moment."""


class Follower(Protocol):
    """Executes joint trajectories. Calls do not block."""

    away: float
    """rad by which a trajectory may begin elsewhere than the arm stands; see AWAY."""
    off: float
    """rad by which a joint may be off the path of a motion; see OFF."""
    grace: float
    """Seconds of the controller's time without progress along a trajectory after which it has failed."""
    settle: float
    """Seconds of the controller's time after its report in which the arm must be measured at rest; then the report
    counts.
    """

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        """Start following a trajectory."""

    def stop(self) -> str:
        """Stop and hold, regardless of what was sent before; returns why the stop cannot have arrived, else empty."""


class OtherCommanders(Protocol):
    """Other clients that may command the arm's controller."""

    def named(self) -> str:
        """The nodes that publish to the controller's topic or are clients of its action, as a list; empty for none."""

    def moving(self) -> str:
        """Why the arm is not free: a goal of another client is carried out; else empty."""


class Gripper(Protocol):
    """Moves the fingers. Calls do not block."""

    grace: float
    """Seconds of the controller's time that one movement may take."""
    settle: float
    """Seconds of the controller's time after which the measured opening is that of the end of a movement."""

    def start(self, width: float, force: float, done: Done) -> None:
        """Start moving to an opening (m) with at most a force (N)."""

    def stop(self) -> None:
        """Stop the fingers at their current position."""


class GoalPort(Protocol):
    """A client of one ROS action. Calls do not block."""

    def send(self, goal: Any, done: Callable[[ActionEnd], None], feedback: Callable[[Any], None] | None = None) -> None:
        """Send a goal message; `done` is called once, from any thread, unless the server dies, and `feedback` with each
        feedback message.
        """

    def cancel(self) -> str:
        """Cancel all goals of the server, also those of other clients; returns why it was not reached, else empty."""

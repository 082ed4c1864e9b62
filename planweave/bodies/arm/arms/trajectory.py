"""An arm behind JointTrajectory topics, as simulation_node has it; no ROS in here.

Publishing is done by two callables. A trajectory without points stops the arm. ros2_control's
joint_trajectory_controller refuses such a message (Jazzy, version 4.42: "Empty trajectory received"), and efforts
in a message for fingers moved by position: there `planweave.bodies.arm.arms.follow` is the right one.
"""

from __future__ import annotations

from collections.abc import Callable

from planweave.bodies.arm.arms.base import Done
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.timing import Trajectory


class TopicFollower:
    """Publishes trajectories; nobody reports. send: publishes a trajectory, or with None the one that stops."""

    reports = False
    grace = 1.0

    def __init__(self, send: Callable[[Trajectory | None], None]):
        self._send = send

    def start(self, trajectory: Trajectory, done: Done) -> None:
        """Publish it."""
        self._send(trajectory)

    def stop(self) -> str:
        """Publish an empty one."""
        self._send(None)
        return ""


class TopicGripper:
    """Publishes openings (m) with a force (N); nobody reports."""

    reports = False
    grace = 4.0
    settle = 0.0

    def __init__(self, send: Callable[[float, float], None]):
        self._send = send

    def start(self, width: float, force: float, done: Done) -> None:
        """Publish it."""
        self._send(width, force)

    def stop(self) -> None:
        """Fingers stop by themselves at what they hold; letting go would be worse."""


class TrajectoryArm(ControlledArm):
    """An arm whose joints and fingers both listen to topics."""

    def __init__(
        self,
        send_arm: Callable[[Trajectory | None], None],
        send_gripper: Callable[[float, float], None],
        silence: float = 3.0,
    ):
        super().__init__(TopicFollower(send_arm), TopicGripper(send_gripper), silence)

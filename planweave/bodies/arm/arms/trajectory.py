"""An arm behind JointTrajectory topics, as in simulation_node; without ROS.

Two callables publish. A trajectory without points stops the arm. ros2_control's joint_trajectory_controller rejects
such a message (Jazzy, version 4.42: "Empty trajectory received"), and efforts in a message for position-controlled
fingers: use `planweave.bodies.arm.arms.follow` for it.
"""

from __future__ import annotations

from collections.abc import Callable

from planweave.bodies.arm.arms.base import Desired, Done
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.timing import Trajectory


class TopicFollower:
    """Publishes trajectories, without feedback. send: publishes a trajectory; None publishes the one that stops."""

    reports = False
    grace = 1.0

    def __init__(self, send: Callable[[Trajectory | None], None]):
        self._send = send

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        """Publish the trajectory."""
        self._send(trajectory)

    def stop(self) -> str:
        """Publish an empty trajectory."""
        self._send(None)
        return ""


class TopicGripper:
    """Publishes openings (m) with a force (N), without feedback."""

    reports = False
    grace = 4.0
    settle = 0.0

    def __init__(self, send: Callable[[float, float], None]):
        self._send = send

    def start(self, width: float, force: float, done: Done) -> None:
        """Publish the opening."""
        self._send(width, force)

    def stop(self) -> None:
        """Does nothing: fingers stop at the object they hold, and opening them would drop it."""


class TrajectoryArm(ControlledArm):
    """An arm whose joints and fingers are commanded by topics."""

    def __init__(
        self,
        send_arm: Callable[[Trajectory | None], None],
        send_gripper: Callable[[float, float], None],
        silence: float = 3.0,
    ):
        super().__init__(TopicFollower(send_arm), TopicGripper(send_gripper), silence)

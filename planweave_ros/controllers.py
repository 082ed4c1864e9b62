"""Messages of ros2_control's controllers and of franka_ros2, where their packages are installed.

Names and fields as in control_msgs (Jazzy; those used are the same in 6.8 of Lyrical's series) and franka_msgs of
franka_ros2 v3.4.0.
"""

from __future__ import annotations

import importlib
from array import array
from collections.abc import Sequence
from typing import Any

from builtin_interfaces.msg import Duration
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

from planweave.core.base.errors import ConfigError
from planweave.launcher.environment import apt_install

ERROR_RECOVERY = "action_server/error_recovery"
_RELEASED = {"control_msgs", "controller_manager_msgs"}  # as packages of ROS 2, unlike those of franka_ros2
_STROKE = 0.08  # m


def interface(package: str, kind: str, name: str) -> Any:
    """An action, service or message type by package, kind ("action", …) and name; ConfigError that says what to
    install.
    """
    try:
        return getattr(importlib.import_module(f"{package}.{kind}"), name)
    except ImportError:
        how = (
            apt_install(package)
            if package in _RELEASED
            else "build franka_ros2 and source its workspace before Planweave's (docs/franka.md)"
        )
        raise ConfigError(f"the ROS package {package} is not installed, which this arm needs: {how}") from None


def joint_trajectory(
    names: Sequence[str], times: Sequence[float], positions: Sequence[Any], velocities: Sequence[Any]
) -> JointTrajectory:
    """A trajectory message; times in s, rows of joint positions in rad and velocities in rad/s."""
    return JointTrajectory(
        joint_names=list(names),
        points=[
            JointTrajectoryPoint(positions=array("d", q), velocities=array("d", v), time_from_start=duration(float(t)))
            for t, q, v in zip(times, positions, velocities)
        ],
    )


def duration(seconds: float) -> Duration:
    nanoseconds = round(seconds * 1e9)
    return Duration(sec=nanoseconds // 1_000_000_000, nanosec=nanoseconds % 1_000_000_000)


def follow_goal(trajectory: JointTrajectory) -> Any:
    """A goal of FollowJointTrajectory; tolerances are the controller's own."""
    goal = interface("control_msgs", "action", "FollowJointTrajectory").Goal()
    goal.trajectory = trajectory
    return goal


def gripper_command_goal(position: float, force: float) -> Any:
    """A goal of GripperCommand: position of the gripper's joint (m or rad) and force (N)."""
    goal = interface("control_msgs", "action", "GripperCommand").Goal()
    goal.command.position, goal.command.max_effort = position, force
    return goal


def parallel_gripper_goal(joint: str, position: float, force: float) -> Any:
    """A goal of ParallelGripperCommand: position of the gripper's joint (m or rad) and force (N)."""
    goal = interface("control_msgs", "action", "ParallelGripperCommand").Goal()
    goal.command.name, goal.command.position, goal.command.effort = [joint], [position], [force]
    return goal


def homing_goal() -> Any:
    return interface("franka_msgs", "action", "Homing").Goal()


def move_goal(width: float, speed: float) -> Any:
    """A goal of franka_msgs Move: opening in m, speed in m/s."""
    goal = interface("franka_msgs", "action", "Move").Goal()
    goal.width, goal.speed = width, speed
    return goal


def grasp_goal(force: float, speed: float) -> Any:
    """A goal of franka_msgs Grasp that closes with a force (N) and succeeds at any opening."""
    goal = interface("franka_msgs", "action", "Grasp").Goal()
    goal.width, goal.speed, goal.force = 0.0, speed, force
    goal.epsilon.inner = goal.epsilon.outer = _STROKE
    return goal

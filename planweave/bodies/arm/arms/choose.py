"""Factories of the arm and the planner selected by parameters; ROS enters through `Ports`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from planweave.bodies.arm.arms.base import Follower, GoalPort, Gripper, OtherCommanders
from planweave.bodies.arm.arms.controlled import ControlledArm
from planweave.bodies.arm.arms.follow import ActionFollower
from planweave.bodies.arm.arms.grippers import CommandGripper, FrankaGoals, FrankaGripper, NoGripper
from planweave.bodies.arm.arms.moveit import PIPELINES, MoveItFollower, MoveItPlanner
from planweave.bodies.arm.arms.moveit_process import MoveItProcess
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import Trajectory
from planweave.robots import RobotDescription

ARMS = ("follow", "moveit")
GRIPPERS = ("parallel", "command", "franka", "none")
HandMakers = tuple[Callable[[], Any], Callable[[float, float], Any], Callable[[float, float], Any]]
__all__ = ["ARMS", "GRIPPERS", "PIPELINES", "Ports", "make_arm", "make_gripper", "make_planner"]


class Ports(Protocol):
    """ROS interfaces of the arms; only those of the selected ones are created."""

    def follow(self) -> tuple[GoalPort, Callable[[Trajectory], Any]]:
        """The arm controller's action, and the conversion of a trajectory to its goal."""

    def gripper_command(self, parallel: bool) -> tuple[GoalPort, Callable[[float, float], Any]]:
        """The finger controller's action, and the conversion of opening (m) and force (N) to its goal."""

    def hand_actions(self) -> tuple[tuple[GoalPort, GoalPort, GoalPort], HandMakers]:
        """The hand's actions homing, move and grasp, and the factories of their goals (see FrankaGoals)."""

    def cancel_arm(self) -> Callable[[], str]:
        """Cancels all goals of the arm's controller; see GoalPort.cancel."""


def make_arm(
    kind: str,
    gripper: Gripper,
    ports: Ports,
    joint_state_timeout: float,
    process: MoveItProcess | None,
    names: RosNames,
    robot: RobotDescription,
    others: OtherCommanders | None = None,
) -> ControlledArm:
    """Create an arm of ARMS. joint_state_timeout, names, others: see ControlledArm. process: for "moveit"."""
    follower: Follower
    if kind == "moveit":
        assert process is not None
        follower = MoveItFollower(process, ports.cancel_arm(), names)
    else:
        follower = ActionFollower(*ports.follow(), robot.joint_names, names)
    return ControlledArm(follower, gripper, joint_state_timeout, robot, names, others)


def make_gripper(kind: str, ports: Ports, home: bool) -> Gripper:
    """Create a gripper of GRIPPERS. home: whether Franka's hand is homed before its first motion."""
    if kind == "franka":
        actions, goals = ports.hand_actions()
        return FrankaGripper(actions[0], actions[1], actions[2], FrankaGoals(*goals), home)
    return NoGripper() if kind == "none" else CommandGripper(*ports.gripper_command(parallel=kind == "parallel"))


def make_planner(
    scene: PlanningScene,
    kinematics: Kinematics,
    check: Callable[[], None],
    process: MoveItProcess | None,
    pipeline: str,
) -> MotionPlanner:
    """MoveIt's planner where its process is given, else our own. check: raises where planning must end."""
    if process is None:
        return MotionPlanner(scene, kinematics)
    return MoveItPlanner(scene, kinematics, process, pipeline, check)

"""The arm and the planner that the parameters choose; ROS comes in through `Ports`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from executor_node.arms.base import Follower, GoalPort, Gripper
from executor_node.arms.controlled import ControlledArm
from executor_node.arms.follow import ActionFollower
from executor_node.arms.grippers import CommandGripper, FrankaGoals, FrankaGripper, NoGripper
from executor_node.arms.moveit import PIPELINES, MoveItFollower, MoveItPlanner
from executor_node.arms.moveit_process import MoveItProcess
from executor_node.arms.trajectory import TopicFollower, TopicGripper
from executor_node.kinematics import Kinematics
from executor_node.motion import MotionPlanner
from executor_node.planning_scene import PlanningScene
from executor_node.ros_names import RosNames
from executor_node.timing import Trajectory

ARMS = ("trajectory", "follow", "moveit")
GRIPPERS = ("trajectory", "command", "franka", "none")
FrankaMakers = tuple[Callable[[], Any], Callable[[float, float], Any], Callable[[float, float], Any]]
__all__ = ["ARMS", "GRIPPERS", "PIPELINES", "Ports", "make_arm", "make_gripper", "make_planner"]


class Ports(Protocol):
    """What the arms need of ROS; only what the chosen ones need is asked for."""

    def publish_arm(self, trajectory: Trajectory | None) -> None:
        """Publish a trajectory, or with None the one that stops."""

    def publish_gripper(self, width: float, force: float) -> None:
        """Publish an opening (m) and a force (N)."""

    def follow(self) -> tuple[GoalPort, Callable[[Trajectory], Any]]:
        """The arm controller's action, and a trajectory as its goal."""

    def gripper_command(self) -> tuple[GoalPort, Callable[[float, float], Any]]:
        """The finger controller's action, and an opening (m) and a force (N) as its goal."""

    def franka_gripper(self) -> tuple[tuple[GoalPort, GoalPort, GoalPort], FrankaMakers]:
        """The hand's actions homing, move and grasp, and what makes their goals (see FrankaGoals)."""

    def cancel_arm(self) -> Callable[[], str]:
        """Cancels whatever the arm's controller works on; see GoalPort.cancel."""


def make_arm(
    kind: str, gripper: Gripper, ports: Ports, silence: float, process: MoveItProcess | None, names: RosNames
) -> ControlledArm:
    """An arm of ARMS. silence: see ControlledArm. process: for "moveit". names: told where the controller fails."""
    follower: Follower
    if kind == "moveit":
        assert process is not None
        follower = MoveItFollower(process, ports.cancel_arm())
    elif kind == "follow":
        follower = ActionFollower(*ports.follow(), names.how_to_recover)
    else:
        follower = TopicFollower(ports.publish_arm)
    return ControlledArm(follower, gripper, silence)


def make_gripper(kind: str, ports: Ports, home: bool) -> Gripper:
    """A gripper of GRIPPERS. home: whether Franka's hand is homed before its first movement."""
    if kind == "franka":
        actions, goals = ports.franka_gripper()
        return FrankaGripper(actions[0], actions[1], actions[2], FrankaGoals(*goals), home)
    if kind == "command":
        return CommandGripper(*ports.gripper_command())
    return NoGripper() if kind == "none" else TopicGripper(ports.publish_gripper)


def make_planner(
    scene: PlanningScene, kinematics: Kinematics, arm: ControlledArm, process: MoveItProcess | None, pipeline: str
) -> MotionPlanner:
    """MoveIt's planner where there is a process of it, else our own."""
    if process is None:
        return MotionPlanner(scene, kinematics)
    return MoveItPlanner(scene, kinematics, process, pipeline, arm.check)

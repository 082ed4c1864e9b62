"""Which robot is configured, and which controllers may move it."""

from __future__ import annotations

from typing import Literal

from planweave.core.base.errors import ConfigError
from planweave.robots import RobotDescription

STAND_INS = ("simulation", "gazebo", "fake")
"""simulation_node; the robot in Gazebo; its driver's fake hardware. A real one is called by its description's name."""


def is_real(robot: str) -> bool:
    """Whether the parameter robot names a real arm."""
    return bool(robot) and robot not in STAND_INS


def kind_of(robot: str, description: RobotDescription) -> Literal["simulation", "driver", "robot"]:
    """Kind of robot for remedies, by the parameter robot; RosNames.kind: /executor/recover is offered for a real arm
    whose driver can be told.
    """
    if robot == "simulation":
        return "simulation"
    return "robot" if is_real(robot) and description.ros.driver else "driver"


def check_robot(node: str, robot: str, arm: str, gripper: str, description: RobotDescription) -> None:
    """Raise ConfigError where parameters do not name the robot, or are inconsistent.

    node: its fully qualified name. An empty robot means that no parameter file matched this node. description: the one
    that the parameter robot_type chose, whose limits are enforced.
    """
    known = (*STAND_INS, description.name)
    files = description.ros.parameters
    if not robot:
        raise ConfigError(
            f"{node}: nothing says which robot this is (parameter robot: {', '.join(known)}), so no parameter file is "
            f"for this node; give one with an entry /**/{node.rpartition('/')[2]} or {node}, e.g. for a real arm "
            f"--params-file config/executor.yaml --params-file {files}"
        )
    if robot not in known:
        raise ConfigError(
            f"{node}: robot is {robot}, but robot_type, whose limits and names are used, is {description.name} "
            f"({description.title}); robot must be one of {', '.join(known)}, or robot_type the description of {robot}"
        )
    if gripper == "franka" and description.ros.gripper != "franka":
        raise ConfigError(
            f"{node}: gripper: franka is the hand of another robot than {description.title} (robot_type: "
            f"{description.name}); use gripper: {description.ros.gripper}"
        )
    if arm == "moveit" and not description.planners.moveit_group:
        raise ConfigError(
            f"{node}: arm: moveit needs the name of MoveIt's planning group, which the description of "
            f"{description.title} lacks (planners: moveit_group in {description.file}); give it there, or use "
            "arm: follow"
        )
    for part, value, simulated in (("arm", arm, ("follow",)), ("gripper", gripper, ("parallel", "none"))):
        if robot == "simulation" and value not in simulated:
            raise ConfigError(
                f"{node}: {part}: {value} is not what simulation_node offers (robot: simulation); use {part}: "
                f"{' or '.join(simulated)}, or, for another robot, {files} or config/gazebo.yaml after "
                "config/executor.yaml"
            )

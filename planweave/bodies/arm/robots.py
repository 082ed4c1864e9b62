"""Which robot is configured, and which controllers may move it: those of a simulated arm never move a real one."""

from __future__ import annotations

from planweave.core.errors import ConfigError

ROBOTS = ("simulation", "gazebo", "fake", "fr3")
"""simulation_node; an FR3 in Gazebo; franka_ros2's fake hardware; a real Franka Research 3."""


def check_robot(node: str, robot: str, arm: str, gripper: str) -> None:
    """Raise ConfigError where parameters do not name the robot, or are inconsistent.

    node: its fully qualified name. An empty robot means that no parameter file matched this node.
    """
    if robot not in ROBOTS:
        raise ConfigError(
            f"{node}: nothing says which robot this is (parameter robot: {', '.join(ROBOTS)}), so no parameter file is "
            f"for this node; give one with an entry /**/{node.rpartition('/')[2]} or {node}, e.g. for a real arm "
            "--params-file config/executor.yaml --params-file config/franka.yaml"
        )
    for part, value in (("arm", arm), ("gripper", gripper)):
        if robot == "simulation" and value not in ("trajectory", "none"):
            raise ConfigError(
                f"{node}: {part}: {value} moves a real arm or one in Gazebo, but the parameters are those of the "
                "simulation (robot: simulation), with its speeds and without approval; give config/franka.yaml or "
                "config/gazebo.yaml after config/executor.yaml"
            )
        if robot != "simulation" and value == "trajectory":
            raise ConfigError(
                f"{node}: {part}: trajectory is for simulation_node only, but robot is {robot}: ros2_control refuses "
                f"the empty trajectory that stops the simulation; use {part}: "
                f"{'follow or moveit' if part == 'arm' else 'franka, command or none'}"
            )

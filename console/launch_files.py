"""A system of config/systems.yaml as a launch description: what every file in launch/ returns."""

from __future__ import annotations

from typing import Any

from console.systems import load_system


def launch_description(name: str) -> Any:
    """Every node with its parameter file, an argument for every option; the end of one node ends all.

    Needs launch and launch_ros, which come with a ROS 2 installation.
    """
    from launch.actions import DeclareLaunchArgument, Shutdown
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    from launch import LaunchDescription

    system = load_system(name)
    arguments = [
        DeclareLaunchArgument(option.name, default_value=str(option.default), description=option.description)
        for option in system.options
    ]
    nodes = []
    for spec in system.nodes:
        options = {
            option.parameter: ParameterValue(LaunchConfiguration(option.name), value_type=type(option.default))
            for option in system.options if option.node == spec.name
        }
        nodes.append(Node(
            package="planweave", executable=spec.name, output="screen",
            parameters=[str(spec.parameter_file), *([options] if options else [])],
            on_exit=Shutdown(reason=f"{spec.name} ended"),
        ))
    return LaunchDescription([*arguments, *nodes])

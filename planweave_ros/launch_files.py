"""A system of config/systems.yaml as a launch description, the content of every file in launch/."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from planweave.launcher.environment import network_settings, refuse_old_ros
from planweave.launcher.one_system import only_system
from planweave.launcher.systems import PAGE, Option, load_system, with_page

COMMON: dict[str, tuple[str | None, str, Sequence[str]]] = {
    "namespace": ("", "ROS namespace of all nodes, e.g. arm1", ()),
    "use_sim_time": ("false", "true: time comes from /clock", ("true", "false")),
    "params_file": ("", "a parameter file of your own, which counts over those of the system", ()),
    "web": ("false", "true: with a page in the browser; its log says where", ("true", "false")),
    "log_level": ("info", "least important messages that the log shows", ("debug", "info", "warn", "error")),
}
"""Arguments of every launch file: default, description, choices."""
RESPAWN_DELAY = 2.0
"""Seconds before a node that ended is started again."""
_reserved = contextlib.ExitStack()  # of systems that this process launches


def launch_description(name: str, around: Sequence[Any] = (), defaults: Mapping[str, Any] | None = None) -> Any:
    """Every node with its parameter files, an argument for every option; a node that dies is started again.

    Nodes, and what is around, talk on this machine only, unless ROS_AUTOMATIC_DISCOVERY_RANGE, static peers or a
    profile of Fast DDS say otherwise where ros2 launch is started. A ROS 2 that is too old is refused.

    The process of ros2 launch holds the domain and namespace (launcher/one_system.py): a second system is refused, and
    `planweave` knows of this one.

    Exit code 2 is a mistake in the configuration, which a new start would only repeat: it ends all.

    around: arguments and actions that come first: the drivers of a real robot, or a simulator; with these there is an
    argument `nodes`, and false leaves our nodes to `planweave up`. defaults: of options, in place of the values in the
    parameter files, and of use_sim_time; substitutions may stand here. Needs launch and launch_ros, which come with a
    ROS 2 installation.
    """
    from launch.actions import DeclareLaunchArgument, OpaqueFunction, SetEnvironmentVariable
    from launch.conditions import IfCondition
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue

    from launch import LaunchDescription

    refuse_old_ros(os.environ)
    closed = [
        SetEnvironmentVariable(key, value) for key, value in network_settings(os.environ, Path(sys.prefix)).items()
    ]
    system = with_page(load_system(name))
    given = defaults or {}
    common = arguments({**COMMON, "use_sim_time": (given.get("use_sim_time", "false"), *COMMON["use_sim_time"][1:])})
    own = [
        DeclareLaunchArgument(
            option.name, default_value=given.get(option.name, _text(option)), description=option.description
        )
        for option in system.options
    ]
    condition = None
    if around:
        own.append(
            DeclareLaunchArgument(
                "nodes",
                default_value="true",
                choices=["true", "false"],
                description=f"false: only what is around; start the rest with planweave up {name}",
            )
        )
        condition = IfCondition(LaunchConfiguration("nodes"))
    nodes: list[Any] = [OpaqueFunction(function=partial(_reserve, name), condition=condition)]
    for spec in system.nodes:
        options: dict[str, Any] = {
            option.parameter: ParameterValue(LaunchConfiguration(option.name), value_type=type(option.default))
            for option in system.options
            if spec.name in option.nodes
        }
        options["use_sim_time"] = ParameterValue(LaunchConfiguration("use_sim_time"), value_type=bool)
        files = list(map(str, spec.parameter_files))
        nodes.append(
            Node(
                package="planweave",
                executable=spec.name,
                output="screen",
                namespace=LaunchConfiguration("namespace"),
                parameters=[*files, _given_or("params_file", files[-1]), options],
                ros_arguments=["--log-level", LaunchConfiguration("log_level")],
                respawn=True,
                respawn_delay=RESPAWN_DELAY,
                on_exit=_end_all_after_a_mistake,
                condition=IfCondition(LaunchConfiguration("web")) if spec.name == PAGE else condition,
            )
        )
    return LaunchDescription([*closed, *common, *around, *own, *nodes])


def _reserve(name: str, context: Any) -> None:
    """Reserve the domain and the launch argument's namespace until this process ends."""
    from launch.substitutions import LaunchConfiguration

    _reserved.enter_context(only_system(name, inside=context.perform_substitution(LaunchConfiguration("namespace"))))


def _end_all_after_a_mistake(event: Any, _: Any) -> list[Any]:
    """Actions of launch after the exit of a node, besides restarting it."""
    from launch.actions import Shutdown

    return [Shutdown(reason=f"{event.process_name} refused its configuration")] if event.returncode == 2 else []


def _text(option: Option) -> str:
    """A default in launch's notation: true and false in lower case."""
    return str(option.default).lower() if isinstance(option.default, bool) else str(option.default)


def arguments(table: Mapping[str, tuple[str | None, str, Sequence[str]]]) -> list[Any]:
    """Launch arguments by name: default (None: it must be given), description, and choices (empty: any text)."""
    from launch.actions import DeclareLaunchArgument

    return [
        DeclareLaunchArgument(name, default_value=default, description=description, choices=list(choices) or None)
        for name, (default, description, choices) in table.items()
    ]


def include(package: str, file: str, given: Mapping[str, Any], condition: Any = None) -> Any:
    """The launch file of another package with arguments."""
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource
    from launch.substitutions import PathJoinSubstitution
    from launch_ros.substitutions import FindPackageShare

    return IncludeLaunchDescription(
        PythonLaunchDescriptionSource(PathJoinSubstitution([FindPackageShare(package), "launch", file])),
        launch_arguments=list(given.items()),
        condition=condition,
    )


def chosen(name: str, value: str, then: str, otherwise: str) -> Any:
    """One text where the launch argument has the value, else the other. Neither may have a quote in it."""
    from launch.substitutions import LaunchConfiguration, PythonExpression

    return PythonExpression(
        [f"{then!r} if '", LaunchConfiguration(name), f"'.lower() == {value.lower()!r} else {otherwise!r}"]
    )


def _given_or(name: str, otherwise: str) -> Any:
    """The text of a launch argument, or another one where that is empty. Neither may have a quote in it."""
    from launch.substitutions import LaunchConfiguration, PythonExpression

    given = LaunchConfiguration(name)
    return PythonExpression([f"{otherwise!r} if '", given, "' == '' else '", given, "'"])


def spawner(*controllers: str, parameters: str = "", condition: Any = None) -> Any:
    """Loads and activates controllers of ros2_control, which may come up to a minute later; with "--inactive" among
    them they are only loaded.
    """
    from launch.substitutions import LaunchConfiguration
    from launch_ros.actions import Node

    return Node(
        package="controller_manager",
        executable="spawner",
        output="screen",
        namespace=LaunchConfiguration("namespace"),
        arguments=[
            *controllers,
            "--controller-manager-timeout",
            "60",
            *(["--param-file", parameters] if parameters else []),
        ],
        condition=condition,
    )

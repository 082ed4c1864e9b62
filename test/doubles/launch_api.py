"""The part of ROS 2's launch and launch_ros that the launch files use, with their documented signatures.

It records what is built instead of running it. Signatures as in launch 3.7 and launch_ros 0.28 (Jazzy, Kilted);
unknown keywords are refused as there.
"""

import sys
import types


class LaunchDescription:
    def __init__(self, initial_entities=None, *, deprecated_reason=None):
        self.entities = list(initial_entities or [])


class DeclareLaunchArgument:
    def __init__(self, name, *, default_value=None, description=None, choices=None, condition=None):
        assert default_value is None or isinstance(default_value, (str, LaunchConfiguration)), default_value
        self.name, self.default_value, self.description = name, default_value, description


class Shutdown:
    def __init__(self, *, reason="reason not given", due_to_sigint=False, condition=None):
        self.reason = reason


class LaunchConfiguration:
    def __init__(self, variable_name, *, default=None):
        self.variable_name = variable_name


class ParameterValue:
    def __init__(self, value, *, value_type=None):
        assert value_type in (int, float, bool, str, None), value_type
        self.value, self.value_type = value, value_type


class Node:
    def __init__(
        self, *, executable, package=None, name=None, namespace=None, exec_name=None, parameters=None,
        remappings=None, ros_arguments=None, arguments=None,
        # of ExecuteProcess and ExecuteLocal
        prefix=None, cwd=None, env=None, additional_env=None, shell=False, sigterm_timeout=None,
        sigkill_timeout=None, emulate_tty=False, output="log", output_format="", cached_output=False, log_cmd=False,
        on_exit=None, respawn=False, respawn_delay=None, respawn_max_retries=-1, condition=None,
    ):
        assert parameters is None or isinstance(parameters, list), "launch_ros insists on a list"
        assert output in ("screen", "log", "both", "own_log", "full"), output
        self.package, self.executable, self.name = package, executable, name
        self.parameters, self.on_exit, self.output = parameters or [], on_exit, output


def modules():
    """The packages as modules by dotted name, to be put into sys.modules."""
    content = {
        "launch": {"LaunchDescription": LaunchDescription},
        "launch.actions": {"DeclareLaunchArgument": DeclareLaunchArgument, "Shutdown": Shutdown},
        "launch.substitutions": {"LaunchConfiguration": LaunchConfiguration},
        "launch_ros": {},
        "launch_ros.actions": {"Node": Node},
        "launch_ros.parameter_descriptions": {"ParameterValue": ParameterValue},
    }
    made = {}
    for name, names in content.items():
        made[name] = types.ModuleType(name)
        made[name].__dict__.update(names)
    return made


def is_installed():
    """Whether the real launch_ros is there."""
    import importlib.util

    return "launch_ros" not in sys.modules and importlib.util.find_spec("launch_ros") is not None

"""The part of ROS 2's launch and launch_ros that the launch files use, with their documented signatures.

It records what is built instead of running it. Signatures as in launch 3.7 and launch_ros 0.28 (Kilted);
the changelogs up to Lyrical's 3.9 and 0.29 remove none of them;
unknown keywords are refused as there. `text` performs a substitution for given launch arguments.
"""

import ast
import sys
import types


class LaunchDescription:
    def __init__(self, initial_entities=None, *, deprecated_reason=None):
        self.entities = list(initial_entities or [])


class DeclareLaunchArgument:
    def __init__(self, name, *, default_value=None, description=None, choices=None, condition=None):
        assert default_value is None or isinstance(default_value, (str, Substitution)), default_value
        assert choices is None or not isinstance(default_value, str) or default_value in choices, (name, default_value)
        self.name, self.default_value, self.description, self.choices = name, default_value, description, choices


class Shutdown:
    def __init__(self, *, reason="reason not given", due_to_sigint=False, condition=None):
        self.reason = reason


class Substitution:
    """What is a text only when the launch file runs."""

    def text(self, given):
        raise NotImplementedError


class LaunchConfiguration(Substitution):
    def __init__(self, variable_name, *, default=None):
        self.variable_name = variable_name

    def text(self, given):
        return given[self.variable_name]


class PathJoinSubstitution(Substitution):
    def __init__(self, substitutions):
        self.parts = list(substitutions)

    def text(self, given):
        return "/".join(text(part, given) for part in self.parts)


class PythonExpression(Substitution):
    def __init__(self, expression, python_modules=("math",)):
        self.expression = expression

    def text(self, given):
        return str(self._value(ast.parse(text(self.expression, given), mode="eval").body))

    def _value(self, tree):
        """Of a constant, `a if b else c`, `a == b` or `a.lower()`; launch evaluates any Python."""
        match tree:
            case ast.Constant():
                return tree.value
            case ast.IfExp():
                return self._value(tree.body if self._value(tree.test) else tree.orelse)
            case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
                return self._value(left) == self._value(right)
            case ast.Call(func=ast.Attribute(value=value, attr="lower"), args=[]):
                return self._value(value).lower()
        raise AssertionError(f"this double cannot evaluate {ast.unparse(tree)}")


class Command(Substitution):
    def __init__(self, command, *, on_stderr="fail"):
        self.command = command

    def text(self, given):
        return text(self.command, given)


class FindExecutable(Substitution):
    def __init__(self, *, name):
        self.name = name

    def text(self, given):
        return self.name


class FindPackageShare(Substitution):
    def __init__(self, package):
        self.package = package

    def text(self, given):
        return f"/share/{self.package}"


def text(what, given):
    """A text, a substitution, or a list of these, as launch would perform it."""
    if isinstance(what, str):
        return what
    if isinstance(what, Substitution):
        return what.text(given)
    return "".join(text(part, given) for part in what)


class IfCondition:
    def __init__(self, predicate_expression):
        self.predicate = predicate_expression

    def holds(self, given):
        value = text(self.predicate, given).strip().lower()
        assert value in ("true", "false", "1", "0"), value
        return value in ("true", "1")


class UnlessCondition(IfCondition):
    def holds(self, given):
        return not super().holds(given)


class PythonLaunchDescriptionSource:
    def __init__(self, launch_file_path):
        self.path = launch_file_path


class IncludeLaunchDescription:
    def __init__(self, launch_description_source, *, launch_arguments=None, condition=None):
        assert isinstance(launch_description_source, (PythonLaunchDescriptionSource, str, Substitution))
        self.source, self.condition = launch_description_source, condition
        self.arguments = dict(launch_arguments or [])


class AppendEnvironmentVariable:
    def __init__(self, name, value, prepend=False, separator=":", *, condition=None):
        self.name, self.value = name, value


class SetEnvironmentVariable:
    def __init__(self, name, value, *, condition=None):
        self.name, self.value = name, value


class OnProcessExit:
    def __init__(self, *, target_action=None, on_exit, handle_once=False):
        self.target_action, self.on_exit = target_action, on_exit


class RegisterEventHandler:
    def __init__(self, event_handler, *, condition=None):
        self.event_handler = event_handler


class OpaqueFunction:
    def __init__(self, *, function, args=None, kwargs=None, condition=None):
        self.function, self.condition = function, condition


class LaunchContext:
    """Given launch arguments, as the function of an OpaqueFunction gets them."""

    def __init__(self, given):
        self.given = given

    def perform_substitution(self, substitution):
        return text(substitution, self.given)


class ParameterValue:
    def __init__(self, value, *, value_type=None):
        assert value_type in (int, float, bool, str, None), value_type
        self.value, self.value_type = value, value_type


class Node:
    def __init__(
        self,
        *,
        executable,
        package=None,
        name=None,
        namespace=None,
        exec_name=None,
        parameters=None,
        remappings=None,
        ros_arguments=None,
        arguments=None,
        # of ExecuteProcess and ExecuteLocal
        prefix=None,
        cwd=None,
        env=None,
        additional_env=None,
        shell=False,
        sigterm_timeout=None,
        sigkill_timeout=None,
        emulate_tty=False,
        output="log",
        output_format="",
        cached_output=False,
        log_cmd=False,
        on_exit=None,
        respawn=False,
        respawn_delay=None,
        respawn_max_retries=-1,
        condition=None,
    ):
        assert parameters is None or isinstance(parameters, list), "launch_ros insists on a list"
        assert output in ("screen", "log", "both", "own_log", "full"), output
        self.arguments, self.condition, self.remappings = arguments or [], condition, remappings or []
        self.package, self.executable, self.name = package, executable, name
        self.parameters, self.on_exit, self.output = parameters or [], on_exit, output
        self.respawn, self.respawn_delay = respawn, respawn_delay
        self.namespace, self.ros_arguments = namespace or "", ros_arguments or []


def named(*classes):
    """Classes by name."""
    return {cls.__name__: cls for cls in classes}


def modules():
    """The packages as modules by dotted name, to be put into sys.modules."""
    content = {
        "launch": {"LaunchDescription": LaunchDescription},
        "launch.actions": named(
            DeclareLaunchArgument,
            Shutdown,
            IncludeLaunchDescription,
            AppendEnvironmentVariable,
            SetEnvironmentVariable,
            OpaqueFunction,
            RegisterEventHandler,
        ),
        "launch.conditions": named(IfCondition, UnlessCondition),
        "launch.event_handlers": named(OnProcessExit),
        "launch.launch_description_sources": named(PythonLaunchDescriptionSource),
        "launch.substitutions": named(
            LaunchConfiguration, PathJoinSubstitution, PythonExpression, Command, FindExecutable
        ),
        "launch_ros": {},
        "launch_ros.actions": {"Node": Node},
        "launch_ros.parameter_descriptions": {"ParameterValue": ParameterValue},
        "launch_ros.substitutions": named(FindPackageShare),
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

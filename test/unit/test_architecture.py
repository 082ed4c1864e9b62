"""The rules of the house about who may import whom, held by walking the imports of every file."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NODES = sorted(path.name for path in ROOT.glob("*_node") if (path / "__init__.py").is_file())
ROOMS = ["planweave", "planweave_ros", "console", "evaluation", *NODES]
ROS = {
    "rclpy", "launch", "launch_ros", "ament_index_python", "builtin_interfaces", "planweave_interfaces", "tf2_ros",
    "action_msgs", "geometry_msgs", "rcl_interfaces", "rosgraph_msgs", "sensor_msgs", "std_msgs", "std_srvs",
    "trajectory_msgs", "control_msgs", "moveit", "rosidl_runtime_py", "unique_identifier_msgs",
    "visualization_msgs", "tf2_msgs", "diagnostic_msgs", "lifecycle_msgs",
}
CONSOLE_ROS = {"client.py", "launch_files.py", "ros_probe.py"}
# The doctor asks the very model that planner_node would ask.
CONSOLE_NODES = {"model_probe.py": {"planner_node"}, "tasks.py": {"evaluation"}}


def python_files():
    """Every Python file of the rooms and of launch/, as a path relative to the root."""
    for room in [*ROOMS, "launch"]:
        yield from sorted(path.relative_to(ROOT) for path in (ROOT / room).rglob("*.py"))


def imported(source):
    """Top-level packages that a source text imports anywhere, also inside functions."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module.split(".")[0])
        elif (isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant)
              and ast.unparse(node.func) in ("importlib.import_module", "import_module", "__import__")):
            names.add(str(node.args[0].value).split(".")[0])
    return names


def violations(path, names):
    """What of these imports breaks a rule, as sentences."""
    room, others = path.parts[0], names & set(ROOMS)
    if room == "planweave":
        yield from (f"planweave/ imports the room {name}" for name in others - {"planweave"})
    elif room == "planweave_ros":
        yield from (f"planweave_ros/ imports the room {name}" for name in others - {"planweave", "planweave_ros"})
    elif room in NODES:
        allowed = {"planweave", "planweave_ros", room} if path.name == "node.py" else {"planweave", room}
        yield from (f"{room} imports {name}" for name in others - allowed)
    elif room == "console":
        yield from (f"console imports {name}" for name in
                    (others & {*NODES, "evaluation"}) - CONSOLE_NODES.get(path.name, set()))
    ros_allowed = (
        room in ("planweave_ros", "launch", "evaluation")
        or (room in NODES and len(path.parts) == 2 and path.name == "node.py")
        or (room == "console" and path.name in CONSOLE_ROS)
    )
    if not ros_allowed:
        yield from (f"{name} belongs in node.py" for name in names & ROS)


@pytest.mark.parametrize("path", list(python_files()), ids=str)
def test_imports_keep_the_rules(path):
    names = imported((ROOT / path).read_text())
    assert not list(violations(path, names))


@pytest.mark.parametrize(("path", "source", "broken"), [
    ("planweave/bodies/arm/skills.py", "import rclpy", "rclpy belongs in node.py"),
    ("executor_node/node.py", "import rclpy", None),
    ("planweave/bodies/arm/arms/node.py", "def f():\n    from rclpy.node import Node", "rclpy belongs in node.py"),
    ("executor_node/node.py", "from planweave.perception.tracking import Tracker", "executor_node imports perception_node"),
    ("planweave/bodies/arm/skills.py", "from planweave_ros import spin", "executor_node imports planweave_ros"),
    ("planweave/core/plan.py", "import planweave.cli.main", "planweave/ imports the room console"),
    ("planweave/core/plan.py", "from importlib import import_module\nimport_module('rclpy.node')",
     "rclpy belongs in node.py"),
    ("planweave/core/plan.py", "from planweave.core.world import World", None),
    ("planweave/cli/main.py", "import planweave.simulation.scene", "console imports simulation_node"),
    ("planweave_ros/client.py", "import rclpy", None),
    ("planweave/cli/run.py", "import rclpy", "rclpy belongs in node.py"),
])
def test_the_rules_find_what_breaks_them(path, source, broken):
    assert list(violations(Path(path), imported(source))) == ([broken] if broken else [])


def test_launch_is_no_package():
    """A launch/__init__.py would hide ROS's own package `launch`."""
    assert not (ROOT / "launch" / "__init__.py").exists()


def test_every_node_room_is_installed_and_run_by_name():
    source = (ROOT / "setup.py").read_text()
    for node in NODES:
        assert f'"{node}"' in source
        if (ROOT / node / "node.py").is_file():
            tree = ast.parse((ROOT / node / "node.py").read_text())
            assert any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in tree.body), node


def test_no_file_is_longer_than_500_lines():
    long = {str(path): lines for path in python_files()
            if (lines := len((ROOT / path).read_text().splitlines())) > 500}
    assert not long


def test_the_tables_that_the_page_on_extending_names_exist():
    page = (ROOT / "docs" / "extending.md").read_text()
    source = "".join((ROOT / f).read_text() for f in (
        "planweave/methods/__init__.py", "feedback_node/node.py", "planweave/methods/questions/__init__.py",
        "planweave/bodies/arm/skills/__init__.py", "planweave/bodies/arm/relations.py"))
    named = set(re.findall(r"`(_?[A-Z][A-Z_]{4,})`", page)) - {"FAILED"}
    assert {"METHODS", "SAMPLERS", "SKILLS", "FURTHER"} <= named
    for table in named:
        assert re.search(rf"^{table}\b.* = ", source, re.MULTILINE), table
    for path in re.findall(r"`([a-z_]+/[\w/.]+\.(?:py|yaml|pddl))`", page):
        assert "NAME" in path or (ROOT / path).exists(), path
    tables = set(re.findall(r"^([A-Z]+) = ", (ROOT / "planweave/methods/questions/__init__.py").read_text(), re.MULTILINE))
    assert tables <= named, "a kind of question that the page leaves out"


OURS = "executor|perception|joint_states|llm_exchanges|robot_description|world_state|look"
ABSOLUTE = re.compile(rf"(?:^|[\s(])/(?:{OURS})\b")


def texts(source):
    """The texts in a source that are no docstrings; what an f-string puts in is {}."""
    nodes = list(ast.walk(ast.parse(source)))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    alone = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts | alone:
            yield node.value


@pytest.mark.parametrize("room", [*NODES, "planweave", "planweave_ros"])
def test_messages_name_no_service_or_topic_without_its_namespace(room):
    """Who works in a namespace is told names as they are there; planweave/bodies/arm/ros_names.py alone has defaults."""
    for path in sorted((ROOT / room).rglob("*.py")):
        if path.name != "ros_names.py":
            assert not [text for text in texts(path.read_text()) if ABSOLUTE.search(text)], path

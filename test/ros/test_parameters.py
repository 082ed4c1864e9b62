"""Parameters as tables: described, checked at start, and a clear message where a value is wrong."""

import subprocess
import sys

import pytest
from codes import raises_code
from rclpy.parameter import Parameter
from ros_fixtures import simulated

from feedback_node.node import PARAMETERS, FeedbackNode
from planweave.bodies.arm.parameters import skill_lists
from planweave.core.base.paths import config_dir
from planweave.core.symbolic.domain import Domain
from planweave.launcher import parameter_files
from planweave.launcher.systems import table

WRONG = [
    ("max_queue", "many", "1 to 10000"),
    ("max_queue", 0, "1 to 10000"),
    ("action_timeout", -1.0, "1 to 3600"),
    ("method", "magic", "'magic'"),
    ("fallback", "clasical", "'classical'"),
    ("journal_folder", "/nowhere/at/all", "/nowhere/at/all"),
]


@pytest.mark.parametrize("name, value, datum", WRONG)
def test_a_wrong_value_says_what_is_right(ros, name, value, datum):
    with raises_code("configuration", name, datum):
        FeedbackNode([Parameter(name, value=value)])


def test_parameters_are_described(make_node):
    node = make_node(FeedbackNode, simulated("feedback_node"))
    for row in PARAMETERS:
        assert node.describe_parameter(row.name).description == row.description


@pytest.mark.parametrize(
    ("node", "parameter", "words"),
    [
        ("feedback_node", "method:=magic", "feedback_node: unknown value of method 'magic'"),
        ("planner_node", "price_table:=/nowhere.yaml", "/nowhere.yaml"),
        ("perception_node", "camera:=magic", "unknown camera 'magic'"),
        ("simulation_node", "image_rate:=-1.0", "simulation_node: parameter image_rate must be a float"),
        ("virtualhome_node", "scene:=magic", "unknown scene 'magic'"),
        ("executor_node", "speed:=7.0", "executor_node: parameter speed must be a float"),
    ],
)
def test_a_process_ends_with_one_line_and_code_2(node, parameter, words):
    """What the node had no time to make is missed by nobody when it is taken down."""
    done = subprocess.run(
        [sys.executable, "-m", f"{node}.node", "--ros-args", "-p", parameter],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2, done.stderr
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("error: ") and words in done.stderr, done.stderr


@pytest.mark.parametrize("node", ["feedback_node", "simulation_node"])
def test_a_parameter_that_a_node_does_not_have_is_refused_with_its_file(node, tmp_path):
    """ROS would run without it, and say nothing; what is for all nodes may be unknown to one."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"/**:\n  ros__parameters: {{other: 1}}\n/**/{node}:\n  ros__parameters: {{use_sim_tiem: true}}\n")
    command = [sys.executable, "-m", f"{node}.node", "--ros-args", "--params-file", str(file)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2, done.stderr
    words = f"unknown parameter of {node} in {file} 'use_sim_tiem'; did you mean 'use_sim_time'"
    assert done.stderr.count("\n") == 1 and words in done.stderr, done.stderr


def declared(node):
    """Names of the parameters that a node declares."""
    actions = {a for name in ("tabletop", "kitchen") for a in Domain.load(name).actions if node == "executor_node"}
    return {*table(node), *(row.name for row in skill_lists(actions))}


def test_the_parameter_files_set_what_the_nodes_declare():
    """ROS ignores any other key silently."""
    paths = [path for path in sorted(config_dir().glob("*.yaml")) if "ros__parameters:" in path.read_text()]
    files = [(path, *entry) for path in paths for entry in parameter_files.read(path)]
    assert {path.stem for path, _, _ in files} >= {"executor", "feedback", "perception", "planner", "simulation", "web"}
    unknown = [
        f"{path.name}: {entry} {key}"
        for path, entry, values in files
        for key in parameter_files.dotted(values)
        if key not in declared(entry.rpartition("/")[2])
    ]
    assert not unknown

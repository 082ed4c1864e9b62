"""Parameters as tables: described, checked at start, and a clear message where a value is wrong."""

import subprocess
import sys

import pytest
from ros_fixtures import simulated

from planweave.core.base.errors import ConfigError

WRONG = [
    ("max_queue", "many", "must be a int from 1 to 10000"),
    ("max_queue", 0, "must be a int from 1 to 10000"),
    ("action_timeout", -1.0, "from 1 to 3600"),
    ("method", "magic", "unknown value of method 'magic'"),
    ("fallback", "clasical", "did you mean 'classical'"),
    ("journal_folder", "/nowhere/at/all", "not a folder"),
]


@pytest.mark.parametrize("name, value, words", WRONG)
def test_a_wrong_value_says_what_is_right(ros, name, value, words):
    from rclpy.parameter import Parameter

    from feedback_node.node import FeedbackNode

    with pytest.raises(ConfigError, match=words):
        FeedbackNode([Parameter(name, value=value)])


def test_parameters_are_described(make_node):
    from feedback_node.node import PARAMETERS, FeedbackNode

    node = make_node(FeedbackNode, simulated("feedback_node"))
    for row in PARAMETERS:
        assert node.describe_parameter(row.name).description == row.description


@pytest.mark.parametrize(
    ("node", "parameter", "words"),
    [
        ("feedback_node", "method:=magic", "feedback_node: unknown value of method 'magic'"),
        ("planner_node", "client:=magic", "planner_node: unknown value of client 'magic'"),
        ("planner_node", "price_table:=/nowhere.yaml", "/nowhere.yaml"),
        ("perception_node", "camera:=magic", "unknown camera 'magic'"),
        ("simulation_node", "image_rate:=-1.0", "simulation_node: parameter image_rate must be a float"),
        ("simulation_node", "scene:=magic", "unknown scene 'magic'"),
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

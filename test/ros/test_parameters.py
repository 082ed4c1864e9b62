"""Parameters as tables: described, checked at start, and a clear message where a value is wrong."""

import subprocess
import sys

import pytest
from ros_fixtures import simulated

from planweave.errors import ConfigError

WRONG = [("max_queue", "many", "must be a int from 1 to 10000"), ("max_queue", 0, "must be a int from 1 to 10000"),
         ("action_timeout", -1.0, "from 1 to 3600"), ("method", "magic", "unknown value of method 'magic'"),
         ("fallback", "clasical", "did you mean 'classical'"), ("journal_folder", "/nowhere/at/all", "not a folder")]


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


def test_a_process_ends_with_one_line_and_code_2():
    done = subprocess.run([sys.executable, "-m", "feedback_node.node", "--ros-args", "-p", "method:=magic"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert "error: feedback_node: unknown value of method 'magic'" in done.stderr and "Traceback" not in done.stderr

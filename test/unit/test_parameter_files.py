"""Parameter files: whom an entry is for, and files that are for somebody else."""

from pathlib import Path

import pytest
from codes import raises_code

from planweave.bodies.arm.robots import check_robot
from planweave.launcher import parameter_files
from planweave.robots import load_robot

# What rcl takes for a node, as tried with rclpy 9.1 in test/ros/test_robot_safety.py.
MATCHES = [
    ("executor_node", "/executor_node", True),
    ("executor_node", "/arm1/executor_node", False),
    ("/**/executor_node", "/executor_node", True),
    ("/**/executor_node", "/a/b/executor_node", True),
    ("/**/executor_node", "/left", False),
    ("/**", "/arm1/left", True),
    ("/*/executor_node", "/executor_node", False),
    ("/*/executor_node", "/arm1/executor_node", True),
    ("/arm1/executor_node", "/arm1/executor_node", True),
    ("/arm2/executor_node", "/arm1/executor_node", False),
]


@pytest.mark.parametrize(("entry", "node", "fits"), MATCHES)
def test_whom_an_entry_is_for(entry, node, fits):
    assert parameter_files.is_for(entry, node) is fits


def test_entries_are_found_nested_and_merged_in_order(tmp_path):
    first, second = tmp_path / "1.yaml", tmp_path / "2.yaml"
    first.write_text("arm1:\n  executor_node:\n    ros__parameters: {speed: 0.4, video: {width: 1, height: 2}}\n")
    second.write_text(
        "/**/executor_node:\n  ros__parameters: {video: {width: 3}}\nother:\n  ros__parameters: {speed: 1.0}\n"
    )
    assert [name for name, _ in parameter_files.read(first)] == ["/arm1/executor_node"]
    assert parameter_files.merged([first, second], "/arm1/executor_node") == {
        "speed": 0.4,
        "video": {"width": 3, "height": 2},
    }
    assert parameter_files.merged([first, second], "/executor_node") == {"video": {"width": 3}}


def test_files_among_the_arguments():
    said = [
        *("node", "--params-file", "no.yaml", "--ros-args", "--params-file", "a.yaml", "-p", "x:=1"),
        *("--params-file", "b.yaml", "--", "--params-file", "c.yaml"),
    ]
    assert parameter_files.given(said) == [Path("a.yaml"), Path("b.yaml")]


@pytest.mark.parametrize(
    ("files", "wrong"),
    [
        ({}, None),
        ({"a.yaml": ["/**/executor_node"]}, None),
        ({"a.yaml": ["/**"]}, None),
        ({"a.yaml": ["/**/executor_node"], "mine.yaml": ["/perception_node"]}, None),
        ({"a.yaml": ["/**/executor_node"], "mine.yaml": ["/left_executor"]}, "mine.yaml is for /left_executor"),
        (
            {"a.yaml": ["/**/executor_node"], "mine.yaml": ["/arm2/executor_node"]},
            "mine.yaml is for /arm2/executor_node",
        ),
        ({"a.yaml": ["/arm1/executor_node", "/arm2/executor_node"]}, None),
        ({"a.yaml": ["/executor_node"]}, "a.yaml is for /executor_node"),
        ({"a.yaml": ["/perception_node", "/planner_node"]}, "a.yaml is for /perception_node, /planner_node"),
        ({"a.yaml": ["/executor_node"], "tmp.yaml": ["/**"]}, "a.yaml is for /executor_node"),
    ],
)
def test_a_file_for_somebody_else_is_said(files, wrong):
    said = parameter_files.stray(files, "/arm1/executor_node")
    assert not said if wrong is None else (wrong in said and "/**/executor_node (any namespace)" in said)


@pytest.mark.parametrize(
    ("robot", "arm", "gripper", "data"),
    [
        ("", "follow", "franka", "simulation, gazebo, fake, fr3"),
        ("simulation", "moveit", "parallel", ("arm: moveit", "simulation_node", "config/franka.yaml")),
        ("simulation", "follow", "franka", ("gripper: franka", "simulation_node", "parallel or none")),
        ("ur5e", "follow", "command", ("ur5e", "robot_type", "fr3 (Franka Research 3)")),
    ],
)
def test_parameters_that_do_not_belong_together(robot, arm, gripper, data):
    with raises_code("configuration", data):
        check_robot("/arm1/executor_node", robot, arm, gripper, load_robot())
    check_robot("/executor_node", "fr3", "moveit", "none", load_robot())
    check_robot("/executor_node", "simulation", "follow", "none", load_robot())

"""`ros2 launch planweave body.launch.py body:=NAME`: the system `body` of config/systems.yaml."""

from planweave_ros.launch_files import launch_description


def generate_launch_description():
    return launch_description("body")

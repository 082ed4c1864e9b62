"""`ros2 launch planweave libero.launch.py scene:=libero_goal/3/0`: the system `libero` of config/systems.yaml."""

from planweave_ros.launch_files import launch_description


def generate_launch_description():
    return launch_description("libero")

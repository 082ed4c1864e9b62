"""`ros2 launch planweave tabletop.launch.py [scene:=…]`: the system `tabletop` of config/systems.yaml."""

from planweave_ros.launch_files import launch_description


def generate_launch_description():
    return launch_description("tabletop")

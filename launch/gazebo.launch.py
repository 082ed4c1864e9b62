"""`ros2 launch planweave gazebo.launch.py`: an FR3, a table and an RGB-D camera in Gazebo.

Starts Gazebo, ros2_control in it, the bridge of the camera's topics, and the system `gazebo` of config/systems.yaml.
All nodes follow simulated time. docs/gazebo.md says what has to be installed.
"""

from planweave.core.base.paths import config_dir
from planweave_ros.launch_files import arguments, chosen, include, launch_description, spawner

ARGUMENTS = {
    "world": (str(config_dir() / "gazebo" / "table.sdf"), "path of a world", ()),
    "gui": ("true", "false: Gazebo without a window", ("true", "false")),
}


def generate_launch_description():
    from launch.actions import AppendEnvironmentVariable, RegisterEventHandler
    from launch.event_handlers import OnProcessExit
    from launch.substitutions import Command, FindExecutable, LaunchConfiguration, PathJoinSubstitution
    from launch_ros.actions import Node
    from launch_ros.parameter_descriptions import ParameterValue
    from launch_ros.substitutions import FindPackageShare

    folder = config_dir() / "gazebo"
    controllers = str(folder / "controllers.yaml")
    namespace = LaunchConfiguration("namespace")
    model = f" {folder / 'fr3.urdf.xacro'} controllers:={controllers} namespace:="
    robot = Command([FindExecutable(name="xacro"), model, namespace])
    spawn = Node(
        package="ros_gz_sim",
        executable="create",
        output="screen",
        namespace=namespace,
        arguments=["-topic", "robot_description", "-name", "fr3"],
    )
    return launch_description(
        "gazebo",
        [
            *arguments(ARGUMENTS),
            # Where Gazebo finds package://franka_description
            AppendEnvironmentVariable(
                "GZ_SIM_RESOURCE_PATH", PathJoinSubstitution([FindPackageShare("franka_description"), ".."])
            ),
            include(
                "ros_gz_sim",
                "gz_sim.launch.py",
                {
                    "gz_args": ["-r ", chosen("gui", "false", "-s ", ""), LaunchConfiguration("world")],
                    "on_exit_shutdown": "true",
                },
            ),
            Node(
                package="robot_state_publisher",
                executable="robot_state_publisher",
                output="screen",
                namespace=namespace,
                parameters=[{"robot_description": ParameterValue(robot, value_type=str), "use_sim_time": True}],
            ),
            Node(
                package="ros_gz_bridge",
                executable="parameter_bridge",
                output="screen",
                namespace=namespace,
                parameters=[{"config_file": str(folder / "bridge.yaml"), "use_sim_time": True}],
            ),
            spawn,
            RegisterEventHandler(
                OnProcessExit(
                    target_action=spawn,
                    on_exit=[
                        spawner(
                            "joint_state_broadcaster",
                            "fr3_arm_controller",
                            "fr3_gripper_controller",
                            parameters=controllers,
                        )
                    ],
                )
            ),
        ],
        defaults={"use_sim_time": "true"},
    )

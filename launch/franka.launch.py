"""`ros2 launch planweave franka.launch.py robot_ip:=172.16.0.2`: a real Franka Research 3, or its fake hardware.

Starts franka_ros2 (v3.4, Jazzy) with our controllers, a RealSense driver, and the system `franka` of
config/systems.yaml. docs/franka.md goes through it step by step.
"""

from planweave.core.base.paths import config_dir
from planweave_ros.launch_files import arguments, chosen, include, launch_description, spawner

ARGUMENTS = {
    "robot_ip": (None, "address of the robot, as for Desk; anything with fake hardware", ()),
    "use_fake_hardware": ("false", "true: no robot; ros2_control pretends to move one", ("true", "false")),
    "realsense": ("driver", "driver: start realsense2_camera; none: images come from elsewhere", ("driver", "none")),
    "serial": ("''", "serial number of the RealSense with _ before it; empty: the first found", ()),
}


def generate_launch_description():
    from launch.conditions import IfCondition, UnlessCondition
    from launch.substitutions import LaunchConfiguration

    controllers, fake = config_dir() / "franka", LaunchConfiguration("use_fake_hardware")
    return launch_description(
        "franka",
        [
            *arguments(ARGUMENTS),
            include(
                "franka_bringup",
                "franka.launch.py",
                {
                    "robot_type": "fr3",
                    "namespace": LaunchConfiguration("namespace"),
                    "robot_ip": LaunchConfiguration("robot_ip"),
                    "load_gripper": "true",
                    "use_fake_hardware": LaunchConfiguration("use_fake_hardware"),
                    "load_franka_robot_state_broadcaster": "false",  # 1000 large messages a second that nobody reads
                    "controllers_yaml": chosen(
                        "use_fake_hardware",
                        "true",
                        str(controllers / "controllers_fake.yaml"),
                        str(controllers / "controllers.yaml"),
                    ),
                },
            ),
            # executor_node activates it, once the robot knows at which contact it stops itself
            spawner("fr3_arm_controller", condition=IfCondition(fake)),
            spawner("fr3_arm_controller", "--inactive", condition=UnlessCondition(fake)),
            include(
                "realsense2_camera",
                "rs_launch.py",
                {
                    "camera_namespace": LaunchConfiguration("namespace"),
                    "camera_name": "camera",
                    "serial_no": LaunchConfiguration("serial"),
                    "align_depth.enable": "true",
                    "enable_sync": "true",
                    "rgb_camera.color_profile": "640,480,15",
                    "depth_module.depth_profile": "640,480,15",
                },
                condition=IfCondition(chosen("realsense", "driver", "true", "false")),
            ),
        ],
        defaults={
            "gripper": chosen("use_fake_hardware", "true", "none", "franka"),
            "robot": chosen("use_fake_hardware", "true", "fake", "fr3"),
        },
    )

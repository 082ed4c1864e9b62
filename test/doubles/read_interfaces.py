"""Reads message, service and action definitions: `python test/doubles/read_interfaces.py MIRRORS` prints
test/doubles/ros_messages.yaml.

MIRRORS is a folder with git checkouts by the names below. Each definition is listed by its parts (message; Request and
Response; Goal, Result and Feedback) with the type of each field, and constants as "type=value".
"""

import re
import subprocess
import sys

SOURCES = {
    "franka_ros2": (
        "29cb85a677b8f08888a0eb6f553ba89666ef64f7",
        "franka_msgs/",
        "franka_msgs",
        [
            "action/ErrorRecovery",
            "action/Grasp",
            "action/Homing",
            "action/Move",
            "msg/GraspEpsilon",
            "srv/SetFullCollisionBehavior",
        ],
    ),
    "control_msgs": (
        "f901df2662f22a39a06aa04a85a34602c47e3cc0",
        "control_msgs/",
        "control_msgs",
        [
            "action/FollowJointTrajectory",
            "action/GripperCommand",
            "action/ParallelGripperCommand",
            "msg/GripperCommand",
        ],
    ),
    "ros2_control": (
        "9ffbf97fd6798085db22797fed44da59089dc10a",
        "controller_manager_msgs/",
        "controller_manager_msgs",
        ["srv/SetHardwareComponentState", "srv/SwitchController"],
    ),
    "moveit_msgs": (
        "ec3ba4bfa2ec37df576bcf7a087e5a4ab88d79a4",
        "",
        "moveit_msgs",
        ["msg/AttachedCollisionObject", "msg/CollisionObject", "msg/MoveItErrorCodes", "msg/RobotTrajectory"],
    ),
    "common_interfaces": (
        "5283bd97b33584eb2246fc6134b2e948027e1c3c",
        "shape_msgs/",
        "shape_msgs",
        ["msg/SolidPrimitive"],
    ),
}
PARTS = {"msg": [""], "srv": ["Request", "Response"], "action": ["Goal", "Result", "Feedback"]}


def fields(text):
    """Type by name of one part."""
    found = {}
    for line in text.splitlines():
        words = line.split("#")[0].replace(" =", "=").replace("= ", "=").split()
        if len(words) < 2:
            continue
        name, sign, value = words[1].partition("=")
        found[name] = f"{words[0]}={value}" if sign else words[0]
    return found


def main(mirrors):
    """Print the file."""
    print("# Fields of messages of packages that the tests do without; made by read_interfaces.py")
    for repository, (commit, folder, package, names) in SOURCES.items():
        print(f"{package}:  # {repository} at {commit}")
        for name in names:
            kind = name.split("/")[0]
            text = subprocess.run(
                ["git", "-C", f"{mirrors}/{repository}", "show", f"{commit}:{folder}{name}.{kind}"],
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            parts = re.split(r"^---\s*$", text, flags=re.M)
            print(f"  {name}:")
            for part, body in zip(PARTS[kind], parts, strict=True):
                print(f"    {part or 'Message'}:" + ("" if fields(body) else " {}"))
                for field, kind_of in fields(body).items():
                    print(f'      {field}: "{kind_of}"')


if __name__ == "__main__":
    main(sys.argv[1])

"""planweave_ros.moveit_server on the doubles of MoveIt, as a process. MOVEIT_DOUBLE sets fields of the `Robot` as JSON;
{"absent": true}: moveit_py is not installed; {"die": true}: it crashes while it loads.
"""

import json
import os
import sys

from doubles import moveit_api, ros_messages
from planweave_ros import moveit_server


def main():
    robot = moveit_api.Robot()
    wanted = json.loads(os.environ.get("MOVEIT_DOUBLE", "{}"))
    if wanted.pop("die", False):
        os._exit(11)
    absent = wanted.pop("absent", False)
    robot.__dict__.update(wanted)
    ros_messages.install()
    if not absent:
        moveit_api.install(robot)
    return moveit_server.main()


if __name__ == "__main__":
    sys.exit(main())

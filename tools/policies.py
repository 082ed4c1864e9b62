"""Write config/sros2/policies.xml: what each node of tabletop with its page, household and body uses of the ROS graph;
what executor_node and perception_node use beside a real arm, and web_node while somebody looks, is listed here. Nodes
of the file that none of these systems has, as libero_node, which needs LIBERO's simulator, stay as they are.

Usage: . .venv/planweave.sh && python tools/policies.py
       . .venv/planweave.sh && python tools/policies.py --namespace /left > left.xml

The first starts each system in turn, in a ROS domain of its own, and takes what its nodes use at rest.
The second starts nothing: it prints the same policies for a system in a namespace.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import rclpy
from rclpy.executors import SingleThreadedExecutor

from planweave.core.base.errors import PlanweaveError
from planweave.launcher.namespace import VARIABLE, namespace
from planweave.launcher.one_system import own_domain
from planweave.launcher.running_system import RunningSystem
from planweave.launcher.systems import load_system, with_page
from planweave.robots import load_robot
from planweave_ros.graph import offers, permissions_of, policies, read_policies, together

TARGET = Path(__file__).resolve().parent.parent / "config" / "sros2" / "policies.xml"
ROS = load_robot().ros
REAL_ARM = {
    "executor_node": {
        ("topics", "subscribe"): {*ROS.joint_state_topics, "approved_step"},
        ("services", "reply"): {"executor/recover"},
        ("services", "request"): {
            "controller_manager/set_hardware_component_state",
            "controller_manager/switch_controller",
            "service_server/set_full_collision_behavior",
        },
        ("actions", "call"): {
            "action_server/error_recovery",
            f"{ROS.arm_controller}/follow_joint_trajectory",
            f"{ROS.gripper_controller}/gripper_cmd",
            *(f"{ROS.hand}/{action}" for action in ("grasp", "homing", "move")),
        },
    },
    "perception_node": {
        ("topics", "subscribe"): {"tf", "tf_static"},  # camera: tf2:FRAME
        ("topics", "publish"): {  # source: realsense, bag
            "camera/aligned_depth_to_color/image_raw",
            "camera/color/camera_info",
            "camera/color/image_raw",
        },
        ("services", "reply"): {"perception/look_for"},  # detectors with an open vocabulary
    },
}
WATCHED = {  # while somebody has the page open
    "web_node": {
        ("topics", "subscribe"): {
            *ROS.joint_state_topics,
            "camera/color/image_raw",
            "perception/detected_objects",
            "perception/image_annotated",
            "virtualhome/picture",
        },
    },
}
CLOCK = {("topics", "subscribe"): {"clock"}}  # use_sim_time
PATIENCE = 120.0  # s


def observe(observer, system):
    """Permissions by node of a system that runs until none has changed for three seconds."""
    with tempfile.TemporaryDirectory() as logs, RunningSystem(system, Path(logs)) as running:
        found: dict[str, dict] = {}
        since, end = time.monotonic(), time.monotonic() + PATIENCE
        while time.monotonic() < end:
            running.check()
            there = set(observer.get_node_names())
            now = {n.name: permissions_of(observer, n.name) for n in system.nodes if n.name in there}
            if now != found:
                found, since = now, time.monotonic()
            complete = all(n.name in now and offers(now[n.name], n.topics, n.services, n.actions) for n in system.nodes)
            if complete and time.monotonic() - since > 3.0:
                return found
            time.sleep(0.2)
    sys.exit(f"the system {system.name} was not complete after {PATIENCE:g} s")


def main(given=None):
    """Write the file from running systems, or print what it is in a namespace."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--namespace", default="", help="print the policies of a system in this namespace, e.g. /left")
    os.environ[VARIABLE] = parser.parse_args(given).namespace
    try:
        inside = namespace()
    except PlanweaveError as error:
        parser.error(str(error))
    if inside:
        print(policies(read_policies(TARGET.read_text()), inside), end="")
    else:
        with own_domain("policies"):
            observe_all()


def observe_all():
    """Start the systems and write the file."""
    rclpy.init()
    observer = rclpy.create_node("observer")
    executor = SingleThreadedExecutor()
    executor.add_node(observer)
    spinning = threading.Thread(target=executor.spin)
    spinning.start()
    found = {**REAL_ARM, **WATCHED}
    try:
        for system in (with_page(load_system("tabletop")), load_system("household"), load_system("body")):
            for node, permissions in observe(observer, system).items():
                found[node] = together([CLOCK, found.get(node, {}), permissions])
    finally:
        executor.shutdown()
        spinning.join()
        rclpy.try_shutdown()
    TARGET.parent.mkdir(exist_ok=True)
    kept = {node: row for node, row in read_policies(TARGET.read_text()).items() if node not in found}
    TARGET.write_text(policies({**found, **kept}))
    print(f"{TARGET}: {len(found)} nodes; as it was: {', '.join(sorted(kept)) or 'none'}")


if __name__ == "__main__":
    main()

"""MoveIt's side of `planweave.bodies.arm.arms.moveit`: python -m planweave_ros.moveit_server CONFIG --replies FD

Reads one JSON object a line from standard input and writes one a line to the file descriptor FD, because MoveIt's
plugins may write to standard output. Written against moveit_py of moveit2's branch jazzy (2.12.4); what
is used of it is the same in 2.15 (Lyrical).

    {"id": 1, "do": "plan", "pipeline", "seconds", "goal": 7 numbers, "solids", "table": its height, "held"}
        -> {"id": 1, "code": MoveItErrorCodes, "text", "path": rows of 7 numbers}
    {"id": 2, "do": "execute", "times", "positions", "velocities"} -> {"id": 2, "status": ExecutionStatus, "text"}
    {"id": 3, "do": "stop"} -> {"id": 3}, when what was asked before has been stopped
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TextIO

from planweave.core.base.yaml_files import read_yaml
from planweave.launcher.environment import apt_install
from planweave.robots import DEFAULT, RobotDescription, load_robot

NODE = "planweave_moveit"
_STOP = 3.0  # s in which a stopped execution returns
_TABLE = (3.0, 3.0, 0.2)  # m


def parameters(folder: Path, use_sim_time: bool, robot: str = DEFAULT) -> dict[str, Any]:
    """The parameters of MoveIt's node out of a folder like config/moveit.

    The robot's URDF is not among them: MoveIt takes it from the topic /robot_description.
    """

    def load(name: str) -> dict[str, Any]:
        return dict(read_yaml(folder / name))

    return {
        "use_sim_time": use_sim_time,
        "robot_description_semantic": (folder / f"{robot}.srdf").read_text(),
        "robot_description_kinematics": load("kinematics.yaml"),
        "robot_description_planning": load("joint_limits.yaml"),
        **load("moveit_py.yaml"),
        **load("controllers.yaml"),
        "ompl": load("ompl.yaml"),
        "pilz_industrial_motion_planner": load("pilz.yaml"),
    }


class MoveItServer:
    """Plans and executes for one group. `plan` and `execute` are for one thread, `stop` for any."""

    def __init__(self, moveit: Any, robot: RobotDescription | None = None):
        """robot: by default the default one."""
        self._moveit, self._robot = moveit, robot or load_robot()
        self._arm = moveit.get_planning_component(planning_component_name=self._robot.planners.moveit_group)
        self._monitor = moveit.get_planning_scene_monitor()
        self._execution = moveit.get_trajectory_execution_manager()
        self._stopped = 0  # executions with this id or a lower one were stopped
        self._executing = False
        self._lock = threading.Lock()

    def plan(self, request: dict[str, Any]) -> dict[str, Any]:
        """A path from the current state to joint positions."""
        from moveit.core.robot_state import RobotState
        from moveit.planning import PlanRequestParameters

        self.fill_scene(request)
        goal = RobotState(self._moveit.get_robot_model())
        goal.set_to_default_values()
        # By name: the setters that take arrays end the process where numpy is newer than the one MoveIt was built with.
        goal.joint_positions = dict(zip(self._robot.joint_names, map(float, request["goal"])))
        goal.update(force=True)
        self._arm.set_start_state_to_current_state()
        if not self._arm.set_goal_state(robot_state=goal):
            return {"code": -16, "text": ""}
        wanted = PlanRequestParameters(self._moveit, request["pipeline"])
        wanted.planning_time = float(request["seconds"])
        answer = self._arm.plan(single_plan_parameters=wanted)
        if not answer:
            return {"code": int(answer.error_code.val), "text": str(getattr(answer.error_code, "message", "") or "")}
        message = answer.trajectory.get_robot_trajectory_msg().joint_trajectory
        order = [list(message.joint_names).index(name) for name in self._robot.joint_names]
        return {"code": 1, "text": "", "path": [[float(p.positions[i]) for i in order] for p in message.points]}

    def fill_scene(self, request: dict[str, Any]) -> None:
        """Replace the content of MoveIt's planning scene: solids, table, and the held one."""
        from moveit_msgs.msg import AttachedCollisionObject, CollisionObject

        base, gripper = self._robot.base, self._robot.gripper
        with self._monitor.read_write() as scene:
            nothing = AttachedCollisionObject(link_name=gripper.link)
            nothing.object.operation = CollisionObject.REMOVE
            scene.process_attached_collision_object(nothing)
            scene.remove_all_collision_objects()
            for index, solid in enumerate(request["solids"]):
                scene.apply_collision_object(collision_object_msg=collision_object(f"solid_{index}", solid, base))
            table = {
                "kind": "box",
                "half": [side / 2 for side in _TABLE],
                "orientation": [0.0, 0.0, 0.0, 1.0],
                "centre": [0.0, 0.0, request["table"] - _TABLE[2] / 2],
            }
            scene.apply_collision_object(collision_object_msg=collision_object("table", table, base))
            allowed = scene.allowed_collision_matrix
            allowed.set_entry("table", base, True)  # the base stands on it
            scene.allowed_collision_matrix = allowed
            held = request["held"]
            if held is not None:
                attached = AttachedCollisionObject(link_name=gripper.link, touch_links=[gripper.link, *gripper.fingers])
                attached.object = collision_object("held", held, gripper.link)
                scene.process_attached_collision_object(attached)
            scene.current_state.update()

    def execute(self, request: dict[str, Any]) -> dict[str, Any]:
        """Execute a timed trajectory; returns when the arm is at rest."""
        from moveit.core.robot_trajectory import RobotTrajectory
        from moveit_msgs.msg import RobotTrajectory as Message

        from planweave_ros.controllers import joint_trajectory

        trajectory = RobotTrajectory(self._moveit.get_robot_model())
        trajectory.joint_model_group_name = self._robot.planners.moveit_group
        message = Message(
            joint_trajectory=joint_trajectory(
                self._robot.joint_names, request["times"], request["positions"], request["velocities"]
            )
        )
        with self._monitor.read_only() as scene:
            trajectory.set_robot_trajectory_msg(robot_state=scene.current_state, msg=message)
        with self._lock:
            if request["id"] <= self._stopped:
                return {"status": "PREEMPTED", "text": ""}
            self._executing = True
        try:
            status = self._moveit.execute(robot_trajectory=trajectory, controllers=[])
        finally:
            self._executing = False
        return {"status": str(status.status), "text": ""}

    def stop(self, number: int) -> None:
        """Stop the running trajectory, and those requested before request `number`."""
        with self._lock:
            self._stopped = max(self._stopped, number)
        end = time.monotonic() + _STOP
        while self._executing and time.monotonic() < end:
            # An execution that has only just begun does not hear of a stop that comes before its first step.
            self._execution.stop_execution(auto_clear=True)
            time.sleep(0.01)


def collision_object(name: str, solid: dict[str, Any], frame: str) -> Any:
    """A box or cylinder as a message: half extents and centre in m, orientation as x, y, z, w."""
    from geometry_msgs.msg import Point, Pose, Quaternion
    from moveit_msgs.msg import CollisionObject
    from shape_msgs.msg import SolidPrimitive

    length, width, height = (2 * float(half) for half in solid["half"])
    if solid["kind"] == "box":
        primitive = SolidPrimitive(type=SolidPrimitive.BOX, dimensions=[length, width, height])
    else:
        primitive = SolidPrimitive(type=SolidPrimitive.CYLINDER, dimensions=[height, max(length, width) / 2])
    place = Pose(
        position=Point(**dict(zip("xyz", (float(c) for c in solid["centre"])))),
        orientation=Quaternion(**dict(zip("xyzw", (float(c) for c in solid["orientation"])))),
    )
    message = CollisionObject(id=name, primitives=[primitive], primitive_poses=[place], operation=CollisionObject.ADD)
    message.header.frame_id = frame
    message.pose.orientation.w = 1.0
    return message


def serve(server: MoveItServer, requests: TextIO, reply: Callable[[dict[str, Any]], None]) -> None:
    """Process requests until standard input ends. Planning and execution share one thread; `stop` bypasses it."""
    todo: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()

    def work() -> None:
        while (request := todo.get()) is not None:
            try:
                answer = server.plan(request) if request["do"] == "plan" else server.execute(request)
            except Exception as error:
                # Whatever MoveIt throws is an answer: the process lives on.
                text = f"{type(error).__name__}: {error}"
                answer = {"code": 99999, "status": "FAILED", "text": text}
            reply({"id": request["id"], **answer})

    worker = threading.Thread(target=work, name="moveit", daemon=True)
    worker.start()
    for line in requests:
        request = json.loads(line)
        if request["do"] == "stop":
            server.stop(int(request["id"]))
            reply({"id": request["id"]})
        else:
            todo.put(request)
    server.stop(sys.maxsize)
    todo.put(None)
    worker.join(5.0)


def main() -> int:
    parser = argparse.ArgumentParser(description="MoveIt for executor_node")
    parser.add_argument("config", type=Path)
    parser.add_argument("--robot", default=DEFAULT, help="name or path of the robot's description")
    parser.add_argument("--replies", type=int, required=True)
    parser.add_argument("--use-sim-time", action="store_true")
    parser.add_argument("--namespace", default="")
    options = parser.parse_args()
    replies = os.fdopen(options.replies, "w", buffering=1)
    lock = threading.Lock()

    def reply(answer: dict[str, Any]) -> None:
        with lock:
            replies.write(json.dumps(answer) + "\n")

    try:
        from moveit.planning import MoveItPy
    except ImportError as error:
        reply(
            {
                "error": f"MoveIt's Python package cannot be imported ({error}): "
                f"{apt_install('moveit_py', 'moveit')}, and source the setup.bash of ROS 2"
            }
        )
        return 2
    try:
        robot = load_robot(options.robot)
        moveit = MoveItPy(
            node_name=NODE,
            name_space=options.namespace,
            config_dict=parameters(options.config, options.use_sim_time, robot.name),
        )
    except Exception as error:
        reply({"error": f"MoveIt could not start ({type(error).__name__}: {error}); its messages are in the log"})
        return 2
    server = MoveItServer(moveit, robot)
    reply({"ready": True})
    serve(server, sys.stdin, reply)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

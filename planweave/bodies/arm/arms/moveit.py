"""Planning and execution by MoveIt: a planner and a follower that replace our own; without ROS.

MoveIt plans a path. It is timed, checked against the safety limits and checked for collisions by the same code as every
other path (`planweave.bodies.arm.motion_execution`), and only then executed, through MoveIt's trajectory execution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planweave.bodies.arm.arms.base import AWAY, OFF, Desired, Done, MotionResult
from planweave.bodies.arm.arms.follow import BLOCKED
from planweave.bodies.arm.arms.moveit_process import MoveItProcess
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.motion import MotionPlanner
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.solids import Part
from planweave.bodies.arm.timing import Trajectory
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array
from planweave.geometry.rotations import quaternion_from_rotation

PIPELINES = ("ompl_rrtc", "ompl_rrtstar", "pilz_ptp")
"""Plan request parameters in config/moveit/moveit_py.yaml."""
_TOLERANCE = 0.003  # m by which MoveIt's meshes may be fatter than our hulls
_ANSWER = 5.0  # s beyond the time to plan in which an answer must come
_GOALS = 3  # goals tried, best first

ERRORS: dict[int, tuple[Code, str]] = {
    99999: (Code.PLANNING_FAILED, "MoveIt failed without a reason"),
    -1: (Code.PLANNING_FAILED, "MoveIt found no motion"),
    -2: (Code.PLANNING_FAILED, "MoveIt found a motion that collides when checked again"),
    -3: (Code.PLANNING_FAILED, "the scene changed while MoveIt planned"),
    -4: (Code.CONTROL_FAILED, "the controller failed"),
    -5: (Code.CONTROL_FAILED, "MoveIt has no data from the robot's sensors"),
    -6: (Code.PLANNING_FAILED, "MoveIt ran out of time to plan"),
    -7: (Code.PLANNING_FAILED, "the planning was cancelled by another client"),
    -10: (Code.COLLISION, "the arm stands in a collision, says MoveIt; move it free"),
    -11: (Code.PLANNING_FAILED, "where the arm stands breaks a path constraint"),
    -12: (Code.COLLISION, "the arm would collide where it must stand, says MoveIt"),
    -13: (Code.PLANNING_FAILED, "where the arm must stand breaks a path constraint"),
    -14: (Code.PLANNING_FAILED, "MoveIt's motion does not end at its goal"),
    -15: (Code.CONTROL_FAILED, "MoveIt's robot model has no such group: is the .srdf of moveit_config the one in use?"),
    -16: (Code.PLANNING_FAILED, "MoveIt does not accept the goal"),
    -17: (Code.CONTROL_FAILED, "MoveIt does not accept the robot's state"),
    -18: (Code.CONTROL_FAILED, "MoveIt's robot model has no such link"),
    -19: (Code.CONTROL_FAILED, "MoveIt does not accept the name of an object"),
    -21: (Code.CONTROL_FAILED, "MoveIt knows no transform to the frame: does robot_state_publisher run?"),
    -22: (Code.CONTROL_FAILED, "MoveIt cannot check collisions"),
    -23: (Code.CONTROL_FAILED, "MoveIt's robot state is old: are joint states published?"),
    -24: (Code.CONTROL_FAILED, "MoveIt's sensor data are old"),
    -25: (Code.CONTROL_FAILED, "MoveIt cannot reach the controller"),
    -26: (Code.PLANNING_FAILED, "where the arm stands is beyond a limit, says MoveIt"),
    -27: (Code.UNREACHABLE, "where the arm must stand is beyond a limit, says MoveIt"),
    -28: (Code.CONTROL_FAILED, "MoveIt does not know this kind of goal"),
    -29: (Code.CONTROL_FAILED, "MoveIt's planner crashed"),
    -30: (Code.CONTROL_FAILED, "MoveIt gave up"),
    -31: (Code.UNREACHABLE, "MoveIt found no joint positions for the pose"),
}
"""Failure and text by value of moveit_msgs/msg/MoveItErrorCodes (Jazzy)."""

STATUSES: dict[str, tuple[Code, str]] = {
    "SUCCEEDED": (Code.SUCCESS, ""),
    "PREEMPTED": (Code.SAFETY_STOP, "another client cancelled the motion; the arm was stopped"),
    "TIMED_OUT": (Code.CONTROL_FAILED, "the controller took too long for the motion; MoveIt stopped the arm"),
    "ABORTED": (Code.CONTROL_FAILED, "the controller aborted the motion, and MoveIt does not pass on why"),
    "FAILED": (Code.CONTROL_FAILED, "the controller failed; MoveIt stopped the arm"),
}
"""Outcome by status of moveit_controller_manager::ExecutionStatus."""


class MoveItPlanner(MotionPlanner):
    """Plans with MoveIt in a scene of the same solids as our own planning scene.

    pipeline: one of PIPELINES. check: raises when the skill is over.
    """

    def __init__(
        self,
        scene: PlanningScene,
        kinematics: Kinematics,
        process: MoveItProcess,
        pipeline: str,
        check: Callable[[], None],
    ):
        super().__init__(scene, kinematics)
        self._process, self._pipeline, self._check = process, pipeline, check

    def plan(self, start: Array, goals: Sequence[Array], seconds: float = 2.0, without: Sequence[Array] = ()) -> Array:
        """See `MotionPlanner.plan`; error codes are converted by ERRORS. Each search gives another path by itself."""
        start = np.asarray(start, dtype=float)
        margin = self.margin_at(start)
        failure = SkillFailureError(Code.PLANNING_FAILED, "no collision-free goal configuration")
        for goal in [np.asarray(g, dtype=float) for g in goals][:_GOALS]:
            blocked = self.scene.contact(goal, margin)
            if blocked is not None:
                failure = SkillFailureError(Code.PLANNING_FAILED, f"no collision-free goal configuration: {blocked}")
                continue
            answer = self._process.request(
                {
                    "do": "plan",
                    "pipeline": self._pipeline,
                    "seconds": seconds,
                    "goal": goal.tolist(),
                    **scene_message(self.scene, max(0.0, margin - _TOLERANCE)),
                },
                seconds + _ANSWER,
                self._check,
            )
            number = int(answer.get("code", 99999))
            if number == 1:
                path = np.array([start, *answer["path"], goal], dtype=float)
                if float(np.abs(path[1] - start).max()) < 0.05 and float(np.abs(path[-2] - goal).max()) < 0.05:
                    path = self._shorten(path, margin)
                    if self._free(path, margin):
                        return path
                number = -2
            failure = planning_failure(number, str(answer.get("text", "")), bool(answer.get("gone")))
        raise failure


class MoveItFollower:
    """Executes trajectories through MoveIt. cancel: cancels the controller's goals directly, without MoveIt. names: for
    remedies in messages.
    """

    away, off = AWAY, OFF
    grace = 5.0
    settle = 0.3

    def __init__(self, process: MoveItProcess, cancel: Callable[[], str], names: RosNames | None = None):
        self._process, self._cancel, self._names = process, cancel, names or RosNames()

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        def take(answer: dict[str, Any]) -> None:
            if answer.get("gone"):
                self._cancel()
                self._process.start()  # for the next motion
                done(MotionResult(Code.CONTROL_FAILED, f"{answer['text']}; the arm was stopped"))
                return
            status = str(answer.get("status", "UNKNOWN"))
            code, text = STATUSES.get(
                status, (Code.CONTROL_FAILED, f"MoveIt's execution ended as {status}: {answer.get('text', '')}")
            )
            if status == "ABORTED":
                done(
                    MotionResult(
                        code,
                        f"{text}; {self._names.how_to_recover}",
                        if_no_joint_states=f"{text}; the joint states ended with it: {self._names.no_arm_states}",
                        if_behind=f"{BLOCKED} (MoveIt: aborted by the controller); the arm was stopped",
                    )
                )
                return
            done(MotionResult(code, text))

        self._process.send(
            {
                "do": "execute",
                "times": trajectory.times.tolist(),
                "positions": trajectory.positions.tolist(),
                "velocities": trajectory.velocities.tolist(),
            },
            take,
        )

    def stop(self) -> str:
        """Stop at the controller and in MoveIt."""
        unreached = self._cancel()
        self._process.stop()
        return unreached


def planning_failure(number: int, said: str, gone: bool = False) -> SkillFailureError:
    """The failure for an error code and message of MoveIt."""
    if gone:
        return SkillFailureError(Code.CONTROL_FAILED, said)
    code, text = ERRORS.get(number, (Code.PLANNING_FAILED, f"MoveIt failed with its error code {number}"))
    return SkillFailureError(code, f"{text}{f' ({said})' if said else ''}; nothing was moved")


def scene_message(scene: PlanningScene, growth: float) -> dict[str, Any]:
    """The surrounding solids, each padded by a distance (m), and the held one."""
    held = scene.held()
    return {
        "solids": [solid(part, growth) for part in scene.shapes],
        "table": scene.table_height + growth,
        "held": None if held is None else solid(held, 0.0),
    }


def solid(part: Part, growth: float) -> dict[str, Any]:
    """A box or cylinder, padded by a distance (m); orientation as x, y, z, w."""
    return {
        "kind": "cylinder" if part.kind == "cylinder" else "box",
        "half": [float(h) + growth for h in part.half],
        "centre": [float(c) for c in part.pose[:3, 3]],
        "orientation": [float(c) for c in quaternion_from_rotation(part.pose[:3, :3])],
    }

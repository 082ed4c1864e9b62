"""An arm behind FollowJointTrajectory, the action of ros2_control's joint_trajectory_controller; without ROS.

The numbers are those of control_msgs/action/FollowJointTrajectory (control_msgs 5, Jazzy).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from planweave.bodies.arm.arms.base import AWAY, OFF, Desired, Done, GoalPort, MotionResult
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import Trajectory
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import ActionEnd, End

BLOCKED = "the arm was blocked: something holds it off its path"
ERRORS: dict[int, tuple[Code, str]] = {
    -1: (Code.SAFETY_STOP, "the controller was deactivated during the motion"),
    -2: (Code.CONTROL_FAILED, "the controller moves other joints than the trajectory names"),
    -3: (
        Code.CONTROL_FAILED,
        "the trajectory is in the controller's past: do all nodes use the same clock (use_sim_time)?",
    ),
    -4: (Code.COLLISION, BLOCKED),
    -5: (Code.CONTROL_FAILED, "the arm did not come to rest at the end of its path"),
}
"""Failure and text by error_code of a result. A trajectory that is invalid is refused before; of one that was accepted
the controller says -1 where it is deactivated, or where another goal takes its place (see `outcome_of`).
"""


class ActionFollower:
    """Sends each trajectory as a goal.

    to_goal: converts a trajectory to a goal message. joints: names of the arm's, in order. names: for remedies in
    messages.
    """

    away, off = AWAY, OFF
    grace, settle = 3.0, 0.3

    def __init__(
        self,
        port: GoalPort,
        to_goal: Callable[[Trajectory], Any],
        joints: Sequence[str] = (),
        names: RosNames | None = None,
    ):
        self._port, self._to_goal, self._joints, self._names = port, to_goal, list(joints), names or RosNames()

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        def heard(feedback: Any) -> None:
            wanted = dict(zip(feedback.joint_names, feedback.desired.positions))
            if wanted.keys() >= set(self._joints):
                desired(np.array([wanted[name] for name in self._joints], dtype=float))

        self._port.send(self._to_goal(trajectory), lambda ended: done(outcome_of(ended, self._names)), heard)

    def stop(self) -> str:
        """Cancel the goal: the controller then brakes and holds."""
        return self._port.cancel()


def outcome_of(ended: ActionEnd, names: RosNames) -> MotionResult:
    """Convert the result of a FollowJointTrajectory goal to a failure code."""
    recover = names.how_to_recover
    if ended.end is End.ABSENT:  # here and below: nothing helps until a person does something
        return MotionResult(
            Code.SAFETY_STOP,
            f"no controller offers {ended.action}: is it loaded and active? (ros2 control list_controllers); {recover}",
        )
    if ended.end is End.REJECTED:
        return MotionResult(
            Code.SAFETY_STOP,
            f"{ended.action} refused the trajectory: its controller is not active, moves other joints, or holds the "
            f"arm elsewhere than the trajectory begins; {recover}",
        )
    number = int(getattr(ended.result, "error_code", 0))
    said = str(getattr(ended.result, "error_string", "") or "")
    if ended.end is End.SUCCEEDED and number == 0:
        return MotionResult(Code.SUCCESS)
    # Pre-empted and deactivated goals have the same number and end as aborted, with older controllers (ros2_controllers
    # before #2422 and #1517) as cancelled: only the text tells them apart.
    if number == -1 and "new incoming" in said:
        return MotionResult(
            Code.SAFETY_STOP,
            f"another client of {ended.action} sent a goal of its own, which ended the motion ({said}); "
            "the arm was stopped: end that client, or wait for it",
            foreign=True,
        )
    if ended.end is End.CANCELED and number != -1:
        return MotionResult(
            Code.SAFETY_STOP,
            f"another client of {ended.action} cancelled the motion; the arm was stopped: end that client, or wait for "
            "it",
            foreign=True,
        )
    code, text = ERRORS.get(number, (Code.CONTROL_FAILED, f"the controller gave up; {recover}"))
    said = f" ({said})" if said else ""
    if number == -1:
        return MotionResult(
            code,
            f"{text}{said}: somebody switched controllers; when the arm is free again: {recover}",
            if_no_joint_states=f"{text}{said}, and the joint states ended with it: {names.no_arm_states}",
        )
    return MotionResult(code, f"{text}{said}; the arm was stopped")

"""An arm behind FollowJointTrajectory, the action of ros2_control's joint_trajectory_controller; without ROS.

The numbers are those of control_msgs/action/FollowJointTrajectory (control_msgs 5, Jazzy).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from planweave.bodies.arm.arms.base import Done, GoalPort, Outcome
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import Trajectory
from planweave.core.action_end import ActionEnd, End
from planweave.core.failure import Code

ERRORS: dict[int, tuple[Code, str]] = {
    -1: (Code.CONTROL_FAILED, "the controller calls the trajectory invalid"),
    -2: (Code.CONTROL_FAILED, "the controller moves other joints than the trajectory names"),
    -3: (
        Code.CONTROL_FAILED,
        "the trajectory is in the controller's past: do all nodes use the same clock (use_sim_time)?",
    ),
    -4: (Code.COLLISION, "the arm was held off its path: something blocks it"),
    -5: (Code.CONTROL_FAILED, "the arm did not come to rest at the end of its path"),
}
"""Failure and text by error_code of a result."""


class ActionFollower:
    """Sends each trajectory as a goal.

    to_goal: converts a trajectory to a goal message. recover: remedy in error messages.
    """

    reports = True
    grace = 3.0

    def __init__(self, port: GoalPort, to_goal: Callable[[Trajectory], Any], recover: str = RosNames().how_to_recover):
        self._port, self._to_goal, self._recover = port, to_goal, recover

    def start(self, trajectory: Trajectory, done: Done) -> None:
        """Send the goal."""
        self._port.send(self._to_goal(trajectory), lambda ended: done(outcome_of(ended, self._recover)))

    def stop(self) -> str:
        """Cancel the goal: the controller then brakes and holds."""
        return self._port.cancel()


def outcome_of(ended: ActionEnd, recover: str) -> Outcome:
    """Convert the result of a FollowJointTrajectory goal to a failure code."""
    if ended.end is End.ABSENT:
        return Outcome(
            Code.CONTROL_FAILED,
            f"no controller offers {ended.action}: is it loaded and active? (ros2 control list_controllers); {recover}",
        )
    if ended.end is End.REJECTED:
        return Outcome(
            Code.CONTROL_FAILED,
            f"{ended.action} refused the trajectory: its controller is not active, or moves other joints; {recover}",
        )
    if ended.end is End.CANCELED:
        return Outcome(Code.CANCELED, "the motion was cancelled at the controller; the arm was stopped")
    number = int(getattr(ended.result, "error_code", 0))
    said = str(getattr(ended.result, "error_string", "") or "")
    if ended.end is End.SUCCEEDED and number == 0:
        return Outcome(Code.SUCCESS)
    code, text = ERRORS.get(number, (Code.CONTROL_FAILED, f"the controller gave up; {recover}"))
    return Outcome(code, f"{text}{f' ({said})' if said else ''}; the arm was stopped")

"""Grippers behind actions; without ROS.

Franka's hand: franka_msgs/action/{Homing,Move,Grasp} of franka_ros2 (jazzy, v3.4.0), each with a result of success and
error. In libfranka a grasp succeeds where the final opening is within `epsilon` of the requested width; with width 0
and an outer epsilon of the whole stroke it succeeds for any object, and the opening identifies it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planweave.bodies.arm.arms.base import Done, GoalPort, MotionResult
from planweave.core.base.failure import Code
from planweave.core.workflow.action_end import ActionEnd, End

_CLOSED = 0.001  # m; an opening below is a grasp
FINGER_SPEED = 0.1
"""Speed of the fingers, m/s."""


@dataclass(frozen=True)
class FrankaGoals:
    """Goal messages: homing(), move(width m, speed m/s), grasp(force N, speed m/s)."""

    homing: Callable[[], Any]
    move: Callable[[float, float], Any]
    grasp: Callable[[float, float], Any]


class FrankaGripper:
    """Franka's hand.

    home: whether to home the fingers before the first motion, as required after each start of the hand.
    """

    grace = 25.0
    settle = 0.2

    def __init__(
        self,
        homing: GoalPort,
        move: GoalPort,
        grasp: GoalPort,
        goals: FrankaGoals,
        home: bool = False,
    ):
        self._homing, self._move, self._grasp, self._goals = homing, move, grasp, goals
        self._unhomed = home
        self._turn = 0

    def start(self, width: float, force: float, done: Done) -> None:
        """Grasp where the fingers close, else move; homes first where required."""
        self._turn += 1
        turn = self._turn
        if not self._unhomed:
            self._begin(width, force, done)
            return

        def homed(ended: ActionEnd) -> None:
            outcome = gripper_outcome(ended)
            if outcome.code is not Code.SUCCESS:
                done(outcome)
            elif turn == self._turn:
                self._unhomed = False
                self._begin(width, force, done)
                if turn != self._turn:  # stopped meanwhile
                    self.stop()

        self._homing.send(self._goals.homing(), homed)

    def stop(self) -> None:
        """Cancel the current motion; a held object remains held."""
        self._turn += 1
        for port in (self._homing, self._move, self._grasp):
            port.cancel()

    def _begin(self, width: float, force: float, done: Done) -> None:
        def ended(end: ActionEnd) -> None:
            done(gripper_outcome(end))

        if width < _CLOSED:
            self._grasp.send(self._goals.grasp(force, FINGER_SPEED), ended)
        else:
            self._move.send(self._goals.move(width, FINGER_SPEED), ended)


class CommandGripper:
    """Fingers behind control_msgs/action/GripperCommand or ParallelGripperCommand, whose results tell the same.

    to_goal: converts opening (m) and force (N) to a goal message.

    Depending on its configuration a controller ends with success or abort when the fingers stall; both are accepted,
    and the opening tells what is held.
    """

    grace = 10.0
    settle = 0.05

    def __init__(self, port: GoalPort, to_goal: Callable[[float, float], Any]):
        self._port, self._to_goal = port, to_goal

    def start(self, width: float, force: float, done: Done) -> None:
        def ended(end: ActionEnd) -> None:
            stalled = bool(getattr(end.result, "stalled", False))
            done(MotionResult(Code.SUCCESS) if stalled and end.end is End.ABORTED else gripper_outcome(end))

        self._port.send(self._to_goal(width, force), ended)

    def stop(self) -> None:
        self._port.cancel()


class NoGripper:
    """Succeeds at once without motion: fake hardware has no gripper actions."""

    grace = 1.0
    settle = 0.0

    def start(self, width: float, force: float, done: Done) -> None:
        done(MotionResult(Code.SUCCESS))

    def stop(self) -> None:
        """Nothing moves."""


def gripper_outcome(ended: ActionEnd) -> MotionResult:
    """Convert the result of a gripper's goal to a failure code."""
    if ended.end is End.ABSENT:
        return MotionResult(
            Code.CONTROL_FAILED,
            f"nobody offers {ended.action}: is the gripper's node running? (with fake hardware there is none: set "
            "gripper: none)",
        )
    if ended.end is End.REJECTED:
        return MotionResult(Code.CONTROL_FAILED, f"the gripper refused {ended.action}")
    if ended.end is End.CANCELED:
        return MotionResult(Code.SAFETY_STOP, f"another client of {ended.action} cancelled the gripper's movement")
    good = bool(getattr(ended.result, "success", True)) and ended.end is End.SUCCEEDED
    if good:
        return MotionResult(Code.SUCCESS)
    said = str(getattr(ended.result, "error", "") or "")
    return MotionResult(
        Code.CONTROL_FAILED,
        f"the gripper could not do {ended.action}{f' ({said})' if said else ''}: something may block the fingers, or "
        "they were not homed since the hand was switched on",
    )

"""Grippers behind actions; no ROS in here.

Franka's hand: franka_msgs/action/{Homing,Move,Grasp} of franka_ros2 (jazzy, v3.4.0), each with a result of success
and error. A grasp succeeds in libfranka where the opening ends within `epsilon` of the width asked for; asked for
nothing with an outer epsilon of the whole stroke it succeeds whatever is held, and the opening says what that is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from planweave.bodies.arm.arms.base import Done, GoalPort, Outcome
from planweave.core.action_end import ActionEnd, End
from planweave.core.failure import Code

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
    """Franka's hand. home: whether the fingers find their limits before the first movement, as after each start of
    the hand they must.
    """

    reports = True
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
        """Grasp where the fingers shall close, else move; home before where that has not been done."""
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
        """Cancel what is under way; an object held stays held."""
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
    """Fingers behind control_msgs/action/GripperCommand. to_goal: opening (m) and force (N) as goal message.

    A controller that lets the fingers stall ends with success or abort, as it was set up; both are an end here, and
    the opening says what is held.
    """

    reports = True
    grace = 10.0
    settle = 0.2

    def __init__(self, port: GoalPort, to_goal: Callable[[float, float], Any]):
        self._port, self._to_goal = port, to_goal

    def start(self, width: float, force: float, done: Done) -> None:
        """Send the goal."""

        def ended(end: ActionEnd) -> None:
            stalled = bool(getattr(end.result, "stalled", False))
            done(Outcome(Code.SUCCESS) if stalled and end.end is End.ABORTED else gripper_outcome(end))

        self._port.send(self._to_goal(width, force), ended)

    def stop(self) -> None:
        """Cancel."""
        self._port.cancel()


class NoGripper:
    """Does nothing and says so at once: fake hardware has no gripper actions."""

    reports = True
    grace = 1.0
    settle = 0.0

    def start(self, width: float, force: float, done: Done) -> None:
        """Nothing moves."""
        done(Outcome(Code.SUCCESS))

    def stop(self) -> None:
        """Nothing moves."""


def gripper_outcome(ended: ActionEnd) -> Outcome:
    """The end of a gripper's goal in our failure language."""
    if ended.end is End.ABSENT:
        return Outcome(
            Code.CONTROL_FAILED,
            f"nobody offers {ended.action}: is the gripper's node running? (with fake hardware there is none: set "
            "gripper: none)",
        )
    if ended.end is End.REJECTED:
        return Outcome(Code.CONTROL_FAILED, f"the gripper refused {ended.action}")
    if ended.end is End.CANCELED:
        return Outcome(Code.CANCELED, "the gripper's movement was cancelled")
    good = bool(getattr(ended.result, "success", True)) and ended.end is End.SUCCEEDED
    if good:
        return Outcome(Code.SUCCESS)
    said = str(getattr(ended.result, "error", "") or "")
    return Outcome(
        Code.CONTROL_FAILED,
        f"the gripper could not do {ended.action}{f' ({said})' if said else ''}: something may block the fingers, or "
        "they were not homed since the hand was switched on",
    )

"""An arm composed of a follower and a gripper, without ROS.

Measured states arrive through `on_state`, and controller reports through callbacks, from any thread. Stamps are in the
controller's time; deadlines use the monotonic clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

import numpy as np

from planweave.bodies.arm.arms.base import (
    ArmState,
    Desired,
    Done,
    Follower,
    Gripper,
    MotionResult,
    OtherCommanders,
    Watch,
)
from planweave.bodies.arm.arms.path_watch import PathWatch
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.ros_names import RosNames
from planweave.bodies.arm.timing import Trajectory
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array
from planweave.robots import RobotDescription, load_robot

_ARRIVED = 0.02  # rad
_GRIP_START = 0.25  # s of the controller's time before a still finger counts as stopped
_FINGERS_REST = 1.0  # s of wall time within which fingers rest after a stop
_STOPPING = 0.1  # s of the controller's time within which a stop is at work
_FRESH = 1.0  # s of wall time for which a measured state says that the arm stands
_TOLD = 1.0  # s of wall time within which a living controller tells the end of a motion that was stopped
_STANDING = 2.0  # s of wall time within which a stopped arm must be seen standing
_AGAIN = 0.4  # s of wall time after which a stop is sent again to an arm that moves on: longer than it takes to brake
_HELD = 0.03  # rad behind the timed path at which an arm whose controller gives no reason was held
_STUCK = 0.3  # s without progress after which an arm that the controller wants farther off than `off` is held
_GOES_ON = 0.2  # s after a stop at which joint states of a living driver come
_JUMP, _JUMP_PACE = 0.1, 2.0  # rad, and multiples of the speed limits, that two states in a row may be apart
_GOES_ON_MOVING = "the arm still moves {:.3g} s after the stop command, which is repeated"


_Found = TypeVar("_Found")


class _Report:
    """A controller's report of one motion, with the stamp of the newest state at that time; the joint positions that
    the controller wanted last; and the stamp since which the measured ones are too far behind those.
    """

    def __init__(self) -> None:
        self.outcome: MotionResult | None = None
        self.stamp = 0.0
        self.desired: Array | None = None
        self.behind_since: float | None = None


class Alone:
    """No other client commands the arm; see OtherCommanders."""

    def named(self) -> str:
        return ""

    def moving(self) -> str:
        return ""


class ControlledArm:
    """See `planweave.bodies.arm.arms.base.Arm`.

    Stops only what it moves itself. joint_state_timeout: wall seconds without a measured state after which the
    controller counts as dead; nothing waits for it until states arrive again. robot: by default the default one.
    names: for remedies in messages. others: who else may command the arm. step: of a simulator in which time passes
    only while it is stepped; called instead of waiting for states, which it brings.
    """

    def __init__(
        self,
        follower: Follower,
        gripper: Gripper,
        joint_state_timeout: float = 3.0,
        robot: RobotDescription | None = None,
        names: RosNames | None = None,
        others: OtherCommanders | None = None,
        step: Callable[[], object] | None = None,
    ):
        self.robot = robot or load_robot()
        self._follower, self._gripper, self._joint_state_timeout = follower, gripper, joint_state_timeout
        self._names, self._others = names or RosNames(), others or Alone()
        self._changed, self._step = threading.Condition(), step
        self._state: ArmState | None = None
        self._arrived_at = time.monotonic()
        self._no_joint_states = False  # a wait has ended because no states came, and none has come since
        self._aborted: SkillFailureError | None = None
        self._deadline = float("inf")
        self._gripping: _Report | None = None  # a movement of the fingers that nobody has waited for yet
        self._stopped = 0.0  # stamp of the newest state when the arm was told to stop
        self._unreached = ""  # why the last stop reached nobody
        self._stop_begun: float | None = None  # when a stop was sent (monotonic), until the arm is seen to rest
        self._stop_sent = 0.0  # when it was sent last
        self._following = False
        self._sent: tuple[_Report, Array] = _Report(), np.zeros(0)  # of the newest motion: its report and end
        self._moves_arm = self._moves_fingers = False  # was sent, and is not known to have ended

    # ---- from other threads -------------------------------------------------------------------------------------

    def on_state(self, state: ArmState) -> None:
        """Process a measured state. A discontinuity stops the current motion."""
        with self._changed:
            jump = _jump(self.robot, self._state, state) if self._following else ""
            if jump and self._aborted is None:
                self._stop()
                self._aborted = SkillFailureError(Code.SAFETY_STOP, f"{jump}; the arm was stopped")
            self._state = state
            self._arrived_at, self._no_joint_states = time.monotonic(), False
            if self._moves_arm and self._stop_begun is not None:
                self._stands(self._stop_begun)
            self._changed.notify_all()

    def begin(self, deadline: float) -> None:
        """Start a skill, which must end before `deadline` (time.monotonic())."""
        with self._changed:
            self._aborted, self._deadline, self._gripping = None, deadline, None

    def intruded(self, message: str) -> None:
        """Process a command of another client to the arm's controller: it ends a motion that goes on."""
        with self._changed:
            following = self._following
        if following:
            self.abort(Code.SAFETY_STOP, f"{message} during a motion; the arm was stopped")

    def abort(self, code: Code, message: str) -> None:
        """Stop what moves and end the running skill, from any thread; the first reason is kept."""
        with self._changed:
            self._stop()
            if self._aborted is None:
                self._aborted = SkillFailureError(code, message)
            self._changed.notify_all()

    def wait_standing(self) -> str:
        """Wait at most two seconds until the arm is measured to rest after `abort`; returns what is wrong where it does
        not.
        """
        with self._changed:
            return self._wait_still() if self._state is not None and self._moves_arm else ""

    def wait_fingers(self) -> float | None:
        """Opening of the fingers (m) once they rest after `abort`, or a second later; None without a measured state."""
        end = time.monotonic() + _FINGERS_REST
        with self._changed:
            begun = self._state
            while (state := self._state) is not None and time.monotonic() < end:
                told = begun is not None and state.stamp - begun.stamp >= _GRIP_START
                if told and abs(state.finger_speed) < 0.002:
                    break
                self._pause(_STOPPING / 2)
            return state.width if state is not None else None

    @property
    def still_moves(self) -> str:
        """The reason to begin nothing: the arm is measured to move though it was stopped; else empty."""
        with self._changed:
            state, begun, now = self._state, self._stop_begun, time.monotonic()
            if state is None or state.still or begun is None or not self._moves_arm or now > self._arrived_at + _FRESH:
                return ""
            return _GOES_ON_MOVING.format(now - begun)

    @property
    def moves(self) -> bool:
        """Whether a motion of the arm was sent and is not known to have ended."""
        return self._moves_arm

    # ---- for the skill ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise where the skill was aborted or its time is up."""
        with self._changed:
            self._raise_if_over()

    def state(self) -> ArmState:
        """The newest measured state. Waits for one where it is stale, until an `abort`; stops nothing."""
        begun = time.monotonic()
        with self._changed:
            aborted = self._aborted
            while self._state is None or time.monotonic() - self._arrived_at >= self._joint_state_timeout:
                left = begun + self._joint_state_timeout - time.monotonic()
                if self._no_joint_states or left <= 0:
                    self._no_joint_states = True
                    raise self._no_joint_states_failure()
                self._pause(left)
                if self._aborted is not aborted:
                    self._raise_if_over()
            if not self._state.fingers:
                raise self._no_joint_states_failure()
            return self._state

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        self.check()
        start = self.state()
        away = np.abs(trajectory.positions[0] - start.positions)
        if away.max() > self._follower.away:
            joint = int(away.argmax())
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"the motion begins {away[joint]:.3f} rad from where {self.robot.joint_names[joint]} is "
                f"(at most {self._follower.away:g}): something moved the arm since it was planned, or its joint states "
                "are old; nothing was moved",
            )
        if foreign := self._others.moving():
            raise SkillFailureError(Code.SAFETY_STOP, f"{foreign}; nothing was moved")
        report, path = _Report(), PathWatch(trajectory, start.stamp)
        with self._changed:
            self._raise_if_over()
            self._following, self._moves_arm, self._stop_begun = True, True, None
            self._sent = report, trajectory.end
            try:
                self._follower.start(trajectory, self._listener(report), self._desired(report))
                outcome = self._wait(lambda: self._end_of(trajectory, report, path, watch))
            finally:
                self._following = False
            if outcome.code is not Code.SUCCESS:
                self._raise_if_over()  # what it was stopped for says more than that it was
                self._fail(outcome, path)
            self._moves_arm = False

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Start a finger motion; wait until the fingers reach the opening or have stopped against an object."""
        gripper = self._gripper
        with self._changed:
            if self._gripping is not None:  # one movement at a time
                self._finish_grip(self._gripping)
        self.check()
        start = self.state()
        with self._changed:
            self._raise_if_over()
            report = self._gripping = _Report()
            report.stamp = start.stamp
            self._moves_fingers = True
            gripper.start(width, force, self._listener(report))
            if wait:
                self._finish_grip(report)
            assert self._state is not None
            return self._state.width

    # ---- the lock is held ---------------------------------------------------------------------------------------

    def _end_of(
        self, trajectory: Trajectory, report: _Report, path: PathWatch, watch: Watch | None
    ) -> MotionResult | None:
        """How a motion has ended, or must end; None while it goes on."""
        state, follower, names = self._state, self._follower, self.robot.joint_names
        assert state is not None
        if watch is not None and (ended := watch(state)) is not None:
            return ended
        reported = report.outcome
        if reported is not None and reported.code is not Code.SUCCESS:
            return replace(reported, message=reported.message + self._by_whom()) if reported.foreign else reported
        wanted = path.off(report.desired) if report.desired is not None else (0.0, 0)
        if wanted[0] > follower.off:
            return MotionResult(
                Code.SAFETY_STOP,
                f"the controller follows another trajectory than the one sent: it wants {names[wanted[1]]} "
                f"{wanted[0]:.3f} rad off its path{self._by_whom()}; the arm was stopped",
            )
        off, joint = path.off(state.positions, state.stamp)
        if off > follower.off:
            others = self._by_whom()
            return MotionResult(
                Code.SAFETY_STOP if others else Code.COLLISION,
                f"{names[joint]} is {off:.3f} rad off the path of the motion (at most {follower.off:g}): something "
                f"blocks or pushes the arm, or somebody else moves it{others}; it was stopped",
            )
        ahead = np.abs(report.desired - state.positions) if report.desired is not None else np.zeros(len(names))
        if ahead.max() <= follower.off:
            report.behind_since = None
        elif report.behind_since is None:  # a controller may begin late: what came before it began is no standstill
            report.behind_since = state.stamp
        if report.behind_since is not None and min(path.idle(state.stamp), state.stamp - report.behind_since) > _STUCK:
            joint = int(ahead.argmax())
            return MotionResult(
                Code.COLLISION,
                f"the arm was blocked: the controller wants {names[joint]} {ahead[joint]:.3f} rad farther along its "
                f"path (at most {follower.off:g}), and nothing has moved for {_STUCK:g} s; it was stopped",
            )
        error = np.abs(state.positions - trajectory.end)
        joint, near = int(error.argmax()), float(error.max()) < _ARRIVED
        told = report.outcome is not None
        timely = state.stamp - path.begun - trajectory.duration >= -0.05
        overdue = path.idle(state.stamp) > follower.grace
        rests = state.still or (told and state.stamp - report.stamp >= follower.settle)
        if near and told and (overdue or (rests and timely)):
            return MotionResult(Code.SUCCESS)
        if not overdue:
            return None
        if not near:
            return MotionResult(
                Code.CONTROL_FAILED,
                f"the arm did not reach the end of its motion: {names[joint]} is {error[joint]:.3f} rad away, and "
                f"nothing has moved along the path for {follower.grace:g} s (something may block it); it was stopped",
            )
        return MotionResult(
            Code.CONTROL_FAILED,
            f"the arm's controller did not report the end of the motion within {follower.grace:g} s "
            "(has it ended?); the arm was stopped",
        )

    def _by_whom(self) -> str:
        """Who else may command the arm, to follow a suspicion; empty for nobody."""
        named = self._others.named()
        return f" (it also takes commands of {named})" if named else ""

    def _finish_grip(self, report: _Report) -> None:
        gripper, begun = self._gripper, report.stamp

        def finished() -> bool:
            state = self._state
            assert state is not None
            outcome = report.outcome
            settled = outcome is not None and state.stamp - report.stamp >= gripper.settle
            failed = outcome is not None and outcome.code is not Code.SUCCESS
            return settled or failed or state.stamp - begun > gripper.grace

        self._wait(finished)
        self._gripping, self._moves_fingers = None, False
        outcome = report.outcome
        if outcome is None:
            gripper.stop()
            outcome = MotionResult(
                Code.CONTROL_FAILED,
                f"the gripper did not report the end of its movement within {gripper.grace:g} s; it was stopped",
            )
        if outcome.code is not Code.SUCCESS:
            raise SkillFailureError(outcome.code, outcome.message)

    def _listener(self, report: _Report) -> Done:
        def done(outcome: MotionResult) -> None:
            with self._changed:
                if report.outcome is None:
                    report.outcome = outcome
                    report.stamp = self._state.stamp if self._state is not None else 0.0
                    self._changed.notify_all()

        return done

    def _desired(self, report: _Report) -> Desired:
        def desired(positions: Array) -> None:
            with self._changed:
                report.desired = positions
                self._changed.notify_all()

        return desired

    def _fail(self, outcome: MotionResult, path: PathWatch) -> None:
        """Stop, and raise the failure of a motion, with what the measured states add to it. The skill does not try a
        contact again; a method may, with another plan.
        """
        code, message, state = outcome.code, outcome.message, self._state
        assert state is not None
        behind = path.behind(state.positions, state.stamp)
        self._stop()
        standing = self._wait_still()
        if outcome.if_no_joint_states and not self._goes_on():
            code, message = Code.SAFETY_STOP, outcome.if_no_joint_states
        elif outcome.if_behind and behind > _HELD:
            code, message = Code.COLLISION, outcome.if_behind
        raise _unsure(SkillFailureError(code, message, permanent=code is Code.COLLISION), standing)

    def _goes_on(self) -> bool:
        """Whether joint states come a moment after the stop."""
        end = time.monotonic() + max(self._joint_state_timeout, _GOES_ON)
        while (left := end - time.monotonic()) > 0:
            if self._state is not None and self._state.stamp >= self._stopped + _GOES_ON:
                return True
            self._pause(left)
        return False

    def _stop(self) -> None:
        """Stop what was sent and has not ended: what others move is theirs."""
        self._stopped = self._state.stamp if self._state is not None else 0.0
        if self._moves_arm:
            self._send_stop()
            self._command_standstill()
        if self._moves_fingers:
            self._gripper.stop()

    def _send_stop(self) -> None:
        self._unreached, self._stop_sent = self._follower.stop(), time.monotonic()
        self._stop_begun = self._stop_begun or self._stop_sent

    def _command_standstill(self) -> None:
        """Command a controller to stand here, whose goal has ended with success elsewhere: it still wants the end, and
        no cancel changes that. What blocks the arm would be pushed, or the arm jump once it is free.
        """
        report, end = self._sent
        state, told = self._state, report.outcome
        if state is None or told is None or told.code is not Code.SUCCESS:
            return
        if np.abs(state.positions - end).max() >= _ARRIVED:
            stand = np.array([state.positions, state.positions])
            still = Trajectory(np.array([0.0, _STOPPING]), stand, np.zeros_like(stand))
            report = _Report()
            self._sent = report, end
            self._follower.start(still, self._listener(report), self._desired(report))

    def _no_joint_states_failure(self) -> SkillFailureError:
        if (
            self._state is not None
            and not self._state.fingers
            and time.monotonic() - self._arrived_at < self._joint_state_timeout
        ):
            return SkillFailureError(
                Code.CONTROL_FAILED, f"no joint states of the fingers: {self._names.no_finger_states}"
            )
        return SkillFailureError(
            Code.CONTROL_FAILED, f"no joint states for {self._joint_state_timeout:g} s: {self._names.no_arm_states}"
        )

    def _wait(self, ready: Callable[[], _Found | None]) -> _Found:
        """Wait for a condition on the measured state, and return what it found; raises when aborted, out of time, or
        when states of arm or fingers stop arriving.
        """
        begun = time.monotonic()
        while True:
            self._raise_if_over()
            if found := ready():
                return found
            now = time.monotonic()
            overdue_at = max(self._arrived_at, begun) + self._joint_state_timeout
            overdue = now >= overdue_at or self._no_joint_states
            if overdue or (self._state is not None and not self._state.fingers):
                self._no_joint_states = overdue
                failure, moved = self._no_joint_states_failure(), self._moves_arm
                self._stop()
                raise _unsure(failure, (self._unreached or self._wait_still()) if moved else "")
            self._pause(max(0.0, min(overdue_at, self._deadline) - now))

    def _pause(self, seconds: float) -> None:
        """Wait at most so long for the next state or report; others may take the lock meanwhile."""
        if self._step is None:
            self._changed.wait(seconds)
            return
        self._changed.release()
        try:
            self._step()
        finally:
            self._changed.acquire()

    def _wait_still(self) -> str:
        """Wait until the arm rests, measured with a delay after the stop and after the controller has told the end of
        the motion: one that was just sent may be accepted, and begin, after the stop was sent.

        Returns empty, or why it is not known that the arm stands.
        """
        begun = time.monotonic()
        while time.monotonic() < begun + _STANDING:
            if self._stands(begun):
                return ""
            self._pause(_STOPPING / 2)
        overdue = time.monotonic() - self._arrived_at
        seen = (
            f"no joint states for {overdue:.1f} s, so it is unknown whether the arm stands"
            if overdue > _FRESH
            else _GOES_ON_MOVING.format(_STANDING)
        )
        return "; ".join(text for text in (self._unreached, f"{seen}: use the stop at the robot") if text)

    def _stands(self, begun: float) -> bool:
        """Whether the arm, which was told to stop, is seen to rest; while it is not, the stop is sent again.

        begun: since when that is looked for, monotonic.
        """
        state, report, now = self._state, self._sent[0], time.monotonic()
        if not self._moves_arm:
            return True
        if state is None or not state.still:
            if now >= self._stop_sent + _AGAIN:
                self._send_stop()
            return False
        told = report.outcome is not None or now >= begun + _TOLD
        later = state.stamp >= max(self._stopped, report.stamp) + _STOPPING
        if told and (later or (now >= begun + 2 * _STOPPING and now < self._arrived_at + _FRESH)):
            self._moves_arm = False
        return not self._moves_arm

    def _raise_if_over(self) -> None:
        if self._aborted is None and time.monotonic() >= self._deadline:
            self._stop()
            self._aborted = SkillFailureError(Code.TIMEOUT, "the action's time ran out; the arm was stopped")
        if self._aborted is not None:
            raise _unsure(self._aborted, self._wait_still() if self._moves_arm else "")


def _unsure(failure: SkillFailureError, problem: str) -> SkillFailureError:
    """A failure extended once by the problem of its stop. Where it is unknown whether the arm stands nothing is tried
    again, whatever failed first.
    """
    if problem and problem not in failure.message:
        failure.message += f"{'' if failure.message.endswith(('?', '.')) else '.'} But {problem}"
        failure.fail_as(Code.SAFETY_STOP)
    return failure


def _jump(robot: RobotDescription, before: ArmState | None, after: ArmState) -> str:
    """Error message where a joint cannot have moved from one state to the next; else empty."""
    if before is None:
        return ""
    moved = np.abs(after.positions - before.positions)
    allowed = _JUMP + _JUMP_PACE * np.array(robot.velocity) * max(0.0, after.stamp - before.stamp)
    joint = int((moved - allowed).argmax())
    if moved[joint] <= allowed[joint]:
        return ""
    return (
        f"the joint states jump: {robot.joint_names[joint]} by {moved[joint]:.3f} rad in "
        f"{after.stamp - before.stamp:.3f} s; they cannot be those of one moving arm"
    )

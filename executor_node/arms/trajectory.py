"""An arm behind JointTrajectory topics (ros2_control's joint_trajectory_controller, or the simulation); no ROS
in here.

Publishing is done by two callables, and measured states come in through `on_state`, from any thread. An empty
trajectory stops the arm. Stamps are the controller's time; deadlines are the machine's steady clock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import numpy as np

from executor_node.arms.base import ArmState, Watch
from executor_node.failures import SkillFailureError
from executor_node.timing import Trajectory
from planweave import franka
from planweave.failure import Code

_ARRIVED = 0.02  # rad
_SETTLE = 1.0  # s of the controller's time after the end of a trajectory
_GRIP_START = 0.25  # s of the controller's time before a still finger counts as stopped
_GRIP_LIMIT = 4.0  # s of the controller's time
_GRIP_REACHED = 0.001  # m


class TrajectoryArm:
    """See `executor_node.arms.base.Arm`.

    send_arm: publishes a trajectory, or with None an empty one, which stops the arm. send_gripper: publishes an
    opening (m) and a force (N). silence: wall seconds without a measured state after which the controller counts
    as gone.
    """

    def __init__(
        self,
        send_arm: Callable[[Trajectory | None], None],
        send_gripper: Callable[[float, float], None],
        silence: float = 3.0,
    ):
        self._send_arm, self._send_gripper, self._silence = send_arm, send_gripper, silence
        self._changed = threading.Condition()
        self._state: ArmState | None = None
        self._arrived_at = time.monotonic()
        self._aborted: SkillFailureError | None = None
        self._deadline = float("inf")

    # ---- from other threads -------------------------------------------------------------------------------------

    def on_state(self, state: ArmState) -> None:
        """A measured state came in."""
        with self._changed:
            self._state = state
            self._arrived_at = time.monotonic()
            self._changed.notify_all()

    def begin(self, deadline: float) -> None:
        """A new skill starts; it must end before `deadline` (time.monotonic())."""
        with self._changed:
            self._aborted, self._deadline = None, deadline

    def abort(self, code: Code, message: str) -> None:
        """Stop the arm at once and end the skill that runs, from any thread; the first reason counts."""
        with self._changed:
            self._send_arm(None)
            if self._aborted is None:
                self._aborted = SkillFailureError(code, message)
            self._changed.notify_all()

    # ---- for the skill ------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise when the skill was aborted or its time is up."""
        with self._changed:
            self._raise_if_over()

    def state(self) -> ArmState:
        """The newest measured state."""
        with self._changed:
            self._wait(lambda: self._state is not None and time.monotonic() - self._arrived_at < self._silence)
            assert self._state is not None
            return self._state

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Send a trajectory and wait for its end."""
        start = self.state()
        goal = trajectory.end
        lost = ""

        def finished() -> bool:
            nonlocal lost
            state = self._state
            assert state is not None
            lost = watch(state) if watch is not None else ""
            if lost:
                return True
            late = state.stamp - start.stamp - trajectory.duration
            near = float(np.abs(state.positions - goal).max()) < _ARRIVED
            return (near and state.still and late >= -0.05) or late > _SETTLE

        with self._changed:
            self._raise_if_over()
            self._send_arm(trajectory)
            self._wait(finished)
            state = self._state
            assert state is not None
            if lost:
                self._send_arm(None)
                self._wait_still()
                raise SkillFailureError(Code.GRASP_LOST, lost)
            error = np.abs(state.positions - goal)
            if error.max() >= _ARRIVED:
                self._send_arm(None)
                joint = int(error.argmax())
                raise SkillFailureError(
                    Code.CONTROL_FAILED,
                    f"the arm did not reach the end of its motion: {franka.ARM_JOINTS[joint]} is "
                    f"{error[joint]:.3f} rad away {_SETTLE:g} s after the motion should have ended "
                    "(something may block it); it was stopped",
                )

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Send a finger opening; wait until the fingers are there or have stopped against something."""
        start = self.state()

        def finished() -> bool:
            state = self._state
            assert state is not None
            elapsed = state.stamp - start.stamp
            there = abs(state.width - width) < _GRIP_REACHED and abs(state.finger_speed) < 0.01
            stopped = elapsed > _GRIP_START and abs(state.finger_speed) < 0.002
            return (elapsed > 0 and (there or stopped)) or elapsed > _GRIP_LIMIT

        with self._changed:
            self._raise_if_over()
            self._send_gripper(width, force)
            if wait:
                self._wait(finished)
            assert self._state is not None
            return self._state.width

    # ---- waiting; the lock is held ------------------------------------------------------------------------------

    def _wait(self, ready: Callable[[], bool]) -> None:
        """Wait for a condition on the measured state; raises when aborted, out of time, or when the states stop
        coming.
        """
        begun = time.monotonic()
        while True:
            self._raise_if_over()
            if ready():
                return
            now = time.monotonic()
            silent_at = max(self._arrived_at, begun) + self._silence
            if now >= silent_at:
                self._send_arm(None)
                raise SkillFailureError(
                    Code.CONTROL_FAILED,
                    f"no joint states for {self._silence:g} s: is the arm's controller (or simulation_node) running?",
                )
            self._changed.wait(max(0.0, min(silent_at, self._deadline) - now))

    def _wait_still(self) -> None:
        end = time.monotonic() + 2.0
        while not (self._state is not None and self._state.still) and time.monotonic() < end:
            self._changed.wait(0.1)

    def _raise_if_over(self) -> None:
        if self._aborted is None and time.monotonic() >= self._deadline:
            self._send_arm(None)
            self._aborted = SkillFailureError(Code.TIMEOUT, "the action's time ran out; the arm was stopped")
        if self._aborted is not None:
            self._wait_still()
            raise self._aborted

"""LIBERO's Panda as an arm of Planweave: joint trajectories at 20 Hz, in step with the simulator.

See `planweave.bodies.arm.arms.base.Arm`. Stamps are simulated seconds since the task was loaded. Time passes only while
the arm or its fingers move.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.arms.base import ArmState, Watch
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.timing import Trajectory
from planweave.core.base.failure import Code
from planweave.libero.client import LiberoSimulator
from planweave.robots import RobotDescription, load_robot
from planweave.robots.chain import link_frames

Array = NDArray[np.float64]
STEP = 0.05
"""Simulated time of a step, s."""
_LAG = 0.06667  # s by which the controller follows its goals: 2 damping_ratio / sqrt(kp)
_RESPONSE = 1 / 900.0  # s^2: 1 / kp
_LARGEST_SPIN = 1.1
"""Of the hand about the axes of joints 6 and 7, rad/s: the model's air brakes its turning with 6.6 Nm s^2/rad^2 (the
fingers' tips have the inertia of large boxes), and these motors give 12 Nm.
"""
_ARRIVED = 0.012  # rad
_SLOW = 0.1  # rad/s below which a joint that has arrived counts as at rest
_GRACE = 20  # steps after the end of a trajectory until the arm must be there
_AWAY = 0.05  # rad from where the arm is that a trajectory may begin
_GRIP_STEPS = 30  # in which the fingers must have come to rest
_GRIP_START = 3  # steps before fingers at rest count as stopped
_GRIP_BELOW = 0.003  # m that fingers may stay below the opening wanted
_NOTCH = 0.01  # m by which robosuite's gripper changes its opening in a step; it is told open, close or neither
_GRIP_NEAR = 0.005  # m
_GRIP_STILL = 0.004  # m/s

ROBOT = "panda"
"""Description of LIBERO's robot."""


class LiberoArm:
    """The arm of a task that was loaded with `joints`. success: LIBERO's checker said so after the last step."""

    def __init__(self, simulator: LiberoSimulator, robot: RobotDescription | None = None) -> None:
        """robot: by default LIBERO's."""
        self.robot = robot or load_robot(ROBOT)
        self.steps, self.success, self.ever = 0, False, False
        self._simulator = simulator
        self._ended: SkillFailureError | None = None
        self._deadline = float("inf")
        self._measured = self._read(simulator.arm())
        self._hold = self._measured.positions
        self._widest = round(self.robot.gripper.opening / _NOTCH)
        self._notch = self._wanted = self._widest  # what the gripper is told, and shall be told; it begins open

    def begin(self, deadline: float) -> None:
        """Start a skill, which must end before `deadline` (time.monotonic())."""
        self._ended, self._deadline = None, deadline

    def abort(self, code: Code, message: str) -> None:
        """End the running skill before its next step, from any thread; the first reason is kept."""
        if self._ended is None:
            self._ended = SkillFailureError(code, message)

    def state(self) -> ArmState:
        """As measured after the last step."""
        return self._measured

    def check(self) -> None:
        """Raise where the skill was aborted or its time is up."""
        if self._ended is None and time.monotonic() >= self._deadline:
            self._ended = SkillFailureError(Code.TIMEOUT, "the action's time ran out; the arm was stopped")
        if self._ended is not None:
            raise self._ended

    def follow(self, trajectory: Trajectory, watch: Watch | None = None) -> None:
        """Follow a trajectory, and hold its end until the arm is there."""
        away = np.abs(trajectory.positions[0] - self._measured.positions)
        if away.max() > _AWAY:
            joint = int(away.argmax())
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"the motion begins {away[joint]:.3f} rad from where {self.robot.joint_names[joint]} is "
                f"(at most {_AWAY:g}); nothing was moved",
            )
        for goal in _goals(*_slowed(self.robot, trajectory)):
            self._step(goal, watch)
        for _ in range(_GRACE):
            if self._arrived(trajectory.end):
                return
            self._step(trajectory.end, watch)
        error = np.abs(self._measured.positions - trajectory.end)
        joint = int(error.argmax())
        self._stop()
        raise SkillFailureError(
            Code.CONTROL_FAILED,
            f"the arm did not reach the end of its motion: {self.robot.joint_names[joint]} is {error[joint]:.3f} rad "
            f"away {_GRACE * STEP:g} s after the motion should have ended (something may block it); it was stopped",
        )

    def grip(self, width: float, force: float, wait: bool = True) -> float:
        """Move the fingers to an opening, rounded up to the next cm; LIBERO's gripper has one force."""
        self._wanted = min(math.ceil((width - _GRIP_BELOW) / _NOTCH), self._widest) if width > _GRIP_BELOW else 0
        if not wait:
            return self._measured.width
        for count in range(_GRIP_STEPS):
            self._step(self._hold, None)
            if self._notch == self._wanted and (self._is_open() or (count >= _GRIP_START and self._fingers_rest())):
                break
        return self._measured.width

    def _is_open(self) -> bool:
        """Whether the fingers are as far apart as they shall be, or nearly; closed is for `_fingers_rest` to say."""
        return self._wanted > 0 and abs(self._measured.width - self._wanted * _NOTCH) < _GRIP_NEAR

    def _fingers_rest(self) -> bool:
        return abs(self._measured.finger_speed) < _GRIP_STILL

    def wait(self, steps: int) -> None:
        """Let some steps go by."""
        for _ in range(steps):
            self._step(self._hold, None)

    # -----------------------------------------------------------------------------------------------------------------

    def _step(self, goal: Array, watch: Watch | None) -> None:
        try:
            self.check()
        except SkillFailureError:
            self._stop()
            raise
        self._send(goal)
        lost = watch(self._measured) if watch is not None else ""
        if lost:
            self._stop()
            raise SkillFailureError(Code.GRASP_LOST, lost)

    def _send(self, goal: Array) -> None:
        self._hold = goal
        sense = (self._notch > self._wanted) - (self._notch < self._wanted)  # 1 closes, -1 opens
        self._notch -= sense
        moved = self._simulator.move([[*goal, float(sense)]])
        self.steps, self.success = moved.count, moved.success
        self.ever = self.ever or moved.success
        self._measured = self._read(moved.arm)

    def _stop(self) -> None:
        """Come to rest where the arm is."""
        goal = self._measured.positions + _LAG * self._measured.velocities
        for _ in range(3):
            self._send(goal)

    def _arrived(self, end: Array) -> bool:
        error = np.abs(self._measured.positions - end)
        return bool(error.max() < _ARRIVED and np.abs(self._measured.velocities).max() < _SLOW)

    def _read(self, arm: Mapping[str, Any]) -> ArmState:
        first, second = arm["gripper"]
        speed = arm["speed"][0] - arm["speed"][1]
        return ArmState(self.steps * STEP, np.array(arm["joints"]), np.array(arm["velocities"]), first - second, speed)


def _slowed(robot: RobotDescription, trajectory: Trajectory) -> tuple[Array, Array]:
    """Times and positions of a trajectory that is slower where the hand would turn faster than its motors can."""
    times, positions = trajectory.times, trajectory.positions
    frames = [link_frames(robot, q) for q in positions]
    hand = np.array([f[robot.gripper.link][:3, :3] for f in frames])
    between = np.einsum("kji,kjl->kil", hand[:-1], hand[1:])  # small turns, in the hand
    turns = np.stack([between[:, 2, 1], between[:, 0, 2], between[:, 1, 0]], axis=1)
    axes = [np.array([f[joint.link][:3, 2] for f in frames]) for joint in robot.joints[-2:]]
    own = [np.einsum("kji,kj->ki", hand, axis)[:-1] for axis in axes]
    rates = np.abs([(turns * axis).sum(axis=1) for axis in own]).max(axis=0) / np.diff(times)
    slower = np.maximum(1.0, rates / _LARGEST_SPIN)
    return np.r_[0.0, np.cumsum(np.diff(times) * slower)], positions


def _goals(times: Array, positions: Array) -> Array:
    """What to tell a stiff controller each step, so that the joints are on the trajectory after it: rows of rad.

    A critically damped controller that is told g has its joint where g = q + lag dq/dt + response d2q/dt2.
    """
    velocities = np.gradient(positions, times, axis=0)
    velocities[0] = velocities[-1] = 0.0
    goals = positions + _LAG * velocities + _RESPONSE * np.gradient(velocities, times, axis=0)
    goals[-1] = positions[-1]
    count = max(1, int(np.ceil(times[-1] / STEP - 1e-6)))
    at = np.minimum(np.arange(1, count + 1) * STEP, times[-1])
    return np.stack([np.interp(at, times, column) for column in goals.T], axis=1)

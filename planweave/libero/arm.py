"""LIBERO's Panda as an arm of Planweave: joint trajectories at 20 Hz, in step with the simulator.

Stamps are simulated seconds since the task was loaded. Time passes only while the arm or its fingers move.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.arms.base import ArmState, Desired, Done, MotionResult
from planweave.bodies.arm.arms.controlled import ControlledArm
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
_GRIP_STEPS = 30  # in which the fingers must have come to rest
_GRIP_START = 3  # steps before fingers at rest count as stopped
_GRIP_BELOW = 0.003  # m that fingers may stay below the opening wanted
_NOTCH = 0.01  # m by which robosuite's gripper changes its opening in a step; it is told open, close or neither
_GRIP_NEAR = 0.005  # m
_GRIP_STILL = 0.004  # m/s

ROBOT = "panda"
"""Description of LIBERO's robot."""


class _Joints:
    """A `planweave.bodies.arm.arms.base.Follower` that gives the goals of LIBERO's controller, one a step. It has no
    path tolerance: what is opened, closed and turned may hold the arm off its path.
    """

    away, off, grace, settle = 0.05, math.inf, math.inf, 0.0

    def __init__(self, robot: RobotDescription, state: ArmState) -> None:
        self._robot, self._state, self._hold = robot, state, state.positions
        self._goals: list[Array] = []
        self._end, self._left = state.positions, 0
        self._done: Done | None = None

    def start(self, trajectory: Trajectory, done: Done, desired: Desired) -> None:
        """Follow a trajectory from the next step on, and hold its end until the arm is there."""
        self._goals = list(_goals(*_slowed(self._robot, trajectory)))
        self._end, self._left, self._done = trajectory.end, _GRACE, done

    def stop(self) -> str:
        """Come to rest where the arm is."""
        done, self._goals, self._done = self._done, [], None
        self._hold = self._state.positions + _LAG * self._state.velocities
        if done is not None:
            done(MotionResult(Code.CANCELED, "the motion was cancelled"))
        return ""

    def goal(self) -> Array:
        """Command to the controller for the next step, rad."""
        if self._goals:
            self._hold = self._goals.pop(0)
        return self._hold

    def stepped(self, state: ArmState) -> None:
        """Process the state after a step."""
        self._state, done = state, self._done
        if done is None or self._goals:
            return
        error = np.abs(state.positions - self._end)
        if error.max() < _ARRIVED and np.abs(state.velocities).max() < _SLOW:
            self._done = None
            done(MotionResult(Code.SUCCESS))
        elif self._left == 0:
            self._done, joint = None, int(error.argmax())
            done(
                MotionResult(
                    Code.CONTROL_FAILED,
                    f"the arm did not reach the end of its motion: {self._robot.joint_names[joint]} is "
                    f"{error[joint]:.3f} rad away {_GRACE * STEP:g} s after the motion should have ended (something "
                    "may block it); it was stopped",
                )
            )
        self._left -= 1


class _IncrementalGripper:
    """A `planweave.bodies.arm.arms.base.Gripper` that opens and closes by notches; LIBERO's gripper has one force."""

    grace, settle = math.inf, 0.0

    def __init__(self, widest: int) -> None:
        self._widest = self._notch = self._wanted = widest  # what it can, is told, and shall be told; it begins open
        self._count = 0
        self._done: Done | None = None

    def start(self, width: float, force: float, done: Done) -> None:
        """Move to an opening, rounded up to the next notch."""
        self._wanted = min(math.ceil((width - _GRIP_BELOW) / _NOTCH), self._widest) if width > _GRIP_BELOW else 0
        self._count, self._done = 0, done

    def stop(self) -> None:
        """Does nothing: fingers stop at the object they hold, and opening them would drop it."""

    def sense(self) -> float:
        """Command to the gripper for the next step: 1 closes, -1 opens."""
        sense = (self._notch > self._wanted) - (self._notch < self._wanted)
        self._notch -= sense
        return float(sense)

    def stepped(self, state: ArmState) -> None:
        """Process the state after a step."""
        there = self._wanted > 0 and abs(state.width - self._wanted * _NOTCH) < _GRIP_NEAR
        rest = self._count >= _GRIP_START and abs(state.finger_speed) < _GRIP_STILL
        self._count += 1
        if self._done is not None and (self._count >= _GRIP_STEPS or (self._notch == self._wanted and (there or rest))):
            done, self._done = self._done, None
            done(MotionResult(Code.SUCCESS))


class LiberoArm(ControlledArm):
    """The arm of a task that was loaded with `joints`. success: LIBERO's checker said so after the last step;
    on_joints: told the joint positions after each step, rad.
    """

    on_joints: Callable[[Array], object] = staticmethod(lambda positions: None)

    def __init__(self, simulator: LiberoSimulator, robot: RobotDescription | None = None) -> None:
        """robot: by default LIBERO's."""
        self.steps, self.success, self.ever = 0, False, False
        self._simulator, robot = simulator, robot or load_robot(ROBOT)
        first = self._read(simulator.arm())
        self._joints, self._fingers = _Joints(robot, first), _IncrementalGripper(round(robot.gripper.opening / _NOTCH))
        super().__init__(self._joints, self._fingers, math.inf, robot, step=self._step)
        self.on_state(first)

    def wait(self, steps: int) -> None:
        """Let some steps go by."""
        for _ in range(steps):
            self.check()
            self._step()

    def _step(self) -> None:
        moved = self._simulator.move([[*self._joints.goal(), self._fingers.sense()]])
        self.steps, self.success = moved.count, moved.success
        self.ever = self.ever or moved.success
        state = self._read(moved.arm)
        self.on_state(state)
        self.on_joints(state.positions)
        self._joints.stepped(state)
        self._fingers.stepped(state)

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

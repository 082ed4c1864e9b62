"""Time parametrization of paths: jerk-limited, within joint velocity and acceleration limits, at rest at both ends and
at corners.

Each smooth piece of a path is one motion of a single parameter s from 0 to 1, timed by Ruckig (Berscheid, Kröger:
"Jerk-limited Real-time Trajectory Generation with Arbitrary Target States", RSS 2021). The joints stay exactly on the
path that was checked for collisions, unlike a spline through the waypoints.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from planweave.geometry.arrays import Array
from planweave.geometry.hermite import cubic, slope, value
from planweave.robots import RobotDescription, load_robot

PERIOD = 0.02
"""Time between trajectory points, s."""
_CORNER = math.cos(math.radians(12))


@dataclass(frozen=True)
class JointLimits:
    """Joint velocity (rad/s) and acceleration (rad/s^2) limits, shape (n,) each; jerk: largest, as a multiple of the
    acceleration limit per second. The defaults are those of the default robot.
    """

    velocity: Array = field(default_factory=lambda: np.array(load_robot().velocity))
    acceleration: Array = field(default_factory=lambda: np.array(load_robot().acceleration))
    jerk: float = 100.0

    @classmethod
    def of(cls, robot: RobotDescription) -> JointLimits:
        acceleration = np.array(robot.acceleration)
        return cls(np.array(robot.velocity), acceleration, float((np.array(robot.jerk) / acceleration).min()))

    def scaled(self, speed: float, acceleration: float) -> JointLimits:
        """The same limits times factors in (0, 1]."""
        return JointLimits(self.velocity * speed, self.acceleration * acceleration, self.jerk)


@dataclass(frozen=True)
class Trajectory:
    """Joint positions in rad and velocities in rad/s, (n, joints), at times (n,) in s; at rest at both ends."""

    times: Array
    positions: Array
    velocities: Array

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return float(self.times[-1])

    @property
    def end(self) -> Array:
        return np.asarray(self.positions[-1])

    def accelerations(self) -> Array:
        """Joint accelerations between the points, shape (n - 1, joints), as an interpolating controller needs them."""
        return np.asarray(np.diff(self.velocities, axis=0) / np.diff(self.times)[:, None])

    def dense(self, step: float) -> Array:
        """Positions of the cubic interpolation between the points, at most `step` rad apart."""
        h = np.diff(self.times)[:, None]
        p0, p1 = self.positions[:-1], self.positions[1:]
        m0, m1 = self.velocities[:-1] * h, self.velocities[1:] * h
        counts = np.maximum(1, np.ceil(np.abs(p1 - p0).max(axis=1) / step)).astype(int)
        k = np.repeat(np.arange(len(counts)), counts)
        first = np.cumsum(counts) - counts
        u = ((np.arange(len(k)) - first[k] + 1) / counts[k])[:, None]
        return np.vstack([self.positions[:1], value(cubic(p0[k], p1[k], m0[k], m1[k]), u)])


def time_path(path: Array, limits: JointLimits, period: float = PERIOD) -> Trajectory:
    """Time a path of joint positions, shape (n, joints); it stops where the path turns by more than 12 degrees."""
    path = np.asarray(path, dtype=float)
    keep = np.r_[True, np.abs(np.diff(path, axis=0)).max(axis=1) > 1e-6] if len(path) > 1 else np.array([True])
    path = path[keep]
    if len(path) < 2:
        still = np.vstack([path[-1], path[-1]])
        return Trajectory(np.array([0.0, period]), still, np.zeros_like(still))
    times, positions, velocities = [np.zeros(1)], [path[:1]], [np.zeros((1, path.shape[1]))]
    for piece in _smooth_pieces(path):
        t, q, v = _time_piece(piece, limits, period)
        times.append(times[-1][-1] + t[1:])
        positions.append(q[1:])
        velocities.append(v[1:])
    return Trajectory(np.concatenate(times), np.vstack(positions), np.vstack(velocities))


def _smooth_pieces(path: Array) -> Sequence[Array]:
    steps = np.diff(path, axis=0)
    unit = steps / np.linalg.norm(steps, axis=1, keepdims=True)
    corners = 1 + np.flatnonzero((unit[1:] * unit[:-1]).sum(axis=1) < _CORNER)
    edges = [0, *corners.tolist(), len(path) - 1]
    return [path[a : b + 1] for a, b in pairwise(edges)]


def _time_piece(piece: Array, limits: JointLimits, period: float) -> tuple[Array, Array, Array]:
    length = np.r_[0.0, np.cumsum(np.linalg.norm(np.diff(piece, axis=0), axis=1))]
    knots = length / length[-1]
    slopes = np.gradient(piece, knots, axis=0) if len(piece) > 2 else np.vstack([piece[1] - piece[0]] * 2)
    largest = np.abs(slopes).max(axis=0) + 1e-9
    bends = np.abs(np.gradient(slopes, knots, axis=0)).max(axis=0) if len(piece) > 2 else np.zeros(piece.shape[1])
    straight = bool((bends < 1e-6).all())
    share = 1.0 if straight else 0.6  # of the acceleration for speeding up; the rest is for following the bend
    speed = float((limits.velocity / largest).min())
    if not straight:
        speed = min(speed, float(np.sqrt((1 - share) * limits.acceleration / (bends + 1e-9)).min()))
    rate = share * float((limits.acceleration / largest).min())
    for _ in range(6):
        t, q, v = _sample(piece, knots, slopes, speed, rate, limits.jerk * rate, period)
        over = max(
            float((np.abs(v) / limits.velocity).max()),
            math.sqrt(float((np.abs(np.diff(v, axis=0) / np.diff(t)[:, None]) / limits.acceleration).max())),
        )
        if over <= 1.0:
            break
        speed, rate = speed / (over * 1.01), rate / (over * 1.01) ** 2
    return t, q, v


def _sample(
    piece: Array, knots: Array, slopes: Array, speed: float, rate: float, jerk: float, period: float
) -> tuple[Array, Array, Array]:
    from ruckig import InputParameter, Result, Ruckig
    from ruckig import Trajectory as Profile

    wanted = InputParameter(1)
    wanted.current_position, wanted.target_position = [0.0], [1.0]
    wanted.max_velocity, wanted.max_acceleration, wanted.max_jerk = [speed], [rate], [jerk]
    profile = Profile(1)
    result = Ruckig(1).calculate(wanted, profile)
    if result not in (Result.Working, Result.Finished):
        raise ValueError(f"no time profile for speed {speed:g} and acceleration {rate:g}: {result}")
    count = max(2, math.ceil(profile.duration / period))
    t = np.linspace(0.0, profile.duration, count + 1)
    state = np.array([[x[0] for x in profile.at_time(float(at))[:2]] for at in t])
    s, rate_of_s = np.clip(state[:, 0], 0.0, 1.0), state[:, 1]
    index = np.clip(np.searchsorted(knots, s, side="right") - 1, 0, len(knots) - 2)
    h = (knots[index + 1] - knots[index])[:, None]
    u = (s[:, None] - knots[index][:, None]) / h
    curve = cubic(piece[index], piece[index + 1], slopes[index] * h, slopes[index + 1] * h)
    q, v = value(curve, u), slope(curve, u) / h * rate_of_s[:, None]
    q[0], q[-1], v[0], v[-1] = piece[0], piece[-1], 0.0, 0.0
    return t, q, v

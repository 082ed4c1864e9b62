"""Joint trajectories: validation, interpolation as in ros2_control's joint_trajectory_controller, and the
deceleration of a stop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from planweave.core.base.errors import PlanweaveError
from planweave.geometry.hermite import cubic, quintic, slope, value
from planweave.robots import RobotDescription, load_robot

START_TOLERANCE = 0.05  # between the arm and a first point at time 0, rad
_POSITION_SLACK = 1e-3  # rad
_VELOCITY_SLACK = 1.1
DECELERATION = 6.0
"""rad/s^2 of each joint that is stopped, as a real arm is configured (max_deceleration_on_cancel)."""


class TrajectoryError(PlanweaveError):
    """A commanded trajectory cannot be followed; the message says why."""

    code = "trajectory"


@dataclass(frozen=True)
class Point:
    """One waypoint.

    time from the start, s; positions (rad), velocities (rad/s) and accelerations (rad/s^2), or empty.
    """

    time: float
    positions: Sequence[float]
    velocities: Sequence[float] = ()
    accelerations: Sequence[float] = ()


@dataclass(frozen=True)
class Reference:
    """Reference of the arm at every time step. positions (n, joints) rad, velocities (n, joints) rad/s."""

    positions: np.ndarray
    velocities: np.ndarray

    def then(self, after: Reference) -> Reference:
        """This one, and another that begins where it ends."""
        return Reference(np.vstack([self.positions, after.positions]), np.vstack([self.velocities, after.velocities]))


def interpolate(
    joints: Sequence[str],
    points: Sequence[Point],
    position: np.ndarray,
    velocity: np.ndarray,
    timestep: float,
    robot: RobotDescription | None = None,
) -> Reference:
    """Waypoints -> reference at every time step after now, the last waypoint included.

    Quintic where every point has accelerations, else cubic; missing velocities are those of the chord through the
    neighbours. Starts at the currently commanded ``position`` and ``velocity``, so that a new trajectory may replace a
    running one. Raises TrajectoryError where names, numbers, times, limits or the first point are wrong.
    """
    robot = robot or load_robot()
    order = _joint_order(joints, robot)
    times, q = _positions(points, order)
    v = _derivative(points, order, "velocities")
    a = _derivative(points, order, "accelerations")
    if times[0] <= 1e-9:
        gap = np.abs(q[0] - position)
        if gap.max() > START_TOLERANCE:
            joint = int(gap.argmax())
            raise TrajectoryError(
                f"the trajectory starts {gap[joint]:.2f} rad away from where {robot.joint_names[joint]} is "
                f"(allowed: {START_TOLERANCE} rad); plan from the newest joint state"
            )
        q[0] = position
    else:
        times = np.concatenate([[0.0], times])
        q = np.vstack([position, q])
        v = None if v is None else np.vstack([velocity, v])
        a = None if a is None else np.vstack([np.zeros_like(position), a])
    if v is None:
        v = _chord_velocities(times, q, velocity)
        a = None
    if len(times) == 1:
        return Reference(q.copy(), np.zeros((1, len(position))))
    steps = max(1, int(np.ceil(times[-1] / timestep - 1e-6)))
    at = np.minimum(timestep * np.arange(1, steps + 1), times[-1])
    with np.errstate(over="ignore", invalid="ignore"):  # what comes of numbers far too large is refused below
        reference = _hermite(times, q, v, a, at)
    _check_limits(reference, robot)
    return reference


def decelerate(position: np.ndarray, velocity: np.ndarray, timestep: float) -> Reference:
    """Constant deceleration of each joint to rest, as the controller's decelerate_on_cancel has it."""
    seconds = np.abs(velocity) / DECELERATION
    steps = max(1, int(np.ceil(seconds.max() / timestep)))
    at = np.minimum(timestep * np.arange(1, steps + 1)[:, None], seconds)
    brake = np.sign(velocity) * DECELERATION
    return Reference(position + velocity * at - 0.5 * brake * at**2, velocity - brake * at)


def _joint_order(joints: Sequence[str], robot: RobotDescription) -> list[int]:
    """Index of each of the robot's joints in the message."""
    if sorted(joints) != sorted(robot.joint_names):
        raise TrajectoryError(
            f"the trajectory must name each of {', '.join(robot.joint_names)} once, "
            f"not {', '.join(joints[:20]) or 'none'}{', …' if len(joints) > 20 else ''}"
        )
    return [list(joints).index(name) for name in robot.joint_names]


def _positions(points: Sequence[Point], order: list[int]) -> tuple[np.ndarray, np.ndarray]:
    for index, point in enumerate(points):
        if len(point.positions) != len(order):
            raise TrajectoryError(f"points[{index}] has {len(point.positions)} positions; {len(order)} are needed")
    times = np.array([point.time for point in points], dtype=float)
    q = np.array([point.positions for point in points], dtype=float)[:, order]
    if not np.isfinite(times).all() or not np.isfinite(q).all():
        raise TrajectoryError("the trajectory holds a number that is not finite")
    if times[0] < 0 or (np.diff(times) <= 0).any():
        raise TrajectoryError("time_from_start must grow from point to point, starting at 0 or later")
    if times[-1] > 600:
        raise TrajectoryError(f"the trajectory takes {times[-1]:.0f} s; at most 600 s are allowed")
    return times, q


def _derivative(points: Sequence[Point], order: list[int], what: str) -> np.ndarray | None:
    given = [getattr(point, what) for point in points]
    if not all(len(values) for values in given):
        return None
    for index, values in enumerate(given):
        if len(values) != len(order):
            raise TrajectoryError(f"points[{index}] has {len(values)} {what}; {len(order)} or none are needed")
    array = np.array(given, dtype=float)[:, order]
    if not np.isfinite(array).all():
        raise TrajectoryError(f"the trajectory's {what} hold a number that is not finite")
    return array


def _chord_velocities(times: np.ndarray, q: np.ndarray, first: np.ndarray) -> np.ndarray:
    v = np.zeros_like(q)
    v[0] = first
    if len(times) > 2:
        v[1:-1] = (q[2:] - q[:-2]) / (times[2:] - times[:-2])[:, None]
    return v


def _hermite(times: np.ndarray, q: np.ndarray, v: np.ndarray, a: np.ndarray | None, at: np.ndarray) -> Reference:
    """Piecewise polynomial through positions and velocities, and accelerations where given."""
    segment = np.clip(np.searchsorted(times, at, side="right") - 1, 0, len(times) - 2)
    h = (times[segment + 1] - times[segment])[:, None]
    s = ((at - times[segment]) / h[:, 0])[:, None]
    ends = q[segment], q[segment + 1], v[segment] * h, v[segment + 1] * h
    curve = cubic(*ends) if a is None else quintic(*ends, a[segment] * h**2, a[segment + 1] * h**2)
    return Reference(value(curve, s), slope(curve, s) / h)


def _check_limits(reference: Reference, robot: RobotDescription) -> None:
    if not (np.isfinite(reference.positions).all() and np.isfinite(reference.velocities).all()):
        raise TrajectoryError("the trajectory's numbers are too large to be followed")
    low, high = np.array(robot.lower) - _POSITION_SLACK, np.array(robot.upper) + _POSITION_SLACK
    outside = (reference.positions < low) | (reference.positions > high)
    if outside.any():
        step, joint = np.argwhere(outside)[0]
        raise TrajectoryError(
            f"the trajectory takes {robot.joint_names[joint]} to {reference.positions[step, joint]:.3f} rad; "
            "allowed are "
            f"{robot.lower[joint]} to {robot.upper[joint]} rad"
        )
    speed = np.abs(reference.velocities).max(axis=0)
    fast = speed > _VELOCITY_SLACK * np.array(robot.velocity)
    if fast.any():
        joint = int(np.argmax(fast))
        raise TrajectoryError(
            f"the trajectory moves {robot.joint_names[joint]} at {speed[joint]:.2f} rad/s; allowed are "
            f"{robot.velocity[joint]} rad/s"
        )

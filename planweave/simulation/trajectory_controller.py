"""ros2_control's joint_trajectory_controller, stepped with physics; without ROS.

After ros2_controllers 5.16 (Kilted): a newer goal aborts the one that is carried out; a joint off its path by more than
its tolerance aborts the goal, as does one that is not at rest at the end within the goal time; cancelled and aborted
motions decelerate; a speed scaling stretches time. Other than there, a trajectory beyond the robot's limits is refused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from planweave.robots import RobotDescription
from planweave.simulation.trajectory import (
    START_TOLERANCE,
    Point,
    Reference,
    TrajectoryError,
    decelerate,
    interpolate,
)

Array = NDArray[np.float64]
SUCCESSFUL, INVALID_GOAL, PATH_TOLERANCE_VIOLATED, GOAL_TOLERANCE_VIOLATED = 0, -1, -4, -5
"""error_code of control_msgs/action/FollowJointTrajectory."""
PATH_TOLERANCE, GOAL_TOLERANCE = 0.04, 0.015
"""rad, of each joint; these and the next two as a real arm is configured, in config/."""
STOPPED, GOAL_TIME = 0.02, 2.0
"""rad/s at which a joint is at rest, and s after the end of a trajectory until it must be, at its goal."""
_HOLD = 0.005, 0.3  # rad within which a stopped arm has come to rest, and s after which it counts so anyway
_CHECK = 0.01  # s of simulated time between two looks at the tolerances
_LATEST = 60.0  # s from now at which a trajectory may begin


@dataclass(frozen=True)
class GoalResult:
    """End of a goal: error_code and error_string of FollowJointTrajectory."""

    code: int
    text: str


@dataclass(frozen=True)
class Tolerances:
    """Per joint and goal, see PATH_TOLERANCE to GOAL_TIME; not positive: not enforced. path, goal: (joints,) rad."""

    path: Array
    goal: Array
    goal_time: float = GOAL_TIME


@dataclass(frozen=True)
class Setpoint:
    """Commands to the drives for the next time step: positions rad, velocities rad/s, accelerations rad/s^2."""

    positions: Array
    velocities: Array
    accelerations: Array


Done = Callable[[GoalResult], None]


class TrajectoryController:
    """Follows one trajectory at a time. Not thread-safe: the caller serializes all calls.

    hold: joint positions (joints,) rad where it begins.
    """

    def __init__(self, robot: RobotDescription, timestep: float, hold: Array):
        self._robot, self._timestep, self._still = robot, timestep, np.zeros(robot.count)
        self.scaling = 1.0
        """Share of the speed at which trajectories are followed; 0 stands."""
        self._reference = Reference(hold[None], self._still[None])
        self._ahead = 0.0  # time steps of the reference that have been commanded
        self._last = Setpoint(hold, self._still, self._still)
        self._felt = hold, self._still  # positions and velocities as they were measured last
        self._moving, self._holding = False, True
        self._late = 0.0  # s since the end of the reference was commanded
        self._checked = 0.0  # s since the tolerances were looked at
        self._done: Done | None = None
        self._tolerances = self.tolerances()
        self._times: Array = np.zeros(1)  # of the points that were sent, in time steps

    @property
    def moving(self) -> bool:
        """Whether a trajectory or a stop is in progress, settling included."""
        return self._moving

    def tolerances(
        self, path: Mapping[str, float] | None = None, goal: Mapping[str, float] | None = None, goal_time: float = 0.0
    ) -> Tolerances:
        """The tolerances of a goal, by joint name: 0 or none is the default, negative is none. Raises TrajectoryError
        for a joint that is not the robot's.
        """
        rows = []
        for given, default in ((path or {}, PATH_TOLERANCE), (goal or {}, GOAL_TOLERANCE)):
            if unknown := sorted(set(given) - set(self._robot.joint_names)):
                raise TrajectoryError(f"there is no joint {unknown[0]} to which a tolerance could belong")
            rows.append(np.array([given.get(name, 0.0) or default for name in self._robot.joint_names]))
        return Tolerances(rows[0], rows[1], goal_time or GOAL_TIME)

    def check(self, joints: Sequence[str], points: Sequence[Point], delay: float = 0.0) -> Reference:
        """The reference of a trajectory that begins `delay` seconds from now. Raises TrajectoryError."""
        if not points:
            raise TrajectoryError("the trajectory has no points; cancel the goal to stop the arm")
        if not math.isfinite(delay) or delay > _LATEST:
            raise TrajectoryError(f"the trajectory begins {delay:.0f} s from now; at most {_LATEST:g} s are allowed")
        position, velocity = self._last.positions, self._last.velocities
        if delay <= 0:
            return interpolate(joints, points, position, velocity, self._timestep, self._robot)
        brakes = decelerate(position, velocity, self._timestep)
        rest, there = max(0, round(delay / self._timestep) - len(brakes.positions)), brakes.positions[-1]
        waits = Reference(np.tile(there, (rest, 1)), np.tile(self._still, (rest, 1)))
        return brakes.then(waits).then(interpolate(joints, points, there, self._still, self._timestep, self._robot))

    def follow(
        self,
        joints: Sequence[str],
        points: Sequence[Point],
        delay: float = 0.0,
        done: Done | None = None,
        tolerances: Tolerances | None = None,
    ) -> None:
        """Follow a trajectory in place of the one that is followed. done: of a goal, which ends the goal before it, and
        is called once, at its end, but not where it is cancelled; a trajectory without one, as of a topic, leaves the
        goal that there is. Raises TrajectoryError where it cannot be followed; nothing changes then.
        """
        reference = self.check(joints, points, delay)
        if done is not None:
            self._end(GoalResult(INVALID_GOAL, "Current goal preempted by new incoming action."))
            self._done, self._tolerances = done, tolerances or self.tolerances()
        self._begin(reference, holding=False)
        self._times = (delay + np.array([point.time for point in points])) / self._timestep

    def cancel(self) -> None:
        """Decelerate to rest and hold, where the arm is if it is blocked; the goal has no result."""
        self._done = None
        self._brake(*self._blocked())

    def deactivate(self) -> None:
        """Abort the goal, decelerate and hold."""
        self._end(GoalResult(INVALID_GOAL, "Current goal cancelled during deactivate transition."))
        self._brake(*self._blocked())

    def index(self) -> int:
        """The point of the trajectory that comes next."""
        return int(np.searchsorted(self._times, self._ahead))

    @property
    def desired(self) -> Setpoint:
        """The desired joint positions now."""
        return self._last

    def update(self, positions: Array, velocities: Array) -> Setpoint | None:
        """The setpoint of the next time step by the measured state, rad and rad/s; None where the motion has ended: the
        drives then hold the last one.
        """
        self._checked += self._timestep
        self._felt = positions.copy(), velocities.copy()
        arrived = self._late > 0  # and told to rest there
        if (arrived or self._checked >= _CHECK) and not self._judge(arrived, positions, velocities):
            self._moving = False
            return None
        if self._ahead <= len(self._reference.positions) - 1:
            self._last = self._sample()
            self._ahead += self.scaling
        else:
            self._last = Setpoint(self._reference.positions[-1], self._still, self._still)
            self._late += self._timestep
        return self._last

    def _sample(self) -> Setpoint:
        row, share = int(self._ahead), self._ahead % 1.0
        positions, velocities = self._reference.positions[row], self._reference.velocities[row]
        if share:
            positions = positions + share * (self._reference.positions[row + 1] - positions)
            velocities = velocities + share * (self._reference.velocities[row + 1] - velocities)
        velocities = velocities * self.scaling
        return Setpoint(positions, velocities, (velocities - self._last.velocities) / self._timestep)

    def _judge(self, arrived: bool, positions: Array, velocities: Array) -> bool:
        """Whether the motion goes on. Ends its goal where a tolerance says so."""
        self._checked = 0.0
        error, still = np.abs(positions - self._last.positions), bool(np.abs(velocities).max() < STOPPED)
        if self._holding:
            if arrived and self._late > _HOLD[1] and (pressed := self._blocked()):  # as once what it met gave way
                self._begin(decelerate(*pressed, self._timestep), holding=True)
                return True
            return not arrived or not ((error.max() < _HOLD[0] and still) or self._late > _HOLD[1])
        limits = self._tolerances.goal if arrived else self._tolerances.path
        outside = bool(((error > limits) & (limits > 0)).any())
        if arrived and still and not outside:
            self._end(GoalResult(SUCCESSFUL, "Goal successfully reached!"))
            return False
        if outside and not arrived:
            self._end(GoalResult(PATH_TOLERANCE_VIOLATED, "Aborted due to path tolerance violation"))
            self._brake(positions, velocities)
        elif self._late > self._tolerances.goal_time > 0:
            late = f"goal_time_tolerance exceeding by {self._late:.6f} seconds"
            self._end(GoalResult(GOAL_TOLERANCE_VIOLATED, f"Aborted due to {late}"))
            self._brake(positions, velocities)
        return True

    def _begin(self, reference: Reference, holding: bool) -> None:
        self._reference, self._ahead, self._late, self._moving, self._holding = reference, 0.0, 0.0, True, holding

    def _blocked(self) -> tuple[Array, Array] | tuple[()]:
        """The measured state of an arm that cannot follow, from which a new start is taken; empty for one that can."""
        return self._felt if np.abs(self._felt[0] - self._last.positions).max() > START_TOLERANCE / 2 else ()

    def _brake(self, positions: Array | None = None, velocities: Array | None = None) -> None:
        """Decelerate from the setpoint, or from where the arm was measured that cannot follow it."""
        if positions is not None and velocities is not None:
            self._last = Setpoint(positions, velocities, self._still)
        if self._moving and not self._holding:
            self._begin(decelerate(self._last.positions, self._last.velocities, self._timestep), holding=True)

    def _end(self, result: GoalResult) -> None:
        done, self._done = self._done, None
        if done is not None:
            done(result)

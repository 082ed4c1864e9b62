"""Collision-free paths: the straight joint-space line, a lifted detour, VAMP where it imports, OMPL's RRTConnect.

RRTConnect (Kuffner, LaValle, ICRA 2000) and the path simplifier are those of OMPL, as in MoveIt. The result is a list
of waypoints connected by straight lines in joint space.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from itertools import cycle, pairwise

import numpy as np

from planweave.bodies.arm import vamp_backend
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.planning_scene import MARGIN, RESOLUTION, PlanningScene
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array

LINE_STEP = 0.01
"""Distance between poses on a straight Cartesian line, m."""
_SHARES = (1.0, 0.6, 0.4)  # of a straight line that is wanted, which are tried one by one
_BUSY = 6.0  # times as much wall time as processor time that a search may take
_DETOUR_HEIGHTS = (0.0, 0.10, 0.20)  # above the higher of start and goal, m


class MotionPlanner:
    """Plans paths in a planning scene. Each search uses different random numbers."""

    def __init__(self, scene: PlanningScene, kinematics: Kinematics):
        self.scene, self.kinematics = scene, kinematics

    def plan(self, start: Array, goals: Sequence[Array], seconds: float = 2.0, without: Sequence[Array] = ()) -> Array:
        """A path (a configuration each) from `start` to the first reachable goal, free with the safety margin.

        Goals are in order of preference; without: paths that are not wanted again. What is held has a margin, too, and
        room to tip, where there is such a path. seconds: of processor time. Raises SkillFailureError (PLANNING_FAILED)
        that names the obstacle.
        """
        start = np.asarray(start, dtype=float)
        margin = self.margin_at(start)
        with self.scene.room_around_held() as holds, contextlib.suppress(SkillFailureError):
            if holds and self.scene.free(start, margin):
                return self._plan(start, goals, margin, seconds, without)
        return self._plan(start, goals, margin, seconds, without)

    def _plan(
        self, start: Array, goals: Sequence[Array], margin: float, seconds: float, without: Sequence[Array]
    ) -> Array:
        free_goals = [np.asarray(g, dtype=float) for g in goals if self.scene.free(g, margin)]
        if not free_goals:
            blocked = self.scene.contact(goals[0], margin) if goals else None
            why = f": {blocked}" if blocked else ""
            raise SkillFailureError(Code.PLANNING_FAILED, f"no collision-free goal configuration{why}")
        for goal in free_goals[:4]:
            path = np.array([start, goal])
            if not _is_among(path, without) and self.scene.edge_free(start, goal, margin):
                return path
        for goal in free_goals[:2]:
            for around in (self._detour, self._over):
                detour = around(start, goal, margin, without)
                if detour is not None:
                    return detour
        found = self._search(start, free_goals, margin, seconds)
        if found is None:
            raise SkillFailureError(
                Code.PLANNING_FAILED,
                f"no collision-free motion found within {seconds:g} s "
                f"({self._blocker(start, free_goals[0], margin)} is in the way)",
            )
        return found

    def line(self, start: Array, direction: Sequence[float] | Array, distance: float) -> Array | None:
        """Joint positions along a straight Cartesian line of the tool from `start`; None where the arm cannot follow
        it.

        direction: unit vector in the base frame; distance in metres. The caller checks collisions.
        """
        count = max(2, int(np.ceil(abs(distance) / LINE_STEP)))
        pose = self.kinematics.forward(start)
        poses = []
        for k in range(1, count + 1):
            step = pose.copy()
            step[:3, 3] += np.asarray(direction) * (distance * k / count)
            poses.append(step)
        return self.kinematics.along(start, poses)

    def longest_line(self, start: Array, direction: Sequence[float] | Array, distance: float) -> Array | None:
        """As `line`, shorter where the arm cannot follow all of it."""
        lines = (self.line(start, direction, share * distance) for share in _SHARES)
        return next((line for line in lines if line is not None), None)

    def margin_at(self, q: Array) -> float:
        """The safety margin, reduced where the arm already is nearer to an obstacle."""
        for margin in (MARGIN, MARGIN / 2, 0.001, -0.003):
            if self.scene.contact(q, margin) is None:
                return margin
        found = self.scene.contact(q, -0.003)
        raise SkillFailureError(
            Code.COLLISION,
            f"the arm stands where something else is seen ({found}), and no way out is free; move the arm, or what it "
            "stands in, by hand",
        )

    def _detour(self, start: Array, goal: Array, margin: float, without: Sequence[Array]) -> Array | None:
        """A path over one raised point halfway between start and goal."""
        first, last = self.kinematics.forward(start), self.kinematics.forward(goal)
        for lift in _DETOUR_HEIGHTS:
            pose = last.copy()
            pose[:3, 3] = (first[:3, 3] + last[:3, 3]) / 2
            pose[2, 3] = max(first[2, 3], last[2, 3]) + lift
            for via in self.kinematics.ranked(pose, (start + goal) / 2)[:2]:
                path = np.array([start, via, goal])
                if (
                    not _is_among(path, without)
                    and self.scene.free(via, margin)
                    and self.scene.edge_free(start, via, margin)
                    and self.scene.edge_free(via, goal, margin)
                ):
                    return path
        return None

    def _over(self, start: Array, goal: Array, margin: float, without: Sequence[Array]) -> Array | None:
        """A path straight up, over, and straight down, as out of and into what has walls."""
        low = [float(self.kinematics.forward(q)[2, 3]) for q in (start, goal)]
        for lift in _DETOUR_HEIGHTS:
            up, down = (self.line(q, (0.0, 0.0, 1.0), max(low) + lift - z) for q, z in zip((start, goal), low))
            if up is None or down is None:
                return None
            path = np.vstack((up, down[::-1]))
            for way in (self._shorten(path, margin), path) if self._free(path, margin) else ():
                if not _is_among(way, without):
                    return way
        return None

    def _search(self, start: Array, goals: list[Array], margin: float, seconds: float) -> Array | None:
        scene, count = self.scene, self.scene.robot.count
        lower, upper = self.kinematics.lower, self.kinematics.upper
        if not scene.holding:  # VAMP's model of the hand knows of nothing in it
            proposed = vamp_backend.propose(start, goals[0], scene.shapes, scene.robot.planners.vamp)
            within = proposed is not None and bool(np.all((lower <= proposed) & (proposed <= upper)))
            if proposed is not None and within and self._free(proposed, margin):
                return self._shorten(proposed, margin)
        try:
            from ompl import base, geometric, util
        except ModuleNotFoundError:
            raise SkillFailureError(
                Code.PLANNING_FAILED,
                f"straight and raised motions are blocked by {self._blocker(start, goals[0], margin)}, and this Python "
                "has no OMPL to search for another path (its wheels are for 3.10 to 3.13)",
            ) from None
        util.setLogLevel(util.LogLevel.LOG_ERROR)
        budget = SearchTime(seconds)
        # A path found at OMPL's sampling may touch something between its samples: then the search goes on.
        for goal in cycle(goals[:3]):
            space = base.RealVectorStateSpace(count)
            bounds = base.RealVectorBounds(count)
            for joint in range(count):
                bounds.setLow(joint, float(min(lower[joint], start[joint])))
                bounds.setHigh(joint, float(max(upper[joint], start[joint])))
            space.setBounds(bounds)
            setup = geometric.SimpleSetup(space)
            setup.setStateValidityChecker(lambda state: scene.free([state[i] for i in range(count)], margin))
            info = setup.getSpaceInformation()
            # The resolution is a share of the space's diagonal; a step of that length moves no joint by more.
            info.setStateValidityCheckingResolution(RESOLUTION / space.getMaximumExtent())
            planner = geometric.RRTConnect(info)
            planner.setRange(0.8)
            setup.setPlanner(planner)
            states = []
            for q in (start, goal):
                state = space.allocState()
                for joint in range(count):
                    state[joint] = float(q[joint])
                states.append(state)
            setup.setStartAndGoalStates(*states)
            if budget.left <= 0.01:
                return None
            part = SearchTime(budget.left / 2 if len(goals) > 1 else budget.left)
            setup.solve(base.PlannerTerminationCondition(lambda part=part: part.left <= 0.0))
            if not setup.haveExactSolutionPath():
                continue
            path = setup.getSolutionPath()
            setup.getPathSimplifier().simplify(path, 0.15)
            rows = np.array([[state[i] for i in range(count)] for state in path.getStates()])
            rows = self._shorten(rows, margin)
            if self._free(rows, margin):
                return rows
        return None

    def _shorten(self, path: Array, margin: float) -> Array:
        """Drop waypoints that a straight line can skip, longest skips first; each remaining corner is a stop."""
        rows = list(path)
        at = 0
        while at < len(rows) - 2:
            for ahead in range(len(rows) - 1, at + 1, -1):
                if self.scene.edge_free(rows[at], rows[ahead], margin):
                    del rows[at + 1 : ahead]
                    break
            at += 1
        return np.array(rows)

    def _free(self, path: Array, margin: float) -> bool:
        return all(self.scene.edge_free(a, b, margin) for a, b in pairwise(path))

    def _blocker(self, start: Array, goal: Array, margin: float) -> str:
        found = self.scene.path_contact(np.array([start, goal]), margin)
        if found is None:
            return "something"
        others = [name for name in (found.first, found.second) if name not in self.scene.robot.links]
        return " against ".join(others) or str(found)


class SearchTime:
    """Seconds of this thread's processor time, so that a busy machine plans later, but no worse; of wall time, so many
    times as many at most.
    """

    def __init__(self, seconds: float):
        self._ends = time.thread_time() + seconds, time.monotonic() + _BUSY * seconds

    @property
    def left(self) -> float:
        return min(self._ends[0] - time.thread_time(), (self._ends[1] - time.monotonic()) / _BUSY)


def _is_among(path: Array, others: Sequence[Array]) -> bool:
    return any(path.shape == other.shape and np.allclose(path, other) for other in others)

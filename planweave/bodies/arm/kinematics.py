"""Closed-form kinematics of the arm.

A 6R chain with a spherical wrist or base, or with three parallel axes, is solved in closed form by EAIK
(Ostermeier, Külz, Althoff: "Automatic Geometric Decomposition for Analytical Inverse Kinematics", RA-L 2025). A 7R arm
is such a chain with its last joint fixed; sampling that gives the one-parameter family of its solutions. The chain is
read from the MuJoCo model, so that both always agree.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from planweave.core.base.errors import ConfigError
from planweave.geometry.arrays import Array
from planweave.geometry.joints import turn
from planweave.robots import RobotDescription, load_robot
from planweave.robots.model import TCP_SITE

if TYPE_CHECKING:
    import mujoco

LIMIT_MARGIN = 0.03
"""Distance kept from joint limits, rad."""
SWEEP = 24
"""Values of the last joint that are tried for one pose."""
_RADII = np.arange(0.1, 2.0, 0.02)  # distances from the base that are tried for its reach, m
_NUDGES = np.array([0.0, -0.06, 0.06])  # changes of the last joint from one pose of a line to the next, rad


class Kinematics:
    """Forward and inverse kinematics of the tool centre point. Poses are 4x4 matrices ``tcp_to_base``.

    robot: whose arm the model holds; by default the default robot. n is the number of its joints.
    """

    def __init__(self, model: mujoco.MjModel, robot: RobotDescription | None = None):
        import mujoco

        try:
            from eaik.IK_HP import HPRobot
        except ImportError:
            raise ConfigError("the inverse kinematics are not installed: run  pip install --no-deps eaik") from None
        self.robot = robot = robot or load_robot()
        data = mujoco.MjData(model)
        data.qpos[:] = 0.0
        mujoco.mj_kinematics(model, data)
        joints = [model.joint(name).id for name in robot.joint_names]
        anchors = np.array([data.xanchor[j] for j in joints])
        site = data.site(TCP_SITE)
        points = np.vstack([np.zeros(3), anchors, site.xpos])
        self._zero = np.eye(4)
        self._zero[:3, :3] = np.reshape(site.xmat, (3, 3))
        self._back = self._zero[:3, :3].T.copy()
        axes = np.array([data.xaxis[j] for j in joints])
        # The tool lies on the axis of the last joint, so turning that by a is turning the target by -a about the axis.
        self._last_axis = self._back @ axes[-1]
        self._redundant = robot.count == 7
        self._chain = HPRobot(axes, np.diff(points, axis=0), fixed_axes=[(6, 0.0)] if self._redundant else [])
        if not self._chain.hasKnownDecomposition():
            raise ConfigError(
                f"{robot.title}: the joint axes of its model have no closed-form inverse; an arm of 6 joints needs a "
                "spherical wrist or three parallel axes, one of 7 the same with its last joint held"
            )
        off_axis = np.linalg.norm(np.cross(points[-1] - points[-2], axes[-1]))
        if self._redundant and off_axis > 1e-6:
            raise ConfigError(
                f"the tool centre point lies {off_axis:.4f} m beside the axis of joint 7; it must lie on it"
            )
        self.lower = np.asarray(robot.lower)
        self.upper = np.asarray(robot.upper)
        self._low = self.lower + LIMIT_MARGIN
        self._high = self.upper - LIMIT_MARGIN
        self._middle = (self.lower + self.upper) / 2
        self._pace = np.asarray(robot.velocity) / robot.velocity[0]
        self._sweep = np.linspace(self._low[6], self._high[6], SWEEP) if self._redundant else np.zeros(1)
        self._middle_first = sorted(self._sweep[::2], key=lambda value: abs(value - self._middle[-1]))

    def forward(self, q: Sequence[float] | Array) -> Array:
        """Pose of the tool centre point for joint positions (n,)."""
        first, last = np.array(q, dtype=float), 0.0
        if self._redundant:
            last, first[-1] = first[-1], 0.0
        pose = np.array(self._chain.fwdKin(first))
        pose[:3, :3] = pose[:3, :3] @ self._zero[:3, :3] @ turn(self._last_axis, last)
        return pose

    def solutions(self, pose: Array, last: Iterable[float] | None = None, near: Array | None = None) -> Array:
        """All joint positions within limits that reach a pose, a row each.

        last: values of the last joint to try, where an arm has 7. near: joints that can turn further than once are
        given in the turn nearest to this; by default to the middle of their limits.
        """
        near = self._middle if near is None else near
        values = np.array(list(last)) if last is not None and self._redundant else self._sweep
        target = np.array(pose, dtype=float)
        rotations = target[:3, :3] @ turn(self._last_axis, -values[:, None, None]) @ self._back
        found, poor, counts = [np.empty((0, self.robot.count))], [np.empty(0, bool)], list[int]()
        for rotation in rotations:
            target[:3, :3] = rotation
            result = self._chain.IK(target)
            flags = result.is_LS  # solutions by least squares, which miss the pose
            counts.append(len(flags))
            if counts[-1]:
                found.append(result.Q)
                poor.append(flags)
        rows = np.concatenate(found)
        if self._redundant:
            rows[:, -1] = np.repeat(values, counts)
        rows = rows[np.logical_not(np.concatenate(poor))]
        return _into(rows, self._low, self._high, near)

    def reaches(self, pose: Array) -> bool:
        return any(len(self.solutions(pose, (value,))) for value in self._middle_first)

    def reach(self, height: float) -> tuple[float, float]:
        """Least and largest distance in front of the base at which the tool points straight down at a height (all m);
        0 and 0 where it nowhere does.
        """
        yaws = np.arange(4) * math.pi / 4
        within = [r for r in _RADII if any(self.reaches(downwards(r, 0.0, height, yaw)) for yaw in yaws)]
        return (float(within[0]), float(within[-1])) if within else (0.0, 0.0)

    def ranked(self, pose: Array, near: Array) -> Array:
        """Solutions, best first by `cost`."""
        found = self.solutions(pose, near=near)
        return np.asarray(found[np.argsort(self.cost(found, near), kind="stable")])

    def best(self, poses: Iterable[Array], near: Array, each: int) -> list[Array]:
        """Joint positions that reach one of some poses, at most `each` of one pose, best first by `cost`."""
        found = [q for pose in poses for q in self.ranked(pose, near)[:each]]
        return sorted(found, key=lambda q: float(self.cost(q[None], near)[0]))

    def cost(self, found: Array, near: Array) -> Array:
        """IK solution cost of joint positions, a row each, in rad of travel of the first joint.

        Sum of the travel time from `near`, the proximity to joint limits, and, of 7 joints, the rotation of the elbow
        out of the vertical plane (joint 3), where the arm is near the singularity of joints 1 and 3 and straight lines
        take long.
        """
        travel = (np.abs(found - near) / self._pace).max(axis=1)
        edge = (np.abs(found - (self.upper + self.lower) / 2) / ((self.upper - self.lower) / 2)).max(axis=1)
        total: Array = travel + np.clip(edge - 0.85, 0.0, None) / 0.075
        if self._redundant:
            total = total + 0.5 * np.abs(found[:, 2])
        return total

    def along(self, start: Array, poses: Iterable[Array], largest_step: float = 0.35) -> Array | None:
        """Joint positions that track poses from `start` with the least joint motion and without discontinuity.

        The first row is `start`. None where a pose is out of reach or a joint would jump. The last of 7 joints may
        change slightly from pose to pose: near the singularity of joints 1 and 3 this avoids large motions.
        """
        poses = list(poses)
        last = [float(start[-1])] * len(poses)
        if not self._redundant:
            return self._track(start, poses, last, np.zeros(1), largest_step)
        rough = self._track(start, poses, last, _NUDGES, largest_step)
        if rough is None or rough[-1][6] == rough[0][6]:
            return rough
        even = np.linspace(rough[0][6], rough[-1][6], len(rough))[1:]
        smooth = self._track(start, poses, even.tolist(), np.zeros(1), largest_step)
        return rough if smooth is None else smooth

    def _track(
        self, start: Array, poses: list[Array], last: list[float], nudges: Array, largest_step: float
    ) -> Array | None:
        """Solutions of poses, each nearest to the previous one; the last of 7 joints at `last`, or varied in small
        steps.
        """
        rows = [np.asarray(start, dtype=float)]
        for pose, value in zip(poses, last):
            base = rows[-1][-1] if len(nudges) > 1 else value
            values = np.clip(base + nudges, self._low[-1], self._high[-1])
            options = self.solutions(pose, dict.fromkeys(values.tolist()), rows[-1])
            if not len(options):
                return None
            step = np.abs(options - rows[-1]).max(axis=1)
            best = int(step.argmin())
            if step[best] > largest_step:
                return None
            rows.append(options[best])
        return np.array(rows)


def downwards(x: float, y: float, z: float, yaw: float) -> Array:
    """A pose with the hand pointing down; the fingers close along the base's y axis turned by `yaw`."""
    c, s = np.cos(yaw), np.sin(yaw)
    return np.array([[c, s, 0.0, x], [s, -c, 0.0, y], [0.0, 0.0, -1.0, z], [0.0, 0.0, 0.0, 1.0]])


def _into(rows: Array, low: Array, high: Array, near: Array) -> Array:
    """The same configurations, a row each, with each joint wrapped by whole turns into its limits, as near as possible
    to `near`; without those for which that is not possible.
    """
    first = low + (rows - low) % (2 * np.pi)
    first = first[(first <= high).all(axis=1)]
    turns = np.clip(np.round((near - first) / (2 * np.pi)), 0, np.floor((high - first) / (2 * np.pi)))
    return np.asarray(first + 2 * np.pi * turns)

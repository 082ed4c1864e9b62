"""Closed-form kinematics of the arm.

With the last joint fixed, the Franka arm is a 6R chain with a spherical base, which EAIK solves in closed form
(Ostermeier, Külz, Althoff: "Automatic Geometric Decomposition for Analytical Inverse Kinematics", RA-L 2025). Sampling
the last joint gives the one-parameter family of solutions of the 7R arm. The chain is read from the MuJoCo model, so
that both always agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from planweave.core.errors import ConfigError
from planweave.robots import franka

if TYPE_CHECKING:
    import mujoco

Array = NDArray[np.float64]
LIMIT_MARGIN = 0.03
"""Distance kept from joint limits, rad."""
SWEEP = 24
"""Values of the last joint that are tried for one pose."""
_NUDGES = np.array([0.0, -0.06, 0.06])  # changes of the last joint from one pose of a line to the next, rad


class Kinematics:
    """Forward and inverse kinematics of the tool centre point. Poses are 4x4 matrices ``tcp_to_base``."""

    def __init__(self, model: mujoco.MjModel):
        import mujoco

        try:
            from eaik.IK_HP import HPRobot
        except ImportError:
            raise ConfigError("the inverse kinematics are not installed: run  pip install --no-deps eaik") from None
        data = mujoco.MjData(model)
        data.qpos[:] = 0.0
        mujoco.mj_kinematics(model, data)
        joints = [model.joint(name).id for name in franka.ARM_JOINTS]
        anchors = np.array([data.xanchor[j] for j in joints])
        site = data.site(franka.TCP_SITE)
        points = np.vstack([np.zeros(3), anchors, site.xpos])
        self._zero = np.eye(4)
        self._zero[:3, :3] = np.reshape(site.xmat, (3, 3))
        self._back = self._zero[:3, :3].T.copy()
        axes = np.array([data.xaxis[j] for j in joints])
        # The tool lies on the axis of joint 7, so turning joint 7 by a is turning the target by -a about that axis.
        self._axis7 = self._back @ axes[6]
        self._robot = HPRobot(axes, np.diff(points, axis=0), fixed_axes=[(6, 0.0)])
        if not self._robot.hasKnownDecomposition():
            raise ConfigError("the robot model is not a Franka arm: its joint axes have no closed-form inverse")
        off_axis = np.linalg.norm(np.cross(points[8] - points[7], axes[6]))
        if off_axis > 1e-6:
            raise ConfigError(
                f"the tool centre point lies {off_axis:.4f} m beside the axis of joint 7; it must lie on it"
            )
        self.lower = np.asarray(franka.JOINT_LOWER)
        self.upper = np.asarray(franka.JOINT_UPPER)
        self._low = self.lower + LIMIT_MARGIN
        self._high = self.upper - LIMIT_MARGIN
        self._pace = np.asarray(franka.VELOCITY_LIMITS) / franka.VELOCITY_LIMITS[0]
        self._sweep = np.linspace(self._low[6], self._high[6], SWEEP)

    def forward(self, q: Sequence[float] | Array) -> Array:
        """Pose of the tool centre point for 7 joint positions."""
        first = np.array(q, dtype=float)
        last, first[6] = first[6], 0.0
        pose = np.array(self._robot.fwdKin(first))
        pose[:3, :3] = pose[:3, :3] @ self._zero[:3, :3] @ _turn(self._axis7, last)
        return pose

    def solutions(self, pose: Array, last: Iterable[float] | None = None) -> Array:
        """All joint positions within limits that reach a pose, shape (n, 7); `last`: values of joint 7 to try."""
        found = []
        target = np.array(pose, dtype=float)
        for value in self._sweep if last is None else last:
            target[:3, :3] = pose[:3, :3] @ _turn(self._axis7, -value) @ self._back
            result = self._robot.IK(target)
            for q, approximate in zip(result.Q, result.is_LS):
                if approximate:
                    continue
                q = np.array(q)
                q[6] = value
                q = _into(q, self._low, self._high)
                if q is not None:
                    found.append(q)
        return np.array(found) if found else np.empty((0, 7))

    def reaches(self, pose: Array) -> bool:
        """Whether any joint positions reach a pose."""
        return any(len(self.solutions(pose, (value,))) for value in self._sweep[::2])

    def ranked(self, pose: Array, near: Array) -> Array:
        """Solutions, best first by `cost`."""
        found = self.solutions(pose)
        if not len(found):
            return found
        best_first: Array = found[np.argsort(self.cost(found, near), kind="stable")]
        return best_first

    def cost(self, found: Array, near: Array) -> Array:
        """IK solution cost of joint positions (n, 7), in rad of travel of the first joint; shape (n,).

        Sum of the travel time from `near`, the proximity to joint limits, and the rotation of the elbow out of the
        vertical plane (joint 3), where the arm is near the singularity of joints 1 and 3 and straight lines take long.
        """
        travel = (np.abs(found - near) / self._pace).max(axis=1)
        edge = (np.abs(found - (self.upper + self.lower) / 2) / ((self.upper - self.lower) / 2)).max(axis=1)
        total: Array = travel + np.clip(edge - 0.85, 0.0, None) / 0.075 + 0.5 * np.abs(found[:, 2])
        return total

    def along(self, start: Array, poses: Iterable[Array], largest_step: float = 0.35) -> Array | None:
        """Joint positions that track poses from `start` with the least joint motion and without discontinuity.

        Shape (n + 1, 7), the first row is `start`. None where a pose is out of reach or a joint would jump. Joint 7 may
        change slightly from pose to pose: near the singularity of joints 1 and 3 this avoids large motions.
        """
        poses = list(poses)
        last = [float(start[6])] * len(poses)
        rough = self._track(start, poses, last, _NUDGES, largest_step)
        if rough is None or rough[-1][6] == rough[0][6]:
            return rough
        even = np.linspace(rough[0][6], rough[-1][6], len(rough))[1:]
        smooth = self._track(start, poses, even.tolist(), np.zeros(1), largest_step)
        return rough if smooth is None else smooth

    def _track(
        self, start: Array, poses: list[Array], last: list[float], nudges: Array, largest_step: float
    ) -> Array | None:
        """Solutions of poses, each nearest to the previous one; joint 7 at `last`, or varied in small steps."""
        rows = [np.asarray(start, dtype=float)]
        for pose, value in zip(poses, last):
            base = rows[-1][6] if len(nudges) > 1 else value
            values = np.clip(base + nudges, self._low[6], self._high[6])
            options = self.solutions(pose, dict.fromkeys(values.tolist()))
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


def _turn(axis: Array, angle: float) -> Array:
    """Rotation about a unit axis (Rodrigues)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    rotation: Array = np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)
    return rotation


def _into(q: Array, low: Array, high: Array) -> Array | None:
    """The same configuration with each joint wrapped by whole turns into its limits; None where that is not
    possible.
    """
    q = low + (q - low) % (2 * np.pi)
    return q if (q <= high).all() else None

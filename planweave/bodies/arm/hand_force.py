"""The force at the hand, from the measured torques of the joints: how hard something holds it back.

N in the base frame; torques in Nm with that of gravity included, as sensors behind the gears measure them.
"""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any

import numpy as np

from planweave.bodies.arm.arms.base import ArmState, MotionResult
from planweave.bodies.arm.planning_scene import PlanningScene
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array
from planweave.robots.model import TCP_SITE

_LASTS = 0.04  # s for which the force must be there
_TOUCH = 5.0  # N from which on something is felt to hold the hand back
_SINGULAR = 0.05  # singular values of the Jacobian below this share of the largest tell nothing


class HandForce:
    """Force at the hand, by the joints' torques: without those of gravity and acceleration, as the masses of the
    robot's model have them, and without what was left before the hand touched anything.
    """

    def __init__(self, scene: PlanningScene) -> None:
        self._model = scene.model
        names = scene.robot.joint_names
        self._q = np.array([self._model.joint(name).qposadr[0] for name in names])
        self._dof = np.array([self._model.joint(name).dofadr[0] for name in names])
        self.tcp = self._model.site(TCP_SITE).id

    @cached_property
    def _data(self) -> Any:
        import mujoco

        return mujoco.MjData(self._model)

    def watch(self, free: ArmState, path: Array, most: float, what: str) -> ForceWatch:
        """A watch that ends a motion on a path (n, joints) with COLLISION where something holds the hand back with more
        than a force (N, 0: any); nothing without measured torques. free: the arm at rest, with nothing at its hand;
        what: it does, for the message. What acts across the path does not count: an arm that is led by positions
        presses there as far as the way of a part was measured wrongly.
        """
        return ForceWatch(self, free, path, most, what)

    def at(self, positions: Array) -> Any:
        """The model's data with the arm at joint positions (n,) rad."""
        import mujoco

        self._data.qpos[self._q] = positions
        mujoco.mj_kinematics(self._model, self._data)
        mujoco.mj_comPos(self._model, self._data)
        return self._data

    def left(self, state: ArmState, accelerations: Array) -> Array:
        """Measured torques (n,) without those that gravity and accelerations (n,) rad/s² take."""
        import mujoco

        data, taken = self.at(state.positions), np.zeros(self._model.nv)
        data.qacc[self._dof] = accelerations
        mujoco.mj_rne(self._model, data, 1, taken)
        return np.asarray(state.efforts - taken[self._dof])

    def force(self, torques: Array) -> Array:
        """The force (3,) that the hand exerts with joint torques (n,), where the model's data has the arm."""
        import mujoco

        linear, angular = (np.zeros((3, self._model.nv)) for _ in range(2))
        mujoco.mj_jacSite(self._model, self._data, linear, angular, self.tcp)
        jacobian = np.vstack([linear, angular])[:, self._dof]
        wrench: Array = np.linalg.pinv(jacobian.T, rcond=_SINGULAR) @ torques
        return wrench[:3]


class ForceWatch:
    """See `HandForce.watch`. felt: stamp of the newest state in which something held the hand back at all, s; infinite
    where that is not measured.
    """

    def __init__(self, hand: HandForce, free: ArmState, path: Array, most: float, what: str):
        self._hand, self._path, self._most, self._what = hand, path, most, what
        self._last, self._since = free, math.inf
        self.felt = math.inf if free.efforts is None or not most else free.stamp
        if math.isinf(self.felt):
            return
        self._before = hand.left(free, np.zeros(len(free.positions)))
        points = np.array([hand.at(q).site_xpos[hand.tcp].copy() for q in path])
        ways = np.diff(points, axis=0)
        self._ways = ways / np.maximum(np.linalg.norm(ways, axis=1, keepdims=True), 1e-9)

    def __call__(self, state: ArmState) -> MotionResult | None:
        seconds = state.stamp - self._last.stamp
        if math.isinf(self.felt) or state.efforts is None or seconds <= 0.0:
            return None
        accelerations, self._last = (state.velocities - self._last.velocities) / seconds, state
        nearest = int(np.abs(self._path[:-1] - state.positions).max(axis=1).argmin())
        force = float(self._hand.force(self._hand.left(state, accelerations) - self._before) @ self._ways[nearest])
        self.felt = state.stamp if force > _TOUCH else self.felt
        self._since = min(self._since, state.stamp) if force > self._most else math.inf
        if state.stamp - self._since < _LASTS:
            return None
        return MotionResult(
            Code.COLLISION,
            f"{self._what} with {force:.0f} N, more than the {self._most:g} N allowed (parameter contact_force): "
            "something holds it; the arm was stopped",
        )

"""The vanish fault: an object that is removed at the moment the fingers close on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planweave.robots.model import TCP_SITE
from planweave.simulation.mujoco_model import object_body
from planweave.simulation.scene import Scene, Vanish

if TYPE_CHECKING:
    import mujoco

_NEAR = (0.04, 0.12)  # the tool centre point is this near, along the table and upwards, when it grasps at an object, m
_FLOOR, _HEIGHT = -0.72, 0.005  # where what is taken off the table ends; let go this far above its new place, m


class Vanishing:
    """Detects the fingers closing on the objects with a vanish fault, and removes each once."""

    def __init__(self, model: mujoco.MjModel, scene: Scene):
        self._faults = [fault for fault in scene.faults if isinstance(fault, Vanish)]
        self._joints = [model.joint(object_body(fault.object)) for fault in self._faults]
        self._tcp = model.site(TCP_SITE).id if self._faults else -1
        self._yaws = [scene.objects[fault.object].yaw for fault in self._faults]
        self.reset()

    def reset(self) -> None:
        """Restore all faults."""
        self._left = [True] * len(self._faults)

    @property
    def active(self) -> bool:
        """Whether any object has not vanished yet."""
        return any(self._left)

    def update(self, data: mujoco.MjData, *, closing: bool) -> None:
        """Call before a time step; closing: whether the fingers close."""
        if not closing:
            return
        tcp = data.site_xpos[self._tcp]
        for i, joint in enumerate(self._joints):
            if not self._left[i]:
                continue
            at = int(joint.qposadr[0])
            x, y, z = data.qpos[at : at + 3]
            if math.dist((x, y), tcp[:2]) > _NEAR[0] or not 0 <= tcp[2] - z <= _NEAR[1]:
                continue
            self._left[i] = False
            to = self._faults[i].to
            # Off the table is behind the robot, on the floor, each at a place of its own.
            place = (*to, _HEIGHT) if to else (-1.2, 0.4 * i, _FLOOR + _HEIGHT)
            turn = self._yaws[i] / 2
            data.qpos[at : at + 7] = (*place, math.cos(turn), 0.0, 0.0, math.sin(turn))
            data.qvel[int(joint.dofadr[0]) : int(joint.dofadr[0]) + 6] = 0.0

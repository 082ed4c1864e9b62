"""The vanish fault: an object that is removed at the moment the fingers close on it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from planweave.robots.model import TCP_SITE
from planweave.simulation.intervention import grasps_at
from planweave.simulation.mujoco_model import object_body, off_table, put_object
from planweave.simulation.scene import Scene, Vanish

if TYPE_CHECKING:
    import mujoco

_HEIGHT = 0.005  # let go this far above its new place, m


class Vanishing:
    """Detects the fingers closing on the objects with a vanish fault, and removes each once."""

    def __init__(self, model: mujoco.MjModel, scene: Scene):
        self._faults = [fault for fault in scene.faults if isinstance(fault, Vanish)]
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
        for i, fault in enumerate(self._faults):
            place = data.joint(object_body(fault.object)).qpos[:3]
            if self._left[i] and grasps_at(data.site_xpos[self._tcp], place):
                self._left[i] = False
                to = (*fault.to, _HEIGHT) if fault.to else off_table(fault.object)
                half = self._yaws[i] / 2
                put_object(data, fault.object, to, (math.cos(half), 0.0, 0.0, math.sin(half)))

"""The slip fault: an object that is slippery for the fingers until it has slipped out of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planweave.robots import RobotDescription
from planweave.robots.model import pad_geoms
from planweave.simulation.mujoco_model import object_body
from planweave.simulation.scene import Scene, Slip

if TYPE_CHECKING:
    import mujoco

SLIPPERY = 0.01  # friction coefficient
_LOST_FOR = 25  # time steps without touch before a grasp counts as slipped


class Slips:
    """Monitors the grasps of the objects with a slip fault, and removes the fault once it has occurred."""

    def __init__(self, model: mujoco.MjModel, scene: Scene, robot: RobotDescription):
        self._model = model
        self._usual = model.pair_friction.copy()
        self._faults = [fault for fault in scene.faults if isinstance(fault, Slip)]
        self._pads = [{int(model.geom(name).id)} for name in pad_geoms(robot)] if self._faults else []
        self._bodies = [model.body(object_body(slip.object)).id for slip in self._faults]
        self._pairs = [
            [i for i in range(model.npair) if model.pair(i).name.startswith(f"slip_{slip.object}_")]
            for slip in self._faults
        ]
        self.reset()

    def reset(self) -> None:
        """Restore all faults."""
        self._left = [slip.times for slip in self._faults]
        self._held = [False] * len(self._faults)
        self._lost = [0] * len(self._faults)
        self._model.pair_friction[:] = self._usual
        for pairs in self._pairs:
            self._model.pair_friction[pairs, :2] = SLIPPERY

    @property
    def active(self) -> bool:
        """Whether any fault has yet to occur."""
        return any(self._left)

    def update(self, data: mujoco.MjData, *, closing: bool) -> None:
        """Call after each time step; closing: whether the fingers press together."""
        bodies = self._model.geom_bodyid
        touching = [(int(a), int(b)) for a, b in data.contact.geom]
        for i, body in enumerate(self._bodies):
            if not self._left[i]:
                continue
            touched = [
                any((a in pad and bodies[b] == body) or (b in pad and bodies[a] == body) for a, b in touching)
                for pad in self._pads
            ]
            # What is round may be squeezed away before both fingers touch it.
            if all(touched) or (closing and any(touched)):
                self._held[i], self._lost[i] = True, 0
            elif self._held[i] and not any(touched):
                self._lost[i] += 1
                if not closing:
                    self._held[i] = False  # let go on purpose
                elif self._lost[i] >= _LOST_FOR:
                    self._held[i], self._left[i] = False, self._left[i] - 1
                    if not self._left[i]:
                        pairs = np.array(self._pairs[i])
                        self._model.pair_friction[pairs] = self._usual[pairs]

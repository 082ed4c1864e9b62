"""World model where a look costs nothing but the call: a simulator's truth, or cameras that are asked for a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """What a look shows: the symbolic world, the things in the robot's base frame, and when (s).

    articulation: the joint of a drawer, door or knob by name; None where none is known.
    """

    world: World
    things: tuple[Thing, ...]
    stamp: float
    articulation: Callable[[str], Articulation | None] = lambda name: None


class LookedWorld(WorldModel):
    """World model that looks when an observation is waited for, and whose facts come with it.

    look: called with this model, observes what is there now; joints: positions measured now, rad; ground: height of
    what things stand on, m.
    """

    def __init__(
        self,
        look: Callable[[LookedWorld], Observation],
        joints: Callable[[], Array],
        domain: Domain,
        kinematics: Kinematics,
        safety: Safety,
        places: Sequence[Location] = (),
        ground: float = 0.0,
    ) -> None:
        self._look, self._measured, self._ground = look, joints, ground
        super().__init__(domain, places, kinematics, safety)
        self._show(look(self))

    @property
    def joints(self) -> Array:
        """Joint positions as measured now, rad."""
        return self._measured()

    @property
    def overdue(self) -> bool:
        """Never: who cannot look raises."""
        return False

    @property
    def tips_height(self) -> float:
        """Height of the finger tips above what things stand on, m."""
        return super().tips_height - self._ground

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a drawer, door or knob at the newest look; None where none is known."""
        return self._joint_of(name)

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Look; the look's stamp."""
        seen = self._look(self)
        self._show(replace(seen, world=replace(seen.world, origins=self._world.origins)))
        return seen.stamp

    def motion_ended(self, stamp: float) -> None:
        """The arm is at rest; what is there is seen at the next look."""

    def _show(self, seen: Observation) -> None:
        held = self._held.thing.name if self._held is not None else ""
        self._world, self._joint_of = seen.world, seen.articulation
        self._things = {t.name: t for t in seen.things if t.name != held}
        self._moving, self._seen_stamp = False, max(seen.stamp, 0.0)

    def _refresh(self, tell: bool = False) -> None:
        """Does nothing: facts change with a look."""

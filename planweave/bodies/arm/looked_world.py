"""World model where a look costs nothing but the call: a simulator's truth, or cameras that are asked for a picture."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.safety import Safety
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.thing_builder import ThingBuilder
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_model import WorldModel
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import World
from planweave.geometry.joints import SeenFixture
from planweave.geometry.seen_object import SeenObject

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Observation:
    """What a look shows: the things in the robot's base frame, and when (s).

    world, articulation: of a simulator that tells the truth, the symbolic world and the joint of a drawer, door or knob
    by name. Of cameras world is None: it follows from the things, the furniture, and those that are lost.
    """

    world: World | None
    things: tuple[Thing, ...]
    stamp: float
    articulation: Callable[[str], Articulation | None] = lambda name: None
    furniture: tuple[Furniture, ...] = ()
    lost: tuple[Thing, ...] = ()


def observation_of(
    builder: ThingBuilder, objects: Iterable[SeenObject], fixtures: Iterable[SeenFixture], stamp: float
) -> Observation:
    """What perception tells at a stamp, s."""
    things: dict[bool, list[Thing]] = {True: [], False: []}
    for each in objects:
        things[each.lost].append(builder.thing(each))
    furniture = tuple(map(Furniture.of, fixtures))
    return Observation(None, tuple(things[False]), stamp, furniture=furniture, lost=tuple(things[True]))


class LookedWorld(WorldModel):
    """World model that looks when an observation is waited for.

    look: called with this model, observes what is there now; joints: positions measured now, rad; ground, more:
    as of WorldModel. What can be reached, only planning tells.
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
        **more: Any,
    ) -> None:
        self._look, self._measured, self._ground = look, joints, ground
        self._seen: Observation | None = None
        super().__init__(domain, places, kinematics, safety, ground=ground, **more)
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
        truth = self._seen.articulation(name) if self._seen is not None else None
        return truth or super().articulation(name)

    def reachable(self, what: Thing | Location) -> bool:
        """Always."""
        return True

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Look; the look's stamp."""
        seen = self._look(self)
        self._show(seen)
        return seen.stamp

    def motion_ended(self, stamp: float) -> None:
        """The arm is at rest; what is there is seen at the next look."""

    def _show(self, seen: Observation) -> None:
        self._moving, self._seen = False, seen
        self.on_joints(self._measured())
        if seen.world is None:
            self.on_detections(seen.things, max(seen.stamp, 0.0), seen.furniture, seen.lost)
            return
        held = self._held.thing.name if self._held is not None else ""
        self._world = replace(seen.world, origins=self._world.origins)
        self._things = {t.name: t for t in seen.things if t.name != held}
        self._seen_stamp = max(seen.stamp, 0.0)

    def _refresh(self, tell: bool = False) -> None:
        """Recompute the world, unless it came with the look."""
        if self._seen is None or self._seen.world is None:
            super()._refresh(tell)

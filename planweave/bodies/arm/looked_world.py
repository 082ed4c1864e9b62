"""Model of the world around the arm where a look costs nothing but the call: a simulator's truth, or cameras that are
asked for a picture. Nothing is published, tracked or waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.kinematics import Kinematics
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import Location
from planweave.core.symbolic.world import World
from planweave.robots.description import GripperDescription

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


class LookedWorld:
    """See `planweave.bodies.arm.surroundings.Surroundings`. look: observes what is there now."""

    def __init__(
        self,
        look: Callable[[], Observation],
        joints: Callable[[], Array],
        kinematics: Kinematics,
        gripper: GripperDescription,
        places: Sequence[Location] = (),
        ground: float = 0.0,
    ) -> None:
        """joints: positions measured now, rad; ground: height of what things stand on, m."""
        self.places = tuple(places)
        self._joints = joints
        self._look, self._kinematics, self._gripper, self._ground = look, kinematics, gripper, ground
        self._held: Held | None = None
        self._moved = False
        self._seen = look()
        self._things = {t.name: t for t in self._seen.things}

    @property
    def held(self) -> Held | None:
        """The object in the gripper."""
        return self._held

    @property
    def silent(self) -> bool:
        """Never: who cannot look raises."""
        return False

    @property
    def looked_since_motion(self) -> bool:
        """Whether the newest look was taken since the arm moved last."""
        return not self._moved

    @property
    def tips_height(self) -> float:
        """Height of the finger tips above what things stand on, m."""
        z = float(self._kinematics.forward(self._joints())[2, 3])
        return z - self._gripper.tip - self._ground

    def world(self) -> World:
        """The world of the newest look."""
        return self._seen.world

    def things(self) -> Sequence[Thing]:
        """Objects around the arm, without the held one."""
        return tuple(self._things.values())

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a drawer, door or knob at the newest look; None where none is known."""
        return self._seen.articulation(name)

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Look; the look's stamp."""
        seen = self._look()
        self._seen = replace(seen, world=replace(seen.world, origins=self._seen.world.origins))
        held = self._held.thing.name if self._held is not None else ""
        self._things = {t.name: t for t in self._seen.things if t.name != held}
        self._moved = False
        return self._seen.stamp

    def motion_began(self) -> None:
        """The arm starts to move."""
        self._moved = True

    def motion_ended(self, stamp: float) -> None:
        """The arm is at rest; what is there is seen at the next look."""

    def grasped(self, held: Held) -> None:
        """The gripper holds an object."""
        if self._held is None:
            self._seen = replace(self._seen, world=self._seen.world.taken(held.thing.name))
        self._held = held
        self._things.pop(held.thing.name, None)

    def released(self, thing: Thing | None) -> None:
        """The gripper is empty; `thing`: the object at its new place, None where it is unknown."""
        self._held = None
        if thing is not None:
            self.put(thing)

    def handed_over(self, thing: Thing) -> None:
        """A person has taken the object out of the gripper."""
        self._held = None
        self._things.pop(thing.name, None)

    def part_moved(self, name: str, value: float) -> None:
        """The arm has moved a part; how far, the next look tells."""

    def put(self, thing: Thing) -> None:
        """Set the assumed pose of an object until it is observed."""
        self._things[thing.name] = replace(thing, visible=False)

    def action_ended(self) -> None:
        """The held object is wherever the hand is."""

"""What skills ask of the model of the world around the arm, whatever feeds it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.workspace import Location
from planweave.core.symbolic.world import World


class Surroundings(Protocol):
    """Objects around the arm, the held one, and the symbolic world; see `planweave.bodies.arm.world_model`."""

    places: tuple[Location, ...]

    @property
    def held(self) -> Held | None:
        """The object in the gripper."""

    @property
    def silent(self) -> bool:
        """Whether due observations do not arrive."""

    @property
    def looked_since_motion(self) -> bool:
        """Whether an observation was processed since the arm moved last."""

    @property
    def tips_height(self) -> float:
        """Height of the finger tips above what things stand on, m."""

    def world(self) -> World:
        """The newest world."""

    def things(self) -> Sequence[Thing]:
        """Objects around the arm, without the held one."""

    def articulation(self, name: str) -> Articulation | None:
        """The joint of a drawer, door or knob; None where none is known."""

    def wait_for_detections(self, after: float, seconds: float) -> float | None:
        """Wait for an observation stamped later than `after` (s); its stamp, None where none arrived in time."""

    def motion_began(self) -> None:
        """The arm starts to move."""

    def motion_ended(self, stamp: float) -> None:
        """The arm is at rest since `stamp` (s)."""

    def grasped(self, held: Held) -> None:
        """The gripper holds an object."""

    def released(self, thing: Thing | None) -> None:
        """The gripper is empty; `thing`: the object at its new place, None where it is unknown."""

    def handed_over(self, thing: Thing) -> None:
        """A person has taken the object out of the gripper."""

    def part_moved(self, name: str, value: float) -> None:
        """The arm has moved a drawer, door or knob, as far as it felt to a value; the next look tells."""

    def put(self, thing: Thing) -> None:
        """Set the assumed pose of an object until it is observed."""

    def action_ended(self) -> None:
        """Update the pose of the held object in the world."""

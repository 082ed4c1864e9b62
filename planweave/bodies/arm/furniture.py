"""Furniture as cameras see it, for the arm: its shape as parts, its joints, and the rooms inside.

Metres, rad; points and poses in the robot's base frame (z up).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.planning_scene import solid_of
from planweave.bodies.arm.poses import quaternion
from planweave.bodies.arm.scene_object import Region, Thing, room, thing_of_solid
from planweave.bodies.arm.solids import Part, Solid
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Literal, WorldObject
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint

Array = NDArray[np.float64]
_SHUT = {"slide": 0.006, "hinge": 0.06}  # m and rad up to which a part counts as closed: what a look is wrong by
_HANDLE = 1.25  # times as wide as its opening is a vessel with a handle
_NOISE = {"slide": 0.004, "hinge": 0.04}  # m and rad by which a look is wrong, at most
_STEP = {"slide": 0.005, "hinge": 0.05}  # m and rad: less is noise
_LEVELS = {2: ("top", "bottom"), 3: ("top", "middle", "bottom")}  # of drawers, from the top down
_OPEN = {"slide": 0.8, "hinge": 0.55}  # share of its way from which on a part is open, and not just ajar


@dataclass(frozen=True, eq=False)
class Furniture:
    """One piece: its name and class, its shape without what moves, and its joints by the names of their parts."""

    name: str
    class_name: str
    rest: Solid
    joints: dict[str, SeenJoint]
    visible: bool = True

    @classmethod
    def of(cls, seen: SeenFixture) -> Furniture:
        """Drawers are parts of their own (`cabinet_top_drawer`); a door or knob is the furniture's."""
        joints = {f"{seen.name}_{joint.name}": joint for joint in seen.joints}
        return cls(seen.name, seen.class_name, Solid(tuple(map(_part, seen.bodies))), joints, seen.visible)

    @property
    def state(self) -> tuple[object, ...]:
        """What of it changes, without noise: which parts are seen, and how far they are open."""
        parts = (
            (name, joint.visible, joint.handle is not None, round(joint.value / _STEP[joint.kind]))
            for name, joint in self.joints.items()
        )
        return (self.name, self.visible, *parts)

    def thing(self, domain: Domain) -> Thing:
        """All of it, as an object around the arm."""
        return replace(self._as_thing, type=domain.type_of_class(self.class_name), visible=self.visible)

    @cached_property
    def _as_thing(self) -> Thing:
        moving = (part for joint in self.joints.values() for part in _parts(joint))
        return thing_of_solid(self.name, "", self.class_name, Solid((*self.rest.parts, *moving)))

    def parts(self) -> Iterator[WorldObject]:
        """Its drawers, as objects of their own: where their fronts are."""
        for name, joint in self.joints.items():
            if joint.kind == "slide":
                x, y, z = joint.panel.centre.tolist()
                size = tuple(2 * v for v in joint.panel.half.tolist())
                known = Known.SEEN if joint.visible else Known.REMEMBERED
                turned = quaternion(joint.panel.axes)
                yield WorldObject(name, "part", "drawer", {}, (x, y, z), turned, size, known)

    def rooms(self) -> list[Thing]:
        """The insides of its open drawers."""
        found = []
        for name, joint in self.joints.items():
            if joint.kind == "slide" and joint.value > _OPEN["slide"] * joint.most:
                found.append(replace(room(name, "part", "drawer", _inside(joint)), visible=joint.visible))
        return found

    def moved(self, name: str, value: float) -> Furniture:
        """The same with one of its joints at a value, seen there."""
        part = self.articulation(name)
        if part is None:
            return self
        way = part.moved(value)
        return replace(
            self,
            joints={
                key: replace(joint.moved(way), value=value, visible=True) if joint.name == part.name else joint
                for key, joint in self.joints.items()
            },
        )

    def articulation(self, name: str) -> Articulation | None:
        """The joint of one of its parts, or of the whole where it has but one."""
        found = self.joints.get(name)
        if found is None and name == self.name and len(self.joints) == 1:
            (found,) = self.joints.values()
        if found is None:
            return None
        others = (part for joint in self.joints.values() if joint is not found for part in _parts(joint))
        rest = (*self.rest.parts, *others)
        limits = (0.0, found.most)
        return Articulation(
            found.name,
            self.name,
            found.kind,
            found.axis,
            found.anchor,
            limits,
            found.value,
            tuple(_parts(found)),
            rest,
            found.visible,
            _NOISE[found.kind],
            found.name.endswith("knob"),
        )

    def facts(self) -> set[Literal]:
        """What its joints show of it in the domain `kitchen`; what is neither open nor closed is ajar."""
        found: set[Literal] = set()
        for name, joint in self.joints.items():
            if joint.kind == "slide":
                found |= {Literal("part_of", (name, self.name)), Literal("holds_things", (name,))}
            of = (name if joint.kind == "slide" else self.name,)
            if joint.name.endswith("knob"):  # which way is on, nobody sees
                found.add(Literal("can_turn", of))
                continue
            found.add(Literal("can_open", of))
            if joint.value <= _SHUT[joint.kind]:
                found.add(Literal("closed", of))
            elif joint.value >= _OPEN[joint.kind] * joint.most:
                found.add(Literal("opened", of))
        return found


def articulation_of(furniture: Iterable[Furniture], name: str) -> Articulation | None:
    """The joint of a part, or of a piece that has but one; None where none is known."""
    return next((found for each in furniture if (found := each.articulation(name)) is not None), None)


def with_levels(fixture: SeenFixture, drawers: int) -> tuple[SeenJoint, ...]:
    """Its joints, with drawers named by level where somebody says that there are more of them than are seen."""
    seen = [joint for joint in fixture.joints if joint.kind == "slide"]
    levels = _LEVELS.get(drawers, ())
    if len(seen) >= len(levels):
        return fixture.joints
    body, found = fixture.bodies[0], []
    step = 2 * float(body.half[2]) / len(levels)
    for joint in fixture.joints:
        if joint.kind == "slide":
            below = fixture.top - float(joint.panel.centre[2])
            joint = replace(joint, name=f"{levels[min(int(below / step), len(levels) - 1)]}_drawer")
        found.append(joint)
    return tuple(found)


def with_parts(thing: Thing, boxes: Iterable[OrientedBox]) -> Thing:
    """A thing as it is seen, of boxes in the base frame; without any, of its box or cylinder."""
    parts = tuple(map(_part, boxes)) or (solid_of(thing),)
    found = thing_of_solid(thing.name, thing.type, thing.class_name, Solid(parts), thing.position[:2])
    return replace(
        found,
        colour=thing.colour,
        shape=thing.shape,
        visible=thing.visible,
        inferred=thing.inferred,
        round_class=thing.round_class and not _has_handle(found),
    )


def _has_handle(thing: Thing) -> bool:
    """Whether something stands out of a vessel, so that it is not round."""
    openings = thing.solid.openings if thing.solid is not None else ()
    return bool(openings) and max(thing.size[:2]) > _HANDLE * max(openings[0].size)


def _parts(joint: SeenJoint) -> list[Part]:
    return [_part(box) for box in joint.boxes]


def _part(box: OrientedBox) -> Part:
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = box.axes, box.centre
    return Part.box(pose, box.half)


def _inside(joint: SeenJoint) -> Region:
    """The room in a drawer, as far as it is out and above its floor."""
    front, out = joint.panel, joint.value
    floor, high = (joint.box[0] if joint.box else None), float(front.centre[2] + front.half[2])
    low = float(floor.centre[2] + floor.half[2] if floor is not None else front.centre[2] - front.half[2])
    wide = 2 * float(floor.half[1] if floor is not None else front.half[1])
    centre = front.centre - joint.axis * (front.half[0] + out / 2)
    yaw = float(np.arctan2(joint.axis[1], joint.axis[0]))
    return Region((float(centre[0]), float(centre[1]), (low + high) / 2), (out, wide, high - low), yaw)

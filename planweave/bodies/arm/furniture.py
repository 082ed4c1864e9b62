"""Furniture as cameras see it, for the arm: its shape as parts, its joints, and the rooms inside.

Metres, rad; points and poses in the robot's base frame (z up).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.scene_object import KINDS, Region, Thing, room, thing_of_solid
from planweave.bodies.arm.shape_places import level_top
from planweave.bodies.arm.solids import Part, Solid
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Leaf, Literal, WorldObject
from planweave.geometry.joints import OrientedBox, SeenFixture, SeenJoint, frame, room_above
from planweave.geometry.rotations import quaternion_from_rotation

_SHUT = {"slide": 0.006, "hinge": 0.06}  # m and rad up to which a part counts as closed: what a look is wrong by
_NOISE = {"slide": 0.004, "hinge": 0.04}  # m and rad by which a look is wrong, at most
_STEP = {"slide": 0.005, "hinge": 0.05}  # m and rad: less is noise
_WALL, _THIN = 0.01, 0.002  # m around furniture within which parts are of its walls; less thick is no wall
_LEVELS = {2: ("top", "bottom"), 3: ("top", "middle", "bottom")}  # of boards, from the top down
_SUNK = 0.01  # m below its board at which the lower side of a thing is seen, at most
_OPEN = {"slide": 0.8, "hinge": 0.55}  # share of its way from which on a part is open, and not just ajar


@dataclass(frozen=True, eq=False)
class Furniture:
    """One piece: its name and class, its shape without what moves, its joints by the names of their parts, the box
    around most of it, what somebody sees of its state (`SeenFixture.state`), and a shelf's boards, from the top down.
    """

    name: str
    class_name: str
    rest: Solid
    joints: dict[str, SeenJoint]
    around: OrientedBox
    visible: bool = True
    seen_state: str = ""
    boards: tuple[OrientedBox, ...] = ()

    @classmethod
    def of(cls, seen: SeenFixture) -> Furniture:
        """Drawers are parts of their own (`cabinet_top_drawer`); a door or knob is the furniture's."""
        joints = {f"{seen.name}_{joint.name}": joint for joint in seen.joints}
        rest = Solid(tuple(map(part_of_box, seen.shape or seen.bodies)))
        of = seen.name, seen.class_name, rest, joints, seen.bodies[0], seen.visible, seen.state
        return cls(*of, seen.boards)

    @property
    def state(self) -> tuple[object, ...]:
        """Its changing part, without noise: which parts are seen, and how far they are open."""
        parts = (
            (
                name,
                joint.visible,
                joint.state,
                joint.handle is not None,
                round(joint.value / _STEP[joint.kind]),
                is_open(joint),  # also where its way turned out shorter
                joint.room is None,
            )
            for name, joint in self.joints.items()
        )
        return (self.name, self.visible, self.seen_state, len(self.boards), *parts)

    @property
    def is_seen(self) -> bool:
        """Whether it is in view, with the doors that are thought to be shut: what is seen of its rest does not tell."""
        doors = (joint for joint in self.joints.values() if joint.kind == "hinge" and not joint.name.endswith("knob"))
        return self.visible and all(door.visible or not is_shut(door) for door in doors)

    def with_travels(self, travels: Mapping[str, float]) -> Furniture:
        """The same where these of its drawers, by name, go so far (m); what is seen farther out goes farther."""
        mine = {name: max(travels[name], joint.value) for name, joint in self.joints.items() if name in travels}
        joints = {n: replace(joint, most=mine.get(n, joint.most)) for n, joint in self.joints.items()}
        return replace(self, joints=joints) if mine else self

    def thing(self, domain: Domain) -> Thing:
        """All of it, as an object around the arm."""
        own = domain.type_of_class(self.class_name)
        return replace(self._as_thing, type=domain.base_type(own, KINDS), subtype=own, visible=self.visible)

    def things(self, domain: Domain) -> list[Thing]:
        """All of it, the insides of its open drawers, and its boards, as objects around the arm."""
        return [self.thing(domain), *(each for each in self.rooms() if each.name != self.name), *self._shelves]

    @cached_property
    def _as_thing(self) -> Thing:
        moving = (part for joint in self.joints.values() for part in _parts(joint))
        whole = thing_of_solid(self.name, "", self.class_name, Solid((*self._still, *moving)))
        own = (each for each in (*self.rooms(), *self.between) if each.name == self.name)
        behind = [region for each in own for region in each.regions]
        on_top = level_top(whole) if behind else None
        return replace(whole, regions=(*behind, *((on_top,) if on_top is not None else ())))

    @cached_property
    def _still(self) -> tuple[Part, ...]:
        """What does not move, with walls around the rooms behind its doors."""
        rooms = [joint.room for joint in self.joints.values() if joint.room is not None]
        if not rooms:
            return self.rest.parts
        outside = [p for p in self.rest.parts if (self.around.beyond(p.pose[None, :3, 3]) > _WALL).any()]
        return (*outside, *map(part_of_box, _walls(self.around, rooms[0])))

    def owned_joints(self) -> Iterator[tuple[str, SeenJoint]]:
        """Its joints, each with the name of the object that it moves: a drawer, or, for a door or knob, all of it."""
        for name, joint in self.joints.items():
            yield name if joint.kind == "slide" else self.name, joint

    def parts(self) -> Iterator[WorldObject]:
        """Its drawers, as objects of their own: where their fronts are."""
        for name, joint in self.joints.items():
            if joint.kind == "slide":
                x, y, z = joint.panel.centre.tolist()
                size = tuple(2 * v for v in joint.panel.half.tolist())
                known = Known.SEEN if joint.visible else Known.REMEMBERED
                turned, level = quaternion_from_rotation(joint.panel.axes), joint.name.removesuffix("drawer").strip("_")
                of = {"level": level} if level else {}
                yield WorldObject(name, "part", "drawer", of, (x, y, z), turned, size, known)
        for level, board, shelf in zip(self._levels, self.boards, self._shelves):
            of, inner = {"level": level}, len(self.boards) == 3 and level == "middle"
            (x, y, z), size = board.centre.tolist(), tuple(2 * v for v in board.half.tolist())
            known = Known.SEEN if self.visible else Known.REMEMBERED
            turned, kind = quaternion_from_rotation(board.axes), "cabinet_shelf" if inner else "board"
            yield WorldObject(shelf.name, "part", kind, of, (x, y, z), turned, size, known)

    def leaves(self) -> Iterator[Leaf]:
        """Its doors and knobs, each where it is, with its handle."""
        for joint in self.joints.values():
            for box in (joint.panel, joint.handle) if joint.kind != "slide" else ():
                if box is not None:
                    (x, y, z), (a, b, c) = box.centre.tolist(), (2 * box.half).tolist()
                    yield Leaf((x, y, z), quaternion_from_rotation(box.axes), (a, b, c))

    @property
    def _levels(self) -> tuple[str, ...]:
        """What its boards are called."""
        return _LEVELS.get(len(self.boards)) or tuple(str(k + 1) for k in range(len(self.boards)))

    @cached_property
    def _shelves(self) -> list[Thing]:
        """Its boards, each with the room above it, which over the top is as high as the furniture, and the one below,
        if any.
        """
        free = [room_above(board, self.boards) for board in self.boards]
        found = []
        for level, board, above, below in zip(self._levels, self.boards, free, [*free[1:], None]):
            if above is None:
                half = np.array((*board.half[:2], self.around.half[2]))
                above = OrientedBox(board.centre + (0.0, 0.0, half[2] + board.half[2]), board.axes, half)
            regions = tuple(_behind(each) for each in (above, below) if each is not None)
            shelf = room(f"{self.name}_{level}_board", "part", "board", regions[0])
            found.append(replace(shelf, regions=regions, visible=self.visible))
        return found

    @property
    def between(self) -> list[Thing]:
        """The rooms between its boards, under its own name."""
        regions = [board.regions[1] for board in self._shelves if len(board.regions) > 1]
        return [replace(room(self.name, "fixture", "room", region), visible=self.visible) for region in regions]

    def on_boards(self, things: Iterable[Thing]) -> Iterator[Literal]:
        """Which of the things are on its boards, and under which."""
        for thing, shelf in ((t, s) for t in things if t.type == "item" for s in self._shelves):
            for region, fact in zip(shelf.regions, ("on", "under")):
                inside = replace(shelf, position=region.centre, size=region.size).covers(*thing.position[:2])
                floor = region.centre[2] - region.size[2] / 2
                on_floor = abs(thing.bottom - floor) < _SUNK
                if inside and (on_floor if fact == "on" else floor - _SUNK < thing.bottom < floor + region.size[2]):
                    yield Literal(fact, (thing.name, shelf.name))
                    if fact == "under":
                        yield Literal(fact, (thing.name, self.name))

    def rooms(self) -> list[Thing]:
        """The insides of its open drawers, and, under its own name, what is behind its open door."""
        found = []
        for name, joint in self.owned_joints():
            if not is_open(joint):
                continue
            if joint.kind == "slide":
                found.append(replace(room(name, "part", "drawer", _inside(joint)), visible=joint.visible))
            elif joint.room is not None:
                found.append(replace(room(name, "fixture", "room", _behind(joint.room)), visible=joint.visible))
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
        rest = (*self._still, *others)
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

    def swinging(self) -> Iterator[tuple[str, Articulation]]:
        """Motions of its drawers and doors, each with the name of the object that it moves."""
        for owner, joint in self.owned_joints():
            part = None if joint.name.endswith("knob") else self.articulation(f"{self.name}_{joint.name}")
            if part is not None:
                yield owner, part

    def facts(self) -> set[Literal]:
        """Facts that its joints show in the domain `kitchen`; what is neither open nor closed is ajar."""
        found: set[Literal] = set()
        for shelf in self._shelves:
            found |= {Literal("part_of", (shelf.name, self.name)), Literal("bears_things", (shelf.name,))}
            if len(shelf.regions) > 1:
                found |= {Literal("room_under", (name,)) for name in (shelf.name, self.name)}
                found.add(Literal("holds_things", (self.name,)))
        for name, joint in self.owned_joints():
            of = (name,)
            if joint.kind == "slide":
                found.add(Literal("part_of", (name, self.name)))
            if joint.name.endswith("knob"):  # which way is on, its place does not tell
                found.add(Literal("can_turn", of))
                state = joint.state or self.seen_state
                found |= {Literal(f"turned_{state}", of)} if state in ("on", "off") else set()
                continue
            found |= {Literal("can_open", of), Literal("holds_things", of)}
            if is_shut(joint):
                found.add(Literal("closed", of))
            elif is_open(joint):
                found.add(Literal("opened", of))
        return found


def articulation_of(furniture: Iterable[Furniture], name: str) -> Articulation | None:
    """The joint of a part, or of a piece that has but one; None where none is known."""
    return next((found for each in furniture if (found := each.articulation(name)) is not None), None)


def is_open(joint: SeenJoint) -> bool:
    """Whether a drawer or a door is open, and not just ajar."""
    return joint.value >= _OPEN[joint.kind] * joint.most


def is_shut(joint: SeenJoint) -> bool:
    """Whether a drawer or a door counts as closed."""
    return joint.value <= _SHUT[joint.kind]


def _walls(around: OrientedBox, free: OrientedBox) -> Iterator[OrientedBox]:
    """What of a box is around another one in it, of the same axes: floor, roof, sides, and what is behind."""
    low, high = -around.half, around.half.copy()
    middle = (free.centre - around.centre) @ around.axes
    for axis in (2, 1, 0):
        ends = (low[axis], middle[axis] - free.half[axis]), (middle[axis] + free.half[axis], high[axis])
        for end in ends:
            if end[1] - end[0] > _THIN:
                one, two = low.copy(), high.copy()
                one[axis], two[axis] = end
                yield OrientedBox(around.centre + around.axes @ (one + two) / 2, around.axes, (two - one) / 2)
        low[axis], high[axis] = ends[0][1], ends[1][0]


def _behind(free: OrientedBox) -> Region:
    """The room behind an open door; its own x is out of it."""
    x, y, z = free.centre.tolist()
    deep, wide, high = (2 * free.half).tolist()
    out = free.axes[:, 0]
    return Region((x, y, z), (deep, wide, high), float(np.arctan2(out[1], out[0])))


def _parts(joint: SeenJoint) -> list[Part]:
    return [part_of_box(box) for box in joint.boxes]


def part_of_box(box: OrientedBox) -> Part:
    """A box as a part of a solid."""
    return Part.box(frame(box.axes, box.centre), box.half)


def _inside(joint: SeenJoint) -> Region:
    """The room in a drawer, as far as it is out and above its floor."""
    front, out = joint.panel, joint.value
    floor, high = (joint.box[0] if joint.box else None), float(front.centre[2] + front.half[2])
    low = float(floor.centre[2] + floor.half[2] if floor is not None else front.centre[2] - front.half[2])
    wide = 2 * float(floor.half[1] if floor is not None else front.half[1])
    centre = front.centre - joint.axis * (front.half[0] + out / 2)
    yaw = float(np.arctan2(joint.axis[1], joint.axis[0]))
    return Region((float(centre[0]), float(centre[1]), (low + high) / 2), (out, wide, high - low), yaw)

"""The objects and facts of the symbolic world, from what is known around the arm: the one place where they are made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any

import numpy as np

from planweave.bodies.arm import relations
from planweave.bodies.arm.furniture import Furniture
from planweave.bodies.arm.poses import angle_between, pose_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.settings import AS_SEEN, PutRules
from planweave.bodies.arm.shape_places import Compartment, compartments_of
from planweave.bodies.arm.swept_space import blocks
from planweave.bodies.arm.workspace import Location
from planweave.core.symbolic.domain import Domain
from planweave.core.symbolic.world import Known, Leaf, Literal, WorldObject
from planweave.geometry import joints
from planweave.geometry.arrays import Array
from planweave.geometry.rotations import quaternion_from_rotation, rotation_from_quaternion
from planweave.geometry.upright_shape import quaternion_of

_MOVED, _TURNED = 0.003, 0.12  # a pose that changes by less is not published as a change, m and rad
_CELLS, _LEVELS = 6, 3  # cells of a thing's longest side, and levels of its height, whose parts are shown as one box
_ORIGIN, _LEVEL = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 1.0)


@dataclass(frozen=True)
class Surroundings:
    """Surroundings of the arm as they are known, in its base frame.

    things: with the held one; handed: with a person; lost: known, but not where they are; held: name of the held one,
    "" for none; gripped: whether the hand holds something unknown; felt: facts that skills have reported; placed: names
    of things put down and not seen since; put: of all that the robot has put where it is; hidden: in which part things
    lie that are in a drawer or behind a door; seen: stamps of the last looks at objects by name, s; silent_hand: what
    the hand holds is only remembered.
    """

    things: Sequence[Thing]
    handed: Sequence[Thing]
    lost: Sequence[Thing]
    furniture: Sequence[Furniture]
    places: Sequence[Location]
    held: str
    gripped: bool
    at_base: bool
    silent_hand: bool
    felt: frozenset[Literal]
    placed: frozenset[str]
    put: frozenset[str]
    hidden: Mapping[str, str]
    seen: Mapping[str, float]

    @property
    def state(self) -> tuple[object, ...]:
        """The part of it that changes the world, without noise and stamps."""
        rest = {key: value for key, value in vars(self).items() if key not in ("furniture", "seen")}
        return rest, [each.state for each in self.furniture]


class WorldBuilder:
    """ground: height of what all stands on, m, base frame; base_to_frame: pose (4x4) that brings positions in the base
    frame to those of the world, None where they are the same; rules: what is surely so of things that the robot has
    put; reachable: whether the hand gets to a thing or place.
    """

    def __init__(
        self,
        domain: Domain,
        reachable: Callable[[Thing | Location], bool],
        ground: float = 0.0,
        base_to_frame: Array | None = None,
        rules: PutRules = AS_SEEN,
    ) -> None:
        self._domain, self._reachable, self._ground = domain, reachable, ground
        self._base_to_frame, self._rules = base_to_frame, rules

    def compartments(self, things: Iterable[Thing]) -> list[Compartment]:
        """The compartments of things, called as who sees the world's frame calls them."""
        turn = np.eye(3) if self._base_to_frame is None else self._base_to_frame[:3, :3]
        return [part for thing in things for part in compartments_of(thing, turn)]

    def facts(self, around: Surroundings) -> frozenset[Literal]:
        """All facts that follow from what is known, but those of planweave.geometry.spatial."""
        fixtures = [each.thing(self._domain) for each in around.furniture]
        things, compartments = (*around.things, *fixtures), self.compartments(around.things)
        facts: set[Literal] = set(
            relations.facts(
                things,
                around.places,
                around.held,
                around.at_base,
                self._reachable,
                [t.name for t in around.handed],
                [room for each in around.furniture for room in (*each.rooms(), *each.between)]
                + [c.room for c in compartments],
                around.hidden,
                self._ground,
                around.put,
                self._rules,
            )
        )
        facts |= around.felt
        if around.gripped:
            facts -= {Literal("hand_empty")}
        facts |= relations.properties(things, {c.of for c in compartments})
        facts |= {fact for each in around.furniture for fact in each.facts()}
        facts |= {fact for each in compartments for fact in each.facts()}
        facts |= {fact for thing in around.things if thing.type != "item" for fact in _told(thing)}
        sensed = {around.held, *(t.name for t in around.handed)}
        lying = [t for t in around.things if t.name not in sensed]
        facts |= {fact for each in around.furniture for fact in each.on_boards(lying)}
        facts |= set(blocks(around.furniture, lying, facts))
        parts = self._parts(around)
        facts |= {Literal(p, (part.name,)) for part in parts for p in ("reachable", "clear")}
        types = {t.name: t.domain_type for t in (*things, *around.handed)} | {part.name: part.type for part in parts}
        types |= {place.name: "location" for place in around.places}
        return frozenset(f for f in facts if self._is_of_the_domain(f, types))

    def objects(self, around: Surroundings) -> tuple[WorldObject, ...]:
        """All objects, with how they are known."""
        sensed = {around.held, *(t.name for t in around.handed)}
        lying = [t for t in around.things if t.name not in sensed]
        found = []
        for thing in sorted((*around.things, *around.handed), key=attrgetter("name")):
            if thing.name in sensed:
                known = Known.REMEMBERED if around.silent_hand else Known.SENSED
            elif thing.visible:
                known = Known.SEEN
            else:
                known = Known.INFERRED if thing.name in around.placed else Known.REMEMBERED
            found.append(_object(thing, known, around, () if thing.name in sensed or thing.visible else lying))
        for each in around.furniture:
            thing = each.thing(self._domain)
            whole = _object(thing, Known.SEEN if each.is_seen else Known.REMEMBERED, around)
            found.append(replace(whole, leaves=tuple(each.leaves())))
        found += [
            part if part.known is Known.SEEN else replace(part, last_seen=around.seen.get(part.name))
            for part in self._parts(around)
        ]
        found += [place.in_world() for place in around.places]
        if self._base_to_frame is not None:
            found = [_in_frame(each, self._base_to_frame) for each in found]
        nowhere = [_object(thing, Known.UNKNOWN, around) for thing in around.lost]
        return (*found, *(replace(each, position=None, orientation=None, size=None) for each in nowhere))

    def _parts(self, around: Surroundings) -> list[WorldObject]:
        drawers = [part for each in around.furniture for part in each.parts()]
        return drawers + [each.part() for each in self.compartments(around.things)]

    def _is_of_the_domain(self, fact: Literal, types: Mapping[str, str]) -> bool:
        """Whether the domain has such a fact of objects of these types."""
        predicate = self._domain.predicates.get(fact.predicate)
        return predicate is not None and all(
            self._domain.is_a(types[name], parameter.types) for name, parameter in zip(fact.args, predicate.parameters)
        )


def _object(thing: Thing, known: Known, around: Surroundings, others: Sequence[Thing] = ()) -> WorldObject:
    """An object as a world object. others: candidates that may hide it."""
    attributes = {k: v for k, v in (("colour", thing.colour), ("shape", thing.shape)) if v}
    hider = relations.hider_of(thing, others) if thing.inferred else None
    return WorldObject(
        thing.name,
        thing.domain_type,
        thing.class_name,
        attributes,
        _middle(thing),
        _orientation(thing),
        thing.size,
        known,
        None if known is Known.SEEN else around.seen.get(thing.name),  # of what is seen: the world's stamp
        hider.name if hider is not None else around.hidden.get(thing.name, "") if known is not Known.SEEN else "",
        tuple(_boxes(thing)),
    )


def _boxes(thing: Thing) -> Iterator[Leaf]:
    """Boxes around the parts of a thing, where it is known to have some; near parts of one height share a box."""
    if thing.parts is None or len(thing.parts.parts) < 2:
        return
    cell = np.array((*[max(thing.size[:2]) / _CELLS] * 2, thing.size[2] / _LEVELS))
    groups: dict[tuple[float, ...], list[Array]] = {}
    for part in thing.parts.parts:
        x, y, top = *part.pose[:2, 3], part.corners[:, 2].max()
        groups.setdefault(tuple(np.floor((x, y, top) / cell)), []).append(part.corners)
    pose = pose_of(thing)
    for corners in map(np.concatenate, groups.values()):
        low, high = corners.min(axis=0), corners.max(axis=0)
        x, y, z = (pose[:3, :3] @ ((low + high) / 2) + pose[:3, 3]).tolist()
        yield Leaf((x, y, z), quaternion_from_rotation(pose[:3, :3]), tuple((high - low).tolist()))


def _told(thing: Thing) -> Iterator[Literal]:
    """The state that a model has told of furniture of which no joint is seen."""
    can, made = {
        "open": ("can_open", "opened"),
        "closed": ("can_open", "closed"),
        "on": ("can_turn", "turned_on"),
        "off": ("can_turn", "turned_off"),
    }.get(thing.state, ("", ""))
    if can:
        yield from (Literal(predicate, (thing.name,)) for predicate in (can, made))


def _middle(thing: Thing) -> tuple[float, float, float]:
    """The centre of its box: that of a vessel with a handle is not where people say its middle is."""
    if not thing.solid.parts:
        return thing.position
    x, y, z = (pose_of(thing) @ np.r_[sum(thing.solid.bounds) / 2, 1.0])[:3].tolist()
    return x, y, z


def _in_frame(thing: WorldObject, base_to_frame: Array) -> WorldObject:
    """An object of the world in another frame."""

    def moved(box: WorldObject | Leaf) -> dict[str, Any]:
        turned = rotation_from_quaternion(*(box.orientation or _LEVEL))
        pose = base_to_frame @ joints.frame(turned, box.position or _ORIGIN)
        return {"position": tuple(pose[:3, 3].tolist()), "orientation": quaternion_from_rotation(pose[:3, :3])}

    return replace(thing, **moved(thing), leaves=tuple(replace(leaf, **moved(leaf)) for leaf in thing.leaves))


def _orientation(thing: Thing) -> tuple[float, float, float, float]:
    return thing.orientation or quaternion_of(thing.yaw)


def steady(new: Thing, old: Thing | None) -> Thing:
    """The old object where only noise differs."""
    if old is None:
        return new
    same = (
        replace(
            new,
            position=old.position,
            size=old.size,
            yaw=old.yaw,
            orientation=old.orientation,
            parts=old.parts,
            regions=old.regions,
        )
        == old
    )
    turned = angle_between(_orientation(new), _orientation(old))
    resized = max(abs(a - b) for a, b in zip(new.size, old.size))
    noise = same and turned < _TURNED and resized < _MOVED and math.dist(new.position, old.position) < _MOVED
    return old if noise else new

"""Things around the arm from what perception tells of them, whoever brings it: a message, or a look in this process."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from planweave.bodies.arm.furniture import part_of_box
from planweave.bodies.arm.poses import placed, pose_of
from planweave.bodies.arm.scene_object import KINDS, Thing, thing_of_solid
from planweave.bodies.arm.solids import Solid
from planweave.core.symbolic.domain import Domain
from planweave.geometry.joints import OrientedBox, frame
from planweave.geometry.rotations import rotation_from_quaternion
from planweave.geometry.seen_object import SeenObject
from planweave.geometry.upright_shape import is_upright, yaw_of

_HANDLE = 1.25  # times as wide as its opening is a vessel with a handle


class ThingBuilder:
    """Makes things; what has kept its parts keeps its solid, of which much is computed."""

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._built: dict[str, tuple[tuple[OrientedBox, ...], Thing]] = {}

    def thing(self, seen: SeenObject) -> Thing:
        """A thing as it is seen."""
        boxes, built = self._built.get(seen.name, ((), None))
        if built is None or boxes is not seen.parts:
            built = self._shape(seen)
            if seen.parts:
                self._built[seen.name] = seen.parts, built
        return replace(
            built,
            colour=seen.colour,
            shape=seen.shape,
            visible=seen.visible,
            inferred=seen.inferred and not seen.visible,
            below=seen.below,
            state=seen.state,
        )

    def _shape(self, seen: SeenObject) -> Thing:
        domain, name, kind = self._domain, seen.name, seen.class_name
        own = domain.type_of_class(kind)
        base = domain.base_type(own, KINDS)
        thing = Thing(
            name,
            base,
            kind,
            seen.position,
            seen.size,
            yaw_of(seen.orientation),
            shape=seen.shape,
            round_class=domain.is_round_class(kind),
            orientation=None if is_upright(seen.orientation) else seen.orientation,
            subtype="" if own == base else own,
        )
        return _with_parts(thing, seen.parts) if seen.parts else thing


def _with_parts(thing: Thing, boxes: Iterable[OrientedBox]) -> Thing:
    """A thing as it is seen, upright or aslant, of boxes in the base frame."""
    solid, of = Solid(tuple(map(part_of_box, boxes))), (thing.name, thing.type, thing.class_name)
    if thing.orientation is None:
        found = thing_of_solid(*of, solid)
    else:
        tilt = frame(rotation_from_quaternion(*thing.orientation), (0.0, 0.0, 0.0))
        own = thing_of_solid(*of, solid.moved(tilt.T))
        found = placed(own, tilt @ pose_of(own))
    return replace(found, subtype=thing.subtype, round_class=thing.round_class and not _has_handle(found))


def _has_handle(thing: Thing) -> bool:
    """Whether something stands out of a vessel, so that it is not round."""
    openings = thing.solid.openings
    return bool(openings) and max(thing.size[:2]) > _HANDLE * max(openings[0].size)

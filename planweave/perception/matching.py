"""Association tests: whether two measurements are of one object, or of two at one place; and whether a place is seen
empty.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from planweave.geometry.joints import OrientedBox, SeenFixture
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, footprint_points, outline_points
from planweave.perception.evidence import evidence
from planweave.perception.geometry import rotate_into, rotated, wrap_yaw
from planweave.perception.object_classes import UNKNOWN

LEVEL = 0.012  # m: heights that differ by less are one
_PLAY = 0.012  # m: how far two rigid bodies may seem to be inside each other
_PUSHED = 0.15  # m by which a thing may have been pushed while its place is hidden
_BOTH = 0.9  # of its width from a vessel another one cannot stand
_INSIDE = (0.3, 0.3, 0.35)  # shares of its length, width and height around its middle that are surely inside a thing
_MIDDLE = 0.5  # share of a body's extent around its middle
_FILLED = 0.5  # share of the points inside a thing that are also inside another one
_GRID = np.array(list(itertools.product(*[np.linspace(-1, 1, 9)] * 3)))  # over a box
_RESIZED = 0.35  # largest difference, as a share, between two measured widths of one object


def apart(a: Detection, b: Detection) -> float:
    """Distance of the centres in top view, m."""
    return math.dist(a.position[:2], b.position[:2])


def same_place(a: Detection, b: Detection) -> bool:
    """Whether two objects occupy the same space."""
    common = min(a.top, b.top) - max(a.bottom, b.bottom)
    return apart(a, b) < 0.02 and common > 0.5 * min(a.size[2], b.size[2])


def collide(a: Detection, b: Detection) -> bool:
    """Whether two objects would interpenetrate, a as it is seen now; receptacles are tested against receptacles only.
    What is known by its points may be inside others: these tell whether it is there.
    """
    if a.receptacle != b.receptacle or a.seen is not None or b.seen is not None:
        return False
    if not is_rigid(a) or not is_rigid(b):
        return same_place(a, b) or (b.class_name == UNKNOWN and _fills(a, b))
    common = min(a.top, b.top) - max(a.bottom, b.bottom)
    room = max((min(a.size[:2]) + min(b.size[:2])) / 2 - _PLAY, 0.02)
    return apart(a, b) < room and common > 0.5 * min(a.size[2], b.size[2])


def one_is(a: Detection, b: Detection) -> bool:
    """Whether two measurements of one moment, by two cameras, are of one thing: the middle of one is in the other."""
    common = min(a.top, b.top) - max(a.bottom, b.bottom)
    inside = a.covers(*b.position[:2]) or b.covers(*a.position[:2])
    return inside and common > 0.5 * min(a.size[2], b.size[2])


def is_piece_in_air(piece: Detection, held: Detection) -> bool:
    """Whether what is half seen is of a thing that a hand holds, maybe aslant: all below its top was taken for it."""
    near = apart(piece, held) < max(held.size)
    return piece.cut and near and held.bottom < piece.top < held.top + max(held.size) / 2


def is_rigid(thing: Detection) -> bool:
    """Whether an object fills its measured box or cylinder."""
    return thing.shape in ("box", "cylinder")


def of_one_size(a: Detection, b: Detection) -> bool:
    """Whether two measurements can be of one object, at any rotation about the vertical."""
    return all(abs(m - n) <= _RESIZED * max(m, n) for m, n in zip(sorted(a.size[:2]), sorted(b.size[:2])))


def on_lower_ground(before: Detection, now: Detection) -> Detection:
    """A rigid object whose top came down: its size is unchanged, so it rests lower.

    Its bottom had been set on a remembered support that is gone.
    """
    fell = before.top - now.top
    shorter = before.size[2] - now.size[2]
    if not (is_rigid(now) and now.class_name == before.class_name and apart(before, now) < 0.02):
        return now
    if before.bottom < LEVEL or fell < LEVEL or abs(fell - shorter) > LEVEL / 2:
        return now
    height = min(before.size[2], now.top)
    x, y, _ = now.position
    return replace(now, position=(x, y, now.top - height / 2), size=(*now.size[:2], height))


def alike(a: Detection, b: Detection) -> bool:
    """Whether two measurements with different appearance can be of one resting, badly visible object: about equal size
    and place.
    """
    near = apart(a, b) < 0.02 and abs(a.top - b.top) < 0.02
    return near and abs(a.size[0] - b.size[0]) < _RESIZED * max(a.size[0], b.size[0])


def blend(old: Detection, new: Detection, weight: float) -> Detection:
    """The new measurement, with pose and size moved towards it by a fraction."""
    mix = [o + weight * (n - o) for o, n in zip((*old.position, *old.size), (*new.position, *new.size))]
    turn = wrap_yaw(new.yaw - old.yaw, new.symmetry)
    yaw = new.yaw if abs(turn) > 0.2 else wrap_yaw(old.yaw + weight * turn, new.symmetry)
    return replace(
        new,
        position=(mix[0], mix[1], mix[2]),
        size=(mix[3], mix[4], mix[5]),
        yaw=yaw,
        confidence=old.confidence + weight * (new.confidence - old.confidence),
    )


def may_have_come(before: Detection, now: Detection) -> bool:
    """Whether what is seen may be a thing that was near, and whose place is hidden now: pushed, or, of a vessel that is
    inferred below its lid, so near to its place that there cannot be two.
    """
    if now.inferred:
        return now.shape == before.shape == "hollow" and apart(before, now) < _BOTH * min(before.size[:2])
    return math.dist(now.position, before.position) < _PUSHED


def is_furniture(thing: Detection, fixtures: Iterable[SeenFixture]) -> bool:
    """Whether furniture that is seen now is where a thing is remembered, so that it was a part of that: the body is in
    the thing, or a part goes through the inside of an unknown one.
    """
    half, z = np.array(thing.size) / 2, thing.bottom + thing.size[2] / 2

    def away(box: OrientedBox, share: float = 1.0) -> np.ndarray:
        points = box.centre + share * _GRID * box.half @ box.axes.T
        return np.abs(np.column_stack((rotate_into(points[:, :2], thing.position[:2], thing.yaw), points[:, 2] - z)))

    for fixture in fixtures:
        if fixture.visible and (away(fixture.bodies[0], _MIDDLE) < half).all():
            return True
        for joint in fixture.joints if thing.class_name == UNKNOWN else ():
            inside = half * 2 * _INSIDE
            if joint.visible and any((away(b) < inside).all(axis=1).sum() > 1 for b in (joint.panel, *joint.box)):
                return True
    return False


def _fills(seen: Detection, thing: Detection) -> bool:
    """Whether parts of what is seen fill most of a thing's inside: it was one of them, as a mug's handle seen alone."""
    if apart(seen, thing) > max(*seen.size[:2], *thing.size[:2]):
        return False
    inside = _GRID * thing.size * _INSIDE
    xy = rotate_into(rotated(inside[:, :2], thing.yaw) + thing.position[:2], seen.position[:2], seen.yaw)
    points = np.column_stack((xy, inside[:, 2] + thing.bottom + thing.size[2] / 2 - seen.bottom))
    low, high = np.reshape(seen.parts, (-1, 2, 1, 3)).transpose(1, 0, 2, 3)
    within = ((low < points) & (points < high)).all(axis=2).any(axis=0)
    return bool(within.mean() > _FILLED)


def place_is_empty(thing: Detection, views: Iterable[DepthView]) -> bool:
    """Whether pictures show that an object is gone: its place is in view, and looked through. Of a hollow one that is
    the place of its walls: pictures look into it where it stands, too. What hides a part of the place, as a roof over
    it, leaves the rest to tell.
    """
    if thing.seen is not None:
        return thing.seen.is_gone(views)
    high = min((part[5] for part in thing.parts if thing.shape != "hollow"), default=thing.size[2])  # of a lid its edge
    level = thing.bottom + 0.6 * high
    places = outline_points(thing, 0.9) if thing.shape == "hollow" else footprint_points(thing, 0.6)
    points = np.column_stack((places, np.full(len(places), level)))
    looks = (evidence(points, [view], beyond=min(0.008, 0.3 * high)) for view in views)
    return any(
        found.known > 0.6 * len(points) and found.through > max(0.7 * (found.known - found.hidden), 0.4 * len(points))
        for found in looks
    )

"""Things that only further cameras see: behind open doors and other things. Metres, in the robot's base frame."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from planweave.geometry.joints import OrientedBox, SeenFixture
from planweave.perception.colours import TOO_DARK, other_surface, patch_colour
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, outline_points, unknown_thing
from planweave.perception.evidence import LEAST
from planweave.perception.geometry import Plane, outline, percentile, rotate_into
from planweave.perception.segmentation import Segment, find_segments

_DEEP = 10.0  # below the middle of a room, where nothing is seen any more
_WALLS = 0.008  # from a room's walls and roof within which what is seen may be of them
_NEAR = 0.035  # from a known thing's outline to the middle of what an oblique picture shows of it, and of its parts
_STRAY = 2.5  # times the median distance from its middle from which on a point may be of no surface
_SMALLER = 0.5  # times as long or high what is seen of it is at least: a bit may be of a wall
_BESIDE = 0.02  # m around what the first camera sees within which a point is of it,
_HANDLE = 0.015  # and so much more where it is hollow
_SAME = 0.025  # m of depth by which two cameras may differ
_FEWEST = 60  # pixels of a picture that are looked at
_LEVELS = (0.3, 0.4, 0.5, 0.6, 0.7)  # of its height at which the sides of a thing are looked at
_LARGER = 1.4  # times as long as a known thing what is seen of it may be: a handle stands out of it


def rooms_of(fixtures: Iterable[SeenFixture]) -> list[OrientedBox]:
    """Rooms between boards, and behind doors that were seen open; nothing is seen there while one is shut."""
    return [room for fixture in fixtures for room in fixture.rooms]


def things_in(room: OrientedBox, views: Sequence[DepthView], known: Sequence[Detection] = ()) -> list[Detection]:
    """Things in a room, by pictures of nothing but the room (`seen_in`). No shape is seen whole: all of it is `cut`.

    known: things seen before; what is shown at the place of one, about as large and of its colour, is that one, or the
    nearest such, as it is known, and bits beside it, no higher than it is, are of it. What is nothing known is an
    unknown thing, `beyond` what is seen.
    """
    inside = [view for view in views if view.valid.any()]
    if not inside:
        return []
    floor, reach = float(room.centre[2] - room.half[2]), float(np.linalg.norm(room.half[:2]))
    low, high = (room.centre - reach).tolist(), (room.centre + reach).tolist()
    segments = find_segments(inside, low, high, Plane(0.0, 0.0, floor)).segments
    shown = [_unknown(segment, floor) for segment in segments if len(segment.points) >= LEAST]
    nearest = [min((t for t in known if _shows(one, t)), key=partial(_apart, one), default=None) for one in shown]
    found = [replace(thing, cut=True) for thing in known if any(thing is one for one in nearest)]
    for one in sorted(shown, key=lambda one: -one.size[0] * one.size[1]):
        bit = any(_is_at(one, thing) and _is_bit(one, thing) and one.top < thing.top + _BESIDE for thing in known)
        if not bit and not any(_is_at(one, thing) for thing in found):
            found.append(one)
    return found


def seen_in(room: OrientedBox, view: DepthView) -> np.ndarray:
    """(h, w) bool: pixels with points in a room, down to its floor."""
    (x, y, _), reach, high = room.centre.tolist(), float(np.linalg.norm(room.half[:2])), room.half - _WALLS
    found = view.inside((x - reach, y - reach, -np.inf), (x + reach, y + reach, np.inf))
    found[found] = room.within(view.points[found], -np.array((*high[:2], _DEEP)), high)
    return found


def hidden_from(
    first: DepthView, view: DepthView, points: np.ndarray, where: np.ndarray, known: Iterable[Detection]
) -> np.ndarray:
    """(h, w) bool: pixels of a view that show what the first one does not, and nothing known.

    where: (h, w) bool, pixels with points (n, 3) that may show it, z above the table.
    """
    u, v, depth, inside = first.projector.shown(view.points[where])
    left = np.ones(len(points), bool)
    left[inside] = ~first.valid[v, u] | (np.abs(first.smooth[v, u] - depth) > _SAME)
    for thing in known:
        beside = _BESIDE + (_HANDLE if thing.shape == "hollow" else 0.0)
        own = np.abs(rotate_into(points[:, :2], thing.position[:2], thing.yaw)) < np.array(thing.size[:2]) / 2 + beside
        left &= ~(own.all(axis=1) & (points[:, 2] < thing.top + beside))
    found = np.zeros(where.shape, bool)
    if left.sum() >= _FEWEST:
        found[where] = left
    return found


def with_side(thing: Detection, views: Iterable[DepthView]) -> Detection:
    """A thing that is seen whole with the colour that pictures from the side show of its sides, where they do."""
    around = outline_points(thing)
    levels = thing.bottom + thing.size[2] * np.array(_LEVELS)
    points = np.column_stack((np.tile(around, (len(levels), 1)), np.repeat(levels, len(around))))
    colours = [np.zeros((0, 3))]
    for view in views:
        u, v, depth, _ = view.projector.shown(points)
        on_it = view.valid[v, u] & (np.abs(view.smooth[v, u] - depth) < _WALLS)
        colours.append(view.rgb[v[on_it], u[on_it]].astype(float))
    shown = np.concatenate(colours)
    return replace(thing, side=patch_colour(shown)) if len(shown) >= LEAST and not thing.cut else thing


def _apart(one: Detection, thing: Detection) -> float:
    return math.dist(one.position[:2], thing.position[:2])


def _is_at(one: Detection, thing: Detection) -> bool:
    """Whether what is shown may be of a thing by its place and length."""
    reach = max(thing.size[:2])
    near = _apart(one, thing) < reach / 2 + _NEAR
    return near and thing.bottom < one.top and one.size[0] < _LARGER * reach


def _shows(one: Detection, thing: Detection) -> bool:
    """Whether what is shown is a thing: at its place, not just a bit, and surely of the colour of its top or sides."""
    if not _is_at(one, thing) or _is_bit(one, thing) or max(one.rgb) < TOO_DARK:
        return False
    return any(not other_surface(colour, one.rgb) for colour in (thing.rgb, thing.side) if colour is not None)


def _is_bit(one: Detection, thing: Detection) -> bool:
    return one.size[0] < _SMALLER * max(thing.size[:2]) or one.size[2] < _SMALLER * thing.size[2]


def _unknown(segment: Segment, floor: float) -> Detection:
    """A thing of which nobody knows what it is."""
    away = np.linalg.norm(segment.points - np.median(segment.points, axis=0), axis=1)
    points = segment.points[away < _STRAY * np.median(away)]  # at an edge pixels float between a thing and a wall
    return unknown_thing(outline(points[:, :2]), floor, percentile(points[:, 2], 98), segment.colours)

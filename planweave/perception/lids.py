"""Lids: round discs, flat or domed, with a knob in their middle; and the vessels on whose rims they lie.

A covered vessel is two things where something shows it: its wall has another colour than the lid, or is set back from
the lid's edge, or the vessel was seen before. Else it is one unknown thing. Metres, in the robot's base frame; heights
are above what is below.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from planweave.perception.colours import colour_word, other_surface, patch_colour
from planweave.perception.depth_views import DepthView
from planweave.perception.detection import Detection, Measured, unknown_thing
from planweave.perception.detectors.attributes import DEEP, centre_of, corners_of, parts_of
from planweave.perception.geometry import outline, percentile
from planweave.perception.object_classes import ObjectClasses
from planweave.perception.regions import STEEP, PixelRegion

_LEAST = 0.07  # m that a lid is wide, at least
_ROUND, _FILLED = 1.2, 0.75  # longer side over shorter one of a disc, at most; share of its outline that is filled
_SQUARE = 0.89  # share of its box that a disc fills, at most
_DOME = 0.012  # m that a lid rises to its middle, at most
_KNOB = (0.012, 0.05)  # m that a knob stands out,
_SLIM, _LONG = 0.045, 0.09  # and is wide and long at most,
_CENTRED = 0.2  # and its middle from that of the disc, in radii
_FEW = 10  # pixels of a knob, or of a wall at one height
_STRAY = 0.02  # share of pixels that may be higher elsewhere
_LYING = 0.045  # m above what is below up to which the disc of a lid that lies there is
_BAND, _BANDS = 0.003, 3  # m of height over which a wall is looked at; bands that show it, at least
_SET_BACK = 0.006  # m from the edge that a wall must be to show that it is no part of the lid
_WALL = 0.005  # m of a wall that nobody sees
_SAME_PLACE, _SAME_HEIGHT = 0.03, 0.03  # m: of a remembered vessel, from the middle of the lid and below its disc


@dataclass(frozen=True)
class _Disc:
    """Lid as a region shows it: centre and radius of its disc, its level, the top of its knob, its own pixels."""

    centre: tuple[float, float]
    radius: float
    level: float
    top: float
    own: np.ndarray

    def around(self, points: np.ndarray, margin: float = 0.0) -> np.ndarray:
        """Which points (n, 3) are within the edge, seen from above."""
        return np.asarray(np.hypot(*(points[:, :2] - self.centre).T) < self.radius + margin)


def take_lids(
    regions: Sequence[PixelRegion],
    views: Sequence[DepthView],
    ground: np.ndarray | None,
    classes: ObjectClasses,
    remembered: Sequence[Detection] = (),
) -> tuple[list[PixelRegion], list[Measured]]:
    """The regions that show no lids, and the lids with the vessels that they cover.

    views: of all cameras, that of the regions first; ground: (h, w) height of what is below its pixels, m.
    """
    left, found = list(regions), list[Measured]()
    for region in regions if classes.find("knobbed") else ():
        if region.beyond or not any(region is other for other in left):
            continue
        for whole, knobs in _with_knob(region, left, views[0].pixel):
            disc = _disc_of(whole, views[0].pixel)
            if disc is None or _was_plate(disc, remembered, classes):
                continue
            rise = 0.0 if ground is None else float(ground[whole.rows[0], whole.columns[0]])
            found += _lid_and_vessel(whole, disc, _walls(disc, views, rise), classes, remembered)
            used = [region, *knobs]
            left = [r for r in left if not any(r is u for u in used) and not _is_wall(r, disc)]
            break
    return left, found


def _with_knob(
    region: PixelRegion, regions: Sequence[PixelRegion], pixel: float
) -> Iterable[tuple[PixelRegion, list[PixelRegion]]]:
    """A region alone, and with each narrow one that stands out of its middle."""
    yield region, []
    for other in regions:
        higher = region.top < other.top < region.top + _KNOB[1] + _DOME
        if higher and outline(other.points[:, :2], pixel / 2).short < _SLIM:
            yield replace(region.joined(other), cut=region.cut, beyond=False), [other]


def _disc_of(region: PixelRegion, pixel: float) -> _Disc | None:
    """The lid that a region shows; None where it shows none."""
    points, flat = region.points, ~region.steep
    if flat.sum() < _FEW:
        return None
    level = float(np.median(points[flat, 2]))
    disc, high = np.abs(points[:, 2] - level) < _DOME, points[:, 2] > level + _DOME
    if disc.sum() < _FEW or high.sum() < _FEW:
        return None
    shape = outline(points[disc, :2], pixel / 2)
    if shape.short < _LEAST or shape.aspect > _ROUND or shape.fill > _SQUARE:
        return None
    if region.area(disc) < _FILLED * shape.area:
        return None  # a rim
    centre = centre_of(shape)
    near = np.hypot(*(points[:, :2] - centre).T) < _LONG / 2
    top, knob = percentile(points[high & near, 2], 95) if (high & near).any() else level, high & near
    if knob.sum() < _FEW or (high & ~near).sum() > _STRAY * len(points) or not _KNOB[0] < top - level < _KNOB[1]:
        return None
    handle = outline(points[knob, :2], pixel / 2)
    if handle.short > _SLIM or handle.long > _LONG or math.dist(handle.centre, centre) > _CENTRED * shape.radius:
        return None
    return _Disc(centre, shape.radius, level, top, disc | knob)


def _was_plate(disc: _Disc, remembered: Iterable[Detection], classes: ObjectClasses) -> bool:
    """Whether a plate was seen here: what stands on that is no knob."""
    return any(
        thing.class_name == classes.find("round_flat", thing.colour)
        and math.dist(thing.position[:2], disc.centre) < _SAME_PLACE
        and abs(thing.top - disc.level) < _DOME
        for thing in remembered
    )


def _is_wall(region: PixelRegion, disc: _Disc) -> bool:
    """Whether a region shows no more than what is below a lid."""
    return region.top < disc.level + _DOME and bool(disc.around(region.points, _SET_BACK).mean() > 1 - _STRAY)


def _walls(disc: _Disc, views: Iterable[DepthView], rise: float) -> tuple[np.ndarray, np.ndarray]:
    """Points (n, 3) and colours of steep surfaces below a lid; rise: height of what is below, m."""
    points, colours = [], []
    for view in views:
        near = view.inside(
            (disc.centre[0] - disc.radius, disc.centre[1] - disc.radius, rise + _DOME),
            (disc.centre[0] + disc.radius, disc.centre[1] + disc.radius, rise + disc.level),
        )
        near &= view.upward < STEEP
        own = view.points[near] - np.array((0.0, 0.0, rise), np.float32)
        inside = disc.around(own, _SET_BACK)
        points.append(own[inside])
        colours.append(view.rgb[near][inside])
    return np.concatenate(points), np.concatenate(colours)


def _lid_and_vessel(
    region: PixelRegion,
    disc: _Disc,
    walls: tuple[np.ndarray, np.ndarray],
    classes: ObjectClasses,
    remembered: Iterable[Detection],
) -> list[Measured]:
    rgb = patch_colour(region.colours[disc.own])
    vessel = _vessel(disc, walls, rgb, classes, remembered)
    if vessel is None and disc.level > _LYING:
        whole = unknown_thing(outline(region.points[:, :2]), 0.0, disc.top, region.colours)
        return [(replace(whole, cut=region.cut, beyond=region.beyond), region)]
    colour, bottom = colour_word(*rgb), 0.0 if vessel is None else vessel.top
    own = region.points[disc.own] - (*disc.centre, bottom)
    height, (x, y) = disc.top - bottom, disc.centre
    size = 2 * disc.radius, 2 * disc.radius, height
    of = classes.name("knobbed", colour), colour, "irregular", 0.8, (x, y, bottom + height / 2), 0.0, 0.0
    lid = Detection(*of, size, disc.top, rgb, region.cut, parts=corners_of(own))
    return [(lid, region.part(disc.own)), *([(vessel, None)] if vessel is not None else [])]


def _vessel(
    disc: _Disc,
    walls: tuple[np.ndarray, np.ndarray],
    rgb: tuple[float, float, float],
    classes: ObjectClasses,
    remembered: Iterable[Detection],
) -> Detection | None:
    """The vessel that a lid of this colour covers; None where nothing shows one."""
    for thing in remembered:
        here = math.dist(thing.position[:2], disc.centre) < _SAME_PLACE
        if thing.shape == "hollow" and here and -_WALL < disc.level - thing.top < _SAME_HEIGHT:
            return replace(thing, inferred=True, cut=False)
    points, colours = walls
    bands = np.floor((disc.level - points[:, 2]) / _BAND).astype(int)
    of = np.hypot(*(points[:, :2] - disc.centre).T)
    shown: list[int] = []  # bands of a wall, one below the other
    for band in range(int(disc.level / _BAND)):
        here = bands == band
        if here.sum() >= _FEW and len(shown) < _BANDS:
            set_back = np.median(of[here]) < disc.radius - _SET_BACK
            other = other_surface(rgb, np.median(colours[here], axis=0), lit_alike=False)
            shown = [*shown, band] if set_back or other else []
    if len(shown) < _BANDS:
        return None
    wall = bands >= shown[0]
    height, radius = disc.level - shown[0] * _BAND, percentile(of[wall], 90)
    own = patch_colour(colours[wall])
    shape = "deep_walls" if height > DEEP * 2 * radius and classes.find("deep_walls") else "round_walls"
    colour, (x, y) = colour_word(*own), disc.centre
    size, of_class = (2 * radius, 2 * radius, height), classes.name(shape, colour)
    found = Detection(of_class, colour, "hollow", 0.3, (x, y, height / 2), 0.0, 0.0, size, _WALL, own)
    u, v = (np.mgrid[-1:1:40j, -1:1:40j] * radius).reshape(2, -1)
    within = np.hypot(u, v) < radius - _WALL
    floor = np.column_stack((u[within] + x, v[within] + y, np.full(int(within.sum()), _WALL)))
    return replace(found, inferred=True, receptacle=True, parts=parts_of(floor, found))

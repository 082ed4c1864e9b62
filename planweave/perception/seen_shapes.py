"""Boxes for what cameras see of things; aslant ones, as their rims show of bowls, cups and plates. Metres; z is up."""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from planweave.geometry.arrays import Array
from planweave.geometry.columns import columns
from planweave.geometry.joints import OrientedBox, frame, turn
from planweave.geometry.rotations import quaternion_from_rotation
from planweave.perception.geometry import outline
from planweave.perception.seen_things import sample

_SECTORS = 24  # around its middle, of each of which the highest point may be of the rim
_LEVEL, _SEEN = 0.003, 0.75  # m from the rim's plane within which its points are, and share of sectors that show it
_ROUND, _OUTER = 0.06, 1.15  # deviation of its radius, and radius of the whole thing, as shares of that
_ASLANT = 0.14  # rad of tilt; less is within the error, as the rim of what stands upright is not seen all around
_POINTS = 5000  # of a thing that are looked at
_TURNS = 8  # at most, until the axis is found
_TURNED = 0.85  # share of the area within its extents that the rectangle around a thing has at most, if it is turned
_STRAIGHT = 0.9  # least share of that rectangle that a thing with straight sides fills
_UP = np.array((0.0, 0.0, 1.0))


Shape: TypeAlias = tuple[tuple[OrientedBox, ...], tuple[float, float, float, float] | None]
"""Boxes in the base frame, and the unit quaternion (x, y, z, w) of what lies aslant."""


def shape_of(points: Array, bottom: float) -> Shape:
    """Seen shape of a thing that stands on something of this height: boxes along its own axes where it is aslant."""
    tilt = _tilt_of(points)
    if tilt is None:
        return _along_sides(points, bottom), None
    own = points @ tilt
    way = frame(tilt, np.zeros(3))
    return tuple(box.moved(way) for box in boxes_of(own, float(own[:, 2].min()))), quaternion_from_rotation(tilt)


def boxes_of(points: Array, bottom: float) -> tuple[OrientedBox, ...]:
    """Boxes for the points (n, 3) of what stands upright on something of this height."""
    return tuple(OrientedBox((low + high) / 2, np.eye(3), (high - low) / 2) for low, high in columns(points, bottom))


def _along_sides(points: Array, bottom: float) -> tuple[OrientedBox, ...]:
    """Boxes along the sides of what stands upright, where these are straight and turned against the frame's axes."""
    around = outline(points[:, :2])
    turned_less = around.long * around.short > _TURNED * np.prod(np.ptp(points[:, :2], axis=0))
    if turned_less or around.fill < _STRAIGHT:
        return boxes_of(points, bottom)
    turned = turn(_UP, around.yaw)
    return tuple(box.moved(frame(turned, np.zeros(3))) for box in boxes_of(points @ turned, bottom))


def _tilt_of(points: Array) -> Array | None:
    """The rotation (3, 3) that tilts a thing from how it stands upright to how its points (n, 3) show it, by its rim;
    None where no rim is seen, or it is not aslant.
    """
    points = sample(np.asarray(points, float), _POINTS)
    tilt = np.eye(3)
    for _ in range(_TURNS):
        rim = _highest(points, tilt)
        axis = _normal(rim)
        tilt, before = _tilt_to(axis), tilt
        if float(before[:, 2] @ axis) > 1.0 - 1e-5:
            break
    rim = rim[np.abs((rim - np.median(rim, axis=0)) @ axis) < 2 * _LEVEL]
    if len(rim) < _SEEN * _SECTORS:
        return None
    axis = _normal(rim)
    tilt = _tilt_to(axis)
    rim = rim[np.abs((rim - rim.mean(axis=0)) @ axis) < _LEVEL]
    if len(rim) < _SEEN * _SECTORS or math.acos(min(1.0, float(axis[2]))) < _ASLANT:
        return None
    flat = (rim @ tilt)[:, :2]
    rows = np.column_stack([2 * flat, np.ones(len(flat))])
    centre = np.linalg.lstsq(rows, (flat**2).sum(axis=1), rcond=None)[0][:2]
    radii = np.linalg.norm(flat - centre, axis=1)
    radius, whole = float(radii.mean()), np.linalg.norm((points @ tilt)[:, :2] - centre, axis=1)
    is_rim = radii.std() < _ROUND * radius and np.percentile(whole, 98) < _OUTER * radius
    return tilt if is_rim else None


def _highest(points: Array, tilt: Array) -> Array:
    """The highest point of each sector around the middle, along the axis of a tilt."""
    own = points @ tilt
    x, y = (own[:, :2] - (own[:, :2].min(axis=0) + own[:, :2].max(axis=0)) / 2).T
    sector = np.floor((np.arctan2(y, x) / (2 * math.pi)) % 1.0 * _SECTORS).astype(int)
    order = np.lexsort((own[:, 2], sector))
    last = np.append(np.flatnonzero(np.diff(sector[order])), len(order) - 1)
    return np.asarray(points[order[last]])


def _normal(points: Array) -> Array:
    """The normal (3,) of the plane through points, upwards."""
    axis = np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][2]
    return np.asarray(axis if axis[2] > 0 else -axis)


def _tilt_to(axis: Array) -> Array:
    """The shortest rotation that turns the vertical into a unit vector."""
    across = np.array((-axis[1], axis[0], 0.0))
    sine = float(np.linalg.norm(across))
    return turn(across / sine, math.atan2(sine, float(axis[2]))) if sine > 1e-9 else np.eye(3)

"""Grasp candidates for things whose parts are known: wherever two fingers fit on both sides of something that is high
enough between them. That is the middle of a box, the rim of a bowl or mug, the handle of a pan.

For a direction of approach and a closing direction the thing and its neighbours are seen as height maps along the
approach. In each of their rows stretches higher than the finger tips are what the fingers can close on, lower ones
where they can stand. Metres, rad, base frame.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace

import cv2
import numpy as np

from planweave.bodies.arm.grasps import NOTHING, Grasp
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.poses import upright
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.solids import STEP, HeightMap, Part, height_map, rectangle_around
from planweave.geometry.arrays import Array, Mask
from planweave.geometry.joints import frame
from planweave.robots.description import GripperDescription

_NEAR = 0.06  # neighbours matter up to this distance
_ABOVE = 0.004  # of the finger tips above what the thing stands on
_LEVELS, _FINE = 0.008, 0.003  # between the heights of the finger tips that are tried; of a flat thing's
_HELD, _HELD_TILTED = 0.006, 0.015  # what the pads hold is at least this high above the tips,
_ENOUGH = 0.043  # and better so high: what slopes is held the better the deeper it is between them
_THIN = 0.03  # walls are thinner, sloping ones as they are seen from above; how thin between the pads is not known
_TIGHT, _WIDE = 0.004, 0.012  # of each open finger from what it will close on: at least, and at most
_DOWN = 0.9  # cosine of tilts up to which the ground limits the finger tips
_PAD = 0.020  # height of a pad
_WEDGE = 0.35  # tangent of the angle up to which both sides may slope
_SLANTED = 0.012  # sides that recede by more over the breadth of a finger are no sides to close on
_PALM = 0.10, 0.035  # half extents of the palm along and across the closing direction
# Cost of 1 m beside the middle, across the approach, as what is held there turns between level fingers; of what fills
# its outline, as a can, which is narrower there than it is seen.
_BESIDE, _BESIDE_FULL, _FULL = 4.0, 30.0, 0.85
_CHORD, _SLIPS = 0.9, 2.0  # share of its width that is taken of such a thing at least; cost where it is less
_FEW = 32  # candidates of one direction of approach
_APART = 0.012  # of candidates with the same closing direction
_YAWS = 12
_TILTS = tuple(math.radians(tilt) for tilt in (30.0, 60.0, 85.0))
_FLAT = 0.03  # m of height below which a thing is flat, as a plate
_STEEP = math.radians(15.0)  # tilt at which a palm clears the ground
_AZIMUTHS = tuple(math.radians(turn) for turn in (0.0, 40.0, -40.0, 80.0, -80.0))


def tiers(thing: Thing, others: Iterable[Thing], gripper: GripperDescription) -> Iterator[list[Grasp]]:
    """Candidates, best first, the next tier where none of one can be carried out: from above, then tilted by more and
    more towards the horizontal, from the robot's side.
    """
    parts = parts_of(thing)
    low, high = _bounds(parts)
    near = [p for other in others if other.name != thing.name for p in parts_of(other) if _is_near(p, low, high)]
    middle = np.array([*thing.position[:2], (low[2] + high[2]) / 2])
    full = len(parts) == 1 or _is_full(thing)
    yaw, _, _ = rectangle_around(np.vstack([part.corners[:, :2] for part in parts]))
    yaws = [yaw + math.pi * k / _YAWS for k in range(_YAWS)]  # along its sides, among others
    yield _spread(_candidates(parts, near, _towards(0.0, 0.0), yaws, middle, full, gripper))
    away = math.atan2(thing.position[1], thing.position[0])
    for tilt in (_STEEP, *_TILTS) if held_by_edge(thing, gripper) else _TILTS:
        closings = (0.0, math.pi / 2) if tilt > 1.0 else (0.0, math.pi / 4, math.pi / 2, 3 * math.pi / 4)
        found: list[Grasp] = []
        for azimuth in _AZIMUTHS:
            grasps = _candidates(parts, near, _towards(tilt, away + azimuth), closings, middle, full, gripper)
            found += [replace(g, cost=g.cost + 0.2 * abs(azimuth)) for g in grasps]
        yield _spread(found)


def held_by_edge(thing: Thing, gripper: GripperDescription) -> bool:
    """Whether a thing is so flat and wide that only its edge can be held, by a tilted hand, between whose fingers it
    turns.
    """
    return thing.size[2] < _FLAT and min(thing.size[:2]) > gripper.opening


def _is_full(thing: Thing) -> bool:
    """Whether a thing fills its outline, seen from above, and has no hollow."""
    cells = np.argwhere(np.isfinite(thing.solid.heights.top)).astype(np.int32)
    return not thing.solid.openings and len(cells) > _FULL * cv2.contourArea(cv2.convexHull(cells))


def _towards(tilt: float, azimuth: float) -> Array:
    """Rotation (3, 3) whose z points against the approach: up, or tilted back from an approach towards the azimuth."""
    away = np.array([math.cos(azimuth), math.sin(azimuth), 0.0])
    back = math.cos(tilt) * np.array([0.0, 0.0, 1.0]) - math.sin(tilt) * away
    side = np.array([-away[1], away[0], 0.0])
    return np.column_stack([side, np.cross(back, side), back])


def _candidates(
    parts: Sequence[Part],
    near: Sequence[Part],
    approach: Array,
    yaws: Iterable[float],
    middle: Array,
    full: bool,
    gripper: GripperDescription,
) -> list[Grasp]:
    """Grasps with closing directions turned by `yaws` about the approach. full: the thing fills its outline."""
    found: list[Grasp] = []
    for yaw in yaws:
        turned = approach @ upright(0.0, 0.0, 0.0, yaw)[:3, :3]
        back = frame(turned.T, np.zeros(3))
        own = height_map([part.moved(back) for part in parts], border=gripper.finger_size[0] + _WIDE)
        around = _on_grid([part.moved(back) for part in near], own)
        down = abs(approach[2, 2]) > _DOWN
        least = _HELD if down else _HELD_TILTED
        top = float(own.top.max())
        deepest = top - gripper.tip - gripper.reach_down
        low = float(_bounds(parts)[0][2])
        straight = approach[2, 2] > 0.999
        lowest, step = (low + _ABOVE if straight else deepest), (_FINE if down and not straight else _LEVELS)
        levels = {*np.arange(top - least, lowest - step, -step).tolist(), deepest}
        for level in sorted({max(level, lowest) for level in levels}, reverse=True):
            found += _at_level(own, around, level, least, turned, middle, full, gripper)
    return [grasp for grasp in found if _lowest_tip(grasp, gripper) > low + _ABOVE / 2] if down else found


def _lowest_tip(grasp: Grasp, gripper: GripperDescription) -> float:
    """Height of the lower finger's tip, open, at its outer side."""
    tip = grasp.pose[2, 3] + gripper.tip * grasp.pose[2, 2]
    return float(tip - (grasp.opening / 2 + gripper.finger_size[0]) * abs(grasp.pose[2, 1]))


def _at_level(
    own: HeightMap,
    around: Array,
    level: float,
    least: float,
    turned: Array,
    middle: Array,
    full: bool,
    gripper: GripperDescription,
) -> Iterator[Grasp]:
    """Grasps with the finger tips at a height. least: what the pads hold is at least this high above them."""
    thickness, half_width = gripper.finger_size
    reach = max(1, round(half_width / STEP))
    high = own.top > level
    blocked = _widened(np.maximum(own.top, around) > level - 0.001, reach)
    others = _widened(around > level, reach)  # between the fingers it would be taken along
    palm_free = level + gripper.tip + gripper.reach_down
    wide, beside = high.sum(axis=0), _BESIDE_FULL if full else _BESIDE
    for row in range(0, high.shape[1], 2):
        if not high[:, row].any():
            continue
        stretches = _stretches(blocked[:, row])
        for first in range(len(stretches)):
            for last in range(first, len(stretches)):
                start, end = stretches[first][0], stretches[last][1]
                width = (end - start) * STEP
                if width + 2 * _TIGHT > gripper.opening:
                    break
                before = (start - (stretches[first - 1][1] if first else -len(high))) * STEP - thickness
                after = ((stretches[last + 1][0] if last + 1 < len(stretches) else 2 * len(high)) - end) * STEP
                room = min(before, after - thickness, _WIDE, (gripper.opening - width) / 2)
                if room < _TIGHT:
                    continue
                held = _hold(own.top[start:end, row], level, least)
                if held is None or others[start:end, row].any():
                    continue
                height, slant, nothing = held
                u, v = own.origin[0] + (start + end - 1) / 2 * STEP, own.origin[1] + row * STEP
                if _palm_top(own, around, u, v) > palm_free + 1e-6:
                    continue
                hand = np.column_stack([turned[:, 1], turned[:, 0], -turned[:, 2]])
                pose = frame(hand, turned @ np.array([u, v, level + gripper.tip]))
                cost = (
                    beside * math.dist(pose[:3, 3], middle + turned[:, 2] * (turned[:, 2] @ (pose[:3, 3] - middle)))
                    + 15.0 * slant
                    + 20.0 * max(0.0, _ENOUGH - height)
                    + 20.0 * (_WIDE - room)
                    + _SLIPS * float(full and wide[row] < _CHORD * wide.max())
                )
                yield Grasp(pose, width + 2 * room, width, cost, nothing)


def _hold(heights: Array, level: float, least: float) -> tuple[float, float, float] | None:
    """How high what the fingers close on is above their tips, how far its sides recede over their breadth, and the
    least width that holds it; None where there is too little, or it is slanted.
    """
    solid = np.flatnonzero(heights > level + least)
    if not len(solid):
        return None
    slant = max(int(solid[0]), len(heights) - 1 - int(solid[-1])) * STEP
    if slant > _SLANTED:
        return None
    edges = min(float(heights[solid[:3]].max()), float(heights[solid[-3:]].max())) - level
    upper = np.flatnonzero(heights > level + min(edges - 0.004, _PAD))
    if not len(upper):
        return edges, slant, NOTHING
    recede = min(int(upper[0]), len(heights) - 1 - int(upper[-1])) * STEP
    if recede > _WEDGE * min(edges, _PAD):
        return None  # what narrows upwards on both sides slips out
    thick = (int(upper[-1]) - int(upper[0]) + 1) * STEP
    return edges, slant, NOTHING if thick < _THIN else 0.3 * thick


def _palm_top(own: HeightMap, around: Array, u: float, v: float) -> float:
    """The highest point under the palm."""
    i, j = round((u - own.origin[0]) / STEP), round((v - own.origin[1]) / STEP)
    along, across = (round(half / STEP) for half in _PALM)
    window = np.s_[max(0, i - along) : i + along + 1, max(0, j - across) : j + across + 1]
    return max(float(own.top[window].max()), float(around[window].max()))


def _stretches(blocked: Mask) -> list[tuple[int, int]]:
    """Starts and ends of the stretches of cells that are not free."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], blocked, [False]]).astype(int)))
    return [(int(a), int(b)) for a, b in zip(edges[::2], edges[1::2])]


def _widened(cells: Mask, reach: int) -> Mask:
    """Cells with one of these within `reach` cells across the closing direction."""
    return cv2.dilate(cells.astype(np.uint8), np.ones((1, 2 * reach + 1), np.uint8)) > 0


def _on_grid(parts: Sequence[Part], grid: HeightMap) -> Array:
    """Heights of parts in the cells of another map."""
    if not parts:
        return np.full(grid.top.shape, -math.inf)
    seen = height_map(parts)
    x = grid.origin[0] + STEP * np.arange(grid.top.shape[0])
    y = grid.origin[1] + STEP * np.arange(grid.top.shape[1])
    return seen.at(x[:, None], y[None, :])


def _spread(found: Collection[Grasp]) -> list[Grasp]:
    """The best ones, of those close together with parallel closing directions one; each also with the hand turned by
    half a turn about the approach: the hand is symmetric, the wrist's joint limits are not.
    """
    kept: list[Grasp] = []
    for grasp in sorted(found, key=lambda g: g.cost):
        if all(
            math.dist(grasp.point, k.point) > _APART or abs(float(grasp.pose[:3, 1] @ k.pose[:3, 1])) < 0.97
            for k in kept
        ):
            kept.append(grasp)
            if len(kept) == _FEW:
                break
    turn = np.diag([-1.0, -1.0, 1.0, 1.0])
    return [g for grasp in kept for g in (grasp, replace(grasp, pose=grasp.pose @ turn))]


def _bounds(parts: Iterable[Part]) -> tuple[Array, Array]:
    corners = np.vstack([part.corners for part in parts])
    return corners.min(axis=0), corners.max(axis=0)


def _is_near(part: Part, low: Array, high: Array) -> bool:
    corners = part.corners
    return bool((corners.min(axis=0) < high + _NEAR).all() and (corners.max(axis=0) > low - _NEAR).all())

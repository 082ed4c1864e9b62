"""Drawers, doors and knobs: joints of things with the parts that they move, and where a hand takes or pushes these.

Metres, rad; poses are 4x4 matrices ``tcp_to_base`` in the robot's base frame (z up). A joint's open end is the end of
its range that is farther from zero, where it is closed or off.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from planweave.bodies.arm.solids import Part
from planweave.geometry.arrays import Array
from planweave.geometry.joints import frame, turn
from planweave.robots.description import GripperDescription

OPENED = {"slide": 0.93, "hinge": 0.75}
"""Share of their range to which drawers and doors are opened."""
_UP = np.array([0.0, 0.0, 1.0])
_PULL_TILTS = (0.0, 15.0, 30.0, 45.0, 60.0)  # of the hand below the horizontal, degrees
_PUSH_TILTS = (30.0, 45.0, 60.0, 75.0, 90.0)
_TURNS = (0.0, 20.0, -20.0)  # of the hand about the vertical, degrees
_SHARES = (1.0, 0.5, 0.0)  # of a door's turn that the hand makes, too
_BEYOND = 0.003  # how far past a bar's middle the tool goes, m
_RIDGE = 0.012  # parts whose tops are at most so far below the highest make up what a knob is turned by, m
_DEEP = 0.020  # how far below its top a knob is taken, m
_OUT = 0.7  # share of a door's width from its hinge at which it is pushed
_BELOW = 0.03  # how far below its upper edge a door is pushed, m
_FLUSH = 0.001  # share of the range at which a drawer or door is shut
_CLEAR = 0.004  # between closed fingers and what they will push, m


@dataclass(frozen=True, eq=False)
class Articulation:
    """A joint of a thing: kind (slide, hinge), unit axis, anchor, range and value (m or rad).

    parts: what it moves; rest: the other parts of the thing; visible: seen in the newest look, else remembered;
    precision: by how much the value may be wrong. half_turns: the value is known but for half turns, and nobody knows
    which way is on: of a knob that is seen.
    """

    name: str
    thing: str
    kind: str
    axis: Array
    anchor: Array
    range: tuple[float, float]
    value: float
    parts: tuple[Part, ...]
    rest: tuple[Part, ...] = ()
    visible: bool = True
    precision: float = 0.0
    half_turns: bool = False

    @property
    def open_end(self) -> float:
        """The value at which it is widest open, or turned furthest."""
        return max(self.range, key=abs)

    @property
    def closed_end(self) -> float:
        """The value at the other end."""
        return min(self.range, key=abs)

    @property
    def is_flush(self) -> bool:
        """Whether it is shut, as far as is known, and not just nearly."""
        return abs(self.value - self.closed_end) <= max(_FLUSH * abs(self.open_end), self.precision)

    def nearest(self, value: float) -> float:
        """The value next to the present one that means the same."""
        if not self.half_turns:
            return value
        return self.value + math.remainder(value - self.value, math.pi)

    def moved(self, value: float) -> Array:
        """Transform that brings the moving part from where it is to where it will be at a value."""
        by = value - self.value
        if self.kind == "slide":
            return frame(np.eye(3), by * self.axis)
        turned = turn(self.axis, by)
        return frame(turned, self.anchor - turned @ self.anchor)

    def carried(self, pose: Array, value: float, share: float = 1.0) -> Array:
        """A pose on its moving part, at another value. share: of a hinge's turn that the hand makes about itself."""
        found: Array = self.moved(value) @ pose
        if self.kind == "hinge" and share != 1.0:
            found[:3, :3] = turn(self.axis, (value - self.value) * share) @ pose[:3, :3]
        return found

    @cached_property
    def outward(self) -> Array:
        """The horizontal direction in which the moving part goes when it is opened."""
        sense = math.copysign(1.0, self.open_end)
        way = self.axis if self.kind == "slide" else np.cross(self.axis, self.panel.pose[:3, 3] - self.anchor)
        level = sense * (way - _UP * (way @ _UP))
        found: Array = level / max(float(np.linalg.norm(level)), 1e-9)
        if self.kind == "hinge" and self.panel.kind == "box":  # a door may be hung beside its middle plane
            sides = [s * axis for axis in self.panel.pose[:3, :3].T for s in (1.0, -1.0)]
            found = max(sides, key=lambda side: float(side @ found))
        return found

    @cached_property
    def panel(self) -> Part:
        """The largest of the parts."""
        return max(self.parts, key=lambda part: float(np.prod(part.half)))

    @cached_property
    def handle(self) -> Part:
        """The part that stands out furthest."""
        return max(self.parts, key=lambda part: float((part.corners @ self.outward).max()))

    def pulls(self, gripper: GripperDescription) -> Iterator[tuple[Array, float, float]]:
        """Grasps of the handle, the most level first: pose, opening needed (m), share of a door's turn to make."""
        side = np.cross(_UP, self.outward)
        middle, (tall, wide) = _extents(self.handle, _UP, side)
        shares = _SHARES if self.kind == "hinge" else (1.0,)
        for tilt in _PULL_TILTS:
            for about in _TURNS:
                turned = turn(_UP, math.radians(about))
                approach = turned @ _aim(self.outward, tilt)
                closing = turned @ side if tall > wide else np.cross(approach, turned @ side)
                _, (width, _) = _extents(self.handle, closing, approach)
                if width > gripper.opening - 0.01:
                    continue
                for sign in (1.0, -1.0):
                    for share in shares:
                        yield _hand(middle + _BEYOND * approach, approach, sign * closing), width, share

    def pushes(self, gripper: GripperDescription) -> Iterator[tuple[Array, float]]:
        """Poses of the closed hand before what is to be pushed shut: pose, share of a door's turn to make."""
        side = np.cross(_UP, self.outward)
        point = self._pushed
        thick = gripper.finger_size[1]  # half of the fingers, across the closing direction
        shares = _SHARES if self.kind == "hinge" else (1.0,)
        for about, tilt in product(_TURNS, _PUSH_TILTS):  # straight ones first
            turned = turn(_UP, math.radians(about))
            approach = turned @ _aim(self.outward, tilt)
            t = math.radians(tilt)
            ahead = (thick * math.sin(t) + _CLEAR) * self.outward - thick * math.cos(t) * _UP
            for sign, share in product((1.0, -1.0), shares):
                yield _hand(point + ahead - gripper.tip * approach, approach, sign * turned @ side), share

    @cached_property
    def _pushed(self) -> Array:
        """Where it is pushed shut: the middle of a drawer's handle, or a door's outer side far from the hinge."""
        if self.kind == "slide":
            middle, _ = _extents(self.handle, _UP, self.outward)
            return middle + self.outward * float((self.handle.corners @ self.outward).max() - middle @ self.outward)
        corners = self.panel.corners
        far = corners - self.anchor
        far = far - np.outer(far @ self.axis, self.axis)
        reach = far[int(np.linalg.norm(far, axis=1).argmax())]
        along = reach - self.outward * float(reach @ self.outward)
        point = self.anchor + _OUT * along
        point = point + self.outward * float((corners @ self.outward).max() - point @ self.outward)
        point[2] = float(corners[:, 2].max()) - _BELOW
        return np.asarray(point)

    def turns(self, gripper: GripperDescription) -> Iterator[tuple[Array, float, float]]:
        """Grasps of a knob from above, as `pulls`."""
        tops = [float(part.corners[:, 2].max()) for part in self.parts]
        ridge = np.vstack([p.corners for p, top in zip(self.parts, tops) if top > max(tops) - _RIDGE])
        thin = min((turn(_UP, math.radians(d))[:, 0] for d in range(0, 180, 5)), key=lambda c: float(np.ptp(ridge @ c)))
        width = float(np.ptp(ridge @ thin))
        if width > gripper.opening - 0.01:
            return
        foot = float(ridge[:, 2].min()) + gripper.tip + _CLEAR  # fingers stay above what the ridge stands on
        at = np.array([*self.anchor[:2], min(max(max(tops) - _DEEP, foot), max(tops))])
        at += thin * float((ridge @ thin).max() - width / 2 - at @ thin)  # between its sides
        for sign in (1.0, -1.0):
            yield _hand(at, -_UP, sign * thin), width, 1.0


def _aim(outward: Array, tilt: float) -> Array:
    """The direction of approach against `outward`, so many degrees below the horizontal."""
    t = math.radians(tilt)
    return np.asarray(-math.cos(t) * outward - math.sin(t) * _UP)


def _hand(point: Array, approach: Array, closing: Array) -> Array:
    return frame(np.column_stack([np.cross(closing, approach), closing, approach]), point)


def _extents(part: Part, *directions: Array) -> tuple[Array, Sequence[float]]:
    """The middle of a part, and how far it reaches along directions."""
    corners = part.corners
    middle: Array = (corners.min(axis=0) + corners.max(axis=0)) / 2
    return middle, [float(np.ptp(corners @ d)) for d in directions]

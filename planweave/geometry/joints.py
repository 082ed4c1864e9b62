"""Furniture as it is seen: its body, and the joints of drawers, doors and knobs, with what moves and its handle."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

_FLAT = 0.25  # times the half of its shorter side is that of a board's thickness, at most
_ROOM = 0.05  # m between a board and the one above it, where things can stand


def turn(axis: np.ndarray, angle: float | np.ndarray) -> np.ndarray:
    """Rotation (3, 3) about a unit axis (Rodrigues); (n, 3, 3) of angles (n, 1, 1)."""
    x, y, z = axis
    cross = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    return np.asarray(np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross))


def frame(rotation: np.ndarray, point: Sequence[float] | np.ndarray) -> np.ndarray:
    """The pose (4, 4) of axes (3, 3) at a point (3,)."""
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation, point
    return pose


def _between(points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Which points (n, 3) are between two corners (3,): by column, which is faster than `all` along short rows."""
    found = np.ones(len(points), bool)
    for column, least, most in zip(points.T, low.tolist(), high.tolist()):
        found &= (column > least) & (column < most)
    return found


@dataclass(frozen=True, eq=False)
class OrientedBox:
    """centre (3,), half (3,): m; axes (3, 3): unit columns along which `half` is measured."""

    centre: np.ndarray
    axes: np.ndarray
    half: np.ndarray

    def beyond(self, points: np.ndarray) -> np.ndarray:
        """Distance of points (n, 3) from it, along its own axes, (n, 3) m; negative inside."""
        return np.asarray(np.abs((points - self.centre) @ self.axes) - self.half)

    def within(self, points: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Which points (n, 3) are between low and high (3,), m along its own axes from its centre, (n,) bool."""
        middle, reach = self.centre + self.axes @ ((low + high) / 2), np.abs(self.axes) @ ((high - low) / 2)
        found = _between(points, middle - reach, middle + reach)  # few are left for the multiplication
        found[found] = _between((points[found] - self.centre) @ self.axes, low, high)
        return found

    def moved(self, way: np.ndarray) -> OrientedBox:
        """The same where a motion (4, 4) takes it."""
        return OrientedBox(way[:3, :3] @ self.centre + way[:3, 3], way[:3, :3] @ self.axes, self.half)


@dataclass(frozen=True, eq=False)
class SeenJoint:
    """One part that moves. kind: slide or hinge; axis: unit vector along which, or about which by the right hand, its
    value grows; anchor: a point on a hinge's axis, or on a drawer's front; value, most: now and at its end, m or rad.

    panel, handle: of the part as it is now; handle None where it is not seen. box: floor and then sides of an open
    drawer, as far as it is out; room: what is free behind an open door, which does not move, along the axes of the
    furniture; None where nobody has seen its floor. visible: seen in the newest look, else remembered. state: "on" or
    "off" of what a knob turns on, "" where nobody sees it.
    """

    name: str
    kind: str
    axis: np.ndarray
    anchor: np.ndarray
    value: float
    most: float
    panel: OrientedBox
    handle: OrientedBox | None
    visible: bool = True
    box: tuple[OrientedBox, ...] = ()
    room: OrientedBox | None = None
    state: str = ""

    @property
    def boxes(self) -> tuple[OrientedBox, ...]:
        """All that moves."""
        return (self.panel, *((self.handle,) if self.handle is not None else ()), *self.box)

    def moved(self, way: np.ndarray) -> SeenJoint:
        """The same with all that moves where a motion (4, 4) takes it."""
        handle = None if self.handle is None else self.handle.moved(way)
        return replace(self, panel=self.panel.moved(way), handle=handle, box=tuple(b.moved(way) for b in self.box))


@dataclass(frozen=True, eq=False)
class SeenFixture:
    """A piece of furniture. bodies: boxes of what stands still, the first around most of it; joints: of what moves;
    visible: seen in the newest look; shape: what stands still more exactly, none where the bodies are all that is known
    of it; state: as in SeenObject, where joints do not tell.
    """

    name: str
    class_name: str
    bodies: tuple[OrientedBox, ...]
    joints: tuple[SeenJoint, ...] = ()
    visible: bool = True
    shape: tuple[OrientedBox, ...] = ()
    state: str = ""

    def shifted(self, by: np.ndarray) -> SeenFixture:
        """The same in a frame whose origin lies elsewhere: by (3,) m is added to all places."""
        way = frame(np.eye(3), by)
        joints = tuple(
            replace(
                joint.moved(way),
                anchor=joint.anchor + by,
                room=None if joint.room is None else joint.room.moved(way),
            )
            for joint in self.joints
        )
        bodies, shape = (tuple(box.moved(way) for box in boxes) for boxes in (self.bodies, self.shape))
        return replace(self, bodies=bodies, joints=joints, shape=shape)

    @property
    def boards(self) -> tuple[OrientedBox, ...]:
        """The level boards of its shape, from the top down, where there is room for things between two of them."""
        level = [box for box in self.shape if box.axes[2, 2] > 0.99 and box.half[2] < _FLAT * box.half[:2].min()]
        level.sort(key=lambda box: -box.centre[2])
        return tuple(level) if any(room_above(board, level) is not None for board in level) else ()

    @property
    def rooms(self) -> tuple[OrientedBox, ...]:
        """Free spaces between its boards, from the top down, and behind its doors that were seen open."""
        boards = self.boards
        found = (*(room_above(board, boards) for board in boards), *(joint.room for joint in self.joints))
        return tuple(room for room in found if room is not None)

    @property
    def top(self) -> float:
        """Height of its top, m."""
        return float(self.bodies[0].centre[2] + self.bodies[0].half[2])


def room_above(board: OrientedBox, boards: Sequence[OrientedBox]) -> OrientedBox | None:
    """Free space between a board and the next one over its middle; None where there is none, or too little."""
    low, middle = float(board.centre[2] + board.half[2]), board.centre[None]
    over = [b for b in boards if b.centre[2] > board.centre[2] and (b.beyond(middle)[0, :2] < 0).all()]
    high = min((float(b.centre[2] - b.half[2]) for b in over), default=low)
    if high - low < _ROOM:
        return None
    centre, half = board.centre.copy(), board.half.copy()
    centre[2], half[2] = (low + high) / 2, (high - low) / 2
    return OrientedBox(centre, board.axes, half)

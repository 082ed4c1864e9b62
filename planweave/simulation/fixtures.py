"""Fixtures of a kitchen: furniture that stands where it is, with drawers, doors and knobs that move.

Each has its origin at the centre of its footprint, bottom at z = 0, and its front towards -x: at yaw 0 it faces the
robot's base. Lengths in metres, angles in radians. A joint is 0 where its part is closed or off, and grows from there.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from planweave.simulation.shapes import COLOURS, Kind, ShapeBuilder, rectangle

_BOARD, _THIN = 0.012, 0.006  # of a carcass and of a drawer's box
_GAP = 0.002  # between a front and the next
_BAR, _CLEARANCE = 0.006, 0.032  # radius of a handle, and how far its middle stands out
_STEEL = (0.62, 0.63, 0.66)
_KNOB, _RIDGE = (0.022, 0.014), (0.040, 0.009, 0.016)  # radius and height; the ridge on it
_DRAWERS = ("top_drawer", "bottom_drawer")
KNOB, BURNER = "_knob", "_burner"
"""What follows the name of a stove in those of its knob's joint and of what the knob turns on."""
TURNED_ON = 0.3
"""rad from which on a stove's knob has turned its burner on, which glows then."""
_DOOR_RANGE, _KNOB_RANGE = 1.9, 1.6
_RESISTANCE = {"slide": (2.0, 12.0), "hinge": (0.04, 0.15)}  # dry friction (N, Nm) and damping (N s/m, Nm s)


def _part(
    b: ShapeBuilder, name: str, kind: str, axis: Sequence[float], most: float, at: Sequence[float], mass: float
) -> ShapeBuilder:
    """A body that slides along, or turns about, an axis through its origin `at`, from 0 to `most`."""
    import mujoco

    body = b.body.add_body(name=f"{b.body.name}_{name}", pos=list(at))
    friction, damping = _RESISTANCE[kind]
    joint = body.add_joint(
        name=body.name,
        type=getattr(mujoco.mjtJoint, f"mjJNT_{kind.upper()}"),
        axis=list(axis),
        limited=True,
        range=[0.0, most if kind == "slide" else math.degrees(most) if b.spec.compiler.degree else most],
        frictionloss=friction,
        damping=damping,
        armature=0.05 if kind == "slide" else 0.002,
    )
    joint.solref_limit = [0.004, 1.0]
    lighter = [min(1.0, 1.12 * c + 0.03) for c in b.rgb]
    b.spec.add_exclude(bodyname1=b.body.name, bodyname2=body.name)
    return ShapeBuilder(b.spec, body, (lighter[0], lighter[1], lighter[2]), mass)


def _handle(b: ShapeBuilder, middle: Sequence[float], half: Sequence[float]) -> None:
    """A bar parallel to a front that faces -x: from middle - half to middle + half, on two posts."""
    low, high = ([m + s * h for m, h in zip(middle, half)] for s in (-1, 1))
    b.capsule(low, high, _BAR, rgb=_STEEL)
    for end in (low, high):
        b.capsule(end, (end[0] + _CLEARANCE, *end[1:]), 0.8 * _BAR, rgb=_STEEL)


def _carcass(b: ShapeBuilder, size: Sequence[float], boards: Sequence[float]) -> None:
    """Sides, back, and level boards whose lower sides are at these heights; the front is open."""
    depth, width, height = size
    for sign in (-1, 1):
        b.box((0, sign * (width - _BOARD) / 2, height / 2), (depth, _BOARD, height))
    inner = width - 2 * _BOARD
    b.box(((depth - _BOARD) / 2, 0, height / 2), (_BOARD, inner, height))
    for low in boards:
        b.box((-_BOARD / 2, 0, low + _BOARD / 2), (depth - _BOARD, inner, _BOARD))


def _cabinet(b: ShapeBuilder, size: Sequence[float]) -> None:
    depth, width, height = size
    each = (height - _BOARD) / len(_DRAWERS)
    _carcass(b, size, [each * k for k in range(len(_DRAWERS) + 1)])
    travel, inner = depth - 0.05, width - 2 * _BOARD - 2 * _GAP
    long, tall = depth - _BOARD - _GAP, 0.6 * (each - _BOARD)
    front, back = -depth / 2 - _GAP, depth / 2 - _BOARD - _GAP
    for k, name in enumerate(_DRAWERS):
        high = each if k else each + _BOARD  # the uppermost front covers the board above it
        drawer = _part(b, name, "slide", (-1, 0, 0), travel, (0, 0, height - _BOARD - each * (k + 1)), 0.8)
        drawer.box((front - _BOARD / 2, 0, high / 2), (_BOARD, width, high - _GAP))
        drawer.box((back - long / 2, 0, _BOARD + _GAP + _THIN / 2), (long, inner, _THIN))
        middle = _BOARD + _GAP + _THIN + tall / 2
        for sign in (-1, 1):
            drawer.box((back - long / 2, sign * (inner - _THIN) / 2, middle), (long, _THIN, tall))
        drawer.box((back - _THIN / 2, 0, middle), (_THIN, inner - 2 * _THIN, tall))
        _handle(drawer, (front - _BOARD - _CLEARANCE, 0, high / 2), (0, 0.05, 0))
        drawer.share_mass()


def _cupboard(b: ShapeBuilder, size: Sequence[float]) -> None:
    depth, width, height = size
    _carcass(b, size, (0.0, height - _BOARD))
    hinge = (-depth / 2 - _BOARD / 2 - _GAP, width / 2, 0.0)
    door = _part(b, "door", "hinge", (0, 0, -1), _DOOR_RANGE, hinge, 0.8)
    door.box((0, -width / 2, height / 2), (_BOARD, width, height - _GAP))
    _handle(door, (-_BOARD / 2 - _CLEARANCE, -width + 0.03, height / 2), (0, 0, min(0.05, height / 4)))
    door.share_mass()


def _stove(b: ShapeBuilder, size: Sequence[float]) -> None:
    depth, width, height = size
    b.box((0, 0, height / 2), (depth, width, height))
    radius = min(depth, width) * 0.32
    b.disc((0.10 * depth, 0, height), radius, 0.003, rgb=COLOURS["black"])
    b.body.geoms[-1].name = f"{b.body.name}{BURNER}"
    at = (-depth / 2 + _KNOB[0] + 0.012, -width / 4, height)
    knob = _part(b, "knob", "hinge", (0, 0, -1), _KNOB_RANGE, at, 0.1)
    knob.disc((0, 0, 0.001), *_KNOB, rgb=_STEEL)
    knob.box((0, 0, _KNOB[1] + _RIDGE[2] / 2), _RIDGE)
    knob.share_mass()


def _shelf(b: ShapeBuilder, size: Sequence[float]) -> None:
    height = size[2]
    _carcass(b, size, (0.0, height / 2, height - _BOARD))


_SIZE = ("depth", "width", "height")
FIXTURES: dict[str, Kind] = {
    "cabinet": Kind(_cabinet, _SIZE, (0.22, 0.24, 0.22), "brown", 5.0, rectangle, parts=_DRAWERS),
    "cupboard": Kind(_cupboard, _SIZE, (0.20, 0.24, 0.22), "white", 5.0, rectangle, parts=("door",)),
    "stove": Kind(_stove, _SIZE, (0.20, 0.20, 0.04), "gray", 5.0, rectangle, parts=("knob",)),
    "shelf": Kind(_shelf, _SIZE, (0.16, 0.24, 0.32), "brown", 5.0, rectangle),
}

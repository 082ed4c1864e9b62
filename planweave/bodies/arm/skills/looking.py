"""Look at something from near by, with a camera that the hand carries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import product

import numpy as np

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.scene_object import Region
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.solids import Part, hidden
from planweave.core.base.failure import Code
from planweave.geometry.arrays import Array
from planweave.geometry.joints import frame, turn

_AWAY = (0.32, 0.42, 0.26, 0.52, 0.62)  # m of the camera from what it looks at; none sees what is nearer than 0.2
_RISE = (50, 35, 65, 20, 80)  # degrees of the camera above it
_CIRCLE = [(math.cos(k * math.pi / 6), math.sin(k * math.pi / 6)) for k in range(12)]
_ROUND, _ROLLS = 16, 4  # directions around it, and turns about the view
_SPREAD = tuple(product((-0.35, 0.0, 0.35), (-0.35, 0.0, 0.35), (-0.2, 0.3)))  # points of it, shares of its size
_HIDDEN = 0.4  # share of these that may be hidden from where the camera comes
_GOALS = 40  # poses of the arm that are tried, and of each view the best
_DOWN = np.array((0.0, 0.0, -1.0))
_WIDE = 0.5  # tangent of the half angle of what its picture shows at least
_GROUND = 0.15  # share of its picture that must show what all stands on: that tells whether its pose is right
_FAR = 1.2  # m within which that is seen well


def look_at(context: SkillContext, name: str) -> None:
    """Bring the hand to where its camera sees an object, or the inside of one, take a look, and stay there."""
    eye = context.settings.eye
    if eye is None:
        raise SkillFailureError(Code.INVALID_ACTION, "the hand carries no camera (parameter hand_camera)")
    with context.mover.planning() as start:
        points, allowed = _points(context, name), context.arm.safety.allows_point
        poses = [view @ np.linalg.inv(eye) for view in _views(context, name, points)]
        goals = context.reaching.kinematics.best((pose for pose in poses if allowed(*pose[:3, 3])), start, 1)
        if not goals:
            raise SkillFailureError(
                Code.UNREACHABLE, f"nowhere does the camera on the hand come to see {name}", permanent=True
            )
        path = context.reaching.planner.plan(start, goals[:_GOALS], context.settings.planning_seconds)
    context.mover.move(path, "looking", 0.5, watch=context.carrying())
    context.sight.look()


def _points(context: SkillContext, name: str) -> Array:
    """Points (n, 3) of an object, or of the room in a piece of furniture, m."""
    thing = context.thing(name)
    of = thing.regions[0] if thing.type != "item" and thing.regions else Region(thing.position, thing.size, thing.yaw)
    return np.asarray(np.array(_SPREAD) * of.size @ turn(-_DOWN, of.yaw).T + of.centre)


def _views(context: SkillContext, name: str, points: Array) -> Iterator[Array]:
    """Poses (4, 4) of a camera that shows the points, and some ground: x right, y down, z along the view."""
    thing, middle = context.thing(name), points.mean(axis=0)
    parts = [(each.name, part) for each in context.world.things() for part in parts_of(each)]
    others = [part for owner, part in parts if owner != name or thing.type != "item"]
    for away, rise, k in product(_AWAY, _RISE, range(_ROUND)):
        level, around = math.cos(math.radians(rise)), 2 * math.pi * k / _ROUND
        ahead = -np.array((level * math.cos(around), level * math.sin(around), math.sin(math.radians(rise))))
        place = middle - away * ahead
        right = np.cross(_DOWN, ahead)
        right /= np.linalg.norm(right)
        upright = np.column_stack((right, np.cross(ahead, right), ahead))
        if _hidden(others, place, points) > _HIDDEN:
            continue
        rays = np.array([(_WIDE * s * x, _WIDE * s * y, 1.0) for s in (0.5, 1.0) for x, y in _CIRCLE]) @ upright.T
        ground = place + rays * np.reshape((context.ground - place[2]) / rays[:, 2], (-1, 1))
        seen = ground[(rays[:, 2] < 0.0) & (np.linalg.norm(ground - place, axis=1) < _FAR)]
        bare = len(seen) * (1.0 - _hidden([part for _, part in parts], place, seen))
        if bare >= _GROUND * len(rays):
            for roll in range(_ROLLS):
                yield frame(turn(ahead, 2 * math.pi * roll / _ROLLS) @ upright, place)


def _hidden(parts: Iterable[Part], eye: Array, points: Array) -> float:
    """The share of points (n, 3) that parts hide from an eye (3,)."""
    return float(hidden(parts, eye, points).mean()) if len(points) else 1.0

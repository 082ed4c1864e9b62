"""Push an item along what it stands on to before another thing, where it cannot be grasped: with the spread fingers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasp_sampling import held_by_edge
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.placement_sampling import UP
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.placing import put_to_front_of
from planweave.bodies.arm.solids import Solid
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array

_PUSHES = 5
_ASIDE = 0.15  # of the straight way, m
_LITTLE = 0.01  # what is at most so much higher than what is pushed goes along, m
_PASSING = 0.002  # room left to what is passed, m
_THERE = 0.012  # the item is where it shall be when its middle is this near, m
_LOW = 0.004  # of the finger tips above what it stands on, m
_BEHIND = 0.010  # the fingers come down so far behind what they will push, m
_GAP = 0.04  # left between the two things, m
_STEP = 0.003  # between points in which a rim is looked for, m
_SOLUTIONS = 6  # joint solutions looked at for one pose


def push_to_front_of(context: SkillContext, name: str, target: str) -> None:
    """Put an item before another thing, towards who gives the orders: lifted, or, where no grasp is free or only its
    edge can be held, pushed.
    """
    if context.world.held is not None or not held_by_edge(context.thing(name), context.gripper):
        try:
            put_to_front_of(context, name, target)
            return
        except SkillFailureError as error:
            if error.action_code is not Code.NO_GRASP:
                raise
    other, item = context.thing(target), context.thing(name)
    ahead = -context.settings.left  # of x, towards who gives the orders
    low, high = Solid(tuple(parts_of(other))).bounds
    edge = high[0] if ahead > 0 else low[0]
    goal = np.array([edge + ahead * (item.support(-ahead, 0.0) + _GAP), (low[1] + high[1]) / 2])
    for _ in range(_PUSHES):
        if math.dist(context.thing(name).position[:2], goal) < _THERE:
            break
        _push_nearer(context, context.thing(name), goal)
        context.sight.look()
    context.sight.verify(name, f"the front of {target}", Literal("front_of", (name, target)))


def _push_nearer(context: SkillContext, item: Thing, goal: Array) -> None:
    """One push to the goal, or, where that way is not free, to a point from which the goal is reached straight."""
    at = np.array(item.position[:2])
    across = np.array([at[1] - goal[1], goal[0] - at[0]])
    across *= _ASIDE / max(float(np.linalg.norm(across)), 1e-6)
    middle = (at + goal) / 2
    stops = (goal, np.array([goal[0], at[1]]), np.array([at[0], goal[1]]), middle + across, middle - across)
    high = item.top + _LITTLE
    others = [o for o in context.others(item.name) if o.solid.parts and o.top > high]
    failure: SkillFailureError | None = None
    for stop in stops:
        if math.dist(at, stop) < _THERE or not (_clear(item, at, stop, others) and _clear(item, stop, goal, others)):
            continue
        try:
            _push(context, item, stop)
            return
        except SkillFailureError as error:
            if error.action_code is not Code.PLANNING_FAILED:
                raise
            failure = error
    raise failure or SkillFailureError(Code.PLANNING_FAILED, f"there is no free way to push {item.name}")


def _clear(item: Thing, start: Array, end: Array, others: list[Thing]) -> bool:
    """Whether an item that is pushed from a point to another meets nothing."""
    for share in np.linspace(0.0, 1.0, 12):
        x, y = start + share * (end - start)
        there = replace(item, position=(float(x), float(y), item.position[2]))
        if any(o.bottom < item.top and there.gap(o) < min(_PASSING, item.gap(o)) for o in others):
            return False
    return True


def _push(context: SkillContext, item: Thing, goal: Array) -> None:
    """One straight push towards a point of the ground."""
    mover, planner = context.mover, context.reaching.planner
    centre = np.array(item.position[:2])
    length = float(np.linalg.norm(goal - centre))
    way = (goal - centre) / length
    turn = math.atan2(way[1], way[0])
    low = tuple(o.name for o in context.others(item.name) if o.top <= item.top + _LITTLE)  # goes along
    touching = (item.name, *low)
    blocked = "it is out of reach"
    with mover.planning() as start:
        context.scene.set_opening(context.gripper.opening)
        poses = ([downwards(*at, turn), downwards(*at, turn + math.pi)] for at in _starts(context, item, way))
        for q in (q for two in poses for q in context.reaching.kinematics.best(two, start, _SOLUTIONS)):
            up = planner.line(q, UP, context.settings.clearance)
            along = planner.line(q, (*way, 0.0), length + _BEHIND)
            if up is None or along is None:
                continue
            hit = context.scene.path_contact(up, 0.0, (item.name,)) or context.scene.path_contact(along, 0.0, touching)
            if hit is not None:
                blocked = str(hit)
                continue
            try:
                path = planner.plan(start, [up[-1]], context.reaching.seconds)
                break
            except SkillFailureError as error:
                blocked = error.message
        else:
            raise SkillFailureError(Code.PLANNING_FAILED, f"there is no free way to push {item.name}: {blocked}")
    context.arm.grip(context.gripper.opening, context.settings.grip_force, wait=False)
    mover.move(path, "approaching", 0.2)
    mover.grip(context.gripper.opening)
    mover.move(up[::-1], "approaching", 0.3, slow=True, touching=(item.name,))
    try:
        mover.move(along, "pushing", 0.5, slow=True, touching=touching)
    except SkillFailureError as error:
        if error.action_code is not Code.CONTROL_FAILED:
            raise  # else something stopped it: the look tells how far it came
    rise = planner.line(context.arm.state().positions, UP, context.settings.clearance)
    if rise is not None:
        mover.move(rise, "retreating", 0.8, slow=True, touching=touching)


def _starts(context: SkillContext, item: Thing, way: Array) -> Iterator[tuple[float, float, float]]:
    """Where the tool comes down to push: behind an item, or in it, before its far rim."""
    half, thick = context.gripper.opening / 2, context.gripper.finger_size[1]
    x, y = np.array(item.position[:2]) - (_extent_behind(item, way, half) + thick + _BEHIND) * way
    yield float(x), float(y), context.ground + context.gripper.tip + _LOW
    solid, centre = Solid(tuple(parts_of(item))), np.array(item.position[:2])
    floor = solid.support(*centre.tolist())
    beside = half * np.array([-way[1], way[0]])
    for reach in np.arange(0.0, max(item.size[:2]) / 2, _STEP):
        if solid.support(*(centre + beside + reach * way).tolist()) > floor + _LOW:  # its rim
            x, y = centre + (reach - thick - _BEHIND) * way
            yield float(x), float(y), floor + context.gripper.tip + _LOW / 2
            return


def _extent_behind(item: Thing, way: Array, half: float) -> float:
    """How far an item reaches against a direction, within `half` of the line through its middle, m."""
    corners = Solid(tuple(parts_of(item))).outline() - np.array(item.position[:2])
    edges = [a + (b - a) * s for a, b in zip(corners, np.roll(corners, -1, axis=0)) for s in np.linspace(0, 1, 20)]
    points = np.array(edges)
    beside = np.abs(points @ np.array([-way[1], way[0]]))
    near = points[np.abs(beside - min(half, float(beside.max()))) < 0.008]
    return float((-near @ way).max())

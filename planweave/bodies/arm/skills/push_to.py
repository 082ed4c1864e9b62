"""Push an item along what it stands on to before another thing, where it cannot be grasped: with the spread fingers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product

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
_ASIDE, _GRID = 0.15, 0.05  # of the straight way at most, and between points on ways round what is there, m
_BESIDE = (0.0, 0.01, -0.01, 0.02, -0.02)  # of the middle of what an item shall stand before, m
_LITTLE = 0.01  # what is at most so much higher than what is pushed goes along, m
_PASSING = 0.002  # room left to what is passed, m
_NOISE = 0.003  # two outlines are known to this against each other, m
_THERE = 0.012  # the item is where it shall be when its middle is this near, m
_LOW = 0.004  # of the finger tips above what it stands on, m
_BEHIND = 0.010  # the fingers come down so far behind what they will push, m
_GAP = 0.04  # left between the two things, m
_STEP = 0.003  # between points in which a rim is looked for, m
_SOLUTIONS = 6  # joint solutions looked at for one pose


def push_to_front_of(context: SkillContext, name: str, target: str) -> None:
    """Put an item before another thing, towards who gives the orders: lifted, or, where no grasp is free or only its
    edge can be held, pushed; such a thing is lifted over what leaves no way to push it, and pushed on from there.
    """
    may_lift = held_by_edge(context.thing(name), context.gripper)
    if context.world.held is not None or not may_lift:
        try:
            put_to_front_of(context, name, target)
            if not may_lift:
                return
        except SkillFailureError as error:
            if error.action_code is not Code.NO_GRASP:
                raise
    for _ in range(_PUSHES):
        item = context.thing(name)
        goals = _goals(context, item, context.thing(target))
        if math.dist(item.position[:2], goals[0]) < _THERE:
            break
        try:
            _push_nearer(context, item, goals)
            context.sight.look()
        except SkillFailureError as error:
            if error.action_code is not Code.PLANNING_FAILED or not may_lift:
                raise
            may_lift = False
            put_to_front_of(context, name, target)
    context.sight.verify(name, f"the front of {target}", Literal("front_of", (name, target)))


def _goals(context: SkillContext, item: Thing, other: Thing) -> list[Array]:
    """Where an item stands before another thing, at its middle or a little beside that: the nearest first."""
    ahead = -context.settings.left  # of x, towards who gives the orders
    low, high = Solid(tuple(parts_of(other))).bounds
    x = (high[0] if ahead > 0 else low[0]) + ahead * (item.support(-ahead, 0.0) + _GAP)
    goals = [np.array([x, (low[1] + high[1]) / 2 + aside]) for aside in _BESIDE]
    return sorted(goals, key=lambda goal: math.dist(goal, item.position[:2]))


def _push_nearer(context: SkillContext, item: Thing, goals: Sequence[Array]) -> None:
    """One push to a goal, or, where that way is not free, to a point from which one is reached straight."""
    at = np.array(item.position[:2])
    others = [_boxed(o) for o in context.others(item.name) if o.solid.parts]
    low = [o for o in others if o.top <= item.top + _LITTLE]
    high = [o for o in others if o.top > item.top + _LITTLE]
    failure: SkillFailureError | None = None
    for (fixed, along), goal in product(((others, []), (high, low)), goals):
        for stop in _stops(at, goal):
            if math.dist(at, stop) < _THERE or _pushed(item, stop, goal, fixed, along) is None:
                continue
            moves = _pushed(item, at, stop, fixed, along)
            if moves is None:
                continue
            try:
                _push(context, item, stop, moves)
                return
            except SkillFailureError as error:
                if error.action_code is not Code.PLANNING_FAILED:
                    raise
                failure = error
    raise failure or SkillFailureError(Code.PLANNING_FAILED, f"there is no free way to push {item.name}")


def _stops(at: Array, goal: Array) -> list[Array]:
    """The goal, and points between from which it may be reached straight: the shortest way first."""
    low, high = np.minimum(at, goal) - _ASIDE, np.maximum(at, goal) + _ASIDE
    axes = [np.arange(a, b, _GRID) for a, b in zip(low, high)]
    points = [goal, np.array([goal[0], at[1]]), np.array([at[0], goal[1]]), *map(np.array, product(*axes))]
    return sorted(points, key=lambda p: math.dist(at, p) + math.dist(p, goal))


def _boxed(thing: Thing) -> Thing:
    """A thing as the box around its parts: its middle may be elsewhere."""
    low, high = Solid(tuple(parts_of(thing))).bounds
    x, y, z = ((low + high) / 2).tolist()
    width, depth, height = (high - low).tolist()
    return replace(thing, position=(x, y, z), size=(width, depth, height), yaw=0.0, orientation=None)


def _pushed(
    item: Thing, start: Array, end: Array, others: Sequence[Thing], low: Sequence[Thing] = ()
) -> dict[str, float] | None:
    """How far an item that is pushed from a point to another moves, and what is low and goes along, m; None where one
    of them meets something else.
    """

    def meets(there: Thing, thing: Thing, others: Sequence[Thing]) -> list[Thing]:
        near = [o for o in others if o.bottom < item.top]
        return [o for o in near if there.gap(o) < min(_PASSING, thing.gap(o) - _NOISE)]

    def moved(thing: Thing, x: float, y: float) -> Thing:
        return replace(thing, position=(x, y, thing.position[2]))

    taken: dict[str, float] = {}
    for share in np.linspace(0.0, 1.0, 12):
        there = moved(item, *(start + share * (end - start)).tolist())
        if meets(there, item, others):
            return None
        for each in meets(there, item, [o for o in low if o.name not in taken]):
            if meets(moved(each, *(each.position[:2] + (1.0 - share) * (end - start)).tolist()), each, others):
                return None
            taken[each.name] = float(1.0 - share) * math.dist(start, end)
    return {**taken, item.name: math.dist(start, end)}


def _push(context: SkillContext, item: Thing, goal: Array, moves: Mapping[str, float]) -> None:
    """One straight push towards a point of the ground; moves: how far it moves what, m."""
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
    forward = context.reaching.kinematics.forward
    missing = max(0.0, float(way @ (forward(along[-1]) - forward(context.arm.state().positions))[:2, 3]))
    for each in map(context.thing, moves):
        x, y = (each.position[:2] + max(0.0, moves[each.name] - missing) * way).tolist()
        context.world.put(replace(each, position=(x, y, each.position[2])))
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

"""Push an item aside: closed fingers, a straight line over the table, and a look at the result."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.kinematics import downwards
from planweave.bodies.arm.placement_sampling import UP
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.workspace import Location
from planweave.core.base.failure import Code
from planweave.geometry import spatial
from planweave.geometry.arrays import Array
from planweave.robots.description import GripperDescription

_DIRECTIONS = 24
_BEHIND = 0.015  # room between the item and the fingers before they push, m
_BACK = 0.015  # from the item after the push, m
_LENGTHS = (0.05, 0.07, 0.09, 0.12, 0.16, 0.20, 0.25)  # m
_SPARE = 0.01  # more room than is needed that a push aims at, m
_LOW = 0.006  # of the finger tips above what the item stands on, m
_TIPS_OVER = 0.8  # an item pushed higher than this share of its width tips over (friction 0.6), see _height
_PASSING = 0.01  # room kept from others on the way, m
_NOISE = 0.003  # two outlines are known to this against each other, m
_ENOUGH = 0.6  # share of the way that the camera must see done
_SOLUTIONS = 3


@dataclass(frozen=True)
class _Push:
    """A push in a direction (unit vector) over a length, m, as a path to above its start, down, and along."""

    length: float
    direction: tuple[float, float]
    path: Array
    down: Array
    along: Array


def push_aside(context: SkillContext, name: str) -> None:
    """Push an item away from all others, and out of places with space for one item."""
    push(context, name)


def push(context: SkillContext, name: str, away_from: Collection[str] = ()) -> None:
    """Push an item. away_from: objects to clear, at least; empty: all of them, and narrow places.

    Raises SkillFailureError: PLANNING_FAILED (no free push), GRASP_LOST (the item did not move along).
    """
    context.sight.require(since_motion=True)
    thing, mover = context.thing(name), context.mover
    with mover.planning() as start:
        plan = _plan(context, thing, away_from, start)
    mover.grip(0.0)
    mover.move(plan.path, "approaching", 0.2)
    mover.move(plan.down, "approaching", 0.4, slow=True)
    if away_from and name not in context.pushed:
        context.pushed.append(name)
    mover.move(plan.along, "pushing", 0.5, slow=True, touching=(name,))
    context.world.put(_moved(thing, *plan.direction, plan.length))
    _leave(context, name, plan)
    context.look_anew()
    mover.phase("verifying", 0.9)
    _verify(context, thing, plan, away_from)


def _leave(context: SkillContext, name: str, plan: _Push) -> None:
    """Retract slightly, so that the item stays in place, and rise."""
    planner, clearance = context.reaching.planner, context.settings.clearance
    u, v = plan.direction
    q = plan.along[-1]
    for direction, distances in (((-u, -v, 0.0), (_BACK,)), (UP, (clearance, 0.6 * clearance, 0.3 * clearance))):
        line = next((path for d in distances if (path := planner.line(q, direction, d)) is not None), None)
        if line is not None:
            context.mover.move(line, "retreating", 0.7, slow=True, touching=(name,))
            q = line[-1]


def _verify(context: SkillContext, before: Thing, plan: _Push, away_from: Collection[str]) -> None:
    after = next((t for t in context.world.things() if t.name == before.name and t.visible), None)
    if after is None:
        raise SkillFailureError(Code.GRASP_LOST, f"{before.name} was pushed, and the camera does not see it any more")
    moved = sum((b - a) * d for a, b, d in zip(before.position, after.position, plan.direction))
    if moved < _ENOUGH * plan.length:
        raise SkillFailureError(
            Code.GRASP_LOST,
            f"{before.name} was pushed by {plan.length * 100:.0f} cm, but the camera sees that it moved by "
            f"{moved * 100:.0f} cm only",
        )
    least = _room_wanted(away_from)
    close = [o.name for o in _kept_away(context.others(before.name), after, away_from) if after.gap(o) <= least]
    if close:
        raise SkillFailureError(
            Code.GRASP_LOST, f"{before.name} was pushed aside, but did not go straight: it is still near {close[0]}"
        )


def _room_wanted(away_from: Collection[str]) -> float:
    """Clearance that a push must achieve: for a finger beside the object to be freed, else so that nothing counts as
    near.
    """
    return spots.FINGERS if away_from else spatial.NEAR


def _kept_away(others: Sequence[Thing], thing: Thing, away_from: Collection[str]) -> list[Thing]:
    return [o for o in others if o.bottom < thing.top and (not away_from or o.name in away_from)]


def _plan(context: SkillContext, thing: Thing, away_from: Collection[str], start: Array) -> _Push:
    """The first feasible push, shortest and best aligned first."""
    height = _height(thing, context.gripper)
    along, across = context.gripper.closed_size
    others = context.others(thing.name)
    context.scene.set_opening(0.0)
    obstacle = "everything around it"
    for length, (u, v) in _ways(thing, others, context.world.places, away_from):
        turn = math.atan2(v, u)
        # With the wide side of the closed fingers, or, where others are in the way of the hand so, the narrow one.
        for first, ahead in ((turn, across), (turn + math.pi / 2, along)):
            back = thing.support(u, v) + ahead + _BEHIND
            x, y = thing.position[0] - back * u, thing.position[1] - back * v
            poses = [downwards(x, y, height, yaw) for yaw in (first, first + math.pi)]
            for q in context.reaching.kinematics.best(poses, start, _SOLUTIONS)[:_SOLUTIONS]:
                built = _build(context, thing, q, (u, v), length, start)
                if isinstance(built, _Push):
                    return built
                obstacle = built or obstacle
    raise SkillFailureError(
        Code.PLANNING_FAILED, f"there is no free way to push {thing.name} aside: {obstacle} is in the way"
    )


def _build(
    context: SkillContext, thing: Thing, q: Array, direction: tuple[float, float], length: float, start: Array
) -> _Push | str:
    """The motion of a push that begins at joint positions `q`, or its blocking contact."""
    planner, scene = context.reaching.planner, context.scene
    up = planner.line(q, UP, context.settings.clearance)
    along = planner.line(q, (*direction, 0.0), _BEHIND + length)
    if up is None or along is None:
        return ""
    for path, touching in ((up, ()), (along, (thing.name,))):
        hit = scene.path_contact(path, 0.0, touching)
        if hit is not None:
            return str(hit)
    try:
        return _Push(length, direction, planner.plan(start, [up[-1]], context.reaching.seconds), up[::-1].copy(), along)
    except SkillFailureError as error:
        return error.message


def _ways(
    thing: Thing, others: list[Thing], places: tuple[Location, ...], away_from: Collection[str]
) -> Iterator[tuple[float, tuple[float, float]]]:
    """Lengths and directions that move the item to its target without touching others, best first: short ones against a
    flat side with much clearance.
    """
    narrow = [p for p in places if p.narrow and p.covers(*thing.position[:2])] if not away_from else []
    standing = [o for o in others if o.bottom < thing.top]
    found = []
    for length in _LENGTHS:
        for k in range(_DIRECTIONS):
            turn = 2 * math.pi * k / _DIRECTIONS
            u, v = math.cos(thing.yaw + turn), math.sin(thing.yaw + turn)
            steps = [_moved(thing, u, v, length * s / 4) for s in (1, 2, 3, 4)]
            end = steps[-1]
            on_table = not places or any(p.covers(*end.position[:2], -end.radius) for p in places)
            if not on_table or any(p.covers(*end.position[:2], end.radius) for p in narrow):
                continue
            room = min((end.gap(o) for o in _kept_away(others, thing, away_from)), default=1.0)
            if room <= _room_wanted(away_from) + _SPARE:
                continue
            if any(_closer(thing, step, o) < _PASSING for step in steps for o in standing):
                continue
            slanted = 0.0 if thing.is_round else abs(math.sin(2 * turn))
            reach = abs(math.hypot(*end.position[:2]) - 0.5)
            found.append((length + 0.1 * slanted + 0.1 * reach - 0.5 * min(room, 0.12), length, (u, v)))
    yield from ((length, direction) for _, length, direction in sorted(found))


def _closer(before: Thing, after: Thing, other: Thing) -> float:
    """Clearance to another object during a push; infinite for objects that the item does not approach."""
    room = after.gap(other)
    return math.inf if room > before.gap(other) - _NOISE else room


def _moved(thing: Thing, u: float, v: float, by: float) -> Thing:
    x, y, z = thing.position
    return replace(thing, position=(x + by * u, y + by * v, z))


def _height(thing: Thing, gripper: GripperDescription) -> float:
    """Height of the tool centre point: low, with the palm above the item.

    Raises where the item stands on another, or would tip over.
    """
    if not spatial.on_table(thing):
        raise SkillFailureError(
            Code.PLANNING_FAILED, f"{thing.name} does not stand on the table, so it cannot be pushed", permanent=True
        )
    height = max(thing.bottom + gripper.tip + _LOW, thing.top - gripper.reach_down)
    if height - gripper.tip - thing.bottom > _TIPS_OVER * min(thing.size[:2]):
        raise SkillFailureError(
            Code.PLANNING_FAILED,
            f"{thing.name} is too tall to be pushed ({thing.size[2] * 100:.0f} cm): it would tip over",
            permanent=True,
        )
    return height

"""Place the held object: on, in, at, beside, between; and verify it with the camera."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial

import numpy as np

from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm import regrasp_planning
from planweave.bodies.arm.approach_planning import Approach
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.held import Held
from planweave.bodies.arm.planning_scene import parts_of
from planweave.bodies.arm.relations import hollow_of
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.grasp import grasp
from planweave.bodies.arm.workspace import Location
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array
from planweave.geometry.spatial import MOVED

_SIDES = {
    "left_of": (math.pi / 2, "the left of"),
    "right_of": (-math.pi / 2, "the right of"),
    "front_of": (math.pi, "the front of"),
    "behind": (0.0, "the room behind"),
}  # rad from x, as seen beside the robot
_MOVED = {"moved_left": "left_of", "moved_right": "right_of", "moved_to_front": "front_of", "moved_to_back": "behind"}
_AWAY = (0.02, 0.05, 0.1, 0.15, 0.25, 0.4)  # m beyond which an item goes to a side of where it was, one by one
_LOOK_DOWN = 0.25  # m above where something was put down from which it is looked for
_RISEN = 0.012  # m above where it was let go from which on what is seen may hang on the fingers that have left it
_HIDDEN = 0.5  # share of an item that may be hidden from the camera where it is put down
_FALLS = 0.03  # m above where it will rest at which a thing may be let go, or above the rim of a vessel
_NEAR = 0.3  # edge of the square in which an item is put down to be grasped anew, m

FreeSpots = Callable[[Thing, list[Thing]], Iterable[spots.Spot]]


def _free(context: SkillContext, relation: str, *of: Thing | Location | float) -> FreeSpots:
    """Free spots: on, inside, at, beside or between things or places."""
    ground = spots.Ground(context.ground, context.world.places)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        found: Iterable[spots.Spot] = getattr(spots, relation)(item, *of, others, ground)
        return found

    return free_spots


def place_on(context: SkillContext, name: str, target: str) -> None:
    """Place the held item on another item, on a plate, or on a board, in the room above that."""
    support = context.thing(target)
    free_spots = _free(context, "on", support) if support.solid.parts else _in_region(context, support, 0)
    hollow = hollow_of(support)  # at whose bottom the fingers may have no room
    rise = min(hollow.depth, _FALLS) if hollow is not None else 0.0
    put_down(context, name, target, free_spots, Literal("on", (name, target)), rise)


def place_under(context: SkillContext, name: str, target: str) -> None:
    """Place the held item in the room beneath a board, the second of its regions, or in one of a shelf's rooms."""
    board = context.thing(target)
    free_spots = _free(context, "inside", board) if board.solid.parts else _in_region(context, board, 1)
    put_down(context, name, f"the room under {target}", free_spots, Literal("under", (name, target)))


def _in_region(context: SkillContext, board: Thing, number: int) -> FreeSpots:
    """Free spots above (0) or beneath (1) a board."""
    ground = spots.Ground(context.ground, context.world.places)
    return lambda item, others: spots.inside(item, board, others, ground, board.regions[number])


def place_in(context: SkillContext, name: str, target: str) -> None:
    shuts = context.world.articulation(target) is not None
    ready = Literal("opened", (target,)) if shuts else Literal("covered", (target,), False)
    if ready.predicate in context.world.domain.predicates:  # somebody may have shut or covered it meanwhile
        context.sight.require(since_motion=True)
    if not context.world.world().holds(ready):
        now = "not open any more" if shuts else "covered"
        raise SkillFailureError(Code.PRECONDITION_UNMET, f"{target} is {now}", (ready,), permanent=True)
    box = context.thing(target)
    rise = _FALLS if shuts else box.size[2] + _FALLS  # what falls may come to stand out of what is shut
    put_down(context, name, target, _free(context, "inside", box), Literal("in", (name, target)), rise)


def place_at(context: SkillContext, name: str, target: str) -> None:
    place = context.place(target)
    free = _free(context, "at", place)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        for around in ([*others, *context.world.kept_free()], others):  # no door shall be blocked, where there is room
            found = list(free(item, around))
            if found:
                break
        return found

    put_down(context, name, target, free_spots, Literal("at", (name, target)))


def place_beside(relation: str, context: SkillContext, name: str, target: str) -> None:
    """Place the held item at a side of an object, near it, as who gives the orders sees it: the front is theirs."""
    free_spots = _free(context, "beside", context.thing(target), _side(context, relation))
    put_down(context, name, f"{_SIDES[relation][1]} {target}", free_spots, Literal(relation, (name, target)))


def _side(context: SkillContext, relation: str) -> float:
    """The direction, rad from x, of a side as who gives the orders sees it."""
    return _SIDES[relation][0] + (0.0 if context.settings.left > 0 else math.pi)


def put_to_front_of(context: SkillContext, name: str, target: str) -> None:
    """Grasp an item and put it down in front of another thing."""
    if not _in_hand(context, name):
        grasp(context, name)
    place_beside("front_of", context, name, target)


def place_farther(predicate: str, context: SkillContext, name: str) -> None:
    """Place the held item to a side of where it was taken: to which says the predicate that then holds."""
    free_spots = _away(context, name, _side(context, _MOVED[predicate]))
    put_down(context, name, "that side of where it was", free_spots, Literal(predicate, (name,)))


def place_nearer(way: int, context: SkillContext, name: str, target: str) -> None:
    """Place the held item nearer (way 1) to an object than where it was taken, or farther from it (-1)."""
    there, was = context.thing(target).position[:2], context.held(name).thing.position[:2]
    away = _away(context, name, math.atan2(way * (there[1] - was[1]), way * (there[0] - was[0])))

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        for spot in away(item, others):
            if way * (math.dist(there, was) - math.dist((spot.x, spot.y), there)) >= 1.2 * MOVED:
                yield spot

    predicate, words = ("nearer", "nearer to") if way > 0 else ("farther", "farther from")
    put_down(context, name, f"a place {words} {target}", free_spots, Literal(predicate, (name, target)))


def _away(context: SkillContext, name: str, turn: float) -> FreeSpots:
    """Free spots in a direction (rad from x) from where the held item was taken, the near ones first."""
    was = context.held(name).thing

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        for far in _AWAY:
            gone = replace(was, size=(2 * far, 2 * far, was.size[2]), parts=None)
            yield from _free(context, "beside", gone, turn)(item, others)

    return free_spots


def place_between(context: SkillContext, name: str, one: str, two: str) -> None:
    free_spots = _free(context, "between", context.thing(one), context.thing(two))
    put_down(context, name, f"the room between {one} and {two}", free_spots, Literal("between", (name, one, two)))


def grab_and_putin(context: SkillContext, name: str, target: str) -> None:
    """Grasp an item and place it in a container, or on a plate."""
    receptacle = context.thing(target)
    if not _in_hand(context, name):
        grasp(context, name)
    (place_in if receptacle.type == "container" else place_on)(context, name, target)


def _in_hand(context: SkillContext, name: str) -> bool:
    """Whether an item was taken in an earlier attempt."""
    held = context.world.held
    return held is not None and held.thing.name == name


def put_down(
    context: SkillContext, name: str, where: str, free_spots: FreeSpots, expected: Literal, rise: float = 0.0
) -> None:
    """Place the held item at the first reachable free spot, and verify its position; what it has covered or tipped over
    there is looked for, too.
    """
    mover, same = context.mover, (expected.predicate, expected.args[1:])
    with_it = {f.args[0] for f in context.world.world().facts if (f.predicate, f.args[1:]) == same}
    try:
        approach = _to_place(context, name, where, free_spots, rise)
    except SkillFailureError as error:
        if error.action_code not in (Code.PLANNING_FAILED, Code.UNREACHABLE) or not regrasp(context, name, free_spots):
            raise
        approach = _to_place(context, name, where, free_spots, rise)
    _lower(context, name, approach, where)
    _leave(context, approach)
    mover.phase("verifying", 0.9)
    try:
        context.sight.verify(name, where, expected)
    except SkillFailureError:
        if context.settings.observe or context.is_seen(name) or not _seen_from_elsewhere(context, name):
            raise
        context.sight.verify(name, where, expected)
    assert approach.placed is not None
    hangs = context.thing(name).top > approach.placed.top + _RISEN
    if not context.settings.observe and (hangs or with_it - {each.name for each in context.world.things()}):
        context.rise(_LOOK_DOWN)
        context.sight.verify(name, where, expected)


def _seen_from_elsewhere(context: SkillContext, name: str) -> bool:
    """Whether an object that was put down is seen once the hand is farther above it, where a camera on the hand sees
    into what it stands in, or once the arm has gone aside, if it was in the way.
    """
    for go in (partial(context.rise, _LOOK_DOWN), context.go_aside):
        try:
            go()
        except SkillFailureError as error:
            if error.action_code not in (Code.PLANNING_FAILED, Code.UNREACHABLE):
                raise  # it touched something, or was stopped
            continue
        context.sight.look()
        if context.is_seen(name):
            return True
    return False


def _leave(context: SkillContext, approach: Approach) -> None:
    """Move out of the camera's view; where no other way out is found, as of a cupboard, as the hand came."""
    try:
        context.go_observe()
    except SkillFailureError as error:
        way = _way_out(context, approach) if error.action_code is Code.PLANNING_FAILED else None
        if way is None:
            raise
        context.mover.move(way, "retreating", 0.8, slow=True)
        context.go_observe()


def _way_out(context: SkillContext, approach: Approach) -> Array | None:
    """The first free way to where an approach began: that on which the hand came, or level from where it has drawn back
    to, as what it let go may stand around a finger that goes back into it. None where both are blocked.
    """
    start, planner = context.arm.state().positions, context.reaching.planner
    first, last = (context.reaching.kinematics.forward(q)[:3, 3] for q in (approach.line[0], approach.line[-1]))
    nearest = int(np.linalg.norm(approach.line - start, axis=1).argmin())
    out = (first - last) * (1.0, 1.0, 0.0)
    away = math.hypot(*out)
    with context.mover.thinking("retreating", 0.78):
        context.mover.update_scene()
        context.leave_out_touched()  # what was let go may have come to rest a little elsewhere than was thought
        for line in (approach.line[nearest::-1], planner.line(start, out / away, away) if away else None):
            if line is None:
                continue
            way = np.vstack([start, line, approach.path[::-1]])
            if context.scene.path_contact(way, 0.0) is None:
                return way
    return None


def regrasp(context: SkillContext, name: str, free_spots: FreeSpots) -> bool:
    """Put the held item down near where it was, and grasp it so that it can be put down at one of the spots; whether
    there is such a grasp.
    """
    here = Location("", context.held(name).thing.position[:2], (_NEAR, _NEAR))
    try:
        back = _to_place(context, name, "the ground", _free(context, "at", here), hidden=0.0)
    except SkillFailureError:
        return False
    assert back.placed is not None
    with context.mover.thinking("planning", 0.05):
        others = list(context.world.things())
        there = list(free_spots(back.placed, others))
        grasps = regrasp_planning.grasps_for(context.reaching, back.placed, others, there, back.line[0])
        context.mover.update_scene()
    if not grasps:
        return False
    _lower(context, name, back, "the ground")
    context.look_anew()
    grasp(context, name, [regrasp_planning.like(g, back.placed, context.thing(name)) for g in grasps])
    return True


def _to_place(
    context: SkillContext, name: str, where: str, free_spots: FreeSpots, rise: float = 0.0, hidden: float = _HIDDEN
) -> Approach:
    """The first reachable free spot at which at most a share of the item is hidden from the camera."""
    held, eye = context.held(name), context.world.camera
    with context.mover.planning() as start:
        others = list(context.world.things())
        free: Iterable[spots.Spot] = free_spots(held.thing, others)
        spots_there: Iterable[spots.Spot] = (s for s in free if not context.was_blocked(s.x, s.y))
        if eye is not None:
            every, parts = list(spots_there), [part for other in others for part in parts_of(other)]
            spots_there = spots.in_sight(held.thing, every, parts, eye, context.ground, hidden)
            if every and not spots_there:
                raise SkillFailureError(
                    Code.PLANNING_FAILED,
                    f"what stands higher hides from the camera all places for {name} at {where}, so that it could not "
                    "be seen there: shut what is open, or move what hides it",
                )
        return context.reaching.to_place(held, spots_there, start, where, rise)


def _lower(context: SkillContext, name: str, approach: Approach, where: str) -> None:
    """Carry the held item to where it is put down, and let it go."""
    held, mover = context.held(name), context.mover
    watch = context.carrying(f" on the way to {where}")
    try:
        mover.move(approach.path, "transferring", 0.2, watch=watch)
        mover.move(approach.line, "placing", 0.5, slow=True, watch=watch)
    except SkillFailureError as error:
        if error.action_code is Code.GRASP_LOST:
            context.draw_back()
        held_up = error.action_code in (Code.CONTROL_FAILED, Code.COLLISION)
        line = context.touched_down(approach.line) if held_up else None  # a little earlier than was expected
        if line is None:
            if held_up and approach.placed is not None:
                context.blocked.append(approach.placed.position)
            raise
        approach = replace(approach, line=line)
    _release(context, approach, held)


def _release(context: SkillContext, approach: Approach, held: Held) -> None:
    name = held.thing.name
    context.mover.phase("opening", 0.65)
    # Beside other things the fingers open only a little; those that moved less than half of it hold on to the object.
    enough = (held.width + approach.opening) / 2
    width = context.mover.grip(approach.opening).width
    if width < enough:  # a command may have been lost
        width = context.mover.grip(approach.opening).width
    if width < enough:
        raise SkillFailureError(
            Code.CONTROL_FAILED,
            f"the fingers did not open to let go of {name}: they are {width * 1000:.0f} mm apart, "
            f"{approach.opening * 1000:.0f} mm were asked for; does the gripper's controller listen?",
        )
    context.world.released(approach.placed)
    with context.mover.thinking("retreating", 0.7):
        context.mover.update_scene()
        context.leave_out_touched()
        retreat = context.reaching.to_retreat(approach.line, name)
    context.mover.move(retreat, "retreating", 0.75, slow=True, touching=(name,))

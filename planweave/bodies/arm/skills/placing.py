"""Place the held object: on, in, at, beside, between; and verify it with the camera."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace

from planweave.bodies.arm import placement_sampling as spots
from planweave.bodies.arm import regrasp_planning, solid_placement
from planweave.bodies.arm.approach_planning import Approach
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.grasp import grasp, grasp_by
from planweave.bodies.arm.workspace import Location
from planweave.bodies.arm.world_model import Held
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal

_TURNS = {
    "left_of": math.pi / 2,
    "right_of": -math.pi / 2,
    "front_of": math.pi,
    "behind": 0.0,
}  # from x, beside the robot
_NEAR = 0.3  # edge of the square in which an item is put down to be grasped anew, m

FreeSpots = Callable[[Thing, list[Thing]], Iterable[spots.Spot]]


def place_on(body: SkillContext, name: str, target: str) -> None:
    """Place the held item on another item or on a plate."""
    support = body.thing(target)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        if item.solid is not None:
            return solid_placement.on_solid(item, support, others, body.ground)
        if support.type == "surface":
            return spots.on_surface(item, support, [o for o in others if o.name != target])
        return spots.on_thing(item, support)

    put_down(body, name, target, free_spots, Literal("on", (name, target)))


def place_in(body: SkillContext, name: str, target: str) -> None:
    """Place the held item into a container."""
    if body.world.articulation(target) is not None:  # somebody may have shut it meanwhile
        body.sight.require(since_motion=True)
        opened = Literal("opened", (target,))
        if not body.world.world().holds(opened):
            raise SkillFailureError(Code.PRECONDITION_UNMET, f"{target} is not open any more", (opened,), final=True)
    box = body.thing(target)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        if item.solid is not None:
            return solid_placement.in_solid(item, box, others, body.ground)
        return spots.in_container(item, box, [o for o in others if o.name != target])

    put_down(body, name, target, free_spots, Literal("in", (name, target)), rise=box.size[2] + 0.03)


def place_at(body: SkillContext, name: str, target: str) -> None:
    """Place the held item at a place on the table."""
    place = body.place(target)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        if item.solid is not None:
            return solid_placement.at_level(item, place, others, body.ground)
        return spots.at_place(item, place, others, body.world.places)

    put_down(body, name, target, free_spots, Literal("at", (name, target)))


def place_left_of(body: SkillContext, name: str, target: str) -> None:
    """Place the held item to the left of an object, near it."""
    _beside(body, name, target, "left_of", f"the left of {target}")


def place_right_of(body: SkillContext, name: str, target: str) -> None:
    """Place the held item to the right of an object, near it."""
    _beside(body, name, target, "right_of", f"the right of {target}")


def place_in_front_of(body: SkillContext, name: str, target: str) -> None:
    """Place the held item in front of an object, near it: on the side of who gives the orders."""
    _beside(body, name, target, "front_of", f"the front of {target}")


def place_behind(body: SkillContext, name: str, target: str) -> None:
    """Place the held item behind an object, near it: on the far side from who gives the orders."""
    _beside(body, name, target, "behind", f"the room behind {target}")


def _beside(body: SkillContext, name: str, target: str, relation: str, where: str) -> None:
    thing = body.thing(target)
    turn = _TURNS[relation] + (0.0 if body.settings.left > 0 else math.pi)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        if item.solid is not None:
            return solid_placement.beside_solid(item, thing, turn, others, body.ground)
        return spots.beside(item, thing, turn, others, body.world.places)

    put_down(body, name, where, free_spots, Literal(relation, (name, target)))


def put_to_front_of(body: SkillContext, name: str, target: str) -> None:
    """Grasp an item and put it down in front of another thing."""
    held = body.world.held
    if held is None or held.thing.name != name:  # else it was taken in an earlier attempt
        grasp(body, name)
    place_in_front_of(body, name, target)


def place_between(body: SkillContext, name: str, one: str, two: str) -> None:
    """Place the held item between two objects."""
    first, second = body.thing(one), body.thing(two)

    def free_spots(item: Thing, others: list[Thing]) -> Iterable[spots.Spot]:
        if item.solid is not None:
            return solid_placement.between_solids(item, first, second, others, body.ground)
        return spots.between(item, first, second, others, body.world.places)

    put_down(body, name, f"the room between {one} and {two}", free_spots, Literal("between", (name, one, two)))


def grab_and_putin(body: SkillContext, name: str, target: str) -> None:
    """Grasp an item and place it in a container, or on a plate."""
    receptacle = body.thing(target)
    held = body.world.held
    if held is None or held.thing.name != name:  # else it was taken in an earlier attempt
        grasp(body, name)
    (place_in if receptacle.type == "container" else place_on)(body, name, target)


def put_down(
    body: SkillContext, name: str, where: str, free_spots: FreeSpots, expected: Literal, rise: float = 0.0
) -> None:
    """Place the held item at the first reachable free spot, and verify its position."""
    mover = body.mover
    try:
        approach = _to_place(body, name, where, free_spots, rise)
    except SkillFailureError as error:
        if error.code not in (Code.PLANNING_FAILED, Code.UNREACHABLE) or not regrasp(body, name, free_spots):
            raise
        approach = _to_place(body, name, where, free_spots, rise)
    _lower(body, name, approach, where)
    body.go_observe()
    mover.phase("verifying", 0.9)
    body.sight.verify(name, where, expected)


def regrasp(body: SkillContext, name: str, free_spots: FreeSpots) -> bool:
    """Put the held item down near where it was, and grasp it so that it can be put down at one of the spots; whether
    there is such a grasp. Only for items of known parts: of others nothing tells their grasps apart.
    """
    held = body.held(name)
    if held.thing.solid is None:
        return False
    here = Location("", held.thing.position[:2], (_NEAR, _NEAR))
    try:
        back = _to_place(
            body, name, "the ground", lambda item, others: solid_placement.at_level(item, here, others, body.ground)
        )
    except SkillFailureError:
        return False
    assert back.placed is not None
    with body.mover.thinking("planning", 0.05):
        others = list(body.world.things())
        there = list(free_spots(back.placed, others))
        grasps = regrasp_planning.grasps_for(body.reaching, back.placed, others, there, back.line[0])
        body.mover.look_around()
    if not grasps:
        return False
    _lower(body, name, back, "the ground")
    body.sight.next_image(body.arm.state().stamp - 1e-9, body.settings.verify_seconds)
    grasp_by(body, name, [regrasp_planning.like(g, back.placed, body.thing(name)) for g in grasps])
    return True


def _to_place(body: SkillContext, name: str, where: str, free_spots: FreeSpots, rise: float = 0.0) -> Approach:
    held, mover = body.held(name), body.mover
    with mover.thinking("planning", 0.0):
        mover.look_around()
        mover.rise_if_close()
        spots_there = free_spots(held.thing, list(body.world.things()))
        return body.reaching.to_place(held, spots_there, body.arm.state().positions, where, rise)


def _lower(body: SkillContext, name: str, approach: Approach, where: str) -> None:
    """Carry the held item to where it is put down, and let it go."""
    held, mover = body.held(name), body.mover
    watch = body.carrying(f" on the way to {where}")
    try:
        mover.move(approach.path, "transferring", 0.2, watch=watch)
        mover.move(approach.line, "placing", 0.5, slow=True, watch=watch)
    except SkillFailureError as error:
        if error.code is Code.GRASP_LOST:
            body.draw_back()
        held_up = error.code in (Code.CONTROL_FAILED, Code.COLLISION)
        line = body.touched_down(approach.line) if held_up else None  # a little earlier than was expected
        if line is None:
            raise
        approach = replace(approach, line=line)
    _release(body, approach, held)


def _release(body: SkillContext, approach: Approach, held: Held) -> None:
    name = held.thing.name
    body.mover.phase("opening", 0.65)
    # Beside other things the fingers open only a little; those that moved less than half of it hold on to the object.
    enough = (held.width + approach.opening) / 2
    width = body.mover.grip(approach.opening).width
    if width < enough:  # a command may have been lost
        width = body.mover.grip(approach.opening).width
    if width < enough:
        raise SkillFailureError(
            Code.CONTROL_FAILED,
            f"the fingers did not open to let go of {name}: they are {width * 1000:.0f} mm apart, "
            f"{approach.opening * 1000:.0f} mm were asked for; does the gripper's controller listen?",
        )
    body.world.released(approach.placed)
    with body.mover.thinking("retreating", 0.7):
        body.mover.look_around()
        if approach.placed is not None and approach.placed.solid is not None:
            body.leave_out_touched()
        retreat = body.reaching.to_retreat(approach.line, name)
    body.mover.move(retreat, "retreating", 0.75, slow=True, touching=(name,))

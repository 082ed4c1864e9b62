"""Grasp an item from above and lift it; in clutter, first push aside the neighbours that block all grasps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from planweave.bodies.arm.approach_planning import Approach, held_in
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.grasps import Grasp
from planweave.bodies.arm.scene_object import Thing
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.skills.push import push
from planweave.core.base.failure import Code

_CLOSED_BY = 0.001  # m by which fingers that close come together; less is no evidence that they take anything


def grasp(context: SkillContext, name: str, grasps: Sequence[Grasp] = ()) -> None:
    """Grasp an item and lift it: by one of these grasps, or by the best free one. After a failed grasp the hand is open
    and out of the camera's view.
    """
    if grasps:
        thing = context.thing(name)
        with context.mover.planning(0.1) as start:
            approach = context.reaching.best_grasp(thing, grasps, start)
    else:
        context.sight.require(since_motion=True)
        approach = _approach(context, name)
        thing = context.thing(name)
    mover = context.mover
    with _drawn_back(context, () if grasps or approach.grasp is None else (approach.grasp,)):
        context.arm.grip(approach.opening, context.settings.grip_force, wait=False)
        mover.move(approach.path, "approaching", 0.2)
        if abs(context.arm.state().width - approach.opening) > 0.002:
            mover.grip(approach.opening)
        try:
            mover.move(approach.line, "approaching", 0.4, slow=True, touching=(thing.name,))
        except SkillFailureError as error:
            # What the thing stands on may be a little higher than it was seen.
            line = context.touched_down(approach.line) if error.action_code is Code.CONTROL_FAILED else None
            if line is None:
                raise
            approach = replace(approach, line=line)
        _close(context, thing, approach)
        with mover.thinking("lifting", 0.7):
            mover.update_scene()
            touching = (thing.name, *context.touched_by_held())
            lift = context.reaching.to_lift(thing, approach.line, touching)
        mover.move(lift, "lifting", 0.8, slow=True, touching=touching, watch=context.carrying())
        slipped = context.carrying()(context.arm.state())
        lost = slipped.message if slipped is not None else context.seen_elsewhere(thing.name)
        if lost:
            context.world.released(None)
            raise SkillFailureError(Code.GRASP_LOST, lost)
        context.world.settled(context.arm.state().width)


@contextmanager
def _drawn_back(context: SkillContext, tried: Iterable[Grasp]) -> Iterator[None]:
    """Draw the hand back after a grasp that held nothing; these, and those not reached, are not tried again."""
    try:
        yield
    except SkillFailureError as error:
        lost = error.action_code in (Code.NO_GRASP, Code.GRASP_LOST)
        if lost or error.action_code is Code.CONTROL_FAILED:  # as something unseen held the arm up
            context.tried.extend(tried)
        if lost:
            context.draw_back()
        raise


def _approach(context: SkillContext, name: str) -> Approach:
    """The approach of the best free grasp; where none is free, neighbours are pushed aside."""
    pushes = 0
    while True:
        thing = context.thing(name)
        with context.mover.planning() as start:
            try:
                return context.reaching.to_grasp(thing, start, context.tried, context.others(name))
            except SkillFailureError as error:
                items = [t.name for t in context.others(name) if t.type == "item"]
                in_the_way = [n for n in error.obstacles if n in items]
                if error.action_code is not Code.NO_GRASP or pushes == context.settings.pushes:
                    raise
                blocked = error
        if not _push_one(context, in_the_way, name):
            raise blocked
        pushes += 1


def _push_one(context: SkillContext, names: list[str], away_from: str) -> bool:
    """Push the first of several objects that can be pushed; whether one was."""
    for name in filter(context.may_push, names):
        try:
            push(context, name, away_from=(away_from,))
            return True
        except SkillFailureError as error:
            if error.action_code not in (Code.PLANNING_FAILED, Code.UNREACHABLE, Code.COLLISION):
                raise
    return False


def _close(context: SkillContext, thing: Thing, approach: Approach) -> None:
    """Close the fingers on an item, and see by their width whether they hold it; raises SkillFailureError."""
    grasp, settings, mover = approach.grasp, context.settings, context.mover
    assert grasp is not None
    mover.phase("closing", 0.6)
    opened = context.arm.state().width
    state = mover.grip(0.0)
    if state.width > grasp.width + settings.not_closed:  # a command may have been lost
        state = mover.grip(0.0)
    width = state.width
    if opened - width < _CLOSED_BY:
        _let_go(context, approach, thing)
        raise SkillFailureError(
            Code.CONTROL_FAILED,
            f"whether {thing.name} was grasped is not known: the fingers did not move, they read {width * 1000:.0f} mm "
            "before and after (with gripper: none they move and measure nothing)",
            permanent=True,
        )
    if width > grasp.width + settings.not_closed:
        # An open hand would go on as if it carried something, and only the camera would tell.
        _let_go(context, approach, thing)
        raise SkillFailureError(
            Code.NO_GRASP,
            f"the fingers did not close on {thing.name}: they stopped {width * 1000:.0f} mm apart, {thing.name} is "
            f"{grasp.width * 1000:.0f} mm wide there",
        )
    if width < grasp.least:
        _let_go(context, approach, thing)
        raise SkillFailureError(
            Code.NO_GRASP,
            f"the gripper closed on nothing at {thing.name}: fingers {width * 1000:.0f} mm apart, expected about "
            f"{grasp.width * 1000:.0f} mm",
        )
    context.world.grasped(held_in(grasp, thing, context.reaching.kinematics.forward(state.positions), width))


def _let_go(context: SkillContext, approach: Approach, thing: Thing) -> None:
    """Open the fingers and rise, after a grasp that failed at the bottom."""
    context.mover.grip(context.gripper.opening)
    context.scene.set_opening(context.arm.state().width)
    context.mover.move(approach.line[::-1], "retreating", 0.7, slow=True, touching=(thing.name,))

"""Open and close drawers and doors, turn knobs on and off. Each ends with a look: what is not seen so is no success."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from planweave.bodies.arm.arms.base import ArmState, Watch
from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.solids import Solid
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal
from planweave.geometry.arrays import Array

_ATTEMPTS = 3
_ENOUGH = 3  # free ways of which the shortest is taken
_PLANS = 3  # of these, paths to which are looked for
_SOLUTIONS = 4  # joint solutions looked at for one pose
_BACK = 0.06  # straight way to and from a handle, m
_SPREAD = 0.02  # fingers open so much wider than what they take, m
_STEPS = 16  # poses along the motion of a joint
_OPEN = {"slide": 0.93, "hinge": 0.75}  # share of the range to which drawers and doors are opened
_SHUT = {"slide": 0.008, "hinge": 0.055}  # m or rad beyond the closed end, since fingers and joints yield
_TURNED = 0.32  # share of a knob's range that turns it on
_KNOB = 0.7  # rad by which a knob is turned of which that is not known
_OFF = 0.06  # rad beyond its other end to which a knob is turned off: it yields
_CONTACT = (Code.CONTROL_FAILED, Code.COLLISION)  # what moves along, or is pushed shut, ends where it ends
_EMPTY = 0.004  # the fingers hold nothing below this, m
_SLIPPED = 0.5  # share of the width at closing below which the fingers hold a handle no more; a bar may turn in them
_STILL = {"slide": 0.005, "hinge": 0.03}  # m or rad by which a part that is locked yields
_AGAIN = (Code.NO_GRASP, Code.GRASP_LOST, *_CONTACT)  # after which another way may do


@dataclass(frozen=True)
class _Motion:
    """A free path to before a handle, the straight way to it, and the way with it; configurations each."""

    path: Array
    line: Array
    along: Array
    opening: float


def open_up(context: SkillContext, name: str) -> None:
    """Open a drawer or a door by its handle."""
    part = context.articulation(name)
    target = _OPEN[part.kind] * part.open_end
    _until(context, name, Literal("opened", (name,)), lambda tried: _pull(context, name, target, tried))


def close(context: SkillContext, name: str) -> None:
    """Push a drawer or a door shut with the closed hand."""
    _until(context, name, Literal("closed", (name,)), lambda tried: _push(context, name, tried))


def turn_on(context: SkillContext, name: str) -> None:
    part = context.articulation(name)
    _turn_until(context, name, Literal("turned_on", (name,)), _TURNED * part.open_end, 1.0)


def turn_off(context: SkillContext, name: str) -> None:
    part = context.articulation(name)
    target = part.closed_end - float(np.sign(part.open_end)) * _OFF
    _turn_until(context, name, Literal("turned_off", (name,)), target, -1.0)


def _turn_until(context: SkillContext, name: str, effect: Literal, target: float, sense: float) -> None:
    """Turn a knob to a value; where nobody knows which way is on, one way, and the other where that has no effect.
    Nothing moves where it is not seen either whether what it turns on is on.
    """
    part, known = context.articulation(name), context.world.world()
    targets = [target]
    if part.half_turns:
        if not any(known.holds(Literal(state, (name,))) for state in ("turned_on", "turned_off")):
            raise SkillFailureError(
                Code.CONTROL_FAILED,
                f"it is not seen whether {name} is on, so that turning its knob could not be verified",
            )
        targets = [part.value + sense * _KNOB, part.value - sense * _KNOB]
    values = itertools.cycle(targets)
    tried: dict[float, list[Array]] = {value: [] for value in targets}

    def attempt(every: list[Array]) -> str:
        value = next(values)
        try:
            return _turn(context, name, value, tried[value])
        finally:
            every[:] = [pose for poses in tried.values() for pose in poses]

    _until(context, name, effect, attempt)


def _until(context: SkillContext, name: str, effect: Literal, attempt: Callable[[list[Array]], str]) -> None:
    """Attempt in different ways until the effect is seen. Raises the last failure, or CONTROL_FAILED. Nothing is
    attempted while the part is not in view: where it is remembered to be it may be no more.

    attempt: given the poses tried, which it adds to; returns what held the arm on its way, empty where nothing did.
    """
    tried: list[Array] = []
    failure: SkillFailureError | None = None
    held, before = "", context.articulation(name)
    for _ in range(_ATTEMPTS):
        count = len(tried)
        if not _is_known(context, name) and not _comes_into_view(context, name):
            failure = SkillFailureError(
                Code.CONTROL_FAILED,
                f"how far {name} is open was not seen since the arm moved last, within "
                f"{context.settings.verify_seconds:g} s; it is not moved by what is remembered",
            )
            break
        try:
            held, failure = attempt(tried), None
        except SkillFailureError as error:
            if tried and error.action_code is Code.PLANNING_FAILED:
                break  # no way is left: what the last one came to says more
            failure = error
            if error.permanent or error.action_code not in _AGAIN or len(tried) == count:
                break
        context.mover.phase("verifying", 0.9)
        if _is_seen_so(context, name, effect):
            return
    if failure is not None:
        raise failure
    raise SkillFailureError(
        Code.CONTROL_FAILED,
        f"after {len(tried)} attempts {name} is not seen to be {effect.predicate.replace('_', ' ')}: "
        f"{_how_far(before, context.articulation(name), effect, held)}",
        (effect,),
    )


def _how_far(before: Articulation, now: Articulation, effect: Literal, held: str) -> str:
    """How far a part has moved towards an effect. held: what held the arm, empty where nothing did."""
    if not held:
        return f"it is at {now.value:.3f} of {now.range}"
    if now.half_turns or not now.visible:
        return f"the arm was blocked ({held})"
    moved = abs(now.value - before.value)
    if moved <= max(_STILL[now.kind], now.precision):
        return f"it did not move at all, and the arm was blocked: it is locked or something holds it ({held})"
    end = now.closed_end if effect.predicate in ("closed", "turned_off") else now.open_end
    unit = "m" if now.kind == "slide" else "rad"
    return f"it moved {moved:.3f} of {abs(end - before.value):.3f} {unit} and was blocked ({held})"


def _is_seen_so(context: SkillContext, name: str, effect: Literal) -> bool:
    """Whether a look from now on shows the effect."""
    if context.articulation(name).half_turns:  # what the knob has turned on shows it
        context.look_anew()
    elif not _comes_into_view(context, name):
        return False
    shut = effect.predicate != "closed" or context.articulation(name).is_flush
    return context.world.world().holds(effect) and shut


def _is_known(context: SkillContext, name: str) -> bool:
    """Whether the newest look shows a part, and the arm has not moved since."""
    part = context.world.articulation(name)
    return context.world.looked_since_motion and part is not None and part.visible


def _comes_into_view(context: SkillContext, name: str) -> bool:
    """Whether a look from now on shows a part; where the arm is in the way, once it has gone aside."""
    if _is_in_view(context, name):
        return True
    context.go_aside()
    return _is_in_view(context, name)


def _is_in_view(context: SkillContext, name: str) -> bool:
    """Wait for a look taken from now on that shows a part; whether one came."""
    for _ in context.sight.images():
        part = context.world.articulation(name)
        if part is not None and part.visible:
            return True
    return False


def _pull(context: SkillContext, name: str, target: float, tried: list[Array]) -> str:
    return _take(context, name, target, context.articulation(name).pulls(context.gripper), tried)


def _turn(context: SkillContext, name: str, target: float, tried: list[Array]) -> str:
    part = context.articulation(name)
    return _take(context, name, part.nearest(target), part.turns(context.gripper), tried)


def _push(context: SkillContext, name: str, tried: list[Array]) -> str:
    part = context.articulation(name)
    target = part.closed_end - np.sign(part.open_end) * _SHUT[part.kind]
    ways = ((pose, _carried(part, pose, target, share), 0.0) for pose, share in part.pushes(context.gripper))
    motion, mover = _plan(context, name, part, ways, tried), context.mover
    _approach(context, motion)
    _leave_out(context, name, part)
    mover.move(motion.line, "approaching", 0.4, slow=True, touching=(part.thing,))
    held, failure = _along(context, motion, "pushing", part)
    context.world.part_moved(name, part.closed_end)
    _retreat(context, part, part.outward)
    if failure is not None:
        raise failure
    return held


def _take(
    context: SkillContext, name: str, target: float, grasps: Iterable[tuple[Array, float, float]], tried: list[Array]
) -> str:
    """Close the fingers on a part by one of its grasps, move with it to a value, let go and retreat; returns what held
    the arm on its way.
    """
    part, most = context.articulation(name), context.gripper.opening
    ways = ((pose, _carried(part, pose, target, share), min(width + _SPREAD, most)) for pose, width, share in grasps)
    motion, mover = _plan(context, name, part, ways, tried), context.mover
    _approach(context, motion)
    _leave_out(context, name, part)
    mover.move(motion.line, "approaching", 0.3, slow=True, touching=(part.thing,))
    mover.phase("closing", 0.4)
    width = mover.grip(0.0).width
    if width < _EMPTY:
        _retreat(context, part)
        raise SkillFailureError(Code.NO_GRASP, f"the gripper closed on nothing at the handle of {name}")
    try:
        held, failure = _along(context, motion, "moving", part, _slipping(name, width))
    finally:
        mover.phase("opening", 0.8)
        mover.grip(motion.opening)
    context.world.part_moved(name, target)
    _retreat(context, part)
    if failure is not None:
        raise failure
    return held


def _along(
    context: SkillContext, motion: _Motion, phase: str, part: Articulation, watch: Watch | None = None
) -> tuple[str, SkillFailureError | None]:
    """Move with a part. Returns what held the arm on its way, as the part's end does, and the failure that is to be
    raised once the hand has retreated.
    """
    mover = context.mover
    begun = mover.motion_seconds
    try:
        mover.move(motion.along, phase, 0.5, slow=True, touching=(part.thing,), watch=watch)
    except SkillFailureError as error:
        if error.action_code in _CONTACT and mover.motion_seconds > begun:
            return error.message, None
        if error.action_code not in _AGAIN:
            raise
        return "", error
    return "", None


def _slipping(name: str, width: float) -> Watch:
    """A watch of the fingers: reports when they are no longer on a handle on which they closed to a width, m."""

    def watch(state: ArmState) -> str:
        if not state.width < _SLIPPED * width:  # nor where it is not measured
            return ""
        return (
            f"the fingers slipped off the handle of {name}: {state.width * 1000:.0f} mm apart, "
            f"{width * 1000:.0f} mm when they closed on it"
        )

    return watch


def _approach(context: SkillContext, motion: _Motion) -> None:
    """Move to before the handle, and meanwhile open or close the hand as far as it is to be there."""
    context.arm.grip(motion.opening, context.settings.grip_force, wait=False)
    context.mover.move(motion.path, "approaching", 0.2)
    context.mover.grip(motion.opening)


def _retreat(context: SkillContext, part: Articulation, way: Array | None = None) -> None:
    """Leave a part straight along a way, where there is one: what was pushed may be hooked on the fingers else; by
    default back from where the hand came.
    """
    start, planner = context.arm.state().positions, context.reaching.planner
    back = -context.reaching.kinematics.forward(start)[:3, 2]
    line = planner.line(start, way, _BACK) if way is not None else None
    line = planner.line(start, back, _BACK) if line is None else line
    if line is not None:
        context.mover.move(line, "retreating", 0.85, slow=True, touching=(part.thing,))


def _plan(
    context: SkillContext, name: str, part: Articulation, ways: Iterable[tuple[Array, Array, float]], tried: list[Array]
) -> _Motion:
    """The way of least joint travel that is reachable and free, and unlike those tried, which it joins."""
    mover, planner = context.mover, context.reaching.planner
    blocked = "it is out of reach"
    with mover.planning() as start:
        found: list[tuple[float, Array, _Motion]] = []
        for pose, along, opening in ways:
            if any(np.allclose(pose, other, atol=1e-3) for other in tried):
                continue
            context.scene.set_opening(opening)
            for q in context.reaching.kinematics.ranked(pose, start)[:_SOLUTIONS]:
                way = _with(context, name, part, q, pose, along)
                if isinstance(way, _Motion):
                    found.append((_travel(context, start, way), pose, replace(way, opening=opening)))
                else:
                    blocked = way or blocked
            if len(found) >= _ENOUGH:
                break
        mover.update_scene()
        for _, pose, motion in sorted(found, key=lambda row: row[0])[:_PLANS]:
            context.scene.set_opening(motion.opening)
            try:
                path = planner.plan(start, [motion.line[0]], context.reaching.seconds)
            except SkillFailureError as error:
                blocked = error.message
                continue
            tried.append(pose)
            return replace(motion, path=path)
    raise SkillFailureError(Code.PLANNING_FAILED, f"there is no free way to move {name} by its handle: {blocked}")


def _with(context: SkillContext, name: str, part: Articulation, q: Array, pose: Array, along: Array) -> _Motion | str:
    """The straight way to joint positions at a handle and the way with it, or what blocks them."""
    back = context.reaching.planner.line(q, -pose[:3, 2], _BACK)
    way = context.reaching.kinematics.along(q, along)
    if back is None or way is None or context.reaching.planner.line(way[-1], -along[-1][:3, 2], _BACK) is None:
        return ""  # also where the hand could not leave the handle at the end
    context.scene.update(context.world.things())
    hit = context.scene.path_contact(back, 0.0, (part.thing,))
    if hit is None:
        _leave_out(context, name, part)
        hit = context.scene.path_contact(way, 0.0, (part.thing,))
    return str(hit) if hit else _Motion(back[:0], back[::-1].copy(), way, 0.0)


def _travel(context: SkillContext, start: Array, motion: _Motion) -> float:
    """How far the joints go, in rad of travel of the first joint."""
    kinematics = context.reaching.kinematics
    rows = [start, motion.line[0], motion.line[-1], motion.along[-1]]
    return sum(float(kinematics.cost(after[None], before)[0]) for before, after in pairwise(rows))


def _leave_out(context: SkillContext, name: str, part: Articulation) -> None:
    """Take what moves along with the hand out of the planning scene: the part, and what lies in a drawer."""
    gone = {part.thing}
    if part.kind == "slide":
        gone |= {f.args[0] for f in context.world.world().facts if f.predicate == "in" and f.args[1] == name}
    others = [t for t in context.world.things() if t.name not in gone]
    rest = Solid(part.rest)
    context.scene.update([*others, thing_of_solid(part.thing, "fixture", "fixture", rest)] if part.rest else others)


def _carried(part: Articulation, pose: Array, target: float, share: float) -> Array:
    return np.array([part.carried(pose, v, share) for v in np.linspace(part.value, target, _STEPS + 1)[1:]])

"""Open and close drawers and doors, turn knobs on and off. Each ends with a look: what is not seen so is no success."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from planweave.bodies.arm.articulation import Articulation
from planweave.bodies.arm.failures import SkillFailureError
from planweave.bodies.arm.scene_object import thing_of_solid
from planweave.bodies.arm.skills.context import SkillContext
from planweave.bodies.arm.solids import Solid
from planweave.core.base.failure import Code
from planweave.core.symbolic.world import Literal

Array = NDArray[np.float64]
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


@dataclass(frozen=True)
class _Motion:
    """A free path to before a handle, the straight way to it, and the way with it; configurations each."""

    path: Array
    line: Array
    along: Array
    opening: float


def open_up(body: SkillContext, name: str) -> None:
    """Open a drawer or a door by its handle."""
    part = body.articulation(name)
    target = _OPEN[part.kind] * part.open_end
    _until(body, name, Literal("opened", (name,)), lambda tried: _pull(body, name, target, tried))


def close(body: SkillContext, name: str) -> None:
    """Push a drawer or a door shut with the closed hand."""
    _until(body, name, Literal("closed", (name,)), lambda tried: _push(body, name, tried))


def turn_on(body: SkillContext, name: str) -> None:
    """Turn a knob on."""
    part = body.articulation(name)
    _turn_until(body, name, Literal("turned_on", (name,)), _TURNED * part.open_end, 1.0)


def turn_off(body: SkillContext, name: str) -> None:
    """Turn a knob off."""
    part = body.articulation(name)
    target = part.closed_end - float(np.sign(part.open_end)) * _OFF
    _turn_until(body, name, Literal("turned_off", (name,)), target, -1.0)


def _turn_until(body: SkillContext, name: str, effect: Literal, target: float, sense: float) -> None:
    """Turn a knob to a value; where nobody knows which way is on, one way, and the other where that has no effect.
    Nothing moves where it is not seen either whether what it turns on is on.
    """
    part, known = body.articulation(name), body.world.world()
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

    def attempt(every: list[Array]) -> None:
        value = next(values)
        try:
            _turn(body, name, value, tried[value])
        finally:
            every[:] = [pose for poses in tried.values() for pose in poses]

    _until(body, name, effect, attempt)


def _until(body: SkillContext, name: str, effect: Literal, attempt: Callable[[list[Array]], None]) -> None:
    """Attempt in different ways until the effect is seen. Raises the last failure, or CONTROL_FAILED. Nothing is
    attempted while the part is not in view: where it is remembered to be it may be no more.
    """
    tried: list[Array] = []
    failure: SkillFailureError | None = None
    for _ in range(_ATTEMPTS):
        count = len(tried)
        if not _is_known(body, name) and not _comes_into_view(body, name):
            failure = SkillFailureError(
                Code.CONTROL_FAILED,
                f"how far {name} is open was not seen since the arm moved last, within "
                f"{body.settings.verify_seconds:g} s; it is not moved by what is remembered",
            )
            break
        try:
            attempt(tried)
            failure = None
        except SkillFailureError as error:
            failure = error
            if (
                error.final
                or error.code not in (Code.NO_GRASP, Code.CONTROL_FAILED, Code.COLLISION)
                or len(tried) == count
            ):
                break
        body.mover.phase("verifying", 0.9)
        if _is_seen_so(body, name, effect):
            return
    if failure is not None and (not tried or failure.code is not Code.PLANNING_FAILED):
        raise failure
    raise SkillFailureError(
        Code.CONTROL_FAILED,
        f"after {len(tried)} attempts {name} is not seen to be {effect.predicate.replace('_', ' ')}: it is at "
        f"{body.articulation(name).value:.3f} of {body.articulation(name).range}",
        (effect,),
    )


def _is_seen_so(body: SkillContext, name: str, effect: Literal) -> bool:
    """Whether a look from now on shows the effect."""
    if body.articulation(name).half_turns:  # what the knob has turned on shows it
        body.look_anew()
    elif not _comes_into_view(body, name):
        return False
    shut = effect.predicate != "closed" or body.articulation(name).is_flush
    return body.world.world().holds(effect) and shut


def _is_known(body: SkillContext, name: str) -> bool:
    """Whether the newest look shows a part, and the arm has not moved since."""
    part = body.world.articulation(name)
    return body.world.looked_since_motion and part is not None and part.visible


def _comes_into_view(body: SkillContext, name: str) -> bool:
    """Whether a look from now on shows a part; where the arm is in the way, from where it observes."""
    if _is_in_view(body, name):
        return True
    body.go_observe()
    return _is_in_view(body, name)


def _is_in_view(body: SkillContext, name: str) -> bool:
    """Wait for a look taken from now on that shows a part; whether one came."""
    for _ in body.sight.images(body.settings.verify_seconds):
        part = body.world.articulation(name)
        if part is not None and part.visible:
            return True
    return False


def _pull(body: SkillContext, name: str, target: float, tried: list[Array]) -> None:
    part = body.articulation(name)

    def ways() -> Iterator[tuple[Array, Array, float]]:
        for pose, width, share in part.pulls(body.gripper):
            yield pose, _carried(part, pose, target, share), min(width + _SPREAD, body.gripper.opening)

    _take(body, name, part, _plan(body, name, part, ways(), tried))


def _turn(body: SkillContext, name: str, target: float, tried: list[Array]) -> None:
    part = body.articulation(name)
    target = part.nearest(target)

    def ways() -> Iterator[tuple[Array, Array, float]]:
        for pose, width in part.turns(body.gripper):
            yield pose, _carried(part, pose, target, 1.0), min(width + _SPREAD, body.gripper.opening)

    _take(body, name, part, _plan(body, name, part, ways(), tried))


def _push(body: SkillContext, name: str, tried: list[Array]) -> None:
    part = body.articulation(name)
    target = part.closed_end - np.sign(part.open_end) * _SHUT[part.kind]

    def ways() -> Iterator[tuple[Array, Array, float]]:
        for pose, share in part.pushes(body.gripper):
            yield pose, _carried(part, pose, target, share), 0.0

    motion = _plan(body, name, part, ways(), tried)
    mover = body.mover
    _approach(body, motion)
    _leave_out(body, name, part)
    mover.move(motion.line, "approaching", 0.4, slow=True, touching=(part.thing,))
    try:
        mover.move(motion.along, "pushing", 0.5, slow=True, touching=(part.thing,))
    except SkillFailureError as error:
        if error.code not in _CONTACT:
            raise  # else it may be shut already: the look tells
    _retreat(body, part, part.outward)


def _take(body: SkillContext, name: str, part: Articulation, motion: _Motion) -> None:
    """Close the fingers on a handle, move with it, let go and retreat."""
    mover = body.mover
    _approach(body, motion)
    _leave_out(body, name, part)
    mover.move(motion.line, "approaching", 0.3, slow=True, touching=(part.thing,))
    mover.phase("closing", 0.4)
    if mover.grip(0.0).width < _EMPTY:
        _retreat(body, part)
        raise SkillFailureError(Code.NO_GRASP, f"the gripper closed on nothing at the handle of {name}")
    try:
        mover.move(motion.along, "moving", 0.5, slow=True, touching=(part.thing,))
    except SkillFailureError as error:
        if error.code not in _CONTACT:
            raise  # else it went as far as it goes: the look tells
    finally:
        mover.phase("opening", 0.8)
        mover.grip(motion.opening)
    _retreat(body, part)


def _approach(body: SkillContext, motion: _Motion) -> None:
    """Move to before the handle, and meanwhile open or close the hand as far as it is to be there."""
    body.arm.grip(motion.opening, body.settings.grip_force, wait=False)
    body.mover.move(motion.path, "approaching", 0.2)
    body.mover.grip(motion.opening)


def _retreat(body: SkillContext, part: Articulation, way: Array | None = None) -> None:
    """Leave a part straight along a way, where there is one: what was pushed may be hooked on the fingers else; by
    default back from where the hand came.
    """
    start, planner = body.arm.state().positions, body.reaching.planner
    back = -body.reaching.kinematics.forward(start)[:3, 2]
    line = planner.line(start, way, _BACK) if way is not None else None
    line = planner.line(start, back, _BACK) if line is None else line
    if line is not None:
        body.mover.move(line, "retreating", 0.85, slow=True, touching=(part.thing,))


def _plan(
    body: SkillContext, name: str, part: Articulation, ways: Iterable[tuple[Array, Array, float]], tried: list[Array]
) -> _Motion:
    """The way of least joint travel that is reachable and free, and unlike those tried, which it joins."""
    mover, planner = body.mover, body.reaching.planner
    blocked = "it is out of reach"
    with mover.thinking("planning", 0.0):
        mover.look_around()
        mover.rise_if_close()
        start = body.arm.state().positions
        found: list[tuple[float, Array, _Motion]] = []
        for pose, along, opening in ways:
            if any(np.allclose(pose, other, atol=1e-3) for other in tried):
                continue
            body.scene.set_opening(opening)
            for q in body.reaching.kinematics.ranked(pose, start)[:_SOLUTIONS]:
                way = _with(body, name, part, q, pose, along)
                if isinstance(way, _Motion):
                    found.append((_travel(body, start, way), pose, replace(way, opening=opening)))
                else:
                    blocked = way or blocked
            if len(found) >= _ENOUGH:
                break
        mover.look_around()
        for _, pose, motion in sorted(found, key=lambda row: row[0])[:_PLANS]:
            body.scene.set_opening(motion.opening)
            try:
                path = planner.plan(start, [motion.line[0]], body.reaching.seconds)
            except SkillFailureError as error:
                blocked = error.message
                continue
            tried.append(pose)
            return replace(motion, path=path)
    raise SkillFailureError(Code.PLANNING_FAILED, f"there is no free way to move {name} by its handle: {blocked}")


def _with(body: SkillContext, name: str, part: Articulation, q: Array, pose: Array, along: Array) -> _Motion | str:
    """The straight way to joint positions at a handle and the way with it, or what blocks them."""
    back = body.reaching.planner.line(q, -pose[:3, 2], _BACK)
    way = body.reaching.kinematics.along(q, along)
    if back is None or way is None or body.reaching.planner.line(way[-1], -along[-1][:3, 2], _BACK) is None:
        return ""  # also where the hand could not leave the handle at the end
    body.scene.update(body.world.things())
    hit = body.scene.path_contact(back, 0.0, (part.thing,))
    if hit is None:
        _leave_out(body, name, part)
        hit = body.scene.path_contact(way, 0.0, (part.thing,))
    return str(hit) if hit else _Motion(back[:0], back[::-1].copy(), way, 0.0)


def _travel(body: SkillContext, start: Array, motion: _Motion) -> float:
    """How far the joints go, in rad of travel of the first joint."""
    kinematics = body.reaching.kinematics
    rows = [start, motion.line[0], motion.line[-1], motion.along[-1]]
    return sum(float(kinematics.cost(after[None], before)[0]) for before, after in pairwise(rows))


def _leave_out(body: SkillContext, name: str, part: Articulation) -> None:
    """Take what moves along with the hand out of the planning scene: the part, and what lies in a drawer."""
    gone = {part.thing}
    if part.kind == "slide":
        gone |= {f.args[0] for f in body.world.world().facts if f.predicate == "in" and f.args[1] == name}
    others = [t for t in body.world.things() if t.name not in gone]
    rest = Solid(part.rest)
    body.scene.update([*others, thing_of_solid(part.thing, "fixture", "fixture", rest)] if part.rest else others)


def _carried(part: Articulation, pose: Array, target: float, share: float) -> Array:
    return np.array([part.carried(pose, v, share) for v in np.linspace(part.value, target, _STEPS + 1)[1:]])
